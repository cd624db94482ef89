/** How webhooks are delivered: signed, in order, again after a failure, and by one of several processes. */
import crypto from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NotifierOptions } from '../../src/events/notifier.js';
import { claim, type Outcome, readDeliveries, retryDeliveries } from '../../src/events/outbox.js';
import { send } from '../../src/events/sender.js';
import { addWebhook, enableWebhook, removeWebhook } from '../../src/events/webhooks.js';
import { limits } from '../../src/limits.js';
import type { Db, Tx } from '../../src/sql/dialect.js';
import { dialects } from '../world/databases.js';
import { newProcess } from '../world/processes.js';
import { newReceiver, type Receiver } from '../world/receiver.js';
import { newSmallWorld, type SmallProject, type SmallWorld } from '../world/small.js';
import { txThrough } from '../world/watched.js';

const project: SmallProject = { types: { note: { attributes: { text: { type: 'string' } } } } };
const key = crypto.randomBytes(32);
const message = { message: 'm', event: 'entry.create', body: '{"event":"entry.create"}' };
const plain = { defaultHeaders: {}, signingKey: null };

describe('a delivery', () => {
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await newReceiver();
  });
  afterEach(() => receiver.close());

  it('is signed with its id and time, as Standard Webhooks define it', async () => {
    await send({ url: receiver.url, headers: {} }, message, { ...plain, signingKey: key }, 1_700_000_000_999);
    const [{ headers, text }] = receiver.hooks as [Receiver['hooks'][number]];
    expect(headers).toMatchObject({ 'webhook-id': 'm', 'webhook-timestamp': '1700000000' });
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`;
    expect(headers['webhook-signature']).toBe(`v1,${crypto.createHmac('sha256', key).update(signed).digest('base64')}`);
  });

  it('has default headers, those of its webhook over them, and over both what belongs to the event', async () => {
    const defaultHeaders = { Authorization: 'Bearer default', 'X-Both': 'default', 'X-Strapi-Event': 'forged' };
    const headers = { 'x-both': 'own', 'content-type': 'text/plain' };
    expect(await send({ url: receiver.url, headers }, message, { ...plain, defaultHeaders }, 0)).toEqual({
      ok: true,
      status: 200,
    });
    expect(receiver.hooks[0]!.headers).toMatchObject({
      authorization: 'Bearer default',
      'x-both': 'own',
      'x-strapi-event': 'entry.create',
      'content-type': 'application/json',
    });
    expect(receiver.hooks[0]!.headers).not.toHaveProperty('webhook-signature');
  });

  it('fails with any status but 2xx, and follows no redirect', async () => {
    receiver.answer(
      (response, hook) => void response.writeHead(Number(hook.url.slice(6)), { location: '/hook/200' }).end(),
    );
    const answers = [];
    for (const status of [204, 302, 307, 404, 500])
      answers.push(await send({ url: `${receiver.url}/${status}`, headers: {} }, message, plain, 0));
    expect(answers).toEqual([
      { ok: true, status: 204 },
      { ok: false, status: 302, fault: '302: redirects to /hook/200, which is not followed' },
      { ok: false, status: 307, fault: '307: redirects to /hook/200, which is not followed' },
      { ok: false, status: 404, fault: '404' },
      { ok: false, status: 500, fault: '500' },
    ]);
    expect(receiver.hooks).toHaveLength(5);
  });

  it('fails without a receiver, without an answer in time, and with a URL or header that cannot be sent', async () => {
    receiver.answer(() => undefined);
    const to = (url: string, headers = {}) => send({ url, headers }, message, { ...plain, msMax: 50 }, 0);
    expect(await to(receiver.url)).toEqual({ ok: false, status: null, fault: 'no response in time' });
    const closed = await newReceiver();
    await closed.close();
    expect(await to(closed.url)).toEqual({ ok: false, status: null, fault: expect.stringContaining('ECONNREFUSED') });
    expect(await to('nowhere')).toMatchObject({ ok: false, status: null });
    expect(await to('file:///etc/passwd')).toMatchObject({ ok: false, status: null });
    expect(await to(receiver.url, { 'X-Bad': 'a\r\nb: c' })).toMatchObject({ ok: false, status: null });
    expect(await to(receiver.url, { 'bad name': 'a' })).toMatchObject({ ok: false, status: null });
  });

  it('a user and password in the URL are sent as a header, unless the webhook has one of its own', async () => {
    receiver.answer((response) => void response.end());
    const url = receiver.url.replace('//', '//user:ge%20heim%25@');
    const to = (headers = {}) => send({ url, headers }, message, plain, 0);
    expect(await to()).toEqual({ ok: true, status: 200 });
    expect(await to({ Authorization: 'Bearer own' })).toEqual({ ok: true, status: 200 });
    const authorized = receiver.hooks.slice(-2).map((it) => it.headers.authorization);
    expect(authorized).toEqual([`Basic ${Buffer.from('user:ge heim%').toString('base64')}`, 'Bearer own']);
    const closed = await newReceiver();
    await closed.close();
    const failed = await send({ url: closed.url.replace('//', '//user:geheim@'), headers: {} }, message, plain, 0);
    expect(failed).toMatchObject({ ok: false, status: null });
    expect(JSON.stringify(failed)).not.toContain('geheim');
  });

  it('is done once a receiver that never stops answering has said so', async () => {
    receiver.answer((response) => {
      const more = (): void => {
        while (response.write('x'.repeat(1024))) if (response.destroyed) return;
        response.once('drain', more);
      };
      more();
    });
    expect(await send({ url: receiver.url, headers: {} }, message, plain, 0)).toEqual({ ok: true, status: 200 });
  });
});

describe.each(dialects)('the outbox on %s', (dialect) => {
  let world: SmallWorld;
  let receiver: Receiver;
  let clock = 0;
  let outcomes: Outcome[] = [];
  const webhooks: NotifierOptions = { ...plain, onOutcome: (it) => void outcomes.push(it) };

  beforeEach(async () => {
    receiver = await newReceiver();
    clock = Date.now();
    outcomes = [];
    world = await newSmallWorld(dialect, project, { webhooks, now: () => clock });
  });
  afterEach(async () => {
    // ends what is still waiting for an answer
    await receiver.close();
    await world.close();
  });

  const listen = async (): Promise<number> => {
    const id = await addWebhook({ name: 'test', url: receiver.url, headers: {}, events: ['entry.update'] }, world.db);
    await world.site.notifier.start();
    return id;
  };
  const newNote = async (): Promise<number> => {
    const { body } = await world.send('POST', '/api/notes', { data: { text: '0' } });
    return (body as { data: { id: number } }).data.id;
  };
  const update = async (id: number, text: string): Promise<void> => {
    expect((await world.send('PUT', `/api/notes/${id}`, { data: { text } })).status).toBe(200);
  };
  const stored = () => world.db.read(() => readDeliveries(null, world.db.dialect));
  const texts = () => receiver.hooks.map((it) => (it.body['entry'] as { text: string }).text);
  /** Waits for what happens in the background, without a time. */
  const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
    while (!(await isSo())) await new Promise(setImmediate);
  };
  const outcomesAre = (...kinds: readonly Outcome['kind'][]) =>
    until(() => outcomes.length >= kinds.length).then(() => expect(outcomes.map((it) => it.kind)).toEqual(kinds));

  it('is empty once everything is delivered', async () => {
    await listen();
    await update(await newNote(), 'a');
    await outcomesAre('delivered');
    expect(await stored()).toEqual([]);
  });

  it('costs writes that nobody is told of no statement', async () => {
    const counted: string[] = [];
    const watch = (db: Db): Db => {
      const counting = (tx: Tx): Tx => {
        const runAll: Tx['runAll'] = (statements) => {
          counted.push(...statements.map((it) => it.sql));
          return tx.runAll(statements);
        };
        return txThrough(tx, runAll, db.dialect);
      };
      return { ...db, write: (work) => db.write((tx) => work(counting(tx))) };
    };
    const watched = await newSmallWorld(dialect, project, { webhooks, watch });
    const costOf = async (method: string, url: string): Promise<number> => {
      counted.length = 0;
      expect((await watched.send(method, url, { data: { text: 'a' } })).status).toBe(200);
      return counted.length;
    };
    try {
      const before = [await costOf('POST', '/api/notes'), await costOf('PUT', '/api/notes/1')];
      await watched.site.notifier.start();
      expect([await costOf('POST', '/api/notes'), await costOf('PUT', '/api/notes/1')]).toEqual(before);
      await addWebhook({ name: 'test', url: receiver.url, headers: {}, events: ['entry.update'] }, watched.db);
      await watched.site.notifier.load();
      expect(await costOf('POST', '/api/notes')).toBe(before[0]);
      // a savepoint and the entry inside, and the delivery
      expect(await costOf('PUT', '/api/notes/1')).toBe(before[1]! + 4);
    } finally {
      await watched.close();
    }
  });

  it('sends what failed again, later each time, with the same id and body', async () => {
    receiver.answer((response, _hook, place) => void response.writeHead(place < 3 ? 500 : 200).end());
    await listen();
    await update(await newNote(), 'a');
    const pauses: number[] = [];
    for (let attempt = 1; attempt <= 3; attempt++) {
      await until(() => outcomes.length === attempt);
      const [row] = await stored();
      expect(row).toMatchObject({ attempts: attempt, status: 500, fault: '500', attemptedAt: clock });
      pauses.push(row!.dueAt! - clock);
      clock = row!.dueAt!;
    }
    await outcomesAre('again', 'again', 'again', 'delivered');
    for (const [i, pause] of pauses.entries()) {
      expect(pause).toBeGreaterThanOrEqual(limits.webhookPauseMs * 4 ** i * 0.9);
      expect(pause).toBeLessThanOrEqual(limits.webhookPauseMs * 4 ** i * 1.1);
    }
    expect(new Set(receiver.hooks.map((it) => it.headers['webhook-id'])).size).toBe(1);
    expect(new Set(receiver.hooks.map((it) => it.text)).size).toBe(1);
    expect(await stored()).toEqual([]);
  });

  it('gives up after the last attempt, keeps what was given up, and sends it when told to', async () => {
    receiver.answer((response) => void response.writeHead(410).end());
    await listen();
    await update(await newNote(), 'a');
    await outcomesAre('again');
    const { dialect: own } = world.db;
    const attempts = sql`update dovetail_deliveries set attempts = ${sql.lit(limits.webhookAttemptsMax - 1)}`;
    await world.db.write((tx) => tx.run(own.compile(attempts)));
    clock = (await stored())[0]!.dueAt!;
    await outcomesAre('again', 'given up');
    expect(outcomes[1]).toMatchObject({ status: 410 });
    const [failed] = await stored();
    expect(failed).toMatchObject({ dueAt: null, attempts: limits.webhookAttemptsMax, fault: '410' });
    receiver.answer((response) => void response.end());
    expect(await retryDeliveries([failed!.id], clock, world.db)).toBe(1);
    expect(await retryDeliveries(null, clock, world.db)).toBe(0);
    await until(() => outcomes.at(-1)?.kind === 'delivered');
    expect(await stored()).toEqual([]);
  });

  it('keeps the order of events about one entry, and lets one entry not hold up others', async () => {
    const [first, second] = [await newNote(), await newNote()];
    receiver.answer((response, { text }, place) => {
      response.writeHead(text.includes('"a1"') && place < 8 ? 500 : 200).end();
    });
    await listen();
    for (const text of ['a1', 'a2', 'a3']) await update(first, text);
    for (const text of ['b1', 'b2', 'b3']) await update(second, text);
    await until(() => outcomes.length === 4);
    expect(texts().sort()).toEqual(['a1', 'b1', 'b2', 'b3']);
    while (outcomes.length < 8) {
      const before = outcomes.length;
      clock = Math.max(clock, ...(await stored()).map((it) => it.dueAt ?? 0));
      await until(() => outcomes.length > before || outcomes.length === 8);
    }
    expect(texts().filter((it) => it.startsWith('b'))).toEqual(['b1', 'b2', 'b3']);
    await until(async () => {
      clock = Math.max(clock, ...(await stored()).map((it) => it.dueAt ?? 0));
      return (await stored()).length === 0;
    });
    const ofFirst = texts().filter((it) => it.startsWith('a'));
    expect(ofFirst.slice(ofFirst.lastIndexOf('a1'))).toEqual(['a1', 'a2', 'a3']);
    expect(ofFirst.indexOf('a2')).toBeGreaterThan(ofFirst.lastIndexOf('a1'));
  });

  it('sends no more than some at a time to one receiver, and to another one meanwhile', async () => {
    const other = await newReceiver();
    let open = 0;
    let most = 0;
    const waiting: (() => void)[] = [];
    receiver.answer(async (response) => {
      open += 1;
      most = Math.max(most, open);
      await new Promise<void>((resolve) => waiting.push(resolve));
      open -= 1;
      response.end();
    });
    const ids = [];
    for (let i = 0; i < 12; i++) ids.push(await newNote());
    await addWebhook({ name: 'other', url: other.url, headers: {}, events: ['entry.update'] }, world.db);
    await listen();
    await Promise.all(ids.map((id) => update(id, 'a')));
    await other.received(12);
    await until(() => waiting.length === limits.webhookRequestsMax);
    while (receiver.hooks.length < 12 || waiting.length > 0) {
      waiting.shift()?.();
      await new Promise(setImmediate);
    }
    await receiver.received(12);
    expect(most).toBe(limits.webhookRequestsMax);
    await other.close();
  });

  it('sends one at a time to a receiver that fails, until it takes one', async () => {
    let open = 0;
    const most: number[] = [];
    let isUp = false;
    receiver.answer(async (response) => {
      open += 1;
      most.push(open);
      await new Promise(setImmediate);
      open -= 1;
      response.writeHead(isUp ? 200 : 500).end();
    });
    const ids = [];
    for (let i = 0; i < 20; i++) ids.push(await newNote());
    await listen();
    await Promise.all(ids.map((id) => update(id, 'a')));
    await until(() => outcomes.length === 15);
    // those that were sent together when the last of the first failures came
    const first = limits.webhookFailuresMax + limits.webhookRequestsMax;
    expect(Math.max(...most.slice(first))).toBe(1);
    isUp = true;
    await until(() => outcomes.filter((it) => it.kind === 'delivered').length >= 1);
    await until(() => outcomes.length >= 20);
  });

  it('lets deliveries of a disabled webhook wait, and forgets those of a removed one', async () => {
    receiver.answer((response) => void response.writeHead(500).end());
    const id = await listen();
    const note = await newNote();
    await update(note, 'a');
    await outcomesAre('again');
    await enableWebhook(id, false, world.db);
    await world.site.notifier.load();
    await update(note, 'b');
    expect((await stored()).map((it) => it.event)).toEqual(['entry.update']);
    receiver.answer((response) => void response.end());
    clock = (await stored())[0]!.dueAt!;
    await enableWebhook(id, true, world.db);
    await outcomesAre('again', 'delivered');
    receiver.answer((response) => void response.writeHead(500).end());
    await update(note, 'c');
    await outcomesAre('again', 'delivered', 'again');
    expect(await removeWebhook(id, world.db)).toBe(true);
    expect(await stored()).toEqual([]);
  });

  it('is emptied by several processes, each delivery by one of them', async () => {
    const notes: number[] = [];
    for (let i = 0; i < 40; i++) notes.push(await newNote());
    await addWebhook({ name: 'test', url: receiver.url, headers: {}, events: ['entry.update'] }, world.db);
    // recorded, and not sent by this process
    await world.site.notifier.load();
    for (const id of notes) await update(id, 'a');
    const given = { dialect, env: world.env, model: world.model };
    const others = await Promise.all(
      [1, 2, 3].map(() => newProcess(given, { mode: 'open', webhooks, now: () => clock })),
    );
    await Promise.all(others.map((it) => it.site.notifier.start()));
    await until(() => outcomes.length === 40);
    expect(receiver.hooks).toHaveLength(40);
    expect(new Set(receiver.hooks.map((it) => it.headers['webhook-id'])).size).toBe(40);
    expect(await stored()).toEqual([]);
    for (const it of others) {
      await it.close();
    }
  });

  it('sends what a process has claimed and not done, once its lease is over', async () => {
    const id = await addWebhook({ name: 'test', url: receiver.url, headers: {}, events: ['entry.update'] }, world.db);
    await world.site.notifier.load();
    await update(await newNote(), 'a');
    // as a process does that dies before it has sent it, or before it has written that down
    const [lost] = await world.db.write((tx) => claim(id, 1, clock, tx, world.db.dialect));
    expect(await world.db.write((tx) => claim(id, 1, clock, tx, world.db.dialect))).toEqual([]);
    clock += limits.webhookLeaseMs;
    await world.site.notifier.start();
    const [hook] = await receiver.received(1);
    expect(hook!.headers['webhook-id']).toBe(lost!.message);
    await outcomesAre('delivered');
  });

  it('is emptied of what is being claimed when the process is told to stop, before the database is closed', async () => {
    let claimed = (): void => undefined;
    let goOn: Promise<void> | null = null;
    const watch = (db: Db): Db => ({
      ...db,
      write: async (work) => {
        const result = await db.write(work);
        claimed();
        await goOn;
        return result;
      },
    });
    const watched = await newSmallWorld(dialect, project, { webhooks, watch, now: () => clock });
    const { notifier } = watched.site;
    try {
      await addWebhook({ name: 'test', url: receiver.url, headers: {}, events: ['entry.create'] }, watched.db);
      await notifier.load();
      expect((await watched.send('POST', '/api/notes', { data: { text: 'a' } })).status).toBe(200);
      const isClaimed = new Promise<void>((resolve) => {
        claimed = resolve;
      });
      let finish = (): void => undefined;
      goOn = new Promise<void>((resolve) => {
        finish = resolve;
      });
      await notifier.start();
      await isClaimed;
      const stopped = notifier.stop();
      finish();
      await stopped;
      expect(receiver.hooks).toHaveLength(1);
      expect(await watched.db.read(() => readDeliveries(null, watched.db.dialect))).toEqual([]);
    } finally {
      await watched.close();
    }
  });

  it("is on v4's list of tables that it must not drop", async () => {
    await world.insert('strapi_core_store_settings', [
      { id: 1, key: 'core_persisted_tables', value: '[{"name":"mine"}]', type: 'object' },
    ]);
    await listen();
    const [setting] = await world.rows('strapi_core_store_settings');
    expect(JSON.parse(String(setting!['value']))).toEqual([{ name: 'mine' }, { name: 'dovetail_deliveries' }]);
  });
});
