/** Requests that change an entry; each says which version of it was seen. */
import { encodeQuery } from 'dovetail-client';
import { type Attribute, attributeOf, type Model, type Type } from '../../../model/model.js';
import type { ApiClient } from '../../../server/clients.js';
import type { Body } from '../form/body.js';
import type { StoredEntry } from '../form/entry.js';
import type { Fields } from '../form/fields.js';
import { copyOfFields } from '../form/parts.js';
import { isExclusive } from '../relations/partners.js';
import { withWholeLists } from '../relations/whole-lists.js';
import { pathOf } from '../requests.js';

interface Site {
  readonly client: ApiClient;
  readonly model: Model;
  readonly type: Type;
}

/** @returns the entry's id. */
export const writeEntry = async ({ client, model, type }: Site, entry: StoredEntry, data: Body): Promise<number> => {
  const isNew = entry.id === null;
  const isSingle = type.kind === 'single';
  const { body } = await client.send({
    method: isNew && !isSingle ? 'POST' : 'PUT',
    path: pathOf(model, type, entry.id),
    // the locale of a new entry stands in its body (LO4), that of a single type in the query (LO6)
    query: encodeQuery({ fields: ['id'], ...(isSingle && entry.locale !== null ? { locale: entry.locale } : {}) }),
    headers: conditionOf(entry, isSingle),
    body: { data: { ...data, ...(isNew && !isSingle && entry.locale !== null ? { locale: entry.locale } : {}) } },
  });
  return idIn(body);
};

const conditionOf = ({ id, etag }: StoredEntry, isSingle: boolean): Readonly<Record<string, string>> => {
  if (id === null) return isSingle ? { 'if-none-match': '*' } : {};
  return etag === null ? {} : { 'if-match': etag };
};

const idIn = (body: unknown): number => {
  const { data } = body as { readonly data: { readonly id: number } };
  return data.id;
};

export const deleteEntry = async ({ client, model, type }: Site, entry: StoredEntry): Promise<void> => {
  await client.send({
    method: 'DELETE',
    path: pathOf(model, type, entry.id),
    query: type.kind === 'single' && entry.locale !== null ? encodeQuery({ locale: entry.locale }) : '',
    headers: conditionOf(entry, false),
  });
};

/** Adds the entry in another locale; a draft where there are drafts. @returns the new entry's id. */
export const localizeEntry = async (
  { client, model, type }: Site,
  entry: StoredEntry,
  locale: string,
  data: Body,
): Promise<number> => {
  const { body } = await client.send({
    method: 'POST',
    path: `${pathOf(model, type, entry.id)}/localizations`,
    body: { ...data, locale, ...(type.draftAndPublish ? { publishedAt: null } : {}) },
  });
  return (body as { readonly id?: number }).id ?? idIn(body);
};

/** The fields of a new entry that begins as another one is. */
export const copyOf = async ({ client, model, type }: Site, { id, locale, fields }: StoredEntry): Promise<Fields> => {
  const copied = Object.entries(fields).filter(([name]) => isCopied(attributeOf(type, name)));
  const whole = await withWholeLists({ client, model, owner: { type, id, locale } }, type, Object.fromEntries(copied));
  return copyOfFields(model, type, whole.fields, 'create');
};

/** Not what must be unique, nor entries that would leave the one that is copied. */
const isCopied = (attribute: Attribute | null): boolean =>
  attribute !== null && !attribute.unique && attribute.type !== 'uid' && !isExclusive(attribute);
