/** Which tab of the browser this is, and which others are open: what one keeps is not overwritten by another. */
import { randomId } from '@mantine/hooks';

/** In the session storage, and before the names of locks. */
const NAME = 'dovetail.tab';

/** Browsers have no locks for pages that came without TLS from another machine. */
const locks = (): LockManager | undefined => navigator.locks;

let own: string | null = null;

/** Stays the same when the page is loaded again. */
export const tabId = (): string => {
  own ??= begin();
  return own;
};

const begin = (): string => {
  const id = takeUp() ?? randomId('');
  // held as long as the page is open
  void locks()?.request(`${NAME}/${id}`, () => new Promise(() => {}));
  addEventListener('pagehide', () => putDown(id));
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) takeUp();
  });
  return id;
};

/** The id is in the session storage between two pages only: a duplicated tab, which gets a copy of it, has an id of its own. */
const takeUp = (): string | null => {
  try {
    const id = sessionStorage.getItem(NAME);
    sessionStorage.removeItem(NAME);
    return id;
  } catch {
    return null;
  }
};

const putDown = (id: string): void => {
  try {
    sessionStorage.setItem(NAME, id);
  } catch {
    // the next page of this tab is another tab then
  }
};

/** The ids of the tabs that are open; null if the browser does not tell. */
export const openTabs = async (): Promise<ReadonlySet<string> | null> => {
  const state = await locks()?.query();
  if (state === undefined) return null;
  const names = [...(state.held ?? []), ...(state.pending ?? [])].flatMap(({ name }) => name ?? []);
  return new Set(names.flatMap((it) => (it.startsWith(`${NAME}/`) ? [it.slice(NAME.length + 1)] : [])));
};
