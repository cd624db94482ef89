/** The address of the room Health. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { frameRoute } from '../../shell/root.js';

export const healthRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: 'health',
  component: lazyRouteComponent(() => import('./Health.js'), 'Health'),
});
