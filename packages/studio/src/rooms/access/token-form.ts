/** What is asked for a new API token, and the body that is sent. */
import type { ApiToken } from '../../server/queries.js';
import type { Action } from './grants.js';

export type TokenKind = ApiToken['type'];

const DAY_MS = 24 * 3600 * 1000;

/** As v4 offers them. */
export const lifespans = { '7': 7 * DAY_MS, '30': 30 * DAY_MS, '90': 90 * DAY_MS, never: null } as const;
export type Lifespan = keyof typeof lifespans;

export interface TokenForm {
  readonly name: string;
  readonly description: string;
  readonly type: TokenKind;
  readonly lifespan: Lifespan;
  /** Of custom tokens; kept while another kind is looked at. */
  readonly permissions: ReadonlySet<Action>;
}

export const emptyTokenForm: TokenForm = {
  name: '',
  description: '',
  type: 'read-only',
  lifespan: '90',
  permissions: new Set(),
};

/** The body of a new token; of a stored one the lifespan stays. */
export const tokenBody = ({ name, description, type, lifespan, permissions }: TokenForm, isNew: boolean): object => ({
  name: name.trim(),
  description: description.trim(),
  type,
  ...(isNew ? { lifespan: lifespans[lifespan] } : {}),
  permissions: type === 'custom' ? [...permissions].sort() : null,
});

export const formOf = (token: ApiToken): TokenForm => ({
  name: token.name,
  description: token.description ?? '',
  type: token.type,
  lifespan: 'never',
  permissions: new Set(token.permissions),
});

/** Why the form cannot be sent yet; the server checks everything again. */
export const missingIn = ({ name, type, permissions }: TokenForm): 'name' | 'permissions' | null =>
  name.trim() === '' ? 'name' : type === 'custom' && permissions.size === 0 ? 'permissions' : null;

type TokenState = 'valid' | 'soon' | 'expired' | 'forever';

/** `soon` is within a week. @param now milliseconds. */
export const stateOf = ({ expiresAt }: Pick<ApiToken, 'expiresAt'>, now: number): TokenState => {
  if (expiresAt === null) return 'forever';
  const left = Date.parse(expiresAt) - now;
  return left <= 0 ? 'expired' : left < 7 * DAY_MS ? 'soon' : 'valid';
};
