/** Creates, lists and revokes API tokens (AC17). A key is returned once and never stored. */
import crypto from 'node:crypto';
import { sql } from 'kysely';
import type { Action } from '../access/permissions.js';
import { hashToken, type TokenType } from '../access/tokens.js';
import { typeOf } from '../model/model.js';
import { readRows, type Sql, type Tx } from '../sql/dialect.js';
import type { Session } from '../write/session.js';
import { type AccountDeps, ownContext } from './account.js';

export interface NewToken {
  readonly name: string;
  readonly description: string;
  readonly type: TokenType;
  /** One of v4's lifetimes; null for no expiry. */
  readonly lifetimeMs: number | null;
  /** The actions of a custom token. */
  readonly actions: readonly Action[];
}

/** The lifetimes in days that v4's admin panel offers. */
export const tokenLifetimes = [7, 30, 90] as const;

/** Returns the key: 256 hex digits. */
export const createToken = async (
  token: NewToken,
  salt: string,
  deps: AccountDeps,
  session: Session,
): Promise<string> => {
  const { model, writer, now } = deps;
  const key = crypto.randomBytes(128).toString('hex');
  const write = async (uid: string, data: Readonly<Record<string, unknown>>): Promise<number> => {
    const request = { action: 'create', type: typeOf(model, uid), data } as const;
    return (await writer.apply(request, ownContext(deps), session)).id;
  };
  const id = await write('admin::api-token', {
    name: token.name,
    description: token.description,
    type: token.type,
    accessKey: hashToken(key, salt),
    lifespan: token.lifetimeMs,
    expiresAt: token.lifetimeMs === null ? null : now() + token.lifetimeMs,
  });
  for (const action of token.type === 'custom' ? token.actions : [])
    await write('admin::api-token-permission', { action, token: id });
  return key;
};

/** A token as `token list` shows it. */
export interface StoredToken {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  /** ISO text; null for never. */
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
}

export const readTokens = async ({ db }: Pick<AccountDeps, 'db'>): Promise<readonly StoredToken[]> => {
  const time = (name: string): Sql => db.dialect.jsonValue('instant', sql`${sql.ref(name)}`);
  const query = sql`select id, name, type, ${time('expires_at')}, ${time('last_used_at')} from strapi_api_tokens order by id`;
  const rows = await db.read(() => readRows(db.dialect.compile(query)));
  return (rows as readonly (readonly [number, string | null, string | null, string | null, string | null])[]).map(
    ([id, name, type, expiresAt, lastUsedAt]) => ({ id, name: name ?? '', type: type ?? '', expiresAt, lastUsedAt }),
  );
};

/** Deletes the token and its permissions. */
export const revokeToken = async (id: number, { db }: Pick<AccountDeps, 'db'>, tx: Tx): Promise<void> => {
  const token = db.dialect.bind('id', id);
  const links = sql`from strapi_api_token_permissions_token_links where api_token_id = ${token}`;
  const queries = [
    sql`delete from strapi_api_token_permissions where id in (select api_token_permission_id ${links})`,
    sql`delete ${links}`,
    sql`delete from strapi_api_tokens where id = ${token}`,
  ];
  for (const query of queries) await tx.run(db.dialect.compile(query));
};
