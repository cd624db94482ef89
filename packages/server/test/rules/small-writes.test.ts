/**
 * With threads on SQLite, writes are tried in the server's thread. One that takes too long there is undone, and the writing thread repeats
 * it: nothing is stored twice, and hooks run once. Whoever writes, what is kept of other tables stays kept.
 */
import { Worker } from 'node:worker_threads';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { serverGate } from '../../src/access/access.js';
import { noQuery } from '../../src/query/objects.js';
import type { ResolveContext } from '../../src/query/resolve.js';
import { newReader } from '../../src/read/find.js';
import { readRows, type Sql, type Tx } from '../../src/sql/dialect.js';
import { statementsHere } from '../../src/sql/sqlite/connection.js';
import type { Sent } from '../../src/sql/sqlite/messages.js';
import { openSqlite, type SqliteDb } from '../../src/sql/sqlite/open.js';
import { writeAndAnswer } from '../../src/write/answer.js';
import { newWriter } from '../../src/write/apply.js';
import type { Hooks, WriteRequest } from '../../src/write/request.js';
import { threadOptions } from '../world/databases.js';
import { useLimits } from '../world/limits.js';
import { newSmallWorld, relation, type SmallProject, type SmallWorld } from '../world/small.js';

const limits = useLimits({ smallWriteMsMax: 60_000, ownWorkPauseMsMax: 0 });

const project: SmallProject = {
  types: {
    note: {
      attributes: {
        title: { type: 'string', unique: true },
        tags: relation('manyToMany', 'tag', { inversedBy: 'notes' }),
        lines: { type: 'component', component: 'parts.line', repeatable: true },
      },
    },
    tag: {
      attributes: { name: { type: 'string' }, notes: relation('manyToMany', 'note', { mappedBy: 'tags' }) },
    },
  },
  components: { 'parts.line': { text: { type: 'string' } } },
};
const LONG = 3000;

describe('small writes on sqlite', () => {
  let world: SmallWorld;
  /** The same file as a server has it, with threads that have not started. */
  let db: SqliteDb;
  let context: ResolveContext;
  beforeAll(async () => {
    world = await newSmallWorld('sqlite', project);
    context = {
      model: world.model,
      gate: serverGate,
      strict: true,
      defaultLocale: null,
      rest: { defaultLimit: 25, maxLimit: 100, withCount: true },
    };
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    limits.reset();
    db = await openSqlite(world.db.place);
    await db.startThreads(threadOptions(1));
    await db.write(async (tx) => {
      for (const table of ['notes_tags_links', 'notes', 'tags']) await run(tx, sql`delete from ${sql.table(table)}`);
      await run(tx, sql`insert into tags (id, name) values (1, 'red'), (2, 'green')`);
    });
  });
  afterEach(() => db.close());

  const run = (tx: Tx, query: Sql) => tx.run(db.dialect.compile(query));
  const rows = (query: Sql) => db.read(() => readRows(db.dialect.compile(query)));
  const titles = async () => (await rows(sql`select title from notes order by id`)).flat();
  const kind = {};
  const insert = (title: string) => (tx: Tx) => run(tx, sql`insert into notes (title) values (${title})`);

  type Data = Record<string, unknown>;
  const lines = (hooks?: Hooks) => ({
    reader: newReader(db),
    writer: newWriter(db, Date.now, () => hooks),
  });
  /** Creates or changes a note, as a request does. */
  const writeNote = async (data: Data, id: number | null = null, hooks?: Hooks) => {
    const type = world.model.types.get('api::note.note')!;
    const request =
      id === null ? ({ action: 'create', type, data } as const) : ({ action: 'update', type, id, data } as const);
    const answered = await writeAndAnswer(request, { query: noQuery }, context, lines(hooks));
    if (!answered.ok) throw new Error(JSON.stringify(answered.issues));
    return answered.value.written.id;
  };
  /** Statements that connections of this thread begin meanwhile. */
  const statementsIn = async (work: () => Promise<unknown>): Promise<number> => {
    const before = statementsHere();
    await work();
    return statementsHere() - before;
  };

  /** Whether the writing thread gets work. */
  const isSent = async (work: () => Promise<unknown>): Promise<boolean> => {
    const spy = vi.spyOn(Worker.prototype, 'postMessage');
    try {
      await work();
      return spy.mock.calls.some(([sent]) => (sent as Sent).call.kind === 'write');
    } finally {
      spy.mockRestore();
    }
  };

  it('need no thread; others do', async () => {
    let id = 0;
    const here = await statementsIn(async () => {
      id = await writeNote({ title: 'one', tags: [1, 2], lines: [{ text: 'x' }] });
      await writeNote({ tags: { disconnect: [1] }, lines: [] }, id);
    });
    expect(here).toBeGreaterThan(15);
    expect(await statementsIn(() => db.write(insert('two')))).toBe(0);
    expect(await titles()).toEqual(['one', 'two']);
    expect(await rows(sql`select tag_id from notes_tags_links where note_id = ${id}`)).toEqual([[2]]);
  });

  it('are undone when they take too long, and done elsewhere once', async () => {
    const id = await writeNote({ title: 'one' });
    limits.set({ smallWriteMsMax: -1 });
    await writeNote({ title: 'two', tags: [1], lines: [{ text: 'x' }] });
    await writeNote({ title: 'three' }, id);
    expect(await titles()).toEqual(['three', 'two']);
    expect(await rows(sql`select count(*) from notes_tags_links`)).toEqual([[1]]);
    limits.reset();
    await writeNote({ title: 'four' });
    expect(await titles()).toEqual(['three', 'two', 'four']);
  });

  it('are run again from the beginning, whatever they have caught', async () => {
    limits.set({ smallWriteMsMax: -1 });
    let attempts = 0;
    await db.write(async (tx) => {
      attempts += 1;
      await insert('one')(tx).catch(() => undefined);
      return 'done';
    }, kind);
    expect(attempts).toBe(2);
    expect(await titles()).toEqual(['one']);
  });

  it('end before they change many rows, which SQLite does without looking at the time', async () => {
    const addLinks = (tag: number) =>
      db.write((tx) =>
        run(tx, sql`insert into notes_tags_links (note_id, tag_id, note_order) select id, ${tag}, 1 from notes`),
      );
    const many = sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${LONG})`;
    await db.write((tx) => run(tx, sql`insert into notes (id, title) ${many} select i, 'note ' || i from n`));
    const type = world.model.types.get('api::tag.tag')!;
    const write = async (request: WriteRequest): Promise<void> => {
      expect(await writeAndAnswer(request, { query: noQuery }, context, lines())).toMatchObject({ ok: true });
    };
    const links = (tag: number) =>
      rows(sql`select note_id from notes_tags_links where tag_id = ${tag} order by note_order`);

    await addLinks(1);
    expect(await isSent(() => write({ action: 'update', type, id: 1, data: { notes: { set: [7, 3] } } }))).toBe(true);
    expect(await links(1)).toEqual([[7], [3]]);
    await addLinks(2);
    expect(await isSent(() => write({ action: 'delete', type, id: 2 }))).toBe(true);
    expect(await links(2)).toEqual([]);
    expect(await isSent(() => writeNote({ title: 'new', tags: [1] }))).toBe(false);
  });

  it('are refused as elsewhere, and leave nothing', async () => {
    await writeNote({ title: 'one' });
    await expect(writeNote({ title: 'one' })).rejects.toThrow('body.unique');
    await expect(writeNote({ title: 'two', tags: [99] })).rejects.toThrow('relation.');
    expect(await titles()).toEqual(['one']);
  });

  it('are none with hooks, which run once', async () => {
    limits.set({ smallWriteMsMax: -1 });
    let runs = 0;
    const hooks: Hooks = {
      before: (action) =>
        action === 'create'
          ? async () => {
              runs += 1;
            }
          : undefined,
      after: () => undefined,
    };
    await writeNote({ title: 'one' }, null, hooks);
    expect(runs).toBe(1);
  });

  it('and those of the thread drop nothing of tables that they have not touched; foreign ones drop all', async () => {
    const { changes } = db;
    /** Whether what was read of the tags before is still of use. */
    const keepsTags = async (work: () => Promise<unknown>): Promise<boolean> => {
      await changes.catchUp();
      const before = changes.moment();
      await work();
      await changes.catchUp();
      expect(changes.isUnchanged(['notes'], before)).toBe(false);
      return changes.isUnchanged(['tags'], before);
    };
    await writeNote({ title: 'zero' });
    for (let turn = 0; turn < 3; turn++) {
      expect(await keepsTags(() => writeNote({ title: `here ${turn}` }))).toBe(true);
      expect(await keepsTags(() => db.write(insert(`there ${turn}`)))).toBe(true);
      expect(await keepsTags(() => world.insert('notes', [{ title: `foreign ${turn}` }]))).toBe(false);
      limits.set({ smallWriteMsMax: -1 });
      expect(await keepsTags(() => writeNote({ title: `repeated ${turn}` }))).toBe(true);
      limits.reset();
      const between = async (): Promise<void> => {
        const writing = [
          writeNote({ title: `a ${turn}` }),
          db.write(insert(`b ${turn}`)),
          writeNote({ title: `c ${turn}` }),
        ];
        await world.insert('notes', [{ title: `d ${turn}` }]);
        await Promise.all(writing);
      };
      expect(await keepsTags(between)).toBe(false);
    }
    expect(await rows(sql`select count(*) from notes`)).toEqual([[25]]);
  });

  it('that run out of time once all is written are committed: nothing else is dropped', async () => {
    const { changes } = db;
    await writeNote({ title: 'zero' });
    await changes.catchUp();
    const before = changes.moment();
    await db.write(async (tx) => {
      await insert('one')(tx);
      // the work has sent all it has
      limits.set({ smallWriteMsMax: -1 });
    }, kind);
    limits.reset();
    expect(await titles()).toEqual(['zero', 'one']);
    await changes.catchUp();
    expect(changes.isUnchanged(['notes'], before)).toBe(false);
    expect(changes.isUnchanged(['tags'], before)).toBe(true);
  });

  it('are done in the order in which they were asked for, and all before the database closes', async () => {
    const order: string[] = [];
    const write = async (name: string, work: Promise<unknown>): Promise<void> => {
      await work;
      order.push(name);
    };
    const writes = [
      write('a', db.write(insert('a'), kind)),
      write('b', db.write(insert('b'))),
      write('c', db.write(insert('c'), kind)),
      write('d', db.write(insert('d'), kind)),
    ];
    await db.close();
    await Promise.all(writes);
    expect(order).toEqual(['a', 'b', 'c', 'd']);
    db = await openSqlite(world.db.place);
    expect(await titles()).toEqual(['a', 'b', 'c', 'd']);
  });
});
