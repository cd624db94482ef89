/** One request: headers, retries, errors. */
import { errorOf } from './errors.js';
import { fetchWithProgress, type Progress } from './progress.js';
import type { EntryForm } from './result.js';
import { encodeQuery } from './url.js';

export interface ClientOptions {
  /** Where the server is, such as `https://content.example.org`; a path in it is kept. */
  readonly url: string;
  /** Of the API below the URL; `/api` by default. */
  readonly prefix?: string;
  /** An API token, or the JWT of a user; a function is asked before every request. */
  readonly token?: string | (() => string | null | Promise<string | null>);
  /** How the server writes entries: `{ id, attributes }`, or all beside the id; `nested` by default. */
  readonly format?: EntryForm;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How often a read is repeated that met a busy or unreachable server; 2 by default. Writes are never repeated. */
  readonly retries?: number;
  /** The platform's own by default. */
  readonly fetch?: typeof fetch;
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** `onProgress` is told of the bytes that have left, in browsers: it needs `XMLHttpRequest`, and is not called without. */
export interface UploadOptions extends RequestOptions {
  readonly onProgress?: (progress: Progress) => void;
}

export interface RequestParts extends UploadOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the prefix. */
  readonly path: string;
  readonly query?: string;
  readonly body?: object | FormData;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON; undefined if there is no body. */
  readonly body: unknown;
  /** The body as it came, for numbers that JavaScript's cannot hold. */
  readonly text: string;
}

export type Send = (parts: RequestParts) => Promise<Answer>;

/** Throws a `DovetailError` for every status from 400 on, and what `fetch` throws if no response came. */
export const newSend = ({
  url,
  prefix = '/api',
  token,
  format,
  headers,
  retries = 2,
  ...rest
}: ClientOptions): Send => {
  const base = `${url.replace(/\/+$/, '')}${prefix}`;
  const fetchOne = rest.fetch ?? fetch;
  return async ({ method, path, query = '', body, signal, headers: own, onProgress }) => {
    const target = `${base}${path}${query === '' ? '' : `?${query}`}`;
    const bearer = typeof token === 'function' ? await token() : (token ?? null);
    const isForm = body instanceof FormData;
    const init = {
      method,
      headers: {
        accept: 'application/json',
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
        ...(format === 'flat' ? { 'strapi-response-format': 'v5' } : {}),
        ...headers,
        ...own,
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    };
    const attempt =
      onProgress && typeof XMLHttpRequest === 'function'
        ? () => fetchWithProgress(target, init, onProgress)
        : () => fetchOne(target, init);
    const triesMax = method === 'GET' ? retries + 1 : 1;
    for (let tries = 1; ; tries++) {
      let response: Response;
      try {
        response = await attempt();
      } catch (fault) {
        if (tries >= triesMax || signal?.aborted) throw fault;
        await pause(pauseMs(tries, null), signal);
        continue;
      }
      if (response.status === 503 && tries < triesMax) {
        await response.body?.cancel();
        await pause(pauseMs(tries, response.headers.get('retry-after')), signal);
        continue;
      }
      const text = await response.text();
      if (response.status >= 400) throw errorOf(method, target, response.status, text);
      return {
        status: response.status,
        headers: response.headers,
        body: text === '' ? undefined : JSON.parse(text),
        text,
      };
    }
  };
};

/** The body of a response that has no envelope. */
export const getBody = async (
  send: Send,
  path: string,
  query: object = {},
  options?: RequestOptions,
): Promise<unknown> => (await send({ ...options, method: 'GET', path, query: encodeQuery(query) })).body;

const PAUSE_MS_MAX = 10_000;

/** What the server asks for; else longer from try to try. Part of it is chance, so that clients do not come back together. */
const pauseMs = (tries: number, retryAfter: string | null): number => {
  const asked = Number(retryAfter ?? Number.NaN) * 1000;
  const ms = Number.isFinite(asked) ? asked : 200 * 2 ** (tries - 1);
  return Math.min(ms * (1 + Math.random() / 4), PAUSE_MS_MAX);
};

const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
