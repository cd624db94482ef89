/** The address of the room Ask, which has the whole query. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { frameRoute } from '../../shell/root.js';

/** The query itself, so that it can be shared. */
export interface AskSearch {
  /** The plural of a collection, the singular of a single type. */
  readonly type?: string;
  /** Of one entry. */
  readonly id?: number | string;
  /** The query string. */
  readonly q?: string;
}

export const askRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: 'ask',
  validateSearch: ({ type, id, q }: Record<string, unknown>): AskSearch => ({
    ...(typeof type === 'string' ? { type } : {}),
    ...(typeof id === 'string' || typeof id === 'number' ? { id } : {}),
    ...(q === undefined || q === null || q === '' ? {} : { q: String(q) }),
  }),
  component: lazyRouteComponent(() => import('./Ask.js'), 'Ask'),
});
