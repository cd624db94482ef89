/** API tokens as v4 stores them: the hex HMAC-SHA-512 of their text (ST12). The text itself is not stored. */
import crypto from 'node:crypto';
import { sql } from 'kysely';
import type { Dialect, Rows, Sql, Statement } from '../sql/dialect.js';
import type { Action } from './permissions.js';

export type TokenType = 'read-only' | 'full-access' | 'custom';

export interface ApiToken {
  readonly id: number;
  /** A type unknown to v4 counts as custom. */
  readonly type: TokenType;
  /** Epoch milliseconds; null for never. */
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly actions: ReadonlySet<Action>;
  /** The administrator who created it, recorded as the creator of what the token writes (Q9); null if unknown. */
  readonly adminId: number | null;
}

export const hashToken = (text: string, salt: string): string =>
  crypto.createHmac('sha512', salt).update(text).digest('hex');

/** Constant-time comparison. */
export const isSame = (a: string, b: string): boolean => {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && crypto.timingSafeEqual(one, other);
};

/** The tokens with that hash and their actions, one row for each action. */
export const tokenStatement = (hash: string, dialect: Dialect): Statement =>
  tokensWhere(sql`t.access_key = ${dialect.bind('string', hash)}`, dialect);

/** The tokens of that name, in the same form. */
export const tokenNameStatement = (name: string, dialect: Dialect): Statement =>
  tokensWhere(sql`t.name = ${dialect.bind('string', name)}`, dialect);

/** The token with that id, in the same form. */
export const tokenIdStatement = (id: number, dialect: Dialect): Statement =>
  tokensWhere(sql`t.id = ${dialect.bind('id', id)}`, dialect);

const tokensWhere = (condition: Sql, dialect: Dialect): Statement => {
  const epoch = (name: string) => dialect.jsonValue('epoch', sql`${sql.ref(`t.${name}`)}`);
  return dialect.compile(sql`
    select t.id, t.type, t.access_key, ${epoch('expires_at')}, ${epoch('last_used_at')}, p.action, t.created_by_id
    from strapi_api_tokens t
    left join strapi_api_token_permissions_token_links l on l.api_token_id = t.id
    left join strapi_api_token_permissions p on p.id = l.api_token_permission_id
    where ${condition}
    order by t.id, p.action`);
};

type TokenRow = readonly [
  id: number,
  type: string | null,
  hash: string,
  expiresAt: string | null,
  lastUsedAt: string | null,
  action: string | null,
  adminId: number | null,
];

export const tokenOf = (rows: Rows, hash: string): ApiToken | null => {
  const [first] = rows as readonly TokenRow[];
  return first && isSame(first[2], hash) ? firstToken(rows) : null;
};

/** The token of the first row with all its actions. */
export const firstToken = (rows: Rows): ApiToken | null => {
  const found = rows as readonly TokenRow[];
  const [first] = found;
  if (!first) return null;
  const [id, type, , expiresAt, lastUsedAt, , adminId] = first;
  const own = found.filter((row) => row[0] === id);
  return {
    id,
    type: type === 'read-only' || type === 'full-access' ? type : 'custom',
    expiresAt: expiresAt === null ? null : Number(expiresAt),
    lastUsedAt: lastUsedAt === null ? null : Number(lastUsedAt),
    actions: new Set(own.map((row) => row[5]).filter((action) => action !== null)),
    adminId,
  };
};

/** Records the use of a token, unless that was done since `before`. */
export const lastUseStatement = (id: number, now: number, before: number, dialect: Dialect): Statement =>
  dialect.compile(
    sql`update strapi_api_tokens set last_used_at = ${dialect.bind('datetime', now)} where id = ${dialect.bind('id', id)} and (last_used_at is null or last_used_at <= ${dialect.bind('datetime', before)})`,
  );
