/** The address of the room Map, with the card that is open and what is shown. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { frameRoute } from '../../shell/root.js';

export interface MapSearch {
  /** The type whose card is open. */
  readonly type?: string;
  readonly view?: 'list';
  readonly components?: true;
  readonly plugins?: true;
}

export const mapRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: 'map',
  validateSearch: ({ type, view, components, plugins }: Record<string, unknown>): MapSearch => ({
    ...(typeof type === 'string' ? { type } : {}),
    ...(view === 'list' ? { view } : {}),
    ...(components === true ? { components } : {}),
    ...(plugins === true ? { plugins } : {}),
  }),
  component: lazyRouteComponent(() => import('./MapRoom.js'), 'MapRoom'),
});
