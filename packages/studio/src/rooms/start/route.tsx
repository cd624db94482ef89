/** The address of the first page. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { frameRoute } from '../../shell/root.js';

export const startRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/',
  component: lazyRouteComponent(() => import('./Start.js'), 'Start'),
});
