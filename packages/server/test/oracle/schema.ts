/**
 * A random project: its content types and components as the oracle understands them, and the same as schema files. The
 * oracle does not depend on how the loader reads the files.
 */
import fs from 'node:fs';
import path from 'node:path';
import type { Random } from './random.js';
import type { ScalarName } from './values.js';

export const FILES = 'plugin::upload.file';

export interface ScalarSpec {
  readonly kind: 'scalar';
  readonly name: string;
  readonly type: ScalarName;
  /** Never shown, filtered or sorted by. */
  readonly hidden: boolean;
  readonly searchable: boolean;
}

export type RelationName = 'oneToOne' | 'oneToMany' | 'manyToOne' | 'manyToMany';

export interface LinkSpec {
  readonly kind: 'link';
  readonly name: string;
  /** `morph`: `morphOne` and `morphMany`. */
  readonly source: 'relation' | 'media' | 'morph';
  readonly shape: 'one' | 'many';
  readonly target: string;
  readonly hidden: boolean;
  readonly relation: RelationName;
  /** Owner and attribute that store these links, seen from this side: `api::a.a author`. */
  readonly links: string;
  readonly side: 'owner' | 'inverse';
  /**
   * `column`: a join column of the owner; `table`: a link table; `field`: links of a polymorphic relation that name the
   * attribute, as those of files do; `type`: those that name the type only.
   */
  readonly storage: 'column' | 'table' | 'field' | 'type';
  readonly inverse: string | null;
}

export interface PartSpec {
  readonly kind: 'part';
  readonly name: string;
  readonly shape: 'one' | 'many' | 'zone';
  readonly components: readonly string[];
  readonly hidden: boolean;
}

/** A polymorphic relation: `morphToOne` or `morphToMany`. */
export interface MorphSpec {
  readonly kind: 'morph';
  readonly name: string;
  readonly shape: 'one' | 'many';
  readonly hidden: boolean;
}

export type AttributeSpec = ScalarSpec | LinkSpec | PartSpec | MorphSpec;

export const morphKey = (uid: string, name: string): string => `${uid} ${name}`;
/** The relation of a file to the entries that use it. */
export const RELATED = morphKey(FILES, 'related');

export interface TypeSpec {
  readonly uid: string;
  readonly kind: 'collection' | 'single' | 'component' | 'files';
  readonly singular: string;
  readonly plural: string;
  readonly draftAndPublish: boolean;
  readonly localized: boolean;
  /** The public role may find it; components and files need no permission. */
  readonly findable: boolean;
  readonly attributes: ReadonlyMap<string, AttributeSpec>;
}

export interface ProjectSpec {
  readonly types: ReadonlyMap<string, TypeSpec>;
  /** Schema files by their path in the project folder. */
  readonly files: ReadonlyMap<string, object>;
}

const scalarNames = [
  'title',
  'body2',
  'metaTitle',
  'order',
  'group',
  'userIDs',
  'url2x',
  'select',
  'isO2',
  'kebab-name',
  'from',
  'value',
  'H1',
  'éTat',
  'x1y2',
  'name',
];
const linkNames = [
  'author',
  'tags',
  'parent',
  'user',
  'peers',
  'owner-of',
  'linkTo',
  'items2',
  'next',
  'where',
  'Ref',
  'mates',
];
// names of their own: shared options mean something else to them
const morphNames = ['things', 'subject7', 'any-of'];
const mediaNames = ['cover', 'gallery', 'icon9'];
const partNames = ['seo', 'blocks2', 'hero', 'rows', 'zone', 'extra'];
const scalarTypes: readonly ScalarName[] = [
  'string',
  'string',
  'text',
  'richtext',
  'enumeration',
  'email',
  'password',
  'uid',
  'date',
  'time',
  'datetime',
  'timestamp',
  'integer',
  'integer',
  'biginteger',
  'float',
  'decimal',
  'boolean',
  'json',
  'array',
  'blocks',
];

/** A type while its attributes are being collected. */
interface Draft extends Omit<TypeSpec, 'attributes'> {
  readonly attributes: Map<string, AttributeSpec>;
  readonly json: Record<string, object>;
  readonly privateNames: string[];
  readonly free: { scalar: string[]; link: string[]; media: string[]; part: string[]; morph: string[] };
}

export const anyProject = (random: Random): ProjectSpec => {
  const contentTypes: Draft[] = [];
  const components: Draft[] = [];
  for (let i = 0, count = random.between(1, 4); i < count; i++) components.push(componentDraft(i, random));
  for (let i = 0, count = random.between(2, 4); i < count; i++)
    contentTypes.push(contentTypeDraft(i, 'collection', true, random));
  if (random.chance(0.5)) contentTypes.push(contentTypeDraft(contentTypes.length, 'single', true, random));
  if (random.chance(0.6)) contentTypes.push(contentTypeDraft(contentTypes.length, 'collection', false, random));
  for (const draft of [...components, ...contentTypes]) addScalars(draft, random);
  // a component contains only earlier ones, so there are no cycles
  components.forEach((draft, i) => {
    addParts(draft, components.slice(0, i), random);
  });
  for (const draft of contentTypes) addParts(draft, components, random);
  for (const draft of [...components, ...contentTypes]) addMedia(draft, random);
  const collections = contentTypes.filter((it) => it.kind === 'collection');
  for (const draft of contentTypes) {
    for (let i = 0, count = random.between(1, 3); i < count; i++) addRelation(draft, random.pick(contentTypes), random);
  }
  addRelation(collections[0]!, collections[0]!, random);
  for (const draft of components) if (random.chance(0.7)) addRelation(draft, random.pick(collections), random);
  for (const draft of [...components, ...contentTypes]) if (random.chance(0.35)) addMorph(draft, contentTypes, random);
  for (const draft of contentTypes) addSystem(draft, random);
  const types = new Map<string, TypeSpec>([...contentTypes, ...components, filesSpec()].map((it) => [it.uid, it]));
  return { types, files: new Map([...contentTypes, ...components].map((it) => [fileOf(it), schemaOf(it, random)])) };
};

const newDraft = (head: Omit<TypeSpec, 'attributes'>, random: Random): Draft => ({
  ...head,
  attributes: new Map(),
  json: {},
  privateNames: [],
  free: {
    scalar: random.shuffle(scalarNames),
    link: random.shuffle(linkNames),
    media: random.shuffle(mediaNames),
    part: random.shuffle(partNames),
    morph: random.shuffle(morphNames),
  },
});

const contentTypeDraft = (i: number, kind: 'collection' | 'single', findable: boolean, random: Random): Draft => {
  const singular = ['article', 'page-kind', 'order', 'tag-item2', 'site', 'vault'][i]!;
  return newDraft(
    {
      uid: `api::${singular}.${singular}`,
      kind,
      singular,
      plural: `${singular}s`,
      draftAndPublish: random.chance(0.45),
      localized: random.chance(0.25),
      findable,
    },
    random,
  );
};

const componentDraft = (i: number, random: Random): Draft => {
  // one component has the name of a content type: its link tables need an `inv_` column
  const singular = ['box', 'article', 'link-list', 'deep2'][i]!;
  const uid = `${i % 2 === 0 ? 'parts' : 'page-bits'}.${singular}`;
  return newDraft(
    { uid, kind: 'component', singular, plural: singular, draftAndPublish: false, localized: false, findable: true },
    random,
  );
};

const add = (draft: Draft, spec: AttributeSpec, json: object): void => {
  draft.attributes.set(spec.name, spec);
  draft.json[spec.name] = json;
};

/** Sometimes hides an attribute, by its own flag or by the list of its type. */
const anyPrivacy = (draft: Draft, name: string, random: Random): { hidden: boolean; json: object } => {
  if (random.chance(0.04)) {
    draft.privateNames.push(name);
    return { hidden: true, json: {} };
  }
  return random.chance(0.08) ? { hidden: true, json: { private: true } } : { hidden: false, json: {} };
};

const addScalars = (draft: Draft, random: Random): void => {
  for (let i = 0, count = random.between(2, 6); i < count; i++) {
    const name = draft.free.scalar.pop()!;
    const type = random.pick(scalarTypes);
    let { hidden, json } = anyPrivacy(draft, name, random);
    if (type === 'password') {
      if (!hidden && random.chance(0.5)) json = { private: false };
      hidden = true;
    }
    const searchable = !random.chance(0.1);
    if (!searchable) json = { ...json, searchable: false };
    if (type === 'enumeration') json = { ...json, enum: ['red', 'green', 'blue', 'Über'] };
    add(draft, { kind: 'scalar', name, type, hidden, searchable }, { type, ...json });
  }
};

const addParts = (draft: Draft, components: readonly Draft[], random: Random): void => {
  if (components.length === 0) return;
  const count = draft.kind === 'component' ? random.between(0, 2) : random.between(0, 3);
  for (let i = 0; i < count; i++) {
    const name = draft.free.part.pop()!;
    const { hidden, json } = anyPrivacy(draft, name, random);
    if (draft.kind !== 'component' && random.chance(0.5)) {
      const members = random.sample(components, random.between(1, 3)).map((it) => it.uid);
      add(
        draft,
        { kind: 'part', name, shape: 'zone', components: members, hidden },
        { type: 'dynamiczone', components: members, ...json },
      );
    } else {
      const component = random.pick(components).uid;
      const repeatable = random.chance(0.5);
      add(
        draft,
        { kind: 'part', name, shape: repeatable ? 'many' : 'one', components: [component], hidden },
        { type: 'component', component, repeatable, ...json },
      );
    }
  }
};

const addMedia = (draft: Draft, random: Random): void => {
  for (let i = 0, count = random.below(3); i < count; i++) {
    const name = draft.free.media.pop()!;
    const { hidden, json } = anyPrivacy(draft, name, random);
    const multiple = random.chance(0.5);
    add(
      draft,
      {
        kind: 'link',
        name,
        source: 'media',
        shape: multiple ? 'many' : 'one',
        target: FILES,
        hidden,
        relation: 'manyToMany',
        links: RELATED,
        side: 'inverse',
        storage: 'field',
        inverse: null,
      },
      { type: 'media', multiple, ...json },
    );
  }
};

const mirror: Readonly<Record<RelationName, RelationName>> = {
  oneToOne: 'oneToOne',
  oneToMany: 'manyToOne',
  manyToOne: 'oneToMany',
  manyToMany: 'manyToMany',
};
const shapeOf = (relation: RelationName): 'one' | 'many' =>
  relation === 'oneToMany' || relation === 'manyToMany' ? 'many' : 'one';

/** A relation with one side or two; the owner is the side that is added first. */
const addRelation = (owner: Draft, target: Draft, random: Random): void => {
  const both = owner.kind !== 'component' && random.chance(0.6);
  const relation = random.pick(
    both
      ? (['oneToOne', 'manyToOne', 'manyToMany'] as const)
      : (['oneToOne', 'oneToMany', 'manyToOne', 'manyToMany'] as const),
  );
  const name = owner.free.link.pop();
  const inverse = both ? target.free.link.pop() : undefined;
  if (name === undefined || (both && inverse === undefined)) return;
  const storage = shapeOf(relation) === 'one' && random.chance(0.3) ? 'column' : 'table';
  const links = `${owner.uid} ${name}`;
  const privacy = anyPrivacy(owner, name, random);
  add(
    owner,
    {
      kind: 'link',
      name,
      source: 'relation',
      shape: shapeOf(relation),
      target: target.uid,
      hidden: privacy.hidden,
      relation,
      links,
      side: 'owner',
      storage,
      inverse: inverse ?? null,
    },
    {
      type: 'relation',
      relation,
      target: target.uid,
      ...(inverse === undefined ? {} : { inversedBy: inverse }),
      ...(storage === 'column' ? { useJoinTable: false } : {}),
      ...privacy.json,
    },
  );
  if (inverse === undefined) return;
  const other = anyPrivacy(target, inverse, random);
  add(
    target,
    {
      kind: 'link',
      name: inverse,
      source: 'relation',
      shape: shapeOf(mirror[relation]),
      target: owner.uid,
      hidden: other.hidden,
      relation: mirror[relation],
      links,
      side: 'inverse',
      storage,
      inverse: name,
    },
    { type: 'relation', relation: mirror[relation], target: owner.uid, mappedBy: name, ...other.json },
  );
};

/** One or two polymorphic relations, each with some attributes that show their links from the other side. */
const addMorph = (holder: Draft, contentTypes: readonly Draft[], random: Random): void => {
  // two of the first kind would share their columns
  const shapes = random.pick([['one'], ['many'], ['one', 'many'], ['many', 'many']] as const);
  for (const shape of shapes) {
    const name = holder.free.morph.pop()!;
    const { hidden, json } = anyPrivacy(holder, name, random);
    add(
      holder,
      { kind: 'morph', name, shape, hidden },
      { type: 'relation', relation: shape === 'one' ? 'morphToOne' : 'morphToMany', ...json },
    );
    if (holder.kind === 'component') continue;
    for (const draft of random.sample(contentTypes, random.below(3))) {
      const inverse = draft.free.link.pop();
      if (inverse === undefined) continue;
      const seen = random.pick(['one', 'many'] as const);
      const privacy = anyPrivacy(draft, inverse, random);
      add(
        draft,
        {
          kind: 'link',
          name: inverse,
          source: 'morph',
          shape: seen,
          target: holder.uid,
          hidden: privacy.hidden,
          relation: 'manyToMany',
          links: morphKey(holder.uid, name),
          side: 'inverse',
          storage: shape === 'one' ? 'type' : 'field',
          inverse: null,
        },
        {
          type: 'relation',
          relation: seen === 'one' ? 'morphOne' : 'morphMany',
          target: holder.uid,
          morphBy: name,
          ...privacy.json,
        },
      );
    }
  }
};

/** Attributes that the server adds to every content type (ST1). */
const addSystem = (draft: Draft, random: Random): void => {
  const scalar = (name: string, type: ScalarName): void => {
    const hidden = random.chance(0.04);
    if (hidden) draft.privateNames.push(name);
    draft.attributes.set(name, { kind: 'scalar', name, type, hidden, searchable: false });
  };
  scalar('createdAt', 'datetime');
  scalar('updatedAt', 'datetime');
  if (draft.draftAndPublish) scalar('publishedAt', 'datetime');
  for (const name of ['createdBy', 'updatedBy']) draft.attributes.set(name, creator(draft.uid, name));
  if (!draft.localized) return;
  draft.attributes.set('locale', { kind: 'scalar', name: 'locale', type: 'string', hidden: false, searchable: false });
  draft.attributes.set('localizations', {
    kind: 'link',
    name: 'localizations',
    source: 'relation',
    shape: 'many',
    target: draft.uid,
    hidden: false,
    relation: 'oneToMany',
    links: `${draft.uid} localizations`,
    side: 'owner',
    storage: 'table',
    inverse: null,
  });
};

/** Creator fields are absent without a handler (rule Q9): names that select nothing. */
const creator = (uid: string, name: string): LinkSpec => ({
  kind: 'link',
  name,
  source: 'relation',
  shape: 'one',
  target: uid,
  hidden: true,
  relation: 'manyToOne',
  links: `${uid} ${name}`,
  side: 'owner',
  storage: 'column',
  inverse: null,
});

/** The file library (Q12): its visible attributes. */
const filesSpec = (): TypeSpec => {
  const scalars: readonly (readonly [string, ScalarName])[] = [
    ...['name', 'alternativeText', 'caption', 'hash', 'ext', 'mime', 'url', 'previewUrl', 'provider'].map(
      (name) => [name, 'string'] as const,
    ),
    ['width', 'integer'],
    ['height', 'integer'],
    ['formats', 'json'],
    ['size', 'decimal'],
    ['provider_metadata', 'json'],
    ['createdAt', 'datetime'],
    ['updatedAt', 'datetime'],
  ];
  const attributes = scalars.map(
    ([name, type]): AttributeSpec => ({ kind: 'scalar', name, type, hidden: false, searchable: true }),
  );
  return {
    uid: FILES,
    kind: 'files',
    singular: 'file',
    plural: 'files',
    draftAndPublish: false,
    localized: false,
    findable: true,
    attributes: new Map(
      [...attributes, { kind: 'morph', name: 'related', shape: 'many', hidden: false } as const].map((it) => [
        it.name,
        it,
      ]),
    ),
  };
};

const fileOf = ({ uid, kind, singular }: TypeSpec): string =>
  kind === 'component'
    ? `src/components/${uid.split('.')[0]}/${singular}.json`
    : `src/api/${singular}/content-types/${singular}/schema.json`;

const schemaOf = (draft: Draft, random: Random): object => {
  const options = draft.privateNames.length > 0 ? { privateAttributes: draft.privateNames } : {};
  if (draft.kind === 'component')
    return {
      collectionName: `components_${draft.uid.replace(/[.-]/g, '_')}s`,
      info: { displayName: draft.singular },
      options,
      attributes: draft.json,
    };
  return {
    kind: draft.kind === 'single' ? 'singleType' : 'collectionType',
    ...(random.chance(0.7) ? { collectionName: random.pick([`${draft.singular}s`, `Mixed-${draft.singular}`]) } : {}),
    info: { singularName: draft.singular, pluralName: draft.plural, displayName: draft.singular },
    options: { ...options, draftAndPublish: draft.draftAndPublish, populateCreatorFields: random.chance(0.1) },
    pluginOptions: draft.localized ? { i18n: { localized: true } } : {},
    attributes: draft.json,
  };
};

export const writeProject = (project: ProjectSpec, dir: string): void => {
  for (const [file, json] of project.files) {
    fs.mkdirSync(path.dirname(path.join(dir, file)), { recursive: true });
    fs.writeFileSync(path.join(dir, file), JSON.stringify(json, null, 2));
  }
};

/** Whether the public role sees an attribute at all (AC5). */
export const isVisible = (project: ProjectSpec, attribute: AttributeSpec): boolean => {
  if (attribute.hidden) return false;
  return attribute.kind !== 'link' || project.types.get(attribute.target)!.findable;
};

/** The types whose entries a polymorphic relation shows to the public role. */
export const shownByMorphs = (project: ProjectSpec): readonly TypeSpec[] =>
  [...project.types.values()].filter((it) => it.kind !== 'component' && it.findable);

export const attributesOf = (type: TypeSpec): readonly AttributeSpec[] => [...type.attributes.values()];

/** `id` can be requested like an attribute. */
export const idSpec: ScalarSpec = { kind: 'scalar', name: 'id', type: 'integer', hidden: false, searchable: false };
