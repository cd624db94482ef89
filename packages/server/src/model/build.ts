/** Drafts to a frozen `Model`. From here on only four kinds of attribute exist: scalar, link, part and morph. */
import { never } from '../errors.js';
import { isSecretType } from './attributes.js';
import type { Draft, Drafts } from './files.js';
import {
  type Attribute,
  type EntryType,
  FILE_UID,
  type LinkAttribute,
  type Model,
  type MorphAttribute,
  type PartAttribute,
  type ScalarAttribute,
} from './model.js';
import type { KeeperOf } from './relations.js';
import type {
  DeclaredAttribute,
  DeclaredMedia,
  DeclaredMorph,
  DeclaredMorphInverse,
  DeclaredRelation,
  DeclaredScalar,
} from './schema.js';
import {
  columnName,
  inverseJoinColumnPath,
  inversePath,
  joinColumn,
  joinColumnPath,
  linkTable,
  mediaPath,
  morphInversePath,
  morphManyPath,
  morphOnePath,
  ownerPath,
  partPath,
} from './storage.js';
import { systemAttributes } from './system.js';

/**
 * @param drafts without faults.
 * @param privateAttributes names hidden from all responses, on any type.
 */
export const buildModel = (drafts: Drafts, keeperOf: KeeperOf, privateAttributes: readonly string[]): Model => {
  const types = new Map(
    [...drafts].map(([uid, draft]) => [uid, buildType(draft, { drafts, keeperOf }, privateAttributes)]),
  );
  return deepFreeze({ types });
};

interface BuildContext {
  readonly drafts: Drafts;
  readonly keeperOf: KeeperOf;
}

const buildType = (draft: Draft, context: BuildContext, privateAttributes: readonly string[]): EntryType => {
  const attributes = new Map<string, Attribute>();
  const secret = new Set([...privateAttributes, ...draft.privateAttributes]);
  for (const [name, declared] of draft.attributes) {
    const hidden = declared.private === true || secret.has(name);
    const built = buildAttribute(draft, name, declared, hidden, context);
    if (built) attributes.set(name, built);
  }
  for (const it of systemAttributes(draft))
    attributes.set(it.name, { ...it, hidden: it.hidden || secret.has(it.name) });
  return {
    uid: draft.uid,
    kind: draft.kind,
    origin: draft.origin,
    table: draft.table,
    singular: draft.singular,
    plural: draft.plural,
    displayName: draft.displayName,
    description: draft.description,
    attributes,
    draftAndPublish: draft.draftAndPublish,
    keepsPublishedAt: false,
    populateCreatorFields: draft.populateCreatorFields,
    localized: draft.localized,
    shared: new Set([...draft.attributes].flatMap(([name, it]) => (isShared(draft, it) ? [name] : []))),
    indexes: [],
  };
};

/** Relations and uids are always an entry's own, whatever the schema file says. */
const isShared = ({ localized }: Draft, declared: DeclaredAttribute): boolean => {
  switch (declared.kind) {
    case 'relation':
    case 'morph':
    case 'morphInverse':
      return false;
    case 'scalar':
      return localized && !declared.localized && declared.type !== 'uid';
    case 'media':
    case 'component':
    case 'zone':
      return localized && !declared.localized;
    default:
      return never(declared);
  }
};

/** Null if the attribute is not served. */
const buildAttribute = (
  draft: Draft,
  name: string,
  declared: DeclaredAttribute,
  hidden: boolean,
  context: BuildContext,
): Attribute | null => {
  switch (declared.kind) {
    case 'scalar':
      return buildScalar(name, declared, hidden);
    case 'relation':
      return buildRelation(draft, name, declared, hidden, context);
    case 'media':
      return buildMedia(draft, name, declared, hidden);
    case 'component': {
      const { component, repeatable, min, max } = declared;
      return {
        ...partOf(draft, name, declared, hidden),
        shape: repeatable ? 'many' : 'one',
        components: [component],
        min,
        max,
      };
    }
    case 'zone': {
      const { components, min, max } = declared;
      return { ...partOf(draft, name, declared, hidden), shape: 'zone', components, min, max };
    }
    case 'morph':
      return {
        kind: 'morph',
        name,
        shape: declared.shape,
        hidden,
        required: declared.required,
        writable: declared.writable,
        path: morphPath(draft, name, declared),
      };
    case 'morphInverse':
      return buildMorphInverse(draft, name, declared, hidden, context);
    default:
      return never(declared);
  }
};

const buildScalar = (name: string, declared: DeclaredScalar, hidden: boolean): ScalarAttribute => ({
  kind: 'scalar',
  name,
  type: declared.type,
  column: columnName(name),
  hidden: hidden || isSecretType(declared.type),
  searchable: declared.searchable,
  customField: declared.customField,
  rules: declared.rules,
});

const buildMedia = (draft: Draft, name: string, declared: DeclaredMedia, hidden: boolean): LinkAttribute => ({
  ...inverseOfMorph,
  name,
  source: 'media',
  shape: declared.multiple ? 'many' : 'one',
  target: FILE_UID,
  hidden,
  required: declared.required,
  writable: declared.writable,
  path: mediaPath(draft.uid, name),
  allowedTypes: declared.allowedTypes,
});

/** What media, `morphOne` and `morphMany` have in common: links that another type's polymorphic relation stores. */
const inverseOfMorph = {
  kind: 'link',
  relation: 'manyToMany',
  side: 'inverse',
  inverse: null,
  inverseRank: null,
  allowedTypes: [],
} as const;

/** Null if the target is of a plugin that is not loaded. */
const buildMorphInverse = (
  draft: Draft,
  name: string,
  { target, morphBy, shape, required, writable }: DeclaredMorphInverse,
  hidden: boolean,
  { drafts }: BuildContext,
): LinkAttribute | null => {
  const holder = drafts.get(target);
  const declared = holder?.attributes.get(morphBy);
  if (!holder || declared?.kind !== 'morph') return null;
  const path = morphInversePath(morphPath(holder, morphBy, declared), draft.uid, name);
  return { ...inverseOfMorph, name, source: 'morph', shape, target, hidden, required, writable, path };
};

const morphPath = (draft: Draft, name: string, { shape }: DeclaredMorph): MorphAttribute['path'] =>
  shape === 'one' ? morphOnePath(draft.table) : morphManyPath(draft, name);

const partOf = (
  draft: Draft,
  name: string,
  { required, writable }: DeclaredAttribute,
  hidden: boolean,
): Pick<PartAttribute, 'kind' | 'name' | 'hidden' | 'required' | 'writable' | 'path'> => ({
  kind: 'part',
  name,
  hidden,
  required,
  writable,
  path: partPath(draft.table, name),
});

const buildRelation = (
  draft: Draft,
  name: string,
  declared: DeclaredRelation,
  hidden: boolean,
  { drafts, keeperOf }: BuildContext,
): LinkAttribute | null => {
  const target = drafts.get(declared.target);
  const kept = keeperOf(draft, name);
  if (!target || !kept) return null;
  const { relation, required, writable, inversedBy } = declared;
  const common = {
    kind: 'link',
    name,
    source: 'relation',
    relation,
    shape: relation === 'oneToMany' || relation === 'manyToMany' ? 'many' : 'one',
    target: target.uid,
    hidden,
    required,
    writable,
    allowedTypes: [],
  } as const;
  const { keeper, side } = kept;
  const isColumn = !keeper.declared.useJoinTable && /ToOne$/.test(keeper.declared.relation);
  if (side === 'inverse') {
    const inverse = { ...common, side, inverse: keeper.name } as const;
    if (isColumn)
      return { ...inverse, path: inverseJoinColumnPath(target.table, joinColumn(keeper.name)), inverseRank: null };
    const link = linkTable(target, keeper.name, draft, keeper.declared.relation, true);
    return { ...inverse, path: inversePath(link), inverseRank: link.ownerRank };
  }
  const owner = { ...common, side, inverse: inversedBy } as const;
  if (isColumn) return { ...owner, path: joinColumnPath(draft.table, joinColumn(name)), inverseRank: null };
  const link = linkTable(draft, name, target, relation, inversedBy !== null);
  return { ...owner, path: ownerPath(link), inverseRank: link.targetRank };
};

/** Freezes the values of maps and plain objects; the model is a tree, without cycles. */
const deepFreeze = <T>(value: T): T => {
  if (value === null || typeof value !== 'object' || Object.isFrozen(value)) return value;
  const members = value instanceof Map ? value.values() : Object.values(value);
  for (const member of members) deepFreeze(member);
  return Object.freeze(value);
};
