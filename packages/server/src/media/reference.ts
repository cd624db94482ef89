/** `ref`, `refId` and `field` of an upload: the entry, or the component of one, to whose media attribute the files are added. */
import { sql } from 'kysely';
import type { Caller } from '../access/access.js';
import { issue, refuse } from '../errors.js';
import { limits } from '../limits.js';
import {
  type EntryType,
  isWritable,
  type LinkAttribute,
  type Model,
  type PartAttribute,
  type Uid,
} from '../model/model.js';
import type { Dialect, Sql, Tx } from '../sql/dialect.js';
import { AddedFiles } from '../write/change.js';
import { siblingsLock } from '../write/locales.js';
import type { Data } from '../write/request.js';
import type { Form } from './receive.js';

export interface Reference {
  readonly type: EntryType;
  readonly id: number;
  readonly attribute: LinkAttribute;
}

/** An update of an entry. */
export interface EntryUpdate {
  readonly type: EntryType;
  readonly id: number;
  readonly data: Data;
  /** That of the entry of a single type. */
  readonly locale?: string | null;
}

/** Who may update entries of a type by way of an upload. */
export interface UpdateRights {
  readonly caller: Caller;
  readonly hasUpdateHandler: (uid: Uid) => boolean;
}

/** The reference of a form; null unless all three fields are given, as in v4. Throws `Refusal`. */
export const readReference = ({ fields }: Form, { types }: Model, rights: UpdateRights): Reference | null => {
  const [ref = '', refId = '', field = ''] = ['ref', 'refId', 'field'].map(
    (name) => fields.find((it) => it.name === name)?.value,
  );
  if (ref === '' || refId === '' || field === '') return null;
  const type = types.get(ref);
  if (!type) return refuse(issue('media.reference', ['ref'], { what: 'there is no such type' }));
  checkUpdate(type, rights);
  const attribute = type.attributes.get(field);
  if (attribute?.kind !== 'link' || attribute.source !== 'media')
    return refuse(issue('media.reference', ['field'], { what: 'is not a media attribute of that type' }));
  if (!isWritable(attribute)) return refuse(issue('media.reference', ['field'], { what: 'cannot be written' }));
  const id = /^[1-9]\d{0,9}$/.test(refId) ? Number(refId) : Number.NaN;
  return id <= limits.integerMax ? { type, id, attribute } : noEntry();
};

/** The update that adds the files: a single file is replaced, a list grows at its end. Throws `Refusal`. */
export const updateFor = async (
  { type, id, attribute }: Reference,
  files: readonly number[],
  rights: UpdateRights,
  { model, tx, dialect }: { readonly model: Model; readonly tx: Tx; readonly dialect: Dialect },
): Promise<EntryUpdate> => {
  const run = (query: Sql) => tx.run(dialect.compile(query));
  const bound = (value: number): Sql => dialect.bind('id', value);

  const ownerOf = async (component: EntryType, componentId: number): Promise<Owner | null> => {
    for (const owner of model.types.values()) {
      const attributes = [...owner.attributes.values()].filter(
        (it) => it.kind === 'part' && it.components.includes(component.uid),
      );
      const [first] = attributes;
      if (first?.kind !== 'part') continue;
      const { table, from, to, typeColumn } = first.path;
      const rows = await run(
        sql`select ${sql.ref(from)}, field from ${sql.table(table)} where ${sql.ref(to)} = ${bound(componentId)} and ${sql.ref(typeColumn!)} = ${component.uid}`,
      );
      for (const [ownerId, field] of rows) {
        const found = attributes.find((it) => it.name === field);
        if (found?.kind === 'part') return { type: owner, id: ownerId as number, attribute: found };
      }
    }
    return null;
  };

  /** All components of an attribute by id, which leaves them as they are, but one with data. */
  const listOf = async (owner: Owner, component: EntryType, changed: Data): Promise<readonly Data[]> => {
    const { table, from, to, typeColumn, rank } = owner.attribute.path;
    const rows = await run(
      sql`select ${sql.ref(to)}, ${sql.ref(typeColumn!)} from ${sql.table(table)} where ${sql.ref(from)} = ${bound(owner.id)} and field = ${owner.attribute.name} order by ${sql.ref(rank!)}, id`,
    );
    const isChanged = (uid: unknown, partId: unknown): boolean => uid === component.uid && partId === changed['id'];
    if (!rows.some(([partId, uid]) => isChanged(uid, partId))) return noEntry();
    return rows.map(([partId, uid]) => ({ ...(isChanged(uid, partId) ? changed : { id: partId }), __component: uid }));
  };

  /** Its locale, by which the write line finds the entry of a single type. */
  const localeOf = async (owned: Owned, lock: Sql): Promise<string | null> => {
    const locale = owned.type.localized ? sql.ref('locale') : sql`null`;
    const [row] = await run(
      sql`select ${locale} from ${sql.table(owned.type.table)} where id = ${bound(owned.id)}${lock}`,
    );
    return row ? (row[0] as string | null) : noEntry();
  };

  /** Other writes take this lock before that of the entry, too. */
  const lockSiblings = async (owned: Owned): Promise<void> => {
    const lock = owned.type.localized ? dialect.lock([siblingsLock(owned.type)]) : null;
    if (lock) await tx.run(lock);
  };

  const owners: Owner[] = [];
  let entry: Owned = { type, id };
  while (entry.type.kind === 'component') {
    const owner = await ownerOf(entry.type, entry.id);
    // damaged rows may make a component contain itself
    if (!owner || owners.length > limits.componentDepthMax) return noEntry();
    owners.push(owner);
    entry = owner;
  }
  checkUpdate(entry.type, rights);
  if (!owners.every((it) => isWritable(it.attribute)))
    return refuse(issue('media.reference', ['refId'], { what: 'is in a component that cannot be written' }));
  const isInside = owners.length > 0;
  // nobody else changes the lists below the entry from here on
  if (isInside) await lockSiblings(entry);
  const locale = await localeOf(entry, isInside ? dialect.forUpdate : sql``);
  let data: Data = { [attribute.name]: attribute.shape === 'one' ? files.at(-1) : new AddedFiles(files) };
  let changed: Owned = { type, id };
  for (const owner of owners) {
    const part = { id: changed.id, ...data };
    data = { [owner.attribute.name]: owner.attribute.shape === 'one' ? part : await listOf(owner, changed.type, part) };
    changed = owner;
  }
  const update = { type: entry.type, id: entry.id, data };
  return entry.type.kind === 'single' ? { ...update, locale } : update;
};

/** A component has no permission of its own: that of its entry counts. */
const checkUpdate = ({ kind, uid, singular }: EntryType, { caller, hasUpdateHandler }: UpdateRights): void => {
  if (kind === 'component') return;
  if (!caller.may(`${uid}.update`)) refuse(issue('http.forbidden', []));
  // it may restrict who changes which entry
  if (hasUpdateHandler(uid)) refuse(issue('media.handled', ['ref'], { type: singular }));
};

interface Owned {
  readonly type: EntryType;
  readonly id: number;
}

interface Owner extends Owned {
  readonly attribute: PartAttribute;
}

const noEntry = (): never => refuse(issue('media.reference', ['refId'], { what: 'there is no such entry' }));
