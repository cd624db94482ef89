/** What changed between two states of a project, in the words of its author. */
import fs from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Uid } from '../../model/model.js';
import { isJsonObject, type JsonObject } from '../../model/schema.js';
import type { Config, Environment } from '../config.js';

/** What is compared. */
export interface ProjectState {
  /** By file, here and below relative to the project folder, with forward slashes. */
  readonly schemas: ReadonlyMap<string, JsonObject>;
  readonly config: Config;
  readonly env: Environment;
  /** The files of all modules that the project's code consists of. */
  readonly code: ReadonlySet<string>;
}

export interface Difference {
  /** `article: + subtitle (string)`. */
  readonly text: string;
  /** What is declared no longer, and stays in the database: `article.subtitle`. */
  readonly kept?: readonly string[];
  /** A new type with paths, for which no role has a permission by itself: `api::article.article`. */
  readonly isNew?: Uid;
}

/** @param saved the files that were saved in between. */
export const differencesOf = (
  before: ProjectState,
  after: ProjectState,
  saved: ReadonlySet<string>,
): readonly Difference[] => [
  ...differencesOfSchemas(before, after),
  ...differencesOfCode(before.code, after.code, saved),
  ...differencesOfConfig(before.config, after.config),
  ...differencesOfEnvironment(before.env, after.env),
];

// ---- schema files

const SCHEMA_FILES = [
  'src/api/*/content-types/*/schema.json',
  'src/extensions/*/content-types/*/schema.json',
  'src/components/*/*.json',
];

/** The schema files of a project, all of which can be read. */
export const readSchemas = (dir: string): ReadonlyMap<string, JsonObject> => {
  const schemas = new Map<string, JsonObject>();
  for (const file of fs.globSync(SCHEMA_FILES, { cwd: dir }).sort()) {
    const json: unknown = JSON.parse(fs.readFileSync(path.join(dir, file), 'utf8').replace(/^\uFEFF/, ''));
    if (isJsonObject(json)) schemas.set(file.split(path.sep).join('/'), json);
  }
  return schemas;
};

const differencesOfSchemas = (before: ProjectState, after: ProjectState): readonly Difference[] => {
  const files = [...new Set([...before.schemas.keys(), ...after.schemas.keys()])];
  return files.flatMap((file): readonly Difference[] => {
    const [was, is] = [before.schemas.get(file), after.schemas.get(file)];
    const name = nameOf(file, is ?? was ?? {});
    const what = file.startsWith('src/components/') ? 'component' : 'type';
    if (!is) return [{ text: `${name}: ${what} removed`, kept: [name] }];
    if (!was) {
      if (!file.startsWith('src/api/')) return [{ text: `${name}: new ${what}` }];
      const text = `${name}: new type, ${after.config.api.rest.prefix}/${routeOf(is)}`;
      return [{ text, isNew: `api::${file.split('/')[2]}.${name}` }];
    }
    return differencesOfSchema(name, was, is);
  });
};

const differencesOfSchema = (name: string, was: JsonObject, is: JsonObject): readonly Difference[] => {
  const [old, now] = [objectAt(was, 'attributes'), objectAt(is, 'attributes')];
  const removed = Object.keys(old).filter((it) => !Object.hasOwn(now, it));
  const added = Object.keys(now).filter((it) => !Object.hasOwn(old, it));
  const words = [
    ...added.map((it) => `+ ${it} (${typeInWords(now[it])})`),
    ...removed.map((it) => `- ${it}`),
    ...Object.keys(now).flatMap((it) =>
      Object.hasOwn(old, it) && !isDeepStrictEqual(old[it], now[it])
        ? [`~ ${it} (${changeInWords(objectOf(old[it]), objectOf(now[it]))})`]
        : [],
    ),
    ...changedKeys({ ...was, attributes: null }, { ...is, attributes: null }),
  ];
  if (words.length === 0) return [];
  return [{ text: `${name}: ${words.join(', ')}`, kept: removed.map((it) => `${name}.${it}`) }];
};

/** `article`, `shared.seo`, `users-permissions.user`. */
const nameOf = (file: string, schema: JsonObject): string => {
  const [, place = '', owner = '', , type = ''] = file.split('/');
  if (place === 'components') return `${owner}.${path.posix.basename(file, '.json')}`;
  const { singularName } = objectAt(schema, 'info');
  const name = typeof singularName === 'string' ? singularName : type;
  return place === 'api' ? name : `${owner}.${name}`;
};

const routeOf = (schema: JsonObject): unknown => {
  const { singularName, pluralName } = objectAt(schema, 'info');
  return schema['kind'] === 'singleType' ? singularName : pluralName;
};

/** `string`; `relation to tag`; `component shared.seo, repeatable`. */
const typeInWords = (attribute: unknown): string => {
  const { type, target, component, repeatable, multiple, relation } = objectOf(attribute);
  switch (type) {
    case 'relation':
      return `${String(relation)}${typeof target === 'string' ? ` to ${target.split('.').at(-1)}` : ''}`;
    case 'component':
      return `component ${String(component)}${repeatable === true ? ', repeatable' : ''}`;
    case 'media':
      return multiple === true ? 'media, multiple' : 'media';
    case 'dynamiczone':
      return 'dynamic zone';
    default:
      return String(type);
  }
};

const changeInWords = (was: JsonObject, is: JsonObject): string => {
  const [before, after] = [typeInWords(was), typeInWords(is)];
  if (before !== after) return `${before} → ${after}`;
  return changedKeys(was, is).join(', ');
};

/** `required`, `not required`, `maxLength 80`, `enum`. */
const changedKeys = (was: JsonObject, is: JsonObject): readonly string[] =>
  [...new Set([...Object.keys(was), ...Object.keys(is)])].flatMap((key): readonly string[] => {
    const [before, after] = [was[key], is[key]];
    if (isDeepStrictEqual(before, after)) return [];
    if (isJsonObject(before ?? {}) && isJsonObject(after ?? {})) return changedKeys(objectOf(before), objectOf(after));
    if (after === true) return [key];
    if (after === false || (after === undefined && before === true)) return [`not ${key}`];
    if (after === undefined) return [`no ${key}`];
    return [typeof after === 'object' ? key : `${key} ${String(after)}`];
  });

const objectOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});
const objectAt = (json: JsonObject, key: string): JsonObject => objectOf(json[key]);

// ---- code, configuration, environment

const differencesOfCode = (
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
  saved: ReadonlySet<string>,
): readonly Difference[] =>
  [...new Set([...before, ...after])]
    .filter((file) => !/^dovetail\.config\./.test(file))
    .filter((file) => saved.has(file) || !before.has(file) || !after.has(file))
    .sort()
    .map((file) => ({ text: `${after.has(file) ? (before.has(file) ? '' : '+ ') : '- '}${file}` }));

const differencesOfConfig = (before: Config, after: Config): readonly Difference[] => {
  const texts: string[] = [];
  const compare = (was: unknown, is: unknown, place: string): void => {
    if (isDeepStrictEqual(was, is)) return;
    if (isJsonObject(was) && isJsonObject(is))
      for (const key of new Set([...Object.keys(was), ...Object.keys(is)]))
        compare(was[key], is[key], place === '' ? key : `${place}.${key}`);
    else texts.push(`${place} ${JSON.stringify(was)} → ${JSON.stringify(is)}`);
  };
  compare(before, after, '');
  return texts.map((it) => ({ text: `configuration: ${it}` }));
};

const differencesOfEnvironment = (before: Environment, after: Environment): readonly Difference[] => {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof Environment)[];
  return names
    .filter((name) => before[name] !== after[name])
    .map((name) => ({
      // most others are secret, or contain a password
      text: shown.has(name) ? `.env: ${name} ${before[name] ?? 'unset'} → ${after[name] ?? 'unset'}` : `.env: ${name}`,
    }));
};

const shown: ReadonlySet<keyof Environment> = new Set([
  'HOST',
  'PORT',
  'NODE_ENV',
  'LOG_LEVEL',
  'DATABASE_CLIENT',
  'DATABASE_FILENAME',
]);
