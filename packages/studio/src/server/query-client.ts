import { QueryClient } from '@tanstack/react-query';

/** The client repeats reads that met a busy server; nothing is repeated here. */
export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 5_000, refetchOnWindowFocus: false } },
});
