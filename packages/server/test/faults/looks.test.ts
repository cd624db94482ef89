/**
 * Looks at the state of PostgreSQL, which have a connection of their own: whatever happens to it, and whatever others commit,
 * nothing that was committed before a look goes unnoticed by it.
 */
import net, { type AddressInfo } from 'node:net';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixedStatement } from '../../src/sql/compile.js';
import type { Db } from '../../src/sql/dialect.js';
import { openPostgres } from '../../src/sql/postgres/open.js';
import { newRandom, seedOfRun } from '../oracle/random.js';
import { newDatabase, type TestDatabase } from '../world/databases.js';
import { type PostgresServer, startPostgres } from '../world/postgres.js';

/** Another program. */
const connect = async (url: string): Promise<Client> => {
  const client = new Client(url);
  client.on('error', () => undefined);
  await client.connect();
  return client;
};

const own = (db: Db, text: string): Promise<unknown> => db.write((tx) => tx.run(fixedStatement(text)));

/** Whether a look from now on notices a change of the table since the work began. */
const isNoticed = async (db: Db, work: () => Promise<unknown>): Promise<boolean> => {
  await db.changes.catchUp();
  const since = db.changes.moment();
  await work();
  await db.changes.catchUp();
  return !db.changes.isUnchanged(['seen'], since);
};

const backends = `select pid from pg_stat_activity where query = 'select pg_catalog.pg_current_snapshot()' and pid <> pg_backend_pid() and datname = current_database()`;

/** The backend of the connection that looks, once it is in use. */
const backendOf = async (db: Db, stranger: Client): Promise<number> => {
  for (;;) {
    await db.changes.catchUp();
    const { rows } = await stranger.query<{ readonly pid: number }>(backends);
    if (rows[0]) return rows[0].pid;
  }
};

describe('looks at PostgreSQL', () => {
  let server: PostgresServer;
  let database: TestDatabase;
  let db: Db;
  let stranger: Client;
  beforeAll(async () => {
    server = await startPostgres('max_prepared_transactions=5');
    database = await newDatabase('postgres', server.url);
    ({ db } = database);
    await own(db, 'create table seen (n integer)');
    await own(db, 'create table other (n integer)');
    stranger = await connect(database.env['DATABASE_URL']!);
    await backendOf(db, stranger);
  });
  afterAll(async () => {
    await stranger.end();
    await database.drop();
    await server.stop();
  });

  const run =
    (...texts: readonly string[]) =>
    async (): Promise<void> => {
      for (const text of texts) await stranger.query(text);
    };
  const insert = 'insert into seen values (1)';

  it('notice what others commit: at once, late, in two phases, with savepoints', async () => {
    expect(await isNoticed(db, run(insert))).toBe(true);
    expect(await isNoticed(db, run('begin', insert))).toBe(false);
    expect(await isNoticed(db, () => own(db, 'insert into other values (1)'))).toBe(false);
    expect(await isNoticed(db, run('commit'))).toBe(true);
    expect(await isNoticed(db, run('begin', 'savepoint a', insert, 'release a', 'savepoint b', insert))).toBe(false);
    expect(await isNoticed(db, run('rollback to b', 'commit'))).toBe(true);
    expect(await isNoticed(db, run('begin', insert, `prepare transaction 'first'`))).toBe(false);
    expect(await isNoticed(db, run(`commit prepared 'first'`))).toBe(true);
  });

  it('agree with a fresh read after each of many random steps', async () => {
    const random = newRandom(`${seedOfRun()}/looks`);
    const others = await Promise.all([1, 2, 3].map(() => connect(database.env['DATABASE_URL']!)));
    const isOpen = others.map(() => false);
    const count = async () => Number((await stranger.query('select count(*) from seen')).rows[0].count);
    let known = { count: await count(), since: db.changes.moment() };
    for (let i = 0; i < 150; i++) {
      const at = random.below(others.length);
      const step = random.pick(['toggle', 'toggle', 'insert', 'savepoint', 'own', 'other', 'kill'] as const);
      if (step === 'toggle') {
        await others[at]!.query(isOpen[at] ? random.pick(['commit', 'rollback']) : 'begin');
        isOpen[at] = !isOpen[at];
      } else if (step === 'insert') await others[at]!.query(insert);
      else if (step === 'savepoint' && isOpen[at]) await others[at]!.query(`savepoint s; ${insert}`);
      else if (step === 'own') await own(db, insert);
      else if (step === 'other') await own(db, 'insert into other values (1)');
      else if (step === 'kill' && random.chance(0.2))
        await stranger.query(`select pg_terminate_backend(pid) from (${backends}) b`);
      await db.changes.catchUp();
      const now = { count: await count(), since: db.changes.moment() };
      if (now.count !== known.count) expect(db.changes.isUnchanged(['seen'], known.since)).toBe(false);
      known = now;
    }
    for (const it of others) await it.end();
  });

  it('go on over another connection when theirs is cut, also during a look', async () => {
    for (let i = 0; i < 10; i++) {
      const pid = await backendOf(db, stranger);
      const looking = db.changes.catchUp();
      await stranger.query('select pg_terminate_backend($1)', [pid]);
      await looking;
      expect(await isNoticed(db, run(insert))).toBe(true);
    }
  });

  it('go on when their backend falls silent', async () => {
    const pid = await backendOf(db, stranger);
    process.kill(pid, 'SIGSTOP');
    try {
      expect(await isNoticed(db, run(insert))).toBe(true);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  });

  it('do not hold up the end when their backend is silent', async () => {
    const other = await openPostgres(database.env['DATABASE_URL']!);
    const before = (await stranger.query<{ readonly pid: number }>(backends)).rows.map((it) => it.pid);
    let pid: number | undefined;
    while (pid === undefined) {
      await other.changes.catchUp();
      const { rows } = await stranger.query<{ readonly pid: number }>(backends);
      pid = rows.find((it) => !before.includes(it.pid))?.pid;
    }
    process.kill(pid, 'SIGSTOP');
    try {
      await other.close();
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  });

  it('take what ends a statement for no answer', async () => {
    const pid = await backendOf(db, stranger);
    await stranger.query('select pg_cancel_backend($1)', [pid]);
    expect(await isNoticed(db, run(insert))).toBe(true);
  });
});

describe('a pool that has moved to another PostgreSQL', () => {
  it('takes its looks along, although the first one is still there', async () => {
    const servers = await Promise.all([startPostgres(), startPostgres()]);
    const strangers = await Promise.all(servers.map((it) => connect(it.url)));
    for (const it of strangers) await it.query('create table seen (n integer)');
    let current = 0;
    // an address behind which servers change, and which keeps connections
    const proxy = net.createServer((client) => {
      const { port } = new URL(servers[current]!.url);
      const upstream = net.connect(Number(port), '127.0.0.1');
      client.pipe(upstream).pipe(client);
      for (const socket of [client, upstream])
        socket
          .on('error', () => undefined)
          .on('close', () => {
            client.destroy();
            upstream.destroy();
          });
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const through = new URL(servers[0]!.url);
    through.port = String((proxy.address() as AddressInfo).port);
    const db = await openPostgres(through.href);
    try {
      const looking = await backendOf(db, strangers[0]!);
      current = 1;
      await strangers[0]!.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'dovetail' and pid <> ${looking}`,
      );
      // the pool connects again for it
      await own(db, 'insert into seen values (1)');
      expect(await isNoticed(db, () => strangers[1]!.query('insert into seen values (1)'))).toBe(true);
    } finally {
      await db.close();
      proxy.close();
      for (const it of strangers) await it.end();
      for (const it of servers) await it.stop();
    }
  });
});
