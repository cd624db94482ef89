/** Components that code of a v4 project has made by themselves, and makes parts of an entry: rows without a place. */
import { sql } from 'kysely';
import { issue, refuseAll } from '../errors.js';
import type { EntryType, LinkPath, Model, PartAttribute } from '../model/model.js';
import { type Dialect, type Statement, withIds } from '../sql/dialect.js';
import { AheadPart } from './change.js';
import { idOf, isObjectOrList } from './ids.js';
import { groupBy, type OwnerKey, ownerKey } from './keys.js';
import { owningPaths, type PlacedPart, readParts } from './parts.js';
import { ownMember } from './places.js';
import { existingStatement } from './snapshot.js';
import type { Write } from './writing.js';

type Open = Record<string, unknown>;

const isObject = (value: unknown): value is Open => isObjectOrList(value) && !Array.isArray(value);

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
  const isOwn = (it: NamedPart): boolean =>
    stored.some((part) => part.uid === it.type.uid && part.id === it.id && part.attribute === it.attribute.name);
  const adopted = named.filter((it) => !isOwn(it));
  const loose = await looseOf(adopted, write);
  const foreign = adopted.filter((it) => !loose.has(ownerKey(it.type.uid, it.id)));
  if (foreign.length > 0)
    refuseAll(foreign.map((it) => issue('body.component-foreign', [it.attribute.name], { id: it.id })));
  const nested: [OwnerKey, readonly PlacedPart[]][] = [];
  for (const { type: component, id: partId, put } of adopted) {
    put(
      new AheadPart({
        uid: component.uid,
        id: partId,
        given: { id: partId, __component: component.uid },
        isNew: false,
      }),
    );
    nested.push(...(await readParts(component, [partId], context.model, session.tx, dialect)));
  }
  const { written, parts } = write.byHooks.ahead;
  write.byHooks.ahead = { written, parts: new Map([...parts, ...nested]) };
};

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
    for (const [id] of owned.flat()) loose.delete(ownerKey(type.uid, Number(id)));
  }
  return loose;
};

const ownedStatement = ({ table, to, typeColumn }: LinkPath, { uid }: EntryType, dialect: Dialect): Statement =>
  dialect.compile(
    sql`select ${sql.ref(to)} from ${sql.table(table)} where ${sql.ref(typeColumn!)} = ${uid} and ${dialect.inIds(sql.ref(to))}`,
  );
