/** What the browser's tab is called: the open page, or else its room. */
import { useEffect, useSyncExternalStore } from 'react';

let current: string | null = null;
const listeners = new Set<() => void>();

const become = (title: string | null): void => {
  current = title;
  for (const tell of listeners) tell();
};

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Names the tab after a page as long as that is shown. */
export const usePageTitle = (title: string): void => {
  useEffect(() => {
    become(title);
    return () => become(null);
  }, [title]);
};

/** Null: the open page has no name of its own. */
export const useOpenPage = (): string | null => useSyncExternalStore(subscribe, () => current);
