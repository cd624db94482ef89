/**
 * The steps of renames. The model with its former names has the same types and attributes in the same order, so that what they
 * are stored as differs in names only, and each name of the one belongs to that in the same place of the other.
 */
import type { Attribute, EntryType, Model, PartAttribute, Uid } from '../model/model.js';
import type { Renames } from '../model/renames.js';
import { tablesOf } from '../model/storage.js';
import type { Index, Table } from '../sql/schema.js';
import { inOrder, type Step } from './changes.js';
import { MigrationFault } from './faults.js';

export interface Before {
  readonly renames: Renames;
  /** With the former names. */
  readonly former: Model;
  /** That of the schema files. */
  readonly model: Model;
}

type StepOf<K extends Step['do']> = Extract<Step, { do: K }>;

export const stepsOfRenames = (before: Before): readonly Step[] => {
  const tables = pairs(tablesOf(before.former), tablesOf(before.model));
  const types = pairs([...before.former.types.values()], [...before.model.types.values()]);
  return [
    ...inOrder(
      tables.map(
        ([from, to]): StepOf<'rename table'> => ({
          do: 'rename table',
          from: from.name,
          to: to.name,
          mergeBy: mergeColumn(from),
        }),
      ),
      () => '',
    ),
    ...inOrder(tables.flatMap(columnsOf), (it) => it.table),
    ...inOrder(tables.flatMap(indexesOf), () => ''),
    ...inOrder(tables.flatMap(foreignKeysOf), (it) => it.table),
    ...inOrder(
      types.map(([from, to]): StepOf<'rename uid'> => ({ do: 'rename uid', from: from.uid, to: to.uid })),
      () => '',
    ),
    ...inOrder(types.flatMap(fieldsOf), (it) => `${it.table} ${it.type}`),
    ...inOrder(types.flatMap(settingsOf(before)), (it) => it.type),
  ];
};

const pairs = <T>(former: readonly T[], present: readonly T[]): readonly (readonly [T, T])[] => {
  if (former.length !== present.length)
    throw new MigrationFault('Under their former names, two attributes would share a table: rename them one by one.');
  return former.map((it, i) => [it, present[i]!]);
};

/** Rows of links can be told apart by their owner; entries of two tables have the same ids. */
const mergeColumn = ({ foreignKeys }: Table): string | null =>
  foreignKeys.find((it) => it.onDelete === 'cascade')?.column ?? null;

type TablePair = readonly [Table, Table];

const columnsOf = ([from, to]: TablePair): readonly StepOf<'rename column'>[] =>
  pairs(from.columns, to.columns).map(([before, after]) => ({
    do: 'rename column',
    table: to.name,
    from: before.name,
    to: after.name,
  }));

/** Indexes that only the configuration names come and go by themselves. */
const isLasting = ({ name }: Index): boolean => !name.startsWith('dovetail_');

const indexesOf = ([from, to]: TablePair): readonly StepOf<'rename index'>[] =>
  pairs(from.indexes.filter(isLasting), to.indexes.filter(isLasting)).map(([before, after]) => ({
    do: 'rename index',
    table: to.name,
    from: before.name,
    to: after.name,
    columns: after.columns,
    descending: after.descending,
    unique: after.unique,
  }));

const foreignKeysOf = ([from, to]: TablePair): readonly StepOf<'rename foreign key'>[] =>
  pairs(from.foreignKeys, to.foreignKeys).map(([before, after]) => ({
    do: 'rename foreign key',
    table: to.name,
    from: before.name,
    to: after.name,
  }));

type TypePair = readonly [EntryType, EntryType];

/** Attributes whose name is a value in the rows of their links: components, zones, media, polymorphic relations. */
const fieldsOf = ([former, type]: TypePair): readonly StepOf<'rename field'>[] =>
  pairs([...former.attributes.values()], [...type.attributes.values()]).flatMap(([before, after]) => {
    if (after.kind !== 'part' && after.kind !== 'link') return [];
    const { table, from: entry, fixed } = after.path;
    if (!fixed.some((it) => it.column === 'field')) return [];
    const typed = fixed.find((it) => it.column !== 'field');
    return [
      {
        do: 'rename field',
        table,
        entry,
        type: typed?.value ?? null,
        typeColumn: typed?.column ?? null,
        from: before.name,
        to: after.name,
      },
    ];
  });

/** Attributes by their path, as permissions and settings of the administration name them: `seo.metaTitle`. */
const settingsOf =
  ({ renames, former, model }: Before) =>
  ([formerType, type]: TypePair): readonly StepOf<'rename in settings'>[] => {
    const steps: StepOf<'rename in settings'>[] = [];
    const visit = (before: EntryType, after: EntryType, path: string, seen: readonly Uid[]): void => {
      for (const [old, attribute] of pairs([...before.attributes.values()], [...after.attributes.values()])) {
        const [from, to] = [`${path}${old.name}`, `${path}${attribute.name}`];
        if (old.name !== attribute.name) steps.push({ do: 'rename in settings', type: type.uid, from, to });
        if (!isComponent(attribute) || !isComponent(old)) continue;
        const [uid, oldUid] = [attribute.components[0]!, old.components[0]!];
        // what is above has its new name already when the steps for what is below run
        if (!seen.includes(uid))
          visit(former.types.get(oldUid)!, model.types.get(uid)!, `${path}${attribute.name}.`, [...seen, uid]);
      }
    };
    if (renames.attributes.length > 0) visit(formerType, type, '', [type.uid]);
    return steps;
  };

/** Components of zones have no paths of their own. */
const isComponent = (attribute: Attribute): attribute is PartAttribute =>
  attribute.kind === 'part' && attribute.shape !== 'zone';
