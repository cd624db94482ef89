/** Guesses what was renamed: what is gone but still holds values, and what is new and holds none. */
import { distance } from 'fastest-levenshtein';
import { never } from '../errors.js';
import { type ScalarTypeName, scalarTypes } from '../model/attributes.js';
import type { Attribute, EntryType, Model, Uid } from '../model/model.js';
import { tablesOf } from '../model/storage.js';
import { systemNames } from '../model/system.js';
import type { LeftAttribute, LeftOver, Remains } from './leftovers.js';
import { attributesOf, describeAttribute, type Memory } from './memory.js';
import { countRows, countValues, matches, type Survey } from './survey.js';

export type Candidate =
  | {
      readonly kind: 'attribute';
      readonly type: Uid;
      readonly from: string;
      readonly to: string;
      readonly is: string;
      readonly values: number;
      /** Whether no model with the new name has served the database yet. */
      readonly isNew: boolean;
    }
  | { readonly kind: 'type'; readonly from: Uid; readonly to: Uid; readonly entries: number; readonly isNew: boolean };

interface Search {
  readonly survey: Survey;
  readonly model: Model;
  readonly memory: Memory;
  readonly left: readonly LeftOver[];
}

export const findCandidates = async (search: Search): Promise<readonly Candidate[]> => [
  ...(await typeCandidates(search)),
  ...(await attributeCandidates(search)),
];

// ---- attributes

const attributeCandidates = async ({ survey, model, memory, left }: Search): Promise<readonly Candidate[]> => {
  const found: Candidate[] = [];
  for (const type of model.types.values()) {
    const gone = left.filter(
      (it): it is LeftAttribute =>
        it.kind === 'attribute' && it.type === type.uid && it.values > 0 && !systemNames.has(it.attribute),
    );
    if (gone.length === 0) continue;
    const fresh: Attribute[] = [];
    for (const attribute of type.attributes.values())
      if (gone.some((it) => isAlike(it, attribute)) && !(await hasValues(type, attribute, survey)))
        fresh.push(attribute);
    const pairs = gone
      .flatMap((from) => fresh.filter((it) => isAlike(from, it)).map((to) => ({ from, to })))
      .map(({ from, to }) => {
        const isSame = from.was === describeAttribute(to);
        return { from, to, isSame, difference: differenceOf(from.attribute, to.name) + (isSame ? 0 : 0.3) };
      })
      .sort((a, b) => a.difference - b.difference);
    /** Names without anything in common are believed if nothing else could have got the other's name. */
    const isOnly = (pair: (typeof pairs)[number]): boolean =>
      pairs.length === 1 ||
      (pair.isSame && pairs.every((it) => it === pair || !it.isSame || (it.from !== pair.from && it.to !== pair.to)));
    const taken = new Set<unknown>();
    for (const pair of pairs) {
      const { from, to, difference } = pair;
      if (taken.has(from) || taken.has(to) || (difference > 0.7 && !isOnly(pair))) continue;
      taken.add(from).add(to);
      found.push({
        kind: 'attribute',
        type: type.uid,
        from: from.attribute,
        to: to.name,
        is: from.was ?? describeAttribute(to),
        values: from.values,
        isNew: memory[type.uid]?.attributes[to.name] === undefined,
      });
    }
  }
  return found;
};

/** 0 for the same name, 1 for names without anything in common. */
const differenceOf = (a: string, b: string): number =>
  distance(a.toLowerCase(), b.toLowerCase()) / Math.max(a.length, b.length, 1);

const isAlike = ({ remains, was }: LeftAttribute, attribute: Attribute): boolean => {
  switch (remains.form) {
    case 'column':
      return attribute.kind === 'scalar' && attribute.rules.writable && isAlikeColumn(remains, was, attribute.type);
    case 'links': {
      if (attribute.kind !== 'link' && attribute.kind !== 'morph') return false;
      const { from, to, typeColumn } = attribute.path;
      // a polymorphic relation names its columns after itself
      return typeColumn === null
        ? [from, to].every((it) => remains.columns.includes(it))
        : remains.columns.includes(from) && remains.columns.includes('field');
    }
    case 'components':
      return attribute.kind === 'part' && remains.uids.every((it) => attribute.components.includes(it));
    case 'media':
      return attribute.kind === 'link' && attribute.source === 'media';
    default:
      return never(remains);
  }
};

const isAlikeColumn = ({ kind }: Extract<Remains, { form: 'column' }>, was: string | null, type: ScalarTypeName) =>
  was === type ||
  (kind !== null &&
    (kind === scalarTypes[type].column ||
      [kind, scalarTypes[type].column].every((it) => it === 'string' || it === 'text')));

const hasValues = async (type: EntryType, attribute: Attribute, survey: Survey): Promise<boolean> => {
  if (attribute.kind === 'scalar') {
    const isThere = survey.declared(type.table, attribute.column) !== undefined;
    return isThere && (await countValues(survey, type.table, attribute.column)) > 0;
  }
  const { table, fixed, from } = attribute.path;
  // join columns are found as columns
  return from === 'id' || (survey.hasTable(table) && (await countRows(survey, table, matches(fixed))) > 0);
};

// ---- types

const typeCandidates = async ({ survey, model, memory, left }: Search): Promise<readonly Candidate[]> => {
  const gone = left.filter((it) => it.kind === 'type').filter((it) => it.entries > 0);
  if (gone.length === 0) return [];
  const found: Candidate[] = [];
  const layout = new Map(tablesOf(model).map((it) => [it.name, it]));
  for (const type of model.types.values()) {
    if (type.origin !== 'project') continue;
    if (survey.hasTable(type.table) && (await countRows(survey, type.table)) > 0) continue;
    const own = attributesOf(type);
    const columns = layout.get(type.table)?.columns.map((it) => it.name) ?? [];
    const alike = gone
      .filter((it) => !found.some((other) => other.from === it.uid))
      .filter((it) => (memory[it.uid]?.kind === 'component') === (type.kind === 'component'))
      .map((it) => ({ it, share: shareOf(own, memory[it.uid]?.attributes ?? {}, columns, it.columns) }))
      .sort((a, b) => b.share - a.share);
    const [best] = alike;
    if (best && best.share >= 0.5)
      found.push({
        kind: 'type',
        from: best.it.uid,
        to: type.uid,
        entries: best.it.entries,
        isNew: memory[type.uid] === undefined,
      });
  }
  return found;
};

/** The part of the attributes, and of the columns, that two types have in common; the greater of the two. */
const shareOf = (
  a: Readonly<Record<string, string>>,
  b: Readonly<Record<string, string>>,
  columnsA: readonly string[],
  columnsB: readonly string[],
): number => {
  const own = (it: Readonly<Record<string, string>>): readonly string[] =>
    Object.keys(it).filter((name) => !added.has(name));
  return Math.max(
    jaccard(own(a), own(b)),
    jaccard(
      columnsA.filter((it) => !addedColumns.has(it)),
      columnsB.filter((it) => !addedColumns.has(it)),
    ),
  );
};
const added = new Set(['createdAt', 'updatedAt', 'publishedAt', 'createdBy', 'updatedBy', 'locale', 'localizations']);
const addedColumns = new Set([
  'id',
  'created_at',
  'updated_at',
  'published_at',
  'created_by_id',
  'updated_by_id',
  'locale',
]);

const jaccard = (a: readonly string[], b: readonly string[]): number => {
  const both = a.filter((it) => b.includes(it)).length;
  const either = new Set([...a, ...b]).size;
  return either === 0 ? 0 : both / either;
};
