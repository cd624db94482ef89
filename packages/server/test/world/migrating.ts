/** A populated project whose types and attributes get other names, and what its server says before and after. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { bringUp } from '../../src/cli/layout.js';
import { openProject } from '../../src/cli/project.js';
import { applyPlan, type Progress } from '../../src/migrate/apply.js';
import { type Asked, nothingAsked } from '../../src/migrate/asked.js';
import type { Plan } from '../../src/migrate/file.js';
import { type Comparison, compare } from '../../src/migrate/plan.js';
import { loadModel } from '../../src/model/load.js';
import type { Attribute, EntryType, Model } from '../../src/model/model.js';
import { targetsOf } from '../../src/model/model.js';
import { formatNote } from '../../src/model/notes.js';
import type { Db } from '../../src/sql/dialect.js';
import type { Json } from './schemas.js';
import { newTestServer, type TestServer } from './server.js';

/** Schema files by path. */
export type SchemaFiles = ReadonlyMap<string, Json>;

export const readSchemas = (dir: string): SchemaFiles =>
  new Map(
    fs
      .readdirSync(path.join(dir, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((it) => it.endsWith('.json'))
      .sort()
      .map((it) => [path.join('src', it), JSON.parse(fs.readFileSync(path.join(dir, 'src', it), 'utf8')) as Json]),
  );

/** Writes a project of these files alone. */
export const writeSchemas = (dir: string, files: SchemaFiles): void => {
  fs.rmSync(path.join(dir, 'src'), { recursive: true, force: true });
  for (const [file, json] of files) {
    fs.mkdirSync(path.dirname(path.join(dir, file)), { recursive: true });
    fs.writeFileSync(path.join(dir, file), JSON.stringify(json, null, 2));
  }
};

export const newProjectDir = (): string => fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-migrating-'));

export const planIn = async (dir: string, db: Db, asked: Partial<Asked> = {}): Promise<Comparison> => {
  const loaded = loadModel(dir);
  if (!loaded.ok) throw new Error(loaded.faults.map(formatNote).join('\n'));
  return compare(db, loaded, { ...nothingAsked, ...asked });
};

export const planFrom = ({ changes, needs, steps }: Comparison): Plan => ({
  dovetailPlan: 1,
  made: new Date().toISOString(),
  changes,
  needs,
  steps,
});

export const silent: Progress = { onStep: () => undefined, onRows: () => undefined };

/** Plans and applies what is asked for. */
export const migrateIn = async (dir: string, db: Db, asked: Partial<Asked> = {}): Promise<Comparison> => {
  const comparison = await planIn(dir, db, asked);
  await applyPlan(planFrom(comparison), db, silent);
  return comparison;
};

/** As `start` does. */
export const startIn = async (dir: string, db: Db): Promise<Model> =>
  (await bringUp(await openProject(dir), db, pino({ level: 'silent' }))).model;

export const serverOf = (db: Db, model: Model): Promise<TestServer> =>
  newTestServer(db, model, { rest: { defaultLimit: 100, maxLimit: 100, withCount: true } }, 0, {
    mode: 'open',
    entriesBytesMax: 0,
  });

// ---- what a server says, without names

/**
 * Every entry of every type with all that it shows; attributes are named by their place in the type.
 * @param nameOf the name of a type by its uid.
 */
export const everythingOf = async (
  server: TestServer,
  model: Model,
  nameOf: (uid: string) => string = (uid) => uid,
): Promise<Readonly<Record<string, unknown>>> => {
  const all: Record<string, unknown> = {};
  for (const type of model.types.values()) {
    if (type.origin !== 'project' || type.kind === 'component') continue;
    const route = type.kind === 'single' ? type.singular : type.plural;
    const more = `${type.draftAndPublish ? '&publicationState=preview' : ''}${type.localized ? '&locale=all' : ''}`;
    const url = `/api/${route}?sort=id${populateOf(model, type, 'populate')}${more}`;
    const { status, body, text } = await server.get(url);
    if (status !== 200 && !(type.kind === 'single' && status === 404))
      throw new Error(`${url.slice(0, 300)}: ${status} ${text.slice(0, 300)}`);
    all[nameOf(type.uid)] = status === 404 ? null : nameless((body as { data: unknown }).data, type, { model, nameOf });
  }
  return all;
};

/** Relations one deep, components and zones as deep as they go. */
const populateOf = (model: Model, type: EntryType, key: string): string =>
  [...type.attributes.values()]
    .flatMap((it): string[] => {
      const place = `${key}[${it.name}]`;
      if (it.kind === 'scalar' || it.hidden) return [];
      if (it.kind !== 'part') return [`&${place}=true`];
      if (it.shape !== 'zone') {
        const inner = populateOf(model, model.types.get(it.components[0]!)!, `${place}[populate]`);
        return [inner === '' ? `&${place}=true` : inner];
      }
      return it.components.map((uid) => {
        const inner = populateOf(model, model.types.get(uid)!, `${place}[on][${uid}][populate]`);
        return inner === '' ? `&${place}[on][${uid}]=true` : inner;
      });
    })
    .join('');

interface Names {
  readonly model: Model;
  nameOf(uid: string): string;
}

type Fields = Readonly<Record<string, unknown>>;
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An entry, or a list of them, as the places of its attributes in the model. */
const nameless = (value: unknown, type: EntryType, names: Names): unknown => {
  if (Array.isArray(value)) return value.map((it) => nameless(it, type, names));
  if (!isFields(value)) return value;
  const places = [...type.attributes.keys()];
  const fields = isFields(value['attributes']) ? { id: value['id'], ...value['attributes'] } : value;
  return Object.entries(fields)
    .map(([name, it]): [number, unknown] => {
      const attribute = type.attributes.get(name);
      if (!attribute && name !== 'id') throw new Error(`${type.uid} has no ${name}`);
      return [places.indexOf(name), attribute ? namelessValue(it, attribute, names) : it];
    })
    .sort(([a], [b]) => a - b);
};

const namelessValue = (value: unknown, attribute: Attribute, names: Names): unknown => {
  if (attribute.kind === 'scalar') return value;
  const content = isFields(value) && 'data' in value ? value['data'] : value;
  const one = (it: unknown): unknown => {
    if (!isFields(it)) return it;
    const key = ['__component', '__type'].find((name) => name in it);
    const uid = key === undefined ? targetsOf(names.model, attribute)[0]! : String(it[key]);
    const { __component, __type, ...rest } = it;
    return [names.nameOf(uid), nameless(rest, names.model.types.get(uid)!, names)];
  };
  return Array.isArray(content) ? content.map(one) : one(content);
};
