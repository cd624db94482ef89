/**
 * Schema files to `Model`. Every fault of every file is collected and reported at once: file, place in it, what is
 * wrong, the nearest known name. Below this file only three kinds of attribute exist: scalar, link and part.
 */
import fs from 'node:fs';
import path from 'node:path';
import type { z } from 'zod';
import { orNearest } from '../errors.js';
import { isScalarTypeName, isSecretType } from './attributes.js';
import { builtinSchemas } from './builtin.js';
import { contradictions } from './contradictions.js';
import {
  ADMIN_UID,
  type Attribute,
  type EntryType,
  FILE_UID,
  type LinkAttribute,
  type Model,
  type Morph,
  type RelationKind,
  type ScalarAttribute,
  systemScalar,
  type Uid,
} from './model.js';
import {
  type AttributeFile,
  attributeTypes,
  componentFileSchema,
  componentSchema,
  contentTypeSchema,
  mediaSchema,
  morphSchema,
  readRules,
  relationSchema,
  relations,
  type ScalarFile,
  type SchemaFile,
  type SchemaOptions,
  scalarSchema,
  zoneSchema,
} from './schema.js';
import {
  columnName,
  inverseJoinColumnPath,
  inversePath,
  joinColumn,
  joinColumnPath,
  linkTable,
  mediaPath,
  ownerPath,
  partPath,
} from './storage.js';

// ---- faults

/** Something wrong in a schema file. */
export interface SchemaFault {
  readonly file: string;
  /** Place in the file: `attributes.author.target`. */
  readonly place: string;
  readonly message: string;
}

export const sayFault = (fault: SchemaFault): string =>
  `${fault.file}${fault.place === '' ? '' : `: ${fault.place}`}: ${fault.message}`;

// ---- loading

interface Draft {
  readonly uid: Uid;
  readonly file: string;
  readonly kind: EntryType['kind'];
  readonly origin: EntryType['origin'];
  readonly table: string;
  readonly singular: string;
  readonly plural: string;
  readonly options: SchemaOptions;
  readonly localized: boolean;
  readonly attributes: ReadonlyMap<string, AttributeFile>;
  /** Attributes with a fault: they are there, so nobody who names them is at fault. */
  readonly faulty: ReadonlySet<string>;
}

export interface LoadOptions {
  /** Attribute names that no answer shows, of any type (configuration `api.responses.privateAttributes`). */
  readonly privateAttributes?: readonly string[];
}

export type LoadedModel =
  | { readonly ok: true; readonly model: Model }
  | { readonly ok: false; readonly faults: readonly SchemaFault[] };

/** Reads all schema files below a project folder. Faults are values; a folder without schema files is a fault too. */
export const loadModel = (projectDir: string, { privateAttributes = [] }: LoadOptions = {}): LoadedModel => {
  const faults: SchemaFault[] = [];
  const drafts = new Map<Uid, Draft>();
  // types of faulty files: they are there, so nobody who names them is at fault
  const unread = new Set<Uid>();
  const add = (draft: Draft): void => {
    const known = drafts.get(draft.uid);
    if (known && known.origin === 'project')
      faults.push({ file: draft.file, place: '', message: `"${draft.uid}" is defined in ${known.file} already` });
    drafts.set(draft.uid, draft);
  };
  for (const [uid, file] of builtinSchemas) add(contentTypeDraft(uid, 'built-in', 'builtin', file, faults));
  const files = findSchemaFiles(projectDir);
  for (const { uid, file, form } of files) {
    const json = readJson(path.join(projectDir, file), file, faults);
    const draft =
      json === undefined
        ? null
        : form === 'component'
          ? componentDraft(uid, file, json, faults)
          : readContentType(uid, file, json, form, faults);
    if (!draft || (form === 'api' && draft.uid !== uid)) unread.add(uid);
    if (draft) add(draft);
  }
  if (!files.some((it) => it.form === 'api')) {
    faults.push({
      file: projectDir,
      place: '',
      message: 'no schema file src/api/*/content-types/*/schema.json; is this a project folder?',
    });
  }
  checkNames(drafts, unread, faults);
  if (faults.length > 0) return { ok: false, faults };
  const types = new Map([...drafts.values()].map((draft) => [draft.uid, build(draft, drafts, privateAttributes)]));
  return { ok: true, model: deepFreeze({ types }) };
};

interface FoundFile {
  readonly uid: Uid;
  /** Relative to the project folder. */
  readonly file: string;
  readonly form: 'api' | 'extension' | 'component';
}

const listDir = (dir: string): readonly string[] => (fs.existsSync(dir) ? fs.readdirSync(dir).sort() : []);

const findSchemaFiles = (projectDir: string): readonly FoundFile[] => {
  const found: FoundFile[] = [];
  const contentTypes = (root: string, form: 'api' | 'extension', uidPrefix: string): void => {
    for (const owner of listDir(path.join(projectDir, root))) {
      for (const type of listDir(path.join(projectDir, root, owner, 'content-types'))) {
        const file = path.join(root, owner, 'content-types', type, 'schema.json');
        if (fs.existsSync(path.join(projectDir, file))) found.push({ uid: `${uidPrefix}${owner}.${type}`, file, form });
      }
    }
  };
  contentTypes('src/api', 'api', 'api::');
  contentTypes('src/extensions', 'extension', 'plugin::');
  for (const category of listDir(path.join(projectDir, 'src/components'))) {
    for (const entry of listDir(path.join(projectDir, 'src/components', category))) {
      // component uids are lower-cased (storage-layout 1.1)
      if (entry.endsWith('.json'))
        found.push({
          uid: `${category}.${entry.slice(0, -5)}`.toLowerCase(),
          file: path.join('src/components', category, entry),
          form: 'component',
        });
    }
  }
  return found;
};

const readJson = (absolute: string, file: string, faults: SchemaFault[]): unknown => {
  try {
    return JSON.parse(fs.readFileSync(absolute, 'utf8'));
  } catch (fault) {
    faults.push({ file, place: '', message: `not valid JSON: ${(fault as Error).message}` });
    return undefined;
  }
};

const report = (file: string, error: z.ZodError, prefix: string, faults: SchemaFault[]): void => {
  for (const it of error.issues)
    faults.push({
      file,
      place: [prefix, ...it.path.map(String)].filter((part) => part !== '').join('.'),
      message:
        it.code === 'invalid_value' ? `${it.message}${orNearest(String(it.input), it.values.map(String))}` : it.message,
    });
};

const readContentType = (
  uid: Uid,
  file: string,
  json: unknown,
  form: 'api' | 'extension',
  faults: SchemaFault[],
): Draft | null => {
  const parsed = contentTypeSchema.safeParse(json, { reportInput: true });
  if (!parsed.success) {
    report(file, parsed.error, '', faults);
    return null;
  }
  const [prefix, singular] = uid.split('.') as [string, string];
  if (form === 'api' && parsed.data.info.singularName !== singular) {
    faults.push({
      file,
      place: 'info.singularName',
      message: `is "${parsed.data.info.singularName}", but the folder is named "${singular}"`,
    });
  }
  return contentTypeDraft(
    `${prefix}.${parsed.data.info.singularName}`,
    file,
    form === 'api' ? 'project' : 'builtin',
    parsed.data,
    faults,
  );
};

const contentTypeDraft = (
  uid: Uid,
  file: string,
  origin: Draft['origin'],
  schema: SchemaFile,
  faults: SchemaFault[],
): Draft => ({
  uid,
  file,
  origin,
  kind: schema.kind === 'singleType' ? 'single' : 'collection',
  table: schema.collectionName ?? schema.info.singularName,
  singular: schema.info.singularName,
  plural: schema.info.pluralName,
  options: schema.options ?? {},
  localized: schema.pluginOptions?.i18n?.localized === true,
  ...readAttributes(file, schema.attributes, schema.options?.draftAndPublish === true, faults),
});

const componentDraft = (uid: Uid, file: string, json: unknown, faults: SchemaFault[]): Draft | null => {
  const parsed = componentFileSchema.safeParse(json, { reportInput: true });
  if (!parsed.success) {
    report(file, parsed.error, '', faults);
    return null;
  }
  const [, singular = uid] = uid.split('.');
  return {
    uid,
    file,
    origin: 'project',
    kind: 'component',
    table: parsed.data.collectionName,
    singular,
    plural: singular,
    options: parsed.data.options ?? {},
    localized: false,
    ...readAttributes(file, parsed.data.attributes, false, faults),
  };
};

const readAttributes = (
  file: string,
  given: Readonly<Record<string, unknown>>,
  draft: boolean,
  faults: SchemaFault[],
): Pick<Draft, 'attributes' | 'faulty'> => {
  const attributes = new Map<string, AttributeFile>();
  const faulty = new Set<string>();
  for (const [attribute, value] of Object.entries(given)) {
    const place = `attributes.${attribute}`;
    const parsed = schemaFor(value)?.safeParse(value, { reportInput: true });
    if (parsed?.success) {
      const it = parsed.data as AttributeFile;
      attributes.set(attribute, it);
      for (const [key, message] of contradictions(it, draft)) faults.push({ file, place: `${place}.${key}`, message });
    } else {
      faulty.add(attribute);
      if (parsed) report(file, parsed.error, place, faults);
      else faults.push({ file, place: `${place}.type`, message: sayUnknownType(value) });
    }
    // names become columns, by their letters and digits
    if (columnName(attribute) === '') faults.push({ file, place, message: 'a name needs a letter or a digit' });
    if (['id', '__proto__', 'constructor', 'prototype', '__component', '__type'].includes(attribute))
      faults.push({ file, place, message: `"${attribute}" is reserved` });
  }
  return { attributes, faulty };
};

const sayUnknownType = (value: unknown): string => {
  const type = String((value as { type?: unknown } | null)?.type);
  return type === 'customField'
    ? 'custom fields need the plain type that they store as, which their plugin names as its "type", such as "string"'
    : `"${type}" is not a type of attribute${orNearest(type, attributeTypes)}`;
};

/** Chooses by `type`, so that messages speak of that type alone. */
const schemaFor = (value: unknown): z.ZodType | null => {
  const { type, relation } = (value ?? {}) as { type?: unknown; relation?: unknown };
  switch (type) {
    case 'relation':
      return String(relation).startsWith('morph') ? morphSchema : relationSchema;
    case 'media':
      return mediaSchema;
    case 'component':
      return componentSchema;
    case 'dynamiczone':
      return zoneSchema;
    default:
      return typeof type === 'string' && isScalarTypeName(type) ? scalarSchema : null;
  }
};

/** Faults that show only when all files are known: tables, routes, targets, inverse sides, components. */
const checkNames = (drafts: ReadonlyMap<Uid, Draft>, unread: ReadonlySet<Uid>, faults: SchemaFault[]): void => {
  const contentUids = [...drafts.values()].filter((it) => it.kind !== 'component').map((it) => it.uid);
  const componentUids = [...drafts.values()].filter((it) => it.kind === 'component').map((it) => it.uid);
  const tables = new Map<string, Draft>();
  const routes = new Map<string, Draft>();
  for (const draft of drafts.values()) {
    const sameTable = tables.get(draft.table);
    if (sameTable)
      faults.push({
        file: draft.file,
        place: 'collectionName',
        message: `the table "${draft.table}" belongs to ${sameTable.uid} already`,
      });
    tables.set(draft.table, draft);
    if (draft.kind !== 'component' && draft.origin === 'project') {
      const route = draft.kind === 'single' ? draft.singular : draft.plural;
      const sameRoute = routes.get(route.toLowerCase());
      if (sameRoute)
        faults.push({
          file: draft.file,
          place: 'info',
          message: `the route /api/${route} belongs to ${sameRoute.uid} already`,
        });
      routes.set(route.toLowerCase(), draft);
    }
    const columns = new Map<string, string>([['id', 'id']]);
    for (const it of systemAttributes(draft)) {
      const { name } = it;
      // v4 lets its own definition of localizations win
      if (name === 'localizations') continue;
      columns.set(it.kind === 'scalar' ? it.column : joinColumn(name), name);
      if (isDeclared(draft, name))
        faults.push({
          file: draft.file,
          place: `attributes.${name}`,
          message: `"${name}" is added by the server and cannot be defined`,
        });
    }
    const checkComponent = (place: string, uid: string): void => {
      if (componentUids.includes(uid) || unread.has(uid)) return;
      const message = `there is no component "${uid}"${orNearest(uid, componentUids)}`;
      faults.push({ file: draft.file, place, message });
    };
    for (const [attribute, it] of draft.attributes) {
      const place = `attributes.${attribute}`;
      if (it.type === 'component') checkComponent(`${place}.component`, it.component as string);
      else if (it.type === 'dynamiczone') {
        (it.components as string[]).forEach((uid, position) => {
          checkComponent(`${place}.components.${position}`, uid);
        });
      } else if (it.type === 'relation') {
        if (isRelation(it) && !unread.has(it.target)) checkRelation(draft, attribute, it, drafts, contentUids, faults);
      } else if (it.type !== 'media') {
        const column = columnName(attribute);
        const same = columns.get(column);
        if (same !== undefined && same !== attribute)
          faults.push({ file: draft.file, place, message: `has the column "${column}", and so has "${same}"` });
        columns.set(column, attribute);
        const targetField = (it as { targetField?: string }).targetField;
        if (it.type === 'uid' && targetField !== undefined && !isDeclared(draft, targetField)) {
          faults.push({
            file: draft.file,
            place: `${place}.targetField`,
            message: `"${targetField}" is not an attribute${orNearest(targetField, draft.attributes.keys())}`,
          });
        }
      }
    }
  }
};

const isDeclared = ({ attributes, faulty }: Draft, name: string): boolean => attributes.has(name) || faulty.has(name);

type RelationFile = z.infer<typeof relationSchema>;
const isRelation = (it: AttributeFile): it is RelationFile =>
  it.type === 'relation' && (relations as readonly unknown[]).includes(it['relation']);

/** `oneToMany` is seen from the other side as `manyToOne`; the others are their own mirror. */
const mirror: Readonly<Record<RelationKind, RelationKind>> = {
  oneToOne: 'oneToOne',
  oneToMany: 'manyToOne',
  manyToOne: 'oneToMany',
  manyToMany: 'manyToMany',
};

const checkRelation = (
  draft: Draft,
  attribute: string,
  it: RelationFile,
  drafts: ReadonlyMap<Uid, Draft>,
  contentUids: readonly string[],
  faults: SchemaFault[],
): void => {
  const { file } = draft;
  const place = `attributes.${attribute}`;
  const target = drafts.get(it.target);
  if (!target || target.kind === 'component') {
    faults.push({
      file,
      place: `${place}.target`,
      message: `there is no content type "${it.target}"${orNearest(it.target, contentUids)}`,
    });
    return;
  }
  if (it.mappedBy && it.inversedBy) faults.push({ file, place, message: 'mappedBy and inversedBy exclude each other' });
  if (it.relation === 'oneToMany' && it.inversedBy)
    faults.push({
      file,
      place: `${place}.inversedBy`,
      message: 'the oneToMany side never owns a relation: use mappedBy here and inversedBy on the manyToOne side',
    });
  if (it.relation === 'manyToOne' && it.mappedBy)
    faults.push({
      file,
      place: `${place}.mappedBy`,
      message: 'the manyToOne side always owns a relation: use inversedBy here and mappedBy on the oneToMany side',
    });
  for (const [side, other] of [
    ['mappedBy', 'inversedBy'],
    ['inversedBy', 'mappedBy'],
  ] as const) {
    const named = it[side];
    if (!named) continue;
    const back = target.attributes.get(named);
    if (target.faulty.has(named)) continue;
    if (!back || !isRelation(back)) {
      const known = [...target.attributes].filter(([, value]) => isRelation(value)).map(([key]) => key);
      faults.push({
        file,
        place: `${place}.${side}`,
        message: `${it.target} has no relation "${named}"${orNearest(named, known)}`,
      });
    } else if (side === 'mappedBy') {
      if (back.target !== draft.uid)
        faults.push({
          file,
          place: `${place}.mappedBy`,
          message: `"${named}" of ${it.target} points to ${back.target}`,
        });
      if (back[other] !== attribute)
        faults.push({
          file,
          place: `${place}.mappedBy`,
          message: `"${named}" of ${it.target} needs "inversedBy": "${attribute}"`,
        });
      if (back.relation !== mirror[it.relation])
        faults.push({
          file,
          place: `${place}.relation`,
          message: `is ${it.relation}, but "${named}" of ${it.target} is ${back.relation}`,
        });
    } else if (back.target !== draft.uid) {
      faults.push({
        file,
        place: `${place}.inversedBy`,
        message: `"${named}" of ${it.target} points to ${back.target}`,
      });
    } else if (back.mappedBy && back.mappedBy !== attribute) {
      const message = `"${named}" of ${it.target} is mapped by "${back.mappedBy}"`;
      faults.push({ file, place: `${place}.inversedBy`, message });
    }
  }
};

// ---- building

const build = (draft: Draft, drafts: ReadonlyMap<Uid, Draft>, privateAttributes: readonly string[]): EntryType => {
  const attributes = new Map<string, Attribute>();
  const morphList: Morph[] = [];
  const secret = new Set([...privateAttributes, ...(draft.options.privateAttributes ?? [])]);
  const hidden = (attribute: string, it: { readonly private?: boolean | undefined }): boolean =>
    it.private === true || secret.has(attribute);
  for (const [attribute, it] of draft.attributes) {
    const built = buildAttribute(draft, attribute, it, drafts, hidden(attribute, it as { private?: boolean }));
    if (built === null) {
      if (it['relation'] === 'morphToOne' || it['relation'] === 'morphToMany')
        morphList.push({ name: attribute, shape: it['relation'] === 'morphToOne' ? 'one' : 'many' });
    } else attributes.set(attribute, built);
  }
  for (const it of systemAttributes(draft))
    attributes.set(it.name, it.kind === 'scalar' ? { ...it, hidden: secret.has(it.name) } : it);
  return {
    uid: draft.uid,
    kind: draft.kind,
    origin: draft.origin,
    table: draft.table,
    singular: draft.singular,
    plural: draft.plural,
    attributes,
    draftAndPublish: draft.kind !== 'component' && draft.options.draftAndPublish === true,
    populateCreatorFields: draft.options.populateCreatorFields === true,
    localized: draft.localized,
    morphs: morphList,
  };
};

const buildAttribute = (
  draft: Draft,
  attribute: string,
  it: AttributeFile,
  drafts: ReadonlyMap<Uid, Draft>,
  hidden: boolean,
): Attribute | null => {
  const common = { name: attribute, hidden, required: it.required === true };
  switch (it.type) {
    case 'media': {
      const media = it as z.infer<typeof mediaSchema>;
      const path = mediaPath(draft.uid, attribute);
      const shape = media.multiple === true ? 'many' : 'one';
      return {
        ...common,
        kind: 'link',
        source: 'media',
        relation: 'manyToMany',
        shape,
        target: FILE_UID,
        path,
        side: 'inverse',
        inverse: null,
        inverseRank: null,
        allowedTypes: media.allowedTypes ?? [],
      };
    }
    case 'component': {
      const component = it as z.infer<typeof componentSchema>;
      const path = partPath(draft.table, attribute);
      return {
        ...common,
        kind: 'part',
        shape: component.repeatable === true ? 'many' : 'one',
        components: [component.component],
        min: component.min ?? null,
        max: component.max ?? null,
        path,
      };
    }
    case 'dynamiczone': {
      const zone = it as z.infer<typeof zoneSchema>;
      return {
        ...common,
        kind: 'part',
        shape: 'zone',
        components: zone.components,
        min: zone.min ?? null,
        max: zone.max ?? null,
        path: partPath(draft.table, attribute),
      };
    }
    case 'relation':
      return isRelation(it) ? buildRelation(draft, attribute, it, drafts, hidden) : null;
    default:
      return buildScalar(attribute, it as ScalarFile, hidden);
  }
};

const buildScalar = (attribute: string, it: ScalarFile, hidden: boolean): ScalarAttribute => {
  const type = it.type as ScalarAttribute['type'];
  return {
    kind: 'scalar',
    name: attribute,
    type,
    column: columnName(attribute),
    hidden: hidden || (isSecretType(type) && it.private !== false),
    searchable: it.searchable !== false,
    rules: readRules(it),
  };
};

const buildRelation = (
  draft: Draft,
  attribute: string,
  it: RelationFile,
  drafts: ReadonlyMap<Uid, Draft>,
  hidden: boolean,
): LinkAttribute => {
  const target = drafts.get(it.target)!;
  const common = {
    kind: 'link',
    name: attribute,
    source: 'relation',
    relation: it.relation,
    shape: it.relation === 'oneToMany' || it.relation === 'manyToMany' ? 'many' : 'one',
    target: it.target,
    hidden,
    required: it.required === true,
    allowedTypes: [],
  } as const;
  if (it.mappedBy) {
    const owner = target.attributes.get(it.mappedBy) as RelationFile;
    const inverse = { ...common, side: 'inverse', inverse: it.mappedBy } as const;
    if (owner.useJoinTable === false)
      return { ...inverse, path: inverseJoinColumnPath(target.table, joinColumn(it.mappedBy)), inverseRank: null };
    const link = linkTable(target, it.mappedBy, draft, owner.relation, true);
    return { ...inverse, path: inversePath(link), inverseRank: link.ownerRank };
  }
  const owner = { ...common, side: 'owner', inverse: it.inversedBy ?? null } as const;
  if (it.useJoinTable === false && common.shape === 'one')
    return { ...owner, path: joinColumnPath(draft.table, joinColumn(attribute)), inverseRank: null };
  const link = linkTable(draft, attribute, target, it.relation, it.inversedBy != null);
  return { ...owner, path: ownerPath(link), inverseRank: link.targetRank };
};

/** What the server adds to a content type, in v4's order (storage-layout 1.1). */
const systemAttributes = (draft: Draft): readonly (ScalarAttribute | LinkAttribute)[] => {
  if (draft.kind === 'component') return [];
  const scalar = (name: string, type: ScalarAttribute['type']) => systemScalar(name, type, columnName(name));
  return [
    scalar('createdAt', 'datetime'),
    scalar('updatedAt', 'datetime'),
    ...(draft.options.draftAndPublish === true ? [scalar('publishedAt', 'datetime')] : []),
    creatorLink(draft, 'createdBy'),
    creatorLink(draft, 'updatedBy'),
    ...(draft.localized ? [scalar('locale', 'string'), localizations(draft)] : []),
  ];
};

const creatorLink = (draft: Draft, attribute: string): LinkAttribute => ({
  kind: 'link',
  name: attribute,
  source: 'creator',
  relation: 'manyToOne',
  shape: 'one',
  target: ADMIN_UID,
  hidden: true,
  required: false,
  path: joinColumnPath(draft.table, joinColumn(attribute)),
  side: 'owner',
  inverse: null,
  inverseRank: null,
  allowedTypes: [],
});

/** The siblings of a localized entry (storage-layout 5.5). */
const localizations = (draft: Draft): LinkAttribute => {
  const link = linkTable(draft, 'localizations', draft, 'oneToMany', false);
  return {
    ...creatorLink(draft, 'localizations'),
    source: 'relation',
    relation: 'oneToMany',
    shape: 'many',
    target: draft.uid,
    hidden: false,
    path: ownerPath(link),
  };
};

/** Freezes maps' values and plain objects; the model is a tree, so no cycle stops it. */
const deepFreeze = <T>(value: T): T => {
  if (value === null || typeof value !== 'object' || Object.isFrozen(value)) return value;
  const members = value instanceof Map ? value.values() : Object.values(value);
  for (const member of members) deepFreeze(member);
  return Object.freeze(value);
};
