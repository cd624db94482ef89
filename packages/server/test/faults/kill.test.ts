/**
 * A server process is killed during writes, again and again. After each restart every acknowledged write is stored, no
 * write is stored partially, and no row lacks its owner.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { readRows } from '../../src/sql/dialect.js';
import { newRandom, type Random, seedOfRun } from '../oracle/random.js';
import { type Served, serveInProcess } from '../world/process.js';
import {
  dialects,
  type Entry,
  newRelationsWorld,
  type RelationsWorld,
  relationsProjectDir,
} from '../world/relations/world.js';
import { shownState, stateOf, stateQuery } from './states.js';

const seed = seedOfRun();
/** 100 in a full run. */
const kills = Number(process.env['DOVETAIL_KILLS'] ?? 4);
const clients = 8;

/** The application name of the killed server's connections; the test has connections of its own. */
const victim = 'victim';

const namedEnv = ({ env: { DATABASE_URL, ...env } }: RelationsWorld): Readonly<Record<string, string>> =>
  DATABASE_URL === undefined ? env : { ...env, DATABASE_URL: `${DATABASE_URL}?application_name=${victim}` };

const serve = (world: RelationsWorld): Promise<Served> => serveInProcess(relationsProjectDir, namedEnv(world));

/** Kills the server some turns of the event loop later, whatever it is doing then. */
const killSoon = async (child: ChildProcess, random: Random): Promise<void> => {
  for (let turns = random.below(4000); turns > 0; turns--) await new Promise(setImmediate);
  child.kill('SIGKILL');
};

/** Whether PostgreSQL is still working for a killed server: its last commit may be in progress. */
const isServed = async (world: RelationsWorld): Promise<boolean> => {
  if (world.dialect === 'sqlite') return false;
  const statement = world.db.dialect.compile(
    sql`select 1 from pg_stat_activity where datname = current_database() and application_name = ${victim}`,
  );
  return (await world.db.read(() => readRows(statement))).length > 0;
};

/** What a client knows of one entry: the number of the last acknowledged write, and of one without a response. */
interface Known {
  readonly id: number;
  answered: number;
  pending: number | null;
  deletion: 'none' | 'pending' | 'answered';
}

interface Client {
  readonly random: Random;
  readonly entries: Known[];
  /** Number of a creation without a response. */
  creation: number | null;
}

describe.each(dialects)('a killed server on %s', (dialect) => {
  it(`loses no acknowledged write and leaves no partial one (${kills} kills, seed ${seed})`, {
    timeout: 3_600_000,
  }, async () => {
    const world = await newRelationsWorld(dialect);
    const random = newRandom(`${seed}/kill ${dialect}`);
    const books = await world.createMany('books', 4);
    const all: Client[] = Array.from({ length: clients }, (_it, i) => ({
      random: random.fork(`client ${i}`),
      entries: [],
      creation: null,
    }));
    const totals = { answered: 0, lostAnswers: 0, lostButDone: 0 };
    let number = 0;
    let served: Served | null = null;
    try {
      /**
       * Checks that every part of every entry shows the number of its last acknowledged write or of the one without a
       * response.
       */
      const checkAll = async (url: string): Promise<void> => {
        const answer = await fetch(`${url}/holders?pagination[pageSize]=100&${stateQuery}`);
        const body = (await answer.json()) as { data: Entry[] };
        const found = new Map(body.data.map((it) => [it.id, it]));
        for (const client of all) {
          for (const known of [...client.entries]) {
            const entry = found.get(known.id);
            found.delete(known.id);
            if (known.deletion !== 'none') totals.lostAnswers += known.deletion === 'pending' ? 1 : 0;
            if (!entry) {
              expect(known.deletion, `entry ${known.id} is gone`).not.toBe('none');
              client.entries.splice(client.entries.indexOf(known), 1);
              continue;
            }
            expect(known.deletion, `entry ${known.id} was deleted`).not.toBe('answered');
            known.deletion = 'none';
            const v = Number(String(entry.attributes['name']).slice(1));
            expect([known.answered, known.pending], `entry ${known.id} shows ${v}`).toContain(v);
            expect(shownState(entry)).toEqual(stateOf(v, books));
            if (known.pending !== null) {
              totals.lostAnswers += 1;
              totals.lostButDone += v === known.pending ? 1 : 0;
            }
            known.answered = v;
            known.pending = null;
          }
        }
        // the rest was created without a response: complete, and as requested
        for (const entry of found.values()) {
          const v = Number(String(entry.attributes['name']).slice(1));
          const client = all.find((it) => it.creation === v);
          expect(client, `entry ${entry.id} with ${v} was asked for`).toBeDefined();
          expect(shownState(entry)).toEqual(stateOf(v, books));
          client!.entries.push({ id: entry.id, answered: v, pending: null, deletion: 'none' });
          totals.lostButDone += 1;
        }
        for (const client of all) {
          if (client.creation !== null) totals.lostAnswers += 1;
          client.creation = null;
        }
        await world.expectNoOrphans();
      };
      for (let round = 0; round < kills; round++) {
        served = await serve(world);
        const { url, child } = served;
        await checkAll(url);
        const sawVictim = await isServed(world);
        const ended = once(child, 'exit');
        let left = random.between(10, 60);
        const send = async (method: string, where: string, data?: unknown): Promise<Entry | null> => {
          try {
            const answer = await fetch(`${url}/holders${where}`, {
              method,
              ...(data === undefined
                ? {}
                : { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ data }) }),
            });
            const { data: entry, error } = (await answer.json()) as { data: Entry; error?: unknown };
            if (answer.status !== 200) throw new Error(`${method} ${where}: ${answer.status} ${JSON.stringify(error)}`);
            left -= 1;
            if (left === 0) void killSoon(child, random);
            return entry;
          } catch (fault) {
            // the connection broke: the outcome is unknown
            if (left <= 0 && fault instanceof TypeError) return null;
            if (left <= 0 && fault instanceof SyntaxError) return null;
            throw fault;
          }
        };
        const run = async (client: Client): Promise<void> => {
          for (;;) {
            number += 1;
            const v = number;
            const living = client.entries.filter((it) => it.deletion === 'none');
            const entry = living.length > 0 ? client.random.pick(living) : undefined;
            const what = client.random.below(10);
            if (!entry || (what === 0 && living.length < 4)) {
              client.creation = v;
              const made = await send('POST', '', stateOf(v, books));
              if (!made) return;
              client.creation = null;
              client.entries.push({ id: made.id, answered: v, pending: null, deletion: 'none' });
            } else if (what === 1 && living.length > 1) {
              entry.deletion = 'pending';
              if (!(await send('DELETE', `/${entry.id}`))) return;
              entry.deletion = 'answered';
            } else {
              entry.pending = v;
              if (!(await send('PUT', `/${entry.id}`, stateOf(v, books)))) return;
              entry.answered = v;
              entry.pending = null;
            }
            totals.answered += 1;
          }
        };
        await Promise.all(all.map(run));
        expect(left, 'the kill has happened').toBeLessThanOrEqual(0);
        await ended;
        expect(sawVictim, 'the server goes by its name').toBe(dialect === 'postgres');
        while (await isServed(world));
        served = null;
      }
      served = await serve(world);
      await checkAll(served.url);
      process.stdout.write(
        `${dialect}: ${kills} kills, ${totals.answered} answered writes all there; ${totals.lostAnswers} got no answer, ${totals.lostButDone} of them were done\n`,
      );
      // kills outside of any write would prove nothing
      expect(totals.lostAnswers).toBeGreaterThan(kills);
    } finally {
      served?.child.kill('SIGKILL');
      await world.close();
    }
  });
});
