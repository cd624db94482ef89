/** Compares a model with a database: what was renamed, what is stored differently, what is left over, and the steps that follow. */
import { never, orNearest } from '../errors.js';
import {
  isEnumerated,
  isScalarTypeName,
  isUniqueInDatabase,
  type ScalarTypeName,
  scalarTypes,
} from '../model/attributes.js';
import {
  type Attribute,
  type EntryType,
  type LinkAttribute,
  type Model,
  type PartAttribute,
  type ScalarAttribute,
  targetsOf,
  typeOf,
  type Uid,
} from '../model/model.js';
import type { AttributeRename, Renames, TypeRename } from '../model/renames.js';
import { columnName, tablesOf, uniqueIndexName } from '../model/storage.js';
import { typeOfKind } from '../model/stored.js';
import { type Db, type Dialect, readInside } from '../sql/dialect.js';
import { diffTables, type TableDiff } from '../sql/schema.js';
import { type Asked, type AskedTypeRename, readAttribute, readRename, readTypeRename } from './asked.js';
import { type Candidate, findCandidates } from './candidates.js';
import type { Change, ConvertChange, Step } from './changes.js';
import { MigrationFault } from './faults.js';
import { componentTables, findLeftOvers, type LeftOver, labelOf } from './leftovers.js';
import { isUntold, type Memory, readMemory } from './memory.js';
import { findMoved } from './moved.js';
import { stepsOfRenames } from './renames.js';
import { columnNeed, tableNeed } from './state.js';
import {
  type ColumnConversion,
  countRepeated,
  countRows,
  countSurplus,
  type Survey,
  surveying,
  surveyValues,
} from './survey.js';

/** A model that can be asked for its former names. */
export interface Versions {
  readonly model: Model;
  readonly before: (renames: Renames) => Model;
}

export interface Comparison {
  /** What is to be done, as people read it. */
  readonly changes: readonly Change[];
  readonly steps: readonly Step[];
  /** What the steps expect of the database. */
  readonly needs: readonly string[];
  /** Changes that lose values, and that nobody has asked for. */
  readonly undecided: readonly Change[];
  /** Columns of another type that serve their attribute all the same, such as those changed by hand. */
  readonly tolerated: readonly ConvertChange[];
  readonly candidates: readonly Candidate[];
  readonly left: readonly LeftOver[];
  /** What the next start adds by itself. */
  readonly added: { readonly tables: readonly string[]; readonly columns: readonly string[] };
}

interface Work {
  readonly survey: Survey;
  readonly db: Db;
  readonly memory: Memory;
  readonly model: Model;
  /** The model under the names that the database has. */
  readonly former: Model;
  readonly renames: Renames;
  readonly asked: Asked;
}

export const compare = (db: Db, versions: Versions, asked: Asked): Promise<Comparison> =>
  surveying(db, async (survey) => {
    const { model } = versions;
    const memory = await memoryIn(survey);
    const renames = await readRenames(survey, memory, model, asked);
    const former = versions.before(renames);
    const work: Work = { survey, db, memory, model, former, renames, asked };
    requireStored(work);

    const diff = withoutNewNames(diffTables(tablesOf(former), survey.catalog, db), model, db.dialect);
    const names = newNames(work);
    const moved = await findMoved({ survey, former, types: typePairs(work) });
    const isMoved = (it: LeftOver): boolean =>
      it.kind === 'attribute' &&
      moved.some(({ table }) => it.drop.some((step) => step.do === 'drop table' && step.table === table));
    const found = (await findLeftOvers(survey, former, memory, diff)).filter((it) => !isMoved(it));
    const candidates = await findCandidates({ survey, model: former, memory, left: found });
    const left = found.map((it) => (it.kind === 'attribute' ? { ...it, type: names.uid(it.type) } : it));
    const dropped = findDropped(work, left, names);
    const converted = await findConversions(work);
    const doubtful = [
      ...converted.filter((it) => !it.isTolerated),
      ...(await findUniques(work)),
      ...(await findNarrowed(work, names)),
    ];
    const isAsked = askedFor(asked, model);
    const [decided, undecided] = parted(doubtful, (it) => !isLossy(it.change) || isAsked(it.change));
    const [wanted, tolerated] = parted(
      converted.filter((it) => it.isTolerated),
      (it) => isAsked(it.change),
    );
    const done = [...moved, ...decided, ...wanted, ...dropped];
    return {
      changes: [...changesOf(renames, model, former), ...done.map((it) => it.change)],
      steps: [...stepsOfRenames({ renames, former, model }), ...done.flatMap((it) => it.steps)],
      needs: [...new Set([...needsOf(work), ...done.flatMap((it) => it.needs)])],
      undecided: undecided.map((it) => it.change),
      tolerated: tolerated.map((it) => it.change as ConvertChange),
      candidates: candidates.map((it) => (it.kind === 'attribute' ? { ...it, type: names.uid(it.type) } : it)),
      left: left.filter((it) => !dropped.some((other) => other.left === it)),
      added: {
        tables: diff.missingTables.map((it) => it.name),
        columns: diff.missingColumns.map((it) => `${it.table}.${it.column.name}`),
      },
    };
  });

/** A change with its steps, and what these expect. */
interface Planned {
  readonly change: Change;
  readonly steps: readonly Step[];
  readonly needs: readonly string[];
}

const parted = <T>(all: readonly T[], isFirst: (it: T) => boolean): readonly [readonly T[], readonly T[]] => [
  all.filter(isFirst),
  all.filter((it) => !isFirst(it)),
];

export const isLossy = (change: Change): boolean =>
  (change.change === 'convert attribute' && change.lost + change.altered > 0) ||
  (change.change === 'require unique values' && change.repeated > 0) ||
  change.change === 'keep the first';

const memoryIn = async (survey: Survey): Promise<Memory> =>
  survey.hasTable('strapi_core_store_settings')
    ? readInside(readMemory(survey.dialect), { runAll: (all) => Promise.all(all.map(survey.ask)) })
    : {};

// ---- renames

const readRenames = async (survey: Survey, memory: Memory, model: Model, asked: Asked): Promise<Renames> => {
  const types: TypeRename[] = [];
  for (const text of asked.renameType) {
    types.push(await formerType(readTypeRename(text, model), { survey, memory, model }));
  }
  for (const { uid, table, singular } of model.types.values()) {
    const was = memory[uid]?.table ?? table;
    const isMoved = was !== table && survey.hasTable(was) && ![...model.types.values()].some((it) => it.table === was);
    const isFree = !survey.hasTable(table) || (isMoved && (await countRows(survey, table)) === 0);
    if (isMoved && isFree && !types.some((it) => it.to === uid))
      types.push({ from: uid, to: uid, table: was, singular });
  }
  const attributes: AttributeRename[] = asked.rename.map((text) => readRename(text, model, types));
  requireDistinct(types, attributes, model);
  return { types, attributes };
};

/**
 * What a renamed type was stored as: what somebody says, what is remembered, or the only table without a type that is named
 * like it or has its columns.
 */
const formerType = async (
  { from, to, table: given }: AskedTypeRename,
  { survey, memory, model }: Pick<Work, 'survey' | 'memory' | 'model'>,
): Promise<TypeRename> => {
  const known = memory[from];
  const singular = known?.singular ?? /[^.]*$/.exec(from)![0];
  const named = given ?? known?.table;
  if (named !== undefined) return { from, to, table: named, singular };
  const layout = tablesOf(model);
  const { table } = model.types.get(to)!;
  // the table has kept its name, and no model has served it under the new uid
  if (!memory[to] && survey.hasTable(table) && (await countRows(survey, table)) > 0)
    return { from, to, table, singular };
  const columns = layout.find((it) => it.name === table)!.columns.map((it) => it.name);
  const free = [...survey.catalog.tables].filter(([name]) => !layout.some((it) => it.name === name));
  const start = columnName(from.startsWith('api::') ? singular : `components_${from}`);
  const likeName = free.filter(([name]) => name.startsWith(start) && !/_(links|morphs|components)$/.test(name));
  const likeColumns = free.filter(([, found]) => columns.filter((it) => found.has(it)).length * 2 > columns.length);
  const [alike = likeColumns] = [likeName, likeColumns].filter((it) => it.length === 1);
  if (alike.length === 1) return { from, to, table: alike[0]![0], singular };
  const others = alike.length === 0 ? '' : `, which could be ${alike.map(([name]) => name).join(', ')}`;
  throw new MigrationFault(
    `--rename-type ${from}=${to}: the database does not remember ${from}${orNearest(from, Object.keys(memory))}. If the name is right, say its table too${others}: --rename-type ${from}@TABLE=${to}`,
  );
};

const requireDistinct = (types: readonly TypeRename[], attributes: readonly AttributeRename[], model: Model): void => {
  const twice = (names: readonly string[]): string | undefined => names.find((it, i) => names.indexOf(it) !== i);
  const double =
    twice(types.map((it) => it.from)) ??
    twice(types.map((it) => it.to)) ??
    twice(attributes.map((it) => `${it.type}.${it.from}`)) ??
    twice(attributes.map((it) => `${it.type}.${it.to}`));
  if (double !== undefined) throw new MigrationFault(`${double} is renamed twice.`);
  for (const { type, from, to } of attributes) {
    const isFree =
      !model.types.get(type)!.attributes.has(from) || attributes.some((it) => it.type === type && it.to === from);
    if (!isFree)
      throw new MigrationFault(`--rename ${type}.${from}=${to}: the schema file still has an attribute "${from}".`);
  }
};

/** The database must have what is renamed. */
const requireStored = ({ survey, former, model, renames }: Work): void => {
  for (const { from, to, table } of renames.types)
    if (!survey.hasTable(table)) throw new MigrationFault(`${from} cannot become ${to}: there is no table ${table}.`);
  for (const { type, from, to } of renames.attributes) {
    const formerType = former.types.get(renames.types.find((it) => it.to === type)?.from ?? type)!;
    const attribute = formerType.attributes.get(from)!;
    const isThere =
      attribute.kind === 'scalar'
        ? survey.declared(formerType.table, attribute.column) !== undefined
        : attribute.path.from === 'id'
          ? survey.declared(formerType.table, attribute.path.to) !== undefined
          : survey.hasTable(attribute.path.table);
    if (isThere) continue;
    const columns = [...(survey.catalog.tables.get(formerType.table)?.keys() ?? [])];
    const place = attribute.kind === 'scalar' ? `${formerType.table}.${attribute.column}` : attribute.path.table;
    throw new MigrationFault(
      `${type}.${from} cannot become ${to}: the database has no ${place}${attribute.kind === 'scalar' ? orNearest(attribute.column, columns) : ''}. It was ${isDone(model, survey, type, to) ? 'renamed before, or ' : ''}never stored under this name.`,
    );
  }
};

const isDone = (model: Model, survey: Survey, uid: Uid, name: string): boolean => {
  const type = model.types.get(uid)!;
  const attribute = type.attributes.get(name);
  return attribute?.kind === 'scalar' && survey.declared(type.table, attribute.column) !== undefined;
};

const changesOf = ({ types, attributes }: Renames, model: Model, former: Model): readonly Change[] => [
  ...types.flatMap(({ from, to }): Change[] => {
    const [before, after] = [former.types.get(from)!.table, model.types.get(to)!.table];
    return [
      ...(from === to ? [] : [{ change: 'rename type', from, to } as const]),
      ...(before === after ? [] : [{ change: 'rename table', type: to, from: before, to: after } as const]),
    ];
  }),
  ...attributes.map((it): Change => ({ change: 'rename attribute', ...it })),
];

const needsOf = ({ survey, former, renames }: Work): readonly string[] => [
  ...renames.types.map((it) => tableNeed(it.table)),
  ...renames.attributes.flatMap(({ type, from }) => {
    const formerType = former.types.get(renames.types.find((it) => it.to === type)?.from ?? type)!;
    const attribute = formerType.attributes.get(from)!;
    if (attribute.kind === 'scalar') return [columnNeed(survey, formerType.table, attribute.column)];
    return attribute.path.from === 'id'
      ? [columnNeed(survey, formerType.table, attribute.path.to)]
      : [tableNeed(attribute.path.table)];
  }),
];

/** Tables and columns that an earlier start has added under the new names are neither missing nor left over. */
const withoutNewNames = (diff: TableDiff, model: Model, { schema }: Dialect): TableDiff => {
  const { storedName } = schema;
  const layout = new Map(
    tablesOf(model).map((it) => [storedName(it.name), new Set(it.columns.map(({ name }) => storedName(name)))]),
  );
  return {
    ...diff,
    surplusTables: diff.surplusTables.filter((it) => !layout.has(it)),
    surplusColumns: diff.surplusColumns.filter((it) => !layout.get(storedName(it.table))?.has(it.column)),
  };
};

// ---- conversions

interface PlannedConversion extends Planned {
  readonly change: ConvertChange;
  /** Whether the attribute is served as declared without it. */
  readonly isTolerated: boolean;
}

const typePairs = ({ former, model }: Work): readonly (readonly [EntryType, EntryType])[] => {
  const types = [...model.types.values()];
  return [...former.types.values()].map((it, i) => [it, types[i]!]);
};

const findConversions = async (work: Work): Promise<readonly PlannedConversion[]> => {
  const found: PlannedConversion[] = [];
  for (const [formerType, type] of typePairs(work)) {
    if (type.uid.startsWith('admin::')) continue;
    const attributes = [...type.attributes.values()];
    for (const [i, before] of [...formerType.attributes.values()].entries()) {
      const attribute = attributes[i]!;
      if (before.kind !== 'scalar' || attribute.kind !== 'scalar') continue;
      const conversion = await findConversion(work, [formerType, type], [before, attribute]);
      if (conversion) found.push(conversion);
    }
  }
  return found;
};

const findConversion = async (
  { survey, memory }: Work,
  [formerType, type]: readonly [EntryType, EntryType],
  [before, attribute]: readonly [ScalarAttribute, ScalarAttribute],
): Promise<PlannedConversion | null> => {
  const { schema, columnTypes } = survey.dialect;
  const declared = survey.declared(formerType.table, before.column);
  if (declared === undefined) return null;
  const stored = schema.kindOf(declared);
  const wanted = scalarTypes[attribute.type].column;
  const isSameKind = stored !== null && columnTypes[stored.kind] === columnTypes[wanted];
  const holds = schema.holds(declared, wanted);
  const members = isEnumerated(attribute.type) ? attribute.rules.values : [];
  const was = memory[formerType.uid]?.attributes[before.name] ?? attribute.type;
  const isRetyped = isUntold(was, attribute.type) && !isUniqueInDatabase(was as ScalarTypeName);
  if (holds && isSameKind && members.length === 0 && !isRetyped) return null;
  const from = isRetyped ? (was as ScalarTypeName) : stored && typeOfKind(stored.kind);
  const areTexts = [stored?.kind, wanted].every((it) => it === 'string' || it === 'text');
  if (holds && areTexts && members.length === 0 && !isRetyped) return null;

  const conversion: ColumnConversion = {
    table: formerType.table,
    column: before.column,
    from,
    to: attribute.type,
    enum: members,
  };
  const losses = await surveyValues(survey, conversion);
  if (holds && losses.lost + losses.altered === 0) return null;
  const { lost, altered } = losses;
  return {
    change: {
      change: 'convert attribute',
      type: type.uid,
      attribute: attribute.name,
      from: holds ? (from ?? declared) : declared,
      to: attribute.type,
      ...losses,
    },
    steps: [
      {
        do: 'convert column',
        ...conversion,
        table: type.table,
        column: attribute.column,
        losesAtMost: lost + altered,
      },
    ],
    needs: [columnNeed(survey, formerType.table, before.column)],
    // a column that was changed by hand, or a longer text than declared: served as declared
    isTolerated:
      !holds && (stored?.kind === wanted || (wanted === 'string' && stored?.kind === 'text')) && members.length === 0,
  };
};

/** Attributes that became a `uid`, whose values a database keeps apart, or are one no longer. */
const findUniques = async (work: Work): Promise<readonly Planned[]> => {
  const { survey, memory } = work;
  const found: Planned[] = [];
  for (const [formerType, type] of typePairs(work)) {
    if (type.origin !== 'project') continue;
    const attributes = [...type.attributes.values()];
    for (const [i, before] of [...formerType.attributes.values()].entries()) {
      const attribute = attributes[i]!;
      if (before.kind !== 'scalar' || attribute.kind !== 'scalar') continue;
      const { table } = formerType;
      if (survey.declared(table, before.column) === undefined) continue;
      const isUnique = survey.catalog.indexes.has(
        survey.dialect.schema.storedName(uniqueIndexName(table, before.column)),
      );
      const isWanted = isUniqueInDatabase(attribute.type);
      const was = memory[formerType.uid]?.attributes[before.name];
      // another program may have an index for reasons of its own
      const isOurs = was !== undefined && isScalarTypeName(was) && isUniqueInDatabase(was);
      if (isUnique === isWanted || (isUnique && !isOurs)) continue;
      const name = uniqueIndexName(type.table, attribute.column);
      found.push({
        change: {
          change: isWanted ? 'require unique values' : 'allow repeated values',
          type: type.uid,
          attribute: attribute.name,
          to: attribute.type,
          repeated: isWanted ? await countRepeated(survey, table, before.column) : 0,
        },
        steps: [
          isWanted
            ? { do: 'add unique index', table: type.table, name, column: attribute.column }
            : { do: 'drop unique index', table: type.table, name },
        ],
        needs: [columnNeed(survey, table, before.column)],
      });
    }
  }
  return found;
};

// ---- relations, components and media of which one is left

const findNarrowed = async (work: Work, names: NewNames): Promise<readonly Planned[]> => {
  const { survey } = work;
  const components = withNewNames(componentTables(work.former, work.memory, survey), names);
  const found: Planned[] = [];
  for (const [formerType, type] of typePairs(work)) {
    if (type.origin !== 'project') continue;
    const attributes = [...type.attributes.values()];
    for (const [i, before] of [...formerType.attributes.values()].entries()) {
      const attribute = attributes[i]!;
      if (!isSingle(before) || !isSingle(attribute) || !survey.hasTable(before.path.table)) continue;
      const { table, from: by } = before.path;
      const shown = shownBy(before, work.former);
      // after a type got another name, its columns may be missing
      if (!survey.hasTable(shown.target) || survey.declared(table, by) === undefined) continue;
      if (survey.declared(table, shown.to) === undefined) continue;
      const lost = await countSurplus(survey, { table, by, ...shown });
      if (lost === 0) continue;
      const { path } = attribute;
      found.push({
        change: { change: 'keep the first', type: type.uid, attribute: attribute.name, lost },
        steps: [
          {
            do: 'keep the first',
            table: path.table,
            by: path.from,
            order: orderOf(before, attribute, survey),
            ...shownBy(attribute, work.model),
            components: attribute.kind === 'part' ? components : null,
            losesAtMost: lost,
          },
        ],
        needs: [tableNeed(table)],
      });
    }
  }
  return found;
};

/** The rows that an attribute shows: those that lead nowhere are passed over. */
const shownBy = (attribute: LinkAttribute | PartAttribute, model: Model) => {
  const [uid] = targetsOf(model, attribute);
  const { fixed, to, typeColumn } = attribute.path;
  const where = typeColumn === null ? fixed : [...fixed, { column: typeColumn, value: uid! }];
  return { where, to, target: typeOf(model, uid!).table };
};

/** Attributes of one entry whose links are rows of a table, which may hold more. */
const isSingle = (attribute: Attribute): attribute is LinkAttribute | PartAttribute =>
  (attribute.kind === 'link' || attribute.kind === 'part') &&
  attribute.shape === 'one' &&
  attribute.path.from !== 'id' &&
  attribute.path.to !== 'id';

/** The order of the list that they were: a to-many relation that became a to-one still has its column of order. */
const orderOf = (
  { path }: LinkAttribute | PartAttribute,
  attribute: LinkAttribute | PartAttribute,
  survey: Survey,
): readonly string[] => {
  const own = path.rank ?? path.to.replace(/^inv_/, '').replace(/_id$/, '_order');
  const isOther = attribute.kind === 'link' && attribute.inverseRank === own;
  return !isOther && survey.declared(path.table, own) !== undefined
    ? [attribute.path.rank ?? own, attribute.path.to]
    : [attribute.path.to];
};

// ---- what somebody asked for

const askedFor = ({ convert }: Asked, model: Model): ((change: Change) => boolean) => {
  const asked = convert.map((it) => ({ text: it, ...readAttribute(it, model, '--convert') }));
  for (const { text, type, attribute } of asked) {
    const known = [...model.types.get(type)!.attributes.keys()];
    if (!known.includes(attribute))
      throw new MigrationFault(
        `--convert ${text}: ${type} has no attribute "${attribute}"${orNearest(attribute, known)}`,
      );
  }
  return (change) =>
    (change.change === 'convert attribute' || change.change === 'keep the first') &&
    asked.some((it) => it.type === change.type && it.attribute === change.attribute);
};

interface Dropped extends Planned {
  readonly left: LeftOver;
}

const findDropped = (
  { survey, asked, model }: Work,
  left: readonly LeftOver[],
  names: NewNames,
): readonly Dropped[] => {
  const find = (text: string, option: string, isIt: (it: LeftOver) => boolean): readonly LeftOver[] => {
    const found = left.filter(isIt);
    if (found.length > 0) return found;
    throw new MigrationFault(
      `${option} ${text}: nothing of this name is left over${orNearest(text, left.map(labelOf))}. What schema files still have is not dropped.`,
    );
  };
  const found = [
    ...asked.drop.flatMap((text) => {
      if (left.some((it) => it.kind === 'type' && it.uid === text))
        return find(text, '--drop', (it) => it.kind === 'type' && it.uid === text);
      const { type, attribute } = readAttribute(text, model, '--drop');
      return find(
        `${type}.${attribute}`,
        '--drop',
        (it) => it.kind === 'attribute' && it.type === type && it.attribute === attribute,
      );
    }),
    ...asked.dropTable.flatMap((text) => find(text, '--drop-table', (it) => it.kind === 'table' && it.table === text)),
  ];
  return [...new Set(found)].flatMap((it): Dropped[] => {
    const change = droppingOf(it);
    if (change === null || it.kind === 'column') return [];
    return [
      {
        left: it,
        change,
        steps: it.drop.map((step) => stepWithNewNames(step, names)),
        needs: needsOfDrop(it.drop, survey),
      },
    ];
  });
};

const droppingOf = (it: LeftOver): Change | null => {
  switch (it.kind) {
    case 'attribute':
      return { change: 'drop attribute', type: it.type, attribute: it.attribute, values: it.values };
    case 'type':
      return { change: 'drop type', type: it.uid, entries: it.entries };
    case 'table':
      return { change: 'drop table', table: it.table, rows: it.rows };
    case 'column':
      return null;
    default:
      return never(it);
  }
};

const needsOfDrop = (steps: readonly Step[], survey: Survey): readonly string[] =>
  steps.flatMap((it) => {
    if (it.do === 'drop column') return [columnNeed(survey, it.table, it.column)];
    return it.do === 'drop table' || it.do === 'delete rows' ? [tableNeed(it.table)] : [];
  });

// ---- after the renames

/** What the database will call what it has: removals come after renames. */
interface NewNames {
  uid(uid: Uid): Uid;
  table(table: string): string;
}

const newNames = ({ former, model, renames }: Work): NewNames => {
  const present = tablesOf(model);
  const tables = new Map(tablesOf(former).map((it, i) => [it.name, present[i]?.name ?? it.name]));
  return {
    uid: (uid) => renames.types.find((it) => it.from === uid)?.to ?? uid,
    table: (table) => tables.get(table) ?? table,
  };
};

const withNewNames = (
  components: Readonly<Record<Uid, string>>,
  { uid, table }: NewNames,
): Readonly<Record<Uid, string>> =>
  Object.fromEntries(Object.entries(components).map(([key, name]) => [uid(key), table(name)]));

const stepWithNewNames = (step: Step, names: NewNames): Step => {
  if (step.do === 'drop column' || step.do === 'drop table') return { ...step, table: names.table(step.table) };
  if (step.do !== 'delete rows') return step;
  return {
    ...step,
    table: names.table(step.table),
    where: step.where.map((it) => ({ ...it, value: names.uid(it.value) })),
    components: step.components && withNewNames(step.components, names),
  };
};
