/**
 * `Query` to `ReadPlan`: how a read is fetched, as plain data (`JSON.parse(JSON.stringify(plan))` runs the same).
 * The decisions are only here: which selections share a node, which edges share a statement, what a filter means, and
 * what of it decides the SQL texts (the shape) or is bound when they run (the values).
 */
import { bug, issue, never, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import { scalarTypes } from '../model/attributes.js';
import {
  ADMIN_UID,
  type EntryType,
  type FixedValue,
  hasDocumentId,
  type LinkPath,
  type ScalarAttribute,
  typeKeyOf,
  type Uid,
} from '../model/model.js';
import type { LeftOut } from '../query/lenient.js';
import { type OperatorName, operandKind, operators } from '../query/operators.js';
import { boundsOf } from '../query/page.js';
import type { Filter, Page, Populate, Query, ReadAction, Selection, SortKey, Step } from '../query/selection.js';
import type { WindowQuery } from '../query/window.js';
import type { ColumnKind, DbValue, JsonForm } from '../sql/dialect.js';
import { tellsVersion } from './etag.js';

/** `envelope`: `{ data, meta }` of entries with `attributes`; `plain`: bare objects throughout, as users are shown (AC15). */
export type AnswerForm = 'envelope' | 'plain';

/** Of the entries of one node; `flat`: bare objects with `documentId`, as v5 writes them. */
type EntryForm = AnswerForm | 'flat';

export interface ReadPlan {
  readonly shape: ReadShape;
  /** Equal for equal shapes and no others. */
  readonly shapeKey: string;
  /** One for each slot of the shape. */
  readonly values: readonly DbValue[];
  /** Null for one entry. */
  readonly page: Page | null;
  /** The parts of the request that were ignored. */
  readonly leftOut: readonly LeftOut[];
  /** What the query's template leaves open; null if the values decide which selections share a node. */
  readonly blanks: PlanBlanks | null;
}

/** Where the blanks of a template are (`Template`), by their index. */
export interface PlanBlanks {
  readonly operands: readonly BlankOperands[];
  /** The number or the start of the page. */
  readonly page: number | null;
}

/** Values of one condition, read from blanks but for those that are null here. */
export interface BlankOperands {
  readonly attribute: ScalarAttribute;
  readonly operator: OperatorName;
  readonly operands: PlanOperands;
  readonly blanks: readonly (number | null)[];
}

/**
 * All that decides the SQL texts: reads that differ in values only have equal shapes, and are compiled once. Values are
 * named by slots, which are indexes among the values of the plan.
 */
export interface ReadShape {
  readonly action: ReadAction;
  readonly form: AnswerForm;
  /** The entries to read; null if their ids are given. */
  readonly slice: PlanSlice | null;
  readonly withCount: boolean;
  /** Whether the response carries its entry's version: the time of its last change, unless that is private. */
  readonly withVersion: boolean;
  readonly filter: PlanFilter | null;
  /** Apart from the filter, because it costs as little as excluding drafts. */
  readonly locale: PlanFilter | null;
  readonly sort: readonly PlanSort[];
  /** The first slot of the nodes: those from it on decide what entries show, those before it which entries are shown. */
  readonly entrySlot: number;
  /** Whether statements render entries inside those that show them, where that is cheap (`PlanEdge.inline`). */
  readonly nests: boolean;
  /** Children before their parents; the last one is the root. */
  readonly nodes: readonly PlanNode[];
}

export interface PlanSlice {
  /** Slots. */
  readonly limit: number;
  readonly offset: number;
  /** Of the id after which the offset counts, in the order of ids; less than all ids if it counts from the start. */
  readonly after: number;
  /** Of the number of entries on all pages, if it is known and need not be counted; else null. */
  readonly total: number;
  /** A power of ten that the limit does not exceed, for planners that do not see bound values. */
  readonly rowsMax: number;
  /** Whether the offset is 0. */
  readonly fromStart: boolean;
  /** Whether the offset counts from `after` also in the order of an indexed column; entries without a value may be missing. */
  readonly isAnchored: boolean;
}

/** The entries of one selection: fetched by ids, each once, wherever in the response they occur. */
export interface PlanNode {
  readonly uid: string;
  readonly table: string;
  /** Written as a plain object with its id among its fields, as components and creators are; else as `{ id, attributes }`. */
  readonly isPlain: boolean;
  /** Whether the id is shown a second time, as text, under v5's name. */
  readonly hasDocumentId: boolean;
  /** Excludes drafts. */
  readonly publishedOnly: boolean;
  readonly fields: readonly PlanField[];
  /** Conditions on populated entries; those of the root are in the plan. */
  readonly filter: PlanFilter | null;
  readonly sort: readonly PlanSort[];
  readonly edges: readonly PlanEdge[];
  /** One statement each, for the edges that are not inline; those that share a table share one. */
  readonly links: readonly PlanLinks[];
}

export interface PlanField {
  readonly name: string;
  readonly column: string;
  readonly form: JsonForm;
}

/** A populated attribute. */
export interface PlanEdge {
  readonly name: string;
  readonly shape: 'one' | 'many';
  /** Links are wrapped in `{ data }`, parts and elements of polymorphic relations are not (Q12). */
  readonly wrapped: boolean;
  /** JSON of an empty list: `[]`, or `null` for media; null leaves the attribute out (Q12). */
  readonly empty: '[]' | 'null' | null;
  /** The key that names the type of each element, if elements of several types are mixed; else null. */
  readonly typeKey: '__component' | '__type' | null;
  /** Index of the node for each type. */
  readonly targets: readonly { readonly uid: Uid; readonly node: number }[];
  /** The rows of this edge alone, if its entries are rendered inside the statement of its node; else null. */
  readonly inline: PlanLinks | null;
}

/** Rows of a link table for some edges of one node. */
export interface PlanLinks {
  readonly table: string;
  readonly from: string;
  readonly to: string;
  readonly rank: string | null;
  readonly typeColumn: string | null;
  readonly fixed: readonly FixedValue[];
  /** Whether a pair may be there twice (ST10). */
  readonly mayRepeat: boolean;
  /** Whether an index has each list in its order, see `LinkPath`. */
  readonly hasListIndex: boolean;
  /** The column that distinguishes the edges; null if there is only one. */
  readonly nameColumn: string | null;
  /** Equal ranks are ordered by link id if types are mixed, by target id elsewhere (ST8). */
  readonly edges: readonly { readonly edge: number; readonly name: string | null; readonly isMixed: boolean }[];
  /** Every target of the edges; rows refer to their target by its index in this list. */
  readonly targets: readonly PlanTarget[];
}

/** One edge's node for one type. */
export interface PlanTarget {
  readonly edge: number;
  /** Index among the targets of the edge. */
  readonly target: number;
  readonly name: string | null;
  readonly uid: Uid;
}

export type PlanFilter =
  | { readonly kind: 'and' | 'or'; readonly members: readonly PlanFilter[] }
  | { readonly kind: 'not'; readonly member: PlanFilter }
  | {
      readonly kind: 'compare';
      readonly column: string;
      readonly columnKind: ColumnKind;
      readonly operator: OperatorName;
      readonly operands: PlanOperands;
    }
  | {
      readonly kind: 'related';
      readonly step: PlanStep;
      readonly member: PlanFilter;
      /** Entries without any related entry meet the condition too, as `$null` does (FL7). */
      readonly orNone: boolean;
    };

/** Values in consecutive slots. */
export interface PlanOperands {
  readonly kind: ColumnKind;
  readonly slot: number;
  readonly count: number;
}

export interface PlanStep {
  readonly path: LinkPath;
  readonly uid: Uid;
  readonly table: string;
  readonly publishedOnly: boolean;
  readonly shape: 'one' | 'many' | 'zone';
  /** Related entries that do not meet it count as absent; null for none. */
  readonly seen: PlanFilter | null;
}

export interface PlanSort {
  readonly steps: readonly PlanStep[];
  readonly column: string;
  readonly columnKind: ColumnKind;
  readonly direction: 'asc' | 'desc';
  /** Whether an index of the configuration begins with the columns of the order up to this one. */
  readonly isIndexed: boolean;
}

export interface PlanOptions {
  /** Default: `envelope`. */
  readonly form?: AnswerForm | undefined;
  readonly nests: boolean;
  /** Whether entries of a page nest all that a single entry does, although several of them could show the same. Default: false. */
  readonly nestsShared?: boolean | undefined;
}

/** Refuses a query of too many selections that differ: compiling them takes the server's thread, whatever is read afterwards (RQ18). */
export const planRead = (
  { action, format, selection, locale, page, pageBlank, withCount, leftOut }: Query,
  { form = 'envelope', nests, nestsShared = false }: PlanOptions,
): Result<ReadPlan> => {
  const given: Given = { values: [], operands: [] };
  const { values } = given;
  const head: Omit<ReadShape, 'nodes'> = {
    action,
    form,
    slice: action === 'findOne' ? null : planSlice(page, values),
    // a plain list has nowhere to put a count
    withCount: withCount && page !== null && form === 'envelope',
    withVersion: page === null && tellsVersion(selection.type),
    filter: action === 'findOne' ? null : selection.filter && planFilter(selection.filter, given),
    locale: locale && planFilter(locale, given),
    sort: planOrder(selection.sort, selection.type),
    entrySlot: values.length,
    nests,
  };
  const owners = page && !nestsShared ? 'page' : 'one';
  const root = { selection, form: format === 'v5' ? 'flat' : form, owners } as const;
  // the entry of an id is looked at itself; of lists, the page is
  const { nodes, keys, areTold } = planNodes({ ...root, isFiltered: action === 'findOne' }, nests, given);
  const max = limits.distinctSelectionsMax;
  if (nodes.length > max) return refused(issue('query.too-many-selections', ['populate'], { max }));
  const shapeKey = `${JSON.stringify(head)}\n${keys.join('\n')}`;
  const blanks = areTold ? { operands: given.operands, page: pageBlank } : null;
  return ok({ shape: { ...head, nodes }, shapeKey, values, page, leftOut, blanks });
};

/** The values of a plan that is being made, and where they are from. */
interface Given {
  readonly values: DbValue[];
  readonly operands: BlankOperands[];
}

const planSlice = (page: Page | null, values: DbValue[]): PlanSlice => {
  const { limit, offset } = boundsOf(page);
  const slot = values.push(limit, offset, limits.integerMin, null) - 4;
  return {
    limit: slot,
    offset: slot + 1,
    after: slot + 2,
    total: slot + 3,
    rowsMax: 10 ** Math.max(2, Math.ceil(Math.log10(limit))),
    fromStart: offset === 0,
    isAnchored: false,
  };
};

/**
 * Equal selections become one node, so that an entry that several edges reach is fetched and rendered once. Selections
 * with a sort, and those that contain one, stay separate: sort positions are comparable within one statement only, and a
 * node that is not shared is fetched by one statement.
 */
const planNodes = (
  root: Reached & { readonly isFiltered: boolean },
  nests: boolean,
  given: Given,
): {
  readonly nodes: readonly PlanNode[];
  readonly keys: readonly string[];
  /** Whether selections are told apart without regard to values. */
  readonly areTold: boolean;
} => {
  const nodes: PlanNode[] = [];
  const keys: string[] = [];
  const byKey = new Map<string, number>();
  const keysWithValues = new Set<string>();
  let areTold = true;
  const bySelection = new Map<Selection, number>();
  const nestings: Nesting[] = [];
  const nodeOf = (selection: Selection): number => bySelection.get(selection)!;
  const apart = new Set<Selection>();
  // without recursion: depth is bounded by the URL only. Every selection comes after the one that populates it.
  const selections: Reached[] = [root];
  for (let i = 0; i < selections.length; i++) {
    const outer = selections[i]!;
    for (const { attribute, targets } of outer.selection.populate) {
      // inside polymorphic relations v4 wraps nothing
      const form = attribute.kind === 'morph' && outer.form === 'envelope' ? 'plain' : outer.form;
      const owners = ownersOf(outer.owners, attribute);
      for (const selection of targets.values()) selections.push({ selection, form, owners });
    }
  }
  for (const { selection, form, owners } of selections.reverse()) {
    const { filter, sort, populate } = selection;
    const isRoot = selection === root.selection;
    const nestingOf = (target: Selection): Nesting => nestings[nodeOf(target)]!;
    const inline = nests ? chooseInline(selection, owners, nestingOf) : nothing;
    const placed: PlacedSelection = { selection, form, isRoot, inline };
    const own: Given = { values: [], operands: [] };
    const filterIn = (into: Given): PlanFilter | null =>
      (isRoot && !root.isFiltered) || !filter ? null : planFilter(filter, into);
    const key = keyOf(placed, filterIn(own), nodeOf);
    const add = (): number => {
      keys.push(key);
      nestings.push(nestingFor(selection, inline, nestingOf));
      // the slots of the key count from 0
      return nodes.push(planNode(placed, filterIn(given), nodeOf)) - 1;
    };
    const isSorted = !isRoot && sort.length > 0;
    if (isRoot || isSorted || populate.some(({ targets }) => [...targets.values()].some((it) => apart.has(it)))) {
      apart.add(selection);
      bySelection.set(selection, add());
      continue;
    }
    if (own.values.length > 0) {
      areTold &&= !keysWithValues.has(key);
      keysWithValues.add(key);
    }
    const sharedBy = own.values.length > 0 ? `${key} ${JSON.stringify(own.values)}` : key;
    const index = byKey.get(sharedBy) ?? add();
    byKey.set(sharedBy, index);
    bySelection.set(selection, index);
  }
  return { nodes, keys, areTold };
};

interface Reached {
  readonly selection: Selection;
  readonly form: EntryForm;
  readonly owners: Owners;
}

interface PlacedSelection {
  readonly selection: Selection;
  readonly isRoot: boolean;
  readonly form: EntryForm;
  /** What of its populate is inline. */
  readonly inline: ReadonlySet<Populate>;
}

/** All that `planNode` reads, as text: the model tells the rest. */
const keyOf = (
  { selection, isRoot, form, inline }: PlacedSelection,
  filter: PlanFilter | null,
  nodeOf: (selection: Selection) => number,
): string => {
  const { type, fields, populate, sort, state } = selection;
  const edges = populate.map((it) => [
    it.attribute.name,
    ...(inline.has(it) ? [1] : []),
    ...[...it.targets].flatMap(([uid, target]) => [uid, nodeOf(target)]),
  ]);
  const names = fields.map((it) => it.name);
  return JSON.stringify([
    type.uid,
    isRoot,
    form,
    state,
    names,
    edges,
    filter,
    isRoot ? [] : sort.map((key) => planSort(key)),
  ]);
};

const planNode = (
  { selection, isRoot, form, inline }: PlacedSelection,
  filter: PlanFilter | null,
  nodeOf: (selection: Selection) => number,
): PlanNode => {
  const { type, fields, populate, sort, state } = selection;
  return {
    uid: type.uid,
    table: type.table,
    // administrators are reached as creators only (Q9)
    isPlain: form !== 'envelope' || type.kind === 'component' || (type.uid === ADMIN_UID && !isRoot),
    hasDocumentId: form === 'flat' && hasDocumentId(type),
    publishedOnly: isPublishedOnly(type, state),
    fields: fields.map((it) => ({ name: it.name, column: it.column, form: scalarTypes[it.type].form })),
    filter,
    sort: isRoot ? [] : sort.map((key) => planSort(key)),
    edges: populate.map((it) => {
      const [links = null] = inline.has(it) ? planLinks(populate, [it]) : [];
      return planEdge(it, form, links, nodeOf);
    }),
    links: planLinks(
      populate,
      populate.filter((it) => !inline.has(it)),
    ),
  };
};

const isPublishedOnly = (type: EntryType, state: 'live' | 'preview'): boolean =>
  type.draftAndPublish && state === 'live';

const planEdge = (
  { attribute, targets }: Populate,
  form: EntryForm,
  inline: PlanLinks | null,
  nodeOf: (selection: Selection) => number,
): PlanEdge => {
  const { name, shape } = attribute;
  const edge = {
    name,
    shape: shape === 'one' ? shape : 'many',
    typeKey: typeKeyOf(attribute),
    targets: [...targets].map(([uid, selection]) => ({ uid, node: nodeOf(selection) })),
    inline,
  } as const;
  switch (attribute.kind) {
    case 'link': {
      const { source } = attribute;
      const wrapped = form === 'envelope' && source !== 'creator';
      return { ...edge, wrapped, empty: source === 'media' || source === 'morph' ? 'null' : '[]' };
    }
    case 'part':
      return { ...edge, wrapped: false, empty: '[]' };
    case 'morph':
      return { ...edge, wrapped: false, empty: null };
    default:
      return never(attribute);
  }
};

/**
 * Edges over the same table that differ only in the attribute's name share one statement.
 * @param chosen those to fetch.
 */
const planLinks = (populates: readonly Populate[], chosen: readonly Populate[]): readonly PlanLinks[] => {
  const groups = new Map<string, Populate['attribute'][]>();
  for (const { attribute } of chosen) {
    const { path } = attribute;
    const key = keyOfTable(path);
    const group = groups.get(key);
    if (group) group.push(attribute);
    else groups.set(key, [attribute]);
  }
  return [...groups.values()].map((attributes): PlanLinks => {
    const { table, from, to, rank, typeColumn, fixed, mayRepeat, hasListIndex } = attributes[0]!.path;
    const named = fixed.some((it) => it.column === NAME_COLUMN);
    const edges = attributes.map((it) => ({
      edge: populates.findIndex(({ attribute }) => attribute === it),
      name: named ? it.name : null,
      isMixed: typeKeyOf(it) !== null,
    }));
    const targets = edges.flatMap(({ edge, name }) =>
      [...populates[edge]!.targets.keys()].map((uid, target) => ({ edge, target, name, uid })),
    );
    return {
      table,
      from,
      to,
      rank,
      typeColumn,
      fixed: fixed.filter((it) => it.column !== NAME_COLUMN),
      mayRepeat,
      hasListIndex,
      nameColumn: named ? NAME_COLUMN : null,
      edges,
      targets,
    };
  });
};

/** Equal for paths that differ only in the attribute's name. Kept, because every request asks. */
const keyOfTable = (path: LinkPath): string => {
  const known = keysOfTables.get(path);
  if (known !== undefined) return known;
  const key = JSON.stringify({ ...path, fixed: path.fixed.filter((it) => it.column !== NAME_COLUMN) });
  keysOfTables.set(path, key);
  return key;
};

const keysOfTables = new WeakMap<LinkPath, string>();

/** The column in which shared link tables keep the attribute's name. */
const NAME_COLUMN = 'field';

// ---- what statements render inside the entries that show it

/** How many entries may show an edge's entries: one, those of a page and their parts, or those of lists inside these. */
type Owners = 'one' | 'page' | 'lists';

const ownersOf = (outer: Owners, attribute: Populate['attribute']): Owners => {
  if (outer === 'one' && attribute.shape === 'one') return 'one';
  return outer === 'lists' || isList(attribute) ? 'lists' : 'page';
};

/** Whether it leads from an entry to many of their own: links other than files. */
const isList = (attribute: Populate['attribute']): boolean =>
  attribute.kind !== 'part' &&
  attribute.shape === 'many' &&
  !(attribute.kind === 'link' && attribute.source === 'media');

/** What it costs to render a selection inside another statement. */
interface Nesting {
  /** Whether all that it populates is inline, so that one text is the whole entry. */
  readonly isWhole: boolean;
  /** Fields, edges and conditions: the size of the statement. */
  readonly weight: number;
  /** Levels below it. */
  readonly depth: number;
  readonly hasLists: boolean;
}

const nothing: ReadonlySet<Populate> = new Set();

/**
 * What of a selection's populate is inline. That saves statements, rows and the copying of texts, but an entry is rendered as
 * often as it is shown. So entries that have one owner are inline, and others if they are small, or if there is one owner
 * only.
 */
const chooseInline = (
  { populate }: Selection,
  owners: Owners,
  nestingOf: (selection: Selection) => Nesting,
): ReadonlySet<Populate> => {
  let weightLeft: number = limits.inlineWeightMax;
  const chosen = populate.filter(({ attribute, targets }) => {
    // a polymorphic relation without entries is left out, and with it the comma
    if (attribute.kind === 'morph') return false;
    const inside = [...targets.values()].map(nestingOf);
    const weight = inside.reduce((sum, it) => sum + it.weight, 1);
    if (weight > weightLeft || inside.some((it) => !it.isWhole || it.depth >= limits.inlineDepthMax)) return false;
    if (owners !== 'one' && mayBeShared(attribute)) {
      if (inside.some((it) => it.hasLists) || (owners === 'lists' && attribute.shape === 'many')) return false;
    }
    weightLeft -= weight;
    return true;
  });
  return chosen.length === 0 ? nothing : new Set(chosen);
};

/** Whether several entries may show the same one. Files may be shared, but rarely are. */
const mayBeShared = (attribute: Populate['attribute']): boolean => {
  if (attribute.kind !== 'link') return attribute.kind === 'morph';
  if (attribute.source === 'media') return false;
  return attribute.source !== 'relation' || attribute.relation.startsWith('many');
};

const nestingFor = (
  { fields, populate, filter, sort }: Selection,
  inline: ReadonlySet<Populate>,
  nestingOf: (selection: Selection) => Nesting,
): Nesting => {
  const inside = [...inline].flatMap(({ targets }) => [...targets.values()].map(nestingOf));
  const conditions = filter ? filterWeight(filter) : 0;
  const sorts = sort.reduce((sum, { steps }) => sum + 1 + steps.length, 0);
  const own = 1 + fields.length + inline.size + 4 * (conditions + sorts);
  return {
    isWhole: inline.size === populate.length,
    weight: inside.reduce((sum, it) => sum + it.weight, own),
    depth: inside.reduce((most, it) => Math.max(most, it.depth + 1), 0),
    hasLists: [...inline].some((it) => isList(it.attribute)) || inside.some((it) => it.hasLists),
  };
};

/** What a filter adds to the weight of a statement: a condition through a relation is a subquery. */
const filterWeight = (filter: Filter): number => {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.members.reduce((sum, it) => sum + filterWeight(it), 0);
    case 'not':
      return filterWeight(filter.member);
    case 'compare':
      return 1;
    case 'related':
      return 2 + filterWeight(filter.member);
  }
};

// ---- filters and sorts

/**
 * Pushes negations down to the comparisons: "not (some related entry is X)" of v4's dialect means "some related entry is
 * not X" (FL5, to-many relations). Adds the values of the conditions.
 */
const planFilter = (filter: Filter, given: Given, negated = false): PlanFilter => {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const members = filter.members.map((it) => planFilter(it, given, negated));
      return { kind: (filter.kind === 'and') === negated ? 'or' : 'and', members };
    }
    case 'not':
      return planFilter(filter.member, given, !negated);
    case 'compare': {
      const compare = planCompare(filter, given);
      return negated ? { kind: 'not', member: compare } : compare;
    }
    case 'related': {
      const member = planFilter(filter.member, given, negated);
      const { seen } = filter.step;
      const step = { ...planStep(filter.step), seen: seen && planFilter(seen, given) };
      return { kind: 'related', step, member, orNone: onNullRow(member) === true };
    }
  }
};

const planCompare = (
  { attribute, operator, values, blanks }: Extract<Filter, { kind: 'compare' }>,
  given: Given,
): PlanFilter => {
  const columnKind = scalarTypes[attribute.type].column;
  const compare = { kind: 'compare', column: attribute.column, columnKind } as const;
  const slot = given.values.length;
  if (operators[operator].takes === 'flag') {
    const isNull = (operator === '$null') === (values[0] === true);
    return { ...compare, operator: isNull ? '$null' : '$notNull', operands: { kind: columnKind, slot, count: 0 } };
  }
  given.values.push(...operandsOf(operator, values));
  const operands = { kind: operandKind(operator, columnKind, values), slot, count: given.values.length - slot };
  if (blanks.some((it) => it !== null)) given.operands.push({ attribute, operator, operands, blanks });
  return { ...compare, operator, operands };
};

/** The values of a condition as they are bound. */
export const operandsOf = (operator: OperatorName, values: readonly DbValue[]): readonly DbValue[] =>
  operators[operator].takes === 'list' ? padded(values) : values;

/** Padded with its last value to a power of two, so that few distinct SQL texts result. */
const padded = (values: readonly DbValue[]): readonly DbValue[] => {
  const last = values.at(-1);
  if (last === undefined) return values;
  const length = 2 ** Math.ceil(Math.log2(values.length));
  return [...values, ...Array.from({ length: length - values.length }, () => last)];
};

/** The value of a condition for a row of NULLs; null for SQL's unknown. */
const onNullRow = (filter: PlanFilter): boolean | null => {
  switch (filter.kind) {
    case 'compare':
      if (filter.operator === '$null') return true;
      return filter.operator === '$notNull' ? false : null;
    case 'not': {
      const member = onNullRow(filter.member);
      return member === null ? null : !member;
    }
    case 'and':
    case 'or': {
      const deciding = filter.kind === 'or';
      const members = filter.members.map(onNullRow);
      return members.includes(deciding) ? deciding : members.includes(null) ? null : !deciding;
    }
    case 'related':
      return filter.orNone ? true : null;
  }
};

const planStep = ({ attribute, target, state }: Step): PlanStep => ({
  path: attribute.path,
  uid: target.uid,
  table: target.table,
  publishedOnly: isPublishedOnly(target, state),
  shape: attribute.shape,
  seen: null,
});

const planSort = ({ steps, attribute, direction }: SortKey, isIndexed = false): PlanSort => ({
  steps: steps.map(planStep),
  column: attribute.column,
  columnKind: scalarTypes[attribute.type].column,
  direction,
  isIndexed,
});

/** The order of a list. Populated entries are few: their orders need no index. */
const planOrder = (sort: readonly SortKey[], { indexes }: EntryType): readonly PlanSort[] =>
  sort.map((key, place) =>
    planSort(
      key,
      indexes.some((it) => isOrderOf(it, sort.slice(0, place + 1))),
    ),
  );

/** Whether the index begins with what is sorted by, in the same directions or in all the opposite ones. */
const isOrderOf = (index: EntryType['indexes'][number], sort: readonly SortKey[]): boolean => {
  const isReversed = index[0]?.direction !== sort[0]?.direction;
  return sort.every(({ steps, attribute, direction }, place) => {
    const key = index[place];
    return steps.length === 0 && key?.attribute.name === attribute.name && (key.direction !== direction) === isReversed;
  });
};

/** A window of a list: how its entries are read, and the entry that has it. */
export interface WindowPlan extends Pick<ReadPlan, 'shape' | 'values'> {
  /** Equal for plans with equal SQL texts on the same list, and no others. */
  readonly key: string;
  /** Hides entries of the list from the caller; null for none. */
  readonly seen: PlanFilter | null;
  /** The condition on the entry that has the list; null for none. */
  readonly owner: PlanFilter | null;
  /** Whether that entry must be published. */
  readonly isOwnerPublished: boolean;
  /** The slot of its id, behind all values of the plan; those of the components on the way to the list follow. */
  readonly ownerSlot: number;
}

/** @param type that of the entry that has the list. */
export const planWindow = (
  { entries, seen, owner }: WindowQuery,
  type: EntryType,
  options: Pick<PlanOptions, 'nests'>,
): Result<WindowPlan> => {
  const planned = planRead(entries, options);
  if (!planned.ok) return planned;
  const { shape, shapeKey, values } = planned.value;
  const given: Given = { values: [...values], operands: [] };
  const conditions = {
    seen: seen && planFilter(seen, given),
    owner: owner && planFilter(owner, given),
  };
  const isOwnerPublished = isPublishedOnly(type, entries.selection.state);
  return ok({
    shape,
    values: given.values,
    key: `${JSON.stringify([conditions, isOwnerPublished])} ${shapeKey}`,
    ...conditions,
    isOwnerPublished,
    ownerSlot: given.values.length,
  });
};

/** The same plan with the offset counted from an entry, for lists in the order of one indexed column. */
export const anchoredPlan = (plan: ReadPlan): ReadPlan => {
  const { slice } = plan.shape;
  if (!slice) throw bug('plan.without-slice', {});
  const shape = { ...plan.shape, slice: { ...slice, isAnchored: true } };
  return { ...plan, shape, shapeKey: `anchored ${plan.shapeKey}` };
};

export const rootOf = (shape: ReadShape): PlanNode => {
  const root = shape.nodes.at(-1);
  if (!root) throw bug('plan.without-root', {});
  return root;
};
