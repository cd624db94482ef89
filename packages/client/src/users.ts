/** Users, and what they do with their own accounts. */
import type { Id, UpdateInput } from './input.js';
import type { Checked, EntryQuery, NestedSelection, NoQuery } from './query.js';
import { getBody, type RequestOptions, type Send } from './request.js';
import type { BareEntry } from './result.js';
import type { EntryType } from './schema.js';

/** A login: `jwt` is a token for `createClient`. */
export interface Login<T extends EntryType> {
  readonly jwt: string;
  readonly user: BareEntry<T>;
}

/** Registration answers without a token while the address must be confirmed. */
export type Registration<T extends EntryType> = Login<T> | { readonly jwt?: never; readonly user: BareEntry<T> };

export interface Users<T extends EntryType> {
  /** @param identifier name or e-mail address. */
  login(identifier: string, password: string, options?: RequestOptions): Promise<Login<T>>;
  register(
    account: UpdateInput<T> & { readonly username: string; readonly email: string; readonly password: string },
    options?: RequestOptions,
  ): Promise<Registration<T>>;
  me<const Q extends EntryQuery<T> = NoQuery>(
    query?: Checked<Q, EntryQuery<T>>,
    options?: RequestOptions,
  ): Promise<BareEntry<T, Q>>;
  /** Sends a mail with a code, if there is such an account. */
  forgotPassword(email: string, options?: RequestOptions): Promise<{ readonly ok: boolean }>;
  resetPassword(code: string, password: string, options?: RequestOptions): Promise<Login<T>>;
  changePassword(currentPassword: string, password: string, options?: RequestOptions): Promise<Login<T>>;
  find<const Q extends NestedSelection<T> = NoQuery>(
    query?: Checked<Q, NestedSelection<T>>,
    options?: RequestOptions,
  ): Promise<BareEntry<T, Q>[]>;
  findOne<const Q extends EntryQuery<T> = NoQuery>(
    id: Id,
    query?: Checked<Q, EntryQuery<T>>,
    options?: RequestOptions,
  ): Promise<BareEntry<T, Q>>;
  count(options?: RequestOptions): Promise<number>;
  create(data: UpdateInput<T>, options?: RequestOptions): Promise<BareEntry<T>>;
  update(id: Id, data: UpdateInput<T>, options?: RequestOptions): Promise<BareEntry<T>>;
  delete(id: Id, options?: RequestOptions): Promise<BareEntry<T>>;
}

export const newUsers = (send: Send) => {
  const change = async (
    method: 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: object,
    options?: RequestOptions,
  ): Promise<unknown> => (await send({ ...options, method, path, ...(body ? { body } : {}) })).body;
  const pathOf = (id: Id): string => `/users/${encodeURIComponent(String(id))}`;
  return {
    login: (identifier: string, password: string, options?: RequestOptions) =>
      change('POST', '/auth/local', { identifier, password }, options),
    register: (account: object, options?: RequestOptions) => change('POST', '/auth/local/register', account, options),
    me: (query?: object, options?: RequestOptions) => getBody(send, '/users/me', query, options),
    forgotPassword: (email: string, options?: RequestOptions) =>
      change('POST', '/auth/forgot-password', { email }, options),
    resetPassword: (code: string, password: string, options?: RequestOptions) =>
      change('POST', '/auth/reset-password', { code, password, passwordConfirmation: password }, options),
    changePassword: (currentPassword: string, password: string, options?: RequestOptions) =>
      change('POST', '/auth/change-password', { currentPassword, password, passwordConfirmation: password }, options),
    find: (query?: object, options?: RequestOptions) => getBody(send, '/users', query, options),
    findOne: (id: Id, query?: object, options?: RequestOptions) => getBody(send, pathOf(id), query, options),
    count: (options?: RequestOptions) => getBody(send, '/users/count', {}, options),
    create: (data: object, options?: RequestOptions) => change('POST', '/users', data, options),
    update: (id: Id, data: object, options?: RequestOptions) => change('PUT', pathOf(id), data, options),
    delete: (id: Id, options?: RequestOptions) => change('DELETE', pathOf(id), undefined, options),
  };
};
