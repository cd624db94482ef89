/** Creates, lists and revokes API tokens (AC17). A key is returned once and never stored. */
import crypto from 'node:crypto';
import { sql } from 'kysely';
import type { Action } from '../access/permissions.js';
import { hashToken, type TokenType } from '../access/tokens.js';
import { typeOf } from '../model/model.js';
import { type Db, readRows, type Sql, type Tx } from '../sql/dialect.js';
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
  /** The administrator who makes it, recorded as the creator of what it writes (Q9). */
  readonly adminId?: number | null;
}

/** The lifetimes in days that v4's admin panel offers. */
export const tokenLifetimes = [7, 30, 90] as const;

/** Returns the id, and the key: 256 hex digits. */
export const createToken = async (
  token: NewToken,
  salt: string,
  deps: AccountDeps,
  session: Session,
): Promise<{ readonly id: number; readonly key: string }> => {
  const { model, writer, now } = deps;
  const key = newKey();
  const { adminId = null } = token;
  const data = {
    name: token.name,
    description: token.description,
    type: token.type,
    accessKey: hashToken(key, salt),
    lifespan: token.lifetimeMs,
    expiresAt: token.lifetimeMs === null ? null : now() + token.lifetimeMs,
  };
  const request = { action: 'create', type: typeOf(model, 'admin::api-token'), data, adminId } as const;
  const { id } = await writer.apply(request, ownContext(deps), session);
  await addActions(id, token.type === 'custom' ? token.actions : [], deps, session);
  return { id, key };
};

const newKey = (): string => crypto.randomBytes(128).toString('hex');

const addActions = async (
  token: number,
  actions: readonly Action[],
  deps: AccountDeps,
  session: Session,
): Promise<void> => {
  const type = typeOf(deps.model, 'admin::api-token-permission');
  for (const action of actions)
    await deps.writer.apply({ action: 'create', type, data: { action, token } }, ownContext(deps), session);
};

/** What may change of a token: its key and its end stay. */
export const changeToken = async (
  id: number,
  { name, description, type, actions }: Pick<NewToken, 'name' | 'description' | 'type' | 'actions'>,
  deps: AccountDeps,
  session: Session,
): Promise<void> => {
  await writeToken(id, { name, description, type }, deps, session);
  await removeActions(id, deps, session.tx);
  await addActions(id, type === 'custom' ? actions : [], deps, session);
};

/** Another key for a token, which begins its lifetime anew, as in v4; returned once. */
export const regenerateToken = async (
  id: number,
  salt: string,
  deps: AccountDeps,
  session: Session,
): Promise<string> => {
  const key = newKey();
  const { dialect } = deps.db;
  const [[lifespan = null] = []] = await session.tx.run(
    dialect.compile(sql`select lifespan from strapi_api_tokens where id = ${dialect.bind('id', id)}`),
  );
  const expiresAt = lifespan === null ? null : deps.now() + Number(lifespan);
  await writeToken(id, { accessKey: hashToken(key, salt), expiresAt }, deps, session);
  return key;
};

const writeToken = async (
  id: number,
  data: Readonly<Record<string, unknown>>,
  deps: AccountDeps,
  session: Session,
): Promise<void> => {
  const type = typeOf(deps.model, 'admin::api-token');
  await deps.writer.apply({ action: 'update', type, id, data }, ownContext(deps), session);
};

/** A token as administrators see it: everything but its key. */
export interface TokenDetails extends StoredToken {
  readonly description: string;
  /** The actions of a custom token. */
  readonly permissions: readonly Action[];
  /** Milliseconds; null for no end. */
  readonly lifespan: number | null;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
}

/** @param id of the only one that is wanted. */
export const readTokenDetails = async (db: Db, id?: number): Promise<readonly TokenDetails[]> => {
  const time = (name: string): Sql => db.dialect.jsonValue('instant', sql`${sql.ref(`t.${name}`)}`);
  const statement = db.dialect.compile(sql`
    select t.id, t.name, t.type, ${time('expires_at')}, ${time('last_used_at')}, t.description, t.lifespan,
      ${time('created_at')}, ${time('updated_at')}, p.action
    from strapi_api_tokens t
    left join strapi_api_token_permissions_token_links l on l.api_token_id = t.id
    left join strapi_api_token_permissions p on p.id = l.api_token_permission_id
    ${id === undefined ? sql`` : sql`where t.id = ${db.dialect.bind('id', id)}`}
    order by t.id, p.action`);
  const tokens = new Map<number, TokenDetails & { readonly permissions: Action[] }>();
  for (const row of await db.read(() => readRows(statement))) {
    const [key, name, type, expiresAt, lastUsedAt, description, lifespan, createdAt, updatedAt, action] =
      row as readonly [number, ...(string | null)[]];
    const token = tokens.get(key) ?? {
      id: key,
      name: name ?? '',
      description: description ?? '',
      type: type ?? '',
      permissions: [],
      lastUsedAt: lastUsedAt ?? null,
      expiresAt: expiresAt ?? null,
      lifespan: lifespan === null ? null : Number(lifespan),
      createdAt: createdAt ?? null,
      updatedAt: updatedAt ?? null,
    };
    tokens.set(key, token);
    if (action) token.permissions.push(action);
  }
  return [...tokens.values()];
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
  await removeActions(id, { db }, tx);
  await tx.run(db.dialect.compile(sql`delete from strapi_api_tokens where id = ${token}`));
};

const removeActions = async (id: number, { db }: Pick<AccountDeps, 'db'>, tx: Tx): Promise<void> => {
  const links = sql`from strapi_api_token_permissions_token_links where api_token_id = ${db.dialect.bind('id', id)}`;
  const owned = await tx.run(db.dialect.compile(sql`select api_token_permission_id ${links}`));
  await tx.run(db.dialect.compile(sql`delete ${links}`));
  if (owned.length === 0) return;
  const ids = sql.join(owned.map(([it]) => db.dialect.bind('id', it as number)));
  await tx.run(db.dialect.compile(sql`delete from strapi_api_token_permissions where id in (${ids})`));
};
