/** Publishing a draft checks the stored values as well as those in the body (DR8). */
import { sql } from 'kysely';
import { type Issue, issue, never } from '../errors.js';
import type {
  EntryType,
  LinkAttribute,
  Model,
  MorphAttribute,
  PartAttribute,
  ScalarAttribute,
} from '../model/model.js';
import { type Dialect, type Sql, type Statement, type Tx, withIds } from '../sql/dialect.js';
import { type Change, namesOf, type PartChange } from './change.js';
import { type OwnerKey, ownerKey } from './keys.js';
import { readParts } from './parts.js';
import type { Snapshot } from './snapshot.js';

/** Attributes of an entry or component that the body gives, and so have been checked; of components that it names by id, only what it gives. */
export interface CheckedNames {
  readonly names: ReadonlySet<string>;
  readonly parts: readonly PartChange[];
}

export const checkedIn = (change: Change): CheckedNames => ({ names: namesOf(change), parts: change.parts });

/** Issues for values missing from an entry and its stored components. @param checked need no check. */
export const missingInStored = async (
  type: EntryType,
  id: number,
  checked: CheckedNames,
  model: Model,
  tx: Tx,
  dialect: Dialect,
): Promise<readonly Issue[]> => {
  const parts = await readParts(type, [id], model, tx, dialect);
  const stored = await readStored(ownersOf(type, id, parts, model), tx, dialect);
  const issues: Issue[] = [];
  inspect(type, id, [], checked, { parts, stored, seen: new Set([ownerKey(type.uid, id)]), model, issues });
  return issues;
};

// ---- reading: the number of statements depends on the types, not on the number of components

/** Values of the attributes that have rules, by owner and name; true for a link that has a target. */
type Stored = ReadonlyMap<OwnerKey, ReadonlyMap<string, unknown>>;

/** The ids of the entry and its stored components, by type. */
const ownersOf = (
  type: EntryType,
  id: number,
  parts: Snapshot['parts'],
  model: Model,
): ReadonlyMap<EntryType, ReadonlySet<number>> => {
  const owners = new Map<EntryType, Set<number>>([[type, new Set([id])]]);
  for (const part of [...parts.values()].flat()) {
    const component = model.types.get(part.uid);
    if (!component) continue;
    const ids = owners.get(component);
    if (ids) ids.add(part.id);
    else owners.set(component, new Set([part.id]));
  }
  return owners;
};

const readStored = async (
  owners: ReadonlyMap<EntryType, ReadonlySet<number>>,
  tx: Tx,
  dialect: Dialect,
): Promise<Stored> => {
  const questions = [...owners].flatMap(([type, ids]) =>
    questionsOf(type, dialect).map((it) => ({ ...it, type, statement: withIds(it.statement, [...ids], dialect) })),
  );
  const results = await tx.runAll(questions.map((it) => it.statement));
  const stored = new Map<OwnerKey, Map<string, unknown>>();
  questions.forEach(({ type, names }, i) => {
    for (const [id, ...values] of results[i] ?? []) {
      const key = ownerKey(type.uid, id as number);
      const known = stored.get(key) ?? new Map<string, unknown>();
      names.forEach((name, place) => {
        known.set(name, values[place]);
      });
      stored.set(key, known);
    }
  });
  return stored;
};

/** Its rows are an id and the values of the attributes. */
interface Question {
  readonly names: readonly string[];
  readonly statement: Statement;
}

const questionsOf = (type: EntryType, dialect: Dialect): readonly Question[] => {
  const attributes = [...type.attributes.values()];
  const scalars = attributes.filter((it): it is ScalarAttribute => it.kind === 'scalar' && hasRule(it));
  const links = attributes.filter(
    (it): it is LinkAttribute | MorphAttribute => (it.kind === 'link' || it.kind === 'morph') && it.required,
  );
  const columns = sql.join([sql.ref('id'), ...scalars.map((it) => sql.ref(it.column))]);
  const values = sql`select ${columns} from ${sql.table(type.table)} where ${dialect.inIds(sql`id`)}`;
  return [
    ...(scalars.length > 0 ? [{ names: scalars.map((it) => it.name), statement: dialect.compile(values) }] : []),
    ...links.map((it) => ({ names: [it.name], statement: dialect.compile(linkedQuery(it, dialect)) })),
  ];
};

const hasRule = ({ rules }: ScalarAttribute): boolean => rules.required || rules.minLength !== null;

/** The owners that have a target. */
const linkedQuery = ({ path: { table, from, to, fixed } }: LinkAttribute | MorphAttribute, dialect: Dialect): Sql => {
  const others = fixed.map((it) => sql` and ${sql.ref(it.column)} = ${it.value}`);
  return sql`select distinct ${sql.ref(from)}, 1 from ${sql.table(table)} where ${dialect.inIds(sql`${sql.ref(from)}`)} and ${sql.ref(to)} is not null${sql.join(others, sql``)}`;
};

// ---- inspecting

interface Inspection {
  readonly parts: Snapshot['parts'];
  readonly stored: Stored;
  /** Damaged rows may make a component contain itself. */
  readonly seen: Set<OwnerKey>;
  readonly model: Model;
  readonly issues: Issue[];
}

const inspect = (
  type: EntryType,
  id: number,
  path: readonly string[],
  { names, parts }: CheckedNames,
  inspection: Inspection,
): void => {
  const { stored, issues } = inspection;
  for (const it of parts) inspectNamed(it, inspection);
  const values = stored.get(ownerKey(type.uid, id));
  for (const attribute of type.attributes.values()) {
    if (names.has(attribute.name)) continue;
    const at = [...path, attribute.name];
    const value = values?.get(attribute.name) ?? null;
    switch (attribute.kind) {
      case 'scalar': {
        const { required, minLength } = attribute.rules;
        if (value === null && required) issues.push(issue('body.required', at));
        if (minLength !== null && typeof value === 'string' && value.length < minLength)
          issues.push(issue('body.min-length', at, { min: minLength }));
        break;
      }
      case 'link':
      case 'morph':
        if (value === null && attribute.required) issues.push(issue('body.required', at));
        break;
      case 'part':
        inspectPart(type, attribute, id, at, inspection);
        break;
      default:
        never(attribute);
    }
  }
};

const inspectPart = (
  type: EntryType,
  attribute: PartAttribute,
  id: number,
  path: readonly string[],
  inspection: Inspection,
): void => {
  const stored = (inspection.parts.get(ownerKey(type.uid, id)) ?? []).filter((it) => it.attribute === attribute.name);
  if (attribute.required && stored.length === 0) inspection.issues.push(issue('body.required', path));
  for (const [place, part] of stored.entries()) {
    const component = inspection.model.types.get(part.uid);
    const key = ownerKey(part.uid, part.id);
    if (!component || inspection.seen.has(key)) continue;
    inspection.seen.add(key);
    const at = attribute.shape === 'one' ? path : [...path, String(place)];
    inspect(component, part.id, at, nothing, inspection);
  }
};

const nothing: CheckedNames = { names: new Set(), parts: [] };

/** Components of the body that are merged into stored ones of the entry. Those that code has made by itself are not among them. */
const inspectNamed = ({ items }: PartChange, inspection: Inspection): void => {
  for (const { id, change, path, ahead } of items)
    if (id !== null && (ahead === null || ahead === 'own'))
      inspect(change.type, id, path, checkedIn(change), inspection);
};
