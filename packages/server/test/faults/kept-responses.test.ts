/** Cached responses while connections, servers and poolers come and go: fewer are kept then, and none is stale. */
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newRandom, seedOfRun } from '../oracle/random.js';
import { ownPostgres } from '../world/databases.js';
import { type PoolMode, startPgBouncer } from '../world/pgbouncer.js';
import { type PostgresServer, startPostgres } from '../world/postgres.js';
import { newProcess, type Process } from '../world/processes.js';
import { newRelationsWorld, type RelationsWorld } from '../world/relations/world.js';

const post = async ({ server }: Process, plural: string, title: string): Promise<void> => {
  const { status, text } = await server.send('POST', `/api/${plural}`, { body: { data: { title } } });
  expect(status, text).toBe(200);
};

/** How many responses of two requests are cached: one that reads what the posts write, and one that does not. */
const readBoth = async ({ server }: Process): Promise<{ readonly kept: number; readonly total: number }> => {
  const before = server.kept().found;
  const books = await server.get('/api/books?fields=title&pagination[pageSize]=1');
  expect((await server.get('/api/sheets')).status).toBe(200);
  const { meta } = books.body as { meta: { pagination: { total: number } } };
  return { kept: server.kept().found - before, total: meta.pagination.total };
};

/** Both processes see what either writes; returns the responses that were cached. */
const takeTurns = async (processes: readonly Process[], turns: number): Promise<number> => {
  const random = newRandom(`${seedOfRun()}/kept turns`);
  let kept = 0;
  let { total } = await readBoth(processes[0]!);
  for (let turn = 0; turn < turns; turn++) {
    await post(random.pick(processes), 'books', `${turn}`);
    total += 1;
    for (const it of random.shuffle(processes)) {
      const read = await readBoth(it);
      expect(read.total).toBe(total);
      kept += read.kept;
    }
  }
  return kept;
};

describe('two processes on one PostgreSQL', () => {
  let postgres: PostgresServer;
  let world: RelationsWorld;
  let processes: Process[];
  beforeAll(async () => {
    postgres = await startPostgres();
    world = await newRelationsWorld('postgres', {}, undefined, postgres.url);
    processes = [await newProcess(world), await newProcess(world)];
    await takeTurns(processes, 4);
  });
  afterAll(async () => {
    for (const it of processes) await it.close();
    await world.close();
    await postgres.stop();
  });

  const runAsAdministrator = async (text: string): Promise<void> => {
    const client = new Client(world.env['DATABASE_URL']!);
    await client.connect();
    await client.query(text);
    await client.end();
  };

  it('keep the responses that neither can have changed', async () => {
    expect(await takeTurns(processes, 20)).toBeGreaterThan(20);
  });

  it('a burst of writes from both, beside readers: afterwards both agree', async () => {
    const { total } = await readBoth(processes[0]!);
    await Promise.all(
      Array.from({ length: 40 }, async (_it, i) => {
        await post(processes[i % 2]!, 'books', `${i}`);
        expect((await readBoth(processes[(i + 1) % 2]!)).total).toBeGreaterThan(total);
      }),
    );
    for (const it of processes) expect((await readBoth(it)).total).toBe(total + 40);
  });

  it("see each other's writes when the connections that they listen on are cut", async () => {
    await runAsAdministrator(
      "select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen%' or query like '%json_build_object(''from''%'",
    );
    await takeTurns(processes, 10);
  });

  it('drop everything when the server restarts, and see later writes', async () => {
    await takeTurns(processes, 1);
    await postgres.restart();
    for (const it of processes) expect((await readBoth(it)).kept).toBe(0);
    await takeTurns(processes, 10);
  });

  it('an announcement that nobody could have made changes nothing', async () => {
    await takeTurns(processes, 1);
    for (const payload of [
      '',
      'null',
      '{}',
      '{"from":1}',
      '{"from":"x","ids":[null],"writes":[[1]]}',
      '{"from":"x","ids":{},"writes":3}',
    ])
      await runAsAdministrator(`notify dovetail, '${payload}'`);
    await takeTurns(processes, 5);
  });
});

describe.each([0, 2])('two processes on one SQLite file, threads: %i', (threads) => {
  let world: RelationsWorld;
  let processes: Process[];
  beforeAll(async () => {
    world = await newRelationsWorld('sqlite');
    processes = [await newProcess(world, { threads }), await newProcess(world, { threads })];
  });
  afterAll(async () => {
    for (const it of processes) await it.close();
    await world.close();
  });

  it("see each other's writes", async () => {
    await takeTurns(processes, 20);
  });

  it('a burst of writes from both, beside readers: nobody sees less than before', async () => {
    const { total } = await readBoth(processes[0]!);
    const seen = [total, total];
    await Promise.all(
      Array.from({ length: 60 }, async (_it, i) => {
        await post(processes[i % 2]!, 'books', `${i}`);
        for (const at of [0, 1]) {
          // what anybody has seen was committed before this request
          const least = Math.max(...seen);
          const found = (await readBoth(processes[at]!)).total;
          expect(found).toBeGreaterThanOrEqual(least);
          seen[at] = Math.max(seen[at]!, found);
        }
      }),
    );
    for (const it of processes) expect((await readBoth(it)).total).toBe(total + 60);
  });
});

describe.each<PoolMode>(['session', 'transaction'])('two processes behind PgBouncer in %s mode', (mode) => {
  it("see each other's writes", async () => {
    const pooler = await startPgBouncer(ownPostgres(), mode);
    const world = await newRelationsWorld('postgres');
    const through = { ...world, env: { DATABASE_URL: pooler.through(world.env['DATABASE_URL']!) } };
    const processes = [await newProcess(through), await newProcess(through)];
    try {
      await takeTurns(processes, 15);
    } finally {
      for (const it of processes) await it.close();
      await world.close();
      await pooler.stop();
    }
  });
});
