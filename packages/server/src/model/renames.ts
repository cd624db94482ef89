/** The drafts of a project as they were before types and attributes got other names. */
import { never } from '../errors.js';
import type { Draft, Drafts } from './files.js';
import type { Uid } from './model.js';
import type { DeclaredAttribute } from './schema.js';

export interface Renames {
  readonly types: readonly TypeRename[];
  readonly attributes: readonly AttributeRename[];
}
/** A type that had another uid or another table; `to` is its uid in the schema files. */
export interface TypeRename {
  readonly from: Uid;
  readonly to: Uid;
  /** What it was stored as. */
  readonly table: string;
  readonly singular: string;
}
export interface AttributeRename {
  /** The uid in the schema files. */
  readonly type: Uid;
  readonly from: string;
  readonly to: string;
}

/** The same types and attributes in the same order, under their former names. */
export const undoRenames = (drafts: Drafts, renames: Renames): Drafts => {
  const former = (uid: Uid): Uid => renames.types.find((it) => it.to === uid)?.from ?? uid;
  const formerName = (type: Uid, attribute: string): string =>
    renames.attributes.find((it) => it.type === type && it.to === attribute)?.from ?? attribute;
  const names: Names = { former, formerName };
  return new Map(
    [...drafts.values()].map((draft) => {
      const undone = undoDraft(draft, renames, names);
      return [undone.uid, undone];
    }),
  );
};

interface Names {
  former(uid: Uid): Uid;
  formerName(type: Uid, attribute: string): string;
}

const undoDraft = (draft: Draft, { types }: Renames, names: Names): Draft => {
  const renamed = types.find((it) => it.to === draft.uid);
  return {
    ...draft,
    ...(renamed ? { uid: renamed.from, table: renamed.table, singular: renamed.singular } : {}),
    attributes: new Map(
      [...draft.attributes].map(([name, it]) => [names.formerName(draft.uid, name), undoAttribute(it, names)]),
    ),
  };
};

const undoAttribute = (declared: DeclaredAttribute, { former, formerName }: Names): DeclaredAttribute => {
  switch (declared.kind) {
    case 'scalar':
    case 'media':
    case 'morph':
      return declared;
    case 'relation': {
      const { target, inversedBy, mappedBy } = declared;
      return {
        ...declared,
        target: former(target),
        inversedBy: inversedBy && formerName(target, inversedBy),
        mappedBy: mappedBy && formerName(target, mappedBy),
      };
    }
    case 'morphInverse':
      return { ...declared, target: former(declared.target), morphBy: formerName(declared.target, declared.morphBy) };
    case 'component':
      return { ...declared, component: former(declared.component) };
    case 'zone':
      return { ...declared, components: declared.components.map(former) };
    default:
      return never(declared);
  }
};
