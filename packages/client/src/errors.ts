/** How requests fail. */
import type { ErrorCode, ErrorName } from './codes.js';

/** One fault of a request. */
export interface Fault {
  /** Where it is: the names inside the query or the body. */
  readonly path: readonly string[];
  readonly message: string;
  readonly name: ErrorName;
  readonly code: ErrorCode;
}

/** The server refused the request, or failed. */
export class DovetailError extends Error {
  override readonly name = 'DovetailError';
  /** Of HTTP. */
  readonly status: number;
  /** The name that the response has for the error, such as `ValidationError`; `UnknownError` if it was not one of Dovetail's. */
  readonly errorName: ErrorName | 'UnknownError';
  /** All faults of the request; empty for errors that are not the request's. */
  readonly faults: readonly Fault[];
  readonly method: string;
  readonly url: string;

  constructor(facts: Omit<DovetailError, 'name' | 'stack' | 'cause' | 'has'>) {
    super(facts.message);
    this.status = facts.status;
    this.errorName = facts.errorName;
    this.faults = facts.faults;
    this.method = facts.method;
    this.url = facts.url;
  }

  /** Whether one of the faults has this code, such as `body.unique`. */
  has(code: ErrorCode): boolean {
    return this.faults.some((it) => it.code === code);
  }
}

/** The error of a response; its body may be anything, if a proxy has written it. */
export const errorOf = (method: string, url: string, status: number, text: string): DovetailError => {
  const error = errorIn(text);
  const details = error?.['details'] as { readonly errors?: unknown } | undefined;
  const name = error?.['name'];
  const message = error?.['message'];
  return new DovetailError({
    method,
    url,
    status,
    errorName: typeof name === 'string' ? (name as ErrorName) : 'UnknownError',
    message: typeof message === 'string' ? message : `${method} ${url}: status ${status}`,
    faults: Array.isArray(details?.errors) ? (details.errors as Fault[]) : [],
  });
};

const errorIn = (text: string): Readonly<Record<string, unknown>> | null => {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    return error !== null && typeof error === 'object' ? (error as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
};
