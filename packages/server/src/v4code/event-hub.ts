/** `strapi.eventHub`: events that the project's code sends to itself, and those of entries and files once they are committed. */
import { type EventListeners, eventNames } from '../events/events.js';
import { limits } from '../limits.js';
import { outside } from './data/scope.js';
import { type Callable, isCallable } from './loading/parts.js';

export interface EventHub {
  /** Calls the listeners one after the other, and awaits each. */
  emit(name: string, ...given: readonly unknown[]): Promise<void>;
  /** @returns ends it. */
  on(name: string, listener: unknown): () => void;
  once(name: string, listener: unknown): () => void;
  off(name: string, listener: unknown): void;
  /** Hears every event, with its name first. @returns ends it. */
  subscribe(subscriber: unknown): () => void;
  unsubscribe(subscriber: unknown): void;
  removeListener(name: string, listener: unknown): void;
  removeAllListeners(): void;
  removeAllSubscribers(): void;
  destroy(): void;
}

export interface EventHubDeps {
  /** Called for listeners that wait for an event that nothing sends. */
  readonly warn: (text: string) => void;
  /** Called with what a listener of the server's own events throws. */
  readonly onFault: (fault: unknown, name: string) => void;
}

export interface EventHubOfServer {
  readonly hub: EventHub;
  readonly listeners: EventListeners;
  /** Resolves once listeners that still run have ended, or half of the time has passed that closing may take. */
  settle(): Promise<void>;
}

/** Names of events that Strapi sends. */
const ofStrapi = /^(?:entry|media|component|content-type|locale|release|review-workflows|user|admin|policy)\./;
const sent: ReadonlySet<string> = new Set(eventNames);

export const newEventHub = ({ warn, onFault }: EventHubDeps): EventHubOfServer => {
  const subscribers: Callable[] = [];
  const listeners = new Map<string, Callable[]>();
  const callable = (given: unknown): Callable => {
    if (!isCallable(given)) throw new TypeError('strapi.eventHub takes a function');
    return given;
  };
  const remove = (from: Callable[] | undefined, given: unknown): void => {
    const at = from?.indexOf(given as Callable) ?? -1;
    if (at >= 0) from!.splice(at, 1);
  };
  /** Whoever hears an event, one after the other. */
  function* callsFor(name: string, given: readonly unknown[]): Generator<() => unknown> {
    for (const subscriber of [...subscribers]) yield () => subscriber(name, ...given);
    for (const listener of [...(listeners.get(name) ?? [])]) yield () => listener(...given);
  }
  const hub: EventHub = {
    emit: async (name, ...given) => {
      for (const call of callsFor(name, given)) await call();
    },
    on: (name, listener) => {
      if (ofStrapi.test(name) && !sent.has(name))
        warn(`strapi.eventHub: nothing sends ${name} here; use lifecycles, or a webhook`);
      const own = listeners.get(name) ?? [];
      listeners.set(name, own);
      own.push(callable(listener));
      return () => hub.off(name, listener);
    },
    once: (name, listener) => {
      const run = callable(listener);
      let isOver = false;
      const end = hub.on(name, (...given: readonly unknown[]) => {
        // two events may have found it before either called it
        if (isOver) return undefined;
        isOver = true;
        end();
        return run(...given);
      });
      return end;
    },
    off: (name, listener) => remove(listeners.get(name), listener),
    subscribe: (subscriber) => {
      subscribers.push(callable(subscriber));
      return () => hub.unsubscribe(subscriber);
    },
    unsubscribe: (subscriber) => remove(subscribers, subscriber),
    removeListener: (name, listener) => hub.off(name, listener),
    removeAllListeners: () => listeners.clear(),
    removeAllSubscribers: () => void subscribers.splice(0),
    destroy: () => {
      listeners.clear();
      subscribers.length = 0;
    },
  };

  /** Those who are being told. */
  const running = new Set<Promise<void>>();
  const tellAll = async (told: Parameters<EventListeners['tell']>[0]): Promise<void> => {
    for (const { name, facts } of told)
      for (const call of callsFor(name, [facts])) {
        try {
          await call();
        } catch (fault) {
          onFault(fault, name);
        }
      }
  };
  return {
    hub,
    listeners: {
      isListening: () => subscribers.length > 0 || listeners.size > 0,
      hears: (name) => subscribers.length > 0 || (listeners.get(name)?.length ?? 0) > 0,
      tell: (told) => {
        const telling = outside(() => tellAll(told))
          // what was thrown may be such that it cannot be logged
          .catch(() => undefined)
          .finally(() => running.delete(telling));
        running.add(telling);
      },
    },
    settle: async () => {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, limits.closeMsMax / 2);
      });
      await Promise.race([Promise.all(running), late]);
      clearTimeout(timer);
    },
  };
};
