/** SU4: the state of the server, over HTTP. */
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { insertDeliveries } from '../../src/events/outbox.js';
import { addWebhook } from '../../src/events/webhooks.js';
import type { HealthCheck, IgnoredNote } from '../../src/http/health-routes.js';
import { newAdminWorld } from '../world/administrators.js';
import { newMagazine } from '../world/magazine.js';
import { openedForTests } from '../world/opening.js';
import { dialects } from '../world/world.js';

interface Health {
  readonly mode: string;
  readonly database: {
    readonly client: string;
    readonly version: string;
    readonly bytes: number;
    readonly walBytes: number | null;
  };
  readonly process: Readonly<Record<string, unknown>>;
  readonly kept: Readonly<Record<'responses' | 'entries', { readonly found: number; readonly made: number }>>;
  readonly checks: readonly HealthCheck[];
  readonly webhooks: readonly Readonly<Record<string, unknown>>[];
  readonly ignored: readonly IgnoredNote[];
}

const HEALTH = '/_dovetail/health';

describe.each(dialects)('SU4 on %s', (dialect) => {
  const magazine = openedForTests(() => newMagazine(dialect));
  const closed = openedForTests(() =>
    newAdminWorld(dialect, {
      settings: {
        version: '1.2.3',
        health: { mode: 'production', checks: [], ignored: [], keepsUploads: false, worker: { number: 2, of: 4 } },
      },
      permissions: { editor: [{ action: 'admin::project-settings.read' }] },
    }),
  );
  const health = async (): Promise<Health> => {
    const { status, body, text, headers } = await magazine.send('GET', HEALTH);
    if (status !== 200) throw new Error(text);
    expect(headers['cache-control']).toBe('no-store');
    return (body as { data: Health }).data;
  };

  it('SU4 it has versions, sizes and checks', async () => {
    const before = process.memoryUsage.rss();
    const found = await health();
    expect(found).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      node: process.versions.node,
      startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      mode: 'development',
      database: { client: dialect, version: expect.stringMatching(/^\d+\.\d+/) },
      webhooks: [],
      ignored: [],
    });
    expect(found.database.bytes).toBeGreaterThan(10_000);
    expect(found.process['memoryBytes']).toBeGreaterThan(1_000_000);
    // of this process; other systems tell only all of it. Node's own binary is a mapped file of more than 20 MB
    const bound = Math.max(before, process.memoryUsage.rss()) - 20_000_000;
    if (process.platform === 'linux') expect(found.process['memoryBytes']).toBeLessThan(bound);
    expect(found.checks.map((it) => [it.name, it.status])).toEqual([
      ['database', 'ok'],
      ['uploads', 'ok'],
      ['model', 'ok'],
      ['migrations', 'ok'],
      ['permissions', 'ok'],
      ['queries', 'ok'],
    ]);
  });

  it('SU4 it has what in the project has no effect', async () => {
    await magazine.write('dovetail.config.json', '{ "api": { "strict": false } }');
    await magazine.write('.env', 'SMTP_HOSTS=mail.example.org\n');
    const file = 'src/api/author/content-types/author/schema.json';
    const before = fs.readFileSync(path.join(magazine.dir, file), 'utf8');
    await magazine.write(file, '{ "info": { "displayNames": "Author" } }');
    const { checks, ignored } = await health();
    expect(checks.find((it) => it.name === 'queries')).toMatchObject({ status: 'warning' });
    expect(checks.find((it) => it.name === 'project')).toMatchObject({ status: 'warning' });
    expect(ignored).toContainEqual({ file, place: 'info.displayNames', message: expect.stringContaining('no effect') });
    expect(ignored).toContainEqual({
      file: '.env',
      place: null,
      message: expect.stringMatching(/^SMTP_HOSTS has no effect/),
    });
    fs.writeFileSync(path.join(magazine.dir, file), before);
  });

  it('SU4 webhooks have what waits and what was given up, without their secrets', async () => {
    const { db } = closed.world;
    const url = 'https://user:secret@example.org/hook?key=secret';
    const id = await addWebhook(
      { name: 'site', url, headers: { authorization: 'secret' }, events: ['entry.update'] },
      db,
    );
    const delivery = { webhookId: id, message: 'm', event: 'entry.update', body: '{}' };
    await db.write((tx) =>
      insertDeliveries(
        ['a', 'b', 'c'].map((subject) => ({ ...delivery, subject })),
        0,
        tx,
        db.dialect,
      ),
    );
    await db.write((tx) =>
      tx.run({
        sql: `update dovetail_deliveries set due_at = null, fault = 'HTTP 500', attempted_at = 5 where subject = 'b'`,
        params: [],
        ids: [],
      }),
    );
    const { body, text } = await closed.askAs('ada', 'GET', HEALTH);
    expect(text).not.toContain('secret');
    const { webhooks, checks } = (body as { data: Health }).data;
    expect(webhooks).toEqual([
      {
        id,
        name: 'site',
        url: 'https://example.org/hook',
        isEnabled: true,
        events: ['entry.update'],
        waiting: 2,
        failed: 1,
        last: { at: '1970-01-01T00:00:00.005Z', event: 'entry.update', fault: 'HTTP 500' },
      },
    ]);
    expect(checks.find((it) => it.name === 'webhooks')).toMatchObject({ status: 'warning' });
  });

  it('SU4 it compares model and database as check does, and names plans that are not applied', async () => {
    const plan = { dovetailPlan: 1, made: '2026-01-01T00:00:00.000Z', changes: [], needs: [], steps: [] };
    fs.mkdirSync(path.join(magazine.dir, 'database/plans'), { recursive: true });
    fs.writeFileSync(path.join(magazine.dir, 'database/plans/2026-01-01.json'), JSON.stringify(plan));
    const file = 'src/api/category/content-types/category/schema.json';
    const before = fs.readFileSync(path.join(magazine.dir, file), 'utf8');
    // another type than that of its column
    await magazine.write(file, '{ "attributes": { "name": { "type": "integer" } } }');
    const { checks, kept, database } = await health();
    expect(checks.find((it) => it.name === 'model')).toMatchObject({
      status: 'warning',
      message: expect.stringContaining('column categories.name is'),
    });
    expect(checks.find((it) => it.name === 'migrations')).toMatchObject({
      status: 'warning',
      message: expect.stringContaining('database/plans/2026-01-01.json is not applied'),
    });
    expect(kept).toEqual({
      responses: { found: expect.any(Number), made: expect.any(Number) },
      entries: { found: expect.any(Number), made: expect.any(Number) },
    });
    expect(database.walBytes).toEqual(dialect === 'sqlite' ? expect.any(Number) : null);
    fs.writeFileSync(path.join(magazine.dir, file), before);
    fs.rmSync(path.join(magazine.dir, 'database/plans'), { recursive: true });
    await magazine.restart();
  });

  it('SU4 it counts responses that were kept', async () => {
    const before = (await health()).kept.responses;
    await magazine.authorize();
    for (let i = 0; i < 4; i += 1) await magazine.send('GET', '/api/categories');
    const after = (await health()).kept.responses;
    expect(after.found + after.made).toBeGreaterThan(before.found + before.made);
  });

  it('SU4 an administrator may ask whose role may read the settings of the project, and sees webhooks if it may', async () => {
    expect((await closed.askAs('cyd', 'GET', HEALTH)).status).toBe(403);
    const { status, body } = await closed.askAs('bea', 'GET', HEALTH);
    expect([status, (body as { data: Health }).data]).toMatchObject([
      200,
      { webhooks: null, process: { worker: { number: 2, of: 4 } } },
    ]);
  });

  it('SU4 super admins may ask, others only in development', async () => {
    expect((await closed.server.get(HEALTH)).status).toBe(403);
    expect((await closed.ask('GET', HEALTH, { as: 'full' })).status).toBe(403);
    expect((await closed.askAs('ada', 'GET', HEALTH)).status).toBe(200);
  });
});
