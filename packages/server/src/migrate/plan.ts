/** Compares a model with a database: what was renamed, what is stored differently, what is left over, and the steps that follow. */
import { never, orNearest } from '../errors.js';
import type { Model, Uid } from '../model/model.js';
import type { AttributeRename, Renames, TypeRename } from '../model/renames.js';
import { columnName, tablesOf } from '../model/storage.js';
import { type Db, type Dialect, readInside } from '../sql/dialect.js';
import { diffTables, type TableDiff } from '../sql/schema.js';
import { type Asked, type AskedTypeRename, readAttribute, readRename, readTypeRename } from './asked.js';
import { type Candidate, findCandidates } from './candidates.js';
import type { Change, ConvertChange, Step } from './changes.js';
import { findConversions, findNarrowed, findUniques } from './differences.js';
import { MigrationFault } from './faults.js';
import { findLeftOvers, type LeftOver, labelOf } from './leftovers.js';
import { type Memory, readMemory, singularOf } from './memory.js';
import { findMoved, type Moved } from './moved.js';
import { type NewNames, newNames, type Planned, stepWithNewNames, typePairs, type Work } from './names.js';
import { stepsOfRenames } from './renames.js';
import { columnNeed, tableNeed } from './state.js';
import { countRows, type Survey, surveying } from './survey.js';

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

export const compare = (db: Db, versions: Versions, asked: Asked): Promise<Comparison> =>
  surveying(db, async (survey) => {
    const { model } = versions;
    const memory = await memoryIn(survey);
    const renames = await readRenames(survey, memory, model, asked);
    const former = versions.before(renames);
    const work: Work = { survey, db, memory, model, former, renames, asked };
    const moved = await findMoved({ survey, former, types: typePairs(work) });
    requireStored(work, moved);

    const diff = withoutNewNames(diffTables(tablesOf(former), survey.catalog, db), model, db.dialect);
    const names = newNames(work);
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
      needs: [...new Set([...needsOf(work, moved), ...done.flatMap((it) => it.needs)])],
      undecided: undecided.map((it) => it.change),
      tolerated: tolerated.map((it) => it.change as ConvertChange),
      candidates: candidates.map((it) => (it.kind === 'attribute' ? { ...it, type: names.uid(it.type) } : it)),
      left: left.filter((it) => !dropped.some((other) => other.left === it)),
      added: {
        tables: diff.missingTables.map((it) => it.name).filter((it) => !isMovedTo(it, moved)),
        columns: diff.missingColumns.map((it) => `${it.table}.${it.column.name}`),
      },
    };
  });

const parted = <T>(all: readonly T[], isFirst: (it: T) => boolean): readonly [readonly T[], readonly T[]] => [
  all.filter(isFirst),
  all.filter((it) => !isFirst(it)),
];

const isLossy = (change: Change): boolean =>
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
  const singular = known?.singular ?? singularOf(from);
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
const requireStored = ({ survey, former, model, renames }: Work, moved: readonly Moved[]): void => {
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
          : survey.hasTable(attribute.path.table) || isMovedTo(attribute.path.table, moved);
    if (isThere) continue;
    const columns = [...(survey.catalog.tables.get(formerType.table)?.keys() ?? [])];
    const place = attribute.kind === 'scalar' ? `${formerType.table}.${attribute.column}` : attribute.path.table;
    throw new MigrationFault(
      `${type}.${from} cannot become ${to}: the database has no ${place}${(attribute.kind === 'scalar' && orNearest(attribute.column, columns)) || '.'} It was ${isDone(model, survey, type, to) ? 'renamed before, or ' : ''}never stored under this name.`,
    );
  }
};

/** Links whose sides change places are in the table of the other side, which the move itself needs. */
const isMovedTo = (table: string, moved: readonly Moved[]): boolean => moved.some((it) => it.to === table);

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

const needsOf = ({ survey, former, renames }: Work, moved: readonly Moved[]): readonly string[] => [
  ...renames.types.map((it) => tableNeed(it.table)),
  ...renames.attributes.flatMap(({ type, from }) => {
    const formerType = former.types.get(renames.types.find((it) => it.to === type)?.from ?? type)!;
    const attribute = formerType.attributes.get(from)!;
    if (attribute.kind === 'scalar') return [columnNeed(survey, formerType.table, attribute.column)];
    if (attribute.path.from === 'id') return [columnNeed(survey, formerType.table, attribute.path.to)];
    return isMovedTo(attribute.path.table, moved) ? [] : [tableNeed(attribute.path.table)];
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
