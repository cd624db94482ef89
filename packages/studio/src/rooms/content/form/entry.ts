/** Reads an entry for a form. */
import { DovetailError } from 'dovetail-client';
import type { Model, Type } from '../../../model/model.js';
import type { ApiClient } from '../../../server/clients.js';
import { getEntry } from '../requests.js';
import { attributesOf, type Fields, fieldsOf, idOf, newFields, rowsOf } from './fields.js';
import { editQuery } from './query.js';

export interface StoredEntry {
  /** Null: not stored yet. */
  readonly id: number | null;
  /** For If-Match. */
  readonly etag: string | null;
  readonly fields: Fields;
  readonly locale: string | null;
  /** Null: a draft, if the type has them. */
  readonly publishedAt: string | null;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly createdBy: Person | null;
  readonly updatedBy: Person | null;
  readonly localizations: readonly Localization[];
}

interface Person {
  readonly id: number;
  readonly name: string;
}
interface Localization {
  readonly id: number;
  readonly locale: string;
  readonly publishedAt: string | null;
}

/** Whether it was not changed since it was created, as people see it: within a minute, and by nobody else. */
export const isUnchanged = ({ createdAt, updatedAt, createdBy, updatedBy }: StoredEntry): boolean =>
  createdAt !== null &&
  updatedAt !== null &&
  Math.abs(Date.parse(updatedAt) - Date.parse(createdAt)) < 60_000 &&
  createdBy?.id === updatedBy?.id;

export const newEntry = (type: Type, locale: string | null): StoredEntry => ({
  id: null,
  etag: null,
  fields: newFields(type),
  locale: type.localized ? locale : null,
  publishedAt: null,
  createdAt: null,
  updatedAt: null,
  createdBy: null,
  updatedBy: null,
  localizations: [],
});

/** @param row an entry of a response to `editQuery` */
export const entryOf = (model: Model, type: Type, row: unknown, etag: string | null): StoredEntry => {
  const values = attributesOf(row);
  const text = (name: string): string | null => (typeof values[name] === 'string' ? (values[name] as string) : null);
  return {
    id: idOf(row),
    etag,
    fields: fieldsOf(model, type, row),
    locale: text('locale'),
    publishedAt: text('publishedAt'),
    createdAt: text('createdAt'),
    updatedAt: text('updatedAt'),
    createdBy: personOf(values['createdBy']),
    updatedBy: personOf(values['updatedBy']),
    localizations: rowsOf(values['localizations']).flatMap((it) => {
      const [id, { locale, publishedAt }] = [idOf(it), attributesOf(it)];
      return id === null || typeof locale !== 'string'
        ? []
        : [{ id, locale, publishedAt: typeof publishedAt === 'string' ? publishedAt : null }];
    }),
  };
};

const personOf = (value: unknown): Person | null => {
  const [row] = rowsOf(value);
  const id = idOf(row);
  const { firstname, lastname } = attributesOf(row);
  return id === null ? null : { id, name: [firstname, lastname].filter((it) => typeof it === 'string').join(' ') };
};

/** @param id null for a single type, which may have no entry yet. */
export const readEntry = async (
  client: ApiClient,
  model: Model,
  type: Type,
  { id, locale }: { readonly id: number | null; readonly locale: string | null },
  signal?: AbortSignal,
): Promise<StoredEntry> => {
  const query = editQuery(model, type);
  const own = id === null && type.localized && locale !== null ? { ...query, locale } : query;
  try {
    const { data, etag } = await getEntry(client, model, type, id, own, signal);
    return entryOf(model, type, data, etag);
  } catch (fault) {
    const isNone = id === null && fault instanceof DovetailError && fault.status === 404;
    if (isNone) return newEntry(type, locale);
    throw fault;
  }
};
