/**
 * Webhooks of a server that is killed between the commit and sending, and between sending and writing that down: nothing that
 * was acknowledged, and nothing that was stored, is lost. And of one that is stopped.
 */
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { readDeliveries } from '../../src/events/outbox.js';
import { addWebhook } from '../../src/events/webhooks.js';
import { dialects, newDatabase, queryOf, type TestDatabase } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { type Served, serveInProcess } from '../world/process.js';
import { newReceiver, type Receiver } from '../world/receiver.js';
import { type SmallProject, writeSmall } from '../world/small.js';

const project: SmallProject = { types: { note: { attributes: { text: { type: 'string' } } } } };
const kills = Number(process.env['DOVETAIL_KILLS'] ?? 4);

interface Killable {
  readonly database: TestDatabase;
  readonly receiver: Receiver;
  start(): Promise<Served>;
  /** Texts of the notes that the receiver was told of. */
  told(): ReadonlySet<string>;
  close(): Promise<void>;
}

/** A project in a folder, whose public may write, with a webhook. */
const newKillable = async (dialect: (typeof dialects)[number]): Promise<Killable> => {
  const dir = newFolder();
  writeSmall(dir, project);
  fs.writeFileSync(path.join(dir, 'dovetail.config.json'), '{"permissions":{"enabled":false}}');
  const database = await newDatabase(dialect);
  const receiver = await newReceiver();
  const start = () => serveInProcess(dir, database.env);
  // makes the tables
  await kill(await start());
  await addWebhook({ name: 'test', url: receiver.url, headers: {}, events: ['entry.create'] }, database.db);
  return {
    database,
    receiver,
    start,
    told: () => new Set(receiver.hooks.map((it) => (it.body['entry'] as { text: string }).text)),
    close: async () => {
      await receiver.close();
      await database.drop();
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
};

const kill = async ({ child }: Served): Promise<void> => {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
};

const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await new Promise(setImmediate);
};

const stored = ({ db }: TestDatabase) => db.read(() => readDeliveries(null, db.dialect));

/** As if the lease of what the dead have claimed were over. */
const endLeases = async ({ db }: TestDatabase): Promise<void> => {
  const all = sql`update dovetail_deliveries set due_at = 0 where due_at is not null`;
  await db.write((tx) => tx.run(db.dialect.compile(all)));
};

describe.each(dialects)('webhooks of a killed server on %s', (dialect) => {
  it(`tell of every stored entry (${kills} kills)`, { timeout: 600_000 }, async () => {
    const killable = await newKillable(dialect);
    const { database, receiver } = killable;
    let number = 0;
    try {
      for (let round = 0; round < kills; round++) {
        const served = await killable.start();
        const exited = once(served.child, 'exit');
        const before = receiver.hooks.length;
        // by turns: once a write is acknowledged, and once the receiver has answered
        const isOnWrite = round % 2 === 0;
        const least = 3 + ((round * 5) % 11);
        receiver.answer((response) => {
          response.end('ok', () => {
            if (!isOnWrite && receiver.hooks.length - before >= least) served.child.kill('SIGKILL');
          });
        });
        let acknowledged = 0;
        const client = async (): Promise<void> => {
          for (;;) {
            number += 1;
            const data = { text: String(number) };
            try {
              const answer = await fetch(`${served.url}/notes`, {
                method: 'POST',
                headers: { 'content-type': 'application/json' },
                body: JSON.stringify({ data }),
              });
              await answer.json();
              acknowledged += 1;
              if (isOnWrite && acknowledged >= least) served.child.kill('SIGKILL');
            } catch {
              return;
            }
          }
        };
        await Promise.all([client(), client(), client(), client()]);
        await exited;
        await endLeases(database);
      }
      receiver.answer((response) => void response.end('ok'));
      await endLeases(database);
      const served = await killable.start();
      await until(async () => (await stored(database)).length === 0);
      await kill(served);
      const rows = await queryOf(database, 'select text from notes');
      expect(rows.length).toBeGreaterThan(kills);
      expect(rows.map((it) => String(it['text'])).filter((text) => !killable.told().has(text))).toEqual([]);
      expect(killable.told().size).toBe(rows.length);
      // what came twice has the same id
      const ids = new Map<string, Set<unknown>>();
      for (const { body, headers } of receiver.hooks) {
        const { text } = body['entry'] as { text: string };
        ids.set(text, (ids.get(text) ?? new Set()).add(headers['webhook-id']));
      }
      expect([...ids.values()].filter((it) => it.size !== 1)).toEqual([]);
    } finally {
      await killable.close();
    }
  });

  it('a stopped server ends the deliveries that it sends, and leaves the others to the next one', async () => {
    const killable = await newKillable(dialect);
    const { database, receiver } = killable;
    const answers: (() => void)[] = [];
    receiver.answer((response) => void answers.push(() => response.end('ok')));
    try {
      const first = await killable.start();
      for (let i = 0; i < 8; i++)
        await fetch(`${first.url}/notes`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ data: { text: String(i) } }),
        });
      await until(() => answers.length === 5);
      const exited = once(first.child, 'exit');
      first.child.kill('SIGTERM');
      // it no longer listens
      await until(() =>
        fetch(first.url).then(
          () => false,
          () => true,
        ),
      );
      for (const answer of answers) answer();
      expect((await exited)[0]).toBe(0);
      expect(answers).toHaveLength(5);
      expect(await stored(database)).toHaveLength(3);
      receiver.answer((response) => void response.end('ok'));
      const second = await killable.start();
      await until(async () => (await stored(database)).length === 0);
      await kill(second);
      expect(receiver.hooks).toHaveLength(8);
    } finally {
      await killable.close();
    }
  });
});
