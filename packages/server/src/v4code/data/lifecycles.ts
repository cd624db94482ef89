/** `lifecycles.js` of content types and `strapi.db.lifecycles.subscribe`: who hears of which operation, with v4's events. */
import partition from 'lodash/partition.js';
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
  /** Whether a hook before the deletion has deleted the row itself: as in v4 none runs after it. */
  isGone: boolean;
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
  /** Where it is in the project: `src/index.js:12`; null if that is not known. */
  readonly place: () => string | null;
}

/** The hook of a listener. */
interface Heard {
  readonly listener: Listener;
  readonly call: Callable;
}

export interface LifecycleDeps {
  /** What events say of a content type. */
  readonly describe: (uid: Uid) => Members;
  /** The hooks of content types by uid, which run before any subscriber, and their files. */
  readonly own: ReadonlyMap<Uid, { readonly hooks: Members; readonly file: string }>;
  /** Called before a hook with its name, which is said if it does not end; calls what that returns after it. */
  readonly noteHook: (name: () => string) => () => void;
  /** Where the running code has made its call. */
  readonly callPlace: () => () => string | null;
  /** The locale of a new entry that names none; null if the type has no locales. */
  readonly localeOfNew: (uid: Uid) => Promise<string | null>;
  readonly warn: (text: string) => void;
}

export const newLifecycles = ({ describe, own, noteHook, callPlace, localeOfNew, warn }: LifecycleDeps): Lifecycles => {
  const ofTypes: readonly Listener[] = [...own].map(([uid, { hooks, file }]) => ({
    models: [uid],
    listen: hooks,
    place: () => file,
  }));
  const listeners: Listener[] = [...ofTypes];

  /** In v4 a subscriber of i18n does it, behind the hooks of content types and before all others. */
  const assignLocale = async (uid: Uid, data: unknown): Promise<void> => {
    const unnamed = [data].flat().filter((it): it is Members => isMembers(it) && it['locale'] == null);
    const locale = unnamed.length > 0 ? await localeOfNew(uid) : null;
    if (locale !== null) for (const it of unnamed) Object.assign(it, { locale });
  };

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

  const hearing = (uid: Uid, action: LifecycleAction): readonly Heard[] =>
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
      const listener: Listener = { models, listen: subscriber, place: callPlace() };
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
      const call = async (
        heard: readonly Heard[],
        action: LifecycleAction,
        operation: Operation,
        extra: { readonly result?: unknown },
      ): Promise<void> => {
        for (const { listener, call: hook } of heard) {
          const event: LifecycleEvent = {
            action,
            model: describe(uid),
            params: operation.params,
            state: states.get(listener) ?? {},
            ...extra,
          };
          const end = noteHook(() => `${action} of ${uid}${inParentheses(listener.place())}`);
          try {
            await hook(event);
          } finally {
            end();
          }
          // parameters that a hook replaces as a whole have no effect, as in v4: it changes those that it is given
          states.set(listener, event.state);
        }
      };
      const run = async (
        action: LifecycleAction,
        operation: Operation,
        extra: { readonly result?: unknown },
      ): Promise<void> => {
        const [first, later] = partition(hearing(uid, action), ({ listener }) => ofTypes.includes(listener));
        await call(first, action, operation, extra);
        if (action === 'beforeCreate' || action === 'beforeCreateMany')
          await assignLocale(uid, operation.params['data']);
        await call(later, action, operation, extra);
      };
      let isBegun = false;
      const operation: Operation = {
        uid,
        operated,
        params,
        result: undefined,
        isGone: false,
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

const inParentheses = (place: string | null): string => (place === null ? '' : ` (${place})`);
