/** What can be asked for, by the model. Names and shapes are those of the REST API. */
import type { EntryType, FieldName, NamesOfKind, Nested, NestedAt, NestedName, SingleTarget } from './schema.js';

/** What an entry shows. */
export interface Selection<T extends EntryType> {
  /** Fields to show; every one by default. `id` is always there. */
  readonly fields?: '*' | FieldName<T> | readonly (FieldName<T> | '*')[];
  /** Relations, files, components and zones to show; none by default. */
  readonly populate?: Populate<T>;
}

/** What is asked of populated entries. */
export interface NestedSelection<T extends EntryType> extends Selection<T> {
  readonly filters?: Filters<T>;
  readonly sort?: Sort<T>;
  readonly publicationState?: PublicationState;
}

export type PublicationState = 'live' | 'preview';

/** `'*'`: everything, one level deep. */
export type Populate<T extends EntryType> =
  | '*'
  | NestedName<T>
  | readonly (NestedName<T> | '*')[]
  | { readonly [K in NestedName<T>]?: boolean | PopulateOptions<NestedAt<T, K>> };

export type PopulateOptions<N> = N extends { readonly kind: 'zone' | 'morphToOne' | 'morphToMany'; readonly to: object }
  ? {
      /** What to show of each type; others are left out. */
      readonly on?: { readonly [U in keyof N['to']]?: boolean | NestedSelection<Extract<N['to'][U], EntryType>> };
      /** Of all types. */
      readonly populate?: '*';
    }
  : NestedSelection<SingleTarget<N>>;

// ---- filters

interface CompareOperators<V> {
  readonly $eq?: V;
  readonly $ne?: V;
  readonly $in?: readonly V[];
  readonly $notIn?: readonly V[];
  readonly $lt?: V;
  readonly $lte?: V;
  readonly $gt?: V;
  readonly $gte?: V;
  readonly $between?: readonly [low: V, high: V];
}

interface TextOperators {
  readonly $eqi?: string;
  readonly $nei?: string;
  readonly $contains?: string;
  readonly $notContains?: string;
  readonly $containsi?: string;
  readonly $notContainsi?: string;
  readonly $startsWith?: string;
  readonly $startsWithi?: string;
  readonly $endsWith?: string;
  readonly $endsWithi?: string;
}

interface NullOperators {
  readonly $null?: boolean;
  readonly $notNull?: boolean;
}

/** `D`: what else a value may be given as. */
type OperatorsOf<V, D> = [V] extends [string]
  ? CompareOperators<V | D> & TextOperators
  : [V] extends [number | boolean]
    ? CompareOperators<V>
    : { readonly $eq?: unknown; readonly $ne?: unknown };

export type Condition<V, D = never> =
  | ([V] extends [string | number | boolean] ? V | D : never)
  | (OperatorsOf<V, D> & NullOperators & { readonly $not?: Condition<V, D> });

/** Relations, files and components can be filtered by, or compared by id; zones and polymorphic relations cannot. */
type FilterableKinds = Exclude<Nested['kind'], 'zone' | 'morphToOne' | 'morphToMany'>;

export type Filters<T extends EntryType> = {
  readonly [K in FieldName<T>]?: Condition<
    NonNullable<T['fields'][K & keyof T['fields']]>,
    K extends T['dates'] ? Date : never
  >;
} & {
  readonly [K in NamesOfKind<T, FilterableKinds>]?:
    | Filters<SingleTarget<NestedAt<T, K>>>
    | (CompareOperators<number> & NullOperators)
    | number;
} & {
  readonly id?: Condition<number>;
  readonly $and?: readonly Filters<T>[];
  readonly $or?: readonly Filters<T>[];
  readonly $not?: Filters<T>;
};

// ---- sort

type Direction = 'asc' | 'desc';
type Directed<Name extends string> = Name | `${Name}:${Direction}`;

/**
 * `title`, `title:desc`, `author.name:asc`. Behind the first dot anything goes: all paths of a large model are more than a
 * compiler should have to list. The server checks them.
 */
export type SortKey<T extends EntryType> =
  | Directed<FieldName<T> | 'id'>
  | `${NamesOfKind<T, FilterableKinds>}.${string}`;

export type Sort<T extends EntryType> = SortKey<T> | readonly SortKey<T>[];

// ---- whole queries

export type Pagination =
  | { readonly page?: number; readonly pageSize?: number; readonly withCount?: boolean }
  | { readonly start?: number; readonly limit?: number; readonly withCount?: boolean };

/** One locale, or `all`. Only for localized types. */
type LocaleQuery<T extends EntryType> = T['localized'] extends true
  ? { readonly locale?: string | readonly string[] }
  : unknown;

export type ListQuery<T extends EntryType> = NestedSelection<T> &
  LocaleQuery<T> & {
    readonly pagination?: Pagination;
    /** Texts that contain it, in any attribute that is searched. */
    readonly _q?: string;
  };

export type EntryQuery<T extends EntryType> = Selection<T>;

export type SingleQuery<T extends EntryType> = Selection<T> & {
  readonly publicationState?: PublicationState;
} & (T['localized'] extends true ? { readonly locale?: string } : unknown);

// ---- refusing names that the model does not have

/** A query that names only what the model has. */
export type Checked<Q, C> = Q & Strict<Q, C>;

/** What is asked if nothing is. */
export type NoQuery = Record<never, never>;

/** The members of a union of objects. */
type KeyOf<C> = C extends readonly unknown[] ? never : C extends object ? keyof C : never;
type ValueAt<C, K> = C extends readonly unknown[] ? never : K extends keyof C ? C[K] : never;

/**
 * A query as it was written, with `never` in place of members that are not in `C`. TypeScript does not look for surplus
 * members where a type is inferred.
 */
type Strict<Q, C> = Q extends Leaf
  ? Q
  : Q extends readonly (infer E)[]
    ? readonly Strict<E, C extends readonly (infer I)[] ? I : never>[]
    : {
        readonly [K in keyof Q]: K extends KeyOf<C> ? (Q[K] extends Leaf ? Q[K] : Strict<Q[K], ValueAt<C, K>>) : never;
      };

/** What has no members to look at. */
type Leaf = string | number | boolean | Date | null | undefined | readonly (string | number)[];
