/** A random project with its world in memory, and the same in a real database. The same seed gives the same scene. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { newGate, publicCaller } from '../../src/access/access.js';
import { newPermissionStore } from '../../src/access/permissions.js';
import { formatNote, loadModel } from '../../src/model/load.js';
import type { Model } from '../../src/model/model.js';
import type { ResolveContext } from '../../src/query/resolve.js';
import type { Db, DialectName } from '../../src/sql/dialect.js';
import { copiedDatabase, createTables } from '../world/databases.js';
import { defaultSettings } from '../world/server.js';
import type { Facts } from './answer.js';
import { newRandom } from './random.js';
import { insertWorld } from './rows.js';
import { anyProject, type ProjectSpec, writeProject } from './schema.js';
import { anyWorld, type World } from './world.js';

export interface Scene {
  readonly seed: number;
  readonly project: ProjectSpec;
  readonly world: World;
  readonly model: Model;
}

export interface Stage {
  readonly dialect: DialectName;
  readonly db: Db;
  /** Variables under which a command opens the database. */
  readonly env: Readonly<Record<string, string>>;
  /** The permissions of the public role, for reading without HTTP. */
  readonly context: ResolveContext;
  drop(): Promise<void>;
}

export const newScene = (seed: number): Scene => {
  const random = newRandom(seed);
  const project = anyProject(random.fork('project'));
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-oracle-'));
  try {
    writeProject(project, dir);
    const loaded = loadModel(dir);
    if (!loaded.ok) throw new Error(`seed ${seed}: ${loaded.faults.map(formatNote).join('\n')}`);
    return { seed, project, world: anyWorld(project, random.fork('world')), model: loaded.model };
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
};

/** Puts a scene into a fresh database. */
export const newStage = async (scene: Scene, dialect: DialectName): Promise<Stage> => {
  const { db, env, drop } = await copiedDatabase(dialect, 'builtin', async (empty) => {
    await createTables(empty, builtinOf(scene.model));
  });
  const tables = await createTables(db, scene.model);
  await insertWorld(db, { ...scene, tables }, newRandom(scene.seed).fork('rows'));
  const permissions = await newPermissionStore(db, () => performance.now()).current();
  const { rest, strict } = defaultSettings;
  const gate = newGate(publicCaller(permissions), scene.model);
  return {
    dialect,
    db,
    env,
    drop,
    context: { model: scene.model, gate, rest, strict, defaultLocale: defaultLocaleOf(scene) },
  };
};

/** The types that every project has; creating their tables is most of the work of a new database. */
const builtinOf = ({ types }: Model): Model => ({
  types: new Map([...types].filter(([, type]) => type.origin === 'builtin')),
});

/** What the oracle needs to know to answer like that database. */
export const factsFor = ({ project, world }: Scene, dialect: DialectName): Facts => ({
  project,
  world,
  nulls: dialect === 'sqlite' ? 'first' : 'last',
  rest: { defaultLimit: defaultSettings.rest.defaultLimit, maxLimit: defaultSettings.rest.maxLimit! },
  defaultLocale: defaultLocaleOf({ world }),
});

const defaultLocaleOf = ({ world }: Pick<Scene, 'world'>): string => world.defaultLocale ?? 'en';
