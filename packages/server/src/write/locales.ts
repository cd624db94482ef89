/**
 * Locales of writes (LO4 to LO9): which locale an entry is in; its siblings, the same entry in other locales, each a row
 * of its own; and the attributes that have one value in all of them, which is copied from row to row.
 */
import { sql } from 'kysely';
import { bug, issue, refuse, refuseAll, unwrap } from '../errors.js';
import { type Attribute, type EntryType, isWritable, type LinkAttribute, LOCALE_UID, typeOf } from '../model/model.js';
import type { LeftOut } from '../query/lenient.js';
import { type QuerySource, shapeOf } from '../query/raw.js';
import { type Cell, type Sql, withIds } from '../sql/dialect.js';
import { type Change, namesOf } from './change.js';
import type { CheckContext } from './checks.js';
import { missingInStored } from './complete.js';
import { copy, findParts, type Parts } from './copy.js';
import { entryWithId, readEntries, type StoredEntry, type Which } from './entry.js';
import { groupBy, ownerKey } from './keys.js';
import type { Operation, WritePlan } from './operations.js';
import { noParts, readParts } from './parts.js';
import { isUnique } from './plan.js';
import { removalOfParts } from './removal.js';
import { changesOf } from './snapshot.js';

// ---- what a request says

/** `locale` of a write's query: which entry of a single type it writes; null for others, on which it has no effect. */
export const readQueryLocale = (type: EntryType, query: QuerySource): string | null => {
  const node = type.localized && type.kind === 'single' ? unwrap(query.read()).get('locale') : undefined;
  if (!node) return null;
  const shape = shapeOf(node);
  return shape.kind === 'text' ? shape.text : refuse(issue('query.expected-text', ['locale']));
};

/** Keys of the data that have no effect, because an entry keeps its locale and its siblings. @param locale undefined if the data decides. */
export const ignoredKeys = (
  type: EntryType,
  data: Readonly<Record<string, unknown>>,
  locale: string | null | undefined,
): readonly LeftOut[] => {
  if (!type.localized) return [];
  const isKept = locale !== undefined && data['locale'] !== undefined && data['locale'] !== locale;
  return [
    ...(isKept ? [{ name: 'data.locale', issue: issue('body.locale-kept', ['locale']) }] : []),
    ...(data['localizations'] === undefined
      ? []
      : [{ name: 'data.localizations', issue: issue('body.localizations', ['localizations']) }]),
  ];
};

// ---- new entries

/** Which locales a new entry may be in. As in v4, rows that code writes without rules (`db.query`) may be in any. */
export type AcceptedLocales = 'existing' | 'any';

/** The locale of a new entry: the one given, or the default. Refuses one that is not accepted. */
export const localeOfNew = async (
  given: unknown,
  defaultLocale: string | null,
  accepted: AcceptedLocales,
  context: CheckContext,
): Promise<string | null> => {
  if (given === undefined || given === null || given === defaultLocale) return defaultLocale;
  if (Array.isArray(given)) return refuse(issue('body.type', ['locale'], { expected: 'string', value: given }));
  return typeof given === 'string' && (accepted === 'any' || (await isLocale(given, context)))
    ? given
    : refuse(issue('body.locale', ['locale']));
};

const isLocale = async (given: string, { model, dialect, tx }: CheckContext): Promise<boolean> => {
  // a text that PostgreSQL cannot hold
  if (given.includes('\0')) return false;
  const { table } = typeOf(model, LOCALE_UID);
  const code = dialect.bind('string', given);
  return (
    (await tx.run(dialect.compile(sql`select 1 from ${sql.table(table)} where code = ${code} limit 1`))).length > 0
  );
};

/** The entry of which a new one becomes a sibling. @param id null for a single type: any, if possible in the default locale. */
export const findSource = async (
  type: EntryType,
  id: number | null,
  defaultLocale: string | null,
  { dialect, tx }: CheckContext,
): Promise<StoredEntry> => {
  const inDefault: Which = {
    key: 'locale first',
    rest: () => sql`order by case when e.locale = ${dialect.bindSlot('string', 0)} then 0 else 1 end, e.id limit 1`,
    values: [defaultLocale],
  };
  const which = id === null ? inDefault : entryWithId(id);
  const [source] = await readEntries(type, which, 'plain', { dialect, tx });
  return source ?? refuse(issue('locale.no-entry', []));
};

/** The locale of a new sibling, which its data must name. */
export const localeOfSibling = async (
  given: unknown,
  accepted: AcceptedLocales,
  context: CheckContext,
): Promise<string> => {
  if (given === undefined || given === null) return refuse(issue('locale.missing', ['locale']));
  return typeof given === 'string' && (accepted === 'any' || (await isLocale(given, context)))
    ? given
    : refuse(issue('locale.invalid', ['locale']));
};

/** Attributes that a new sibling has from its source: those that its data does not name, or cannot write (BO4). */
export const inheritedNames = (
  type: EntryType,
  data: Readonly<Record<string, unknown>>,
  { isOfCode }: { readonly isOfCode: boolean },
): ReadonlySet<string> => {
  const isWritten = (name: string): boolean => {
    const attribute = type.attributes.get(name);
    return isOfCode || !attribute || isWritable(attribute);
  };
  return new Set(
    [...type.shared].filter((name) => !Object.hasOwn(data, name) || data[name] === undefined || !isWritten(name)),
  );
};

// ---- siblings

/** The lock that a write takes before it reads siblings: they are rows that several writers change. */
export const siblingsLock = (type: EntryType): string => `locales ${type.table}`;

/**
 * The lock of an entry and its siblings, which comes before all others: for writes that change rows of its components before hooks
 * run, when nobody knows yet what else they will change.
 */
export const entryLock = async (type: EntryType, id: number, { dialect, tx }: CheckContext): Promise<string> => {
  if (!type.localized) return `entry ${type.table} ${id}`;
  const { table, from, to } = linksOf(type);
  const query = sql`select min(${sql.ref(to)}) from ${sql.table(table)} where ${sql.ref(from)} = ${dialect.bind('id', id)}`;
  const [[sibling] = []] = await tx.run(dialect.compile(query));
  return `entry ${type.table} ${Math.min(id, Number(sibling ?? id))}`;
};

/** The siblings of an entry, in the order of its list. @param lock whether their rows are going to change. */
export const readSiblings = async (
  type: EntryType,
  id: number,
  { dialect, tx }: CheckContext,
  lock: 'plain' | 'locked' = 'locked',
): Promise<readonly StoredEntry[]> => {
  const { table, from, to, rank } = linksOf(type);
  const column = (name: string): Sql => sql`${sql.ref(`l.${name}`)}`;
  const own = dialect.bindSlot('id', 0);
  const which: Which = {
    key: 'siblings',
    rest: () =>
      sql`join ${sql.table(table)} l on ${column(to)} = e.id where ${column(from)} = ${own} and e.id <> ${own} order by ${column(rank)}, l.id`,
    values: [id],
  };
  const rows = await readEntries(type, which, lock, { dialect, tx });
  return [...new Map(rows.map((it) => [it.id, it])).values()];
};

/** The source of a new sibling and its siblings, locked. Refuses a locale that one of them has. */
export const readGroup = async (
  type: EntryType,
  source: number,
  locale: string,
  context: CheckContext,
): Promise<readonly StoredEntry[]> => {
  // any entry of a single type will do, if the source was deleted meanwhile
  const anyOfSingle: Which = {
    key: 'id first',
    rest: ({ bindSlot }) => sql`order by case when e.id = ${bindSlot('id', 0)} then 0 else 1 end, e.id limit 1`,
    values: [source],
  };
  const which = type.kind === 'single' ? anyOfSingle : entryWithId(source);
  const [first] = await readEntries(type, which, 'locked', context);
  if (!first) return refuse(issue('locale.no-entry', []));
  const group = [first, ...(await readSiblings(type, first.id, context))];
  // a single type has one entry in a locale, linked or not
  const others = type.kind === 'single' ? await readEntries(type, allEntries, 'plain', context) : group;
  return others.some((it) => it.locale === locale) ? refuse(issue('locale.used', ['locale'])) : group;
};

const allEntries: Which = { key: 'all', rest: () => sql`order by e.id`, values: [] };

const linksOf = (type: EntryType): LinkAttribute['path'] & { readonly rank: string } => {
  const attribute = type.attributes.get('localizations');
  if (attribute?.kind !== 'link' || attribute.path.rank === null) throw bug('locales.no-links', { uid: type.uid });
  return { ...attribute.path, rank: attribute.path.rank };
};

/** Links every two of the group. The new entry is first in each list, then come the others in the order of the group. */
const linkGroup = (type: EntryType, id: number, group: readonly number[]): readonly Operation[] => {
  const { table, from, to, rank } = linksOf(type);
  const all = [id, ...group];
  return [
    { kind: 'delete', table, column: from, ids: group, fixed: [] },
    ...all.flatMap((owner) =>
      all
        .filter((it) => it !== owner)
        .map(
          (other, place): Operation => ({
            kind: 'insert',
            table,
            cells: [
              { column: from, kind: 'reference', value: owner },
              { column: to, kind: 'reference', value: other },
              { column: rank, kind: 'rank', value: place + 1 },
            ],
          }),
        ),
    ),
  ];
};

// ---- shared attributes

/** The part of a change that all siblings have in common; null if there is none. */
export const sharedOf = ({ type, values, links, morphs, parts }: Change): Change | null => {
  const isShared = ({ attribute }: { readonly attribute: Attribute }): boolean => type.shared.has(attribute.name);
  const shared = {
    type,
    values: values.filter(isShared),
    links: links.filter(isShared),
    morphs: morphs.filter(isShared),
    parts: parts.filter(isShared),
  };
  return namesOf(shared).size > 0 ? shared : null;
};

/**
 * Shared values must be right for each sibling: a unique one cannot be in two rows, and where a draft may be incomplete, its
 * published siblings may not.
 * @param acceptComplete refuses values of the attributes that are not complete.
 */
export const checkShared = async (
  change: Change,
  siblings: readonly StoredEntry[],
  isDraft: boolean,
  acceptComplete: (names: ReadonlySet<string>) => Promise<unknown>,
): Promise<void> => {
  const shared = sharedOf(change);
  if (!shared || siblings.length === 0) return;
  const unique = changesOf(shared, null, { withAhead: true }).flatMap((it) =>
    it.change.values.filter(({ attribute, value }) => value !== null && isUnique(attribute)),
  );
  if (unique.length > 0) refuseAll(unique.map(({ path }) => issue('body.unique', path)));
  if (isDraft && siblings.some((it) => it.publishedAt !== null)) await acceptComplete(namesOf(shared));
};

/** The same for what a new sibling takes over from its source. */
export const checkInherited = async (
  change: Change,
  source: number,
  isDraft: boolean,
  context: CheckContext,
): Promise<void> => {
  const { type } = change;
  const { model, dialect, tx } = context;
  const attributes = inheritedBy(change);
  const inherited = new Set(attributes.map((it) => it.name));
  const others = new Set([...type.attributes.keys()].filter((name) => !inherited.has(name)));
  const missing = isDraft ? [] : await missingInStored(type, source, { names: others, parts: [] }, model, tx, dialect);
  const parts = await partsOf(type, source, attributes, context);
  const components = groupBy(findParts({ type, from: source, attributes, parts }, context), (it) => it.type.uid);
  const rows = [
    { type, ids: [source], attributes },
    ...components.map((them) => {
      const component = them[0]!.type;
      return { type: component, ids: them.map((it) => it.id), attributes: [...component.attributes.values()] };
    }),
  ];
  const unique = rows.flatMap(({ attributes: all, ...row }) =>
    all.flatMap((it) => (it.kind === 'scalar' && isUnique(it) ? [{ ...row, attribute: it }] : [])),
  );
  const results = await tx.runAll(
    unique.map(({ type: { table }, ids, attribute: { column } }) => {
      const query = sql`select 1 from ${sql.table(table)} e where ${dialect.inIds(sql.ref('e.id'))} and ${sql.ref(`e.${column}`)} is not null limit 1`;
      return withIds(dialect.compile(query), ids, dialect);
    }),
  );
  const taken = unique
    .filter((_it, i) => results[i]!.length > 0)
    .map((it) => issue('body.unique', [it.attribute.name]));
  if (missing.length + taken.length > 0) refuseAll([...missing, ...taken]);
};

/** The shared attributes that a change does not name. */
const inheritedBy = (change: Change): readonly Attribute[] => {
  const given = namesOf(change);
  return [...change.type.attributes.values()].filter(({ name }) => change.type.shared.has(name) && !given.has(name));
};

const partsOf = async (
  type: EntryType,
  id: number,
  attributes: readonly Attribute[],
  { model, dialect, tx }: CheckContext,
): Promise<Parts> =>
  attributes.some((it) => it.kind === 'part') ? readParts(type, [id], model, tx, dialect) : noParts;

/** A planned write of an entry; its operations run first. */
export interface Planned {
  readonly id: number;
  readonly change: Change;
  readonly plan: WritePlan;
}

/** What else a write does because its entry has siblings. */
export interface Following {
  readonly operations: readonly Operation[];
  /** The siblings whose values change. */
  readonly followers: readonly number[];
}

/** Brings the shared values of a written entry to its siblings. @param system values that the server sets in their rows. */
export const follow = async (
  { id, change, plan: { parts, newIds } }: Planned,
  siblings: readonly StoredEntry[],
  system: readonly Cell[],
  context: CheckContext,
): Promise<Following> => {
  const shared = sharedOf(change);
  if (shared === null || siblings.length === 0) return { operations: [], followers: [] };
  const { type } = change;
  const ids = siblings.map((it) => it.id);
  const attributes = [...shared.values, ...shared.links, ...shared.parts].map((it) => it.attribute);
  const operations = [
    ...(await clear(shared, ids, parts, context)),
    ...(await copy({ type, from: id, to: ids, attributes, parts, taken: new Map(newIds) }, context)),
    ...(system.length > 0 ? [{ kind: 'update', table: type.table, column: 'id', ids, cells: system } as const] : []),
  ];
  return { operations, followers: ids };
};

/** Makes a new entry a sibling: it takes over what its data does not name, and all get links. */
export const join = async (
  { id, change, plan }: Planned,
  group: readonly StoredEntry[],
  system: readonly Cell[],
  context: CheckContext,
): Promise<Following> => {
  const { type } = change;
  const ids = group.map((it) => it.id);
  const from = ids[0]!;
  const attributes = inheritedBy(change);
  const parts = await partsOf(type, from, attributes, context);
  const taken = new Map(plan.newIds);
  const inherited = await copy({ type, from, to: [id], attributes, parts, taken }, context);
  const own = { id, change, plan: { ...plan, newIds: taken } };
  const { operations, followers } = await follow(own, group, system, context);
  return { operations: [...inherited, ...operations, ...linkGroup(type, id, ids)], followers };
};

/** Removes the files and components that siblings have in the attributes. @param parts components that stay. */
const clear = async (
  shared: Change,
  siblings: readonly number[],
  parts: Parts,
  { model, dialect, tx }: CheckContext,
): Promise<readonly Operation[]> => {
  const { type } = shared;
  const operations = shared.links.map(
    ({ attribute: { path } }): Operation => ({
      kind: 'delete',
      table: path.table,
      column: path.from,
      ids: siblings,
      fixed: path.fixed,
    }),
  );
  if (shared.parts.length === 0) return operations;
  const stored = await readParts(type, siblings, model, tx, dialect);
  const owned = siblings.flatMap((id) => stored.get(ownerKey(type.uid, id)) ?? []);
  // damaged rows may make siblings have the same component
  const kept = new Set([...parts.values()].flat().map((it) => ownerKey(it.uid, it.id)));
  return [
    ...operations,
    ...shared.parts.flatMap(({ attribute }) => {
      const gone = owned.filter((it) => it.attribute === attribute.name);
      return removalOfParts(attribute, gone, stored, model, kept);
    }),
  ];
};
