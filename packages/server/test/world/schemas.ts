/** Projects of a few schema files, made and loaded for one test. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { formatNote, type LoadedModel, loadModel } from '../../src/model/load.js';
import type { Model } from '../../src/model/model.js';

export type Json = Record<string, unknown>;
/** Contents by path; an object is written as JSON, a text as it is. */
export type Files = Readonly<Record<string, unknown>>;

export const typeFile = (name: string): string => `src/api/${name}/content-types/${name}/schema.json`;
export const contentType = (name: string, attributes: Json, changes: Json = {}): Json => ({
  kind: 'collectionType',
  collectionName: `${name}s`,
  info: { singularName: name, pluralName: `${name}s`, displayName: name },
  options: {},
  attributes,
  ...changes,
});
export const component = (table: string, attributes: Json): Json => ({ collectionName: table, info: {}, attributes });

/** A valid project; tests add to it and change it. */
export const sound: Files = {
  [typeFile('book')]: contentType('book', {
    title: { type: 'string' },
    author: { type: 'relation', relation: 'manyToOne', target: 'api::author.author', inversedBy: 'books' },
    seo: { type: 'component', component: 'shared.seo' },
  }),
  [typeFile('author')]: contentType('author', {
    name: { type: 'string' },
    books: { type: 'relation', relation: 'oneToMany', target: 'api::book.book', mappedBy: 'author' },
  }),
  'src/components/shared/seo.json': component('components_shared_seos', { title: { type: 'string' } }),
};

/** The valid project with one more content type `thing` that has these attributes. */
export const withThing = (attributes: Json, changes: Json = {}): Files => ({
  ...sound,
  [typeFile('thing')]: contentType('thing', attributes, changes),
});

export const toAuthor = (changes: Json): Json => ({
  type: 'relation',
  relation: 'manyToOne',
  target: 'api::author.author',
  ...changes,
});

export const writeFiles = (dir: string, files: Files): void => {
  for (const [file, content] of Object.entries(files)) {
    fs.mkdirSync(path.join(dir, path.dirname(file)), { recursive: true });
    fs.writeFileSync(path.join(dir, file), typeof content === 'string' ? content : JSON.stringify(content));
  }
};

export const load = (files: Files): LoadedModel => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-model-'));
  try {
    writeFiles(dir, files);
    return loadModel(dir);
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
};

const withoutFaults = (loaded: LoadedModel): Model => {
  if (!loaded.ok) throw new Error(loaded.faults.map(formatNote).join('\n'));
  return loaded.model;
};

export const modelOf = (files: Files): Model => withoutFaults(load(files));

/** The model of a project folder; its schema files have no faults. */
export const modelIn = (dir: string): Model => withoutFaults(loadModel(dir));
