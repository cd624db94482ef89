/** Finds and loads the handlers of a project. */
import fs from 'node:fs';
import path from 'node:path';
import { nearest, orNearest } from '../errors.js';
import { foldersIn } from '../model/files.js';
import type { EntryType, Model, Uid } from '../model/model.js';
import type { SchemaNote } from '../model/notes.js';
import { type Handlers, handlerNames, hookNames } from './handlers.js';
import { importModule } from './modules.js';

export type HandlersByType = ReadonlyMap<Uid, Handlers>;

/** An invalid handler file; the message is for its author. */
export class HandlerFault extends Error {
  readonly file: string;
  /** The handler; empty for the whole file. */
  readonly place: string;
  /** Without the file. */
  readonly what: string;
  constructor(file: string, what: string, { place = '', ...options }: ErrorOptions & { readonly place?: string } = {}) {
    super(`${file}: ${what}`, options);
    this.file = file;
    this.place = place;
    this.what = what;
  }
}

/** A single type is created by its first update and read by `find`. */
const namesFor = ({ kind }: EntryType): readonly string[] => [
  ...handlerNames.filter((it) => kind !== 'single' || (it !== 'findOne' && it !== 'create')),
  ...hookNames,
];

const fileNames: readonly string[] = ['handlers.ts', 'handlers.js', 'handlers.mjs'];

/** Files that are probably meant to be handlers, in folders that have none. */
export const misnamedHandlers = (projectDir: string): readonly SchemaNote[] =>
  foldersIn(path.join(projectDir, 'src/api')).flatMap((api) => {
    const folder = path.join('src/api', api);
    const names = fs.readdirSync(path.join(projectDir, folder));
    if (names.some((it) => fileNames.includes(it))) return [];
    return names.flatMap((name) => {
      const [, stem, language] = /^(.+)\.[cm]?([jt]s)$/.exec(name) ?? [];
      if (stem === undefined || nearest(stem, ['handlers']) === undefined) return [];
      const message = `is not read as handlers; did you mean "handlers.${language}"?`;
      return [{ file: path.join(folder, name), place: '', message }];
    });
  });

/** `src/api/<name>/handlers.ts` belongs to the content type of that name, or to the only one in the folder. */
export const loadHandlers = async (projectDir: string, model: Model): Promise<HandlersByType> => {
  const found = new Map<Uid, Handlers>();
  const apis = path.join(projectDir, 'src/api');
  for (const api of fs.existsSync(apis) ? fs.readdirSync(apis).sort() : []) {
    const file = fileNames.map((it) => path.join(apis, api, it)).find((it) => fs.existsSync(it));
    if (file === undefined) continue;
    const uids = [...model.types.keys()].filter((uid) => uid.startsWith(`api::${api}.`));
    const uid = uids.find((it) => it === `api::${api}.${api}`) ?? (uids.length === 1 ? uids[0] : undefined);
    if (uid === undefined)
      throw new HandlerFault(file, `the folder has ${uids.length} content types, and none is named "${api}"`);
    found.set(uid, await loadFile(file, model.types.get(uid)!));
  }
  return found;
};

const loadFile = async (file: string, type: EntryType): Promise<Handlers> => {
  let loaded: unknown;
  try {
    loaded = await importModule(file);
  } catch (fault) {
    throw new HandlerFault(file, `cannot be loaded: ${(fault as Error).message}`, { cause: fault });
  }
  if (loaded === null || typeof loaded !== 'object')
    throw new HandlerFault(file, 'export an object of handlers by default');
  const names = namesFor(type);
  for (const [name, value] of Object.entries(loaded)) {
    if (!names.includes(name)) {
      const isHolder = value !== null && typeof value === 'object';
      const hint = isHolder ? `; if it holds them, write "export default ${name};".` : orNearest(name, names) || '.';
      throw new HandlerFault(
        file,
        `"${name}" is not a handler or hook${type.kind === 'single' ? ' of a single type' : ''}${hint} Expected one of ${names.join(', ')}.`,
        { place: name },
      );
    }
    if (typeof value !== 'function') throw new HandlerFault(file, `"${name}" is not a function`, { place: name });
  }
  return loaded as Handlers;
};
