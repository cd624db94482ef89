/** Components that code of a v4 project has made by themselves, and makes parts of an entry: rows without a place. */
import { sql } from 'kysely';
import { type Issue, issue, refuseAll } from '../errors.js';
import type { EntryType, LinkPath, Model, PartAttribute } from '../model/model.js';
import { type Dialect, type Statement, withIds } from '../sql/dialect.js';
import { AheadPart } from './change.js';
import { idOf, isObject } from './ids.js';
import { groupBy, type OwnerKey, ownerKey } from './keys.js';
import { owningPaths, readParts } from './parts.js';
import { ownMember } from './places.js';
import { existingStatement } from './snapshot.js';
import type { Write } from './writing.js';

type Open = Record<string, unknown>;

/**
 * Makes the components that the data names by their ids those of the entry. Throws a `Refusal` if one that it names by nothing but its id
 * does not exist, or is that of another entry. Other writes may take them until `checkAhead` has asked again.
 * @param id of the entry; null if it is new.
 */
export const adoptLooseParts = async (write: Write, data: Open, id: number | null): Promise<void> => {
  const { request, context, session, dialect } = write;
  const { type } = request;
  const named = [...type.attributes.values()].flatMap((it) =>
    it.kind === 'part' ? namedIn(data, it, context.model) : [],
  );
  if (named.length === 0) return;
  const stored =
    id === null
      ? []
      : ((await readParts(type, [id], context.model, session.tx, dialect)).get(ownerKey(type.uid, id)) ?? []);
  const isOwn = (it: NamedPart): boolean => stored.some((part) => part.uid === it.type.uid && part.id === it.id);
  const loose = await looseOf(
    named.filter((it) => !isOwn(it)),
    write,
  );
  // a row has one place; a list that repeats it means it once
  const places = placesIn(data, type);
  const foreign: Issue[] = [];
  for (const it of named) {
    const { attribute, type: component, id: partId, isBare, put } = it;
    const key = ownerKey(component.uid, partId);
    // with more than its id it is a change of the entry's own, or a new one
    if (!isBare && !loose.has(key)) continue;
    const place = places.get(key) ?? attribute.name;
    places.set(key, place);
    const was = isOwn(it) ? 'own' : 'loose';
    if (place !== attribute.name || (was === 'loose' && !loose.has(key)))
      foreign.push(issue('body.component-foreign', [attribute.name], { id: partId }));
    put(new AheadPart({ uid: component.uid, id: partId, given: { id: partId, __component: component.uid }, was }));
  }
  if (foreign.length > 0) refuseAll(foreign);
};

/** The attributes under which components are that are known to be written ahead. */
const placesIn = (data: Open, { attributes }: EntryType): Map<OwnerKey, string> =>
  new Map(
    Object.entries(data).flatMap(([name, value]) =>
      attributes.get(name)?.kind !== 'part'
        ? []
        : [value].flat().flatMap((it) => (it instanceof AheadPart ? [[ownerKey(it.uid, it.id), name] as const] : [])),
    ),
  );

interface NamedPart {
  readonly attribute: PartAttribute;
  readonly type: EntryType;
  readonly id: number;
  /** Whether nothing but the id is given. */
  readonly isBare: boolean;
  /** Puts something else in its place in the data. */
  readonly put: (part: AheadPart) => void;
}

/** The elements of an attribute that are ids, or have one. */
const namedIn = (data: Open, attribute: PartAttribute, { types }: Model): readonly NamedPart[] => {
  const value = ownMember(data, attribute.name);
  const items: unknown[] = Array.isArray(value) ? [...(value as readonly unknown[])] : [value];
  return items.flatMap((item, place): readonly NamedPart[] => {
    const id = idOf(isObject(item) ? item['id'] : item);
    if (id === null || item instanceof AheadPart) return [];
    const uid = attribute.shape === 'zone' ? isObject(item) && item['__component'] : attribute.components[0];
    const type = typeof uid === 'string' ? types.get(uid) : undefined;
    if (!type) return [];
    const put = (part: AheadPart): void => {
      items[place] = part;
      data[attribute.name] = Array.isArray(value) ? items : part;
    };
    return [{ attribute, type, id, isBare: !isObject(item) || Object.keys(item).every((it) => idKeys.has(it)), put }];
  });
};

const idKeys: ReadonlySet<string> = new Set(['id', '__component', '__pivot']);

/** Those that exist and have no place in any entry or component. */
export const looseOf = async (
  named: readonly Pick<NamedPart, 'type' | 'id'>[],
  { context: { model }, dialect, session }: Write,
): Promise<ReadonlySet<OwnerKey>> => {
  const loose = new Set<OwnerKey>();
  for (const them of groupBy(named, (it) => it.type.uid)) {
    const { type } = them[0]!;
    const ids = them.map((it) => it.id);
    const [existing = [], ...owned] = await session.tx.runAll([
      existingStatement(type, ids, dialect),
      ...owningPaths(type, model).map((it) => withIds(ownedStatement(it, type, dialect), ids, dialect)),
    ]);
    for (const [id] of existing) loose.add(ownerKey(type.uid, Number(id)));
    for (const key of session.pendingParts) loose.delete(key);
    for (const [id] of owned.flat()) loose.delete(ownerKey(type.uid, Number(id)));
  }
  return loose;
};

const ownedStatement = ({ table, to, typeColumn }: LinkPath, { uid }: EntryType, dialect: Dialect): Statement =>
  dialect.compile(
    sql`select ${sql.ref(to)} from ${sql.table(table)} where ${sql.ref(typeColumn!)} = ${uid} and ${dialect.inIds(sql.ref(to))}`,
  );
