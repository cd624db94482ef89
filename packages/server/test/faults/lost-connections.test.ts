/**
 * PostgreSQL closes connections under load: one by one, and all at once with a restart. The server process survives,
 * clients see only 200 and 503, and every write that was answered 200 is completely stored.
 */
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ownPostgres } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { type PostgresServer, startPostgres } from '../world/postgres.js';
import { type Served, serveInProcess } from '../world/process.js';
import { type Entry, newRelationsWorld, type RelationsWorld, relationsProjectDir } from '../world/relations/world.js';
import { writeSmall } from '../world/small.js';
import { shownState, stateOf, stateQuery } from './states.js';

/** The application name of the server process's connections. */
const victim = 'victim';
const writers = 6;
const readers = 4;

interface Writer {
  readonly id: number;
  answered: number;
  /** Numbers of writes that have been answered 503 since. */
  unknown: number[];
}

interface Load {
  readonly statuses: Map<string, number>;
  /** Waits until the given number of further requests of each kind are answered 200. */
  goOn(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** Writers with one entry each, and readers of all entries; every response is 200 or 503. */
const startLoad = (url: string, entries: readonly Writer[], books: readonly number[]): Load => {
  const statuses = new Map<string, number>();
  let isOver = false;
  let number = 1000;
  const send = async (method: string, path: string, data?: unknown): Promise<{ status: number; body: unknown }> => {
    const answer = await fetch(`${url}/holders${path}`, {
      method,
      ...(data === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ data }) }),
    });
    const body: unknown = await answer.json();
    const key = `${method} ${answer.status}`;
    statuses.set(key, (statuses.get(key) ?? 0) + 1);
    if (answer.status === 503) {
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(body).toMatchObject({ data: null, error: { status: 503, name: 'ServiceUnavailableError' } });
    } else expect(answer.status, JSON.stringify(body)).toBe(200);
    return { status: answer.status, body };
  };
  const write = async (writer: Writer): Promise<void> => {
    while (!isOver) {
      number += 1;
      const v = number;
      const { status } = await send('PUT', `/${writer.id}`, stateOf(v, books));
      if (status === 200) Object.assign(writer, { answered: v, unknown: [] });
      else writer.unknown.push(v);
    }
  };
  const read = async (turn: number): Promise<void> => {
    while (!isOver) {
      // a different URL each time, so that no response is cached
      turn += readers;
      await send('GET', `?filters[id][$ne]=${-turn}&pagination[pageSize]=100&${stateQuery}`);
    }
  };
  const clients = [...entries.map(write), ...Array.from({ length: readers }, (_it, i) => read(i))];
  const all = Promise.all(clients);
  const count = (key: string): number => statuses.get(key) ?? 0;
  return {
    statuses,
    goOn: async (more) => {
      const [gets, puts] = [count('GET 200') + more, count('PUT 200') + more];
      while (count('GET 200') < gets || count('PUT 200') < puts)
        await Promise.race([all, new Promise((resolve) => setImmediate(resolve))]);
    },
    stop: async () => {
      isOver = true;
      await all;
    },
  };
};

/** Serves a world, disturbs it under load, and checks the result. */
const survive = async (
  world: RelationsWorld,
  { url, child }: Served,
  disturb: (load: Load) => Promise<void>,
): Promise<ReadonlyMap<string, number>> => {
  const books = await world.createMany('books', 4);
  const entries: Writer[] = [];
  for (let i = 0; i < writers; i++)
    entries.push({ id: await world.create('holders', stateOf(i, books)), answered: i, unknown: [] });
  const load = startLoad(url, entries, books);
  await load.goOn(5);
  await disturb(load);
  await load.goOn(5);
  await load.stop();
  expect(child.exitCode, 'the process lives').toBeNull();
  const answer = await fetch(`${url}/holders?pagination[pageSize]=100&${stateQuery}`);
  expect(answer.status).toBe(200);
  const { data } = (await answer.json()) as { data: readonly Entry[] };
  expect(data).toHaveLength(writers);
  for (const { id, answered, unknown } of entries) {
    const entry = data.find((it) => it.id === id)!;
    const v = Number(String(entry.attributes['name']).slice(1));
    expect([answered, ...unknown]).toContain(v);
    expect(shownState(entry)).toEqual(stateOf(v, books));
  }
  await world.expectNoOrphans();
  return load.statuses;
};

const envOf = ({ env: { DATABASE_URL, ...env } }: RelationsWorld): Readonly<Record<string, string>> => ({
  ...env,
  DATABASE_URL: `${DATABASE_URL}?application_name=${victim}`,
});

const connected = async (url: string): Promise<Client> => {
  const client = new Client(url);
  await client.connect();
  return client;
};

describe('connections closed by PostgreSQL', () => {
  it('all of them terminated one after the other under load, 30 times', async () => {
    const world = await newRelationsWorld('postgres');
    const admin = await connected(ownPostgres());
    const served = await serveInProcess(relationsProjectDir, envOf(world));
    const database = new URL(world.env['DATABASE_URL']!).pathname.slice(1);
    let terminated = 0;
    try {
      const statuses = await survive(world, served, async (load) => {
        for (let round = 0; round < 30; round++) {
          const { rowCount } = await admin.query(
            'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and datname = $2',
            [victim, database],
          );
          terminated += rowCount ?? 0;
          await load.goOn(2);
        }
      });
      // rounds that hit no connection would prove nothing
      expect(terminated).toBeGreaterThan(30);
      expect(statuses.get('PUT 503')).toBeGreaterThan(0);
    } finally {
      served.child.kill('SIGKILL');
      await admin.end();
      await world.close();
    }
  });

  it('ER5: a role that loses its rights: what needs them is 503, and the log says so; given back, all goes on', async () => {
    const admin = await connected(ownPostgres());
    const role = `guest_${crypto.randomUUID().replaceAll('-', '')}`;
    await admin.query(`create role ${role} login password 'guest'`);
    await admin.query(`create database ${role} owner ${role}`);
    const url = new URL(ownPostgres());
    url.pathname = `/${role}`;
    const owner = await connected(url.href);
    Object.assign(url, { username: role, password: 'guest' });
    const dir = newFolder();
    writeSmall(dir, { types: { note: { attributes: { title: { type: 'string' } } } } });
    fs.writeFileSync(path.join(dir, 'dovetail.config.json'), '{"permissions":{"enabled":false}}');
    const served = await serveInProcess(dir, {
      DATABASE_URL: url.href,
      DATABASE_CLIENT: 'postgres',
      LOG_LEVEL: 'warn',
    });
    let asked = 0;
    const send = async (method: string): Promise<number> => {
      const body = JSON.stringify({ data: { title: 'x' } });
      asked += 1;
      const answer = await fetch(`${served.url}/notes?filters[id][$ne]=${-asked}`, {
        method,
        ...(method === 'GET' ? {} : { headers: { 'content-type': 'application/json' }, body }),
      });
      return answer.status;
    };
    try {
      expect([await send('GET'), await send('POST')]).toEqual([200, 200]);
      await owner.query('alter table notes owner to current_user');
      expect([await send('GET'), await send('POST')]).toEqual([503, 503]);
      await owner.query(`grant select on notes to ${role}`);
      expect([await send('GET'), await send('POST')]).toEqual([200, 503]);
      await owner.query(`alter table notes owner to ${role}`);
      expect([await send('GET'), await send('POST')]).toEqual([200, 200]);
      expect(served.log()).toMatch(/requests are answered 503: permission denied for table notes/);
      expect(served.log()).not.toContain('"level":50');
    } finally {
      served.child.kill('SIGKILL');
      await once(served.child, 'exit');
      await owner.end();
      await admin.query(`drop database ${role} with (force)`);
      await admin.query(`drop role ${role}`);
      await admin.end();
    }
  });

  describe('PostgreSQL restarts', () => {
    let postgres: PostgresServer;
    beforeAll(async () => {
      postgres = await startPostgres();
    });
    afterAll(() => postgres.stop());

    it('under load, 3 times', async () => {
      const world = await newRelationsWorld('postgres', {}, undefined, postgres.url);
      const served = await serveInProcess(relationsProjectDir, { ...envOf(world), LOG_LEVEL: 'warn' });
      try {
        const statuses = await survive(world, served, async (load) => {
          for (let round = 0; round < 3; round++) {
            await postgres.restart();
            await load.goOn(5);
          }
        });
        expect(statuses.get('PUT 503')).toBeGreaterThan(0);
        // nothing of it is a fault of the server
        expect(served.log()).not.toContain('"level":50');
      } finally {
        served.child.kill('SIGKILL');
        await world.close();
      }
    });
  });
});
