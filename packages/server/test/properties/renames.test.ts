/**
 * Random renames of types, components and attributes of a populated project. What a server says afterwards is what it said
 * before, under the new names, and the tables are those of a project that has had these names from the beginning.
 */
import fs from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Change } from '../../src/migrate/changes.js';
import { columnName, tablesOf } from '../../src/model/storage.js';
import { type DialectName, readRows } from '../../src/sql/dialect.js';
import { readCatalog } from '../../src/sql/schema.js';
import { type Kit, kitFiles } from '../conformance/cases.js';
import { newRandom, type Random, seedOfRun } from '../oracle/random.js';
import { copiedDatabase, dialects, insertRows, newDatabase, type TestDatabase } from '../world/databases.js';
import {
  everythingOf,
  migrateIn,
  newProjectDir,
  planIn,
  readSchemas,
  type SchemaFiles,
  serverOf,
  startIn,
  writeSchemas,
} from '../world/migrating.js';
import { worldRows } from '../world/project/rows.js';
import { component, contentType, type Json, typeFile } from '../world/schemas.js';
import { projectDir } from '../world/world.js';

const seed = seedOfRun();
/** 60 in a long run. */
const rounds = Number(process.env['DOVETAIL_RENAME_ROUNDS'] ?? 2);

/** What the world lacks: polymorphic relations, and components in components of a zone. */
const sources = (): SchemaFiles => {
  const files = new Map(readSchemas(projectDir));
  files.set(
    typeFile('label'),
    contentType('label', {
      text: { type: 'string' },
      things: { type: 'relation', relation: 'morphToMany' },
      subject: { type: 'relation', relation: 'morphToOne' },
      box: { type: 'component', component: 'parts.box' },
    }),
  );
  files.set(
    'src/components/parts/box.json',
    component('components_parts_boxes', {
      inscription: { type: 'string' },
      fact: { type: 'component', component: 'parts.fact', repeatable: true },
      picture: { type: 'media', multiple: true },
      maker: { type: 'relation', relation: 'oneToOne', target: 'api::person.person' },
    }),
  );
  const film = files.get(typeFile('film'))!;
  const attributes = film['attributes'] as Json;
  files.set(typeFile('film'), {
    ...film,
    attributes: {
      ...attributes,
      labels: { type: 'relation', relation: 'morphMany', target: 'api::label.label', morphBy: 'things' },
    },
  });
  return files;
};

interface Renamed {
  readonly files: SchemaFiles;
  readonly rename: readonly string[];
  readonly renameType: readonly string[];
}

const uidOf = (file: string): string => {
  const [, api, name] = /^src\/api\/([^/]+)\/content-types\/([^/]+)\/schema\.json$/.exec(file) ?? [];
  if (api !== undefined) return `api::${api}.${name}`;
  const [, category, component] = /^src\/components\/([^/]+)\/([^/]+)\.json$/.exec(file)!;
  return `${category}.${component}`;
};

const attributesIn = (json: Json): Json => json['attributes'] as Json;

/** Renames by chance; names go around in circles now and then. */
const renameSome = (files: SchemaFiles, random: Random): Renamed => {
  const tables = new Map([...files].map(([file, json]) => [uidOf(file), json['collectionName']]));
  const uids = new Map<string, string>();
  const names = new Map<string, Map<string, string>>();
  let serial = 0;
  for (const [file, json] of files) {
    const uid = uidOf(file);
    serial += 1;
    if (random.chance(0.4))
      uids.set(uid, uid.startsWith('api::') ? `api::kind-${serial}.kind-${serial}` : `other.shape-${serial}`);
    const own = Object.keys(attributesIn(json));
    const renamed = new Map<string, string>();
    for (const name of own)
      if (random.chance(0.3)) {
        serial += 1;
        renamed.set(name, random.pick([`new${serial}`, `newName${serial}Of`, `order${serial}`, `x_${serial}_y`]));
      }
    // two that change places, and three that go around
    const scalars = own.filter((it) => {
      const { type } = attributesIn(json)[it] as Json;
      return type === 'string' && !renamed.has(it);
    });
    const parts = own.filter(
      (it) => ['media', 'component'].includes(String((attributesIn(json)[it] as Json)['type'])) && !renamed.has(it),
    );
    for (const list of [scalars.slice(0, 3), parts.slice(0, 2)])
      if (list.length > 1 && random.chance(0.6))
        for (const [i, it] of list.entries()) renamed.set(it, list[(i + 1) % list.length]!);
    names.set(uid, renamed);
  }
  const newUid = (uid: unknown): string => uids.get(String(uid)) ?? String(uid);
  const newName = (uid: unknown, name: unknown): string => names.get(String(uid))?.get(String(name)) ?? String(name);
  const changed = new Map<string, Json>();
  for (const [file, json] of files) {
    const uid = uidOf(file);
    const attributes = Object.fromEntries(
      Object.entries(attributesIn(json)).map(([name, value]) => {
        const it = value as Json;
        return [
          newName(uid, name),
          {
            ...it,
            ...('target' in it ? { target: newUid(it['target']) } : {}),
            ...('inversedBy' in it ? { inversedBy: newName(it['target'], it['inversedBy']) } : {}),
            ...('mappedBy' in it ? { mappedBy: newName(it['target'], it['mappedBy']) } : {}),
            ...('morphBy' in it ? { morphBy: newName(it['target'], it['morphBy']) } : {}),
            ...('targetField' in it ? { targetField: newName(uid, it['targetField']) } : {}),
            ...('component' in it ? { component: newUid(it['component']) } : {}),
            ...('components' in it ? { components: (it['components'] as string[]).map(newUid) } : {}),
          },
        ];
      }),
    );
    const to = newUid(uid);
    const table = to === uid ? json['collectionName'] : `${columnName(to)}_s`;
    if (uid.startsWith('api::')) {
      const [, name = ''] = /^api::(.*)\./.exec(to)!;
      const info = to === uid ? json['info'] : { singularName: name, pluralName: `${name}s`, displayName: name };
      changed.set(typeFile(name), { ...json, collectionName: table, info, attributes });
    } else changed.set(`src/components/${to.replace('.', '/')}.json`, { ...json, collectionName: table, attributes });
  }
  return {
    files: changed,
    rename: [...names].flatMap(([uid, own]) => [...own].map(([from, to]) => `${newUid(uid)}.${from}=${to}`)),
    // v4 remembers no components
    renameType: [...uids].map(([from, to]) => `${from}${from.startsWith('api::') ? '' : `@${tables.get(from)}`}=${to}`),
  };
};

/** Columns without their order, indexes and foreign keys. */
const layoutOf = async ({ db }: Pick<TestDatabase, 'db'>) => {
  const { tables, indexes } = await readCatalog(db);
  const keys = await db.read(() => readRows(db.dialect.schema.keys));
  return {
    tables: Object.fromEntries(
      [...tables]
        .map(([table, columns]) => [table, [...columns].map((it) => it.join(' ')).sort()] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
    indexes: [...indexes].sort(),
    keys: keys.map((it) => it.slice(0, 4).join(' ')).sort(),
  };
};

const namelessChange = (change: Change) => ({ ...change, type: '', attribute: '' });

/** Rows of the kinds that the world has none of. */
const addLabels = async (server: Awaited<ReturnType<typeof serverOf>>): Promise<void> => {
  const bodies = [
    {
      text: 'first',
      things: [
        { id: 1, __type: 'api::film.film' },
        { id: 2, __type: 'api::person.person' },
      ],
      subject: { id: 1, __type: 'api::genre.genre' },
      box: { inscription: 'in', fact: [{}, {}], picture: [1, 2], maker: 1 },
    },
    { text: 'second', subject: { id: 2, __type: 'api::film.film' } },
  ];
  for (const data of bodies) {
    const { status, text } = await server.send('POST', '/api/labels', { body: { data } });
    expect(status, text).toBe(200);
  }
  const { status, text } = await server.send('PUT', '/api/films/2', { body: { data: { labels: [1, 2] } } });
  expect(status, text).toBe(200);
};

interface Ground {
  readonly name: string;
  readonly files: () => SchemaFiles;
  /** A new copy, as it was before any start of the test. */
  readonly open: (dialect: DialectName, dir: string) => Promise<TestDatabase>;
  /** Whether Dovetail has made its tables: v4's have some keys twice, and others not at all. */
  readonly isOwn: boolean;
}

const world: Ground = {
  name: 'the world',
  files: sources,
  open: (dialect, dir) =>
    copiedDatabase(dialect, 'renames', async (db) => {
      const model = await startIn(dir, db);
      const tables = new Map(tablesOf(model).map((it) => [it.name, it]));
      for (const [table, rows] of worldRows) await insertRows(db, tables.get(table)!, rows);
      const server = await serverOf(db, model);
      await addLabels(server);
      await server.close();
    }),
  isOwn: true,
};

/** Written by v4, whose memory is the only one. */
const ofV4 = (kit: Kit): Ground => {
  const { project, data } = kitFiles(kit);
  return {
    name: `v4's ${kit}`,
    files: () => readSchemas(project),
    open: (dialect) => copiedDatabase(dialect, `renames_${kit}`, () => Promise.resolve(), { given: data }),
    isOwn: false,
  };
};

const grounds: readonly (readonly [ground: Ground, rounds: number])[] = [
  [world, rounds],
  [ofV4('core'), rounds / 2],
  [ofV4('museum'), rounds / 2],
];

describe.each(dialects)('on %s', (dialect) => {
  describe.each(grounds.map((it) => [it[0].name, ...it] as const))('%s', (_name, ground, count) => {
    test.each(Array.from({ length: count }, (_, i) => i))(
      `renames keep all content and make the layout of a new project (round %i, seed ${seed})`,
      async (round) => {
        const random = newRandom(`${seed}/renames/${ground.name}/${round}`);
        const dir = newProjectDir();
        const original = ground.files();
        writeSchemas(dir, original);
        const untouched = await ground.open(dialect, dir);
        const database = await ground.open(dialect, dir);
        const fresh = await newDatabase(dialect);
        try {
          const { db } = database;
          const model = await startIn(dir, untouched.db);
          const before = await serverOf(untouched.db, model);
          const said = await everythingOf(before, model);
          await before.close();
          // there are values that no attribute can hold, and rows that no attribute shows
          const found = await planIn(dir, untouched.db);

          const renamed = renameSome(original, random);
          writeSchemas(dir, renamed.files);
          // a start may come first, and add empty tables and columns under the new names
          if (round % 2 === 1) await startIn(dir, db);
          await migrateIn(dir, db, renamed);
          const newModel = await startIn(dir, db);
          const after = await planIn(dir, db);
          expect(after).toMatchObject({ changes: [], candidates: [], added: { tables: [], columns: [] } });
          expect(after.undecided.map(namelessChange)).toEqual(found.undecided.map(namelessChange));
          expect(after.left.length).toBe(found.left.length);

          const server = await serverOf(db, newModel);
          const former = new Map(
            renamed.renameType.map(
              (it) =>
                it
                  .replace(/@[^=]*/, '')
                  .split('=')
                  .reverse() as [string, string],
            ),
          );
          expect(await everythingOf(server, newModel, (uid) => former.get(uid) ?? uid)).toEqual(said);
          await server.close();
          await startIn(dir, fresh.db);
          if (ground.isOwn) expect(await layoutOf(database)).toEqual(await layoutOf(fresh));
        } finally {
          for (const it of [database, untouched, fresh]) await it.drop();
          fs.rmSync(dir, { recursive: true });
        }
      },
    );
  });
});
