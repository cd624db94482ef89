/** What this room asks of the server and tells it. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { type ApiClient, getData, serverSend } from '../../server/clients.js';
import { type ApiToken, useClient } from '../../server/queries.js';
import { type Action, actionsIn, grantedIn, type PermissionTree, type Role, treeOf } from './grants.js';

interface ListedRole {
  readonly id: number;
  readonly name: string | null;
  readonly description: string | null;
  readonly type: string | null;
  readonly nb_users: number;
}

export interface Rights {
  readonly roles: readonly Role[];
  /** All that can be granted. */
  readonly actions: readonly Action[];
}

const ROLES = '/users-permissions/roles';

const grantedTo = async (client: ApiClient, id: number, signal?: AbortSignal): Promise<ReadonlySet<Action>> => {
  const { body } = await client.send({ method: 'GET', path: `${ROLES}/${id}`, ...(signal ? { signal } : {}) });
  return grantedIn((body as { role: { permissions: PermissionTree } }).role.permissions);
};

export const rightsOptions = (client: ApiClient) =>
  queryOptions({
    queryKey: ['access', 'rights'],
    queryFn: async ({ signal }): Promise<Rights> => {
      const [listed, all] = await Promise.all([
        client.send({ method: 'GET', path: ROLES, signal }),
        client.send({ method: 'GET', path: '/users-permissions/permissions', signal }),
      ]);
      const roles = await Promise.all(
        (listed.body as { roles: readonly ListedRole[] }).roles.map(async (it) => ({
          id: it.id,
          name: it.name ?? it.type ?? String(it.id),
          description: it.description ?? '',
          type: it.type ?? '',
          users: it.nb_users,
          granted: await grantedTo(client, it.id, signal),
        })),
      );
      // code of the project may have actions that only roles name
      const known = actionsIn((all.body as { permissions: PermissionTree }).permissions);
      const actions = new Set([...known, ...roles.flatMap((it) => [...it.granted].sort())]);
      return { roles, actions: [...actions] };
    },
  });

export const useRights = () => useQuery(rightsOptions(useClient()));

export interface RoleForm {
  readonly name: string;
  readonly description: string;
}

export const roleActions = (client: ApiClient) => ({
  create: (form: RoleForm) => client.send({ method: 'POST', path: ROLES, body: form }),
  describe: (id: number, form: RoleForm) => client.send({ method: 'PUT', path: `${ROLES}/${id}`, body: form }),
  /** The server replaces the whole set, so that it is read again just before: others may have changed other actions. */
  change: async (id: number, changeOf: (granted: ReadonlySet<Action>) => ReadonlySet<Action>) => {
    const granted = changeOf(await grantedTo(client, id));
    await client.send({ method: 'PUT', path: `${ROLES}/${id}`, body: { permissions: treeOf(granted) } });
    return granted;
  },
  remove: (id: number) => client.send({ method: 'DELETE', path: `${ROLES}/${id}` }),
});

// ---- API tokens

interface MadeToken extends ApiToken {
  /** Shown once. */
  readonly accessKey: string;
}

const TOKENS = '/admin/api-tokens';
const dataOf = <T>({ body }: { readonly body: unknown }): T => (body as { data: T }).data;

export const tokenActions = {
  create: async (body: object): Promise<MadeToken> =>
    dataOf(await serverSend()({ method: 'POST', path: TOKENS, body })),
  change: (id: number, body: object) => serverSend()({ method: 'PUT', path: `${TOKENS}/${id}`, body }),
  regenerate: async (id: number): Promise<string> =>
    dataOf<{ readonly accessKey: string }>(
      await serverSend()({ method: 'POST', path: `${TOKENS}/${id}/regenerate`, body: {} }),
    ).accessKey,
  revoke: (id: number) => serverSend()({ method: 'DELETE', path: `${TOKENS}/${id}` }),
};

// ---- administrators

export interface ListedAdministrator {
  readonly id: number;
  readonly firstname: string | null;
  readonly lastname: string | null;
  readonly email: string;
  /** False until they have chosen a password. */
  readonly isActive: boolean;
  readonly blocked: boolean;
  readonly roles: readonly { readonly id: number; readonly name: string; readonly code: string }[];
}

export const useAdministrators = () =>
  useQuery({
    queryKey: ['access', 'administrators'],
    queryFn: ({ signal }) => getData<readonly ListedAdministrator[]>(serverSend(), ADMINISTRATORS, signal),
  });

export const useAdministratorRoles = () =>
  useQuery({
    queryKey: ['access', 'administrator roles'],
    queryFn: ({ signal }) => getData<ListedAdministrator['roles']>(serverSend(), '/admin/roles', signal),
  });

export interface AdministratorForm {
  readonly firstname: string;
  readonly lastname: string;
  readonly email: string;
  /** Of a new one; '' makes a one-time link instead. */
  readonly password: string;
  /** Ids. */
  readonly roles: readonly number[];
}

const ADMINISTRATORS = '/admin/users';

export const administratorActions = {
  /** Resolves to the token of a one-time link, if no password is given. */
  create: async (form: Omit<AdministratorForm, 'password'> & { readonly password?: string }): Promise<string | null> =>
    dataOf<{ readonly registrationToken?: string }>(
      await serverSend()({ method: 'POST', path: ADMINISTRATORS, body: form }),
    ).registrationToken ?? null,
  change: async (
    id: number,
    body: Partial<Omit<AdministratorForm, 'password'>> & { readonly blocked?: boolean },
  ): Promise<void> => void (await serverSend()({ method: 'PUT', path: `${ADMINISTRATORS}/${id}`, body })),
  /** Resolves to the token of a one-time link. */
  invite: async (id: number): Promise<string> =>
    dataOf<{ readonly registrationToken: string }>(
      await serverSend()({ method: 'POST', path: `${ADMINISTRATORS}/${id}/registration-token`, body: {} }),
    ).registrationToken,
  remove: (id: number) => serverSend()({ method: 'DELETE', path: `${ADMINISTRATORS}/${id}` }),
};
