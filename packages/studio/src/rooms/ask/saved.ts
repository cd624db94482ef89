/** Queries that were given a name; they are kept in this browser. */
export interface SavedQuery {
  readonly name: string;
  /** A URL below the root of the server. */
  readonly url: string;
}

const KEY = 'dovetail.ask.saved';

export const readSaved = (): readonly SavedQuery[] => {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(kept) ? kept.filter(isSaved) : [];
  } catch {
    return [];
  }
};

const isSaved = (it: unknown): it is SavedQuery => {
  const { name, url } = (it ?? {}) as Partial<Record<keyof SavedQuery, unknown>>;
  return typeof name === 'string' && typeof url === 'string';
};

/** One with the same name is replaced. */
export const withSaved = (saved: readonly SavedQuery[], query: SavedQuery): readonly SavedQuery[] =>
  [...saved.filter((it) => it.name !== query.name), query].sort((a, b) => a.name.localeCompare(b.name));

export const keepSaved = (saved: readonly SavedQuery[]): void => {
  try {
    localStorage.setItem(KEY, JSON.stringify(saved));
  } catch {
    // without storage they last until a reload
  }
};
