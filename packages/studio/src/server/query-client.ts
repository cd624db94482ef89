/** What was read of the server, kept for a few seconds, and read again after a change. */
import { type InvalidateQueryFilters, QueryClient } from '@tanstack/react-query';

/** The client repeats reads that met a busy server; nothing is repeated here. */
export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 5_000, refetchOnWindowFocus: false } },
});

/** After a change: reads what matches again, also what is being read for the first time. */
export const readAgain = async (queries: QueryClient, filters: InvalidateQueryFilters = {}): Promise<void> => {
  // TanStack Query waits for a first response and keeps it, although it may be older than the change
  const first = new Set(
    queries
      .getQueryCache()
      .findAll({ ...filters, fetchStatus: 'fetching' })
      .filter(({ state }) => state.data === undefined),
  );
  await queries.invalidateQueries(filters);
  if (first.size > 0) await queries.invalidateQueries({ predicate: (it) => first.has(it) });
};
