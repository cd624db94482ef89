/** The endpoints of administrators. One that is not listed here does not exist. */
import type { AdminAction, AdministrationDeps } from './administration.js';
import { newPeopleActions, type PeopleActions } from './people.js';
import { newSignInActions, type SignInActions } from './sign-in.js';
import { newTokenActions, type TokenActions } from './tokens.js';

export interface AdminActions {
  readonly signIn: SignInActions;
  readonly tokens: TokenActions;
  readonly people: PeopleActions;
}

export const newAdminActions = (deps: AdministrationDeps): AdminActions => ({
  signIn: newSignInActions(deps),
  tokens: newTokenActions(deps),
  people: newPeopleActions(deps),
});

export interface AdminEndpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /**
   * `nobody`: open to all. `cookie`: works with the refresh token of the cookie, which a browser sends by itself. `admin`: an
   * administrator's access token.
   */
  readonly needs: 'nobody' | 'cookie' | 'admin';
  /** The action of v4's administration whose permission an administrator needs; none by default. */
  readonly permission?: string;
  readonly actionOf: (actions: AdminActions) => AdminAction;
  /** By what attempts are counted, besides the address; `self`: those with `currentPassword`, by the administrator. */
  readonly counted?: 'email' | 'address' | 'self';
}

export const adminEndpoints: readonly AdminEndpoint[] = [
  {
    method: 'POST',
    path: '/admin/login',
    needs: 'nobody',
    actionOf: ({ signIn }) => signIn.login,
    counted: 'email',
  },
  { method: 'POST', path: '/admin/refresh', needs: 'cookie', actionOf: ({ signIn }) => signIn.refresh },
  { method: 'POST', path: '/admin/logout', needs: 'cookie', actionOf: ({ signIn }) => signIn.logout },
  { method: 'GET', path: '/admin/me', needs: 'admin', actionOf: ({ signIn }) => signIn.me },
  { method: 'GET', path: '/admin/init', needs: 'nobody', actionOf: ({ signIn }) => signIn.init },
  {
    method: 'POST',
    path: '/admin/register',
    needs: 'nobody',
    actionOf: ({ signIn }) => signIn.register,
    counted: 'address',
  },
  {
    method: 'GET',
    path: '/admin/api-tokens',
    needs: 'admin',
    permission: 'admin::api-tokens.read',
    actionOf: ({ tokens }) => tokens.find,
  },
  {
    method: 'POST',
    path: '/admin/api-tokens',
    needs: 'admin',
    permission: 'admin::api-tokens.create',
    actionOf: ({ tokens }) => tokens.create,
  },
  {
    method: 'GET',
    path: '/admin/api-tokens/:id',
    needs: 'admin',
    permission: 'admin::api-tokens.read',
    actionOf: ({ tokens }) => tokens.findOne,
  },
  {
    method: 'PUT',
    path: '/admin/api-tokens/:id',
    needs: 'admin',
    permission: 'admin::api-tokens.update',
    actionOf: ({ tokens }) => tokens.update,
  },
  {
    method: 'DELETE',
    path: '/admin/api-tokens/:id',
    needs: 'admin',
    permission: 'admin::api-tokens.delete',
    actionOf: ({ tokens }) => tokens.remove,
  },
  {
    method: 'POST',
    path: '/admin/api-tokens/:id/regenerate',
    needs: 'admin',
    permission: 'admin::api-tokens.regenerate',
    actionOf: ({ tokens }) => tokens.regenerate,
  },
  {
    method: 'GET',
    path: '/admin/users',
    needs: 'admin',
    permission: 'admin::users.read',
    actionOf: ({ people }) => people.find,
  },
  {
    method: 'POST',
    path: '/admin/users',
    needs: 'admin',
    permission: 'admin::users.create',
    actionOf: ({ people }) => people.create,
  },
  {
    method: 'PUT',
    path: '/admin/users/me',
    needs: 'admin',
    actionOf: ({ people }) => people.updateMe,
    counted: 'self',
  },
  {
    method: 'PUT',
    path: '/admin/users/:id',
    needs: 'admin',
    permission: 'admin::users.update',
    actionOf: ({ people }) => people.update,
  },
  {
    method: 'DELETE',
    path: '/admin/users/:id',
    needs: 'admin',
    permission: 'admin::users.delete',
    actionOf: ({ people }) => people.remove,
  },
  {
    method: 'POST',
    path: '/admin/users/:id/registration-token',
    needs: 'admin',
    permission: 'admin::users.update',
    actionOf: ({ people }) => people.invite,
  },
  {
    method: 'GET',
    path: '/admin/roles',
    needs: 'admin',
    permission: 'admin::roles.read',
    actionOf: ({ people }) => people.roles,
  },
];
