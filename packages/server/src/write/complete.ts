/** Publishing a draft checks the stored values as well as those in the body (DR8). */
import { sql } from 'kysely';
import { type Issue, issue, never } from '../errors.js';
import type { EntryType, LinkAttribute, Model, PartAttribute, ScalarAttribute } from '../model/model.js';
import type { Dialect, Sql, Tx } from '../sql/dialect.js';
import { type OwnerKey, ownerKey, readParts, type Snapshot } from './snapshot.js';

/** Issues for values missing from an entry and its stored components. @param checked names of attributes that need no check. */
export const missingInStored = async (
  type: EntryType,
  id: number,
  checked: ReadonlySet<string>,
  model: Model,
  tx: Tx,
  dialect: Dialect,
): Promise<readonly Issue[]> => {
  const issues: Issue[] = [];
  const parts = await readParts(type, [id], model, tx, dialect);
  const seen = new Set<OwnerKey>([ownerKey(type.uid, id)]);
  await inspect(type, id, [], checked, { parts, seen, model, tx, dialect, issues });
  return issues;
};

interface Inspection {
  readonly parts: Snapshot['parts'];
  /** Damaged rows may make a component contain itself. */
  readonly seen: Set<OwnerKey>;
  readonly model: Model;
  readonly tx: Tx;
  readonly dialect: Dialect;
  readonly issues: Issue[];
}

const inspect = async (
  type: EntryType,
  id: number,
  path: readonly string[],
  given: ReadonlySet<string>,
  inspection: Inspection,
): Promise<void> => {
  for (const attribute of type.attributes.values()) {
    if (given.has(attribute.name)) continue;
    const at = [...path, attribute.name];
    switch (attribute.kind) {
      case 'scalar':
        await inspectScalar(type, attribute, id, at, inspection);
        break;
      case 'link':
        if (attribute.required) await inspectLink(attribute, id, at, inspection);
        break;
      case 'part':
        await inspectPart(type, attribute, id, at, inspection);
        break;
      default:
        never(attribute);
    }
  }
};

const inspectScalar = async (
  type: EntryType,
  { column, rules }: ScalarAttribute,
  id: number,
  path: readonly string[],
  inspection: Inspection,
): Promise<void> => {
  if (!rules.required && rules.minLength === null) return;
  const value = await firstValue(
    sql`select ${sql.ref(column)} from ${sql.table(type.table)} where id = ${inspection.dialect.bind('id', id)}`,
    inspection,
  );
  if (value === null || value === undefined) {
    if (rules.required) inspection.issues.push(issue('body.required', path));
  } else if (rules.minLength !== null && typeof value === 'string' && value.length < rules.minLength) {
    inspection.issues.push(issue('body.min-length', path, { min: rules.minLength }));
  }
};

const inspectLink = async (
  { path: { table, from, to, fixed } }: LinkAttribute,
  id: number,
  path: readonly string[],
  inspection: Inspection,
): Promise<void> => {
  const others = fixed.map((it) => sql` and ${sql.ref(it.column)} = ${it.value}`);
  const query = sql`select ${sql.ref(to)} from ${sql.table(table)} where ${sql.ref(from)} = ${inspection.dialect.bind('id', id)} and ${sql.ref(to)} is not null${sql.join(others, sql``)} limit 1`;
  if ((await firstValue(query, inspection)) === undefined) inspection.issues.push(issue('body.required', path));
};

const inspectPart = async (
  type: EntryType,
  attribute: PartAttribute,
  id: number,
  path: readonly string[],
  inspection: Inspection,
): Promise<void> => {
  const stored = (inspection.parts.get(ownerKey(type.uid, id)) ?? []).filter((it) => it.attribute === attribute.name);
  if (attribute.required && stored.length === 0) inspection.issues.push(issue('body.required', path));
  for (const [place, part] of stored.entries()) {
    const component = inspection.model.types.get(part.uid);
    const key = ownerKey(part.uid, part.id);
    if (!component || inspection.seen.has(key)) continue;
    inspection.seen.add(key);
    const at = attribute.shape === 'one' ? path : [...path, String(place)];
    await inspect(component, part.id, at, new Set(), inspection);
  }
};

const firstValue = async (query: Sql, { tx, dialect }: Inspection): Promise<unknown> => {
  const [row] = await tx.run(dialect.compile(query));
  return row?.[0];
};
