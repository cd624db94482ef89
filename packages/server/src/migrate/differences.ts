/** Attributes that the database stores differently than the model declares: other types, uniqueness, several where one is declared. */
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
} from '../model/model.js';
import { uniqueIndexName } from '../model/storage.js';
import { typeOfKind } from '../model/stored.js';
import type { ConvertChange } from './changes.js';
import { componentTables } from './leftovers.js';
import { isUntold, valuesWere } from './memory.js';
import { type NewNames, type Planned, typePairs, type Work, withNewNames } from './names.js';
import { columnNeed, tableNeed } from './state.js';
import { type ColumnConversion, countRepeated, countSurplus, type Survey, surveyValues } from './survey.js';

export interface PlannedConversion extends Planned {
  readonly change: ConvertChange;
  /** Whether the attribute is served as declared without it. */
  readonly isTolerated: boolean;
}

export const findConversions = async (work: Work): Promise<readonly PlannedConversion[]> => {
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
  const was = valuesWere(memory, formerType.uid, { ...attribute, name: before.name }) ?? attribute.type;
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
export const findUniques = async (work: Work): Promise<readonly Planned[]> => {
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

export const findNarrowed = async (work: Work, names: NewNames): Promise<readonly Planned[]> => {
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
