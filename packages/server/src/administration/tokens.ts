/** API tokens, for administrators whose roles let them look after them (AD16). Keys are shown once, and never stored. */
import { sql } from 'kysely';
import type { Action } from '../access/permissions.js';
import type { TokenType } from '../access/tokens.js';
import { changeAccounts } from '../accounts/account.js';
import { grantableActions } from '../accounts/roles.js';
import {
  changeToken,
  createToken,
  readTokenDetails,
  regenerateToken,
  revokeToken,
  type TokenDetails,
  tokenLifetimes,
} from '../accounts/tokens.js';
import { type Issue, issue, nearest, refuse } from '../errors.js';
import { limits } from '../limits.js';
import type { Tx } from '../sql/dialect.js';
import { isObject } from '../write/ids.js';
import { type AdminAction, type AdministrationDeps, answer, asAction, rightsOf } from './administration.js';

export interface TokenActions {
  readonly find: AdminAction;
  readonly findOne: AdminAction;
  readonly create: AdminAction;
  readonly update: AdminAction;
  readonly remove: AdminAction;
  readonly regenerate: AdminAction;
}

const dayMs = 24 * 60 * 60 * 1000;
const lifespans: readonly number[] = tokenLifetimes.map((days) => days * dayMs);
const types: readonly TokenType[] = ['read-only', 'full-access', 'custom'];

export const newTokenActions = ({ accounts, apiTokenSalt }: AdministrationDeps): TokenActions => {
  const { db } = accounts;

  const tokenWith = async (id: number | null): Promise<TokenDetails> =>
    (id === null ? undefined : (await readTokenDetails(db, id))[0]) ?? absent();

  /** Names are unique, as in v4, or nobody could tell tokens apart. */
  const checkName = async (name: string, id: number | null, tx: Tx): Promise<void> => {
    const { dialect } = db;
    const rows = await tx.run(
      dialect.compile(sql`select id from strapi_api_tokens where name = ${dialect.bind('string', name)}`),
    );
    if (rows.some(([other]) => other !== id)) refuse(issue('admin.token-name', ['name']));
  };

  return {
    find: asAction(async () => answer(await readTokenDetails(db))),

    findOne: asAction(async ({ id }) => answer(await tokenWith(id))),

    create: asAction(async (request) => {
      const { adminId } = rightsOf(request);
      const form = await readToken(request.body, null);
      const { id, key } = await changeAccounts(accounts, async (session) => {
        await checkName(form.name, null, session.tx);
        const { permissions: actions, lifespan: lifetimeMs, ...rest } = form;
        return createToken({ ...rest, lifetimeMs, actions, adminId }, apiTokenSalt, accounts, session);
      });
      return answer({ ...(await tokenWith(id)), accessKey: key }, { isNew: true });
    }),

    update: asAction(async ({ id, body }) => {
      const token = await tokenWith(id);
      const { lifespan: _kept, permissions: actions, ...form } = await readToken(body, token);
      await changeAccounts(accounts, async (session) => {
        await checkName(form.name, token.id, session.tx);
        await changeToken(token.id, { ...form, actions }, accounts, session);
      });
      return answer(await tokenWith(token.id));
    }),

    remove: asAction(async ({ id }) => {
      const token = await tokenWith(id);
      await changeAccounts(accounts, ({ tx }) => revokeToken(token.id, accounts, tx));
      return answer(token);
    }),

    regenerate: asAction(async ({ id }) => {
      const token = await tokenWith(id);
      const key = await changeAccounts(accounts, (session) =>
        regenerateToken(token.id, apiTokenSalt, accounts, session),
      );
      return answer({ ...(await tokenWith(token.id)), accessKey: key });
    }),
  };

  /** @param stored whose values stay where the body has none; null for a new token. */
  async function readToken(body: unknown, stored: TokenDetails | null): Promise<TokenForm> {
    const given = isObject(body) ? body : {};
    const issues: Issue[] = [];
    const text = (name: 'name' | 'description', kept: string): string => {
      const value = given[name] === undefined ? kept : (given[name] ?? '');
      if (typeof value !== 'string') issues.push(issue('body.type', [name], { expected: 'string', value }));
      else if (value.includes('\0') || !value.isWellFormed()) issues.push(issue('body.text', [name]));
      else if (value.length > limits.tokenTextMax)
        issues.push(issue('body.max-length', [name], { max: limits.tokenTextMax }));
      else return value.trim();
      return '';
    };
    const name = text('name', stored?.name ?? '');
    if (name === '' && !issues.some((it) => it.path[0] === 'name')) issues.push(issue('account.required', ['name']));
    const description = text('description', stored?.description ?? '');
    const type = types.find((it) => it === (given['type'] ?? stored?.type));
    if (!type) issues.push(issue('body.enumeration', ['type'], { values: types }));
    const { lifespan = null } = given;
    const isLifespan = lifespan === null || lifespans.includes(Number(lifespan));
    if (stored === null && !isLifespan)
      issues.push(issue('body.enumeration', ['lifespan'], { values: lifespans.map(String) }));
    const permissions = given['permissions'] ?? stored?.permissions ?? [];
    const actions = type === 'custom' ? await readActions(permissions, issues) : [];
    if (issues.length > 0 || !type) return refuse(...issues);
    return { name, description, type, lifespan: lifespan === null ? null : Number(lifespan), permissions: actions };
  }

  async function readActions(given: unknown, issues: Issue[]): Promise<readonly Action[]> {
    if (!Array.isArray(given) || given.length === 0) {
      issues.push(issue('account.required', ['permissions']));
      return [];
    }
    const known = await grantableActions(accounts);
    for (const [i, action] of given.entries())
      if (typeof action !== 'string' || !known.has(action))
        issues.push(
          issue('account.unknown-action', ['permissions', String(i)], {
            action: String(action),
            near: typeof action === 'string' ? nearest(action, known) : undefined,
          }),
        );
    return [...new Set(given as readonly Action[])];
  }
};

interface TokenForm {
  readonly name: string;
  readonly description: string;
  readonly type: TokenType;
  /** Milliseconds; null for no end. */
  readonly lifespan: number | null;
  readonly permissions: readonly Action[];
}

const absent = (): never => refuse(issue('admin.token-absent', []));
