/** Addresses of the room Content: its start, lists, entries, relations on a page of their own. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { frameRoute } from '../../shell/root.js';
import { type ListSearch, searchOf } from './list/list-state.js';

const roomRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: 'content',
  component: lazyRouteComponent(() => import('./Content.js'), 'Content'),
});
const startRoute = createRoute({
  getParentRoute: () => roomRoute,
  path: '/',
  component: lazyRouteComponent(() => import('./pages.js'), 'ContentStart'),
});
const typeRoute = createRoute({
  getParentRoute: () => roomRoute,
  path: '$type',
  validateSearch: (search: Record<string, unknown>): ListSearch => searchOf(search),
  component: lazyRouteComponent(() => import('./pages.js'), 'TypePage'),
});
const entryRoute = createRoute({
  getParentRoute: () => roomRoute,
  path: '$type/$id',
  validateSearch: ({ locale }: Record<string, unknown>): { locale?: string } =>
    typeof locale === 'string' ? { locale } : {},
  component: lazyRouteComponent(() => import('./pages.js'), 'OneEntryPage'),
});
const relationRoute = createRoute({
  getParentRoute: () => roomRoute,
  // the path of a list in a component has slashes
  path: '$type/$id/$field/$',
  component: lazyRouteComponent(() => import('./pages.js'), 'OneRelationPage'),
});

export const contentRoute = roomRoute.addChildren([startRoute, typeRoute, entryRoute, relationRoute]);
