/** A write drops only the cached responses that it can have changed; counted, on databases that nobody else uses. */
import Sqlite from 'better-sqlite3';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Handlers } from '../../src/handlers/handlers.js';
import { dialectsAndThreads } from '../world/databases.js';
import { newProcess, type Process } from '../world/processes.js';
import { files, newRelationsWorld, type RelationsWorld } from '../world/relations/world.js';
import type { TestServer } from '../world/server.js';

/** Requests that read neither books nor shelves. */
const urls = ['/api/sheets', '/api/sheets?sort=id:desc', '/api/leaves?locale=all&fields=title', '/api/forms'];

/** Reads the URLs, and returns how many responses came from the cache. */
const readAll = async (server: TestServer): Promise<number> => {
  const before = server.kept().found;
  for (const url of urls) expect((await server.get(url)).status).toBe(200);
  return server.kept().found - before;
};

/** Every update of a book writes a shelf, in a savepoint; it goes on if the shelf is refused. */
const handlers: ReadonlyMap<string, Handlers> = new Map<string, Handlers>([
  [
    'api::book.book',
    {
      afterUpdate: async ({ content, data }) => {
        await content.create('api::shelf.shelf', { name: String(data?.['title']) }).catch(() => undefined);
      },
    },
  ],
  [
    'api::shelf.shelf',
    {
      afterCreate: ({ data, refuse }) => {
        if (data?.['name'] === 'refused') refuse('no such shelf');
      },
    },
  ],
]);

describe.each(dialectsAndThreads)('cached responses on %s, threads: %i', (dialect, threads) => {
  let world: RelationsWorld;
  let one: Process;
  beforeAll(async () => {
    world = await newRelationsWorld(dialect);
  });
  beforeEach(async () => {
    const before = await listening();
    one = await newProcess(world, { handlers, threads });
    await readAll(one.server);
    // the first write reads what the tables declare, and begins to listen to other processes
    await post(one, 'books');
    if (dialect === 'postgres')
      while ((await listening()).every((pid) => before.includes(pid))) await readAll(one.server);
    await readAll(one.server);
  });
  afterEach(() => one.close());
  afterAll(async () => {
    await world.close();
  });

  const post = async ({ server }: Process, plural: string, data: object = {}): Promise<number> => {
    const { status, body, text } = await server.send('POST', `/api/${plural}`, { body: { data } });
    expect(status, text).toBe(200);
    return (body as { data: { id: number } }).data.id;
  };

  /** Connections on which processes have begun to listen. */
  const listening = async (): Promise<readonly number[]> => {
    if (dialect === 'sqlite') return [];
    const connection = new Client(world.env['DATABASE_URL']!);
    await connection.connect();
    const { rows } = await connection.query<{ readonly pid: number }>(
      "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state = 'idle' and query like '%pg_notify%json_build_object%'",
    );
    await connection.end();
    return rows.map(({ pid }) => pid);
  };

  /** As another program does. */
  const runElsewhere = async (...texts: readonly string[]): Promise<void> => {
    if (dialect === 'sqlite') {
      const connection = new Sqlite(world.env['DATABASE_FILENAME']!);
      for (const text of texts) connection.exec(text);
      connection.close();
      return;
    }
    const connection = new Client(world.env['DATABASE_URL']!);
    await connection.connect();
    for (const text of texts) await connection.query(text);
    await connection.end();
  };

  it('RQ19: stay while entries of other types are created, changed, connected and deleted', async () => {
    const shelf = await post(one, 'shelves');
    for (let i = 0; i < 10; i++) {
      const book = await post(one, 'books', { manyManyOf: [shelf] });
      const change = { name: `${i}`, manyMany: { connect: [book] } };
      await one.server.send('PUT', `/api/shelves/${shelf}`, { body: { data: change } });
      expect(await readAll(one.server)).toBe(urls.length);
    }
    expect((await one.server.send('DELETE', `/api/shelves/${shelf}`)).status).toBe(200);
    expect(await readAll(one.server)).toBe(urls.length);
  });

  it('RQ19: those that a write can have changed are read again, whatever they read of its tables', async () => {
    const [shelf, book] = [await post(one, 'shelves', { name: 'a' }), await post(one, 'books', { title: 'b' })];
    const holder = await post(one, 'holders', { card: { label: 'c', many: [book] }, cover: files.photo });
    const reading = [
      '/api/books?fields=title',
      '/api/shelves?filters[manyMany][title]=b2',
      '/api/shelves?sort=oneOne.title&fields=id',
      `/api/shelves/${shelf}?populate=manyMany`,
      `/api/holders/${holder}?populate[card][populate]=many`,
    ];
    for (const url of reading) await one.server.get(url);
    const before = one.server.kept();
    await one.server.send('PUT', `/api/books/${book}`, { body: { data: { title: 'b2', manyManyOf: [shelf] } } });
    for (const url of reading) await one.server.get(url);
    expect(one.server.kept().found - before.found).toBe(0);
    expect((await one.server.get(reading[1]!)).text).toContain('"total":1');
  });

  it.runIf(dialect === 'sqlite')('RQ19: stay at the first write of a process, which may start its thread', async () => {
    const fresh = await newProcess(world, { handlers, threads });
    try {
      await readAll(fresh.server);
      await post(fresh, 'books');
      expect(await readAll(fresh.server)).toBe(urls.length);
    } finally {
      await fresh.close();
    }
  });

  it('stay when a write is refused, in the middle of its transaction too', async () => {
    const refused = [{ manyManyOf: [999_999] }, { title: 3 }];
    for (const data of refused)
      expect((await one.server.send('POST', '/api/books', { body: { data } })).status).toBe(400);
    expect(await readAll(one.server)).toBe(urls.length);
  });

  it('stay when a hook writes to other types, which takes savepoints', async () => {
    const book = await post(one, 'books');
    for (let i = 0; i < 5; i++) {
      expect((await one.server.send('PUT', `/api/books/${book}`, { body: { data: { title: `${i}` } } })).status).toBe(
        200,
      );
      expect(await readAll(one.server)).toBe(urls.length);
    }
  });

  it('stay when what a hook has written is rolled back', async () => {
    const book = await post(one, 'books');
    const body = { data: { title: 'refused' } };
    for (let i = 0; i < 5; i++) {
      expect((await one.server.send('PUT', `/api/books/${book}`, { body })).status).toBe(200);
      expect(await readAll(one.server)).toBe(urls.length);
    }
  });

  it.each([
    ['a row', 'insert into books (title) values (null)'],
    ['a definition', 'create table beside (id int)', 'drop table beside'],
  ])('are all dropped when another program commits %s', async (_what, ...texts) => {
    expect(await readAll(one.server)).toBe(urls.length);
    await runElsewhere(...texts);
    expect(await readAll(one.server)).toBe(0);
    expect(await readAll(one.server)).toBe(urls.length);
  });

  it('a table with a trigger: a write to it drops them all', async () => {
    if (dialect === 'sqlite') await runElsewhere('create trigger noted after insert on books begin select 1; end');
    else
      await runElsewhere(
        'create function noted() returns trigger language plpgsql as $$ begin return new; end $$',
        'create trigger noted after insert on books for each row execute function noted()',
      );
    try {
      await readAll(one.server);
      await post(one, 'books');
      expect(await readAll(one.server)).toBe(0);
      await post(one, 'shelves');
      expect(await readAll(one.server)).toBe(urls.length);
    } finally {
      await runElsewhere(dialect === 'sqlite' ? 'drop trigger noted' : 'drop function noted cascade');
    }
  });

  it('RQ19: rows that the database deletes with others are gone from responses', async () => {
    const shelf = await post(one, 'shelves');
    await runElsewhere(
      'alter table sheets add column shelf_id integer references shelves (id) on delete cascade',
      `insert into sheets (label, shelf_id) values ('on the shelf', ${shelf})`,
    );
    try {
      await readAll(one.server);
      expect((await one.server.get('/api/sheets')).text).toContain('on the shelf');
      expect((await one.server.send('DELETE', `/api/shelves/${shelf}`)).status).toBe(200);
      expect((await one.server.get('/api/sheets')).text).not.toContain('on the shelf');
      expect(await readAll(one.server)).toBe(urls.length - 1);
    } finally {
      await runElsewhere('alter table sheets drop column shelf_id');
    }
  });

  it('readers of other types keep nine in ten responses while 50 entries are created, with two processes on PostgreSQL', async () => {
    const processes = dialect === 'sqlite' ? [one] : [one, await newProcess(world, { handlers, threads })];
    try {
      // they get to know each other
      for (let i = 0; i < 3; i++)
        for (const it of processes) {
          await post(it, 'books');
          for (const { server } of processes) await readAll(server);
        }
      let [kept, read] = [0, 0];
      for (let i = 0; i < 50; i++) {
        // some reads overlap with the commit
        const writing = post(processes[i % processes.length]!, 'books', { title: `${i}` });
        for (const { server } of processes) {
          kept += await readAll(server);
          read += urls.length;
        }
        await writing;
      }
      expect(kept / read).toBeGreaterThan(0.9);
    } finally {
      if (processes[1]) await processes[1].close();
    }
  });
});
