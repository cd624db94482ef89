/** What writes take, by the model. */
import type { EntryType, NestedAt, NestedName, SingleTarget, TargetsOf } from './schema.js';

export type Id = number | `${number}`;

/** Exactly one of them. */
export type Position = OneOf<{ before: Id; after: Id; start: true; end: true }>;

type OneOf<T> = {
  [K in keyof T]: { readonly [P in K]: T[P] } & { readonly [P in Exclude<keyof T, K>]?: never };
}[keyof T];

type Ref = Id | { readonly id: Id };
type PlacedRef = Id | { readonly id: Id; readonly position?: Position };

type Changes<Listed, Connected> =
  | { readonly set: readonly Listed[] | null; readonly connect?: never; readonly disconnect?: never }
  | { readonly connect?: readonly Connected[]; readonly disconnect?: readonly Listed[]; readonly set?: never };

/** The list as it is to be, or changes of it. A connected entry goes to the end unless a position says otherwise. */
export type ToManyInput = readonly Ref[] | Changes<Ref, PlacedRef> | null;

export type ToOneInput = Ref | Changes<Ref, Ref> | null;

type MorphRef<Types> = { readonly id: Id; readonly __type: keyof Types & string };

export type MorphsInput<Types> = readonly MorphRef<Types>[] | Changes<MorphRef<Types>, MorphRef<Types>> | null;

/** A component with an `id` is changed, one without is new. */
export type ComponentInput<T extends EntryType> = ({ readonly id: Id } & Attributes<T>) | NewAttributes<T>;

type ZoneInput<Types> = {
  [U in keyof Types]: { readonly __component: U } & ComponentInput<Extract<Types[U], EntryType>>;
}[keyof Types];

type NestedInput<N> = N extends { readonly kind: 'one' }
  ? ToOneInput
  : N extends { readonly kind: 'many' | 'morphMany' }
    ? ToManyInput
    : N extends { readonly kind: 'file' }
      ? Ref | null
      : N extends { readonly kind: 'files' }
        ? readonly Ref[] | { readonly set: readonly Ref[] | null } | null
        : N extends { readonly kind: 'component' }
          ? ComponentInput<SingleTarget<N>> | null
          : N extends { readonly kind: 'components' }
            ? readonly ComponentInput<SingleTarget<N>>[] | null
            : N extends { readonly kind: 'zone' }
              ? readonly ZoneInput<TargetsOf<N>>[] | null
              : N extends { readonly kind: 'morphToOne' }
                ? MorphRef<TargetsOf<N>> | null
                : MorphsInput<TargetsOf<N>>;

type Attributes<T extends EntryType> = {
  readonly [K in Exclude<keyof T['fields'] & string, T['system']>]?:
    | T['fields'][K]
    | (K extends T['dates'] ? Date : never)
    | null;
} & { readonly [K in keyof T['secret']]?: T['secret'][K] | null } & {
  readonly [K in Exclude<NestedName<T>, T['system']>]?: NestedInput<NestedAt<T, K>>;
};

type NewAttributes<T extends EntryType> = Attributes<T> & {
  readonly [K in T['required']]-?: K extends keyof Attributes<T> ? NonNullable<Attributes<T>[K]> : never;
};

/** Null: a draft. A date or nothing: published. */
type Draftable<T extends EntryType> = T['drafts'] extends true
  ? { readonly publishedAt?: string | Date | null }
  : unknown;

type Localized<T extends EntryType> = T['localized'] extends true ? { readonly locale?: string } : unknown;

export type CreateInput<T extends EntryType> =
  | (NewAttributes<T> & Draftable<T> & Localized<T>)
  | (T['drafts'] extends true ? Attributes<T> & { readonly publishedAt: null } & Localized<T> : never);

export type UpdateInput<T extends EntryType> = Attributes<T> & Draftable<T>;

export type LocalizationInput<T extends EntryType> = Attributes<T> & Draftable<T> & { readonly locale: string };
