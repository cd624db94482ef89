/** New API tokens (contract 8.5). The key is given once and kept nowhere. */
import crypto from 'node:crypto';
import type { Action } from '../access/permissions.js';
import { hashToken, type TokenType } from '../access/tokens.js';
import { bug } from '../errors.js';
import type { Model } from '../model/model.js';
import type { Tx } from '../sql/dialect.js';
import { type AccountDeps, idOf, ownContext } from './account.js';

export interface NewToken {
  readonly name: string;
  readonly description: string;
  readonly type: TokenType;
  /** One of v4's lifetimes; null for ever. */
  readonly lifetimeMs: number | null;
  /** What a custom token may do. */
  readonly actions: readonly Action[];
}

/** Days that v4's admin panel knows. */
export const tokenLifetimes = [7, 30, 90] as const;

const typeOf = (model: Model, uid: string) => {
  const type = model.types.get(uid);
  if (!type) throw bug('tokens.type-missing', { uid });
  return type;
};

/** Gives the key: 256 hex digits. */
export const createToken = async (token: NewToken, salt: string, deps: AccountDeps, tx: Tx): Promise<string> => {
  const { model, writer, now } = deps;
  const key = crypto.randomBytes(128).toString('hex');
  const write = async (uid: string, data: Readonly<Record<string, unknown>>): Promise<number> => {
    const type = typeOf(model, uid);
    const asked = { action: 'create', type, id: null, body: { data }, search: 'fields=id', ifMatch: null } as const;
    return idOf(await writer.writeInside(asked, ownContext(deps), tx));
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
