/** Users, roles and permissions: every endpoint of AC1 as a function from parsed input to a result. */
import type { AccountDeps } from './account.js';
import { type LoginActions, newLoginActions } from './login.js';
import { newRoleActions, type RoleActions } from './roles.js';
import { newUserActions, type UserActions } from './users.js';

export interface Accounts {
  readonly login: LoginActions;
  readonly users: UserActions;
  readonly roles: RoleActions;
  /** Waits for background work: mails and token usage updates. */
  idle(): Promise<void>;
}

export const newAccounts = (deps: AccountDeps): Accounts => {
  const login = newLoginActions(deps);
  return {
    login,
    users: newUserActions(deps),
    roles: newRoleActions(deps),
    idle: async () => {
      await login.idle();
      await deps.callers.idle();
    },
  };
};
