/** Finds the schema files of a project and reads each by itself; check.ts checks them against each other. */
import fs from 'node:fs';
import path from 'node:path';
import kebabCase from 'lodash/kebabCase.js';
import { nearest, orNearest } from '../errors.js';
import { builtinSchemas } from './builtin.js';
import { type AttributeContext, noteContradictions } from './contradictions.js';
import type { CustomFields } from './custom-fields.js';
import type { EntryType, Uid } from './model.js';
import { type FileNotes, notesOf, type SchemaNotes } from './notes.js';
import { isProjectFolder } from './project-folder.js';
import {
  type DeclaredAttribute,
  isJsonObject,
  type JsonObject,
  mustBe,
  newKeys,
  readAttribute,
  readLocalized,
} from './schema.js';
import { columnName } from './storage.js';
import { systemAttributes } from './system.js';

/** A content type or component as its schema file declares it. */
export interface Draft {
  readonly uid: Uid;
  /** Relative to the project folder. */
  readonly file: string;
  readonly kind: EntryType['kind'];
  readonly origin: EntryType['origin'];
  readonly table: string;
  readonly singular: string;
  readonly plural: string;
  readonly displayName: string;
  readonly description: string | null;
  readonly draftAndPublish: boolean;
  readonly populateCreatorFields: boolean;
  readonly privateAttributes: readonly string[];
  readonly localized: boolean;
  readonly attributes: ReadonlyMap<string, DeclaredAttribute>;
  /** Attributes with a fault. They exist, so references to them are not reported. */
  readonly faulty: ReadonlySet<string>;
}
export type Drafts = ReadonlyMap<Uid, Draft>;

export interface ReadFiles {
  /** In v4's order: built-in types, content types by folder, components. */
  readonly drafts: Drafts;
  /** Types of files that could not be read. They exist, so references to them are not reported. */
  readonly unread: ReadonlySet<Uid>;
}

/** Reads every schema file below a project folder. @param customFields those of its configuration. */
export const readSchemaFiles = (projectDir: string, customFields: CustomFields, notes: SchemaNotes): ReadFiles => {
  const drafts = new Map<Uid, Draft>();
  const unread = new Set<Uid>();
  const add = (draft: Draft): void => {
    const known = drafts.get(draft.uid);
    if (known?.origin === 'project')
      notesOf(draft.file, notes).fault('', `"${draft.uid}" is already defined in ${known.file}`);
    drafts.set(draft.uid, draft);
  };
  for (const [uid, schema] of builtinSchemas) {
    const [, namespace = '', owner = '', name = ''] = /^(.*::)(?:(.*)\.)?(.*)$/.exec(uid) ?? [];
    const found: FoundFile = { namespace, owner, name, file: 'built-in', form: 'extension' };
    add(readContentType(found, schema, customFields, notesOf(found.file, notes)));
  }
  const files = findSchemaFiles(projectDir, notes);
  for (const found of files) {
    const fileNotes = notesOf(found.file, notes);
    const json = readJson(path.join(projectDir, found.file), fileNotes);
    const draft =
      json && (found.form === 'component' ? readComponent : readContentType)(found, json, customFields, fileNotes);
    if (draft) add(draft);
    if (draft?.uid !== uidOf(found)) unread.add(uidOf(found));
  }
  if (!files.some((it) => it.form === 'api')) noteNoTypes(projectDir, notes);
  return { drafts, unread };
};

// ---- finding

interface FoundFile {
  /** `api::`, `plugin::`, `admin::`; empty for components. */
  readonly namespace: string;
  /** The folder of the API, plugin or category; empty for types of the administration. */
  readonly owner: string;
  /** The folder of the content type, or the file name without its extension. */
  readonly name: string;
  /** Relative to the project folder. */
  readonly file: string;
  readonly form: 'api' | 'extension' | 'component';
}

const uidOf = ({ namespace, owner, name }: Pick<FoundFile, 'namespace' | 'owner' | 'name'>): Uid =>
  `${namespace}${owner}${owner === '' ? '' : '.'}${name}`;

/** The folders in a folder, sorted; none if there is no such folder. */
export const foldersIn = (dir: string): readonly string[] =>
  fs.existsSync(dir)
    ? fs
        .readdirSync(dir, { withFileTypes: true })
        .filter((it) => it.isDirectory() && !it.name.startsWith('.'))
        .map((it) => it.name)
        .sort()
    : [];

const isKebabCase = (name: string): boolean => /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name);
/** v4 names APIs and content types after their folders, and what these hold after its files, in kebab case. */
export const kebabName = (folder: string): string => (isKebabCase(folder) ? folder : kebabCase(folder));

/** How the folders of a content type become its uid: names that v4 would not generate are left unchanged. */
export const folderNaming = (singularName: string | null): ((folder: string) => string) =>
  singularName === null || isKebabCase(singularName) ? kebabName : (folder) => folder;

const findSchemaFiles = (projectDir: string, notes: SchemaNotes): readonly FoundFile[] => {
  const found: FoundFile[] = [];
  const contentTypes = (root: string, form: 'api' | 'extension', namespace: string): void => {
    for (const owner of foldersIn(path.join(projectDir, root))) {
      for (const type of foldersIn(path.join(projectDir, root, owner, 'content-types'))) {
        const folder = path.join(root, owner, 'content-types', type);
        const file = path.join(folder, 'schema.json');
        if (fs.existsSync(path.join(projectDir, file))) found.push({ namespace, owner, name: type, file, form });
        else
          notesOf(folder, notes).fault(
            '',
            `has no schema.json${describeSchemaCode(path.join(projectDir, folder), 'schema')}`,
          );
      }
    }
  };
  contentTypes('src/api', 'api', 'api::');
  noteMisplaced(projectDir, notes);
  contentTypes('src/extensions', 'extension', 'plugin::');
  for (const category of foldersIn(path.join(projectDir, 'src/components'))) {
    const folder = path.join('src/components', category);
    for (const entry of fs.readdirSync(path.join(projectDir, folder)).sort()) {
      // component uids are lower-cased (ST1)
      if (entry.endsWith('.json'))
        found.push({
          namespace: '',
          owner: category.toLowerCase(),
          name: entry.slice(0, -5).toLowerCase(),
          file: path.join(folder, entry),
          form: 'component',
        });
      else if (/\.[cm]?[jt]s$/.test(entry))
        notesOf(path.join(folder, entry), notes).fault('', 'code is not run: write the component as JSON');
    }
  }
  return found;
};

/** Files that are one folder away from where they would be read. v4 does not read them either. */
const noteMisplaced = (projectDir: string, notes: SchemaNotes): void => {
  const warn = (file: string, message: string): void => notesOf(file, notes).warn('', `is not read${message}`);
  const own = 'content-types';
  for (const api of foldersIn(path.join(projectDir, 'src/api'))) {
    const folder = path.join('src/api', api);
    for (const name of foldersIn(path.join(projectDir, folder)))
      if (name !== own && nearest(name, [own])) warn(path.join(folder, name), `; did you mean "${own}"?`);
    for (const name of jsonFilesIn(path.join(projectDir, folder, own)))
      warn(path.join(folder, own, name), `: a content type has a folder of its own, ${own}/<name>/schema.json`);
    if (fs.existsSync(path.join(projectDir, folder, 'schema.json')))
      warn(path.join(folder, 'schema.json'), `: a content type is in ${own}/<name>/schema.json`);
  }
  for (const name of jsonFilesIn(path.join(projectDir, 'src/components')))
    warn(path.join('src/components', name), ': a component is in the folder of its category, <category>/<name>.json');
};

const jsonFilesIn = (dir: string): readonly string[] =>
  fs.existsSync(dir)
    ? fs
        .readdirSync(dir)
        .filter((it) => it.endsWith('.json'))
        .sort()
    : [];

const describeSchemaCode = (folder: string, name: string): string =>
  fs.readdirSync(folder).some((it) => /\.[cm]?[jt]s$/.test(it) && it.startsWith(`${name}.`))
    ? `; ${name} code is not run: write it as JSON`
    : '';

/** v4 starts without content types. */
const noteNoTypes = (projectDir: string, notes: SchemaNotes): void => {
  const none = 'no schema file src/api/*/content-types/*/schema.json';
  const fileNotes = notesOf(projectDir, notes);
  if (isProjectFolder(projectDir)) fileNotes.warn('', `${none}: only users, roles and files are served`);
  else fileNotes.fault('', `${none}; is this a project folder?`);
};

const readText = (file: string, notes: FileNotes): string | null => {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (fault) {
    notes.fault('', `cannot be read: ${(fault as Error).message}`);
    return null;
  }
};

const readJson = (file: string, notes: FileNotes): JsonObject | null => {
  const text = readText(file, notes);
  if (text === null) return null;
  try {
    // editors on Windows may write a byte order mark; v4 skips it
    const json: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    if (isJsonObject(json)) return json;
    notes.fault('', 'must contain an object');
  } catch (fault) {
    notes.fault('', `not valid JSON: ${(fault as Error).message}`);
  }
  return null;
};

// ---- reading one file

/** A part of a schema file that must be an object; empty if it is missing. */
const partOf = (json: JsonObject, key: string, notes: FileNotes, isNeeded: boolean): JsonObject => {
  const part = json[key];
  if (isJsonObject(part)) return part;
  if (part != null) notes.fault(key, mustBe('an object', part));
  else if (isNeeded) notes.fault(key, 'is missing');
  return {};
};

/** Keys of a schema file that v4 or its tools read. */
const fileKeys: readonly string[] = [
  ...['$schema', '__filename__', '__schema__', 'kind', 'collectionName', 'info', 'options', 'pluginOptions'],
  ...['attributes', 'config', 'connection', 'globalId', 'uid', 'apiName', 'plugin', 'category', 'modelName'],
  ...['modelType', 'tableName', 'indexes', 'foreignKeys', 'lifecycles', 'actions'],
];
const infoKeys: readonly string[] = [
  'singularName',
  'pluralName',
  'displayName',
  'description',
  'icon',
  'name',
  'mainField',
];
const optionKeys: readonly string[] = [
  'draftAndPublish',
  'populateCreatorFields',
  'privateAttributes',
  'timestamps',
  'increments',
  'comment',
  'reviewWorkflows',
];
/** Plugins of v4 itself; others have names of their own. */
const pluginNames: readonly string[] = ['i18n', 'content-manager', 'content-type-builder'];

const readContentType = (found: FoundFile, json: JsonObject, customFields: CustomFields, notes: FileNotes): Draft => {
  const { namespace, file, form } = found;
  const info = newKeys(partOf(json, 'info', notes, true), 'info', notes);
  info.noteUnknown(infoKeys);
  const hasInfo = isJsonObject(json['info']);
  const given = hasInfo ? info.string('singularName') : null;
  const named = folderNaming(given);
  const owner = named(found.owner);
  const name = named(found.name);
  const singular = given ?? name;
  const plural = (hasInfo ? info.string('pluralName') : null) ?? name;
  if (!isKebabCase(plural))
    notes.fault(
      'info.pluralName',
      `is "${plural}", but v4 takes lower-case letters, digits and hyphens only, as in "blog-posts"`,
    );
  if (singular !== name) notes.fault('info.singularName', `is "${singular}", but the folder is named "${name}"`);
  // v4 names the tables of plugins after both (ST1)
  const defaultTable = form === 'api' ? singular : `${owner}_${singular}`.toLowerCase();
  const keys = newKeys(json, '', notes);
  keys.noteUnknown(fileKeys);
  const type = {
    uid: uidOf({ namespace, owner, name: singular }),
    file,
    origin: form === 'api' ? 'project' : 'builtin',
    kind: readKind(json['kind'], notes),
    table: keys.optionalString('collectionName') ?? defaultTable,
    singular,
    plural,
    ...readNames(info.given, singular),
    ...readOptions(json, notes),
    localized: readLocalized(json, '', notes),
  } as const;
  newKeys(partOf(json, 'pluginOptions', notes, false), 'pluginOptions', notes).noteUnknown(pluginNames, 'plugins');
  const added = new Set(systemAttributes(type).map((it) => it.name));
  return {
    ...type,
    ...readAttributes(
      json,
      { draft: type.draftAndPublish, localized: type.localized, isComponent: false, customFields },
      added,
      notes,
    ),
  };
};

const kinds: readonly string[] = ['collectionType', 'singleType'];

/** v4 serves everything but `singleType` as a collection. */
const readKind = (kind: unknown, notes: FileNotes): 'collection' | 'single' => {
  if (kind === undefined) notes.warn('kind', 'is missing; treated as "collectionType", as in v4');
  else if (typeof kind !== 'string' || !kinds.includes(kind))
    notes.warn(
      'kind',
      `${JSON.stringify(kind)} is treated as "collectionType", as in v4${orNearest(String(kind), kinds)}`,
    );
  return kind === 'singleType' ? 'single' : 'collection';
};

/** How people call the type; v4 does not check these. */
const readNames = (
  { displayName, name, description }: JsonObject,
  singular: string,
): Pick<Draft, 'displayName' | 'description'> => ({
  displayName: [displayName, name].find((it): it is string => typeof it === 'string' && it !== '') ?? singular,
  description: typeof description === 'string' && description !== '' ? description : null,
});

const readOptions = (json: JsonObject, notes: FileNotes) => {
  const options = newKeys(partOf(json, 'options', notes, false), 'options', notes);
  options.noteUnknown(optionKeys);
  return {
    draftAndPublish: options.flag('draftAndPublish', 'exactly true'),
    populateCreatorFields: options.flag('populateCreatorFields'),
    privateAttributes: options.optionalStrings('privateAttributes'),
  };
};

const readComponent = (found: FoundFile, json: JsonObject, customFields: CustomFields, notes: FileNotes): Draft => {
  const { name: singular, file } = found;
  const uid = uidOf(found);
  const keys = newKeys(json, '', notes);
  keys.noteUnknown(fileKeys);
  const info = isJsonObject(json['info']) ? json['info'] : {};
  newKeys(info, 'info', notes).noteUnknown(infoKeys);
  const table = keys.string('collectionName') ?? uid;
  const { populateCreatorFields, privateAttributes } = readOptions(json, notes);
  return {
    uid,
    file,
    origin: 'project',
    kind: 'component',
    table,
    singular,
    plural: singular,
    ...readNames(info, singular),
    draftAndPublish: false,
    populateCreatorFields,
    privateAttributes,
    localized: false,
    ...readAttributes(json, { draft: false, localized: false, isComponent: true, customFields }, new Set(), notes),
  };
};

const reservedNames: readonly string[] = ['id', '__proto__', 'constructor', 'prototype', '__component', '__type'];

const readAttributes = (
  json: JsonObject,
  context: Omit<AttributeContext, 'place'> & { readonly customFields: CustomFields },
  added: ReadonlySet<string>,
  notes: FileNotes,
): Pick<Draft, 'attributes' | 'faulty'> => {
  const attributes = new Map<string, DeclaredAttribute>();
  const faulty = new Set<string>();
  for (const [name, value] of Object.entries(partOf(json, 'attributes', notes, true))) {
    const place = `attributes.${name}`;
    if (added.has(name)) {
      // v4 writes a definition of localizations itself
      if (name !== 'localizations')
        notes.warn(place, `"${name}" is added by the server, as in v4: this definition has no effect`);
      continue;
    }
    const attribute = readAttribute(value, place, context.customFields, notes);
    if (attribute) {
      attributes.set(name, attribute);
      noteContradictions(attribute, { ...context, place }, notes);
    } else faulty.add(name);
    // column names keep only letters and digits
    if (columnName(name) === '') notes.fault(place, 'a name needs at least one letter or digit');
    if (reservedNames.includes(name)) notes.fault(place, `"${name}" is reserved`);
  }
  return { attributes, faulty };
};
