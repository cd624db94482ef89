/** Addresses of the room Media: the library and one file. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { type Address, addressParts, listingOf } from '../../parts/media/listing.js';
import { frameRoute } from '../../shell/root.js';

const root = createRoute({ getParentRoute: () => frameRoute, path: 'media' });

const index = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: (search: Record<string, unknown>): Address => addressParts(listingOf(search)),
  component: lazyRouteComponent(() => import('./Media.js'), 'Media'),
});

const file = createRoute({
  getParentRoute: () => root,
  path: '$id',
  component: lazyRouteComponent(() => import('./FilePage.js'), 'FilePage'),
});

export const mediaRoute = root.addChildren([index, file]);
