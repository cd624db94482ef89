/** The whole app: theme, cache of requests, router. What was read for one administrator is not shown to the next. */
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { useEffect } from 'react';
import { router } from '../routes.js';
import { queryClient } from '../server/query-client.js';
import { administrator, subscribe } from '../session/session.js';
import { focusRoom } from './focus.js';
import { cssVariables, styleNonce, theme } from './theme.js';

export const App = () => {
  // whoever signs in or out sees nothing that was loaded for somebody else
  useEffect(() => {
    let known = administrator()?.id;
    return subscribe(() => {
      const id = administrator()?.id;
      if (id === known) return;
      known = id;
      queryClient.clear();
      void router.invalidate();
    });
  }, []);
  useEffect(() => focusRoom(router), []);
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      getStyleNonce={styleNonce}
      defaultColorScheme="auto"
    >
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
};
