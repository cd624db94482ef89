/** The answer of the request that is being made, how long it took, and the plan by which it was made. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { DovetailError } from 'dovetail-client';
import { keyOf } from '../../server/as.js';
import { serverSend } from '../../server/clients.js';
import { useAdministrator, useClientAs } from '../../server/queries.js';
import { useAs } from '../../shell/choices.js';
import type { Explanation } from './explanation.js';
import type { Fault } from './query/faults.js';

export interface Answer {
  readonly url: string;
  readonly body: unknown;
  readonly ms: number;
  /** Of the body, as the server wrote it. */
  readonly bytes: number;
  /** What a lenient server ignored. */
  readonly ignored: string | null;
}

/** @param url below the root of the server: `/api/articles?fields=title`. */
export const useAnswer = (url: string | null, prefix: string) => {
  const client = useClientAs();
  const as = useAs();
  const who = useAdministrator()?.id ?? null;
  return useQuery({
    queryKey: ['ask', 'answer', who, keyOf(as), url],
    enabled: url !== null,
    queryFn: async ({ signal }): Promise<Answer> => {
      const [path = '', query = ''] = (url ?? '').slice(prefix.length).split(/\?(.*)/s);
      const began = performance.now();
      const { body, headers } = await client.send({ method: 'GET', path, query, signal });
      const ms = performance.now() - began;
      const bytes = new TextEncoder().encode(JSON.stringify(body)).length;
      return { url: url ?? '', body, ms, bytes, ignored: headers.get('dovetail-ignored') };
    },
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 0,
    gcTime: 60_000,
    throwOnError: false,
  });
};

export const faultsOf = (error: unknown): readonly Fault[] =>
  error instanceof DovetailError ? error.faults : noFaults;
const noFaults: readonly Fault[] = [];

// ---- the plan

/** @param analyze runs the statements, and tells their rows and times. */
export const useExplanation = (url: string | null, { analyze }: { readonly analyze: boolean }) => {
  const as = useAs();
  const who = useAdministrator()?.id ?? null;
  return useQuery({
    queryKey: ['ask', 'explain', who, keyOf(as), url, analyze],
    enabled: url !== null,
    queryFn: async ({ signal }): Promise<Explanation> => {
      const send = serverSend(as);
      const { body } = await send({ method: 'POST', path: '/_dovetail/explain', body: { url, analyze }, signal });
      return (body as { readonly data: Explanation }).data;
    },
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 10_000,
    gcTime: 60_000,
    throwOnError: false,
  });
};
