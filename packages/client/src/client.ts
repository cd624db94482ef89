/** The client: content, users, files and locales of one server. */

import { type Files, newFiles } from './files.js';
import type { CreateInput, Id, LocalizationInput, UpdateInput } from './input.js';
import type { Checked, EntryQuery, ListQuery, NestedSelection, NoQuery, SingleQuery } from './query.js';
import { type Answer, type ClientOptions, getBody, newSend, type RequestOptions, type Send } from './request.js';
import type { Entry, EntryForm, EntryList, LocalizedEntry, OneEntry } from './result.js';
import type { EntryType, Schema, TypeAt } from './schema.js';
import { encodeQuery } from './url.js';
import { newUsers, type Users } from './users.js';

/** `ifNoneMatch`: the tag of what the caller has already; the result is null if it has not changed. */
export interface ReadOptions extends RequestOptions {
  readonly ifNoneMatch?: string;
}
/** `ifMatch`: the tag of the entry as the caller knows it; a changed entry is a `PreconditionFailedError`. */
export interface WriteOptions extends RequestOptions {
  readonly ifMatch?: string;
}

type Read<Value, O> = Promise<O extends { readonly ifNoneMatch: string } ? Value | null : Value>;

export interface Collection<T extends EntryType, F extends EntryForm = 'nested'> {
  find<const Q extends ListQuery<T> = NoQuery, const O extends ReadOptions = NoQuery>(
    query?: Checked<Q, ListQuery<T>>,
    options?: O,
  ): Read<EntryList<T, Q, F>, O>;
  findOne<const Q extends EntryQuery<T> & StateQuery = NoQuery, const O extends ReadOptions = NoQuery>(
    id: Id,
    query?: Checked<Q, EntryQuery<T> & StateQuery>,
    options?: O,
  ): Read<OneEntry<T, Q, F>, O>;
  /** Every page of a list, one after the other. An entry that is added or removed meanwhile moves the following ones. */
  pages<const Q extends ListQuery<T> = NoQuery>(
    query?: Checked<Q, ListQuery<T>>,
    options?: RequestOptions,
  ): AsyncGenerator<EntryList<T, Q, F>, void>;
  /** Every entry of a list, read page by page. */
  all<const Q extends ListQuery<T> = NoQuery>(
    query?: Checked<Q, ListQuery<T>>,
    options?: RequestOptions,
  ): AsyncGenerator<Entry<T, Q, F>, void>;
  create<const Q extends EntryQuery<T> = NoQuery>(
    data: CreateInput<T>,
    query?: Checked<Q, EntryQuery<T>>,
    options?: RequestOptions,
  ): Promise<OneEntry<T, Q, F>>;
  update<const Q extends EntryQuery<T> = NoQuery>(
    id: Id,
    data: UpdateInput<T>,
    query?: Checked<Q, EntryQuery<T>>,
    options?: WriteOptions,
  ): Promise<OneEntry<T, Q, F>>;
  /** Answers with the entry as it was. */
  delete<const Q extends EntryQuery<T> = NoQuery>(
    id: Id,
    query?: Checked<Q, EntryQuery<T>>,
    options?: WriteOptions,
  ): Promise<OneEntry<T, Q, F>>;
  /** Adds the entry in another locale. */
  localize(id: Id, data: LocalizationInput<T>, options?: RequestOptions): Promise<LocalizedEntry<T, F>>;
}

export interface Single<T extends EntryType, F extends EntryForm = 'nested'> {
  find<const Q extends SingleQuery<T> = NoQuery, const O extends ReadOptions = NoQuery>(
    query?: Checked<Q, SingleQuery<T>>,
    options?: O,
  ): Read<OneEntry<T, Q, F>, O>;
  /** Creates the entry if there is none. */
  update<const Q extends SingleQuery<T> = NoQuery>(
    data: UpdateInput<T>,
    query?: Checked<Q, SingleQuery<T>>,
    options?: WriteOptions,
  ): Promise<OneEntry<T, Q, F>>;
  delete<const Q extends SingleQuery<T> = NoQuery>(
    query?: Checked<Q, SingleQuery<T>>,
    options?: WriteOptions,
  ): Promise<OneEntry<T, Q, F>>;
}

type StateQuery = Pick<NestedSelection<EntryType>, 'publicationState'>;

export interface Locale {
  readonly id: number;
  readonly code: string;
  readonly name: string | null;
  readonly isDefault: boolean;
}

export interface Client<S extends Schema, F extends EntryForm = 'nested'> {
  collection<K extends keyof S['collections'] & string>(plural: K): Collection<TypeAt<S['collections'], K>, F>;
  single<K extends keyof S['singles'] & string>(singular: K): Single<TypeAt<S['singles'], K>, F>;
  readonly users: Users<S['user']>;
  readonly files: Files<S['file']>;
  locales(options?: RequestOptions): Promise<readonly Locale[]>;
  /** Any other request: custom routes, and what has no method here. */
  readonly send: Send;
}

/** @param options with `format: 'flat'` entries are as Strapi 5 writes them, made so by the server. */
export function createClient<S extends Schema>(options: ClientOptions & { readonly format: 'flat' }): Client<S, 'flat'>;
export function createClient<S extends Schema>(options: ClientOptions & { readonly format?: 'nested' }): Client<S>;
export function createClient<S extends Schema>(options: ClientOptions): Client<S, EntryForm> {
  const send = newSend(options);
  // results are what the server says they are: types end at the network
  return {
    collection: (plural: string) => newCollection(send, `/${encodeURIComponent(plural)}`),
    single: (singular: string) => newSingle(send, `/${encodeURIComponent(singular)}`),
    users: newUsers(send),
    files: newFiles(send),
    locales: (own?: RequestOptions) => getBody(send, '/i18n/locales', {}, own),
    send,
  } as unknown as Client<S, EntryForm>;
}

// ---- requests; what they may be is said by the types above

type AnyQuery = object;

const newSingle = (send: Send, path: string) => ({
  find: (query?: AnyQuery, options?: ReadOptions) => read(send, path, query, options),
  update: (data: object, query?: AnyQuery, options?: WriteOptions) =>
    write(send, { method: 'PUT', path, data, query, options }),
  delete: (query?: AnyQuery, options?: WriteOptions) => write(send, { method: 'DELETE', path, query, options }),
});

const newCollection = (send: Send, path: string) => {
  const pathOf = (id: Id): string => `${path}/${encodeURIComponent(String(id))}`;
  async function* pages(query: AnyQuery = {}, options?: RequestOptions): AsyncGenerator<Paged, void> {
    const { pagination = {} } = query as { readonly pagination?: PaginationGiven };
    const byOffset = pagination.start !== undefined || pagination.limit !== undefined;
    const first: PaginationGiven = byOffset ? { start: 0, ...pagination } : { page: 1, ...pagination };
    let given = first;
    for (;;) {
      const list = (await read(send, path, { ...query, pagination: given }, options)) as unknown as Paged;
      // an empty first page is a page
      if (list.data.length > 0 || given === first) yield list;
      const { page, pageSize, start, limit, total } = list.meta.pagination;
      const size = pageSize ?? limit ?? 0;
      const shown = (page === undefined ? (start ?? 0) : (page - 1) * size) + list.data.length;
      const isLast = total === undefined ? list.data.length < size : shown >= total;
      if (isLast || list.data.length === 0) return;
      given = page === undefined ? { ...given, start: (start ?? 0) + list.data.length } : { ...given, page: page + 1 };
    }
  }
  async function* all(query?: AnyQuery, options?: RequestOptions): AsyncGenerator<unknown, void> {
    for await (const { data } of pages(query, options)) yield* data;
  }
  return {
    find: (query?: AnyQuery, options?: ReadOptions) => read(send, path, query, options),
    findOne: (id: Id, query?: AnyQuery, options?: ReadOptions) => read(send, pathOf(id), query, options),
    pages,
    all,
    create: (data: object, query?: AnyQuery, options?: RequestOptions) =>
      write(send, { method: 'POST', path, data, query, options }),
    update: (id: Id, data: object, query?: AnyQuery, options?: WriteOptions) =>
      write(send, { method: 'PUT', path: pathOf(id), data, query, options }),
    delete: (id: Id, query?: AnyQuery, options?: WriteOptions) =>
      write(send, { method: 'DELETE', path: pathOf(id), query, options }),
    localize: async (id: Id, data: object, options?: RequestOptions) =>
      (await send({ ...options, method: 'POST', path: `${pathOf(id)}/localizations`, body: data })).body,
  };
};

interface PaginationGiven {
  readonly page?: number;
  readonly pageSize?: number;
  readonly start?: number;
  readonly limit?: number;
}

interface Paged {
  readonly data: readonly unknown[];
  readonly meta: {
    readonly pagination: PaginationGiven & { readonly total?: number };
  };
}

const read = async (
  send: Send,
  path: string,
  query: AnyQuery = {},
  options: ReadOptions = {},
): Promise<object | null> => {
  const { ifNoneMatch, headers, ...rest } = options;
  const known = ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch };
  const answer = await send({
    ...rest,
    headers: { ...headers, ...known },
    method: 'GET',
    path,
    query: encodeQuery(query),
  });
  return answer.status === 304 ? null : withFacts(answer);
};

interface Write {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly data?: object;
  readonly query?: AnyQuery | undefined;
  readonly options?: WriteOptions | undefined;
}

const write = async (send: Send, { method, path, data, query = {}, options = {} }: Write): Promise<object> => {
  const { ifMatch, headers, ...rest } = options;
  const answer = await send({
    ...rest,
    headers: { ...headers, ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }) },
    method,
    path,
    query: encodeQuery(query),
    ...(data === undefined ? {} : { body: { data } }),
  });
  return withFacts(answer);
};

const withFacts = ({ headers, body }: Answer): object => ({
  ...(body as object),
  etag: headers.get('etag'),
  ignored: namesIn(headers.get('dovetail-ignored')),
});

const namesIn = (header: string | null): readonly string[] =>
  header === null ? [] : header.split(',').map((it) => it.trim());
