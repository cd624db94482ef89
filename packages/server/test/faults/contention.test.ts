/**
 * What PostgreSQL cannot do because of other clients is a 503 with Retry-After, without any change; what is too
 * expensive by itself stays a 400.
 */
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Refusal } from '../../src/errors.js';
import type { Db, ReadProgram, Rows, Tx } from '../../src/sql/dialect.js';
import { openPostgres } from '../../src/sql/postgres/open.js';
import { type PostgresServer, startPostgres } from '../world/postgres.js';
import { newRelationsWorld, type RelationsWorld } from '../world/relations/world.js';
import { newTestServer, type TestAnswer } from '../world/server.js';

const connected = async (url: string): Promise<Client> => {
  const client = new Client(url);
  await client.connect();
  return client;
};

const expectBusy = ({ status, headers, body }: TestAnswer): void => {
  expect(status).toBe(503);
  expect(headers['retry-after']).toBe('1');
  expect(body).toMatchObject({ data: null, error: { name: 'ServiceUnavailableError' } });
};

/** Runs a statement in a read transaction. */
const reading = (db: Db, text: string): Promise<Rows> => {
  function* program(): ReadProgram<Rows> {
    const [rows = []] = yield [db.dialect.compile(sql`${sql.raw(text)}`)];
    return rows;
  }
  return db.read(program);
};

/** The code of the refusal that the work throws. */
const refusalOf = async (work: Promise<unknown>): Promise<string | undefined> => {
  const fault: unknown = await work.then(
    () => null,
    (it: unknown) => it,
  );
  return fault instanceof Refusal ? fault.issues[0]?.code : String(fault);
};

describe("another session's locks on PostgreSQL", () => {
  let world: RelationsWorld;
  let other: Client;
  beforeAll(async () => {
    world = await newRelationsWorld('postgres');
    other = await connected(world.env['DATABASE_URL']!);
  });
  afterAll(async () => {
    await other.end();
    await world.close();
  });

  it('a locked table is a 503 for readers and writers, and is served again afterwards', async () => {
    const id = await world.create('shelves', { name: 'before' });
    await other.query('begin; lock table shelves in access exclusive mode');
    try {
      const [read, list, written] = await Promise.all([
        world.send('GET', `/api/shelves/${id}`),
        world.send('GET', '/api/shelves?filters[name][$ne]=x'),
        world.send('PUT', `/api/shelves/${id}`, { data: { name: 'after' } }),
      ]);
      for (const answer of [read, list, written]) expectBusy(answer);
    } finally {
      await other.query('rollback');
    }
    expect((await world.read(`/api/shelves/${id}`)).attributes['name']).toBe('before');
    expect((await world.update('shelves', id, { name: 'after' })).attributes['name']).toBe('after');
  });

  it('a locked row is a 503 for its writers only', async () => {
    const id = await world.create('shelves', { name: 'before' });
    await other.query('begin');
    await other.query('update shelves set name = $1 where id = $2', ['theirs', id]);
    try {
      expect((await world.read(`/api/shelves/${id}`)).attributes['name']).toBe('before');
      expectBusy(await world.send('PUT', `/api/shelves/${id}`, { data: { name: 'ours' } }));
      expectBusy(await world.send('DELETE', `/api/shelves/${id}`));
    } finally {
      await other.query('commit');
    }
    expect((await world.read(`/api/shelves/${id}`)).attributes['name']).toBe('theirs');
  });

  describe('writes that were in conflict', () => {
    let db: Db;
    beforeAll(async () => {
      db = await openPostgres(world.env['DATABASE_URL']!);
    });
    afterAll(() => db.close());
    const statement = (text: string) => db.dialect.compile(sql`${sql.raw(text)}`);
    /** Runs work in a transaction whose first attempt ends in a conflict. */
    const repeated = (work: (tx: Tx) => Promise<unknown>): Promise<unknown> => {
      let attempts = 0;
      return db.write(async (tx) => {
        attempts += 1;
        if (attempts > 1) return work(tx);
        return tx.run(statement(`do $$ begin raise exception 'circle' using errcode = '40P01'; end $$`));
      });
    };

    it('are repeated one after the other', async () => {
      let running = 0;
      const seen: number[] = [];
      const work = async (tx: Tx) => {
        running += 1;
        for (let i = 0; i < 20; i++) await tx.run(statement('select 1'));
        seen.push(running);
        running -= 1;
      };
      await Promise.all([1, 2, 3, 4].map(() => repeated(work)));
      expect(seen).toEqual([1, 1, 1, 1]);
    });

    it('do not wait forever for one that waits for them', async () => {
      const answer = await repeated(() => repeated(async (tx) => tx.run(statement('select 1'))));
      expect(answer).toEqual([[1]]);
    });
  });

  it('a statement cancelled by someone else is a 503, one that takes too long by itself is a 400', async () => {
    // its refusal may come before the cancelling call returns
    const slow = refusalOf(reading(world.db, "select 'canceled here', pg_sleep(60)"));
    const running =
      "select pid from pg_stat_activity where query like '%canceled here%' and state = 'active' and pid <> pg_backend_pid()";
    let pid: number | undefined;
    while (pid === undefined) pid = (await other.query<{ pid: number }>(running)).rows[0]?.pid;
    await other.query('select pg_cancel_backend($1)', [pid]);
    expect(await slow).toBe('http.busy');
    expect(await refusalOf(reading(world.db, 'select pg_sleep(60)'))).toBe('read.too-slow');
    expect((await world.send('GET', '/api/shelves')).status).toBe(200);
  });
});

describe('a PostgreSQL with too many clients', () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await startPostgres('max_connections=12', 'superuser_reserved_connections=0', 'reserved_connections=0');
  });
  afterAll(() => postgres.stop());

  it('a process with one connection works with it, one with none responds 503', async () => {
    const world = await newRelationsWorld('postgres', {}, undefined, postgres.url);
    const url = world.env['DATABASE_URL']!;
    const late = await openPostgres(url);
    const server = await newTestServer(late, world.model);
    const others: Client[] = [];
    try {
      for (;;) {
        const client = new Client(url);
        try {
          await client.connect();
        } catch {
          break;
        }
        others.push(client);
      }
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_it, i) => server.get(`/api/shelves?filters[id][$ne]=${-i}`)),
      );
      for (const { status, text } of answers) expect(status, text).toBe(200);
      // its only connections end, and other clients take their slots
      await others[0]!.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'dovetail' and datname = current_database()",
      );
      for (let taken = true; taken; ) {
        const client = new Client(url);
        taken = await client.connect().then(
          () => true,
          () => false,
        );
        if (taken) others.push(client);
      }
      expectBusy(await server.get('/api/shelves'));
      expectBusy(await server.send('POST', '/api/shelves', { body: { data: {} } }));
    } finally {
      for (const client of others) await client.end();
      expect((await server.get('/api/shelves')).status).toBe(200);
      await server.close();
      await late.close();
      await world.close();
    }
  });
});

describe('PostgreSQL connections that are all in use', () => {
  it('a request that waits too long for one is a 503, and the queue moves on', async () => {
    const world = await newRelationsWorld('postgres');
    let release = (): void => undefined;
    let lock = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { db } = world;
    const statement = (text: string) => db.dialect.compile(sql`${sql.raw(text)}`);
    try {
      const locked = new Promise<void>((resolve) => {
        lock = resolve;
      });
      const locking = db.write(async (tx) => {
        await tx.run(statement('select pg_advisory_xact_lock(42)'));
        lock();
        await released;
      });
      await locked;
      const writing = Array.from({ length: 7 }, () => db.write(() => released));
      // what runs alone takes those that writes leave
      const alone = Array.from({ length: 2 }, () => db.runAlone(statement('select pg_advisory_lock(42)')));
      expectBusy(await world.send('GET', '/api/shelves'));
      release();
      await Promise.all([locking, ...writing, ...alone]);
      expect((await world.send('GET', '/api/shelves')).status).toBe(200);
    } finally {
      release();
      await world.close();
    }
  });

  it('closing lets a running transaction finish', async () => {
    const world = await newRelationsWorld('postgres');
    const db = await openPostgres(world.env['DATABASE_URL']!);
    try {
      let closing: Promise<void> = Promise.resolve();
      await db.write(async (tx) => {
        closing = db.close();
        await tx.run(db.dialect.compile(sql`insert into shelves (name) values ('while closing')`));
      });
      await closing;
      expect((await world.rows('shelves')).map((it) => it['name'])).toEqual(['while closing']);
      expect(await refusalOf(reading(db, 'select 1'))).toBe('http.busy');
    } finally {
      await world.close();
    }
  });
});
