/** Requests to the server: all of them go through here, as whoever is signed in. */
import { type Client, createClient, type Id, type Schema, type Send, type WriteOptions } from 'dovetail-client';
import { administrator, currentToken, hasEnded, refresh } from '../session/session.js';
import { serverUrl } from './address.js';
import { type As, asSelf, headersOf } from './as.js';

/** A token that the server no longer takes (its keys changed, the clock went wrong) is replaced once. */
const fetchAgain: typeof fetch = async (target, init) => {
  const response = await fetch(target, init);
  if (response.status !== 401 || administrator() === null || hasEnded()) return response;
  await refresh();
  const token = await currentToken();
  if (token === null || hasEnded()) return response;
  const headers = new Headers(init?.headers);
  headers.set('authorization', `Bearer ${token}`);
  return fetch(target, { ...init, headers });
};

/** An entry of a type that is known at run time only. */
export interface AnyEntry {
  readonly id: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}
interface AnyAnswer<Data> {
  readonly data: Data;
  readonly meta: {
    readonly pagination?: {
      readonly page?: number;
      readonly pageSize?: number;
      readonly pageCount?: number;
      readonly start?: number;
      readonly limit?: number;
      readonly total?: number;
    };
  };
  readonly etag: string | null;
  /** Names of parameters that a lenient server has left out. */
  readonly ignored: readonly string[];
}
type Options = Omit<WriteOptions, 'ifMatch'>;

/** The client without the types of a schema. */
export interface ApiClient extends Pick<Client<Schema>, 'send' | 'files' | 'users' | 'locales'> {
  collection(plural: string): {
    find(query?: object, options?: Options): Promise<AnyAnswer<readonly AnyEntry[]>>;
    findOne(id: Id, query?: object, options?: Options): Promise<AnyAnswer<AnyEntry>>;
    create(data: object, query?: object, options?: Options): Promise<AnyAnswer<AnyEntry>>;
    update(id: Id, data: object, query?: object, options?: WriteOptions): Promise<AnyAnswer<AnyEntry>>;
    delete(id: Id, query?: object, options?: WriteOptions): Promise<AnyAnswer<AnyEntry>>;
    /** Adds the entry in another locale. */
    localize(id: Id, data: object, options?: Options): Promise<unknown>;
  };
  single(singular: string): {
    find(query?: object, options?: Options): Promise<AnyAnswer<AnyEntry>>;
    update(data: object, query?: object, options?: WriteOptions): Promise<AnyAnswer<AnyEntry>>;
    delete(query?: object, options?: WriteOptions): Promise<AnyAnswer<AnyEntry>>;
  };
}

/** @param prefix of the API, such as `/api`. */
export const newApiClient = (prefix: string, as: As = asSelf): ApiClient =>
  createClient<Schema>({
    url: serverUrl,
    prefix,
    token: currentToken,
    headers: headersOf(as),
    fetch: fetchAgain,
  }) as unknown as ApiClient;

/** For paths below `/admin` and `/_dovetail`. */
export const serverSend = (as: As = asSelf): Send =>
  createClient({ url: serverUrl, prefix: '', token: currentToken, headers: headersOf(as), fetch: fetchAgain }).send;

/** The `data` of a response. */
export const getData = async <T>(send: Send, path: string, signal?: AbortSignal): Promise<T> =>
  ((await send({ method: 'GET', path, ...(signal ? { signal } : {}) })).body as { data: T }).data;
