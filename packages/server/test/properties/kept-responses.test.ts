/**
 * Random writes from everywhere: three Dovetail processes, on SQLite two with threads, with every kind of write, hooks, uploads and
 * accounts, their own SQL, and other programs that change rows, tables, triggers and keys. After each step they must answer a list of
 * requests as another one does that keeps nothing; and while only they write, most answers must come from what they keep. One keeps no
 * responses, so that it makes them anew of the entries that it keeps.
 */
import fs from 'node:fs';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import type { Handlers } from '../../src/handlers/handlers.js';
import { tablesOf } from '../../src/model/storage.js';
import { type Db, type DialectName, readRows } from '../../src/sql/dialect.js';
import { savepoint } from '../../src/sql/savepoint.js';
import { newRandom, type Random, seedOfRun } from '../oracle/random.js';
import { insertRows } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { insertGrants, PUBLIC_ROLE } from '../world/grants.js';
import { newProcess, type Process } from '../world/processes.js';
import { dialects, files, newRelationsWorld, type RelationsWorld } from '../world/relations/world.js';

const seed = seedOfRun();
/** 2,000 in a full run. */
const steps = Number(process.env['DOVETAIL_KEPT_STEPS'] ?? 40);

const urls: readonly string[] = [
  '/api/shelves?populate=*&pagination[pageSize]=100',
  '/api/shelves?fields=id&populate[manyMany][sort]=title&populate[manyMany][populate][manyManyOf][fields]=id',
  '/api/shelves?filters[manyMany][title][$contains]=1&fields=id',
  '/api/books?populate=*&sort=oneManyOf.name:desc',
  '/api/books?pagination[pageSize]=1&fields=title',
  '/api/books/1?populate=*',
  '/api/holders?populate[card][populate]=*&populate[cards][populate]=*&populate[zone][populate]=*&populate[cover]=true&populate[gallery]=true',
  '/api/holders?fields=name',
  '/api/sheets',
  '/api/sheets?sort=label:desc&pagination[pageSize]=3',
  '/api/forms?publicationState=preview&fields=id',
  '/api/leaves?locale=all&publicationState=preview&populate=localizations,card,books',
  '/api/leaves?locale=de&publicationState=preview&fields=title',
  '/api/setting?populate=*',
  '/api/motto?publicationState=preview',
  '/api/users?populate=role',
  '/api/upload/files',
];

/** Raw SQL over a connection of its own, as psql or v4 would send it. */
interface Stranger {
  run(...texts: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

const newStranger = async (dialect: DialectName, env: RelationsWorld['env']): Promise<Stranger> => {
  if (dialect === 'sqlite') {
    const connection = new Sqlite(env['DATABASE_FILENAME']!);
    connection.pragma('foreign_keys = on');
    return {
      run: async (...texts) => {
        for (const text of texts) connection.exec(text);
      },
      close: async () => {
        connection.close();
      },
    };
  }
  const connection = new Client(env['DATABASE_URL']!);
  await connection.connect();
  return {
    run: async (...texts) => {
      for (const text of texts) await connection.query(text);
    },
    close: () => connection.end(),
  };
};

/** Hooks that write to other types, in savepoints that may be undone. */
const handlers: ReadonlyMap<string, Handlers> = new Map<string, Handlers>([
  [
    'api::book.book',
    { afterUpdate: async ({ content }) => void (await content.create('api::sheet.sheet', { label: 'by a hook' })) },
  ],
  [
    'api::shelf.shelf',
    {
      beforeDelete: async ({ id, content, refuse }) => {
        await content.create('api::sheet.sheet', { label: 'undone' }).catch(() => undefined);
        if (id! % 3 === 0) refuse('not now');
      },
    },
  ],
]);

const form = (
  fields: Readonly<Record<string, string>>,
  file: string,
): { body: string; headers: Record<string, string> } => {
  const parts = Object.entries(fields).map(
    ([name, value]) => `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const content = `--x\r\nContent-Disposition: form-data; name="files"; filename="${file}"\r\nContent-Type: text/plain\r\n\r\ntext\r\n`;
  return {
    body: `${parts.join('')}${content}--x--\r\n`,
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  };
};

interface Scene {
  readonly dialect: DialectName;
  readonly random: Random;
  /** The Dovetail processes that write. */
  readonly writers: readonly Process[];
  readonly stranger: Stranger;
  idsOf(table: string): Promise<readonly number[]>;
}

const send = async (
  { random, writers }: Scene,
  method: string,
  url: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<string> => {
  const { status, text } = await random
    .pick(writers)
    .server.send(method, url, { ...(body === undefined ? {} : { body }), ...(headers ? { headers } : {}) });
  if (status >= 500) throw new Error(`${method} ${url} answers ${status}: ${text}`);
  return `${method} ${url} ${status}`;
};

const run = (db: Db, ...texts: readonly string[]): Promise<void> =>
  db.write(async (tx) => {
    for (const text of texts) await tx.run(db.dialect.compile(sql`${sql.raw(text)}`));
  });

type Step = (scene: Scene) => Promise<string>;

const some = async (scene: Scene, table: string, count: number): Promise<readonly number[]> =>
  scene.random.sample(await scene.idsOf(table), count);
const one = async (scene: Scene, table: string): Promise<number> => (await some(scene, table, 1))[0] ?? 1;

/** Writes of Dovetail, by HTTP. */
const own: readonly Step[] = [
  async (scene) =>
    send(scene, 'POST', '/api/books', {
      data: {
        title: `${scene.random.below(20)}`,
        manyManyOf: await some(scene, 'shelves', 2),
        oneManyOf: await one(scene, 'shelves').catch(() => null),
      },
    }),
  async (scene) =>
    send(scene, 'POST', '/api/shelves', {
      data: { name: `${scene.random.below(20)}`, manyMany: await some(scene, 'books', 3) },
    }),
  async (scene) => {
    const [added = 1, removed = 1] = await some(scene, 'books', 2);
    const manyMany = { connect: [{ id: added, position: { start: true } }], disconnect: [removed] };
    return send(scene, 'PUT', `/api/shelves/${await one(scene, 'shelves')}`, { data: { manyMany, oneOne: removed } });
  },
  async (scene) =>
    send(scene, 'PUT', `/api/books/${await one(scene, 'books')}`, { data: { title: `${scene.random.below(20)}` } }),
  async (scene) => send(scene, 'DELETE', `/api/books/${await one(scene, 'books')}`),
  async (scene) => send(scene, 'DELETE', `/api/shelves/${await one(scene, 'shelves')}`),
  async (scene) => send(scene, 'POST', '/api/sheets', { data: { label: `${scene.random.below(20)}` } }),
  async (scene) => send(scene, 'DELETE', `/api/sheets/${await one(scene, 'sheets')}`),
  async (scene) => {
    const books = await some(scene, 'books', 2);
    const data = {
      name: `${scene.random.below(20)}`,
      card: { label: 'a', many: books },
      cards: [{ label: 'b', list: books }],
      zone: [{ __component: 'parts.note', text: 'c', books }],
      cover: files.photo,
      gallery: [files.paper, files.song],
    };
    const id = await one(scene, 'holders');
    return scene.random.chance(0.5)
      ? send(scene, 'POST', '/api/holders', { data })
      : send(scene, 'PUT', `/api/holders/${id}`, { data });
  },
  async (scene) => send(scene, 'DELETE', `/api/holders/${await one(scene, 'holders')}`),
  async (scene) =>
    send(scene, 'POST', '/api/leaves', {
      data: { code: `${scene.random.below(99)}`, title: 'leaf', books: await some(scene, 'books', 1) },
    }),
  async (scene) =>
    send(scene, 'POST', `/api/leaves/${await one(scene, 'leaves')}/localizations`, {
      locale: 'de',
      code: `${scene.random.below(99)}`,
    }),
  async (scene) =>
    send(scene, 'PUT', `/api/leaves/${await one(scene, 'leaves')}`, {
      data: {
        code: `${scene.random.below(99)}`,
        publishedAt: scene.random.chance(0.5) ? new Date(0).toISOString() : null,
      },
    }),
  async (scene) =>
    send(scene, 'PUT', '/api/setting', {
      data: {
        title: `${scene.random.below(99)} of them`,
        notes: [{ text: 'd' }],
        books: await some(scene, 'books', 2),
      },
    }),
  async (scene) => send(scene, 'PUT', '/api/motto', { data: { text: `${scene.random.below(99)}` } }),
  async (scene) => {
    const { body, headers } = form({}, 'a.txt');
    return send(scene, 'POST', '/api/upload', body, headers);
  },
  async (scene) => {
    const id = await one(scene, 'files');
    return id > Object.keys(files).length ? send(scene, 'DELETE', `/api/upload/files/${id}`) : 'no upload';
  },
  async (scene) => {
    const name = `user${scene.random.below(1000)}`;
    return send(scene, 'POST', '/api/auth/local/register', {
      username: name,
      email: `${name}@example.com`,
      password: 'a password',
    });
  },
  async (scene) =>
    send(scene, 'PUT', `/api/users/${await one(scene, 'up_users')}`, { username: `user${scene.random.below(1000)}` }),
  async (scene) => send(scene, 'DELETE', `/api/users/${await one(scene, 'up_users')}`),
  // what the database does by itself
  async (scene) => {
    const id = await one(scene, 'books');
    await run(scene.random.pick(scene.writers).db, `delete from books where id = ${id}`);
    return `a row of our own SQL and its links: book ${id}`;
  },
  async (scene) => {
    const { db } = scene.random.pick(scene.writers);
    const label = `part ${scene.random.below(100)}`;
    const update = (what: string) =>
      db.dialect.compile(sql`update sheets set label = ${what} where id = (select min(id) from sheets)`);
    await db.write(async (tx) => {
      await savepoint(tx, () => tx.run(update(label)));
      const undone = savepoint(tx, async () => {
        await tx.run(db.dialect.compile(sql`update books set title = 'undone'`));
        throw new Error('undone');
      });
      await undone.catch(() => undefined);
    });
    return 'savepoints';
  },
];

/** Writes of other programs. */
const foreign: readonly Step[] = [
  async ({ stranger, random }) => {
    await stranger.run(`insert into books (title) values ('${random.below(20)}')`);
    return 'another program inserts';
  },
  async ({ stranger, random }) => {
    await stranger.run(`update sheets set label = 'foreign ${random.below(100)}'`);
    return 'another program updates';
  },
  async (scene) => {
    await scene.stranger.run(`delete from shelves where id = ${await one(scene, 'shelves')}`);
    return 'another program deletes, with cascades';
  },
  async ({ stranger, random }) => {
    const end = random.pick(['commit', 'rollback']);
    await stranger.run(
      'begin',
      `update sheets set label = 'x'`,
      'savepoint a',
      `update books set title = '1'`,
      'rollback to savepoint a',
      end,
    );
    return `another program's transaction: ${end}`;
  },
  async ({ stranger, dialect }) => {
    await stranger.run(dialect === 'sqlite' ? 'delete from holders_components' : 'truncate holders_components');
    return 'another program empties a table';
  },
  async ({ stranger }) => {
    await stranger.run('alter table sheets add column beside integer', 'alter table sheets drop column beside');
    return 'another program changes a table';
  },
  // a write of ours to books then changes sheets
  async ({ stranger, dialect, random }) => {
    const isThere = random.chance(0.5);
    if (dialect === 'sqlite') {
      await stranger.run('drop trigger if exists noted');
      if (isThere)
        await stranger.run(
          `create trigger noted after insert on books begin update sheets set label = 'noted ' || new.id; end`,
        );
    } else {
      await stranger.run('drop trigger if exists noted on books');
      if (isThere)
        await stranger.run(
          `create or replace function note() returns trigger language plpgsql as $$ begin update sheets set label = 'noted ' || new.id; return new; end $$`,
          'create trigger noted after insert on books for each row execute function note()',
        );
    }
    return `a trigger: ${isThere}`;
  },
  // a deletion of ours from shelves then changes sheets
  async ({ stranger, dialect }) => {
    if (dialect === 'sqlite') return 'no keys are added to tables of SQLite';
    await stranger.run(
      'alter table sheets add column if not exists shelf_id int references shelves (id) on delete cascade',
      'update sheets set shelf_id = (select min(id) from shelves) where id = (select max(id) from sheets)',
    );
    return 'a foreign key';
  },
];

describe.each(dialects)('cached responses on %s', (dialect) => {
  it(`RQ19: after ${steps} random steps from everywhere, no response is stale (seed ${seed})`, {
    timeout: 3_600_000,
  }, async () => {
    const world = await newRelationsWorld(dialect);
    const tables = new Map(tablesOf(world.model).map((table) => [table.name, table]));
    const actions = ['auth.register', 'user.find', 'user.update', 'user.destroy'].map(
      (it) => `plugin::users-permissions.${it}`,
    );
    const uploads = ['upload', 'find', 'destroy'].map((it) => `plugin::upload.content-api.${it}`);
    await insertGrants(
      [...actions, ...uploads].map((action) => ({ role: PUBLIC_ROLE, action })),
      (table, rows) => insertRows(world.db, tables.get(table)!, rows),
      5_000,
    );
    const uploadsDir = newFolder();
    const opened: Process[] = [];
    const open = async (
      threads: number,
      memory: { readonly responseCacheBytesMax?: number; readonly entriesBytesMax?: number } = {},
    ): Promise<Process> => {
      const made = await newProcess(world, {
        handlers,
        uploadsDir,
        threads,
        ...memory,
      });
      opened.push(made);
      return made;
    };
    const stranger = await newStranger(dialect, world.env);
    try {
      const uncached = await open(0, { responseCacheBytesMax: 0, entriesBytesMax: 0 });
      const byResponses = [await open(0), await open(2)];
      const byEntries = await open(2, { responseCacheBytesMax: 0 });
      const writers = [...byResponses, byEntries];
      const random = newRandom(`${seed}/kept ${dialect}`);
      const idsOf = async (table: string): Promise<readonly number[]> => {
        const statement = world.db.dialect.compile(sql`select id from ${sql.table(table)} order by id`);
        return (await world.db.read(() => readRows(statement))).map(([id]) => Number(id));
      };
      const scene: Scene = { dialect, random, writers, stranger, idsOf };
      for (let step = 0; step < steps; step++) {
        const next = random.chance(0.75) ? random.pick(own) : random.pick(foreign);
        // reads that overlap with the write must not leave anything behind
        const during = random.chance(0.5)
          ? random.sample(urls, 4).flatMap((url) => [random.pick(writers), byEntries].map((it) => it.server.get(url)))
          : [];
        const what = `step ${step}: ${await next(scene)}`;
        await Promise.all(during);
        for (const url of urls) {
          const expected = await uncached.server.get(url);
          // the last one makes each response a second time
          for (const [i, it] of [...writers, byEntries].entries()) {
            const { status, text, headers } = await it.server.get(url);
            expect([status, text, headers.etag], `${url} of process ${i} after ${what}`).toEqual([
              expected.status,
              expected.text,
              expected.headers.etag,
            ]);
          }
        }
      }
      // otherwise nothing was shown
      for (const { server } of byResponses) {
        const { found, computed } = server.kept();
        expect(found / (found + computed)).toBeGreaterThan(0.2);
      }
      expect(byEntries.server.keptEntries().found).toBeGreaterThan(steps);
    } finally {
      await stranger.close();
      for (const it of opened) await it.close();
      await world.close();
      fs.rmSync(uploadsDir, { recursive: true, force: true });
    }
  });
});
