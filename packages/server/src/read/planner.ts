/**
 * `Query` to `ReadPlan`. The decisions are only here and in the two files beside it: which selections share a node, which edges share a
 * statement, what is rendered where it is shown (`nesting.ts`), and what a filter means (`plan-conditions.ts`).
 */
import { issue, never, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import { scalarTypes } from '../model/attributes.js';
import { type EntryType, hasDocumentId, type LinkPath, typeKeyOf } from '../model/model.js';
import { boundsOf } from '../query/page.js';
import type { Page, Populate, Query, Selection } from '../query/selection.js';
import type { WindowQuery } from '../query/window.js';
import type { DbValue } from '../sql/dialect.js';
import { tellsVersion } from './etag.js';
import { chooseInline, type Nesting, nestingFor, nothing, type Owners, ownersOf } from './nesting.js';
import type {
  AnswerForm,
  EntryForm,
  PlanEdge,
  PlanFilter,
  PlanLinks,
  PlanNode,
  PlanSlice,
  ReadPlan,
  ReadShape,
} from './plan.js';
import { type Given, isPublishedOnly, planFilter, planOrder, planSort } from './plan-conditions.js';

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
      // inside polymorphic relations v4 wraps nothing, and creators are plain objects (Q9)
      const isBare = attribute.kind === 'morph' || (attribute.kind === 'link' && attribute.source === 'creator');
      const form = isBare && outer.form === 'envelope' ? 'plain' : outer.form;
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
    isPlain: form !== 'envelope' || type.kind === 'component',
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
