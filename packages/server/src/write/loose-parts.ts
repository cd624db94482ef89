/** Components that code of a v4 project has made by themselves, and makes parts of an entry: rows without a place. */
import { sql } from 'kysely';
import { type Issue, issue, refuseAll } from '../errors.js';
import type { EntryType, LinkPath, Model, PartAttribute } from '../model/model.js';
import { type Dialect, type Statement, withIds } from '../sql/dialect.js';
import { AheadPart } from './change.js';
import { idOf, isObject } from './ids.js';
import { groupBy, type OwnerKey, ownerKey } from './keys.js';
import { owningPaths, readContained, readParts } from './parts.js';
import { ownMember } from './places.js';
import type { Session } from './session.js';
import { existingStatement } from './snapshot.js';
import { takeLocks, type Write } from './writing.js';

type Open = Record<string, unknown>;

/**
 * Makes the components that the data names by nothing but their ids those of the entry. Throws a `Refusal` if one does not exist, or
 * is that of another entry.
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
  // two writes at once may name the same
  await takeLocks(
    named.map((it) => `loose ${it.type.table}`),
    write,
  );
  const isOwn = (it: NamedPart): boolean => stored.some((part) => part.uid === it.type.uid && part.id === it.id);
  const loose = await looseOf(
    named.filter((it) => !isOwn(it)),
    write,
  );
  // a row has one place; a list that repeats it means it once
  const places = placesIn(data, type);
  const foreign: Issue[] = [];
  for (const it of named) {
    const { attribute, type: component, id: partId, put } = it;
    const key = ownerKey(component.uid, partId);
    const place = places.get(key) ?? attribute.name;
    places.set(key, place);
    const was = isOwn(it) ? 'own' : 'loose';
    if (place !== attribute.name || (was === 'loose' && !loose.has(key)))
      foreign.push(issue('body.component-foreign', [attribute.name], { id: partId }));
    put(new AheadPart({ uid: component.uid, id: partId, given: { id: partId, __component: component.uid }, was }));
  }
  if (foreign.length > 0) refuseAll(foreign);
  const { parts } = write.byHooks.ahead;
  const nested = await readContained(
    named.filter((it) => !isOwn(it)),
    context.model,
    session.tx,
    dialect,
  );
  write.byHooks.ahead = { ...write.byHooks.ahead, parts: new Map([...parts, ...nested]) };
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
  /** Puts something else in its place in the data. */
  readonly put: (part: AheadPart) => void;
}

/** The elements of an attribute that are ids and nothing else. */
const namedIn = (data: Open, attribute: PartAttribute, { types }: Model): readonly NamedPart[] => {
  const value = ownMember(data, attribute.name);
  const items: unknown[] = Array.isArray(value) ? [...(value as readonly unknown[])] : [value];
  return items.flatMap((item, place): readonly NamedPart[] => {
    const id = idOf(isObject(item) ? item['id'] : item);
    if (id === null || item instanceof AheadPart || (isObject(item) && Object.keys(item).some((it) => !idKeys.has(it))))
      return [];
    const uid = attribute.shape === 'zone' ? isObject(item) && item['__component'] : attribute.components[0];
    const type = typeof uid === 'string' ? types.get(uid) : undefined;
    if (!type) return [];
    const put = (part: AheadPart): void => {
      items[place] = part;
      data[attribute.name] = Array.isArray(value) ? items : part;
    };
    return [{ attribute, type, id, put }];
  });
};

const idKeys: ReadonlySet<string> = new Set(['id', '__component', '__pivot']);

/** Components that writes of a session have written ahead, and will give a place to. */
export const pendingParts = new WeakMap<Session, Set<OwnerKey>>();

/** Those that exist and have no place in any entry or component. */
const looseOf = async (
  named: readonly NamedPart[],
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
    for (const key of pendingParts.get(session) ?? []) loose.delete(key);
    for (const [id] of owned.flat()) loose.delete(ownerKey(type.uid, Number(id)));
  }
  return loose;
};

const ownedStatement = ({ table, to, typeColumn }: LinkPath, { uid }: EntryType, dialect: Dialect): Statement =>
  dialect.compile(
    sql`select ${sql.ref(to)} from ${sql.table(table)} where ${sql.ref(typeColumn!)} = ${uid} and ${dialect.inIds(sql.ref(to))}`,
  );
