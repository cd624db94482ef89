/** `hooks` of `@strapi/utils`: lists of functions that are called together. */

export type Handler = (...given: readonly unknown[]) => unknown;

export interface HookList {
  getHandlers(): Handler[];
  register(handler: Handler): HookList;
  delete(handler: Handler): HookList;
  call(...given: readonly unknown[]): Promise<unknown>;
}

const newHookList = (call: (handlers: readonly Handler[], given: readonly unknown[]) => Promise<unknown>): HookList => {
  let handlers: Handler[] = [];
  const list: HookList = {
    getHandlers: () => handlers,
    register: (handler) => {
      handlers.push(handler);
      return list;
    },
    delete: (handler) => {
      handlers = handlers.filter((it) => it !== handler);
      return list;
    },
    call: (...given) => call(handlers, given),
  };
  return list;
};

export const hooks = {
  /** One after the other. */
  createAsyncSeriesHook: () =>
    newHookList(async (handlers, given) => {
      for (const it of handlers) await it(...given);
    }),
  /** One after the other, each with the result of the one before. */
  createAsyncSeriesWaterfallHook: () =>
    newHookList(async (handlers, [first]) => {
      let result = first;
      for (const it of handlers) result = await it(result);
      return result;
    }),
  createAsyncParallelHook: () =>
    newHookList((handlers, given) => Promise.all(handlers.map(async (it) => it(...given)))),
  /** One after the other, until one returns something. */
  createAsyncBailHook: () =>
    newHookList(async (handlers, given) => {
      for (const it of handlers) {
        const result = await it(...given);
        if (result !== undefined) return result;
      }
      return undefined;
    }),
};
