/** What code sees of the caller of a request: `ctx.state.auth`. */
import type { KnownCaller } from '../../access/caller.js';
import type { Action } from '../../access/permissions.js';
import { missing, withMissing } from '../../v4code/strapi-utils/missing.js';

/** v4's names of the ways to be known. */
const names = {
  public: 'users-permissions',
  user: 'users-permissions',
  token: 'api-token',
  admin: 'admin',
} as const satisfies Record<KnownCaller['who']['kind'], string>;

const strategies = Object.fromEntries(
  Object.entries(names).map(([kind, name]) => [kind, withMissing('ctx.state.auth.strategy', { name }, isOfStrategy)]),
) as Record<KnownCaller['who']['kind'], { readonly name: string }>;

function isOfStrategy(member: string): boolean {
  return member === 'authenticate' || member === 'verify';
}

/** Whether one of the strategies of a route is how the caller is known. Administrators are known by none that v4 has for these routes. */
export const isKnownBy = ({ who }: KnownCaller, wanted: readonly string[]): boolean =>
  who.kind !== 'admin' && wanted.includes(names[who.kind]);

/** Whose rights a request has, on its context and on what code sees of it. */
export const CALLER = Symbol('caller');

export interface WithCaller {
  [CALLER]?: KnownCaller;
}

const ABILITY = 'ctx.state.auth.ability';

/** CASL's object, as far as guards ask it. It is made for every request, so its members are those of its class. */
class Ability {
  readonly [CALLER]: KnownCaller;
  constructor(caller: KnownCaller) {
    this[CALLER] = caller;
  }
  can(action: Action): boolean {
    return this[CALLER].may(action);
  }
  cannot(action: Action): boolean {
    return !this[CALLER].may(action);
  }
  get rules(): readonly object[] {
    const { actions } = this[CALLER];
    if (!actions) throw missing(`${ABILITY}.rules`);
    return [...actions].map((action) => ({ action, subject: 'all' }));
  }
}
// what is neither its own nor its class's: a proxy around each of them would cost every request
Object.setPrototypeOf(Ability.prototype, withMissing(ABILITY, {}));

/** Tokens that need no permissions have no ability in v4. */
const needsPermissions = ({ who, actions }: KnownCaller): boolean => who.kind !== 'token' || actions !== undefined;

/** @param credentials null for the public. */
export const authOf = (caller: KnownCaller, credentials: object | null): object => ({
  strategy: strategies[caller.who.kind],
  credentials,
  ability: needsPermissions(caller) ? new Ability(caller) : null,
  [CALLER]: caller,
});
