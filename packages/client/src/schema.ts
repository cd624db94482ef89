/**
 * The form of the types that `dovetail types` writes: what the client knows of a model. Types refer to each other by
 * name, so a model may be as circular as it likes.
 */

/** A content type or a component. */
export interface EntryType {
  readonly uid: string;
  /** What an entry shows without `populate`, by name. Password attributes and private ones are not among them. */
  readonly fields: object;
  /** What `populate` shows, by name. */
  readonly nested: object;
  /** Attributes that are written but never shown. */
  readonly secret: object;
  /** Names that a new entry must have. */
  readonly required: string;
  /** Names that the server sets itself. */
  readonly system: string;
  /** Names of dates and instants, which may be written and compared as `Date`s. */
  readonly dates: string;
  readonly drafts: boolean;
  readonly localized: boolean;
}

/** What `populate` shows under one name. */
export type Nested =
  | {
      readonly kind: 'one' | 'many' | 'morphMany' | 'file' | 'files' | 'component' | 'components';
      readonly to: EntryType;
    }
  | { readonly kind: 'zone' | 'morphToOne' | 'morphToMany'; readonly to: object };

export interface Schema {
  /** By the plural name of their paths. */
  readonly collections: object;
  /** By the singular name of their paths. */
  readonly singles: object;
  readonly user: EntryType;
  readonly file: EntryType;
}

/** The value of `key`, as an entry type. */
export type TypeAt<All, K extends keyof All> = All[K] extends EntryType ? All[K] : never;

export type FieldName<T extends EntryType> = keyof T['fields'] & string;
export type NestedName<T extends EntryType> = keyof T['nested'] & string;
export type NestedAt<T extends EntryType, K> = K extends keyof T['nested'] ? T['nested'][K] : never;

type KindOf<N> = N extends { readonly kind: infer Kind } ? Kind : never;
/** Links and components have entries of one type. */
export type SingleTarget<N> = N extends { readonly to: infer To extends EntryType } ? To : never;
/** The names whose attributes are of these kinds. */
export type NamesOfKind<T extends EntryType, Kinds extends Nested['kind']> = keyof {
  [K in keyof T['nested'] & string as KindOf<T['nested'][K]> extends Kinds ? K : never]: true;
} &
  string;
/** Zones and polymorphic relations have entries of several, by their uids. */
export type TargetsOf<N> = N extends { readonly to: infer To } ? To : never;
