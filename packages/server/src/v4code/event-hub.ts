/** `strapi.eventHub`: events that the project's code sends to itself. Those of Strapi are not sent here. */
import { type Callable, isCallable } from './parts.js';

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

/** Names of events that Strapi sends. */
const ofStrapi = /^(?:entry|media|component|content-type|locale|release|review-workflows|user|admin|policy)\./;

/** @param warn called for listeners that wait for an event of Strapi's. */
export const newEventHub = (warn: (text: string) => void): EventHub => {
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
  const hub: EventHub = {
    emit: async (name, ...given) => {
      for (const subscriber of [...subscribers]) await subscriber(name, ...given);
      for (const listener of [...(listeners.get(name) ?? [])]) await listener(...given);
    },
    on: (name, listener) => {
      if (ofStrapi.test(name)) warn(`strapi.eventHub: nothing sends ${name} here; use lifecycles, or a webhook`);
      const own = listeners.get(name) ?? [];
      listeners.set(name, own);
      own.push(callable(listener));
      return () => hub.off(name, listener);
    },
    once: (name, listener) => {
      const run = callable(listener);
      const end = hub.on(name, (...given: readonly unknown[]) => {
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
  return hub;
};
