/** The routes that all rooms hang below. */
import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext, createRoute, redirect } from '@tanstack/react-router';
import { initOptions, modelOptions } from '../server/queries.js';
import { administrator, restore } from '../session/session.js';
import { Frame } from './Frame.js';
import { Lost } from './Lost.js';
import { PageWaiting } from './PageWaiting.js';
import { BareFault } from './RouteFault.js';

interface RouterContext {
  readonly queryClient: QueryClient;
}

export const rootRoute = createRootRouteWithContext<RouterContext>()({
  notFoundComponent: Lost,
  errorComponent: BareFault,
});

/** Pages with the bar. The parent of every room: whoever is not signed in comes in as the public role, where that is allowed. */
export const frameRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'frame',
  component: Frame,
  pendingComponent: PageWaiting,
  errorComponent: BareFault,
  beforeLoad: async ({ context: { queryClient }, location }) => {
    await restore();
    const model = queryClient.ensureQueryData(modelOptions());
    if (administrator() === null) {
      model.catch(() => undefined);
      // a server that cannot say is asked for the model all the same, and answers that or a fault
      const init = await queryClient.ensureQueryData(initOptions).catch(() => null);
      if (init?.mode === 'production') throw redirect({ to: '/sign-in', search: { to: location.href } });
    }
    await model;
  },
});
