/** What is chosen in the bar: as whom to look, and which locale. */
import { useSyncExternalStore } from 'react';
import { type As, asSelf } from '../server/as.js';

interface Choice<T> {
  readonly get: () => T;
  readonly set: (next: T) => void;
  readonly subscribe: (listener: () => void) => () => void;
}

const newChoice = <T>(first: T, keep?: (value: T) => void): Choice<T> => {
  let value = first;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set: (next) => {
      value = next;
      keep?.(next);
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
};

const LOCALE = 'dovetail.locale';
const kept = (key: string): string | null => {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
};
const keep = (key: string, value: string | null): void => {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // without storage the choice lasts until a reload
  }
};

const as = newChoice<As>(asSelf);
const locale = newChoice<string | null>(kept(LOCALE), (it) => keep(LOCALE, it));

/** As whom Ask and Map look. */
export const useAs = (): As => useSyncExternalStore(as.subscribe, as.get);
export const chooseAs = as.set;

/** What a role or a token is called; of the administrator's own rights null. */
export const nameOfAs = (it: As): string | null => {
  switch (it.kind) {
    case 'self':
      return null;
    case 'role':
      return it.type;
    case 'token':
      return it.name;
  }
};

/** The locale that was chosen in the bar, which the model may not have (any more); null: the default one. */
export const useLocale = (): string | null => useSyncExternalStore(locale.subscribe, locale.get);
export const chooseLocale = locale.set;
