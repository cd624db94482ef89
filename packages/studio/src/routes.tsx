/** Every page and its address. Rooms are loaded when they are opened. */
import { createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { Waiting } from './parts/Waiting.js';
import { accessRoute } from './rooms/access/route.js';
import { askRoute } from './rooms/ask/route.js';
import { contentRoute } from './rooms/content/route.js';
import { healthRoute } from './rooms/health/route.js';
import { mapRoute } from './rooms/map/route.js';
import { mediaRoute } from './rooms/media/route.js';
import { startRoute } from './rooms/start/route.js';
import { studioPath } from './server/address.js';
import { queryClient } from './server/query-client.js';
import { RoomFault } from './shell/RouteFault.js';
import { frameRoute, rootRoute } from './shell/root.js';

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'sign-in',
  /** `to`: where to go afterwards, an address of the Studio. */
  validateSearch: ({ to }: Record<string, unknown>): { to?: string } => (typeof to === 'string' ? { to } : {}),
  component: lazyRouteComponent(() => import('./session/SignIn.js'), 'SignIn'),
});
const welcomeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'welcome',
  component: lazyRouteComponent(() => import('./session/Welcome.js'), 'Welcome'),
});
const joinRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'join',
  component: lazyRouteComponent(() => import('./session/Join.js'), 'Join'),
});
const accountRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: 'account',
  component: lazyRouteComponent(() => import('./session/Account.js'), 'Account'),
});
const signOutRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'sign-out',
  component: lazyRouteComponent(() => import('./session/SignOut.js'), 'SignOut'),
});

const tree = rootRoute.addChildren([
  signInRoute,
  welcomeRoute,
  joinRoute,
  signOutRoute,
  frameRoute.addChildren([
    startRoute,
    mapRoute,
    askRoute,
    contentRoute,
    mediaRoute,
    accessRoute,
    healthRoute,
    accountRoute,
  ]),
]);

export const router = createRouter({
  routeTree: tree,
  // what a `basepath` does, but without a slash at the end of the first page's address
  rewrite: {
    input: ({ url }) => {
      if (`${url.pathname}/`.startsWith(`${studioPath}/`)) url.pathname = url.pathname.slice(studioPath.length);
      return url;
    },
    output: ({ url }) => {
      url.pathname = `${studioPath}${url.pathname}`.replace(/\/+$/, '');
      return url;
    },
  },
  context: { queryClient },
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultPendingMs: 0,
  // what is there is shown at once
  defaultPendingMinMs: 0,
  defaultPendingComponent: Waiting,
  defaultErrorComponent: RoomFault,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
