/** The endpoints of users, roles and authentication (RQ1, AC8), as v4's plugin users-permissions has them. One that is not listed here does not exist. */
import type { AccountAction } from './account.js';
import type { Accounts } from './accounts.js';

export interface AccountEndpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Without the prefix. */
  readonly path: string;
  /** The permission, without `plugin::users-permissions.`. */
  readonly permission: string;
  readonly actionOf: (accounts: Accounts) => AccountAction;
  /** The key by which attempts are counted, besides the address: an attribute of the body, the user, or nothing. */
  readonly counted?: 'identifier' | 'email' | 'user' | 'address';
}

export const accountEndpoints: readonly AccountEndpoint[] = [
  {
    method: 'POST',
    path: '/auth/local',
    permission: 'auth.callback',
    actionOf: ({ login }) => login.login,
    counted: 'identifier',
  },
  {
    method: 'POST',
    path: '/auth/local/register',
    permission: 'auth.register',
    actionOf: ({ login }) => login.register,
    counted: 'email',
  },
  {
    method: 'POST',
    path: '/auth/forgot-password',
    permission: 'auth.forgotPassword',
    actionOf: ({ login }) => login.forgotPassword,
    counted: 'email',
  },
  {
    method: 'POST',
    path: '/auth/reset-password',
    permission: 'auth.resetPassword',
    actionOf: ({ login }) => login.resetPassword,
    // every guess is a different code, so only the address can be counted
    counted: 'address',
  },
  {
    method: 'POST',
    path: '/auth/change-password',
    permission: 'auth.changePassword',
    actionOf: ({ login }) => login.changePassword,
    counted: 'user',
  },
  {
    method: 'POST',
    path: '/auth/send-email-confirmation',
    permission: 'auth.sendEmailConfirmation',
    actionOf: ({ login }) => login.sendConfirmation,
    counted: 'email',
  },
  {
    method: 'GET',
    path: '/auth/email-confirmation',
    permission: 'auth.emailConfirmation',
    actionOf: ({ login }) => login.confirmEmail,
  },
  {
    method: 'GET',
    path: '/auth/:provider/callback',
    permission: 'auth.callback',
    actionOf: ({ login }) => login.provider,
  },
  {
    method: 'GET',
    path: '/connect/*',
    permission: 'auth.connect',
    actionOf: ({ login }) => login.provider,
    counted: 'address',
  },
  { method: 'GET', path: '/users', permission: 'user.find', actionOf: ({ users }) => users.find },
  { method: 'POST', path: '/users', permission: 'user.create', actionOf: ({ users }) => users.create },
  { method: 'GET', path: '/users/count', permission: 'user.count', actionOf: ({ users }) => users.count },
  { method: 'GET', path: '/users/me', permission: 'user.me', actionOf: ({ users }) => users.me },
  { method: 'GET', path: '/users/:id', permission: 'user.findOne', actionOf: ({ users }) => users.findOne },
  { method: 'PUT', path: '/users/:id', permission: 'user.update', actionOf: ({ users }) => users.update },
  { method: 'DELETE', path: '/users/:id', permission: 'user.destroy', actionOf: ({ users }) => users.destroy },
  { method: 'GET', path: '/users-permissions/roles', permission: 'role.find', actionOf: ({ roles }) => roles.find },
  {
    method: 'POST',
    path: '/users-permissions/roles',
    permission: 'role.createRole',
    actionOf: ({ roles }) => roles.create,
  },
  {
    method: 'GET',
    path: '/users-permissions/roles/:id',
    permission: 'role.findOne',
    actionOf: ({ roles }) => roles.findOne,
  },
  {
    method: 'PUT',
    path: '/users-permissions/roles/:id',
    permission: 'role.updateRole',
    actionOf: ({ roles }) => roles.update,
  },
  {
    method: 'DELETE',
    path: '/users-permissions/roles/:id',
    permission: 'role.deleteRole',
    actionOf: ({ roles }) => roles.remove,
  },
  {
    method: 'GET',
    path: '/users-permissions/permissions',
    permission: 'permissions.getPermissions',
    actionOf: ({ roles }) => roles.permissions,
  },
];
