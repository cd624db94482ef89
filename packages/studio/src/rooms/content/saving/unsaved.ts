/** Unsaved work, kept by the browser for each person, type, entry and locale, and for each tab in which it was begun. */
import { attributeOf, type Model, type Type, typeOf } from '../../../model/model.js';
import type { EntryForm } from '../form/entry-form.js';
import { type Field, type Fields, isWriteOnly, newFields } from '../form/fields.js';
import { versionOf } from '../relations/relation-edit.js';
import { openTabs, tabId } from './tab.js';

export interface UnsavedKey {
  /** The administrator; null: nobody is signed in. */
  readonly user: number | null;
  readonly type: string;
  /** Null: a new entry, or the one of a single type. */
  readonly id: number | null;
  readonly locale: string | null;
}

export interface Unsaved {
  /** Of the work: a form that was left, or the copy of an entry. */
  readonly origin: 'form' | 'copy';
  /** Epoch milliseconds. */
  readonly at: number;
  /** Of the entry that it is laid over; null: none yet. */
  readonly version: string | null;
  /** Whether somebody else has changed the entry since it began, and nothing was chosen yet. */
  readonly isUndecided: boolean;
  /** Of a new entry: whether the server may have stored it. */
  readonly isUnsure?: boolean;
  /** The fields that were changed, as they were and as they shall be. */
  readonly base: Fields;
  readonly values: Fields;
}

const PREFIX = 'dovetail.unsaved';

/** Begins the names under which the tabs keep what they have. */
const nameOf = ({ user, type, id, locale }: UnsavedKey): string =>
  [PREFIX, user ?? 'nobody', type, id ?? 'new', locale ?? '', ''].join('/');

/** What is worth keeping of a form; null: nothing was changed. */
export const unsavedOf = (
  model: Model,
  type: Type,
  { entry, values, undecided, isUnsure }: EntryForm,
  now: number,
): Unsaved | null => {
  const names = Object.keys(values).filter((name) => values[name] !== entry.fields[name]);
  const pick = (of: Fields): Fields =>
    Object.fromEntries(names.flatMap((name) => (of[name] ? [[name, of[name]] as const] : [])));
  const kept = withoutSecrets(model, type, pick(values));
  if (Object.keys(kept).length === 0) return null;
  return {
    origin: 'form',
    at: now,
    version: versionOf(entry.etag),
    isUndecided: undecided !== null,
    isUnsure,
    base: withoutSecrets(model, type, pick(undecided ?? entry.fields)),
    values: kept,
  };
};

/** Passwords are typed again. */
const withoutSecrets = (model: Model, type: Type, fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]): readonly (readonly [string, Field])[] => {
      const attribute = attributeOf(type, name);
      if (!attribute || isWriteOnly(attribute)) return [];
      if (field.kind !== 'parts') return [[name, field]];
      const parts = field.parts.map((part) => {
        const component = typeOf(model, part.component);
        return component ? { ...part, fields: withoutSecrets(model, component, part.fields) } : part;
      });
      return [[name, { kind: 'parts', parts }]];
    }),
  );

/** False if the browser has no room or no storage. */
export const keepUnsaved = (key: UnsavedKey, unsaved: Unsaved, tab = tabId()): boolean => {
  try {
    localStorage.setItem(nameOf(key) + tab, JSON.stringify(unsaved));
    return true;
  } catch {
    return false;
  }
};

export const readUnsaved = (key: UnsavedKey, tab = tabId()): Unsaved | null => {
  try {
    const text = localStorage.getItem(nameOf(key) + tab);
    return text === null ? null : parsed(JSON.parse(text));
  } catch {
    return null;
  }
};

export const forgetUnsaved = (key: UnsavedKey, tab = tabId()): void => {
  try {
    localStorage.removeItem(nameOf(key) + tab);
  } catch {
    // what cannot be stored cannot be forgotten
  }
};

/** What another tab has kept. */
export interface LeftWork {
  readonly tab: string;
  readonly unsaved: Unsaved;
}

interface LeftWorks {
  /** The newest first. */
  readonly works: readonly LeftWork[];
  /** Whether none of these tabs is open any more; where the browser does not tell, they are those of all others. */
  readonly areClosed: boolean;
}

/** Unsaved work on the same entry that other tabs have left behind. */
export const leftUnsaved = async (key: UnsavedKey): Promise<LeftWorks> => {
  const open = await openTabs();
  const name = nameOf(key);
  const works = storedNames()
    .filter((it) => it.startsWith(name))
    .map((it) => it.slice(name.length))
    .filter((tab) => tab !== tabId() && !open?.has(tab))
    .flatMap((tab): readonly LeftWork[] => {
      const unsaved = readUnsaved(key, tab);
      return unsaved === null ? [] : [{ tab, unsaved }];
    });
  return { works: works.toSorted((a, b) => b.unsaved.at - a.unsaved.at), areClosed: open !== null };
};

/** What is left of work on an entry that cannot be read any more. */
export interface OrphanedWork extends LeftWork {
  readonly key: UnsavedKey;
}

/** Unsaved work on an entry of any locale: of this tab, and what closed tabs have left behind; the newest first. */
export const orphanedUnsaved = async (
  user: number | null,
  type: string,
  id: number,
): Promise<readonly OrphanedWork[]> => {
  const open = await openTabs();
  const name = [PREFIX, user ?? 'nobody', type, id, ''].join('/');
  const works = storedNames().flatMap((it): readonly OrphanedWork[] => {
    if (!it.startsWith(name)) return [];
    const [locale = '', tab = ''] = it.slice(name.length).split('/');
    if (tab !== tabId() && open?.has(tab)) return [];
    const key = { user, type, id, locale: locale === '' ? null : locale };
    const unsaved = readUnsaved(key, tab);
    return unsaved === null ? [] : [{ key, tab, unsaved }];
  });
  return works.toSorted((a, b) => b.unsaved.at - a.unsaved.at);
};

/** Keeps the values of a new entry that is to be opened. */
export const keepNew = (
  key: UnsavedKey,
  type: Type,
  origin: Unsaved['origin'],
  values: Fields,
  tab = tabId(),
): boolean => {
  const begun = { origin, at: Date.now(), version: null, isUndecided: false, base: newFields(type), values };
  return keepUnsaved({ ...key, id: null }, begun, tab);
};

const storedNames = (): readonly string[] => {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
};

/** What another version of the Studio has left is not taken. */
const parsed = (value: unknown): Unsaved | null => {
  const { at, base, values } = (value ?? {}) as Partial<Unsaved>;
  const isFields = (it: unknown): boolean =>
    it !== null &&
    typeof it === 'object' &&
    Object.values(it).every((field) => ['scalar', 'media', 'parts', 'relation'].includes((field as Field)?.kind));
  return typeof at === 'number' && isFields(base) && isFields(values) ? (value as Unsaved) : null;
};
