/** What every room asks of the server. */
import { queryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { useMemo, useSyncExternalStore } from 'react';
import type { Model } from '../model/model.js';
import { type Administrator, administrator, hasEnded, subscribe } from '../session/session.js';
import { useAs } from '../shell/choices.js';
import { type As, asSelf, keyOf } from './as.js';
import { type ApiClient, getData, newApiClient, serverSend } from './clients.js';
import { queryClient } from './query-client.js';

/** Who is signed in; null: nobody, which sees what the public role sees. */
export const useAdministrator = (): Administrator | null => useSyncExternalStore(subscribe, administrator);

/** Whether their session has ended, so that they have to sign in again. */
export const useHasEnded = (): boolean => useSyncExternalStore(subscribe, hasEnded);

const whose = (): number | 'public' => administrator()?.id ?? 'public';

export const modelOptions = (as: As = asSelf) =>
  queryOptions({
    queryKey: ['model', whose(), keyOf(as)],
    queryFn: ({ signal }) => getData<Model>(serverSend(as), '/_dovetail/model', signal),
    staleTime: 60_000,
  });

/** What the server says of itself to everybody. */
interface Init {
  readonly hasAdmin: boolean;
  readonly mode: 'development' | 'production';
  /** Whether the first administrator may be created by the link that `start` prints. */
  readonly mayRegister: boolean;
}
export const initOptions = queryOptions({
  queryKey: ['init'],
  queryFn: ({ signal }) => getData<Init>(serverSend(), '/admin/init', signal),
  staleTime: 60_000,
});

export interface Me extends Administrator {
  readonly isSuperAdmin: boolean;
  readonly permissions: readonly Permission[];
}
interface Permission {
  readonly action: string;
  readonly subject: string | null;
  /** null: all. */
  readonly fields: readonly string[] | null;
  /** null: all. */
  readonly locales: readonly string[] | null;
  readonly conditions: readonly string[];
}
const meOptions = () =>
  queryOptions({
    queryKey: ['me', whose()],
    queryFn: ({ signal }) => (administrator() ? getData<Me>(serverSend(), '/admin/me', signal) : null),
    staleTime: 60_000,
  });
/** What the administrator may do beside content; undefined until it is known, null if nobody is signed in. */
export const useMe = (): Me | null | undefined => useQuery(meOptions()).data;

/** The model as whoever is signed in knows it. Suspends until it is there. */
export const useModel = (): Model => useSuspenseQuery(modelOptions()).data;

/** The model as the role or token knows it that is chosen in the bar. */
export const useModelAs = (): Model => useSuspenseQuery(modelOptions(useAs())).data;

/** Requests to the API as whoever is signed in. */
export const useClient = (): ApiClient => {
  const { prefix } = useModel();
  return useMemo(() => newApiClient(prefix), [prefix]);
};

/** Requests to the API with the rights of the role or token that is chosen in the bar: reads only. */
export const useClientAs = (): ApiClient => {
  const as = useAs();
  const { prefix } = useModel();
  return useMemo(() => newApiClient(prefix, as), [prefix, as]);
};

export interface Role {
  readonly id: number;
  readonly name: string;
  /** What code calls it: public, authenticated, … */
  readonly type: string;
  readonly description: string | null;
}
/** Roles of the API. */
export const rolesOptions = () =>
  queryOptions({
    queryKey: ['roles', whose()],
    queryFn: async ({ signal }) => {
      const { prefix } = await queryClient.ensureQueryData(modelOptions());
      const path = `${prefix}/users-permissions/roles`;
      return ((await serverSend()({ method: 'GET', path, signal })).body as { roles: readonly Role[] }).roles;
    },
  });

export interface ApiToken {
  readonly id: number;
  readonly name: string;
  readonly description: string | null;
  readonly type: 'read-only' | 'full-access' | 'custom';
  readonly permissions: readonly string[];
  readonly lastUsedAt: string | null;
  readonly expiresAt: string | null;
  readonly lifespan: number | string | null;
  readonly createdAt: string;
}
export const tokensOptions = () =>
  queryOptions({
    queryKey: ['tokens', whose()],
    queryFn: ({ signal }) => getData<readonly ApiToken[]>(serverSend(), '/admin/api-tokens', signal),
  });
