/** Where a relation list is read: in windows from the server, or from the component that was read whole with its entry. */
import { DovetailError, encodeQuery } from 'dovetail-client';
import { entryName } from '../../../model/entry-name.js';
import { type Attribute, attributeOf, type Model, type Type, typeOf } from '../../../model/model.js';
import type { ApiClient } from '../../../server/clients.js';
import type { FieldPath } from '../form/fields.js';
import { getEntry, pathOf } from '../requests.js';
import { type RelatedRow, versionOf } from './relation-edit.js';

/** The most rows that the server sends at once. */
export const WINDOW_MAX = 100;

export interface ListWindow {
  readonly rows: readonly RelatedRow[];
  /** The place of each in the whole list. */
  readonly homes: readonly number[];
  /** How many there are in all: of the list, or of what was searched. */
  readonly total: number;
  /** Of the entry that has the list; null if it is not said. */
  readonly version: string | null;
}

export interface ListSource {
  /** Begins the keys of all queries to it. */
  readonly key: readonly unknown[];
  read(start: number, limit: number, signal?: AbortSignal): Promise<ListWindow>;
  /** Where the list has entries. Absent ones are missing. */
  find(ids: readonly number[], signal?: AbortSignal): Promise<ReadonlyMap<number, number>>;
  /** The rows whose name contains the text. */
  search(text: string, start: number, limit: number, signal?: AbortSignal): Promise<ListWindow>;
}

/** The entry that a list belongs to. */
interface Owner {
  readonly type: Type;
  /** Null: not stored yet, or the one of a single type. */
  readonly id: number | null;
  readonly locale: string | null;
}

/** What reads the lists of an entry. */
export interface OwnerContext {
  readonly client: ApiClient;
  readonly model: Model;
  readonly owner: Owner;
}

/** Begins the keys of all lists of an entry. */
export const listsKey = ({ type, id, locale }: Owner): readonly unknown[] => ['relation-list', type.uid, id, locale];

/** @param at the path of the list in the form; inside a component if that has several names. */
export const serverSource = (
  client: ApiClient,
  model: Model,
  owner: Owner,
  attribute: Attribute,
  at: FieldPath,
): ListSource => {
  const { type, id, locale } = owner;
  const target = typeOf(model, attribute.relation?.target ?? '');
  const path = `${pathOf(model, type, id)}/relations/${listPath(model, type, at)}`;
  const ask = async (
    filters: object | null,
    start: number,
    limit: number,
    signal?: AbortSignal,
  ): Promise<ListWindow> => {
    const query = {
      pagination: { start, limit },
      publicationState: 'preview',
      ...(target ? { fields: rowFields(target) } : {}),
      ...(id === null && locale !== null ? { locale } : {}),
      ...(filters ? { filters } : {}),
    };
    const { body } = await client.send({
      method: 'GET',
      path,
      query: encodeQuery(query),
      ...(signal ? { signal } : {}),
    });
    const { data, meta } = body as RelationsAnswer;
    return {
      rows: data.map((row) => relatedRow(target, attribute.relation?.target ?? '', row)),
      homes: meta.positions,
      total: meta.pagination.total,
      version: versionOf(meta.etag ?? null),
    };
  };
  return {
    // what is stored of the other type changes what is shown, too
    key: [...listsKey(owner), at, attribute.relation?.target],
    read: (start, limit, signal) => ask(null, start, limit, signal),
    find: async (ids, signal) => {
      const found = new Map<number, number>();
      for (let i = 0; i < ids.length; i += WINDOW_MAX) {
        const { rows, homes } = await ask({ id: { $in: ids.slice(i, i + WINDOW_MAX) } }, 0, WINDOW_MAX, signal);
        rows.forEach((row, k) => {
          found.set(row.id, homes[k]!);
        });
      }
      return found;
    },
    search: (text, start, limit, signal) => ask(searchFilters(target, text), start, limit, signal),
  };
};

/** A path of a form as the server has it (SU2): `sections/sections.quote:3/articles` is `sections/sections.quote/3/articles`. */
export const listPath = (model: Model, type: Type, at: FieldPath): string => {
  const names = at.split('/');
  const steps: string[] = [];
  let owner: Type | null = type;
  for (let i = 0; i + 1 < names.length; i += 2) {
    const [name = '', key = ''] = [names[i], names[i + 1]];
    const [uid = '', id = ''] = key.split(':');
    const isZone: boolean = owner !== null && attributeOf(owner, name)?.kind === 'zone';
    steps.push(name, ...(isZone ? [uid] : []), id);
    owner = typeOf(model, uid);
  }
  return [...steps, names.at(-1) ?? ''].join('/');
};

interface RelationsAnswer {
  readonly data: readonly unknown[];
  readonly meta: {
    readonly pagination: { readonly total: number };
    readonly positions: readonly number[];
    readonly etag?: string | null;
  };
}

/** A list that is known whole. */
export const wholeSource = (key: readonly unknown[], rows: readonly RelatedRow[]): ListSource => {
  const version = rows.map(({ id }) => id).join();
  const some = (homes: readonly number[], start: number, limit: number): ListWindow => {
    const shown = homes.slice(start, start + limit);
    return { rows: shown.map((home) => rows[home]!), homes: shown, total: homes.length, version };
  };
  const all = [...rows.keys()];
  return {
    key: [...key, version],
    read: async (start, limit) => some(all, start, limit),
    find: async (ids) => {
      const wanted = new Set(ids);
      return new Map(rows.flatMap(({ id }, home) => (wanted.has(id) ? [[id, home]] : [])));
    },
    search: async (text, start, limit) =>
      some(
        all.filter((home) => titleOf(rows[home]!).toLowerCase().includes(text.toLowerCase())),
        start,
        limit,
      ),
  };
};

// ---- entries of the other type

/** Entries that can be picked. */
export const searchTargets = async (
  client: ApiClient,
  model: Model,
  target: Type,
  text: string,
  locale: string | null,
  signal?: AbortSignal,
): Promise<readonly RelatedRow[]> => {
  if (target.kind === 'single') return searchSingle(client, model, target, text, locale, signal);
  const query = {
    fields: rowFields(target),
    publicationState: 'preview',
    pagination: { pageSize: 20 },
    // an entry without a locale is related to entries in any
    ...(target.localized ? { locale: locale ?? 'all' } : {}),
    ...(text === '' ? {} : { filters: searchFilters(target, text) }),
    ...(mainAttribute(target)?.sortable ? { sort: `${target.mainField}:asc` } : {}),
  };
  const { body } = await client.send({
    method: 'GET',
    path: pathOf(model, target),
    query: encodeQuery(query),
    ...(signal ? { signal } : {}),
  });
  const rows = Array.isArray(body) ? body : (body as { readonly data: readonly unknown[] }).data;
  return rows.map((row) => relatedRow(target, target.uid, row));
};

/** Its only entry, if there is one and its name has the text. */
const searchSingle = async (
  client: ApiClient,
  model: Model,
  target: Type,
  text: string,
  locale: string | null,
  signal?: AbortSignal,
): Promise<readonly RelatedRow[]> => {
  const query = {
    fields: rowFields(target),
    publicationState: 'preview',
    ...(target.localized && locale !== null ? { locale } : {}),
  };
  try {
    const { data } = await getEntry(client, model, target, null, query, signal);
    const row = relatedRow(target, target.uid, data);
    return titleOf(row).toLowerCase().includes(text.toLowerCase()) ? [row] : [];
  } catch (fault) {
    if (fault instanceof DovetailError && fault.status === 404) return [];
    throw fault;
  }
};

const mainAttribute = (type: Type): Attribute | null =>
  type.mainField === null ? null : attributeOf(type, type.mainField);

/** What a row needs that names an entry. */
const rowFields = (type: Type): readonly string[] => [
  mainAttribute(type)?.mayRead ? type.mainField! : 'id',
  ...(type.draftAndPublish ? ['publishedAt'] : []),
  ...(type.localized ? ['locale'] : []),
];

/** By the name of entries; by their ids where they have none. */
const searchFilters = (target: Type | null, text: string): object => {
  const main = target && mainAttribute(target);
  if (main?.operators.includes('$containsi')) return { [main.name]: { $containsi: text } };
  return { id: { $eq: /^\d+$/.test(text) ? text : 0 } };
};

const relatedRow = (target: Type | null, uid: string, row: unknown): RelatedRow => {
  const { id, attributes, ...rest } = row as { readonly id: number } & Readonly<Record<string, unknown>>;
  const values = (attributes ?? rest) as Readonly<Record<string, unknown>>;
  const title = target?.mainField ? values[target.mainField] : null;
  return {
    id,
    type: uid,
    title: entryName(target, id, title),
    publishedAt: typeof values['publishedAt'] === 'string' ? values['publishedAt'] : null,
    locale: typeof values['locale'] === 'string' ? values['locale'] : null,
  };
};

/** What people call an entry. */
export const titleOf = ({ title, id }: RelatedRow): string => (title === null || title === '' ? `#${id}` : title);
