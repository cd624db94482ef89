/**
 * Values that are often already here, such as what a cache holds: code that uses `whenReady` instead of `await` answers
 * in the same turn of the event loop then. `await` takes them as well.
 */
export type Ready<T> = T | Promise<T>;

/** Calls `next` with the value: now if it is here, else once it has arrived. Errors before that are not caught. */
export const whenReady = <T, Out>(value: Ready<T>, next: (value: T) => Ready<Out>): Ready<Out> =>
  value instanceof Promise ? value.then(next) : next(value);

/** Whether a value of somebody else's code has to be waited for. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  value !== null && typeof value === 'object' && typeof (value as { readonly then?: unknown }).then === 'function';
