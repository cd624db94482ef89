/** Determines which attribute stores the links of a relation, as v4 does, even if schema files contradict each other. */

import type { Draft, Drafts } from './files.js';
import type { RelationKind } from './model.js';
import type { DeclaredRelation } from './schema.js';

/** The attribute that a link table is named after, or that has the join column. */
export interface Keeper {
  readonly draft: Draft;
  readonly name: string;
  readonly declared: DeclaredRelation;
}
/** The links that an attribute shows: the keeper that stores them, and the side they are seen from. */
export interface KeeperSide {
  readonly keeper: Keeper;
  readonly side: 'owner' | 'inverse';
}
/** Null: no links are stored for the attribute, and v4 leaves it out of responses. */
export type KeeperOf = (draft: Draft, attribute: string) => KeeperSide | null;

/** v4 treats a side with both as the owner. */
export const isOwner = ({ inversedBy, mappedBy }: DeclaredRelation): boolean =>
  inversedBy !== null || mappedBy === null;

/**
 * v4 goes through all types in order: an owner keeps its links, and gives them to the attribute that it names in
 * `inversedBy`, whatever that says itself. The last one wins, so two owners that name each other share the links of the
 * later one, and one that names itself sees its links from the other side (ST3).
 */
export const pairRelations = (drafts: Drafts): KeeperOf => {
  const keepers = new Map<Draft, Map<string, KeeperSide>>();
  const keep = (draft: Draft, name: string, kept: KeeperSide): void => {
    keepers.set(draft, (keepers.get(draft) ?? new Map<string, KeeperSide>()).set(name, kept));
  };
  for (const draft of drafts.values()) {
    for (const [name, declared] of draft.attributes) {
      if (declared.kind !== 'relation' || !isOwner(declared)) continue;
      const keeper = { draft, name, declared };
      keep(draft, name, { keeper, side: 'owner' });
      const inverse = inverseOf(keeper, drafts);
      // otherwise the links would point to entries of another type
      if (inverse?.declared.target === draft.uid) keep(inverse.draft, inverse.name, { keeper, side: 'inverse' });
    }
  }
  return (draft, attribute) => keepers.get(draft)?.get(attribute) ?? null;
};

/** The relation that an owner names in `inversedBy`. */
const inverseOf = ({ declared: { target, inversedBy } }: Keeper, drafts: Drafts): Keeper | null => {
  const draft = drafts.get(target);
  const declared = inversedBy === null ? undefined : draft?.attributes.get(inversedBy);
  return draft && inversedBy !== null && declared?.kind === 'relation' ? { draft, name: inversedBy, declared } : null;
};

/** `oneToMany` is seen from the other side as `manyToOne`; the others are their own mirror. */
export const mirror: Readonly<Record<RelationKind, RelationKind>> = {
  oneToOne: 'oneToOne',
  oneToMany: 'manyToOne',
  manyToOne: 'oneToMany',
  manyToMany: 'manyToMany',
};
