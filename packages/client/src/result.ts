/**
 * What a query shows: exactly what it asked for. Attributes that were not asked for are not in the type.
 */
import type { EntryType, NestedAt, NestedName, SingleTarget, TargetsOf } from './schema.js';

type Simple<T> = { [K in keyof T]: T[K] };

// ---- fields

type AllNames = '*' | readonly [] | undefined;
type NamesIn<F> = F extends readonly (infer N)[] ? N : F;

/** In preview an entry may be a draft, and a draft may be incomplete. */
type MaybeDraft<Fields, Q> = Q extends { readonly publicationState: 'preview' }
  ? { [K in keyof Fields]: Fields[K] | null }
  : Fields;

type ShownFields<T extends EntryType, Q> = MaybeDraft<
  Q extends { readonly fields: infer F }
    ? F extends AllNames
      ? T['fields']
      : '*' extends NamesIn<F>
        ? T['fields']
        : Pick<T['fields'], NamesIn<F> & keyof T['fields']>
    : T['fields'],
  Q
>;

// ---- populate

/** Of each populated name what was asked of it; `{}` for everything that it shows by default. */
type Asked<T extends EntryType, Q> = Q extends { readonly populate: infer P }
  ? P extends string | readonly string[]
    ? { [K in '*' extends NamesIn<P> ? NestedName<T> : NamesIn<P> & NestedName<T>]: Defaults }
    : {
        [K in keyof P & NestedName<T> as P[K] extends false | undefined ? never : K]: P[K] extends true
          ? Defaults
          : P[K];
      }
  : Defaults;

type Defaults = Record<never, never>;

type ShownNested<T extends EntryType, Q, F extends Form> = {
  [K in keyof Asked<T, Q>]: Shown<NestedAt<T, K>, Asked<T, Q>[K], F>;
};

/** How a client's entries are written: `nested` as `{ id, attributes }`, `flat` with their attributes beside the id, as Strapi 5 does. */
export type EntryForm = 'nested' | 'flat';

/**
 * Of nested entries, users, files and what is inside of elements of polymorphic relations are bare all the same: attributes are
 * beside ids, and there is no `data`.
 */
type Form = EntryForm | 'bare';

type Wrapped<Value, F extends Form> = F extends 'nested' ? { data: Value } : Value;

type InMorph<F extends Form> = F extends 'flat' ? F : 'bare';

/** The value of a populated attribute. */
type Shown<N, Q, F extends Form> = N extends { readonly kind: 'one' | 'file' }
  ? Wrapped<AnyEntry<SingleTarget<N>, Q, F> | null, F>
  : N extends { readonly kind: 'many' }
    ? Wrapped<AnyEntry<SingleTarget<N>, Q, F>[], F>
    : N extends { readonly kind: 'files' | 'morphMany' }
      ? Wrapped<AnyEntry<SingleTarget<N>, Q, F>[] | null, F>
      : N extends { readonly kind: 'component' }
        ? Bare<SingleTarget<N>, Q, F> | null
        : N extends { readonly kind: 'components' }
          ? Bare<SingleTarget<N>, Q, F>[]
          : N extends { readonly kind: 'zone' }
            ? Mixed<TargetsOf<N>, Q, '__component', F>[]
            : N extends { readonly kind: 'morphToOne' }
              ? Mixed<TargetsOf<N>, Q, '__type', InMorph<F>> | null
              : Mixed<TargetsOf<N>, Q, '__type', InMorph<F>>[];

/** An element of several types: a union, told apart by the key that names its type. */
type Mixed<Types, Q, Key extends string, F extends Form> = {
  [U in MixedNames<Types, Q> & keyof Types]: Simple<
    { [K in Key]: U } & (Key extends '__type' ? Named<F> : unknown) &
      Bare<Extract<Types[U], EntryType>, OptionsOn<Q, U>, F>
  >;
}[MixedNames<Types, Q> & keyof Types];

type MixedNames<Types, Q> = Q extends { readonly on: infer On }
  ? keyof { [U in keyof On as On[U] extends false | undefined ? never : U]: true }
  : keyof Types;

type OptionsOn<Q, U> = Q extends { readonly on: infer On }
  ? U extends keyof On
    ? On[U] extends true
      ? Defaults
      : On[U]
    : never
  : Q;

/** An object with its id among its attributes, as components and the elements of polymorphic relations are. */
type Bare<T extends EntryType, Q, F extends Form> = Simple<{ id: number } & ShownFields<T, Q> & ShownNested<T, Q, F>>;

// ---- entries

type AnyEntry<T extends EntryType, Q, F extends Form> = F extends 'nested'
  ? { id: number; attributes: Simple<ShownFields<T, Q> & ShownNested<T, Q, F>> }
  : Simple<Named<F> & Bare<T, Q, F>>;

/** Entries of the flat form have a second name, the id as text. */
type Named<F extends Form> = F extends 'flat' ? { documentId: `${number}` } : unknown;

export type Entry<T extends EntryType, Q = Defaults, F extends EntryForm = 'nested'> = AnyEntry<T, Q, F>;

/** Users and files have endpoints of their own, which answer with bare objects. */
export type BareEntry<T extends EntryType, Q = Defaults> = Bare<T, Q, 'bare'>;

/** Entries in another locale are answered without an envelope. */
export type LocalizedEntry<T extends EntryType, F extends EntryForm> = AnyEntry<T, Defaults, InMorph<F>>;

export interface PageMeta {
  readonly page: number;
  readonly pageSize: number;
  readonly pageCount: number;
  readonly total: number;
}

export interface OffsetMeta {
  readonly start: number;
  readonly limit: number;
  readonly total: number;
}

type Counted<Meta, P> = P extends { readonly withCount: false } ? Omit<Meta, 'total' | 'pageCount'> : Meta;

type PaginationOf<Q> = Q extends { readonly pagination: infer P }
  ? P extends { readonly start: number } | { readonly limit: number }
    ? Counted<OffsetMeta, P>
    : Counted<PageMeta, P>
  : PageMeta;

export interface Answered {
  /** For `ifNoneMatch`, and of one entry for `ifMatch`. */
  readonly etag: string | null;
  /** Parts of the request that the server ignored, if it is lenient. */
  readonly ignored: readonly string[];
}

export interface EntryList<T extends EntryType, Q, F extends EntryForm = 'nested'> extends Answered {
  readonly data: Entry<T, Q, F>[];
  readonly meta: { readonly pagination: Simple<PaginationOf<Q>> };
}

export interface OneEntry<T extends EntryType, Q, F extends EntryForm = 'nested'> extends Answered {
  readonly data: Entry<T, Q, F>;
  readonly meta: Record<string, never>;
}
