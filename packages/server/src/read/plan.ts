/**
 * `ReadPlan`: how a read is fetched, as plain data (`JSON.parse(JSON.stringify(plan))` runs the same). What decides the SQL texts is its
 * shape; the values are bound when they run.
 */
import { bug } from '../errors.js';
import type { FixedValue, LinkPath, ScalarAttribute, Uid } from '../model/model.js';
import type { LeftOut } from '../query/lenient.js';
import type { OperatorName } from '../query/operators.js';
import type { Page, ReadAction } from '../query/selection.js';
import type { ColumnKind, DbValue, JsonForm } from '../sql/dialect.js';

/** `envelope`: `{ data, meta }` of entries with `attributes`; `plain`: bare objects throughout, as users are shown (AC15). */
export type AnswerForm = 'envelope' | 'plain';

/** Of the entries of one node; `flat`: bare objects with `documentId`, as v5 writes them. */
export type EntryForm = AnswerForm | 'flat';

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
