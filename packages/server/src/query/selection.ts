/** The resolved query: names have become attributes, texts have become values. Types only, and the `Gate` that resolving needs. */
import type {
  Attribute,
  EntryType,
  LinkAttribute,
  MorphAttribute,
  NestedAttribute,
  PartAttribute,
  ScalarAttribute,
  Uid,
} from '../model/model.js';
import type { DbValue } from '../sql/dialect.js';
import type { LeftOut } from './lenient.js';
import type { OperatorName } from './operators.js';

export type PublicationState = 'live' | 'preview';

/**
 * How requests and responses write entries. `v4`: `{ id, attributes }`, links in `{ data }`. `v5`: attributes beside the id,
 * links without a wrapper, `documentId` and `status` (VF1).
 */
export type EntryFormat = 'v4' | 'v5';

/** What to read of the entries of one type. */
export interface Selection {
  readonly type: EntryType;
  /** Scalar attributes in the response; `id` is always included. */
  readonly fields: readonly ScalarAttribute[];
  readonly populate: readonly Populate[];
  readonly filter: Filter | null;
  readonly sort: readonly SortKey[];
  readonly state: PublicationState;
}

/** A populated attribute, with what to read of the entries of each type that it shows: one for links and components. */
export interface Populate {
  readonly attribute: NestedAttribute;
  readonly targets: ReadonlyMap<Uid, Selection>;
}

export type Filter =
  | { readonly kind: 'and' | 'or'; readonly members: readonly Filter[] }
  | { readonly kind: 'not'; readonly member: Filter }
  | {
      readonly kind: 'compare';
      readonly attribute: ScalarAttribute;
      readonly operator: OperatorName;
      readonly values: readonly DbValue[];
      /** For each value which blank of the query's template it was read from; null for none. */
      readonly blanks: readonly (number | null)[];
    }
  /** Some related entry that the request may see meets the member. */
  | { readonly kind: 'related'; readonly step: Step; readonly member: Filter };

/** One step through a relation, media or component, in a filter or a sort key. */
export interface Step {
  readonly attribute: LinkAttribute | PartAttribute;
  readonly target: EntryType;
  readonly state: PublicationState;
  /** A condition that hides entries of the target from the caller, whatever is asked of them; null for none. */
  readonly seen: Filter | null;
}

export interface SortKey {
  readonly steps: readonly Step[];
  readonly attribute: ScalarAttribute;
  readonly direction: 'asc' | 'desc';
}

export type Page =
  | { readonly kind: 'page'; readonly page: number; readonly pageSize: number }
  | { readonly kind: 'offset'; readonly start: number; readonly limit: number }
  /** A single type in every locale: a list that is not paginated (LO1). */
  | { readonly kind: 'every' };

export type ReadAction = 'find' | 'findOne' | 'single';

/** A complete read request. */
export interface Query {
  readonly action: ReadAction;
  readonly format: EntryFormat;
  readonly selection: Selection;
  /** The condition on the locale of the root's entries; null for none. */
  readonly locale: Filter | null;
  /** Null for one entry. */
  readonly page: Page | null;
  /** Which blank of the query's template the number or the start of the page was read from; null for none. */
  readonly pageBlank: number | null;
  readonly withCount: boolean;
  /** The parts of the request that were ignored. */
  readonly leftOut: readonly LeftOut[];
  /** Populated attributes that are hidden from the caller, without duplicates; reported by `explain` only. */
  readonly hidden: readonly HiddenAttribute[];
}

export interface HiddenAttribute {
  readonly type: EntryType;
  readonly attribute: NestedAttribute;
}

export type Use = 'select' | 'filter' | 'sort' | 'populate' | 'write';

/** Authorises the use of names. Every name in fields, filters, sort and populate is checked; `access` implements it. */
export interface Gate {
  /** Differs whenever the gate may answer differently; part of the cache key of plans. */
  readonly version: string;
  allows(type: EntryType, attribute: Attribute, use: Use): boolean;
  /** Whether entries of the type may be reached by links that lead to any type, those of an attribute or all. */
  reaches(target: EntryType, by?: MorphAttribute): boolean;
  /**
   * Which entries of a type may be seen, by a request that asks for them (`root`) or through others: a condition, or null for all.
   * Without it all may.
   */
  readonly entries?: (type: EntryType, place: 'root' | 'nested') => Filter | null;
  /** Whether attributes that requests cannot write (BO4) are written: for the server itself, seeds and handlers. */
  readonly writesAll?: true;
  /** What may be written, where that is bounded by more than the action. */
  readonly changes?: ChangeGate;
}

/** An entry as permissions look at it. */
export interface GovernedEntry {
  /** The administrator who created it. */
  readonly creatorId: number | null;
  /** Null on types without locales. */
  readonly locale: string | null;
}

/** Bounds what an administrator writes; implemented by `access`. */
export interface ChangeGate {
  hasField(action: 'create' | 'update', type: EntryType, attribute: Attribute): boolean;
  /** Whether some permission for the action covers the entry. */
  covers(action: 'create' | 'read' | 'update' | 'delete' | 'publish', type: EntryType, entry: GovernedEntry): boolean;
}
