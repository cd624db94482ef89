/** `lifecycles.js` of content types and `strapi.db.lifecycles.subscribe`: who hears of which operation, with v4's events. */
import { type Uid, USER_UID } from '../../model/model.js';
import { CodeFault } from '../loading/load.js';
import { type Callable, isCallable, isMembers, type Members } from '../loading/parts.js';

export type Operated =
  | 'FindOne'
  | 'FindMany'
  | 'Count'
  | 'Create'
  | 'CreateMany'
  | 'Update'
  | 'UpdateMany'
  | 'Delete'
  | 'DeleteMany';

export type LifecycleAction = `${'before' | 'after'}${Operated}`;

/** What a listener gets. Changing `params` before an operation, and `result` after it, has effect. */
export interface LifecycleEvent {
  readonly action: LifecycleAction;
  readonly model: Members;
  params: Record<string, unknown>;
  state: unknown;
  result?: unknown;
}

/** One operation, from its hooks before to those after. */
export interface Operation {
  readonly uid: Uid;
  readonly operated: Operated;
  params: Record<string, unknown>;
  /** What the hooks after it have made of the result; undefined before. */
  result: unknown;
  /** Runs the hooks before it, the first time that it is called. */
  before(): Promise<void>;
  after(result: unknown): Promise<void>;
}

export interface Lifecycles {
  /** @returns ends the subscription. */
  subscribe(subscriber: unknown): () => void;
  begin(uid: Uid, operated: Operated, params: Record<string, unknown>): Operation;
  /** Whether anyone would hear of it. */
  hears(uid: Uid, operated: Operated): boolean;
  /** Whether somebody subscribes to the type by its name. */
  names(uid: Uid): boolean;
  /** Whether there is a listener of any of the types. */
  hearsAny(isType: (uid: Uid) => boolean): boolean;
}

interface Listener {
  /** Null: every type. */
  readonly models: readonly unknown[] | null;
  readonly listen: Callable | Members;
}

export interface LifecycleDeps {
  /** What events say of a content type. */
  readonly describe: (uid: Uid) => Members;
  /** The hooks of content types by uid, which run before any subscriber. */
  readonly own: ReadonlyMap<Uid, Members>;
  readonly warn: (text: string) => void;
}

export const newLifecycles = ({ describe, own, warn }: LifecycleDeps): Lifecycles => {
  const listeners: Listener[] = [...own].map(([uid, listen]) => ({ models: [uid], listen }));

  /** The server itself reads types of plugins for its own endpoints: a hook that guards these would be missed. */
  const watchReads = (models: readonly unknown[] | null, hooks: Members): void => {
    const reads = Object.keys(hooks).filter((it) => /^(?:before|after)(?:FindOne|FindMany|Count)$/.test(it));
    if (reads.length === 0) return;
    if (models === null) {
      warn(
        `${reads.join(', ')} of every content type: the server's own endpoints of roles, files and locales call no hooks of reads`,
      );
      return;
    }
    const [missed] = models.filter((it) => typeof it === 'string' && it.startsWith('plugin::') && it !== USER_UID);
    if (missed !== undefined)
      throw new CodeFault(
        `${reads.join(', ')} of ${String(missed)}: the server's own endpoints call no hooks of its reads; guard them by permissions, policies or middlewares`,
      );
  };

  const watchComponents = (models: readonly unknown[] | null, hooks: Members): void => {
    const components = (models ?? []).filter((it) => typeof it === 'string' && !it.includes('::'));
    const deletions = Object.keys(hooks).filter((it) => /^(?:before|after)Delete$/.test(it));
    if (components.length > 0 && deletions.length > 0)
      warn(
        `${deletions.join(', ')} of ${components.join(', ')}: components go with their entries: only hooks of the entries run`,
      );
  };

  const hearing = (
    uid: Uid,
    action: LifecycleAction,
  ): readonly { readonly listener: Listener; readonly call: Callable }[] =>
    listeners.flatMap((listener) => {
      const { models, listen } = listener;
      if (models !== null && !models.includes(uid)) return [];
      if (isCallable(listen)) return [{ listener, call: listen }];
      const hook = listen[action];
      return isCallable(hook) ? [{ listener, call: hook.bind(listen) as Callable }] : [];
    });

  return {
    subscribe: (subscriber) => {
      if (!isCallable(subscriber) && !isMembers(subscriber))
        throw new TypeError('strapi.db.lifecycles.subscribe takes a function or an object of hooks');
      const models = isMembers(subscriber) && Array.isArray(subscriber['models']) ? subscriber['models'] : null;
      if (isMembers(subscriber)) {
        watchReads(models, subscriber);
        watchComponents(models, subscriber);
      }
      const listener: Listener = { models, listen: subscriber };
      listeners.push(listener);
      return () => void listeners.splice(listeners.indexOf(listener), 1);
    },
    hears: (uid, operated) =>
      listeners.length > 0 &&
      (hearing(uid, `before${operated}`).length > 0 || hearing(uid, `after${operated}`).length > 0),
    names: (uid) => listeners.some(({ models }) => models?.includes(uid) === true),
    hearsAny: (isType) =>
      listeners.some(({ models }) => models === null || models.some((it) => typeof it === 'string' && isType(it))),
    begin: (uid, operated, params) => {
      const states = new Map<Listener, unknown>();
      const run = async (action: LifecycleAction, operation: Operation, extra: { readonly result?: unknown }) => {
        for (const { listener, call } of hearing(uid, action)) {
          const event: LifecycleEvent = {
            action,
            model: describe(uid),
            params: operation.params,
            state: states.get(listener) ?? {},
            ...extra,
          };
          await call(event);
          // parameters that a hook replaces as a whole have no effect, as in v4: it changes those that it is given
          states.set(listener, event.state);
        }
      };
      let isBegun = false;
      const operation: Operation = {
        uid,
        operated,
        params,
        result: undefined,
        before: async () => {
          if (isBegun) return;
          isBegun = true;
          await run(`before${operated}`, operation, {});
        },
        after: async (result) => {
          operation.result = result;
          await run(`after${operated}`, operation, { result });
        },
      };
      return operation;
    },
  };
};
