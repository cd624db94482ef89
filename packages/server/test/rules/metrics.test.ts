/** `GET /metrics` on a port of its own, of one process and of several. */
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newDatabase, type TestDatabase } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { freePort, type Served, serveInProcess } from '../world/process.js';
import { writeSmall } from '../world/small.js';
import { runSupervised, type Supervised, writeProject } from '../world/supervised.js';
import { dialects } from '../world/world.js';

/** Values by name with labels. */
const read = async (port: number): Promise<ReadonlyMap<string, number>> => {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain')]);
  const lines = (await answer.text()).split('\n').filter((it) => it !== '' && !it.startsWith('#'));
  return new Map(lines.map((it): [string, number] => [it.replace(/ \S+$/, ''), Number(/ (\S+)$/.exec(it)?.[1])]));
};

describe.each(dialects)('metrics on %s', (dialect) => {
  let database: TestDatabase;
  let served: Served;
  let port: number;
  const dir = newFolder();
  beforeAll(async () => {
    writeSmall(dir, { types: { note: { attributes: { text: { type: 'string' } } } } });
    fs.writeFileSync(path.join(dir, 'dovetail.config.json'), JSON.stringify({ permissions: { enabled: false } }));
    database = await newDatabase(dialect);
    port = await freePort();
    served = await serveInProcess(dir, { ...database.env, METRICS_PORT: String(port) });
  });
  afterAll(async () => {
    served.child.kill('SIGKILL');
    await database.drop();
  });

  it('requests by route, method and status, whichever way they were answered', async () => {
    const send = (method: string, url: string, body?: object) =>
      fetch(`${served.url}${url}`, {
        method,
        ...(body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {}),
      });
    for (const text of ['a', 'b']) expect((await send('POST', '/notes', { data: { text } })).status).toBe(200);
    for (const url of ['/notes', '/notes', '/notes?sort=text', '/notes?sort=id', '/notes/1', '/notes/2', '/notes/99'])
      await (await send('GET', url)).text();
    await send('DELETE', '/notes/1');
    for (const url of ['/nothing', '/nothing/else', '/%E0%A4%A']) await send('GET', url);
    await send('GET', '/../uploads/x.png');
    const found = await read(port);
    const requests = [...found].filter(([name]) => name.startsWith('dovetail_http_requests_total'));
    const of = (route: string, method: string, status: number) =>
      found.get(`dovetail_http_requests_total{route="${route}",method="${method}",status="${status}"}`);
    expect([of('/api/notes', 'POST', 200), of('/api/notes', 'GET', 200)]).toEqual([2, 4]);
    expect([of('/api/notes/:id', 'GET', 200), of('/api/notes/:id', 'GET', 404)]).toEqual([2, 1]);
    expect(of('/api/notes/:id', 'DELETE', 200)).toBe(1);
    expect([of('none', 'GET', 404), of('none', 'GET', 400)]).toEqual([2, 1]);
    expect(requests.map(([name]) => name).join('\n')).not.toMatch(/sort|notes\/1|nothing/);
    expect(found.get('dovetail_http_request_duration_seconds_count{route="/api/notes",method="GET"}')).toBe(4);
  });

  it('what was kept, plans, the database, writes, and the process', async () => {
    // other databases of the cluster may commit between two requests, which drops what was kept: asked until nothing did
    await expect
      .poll(async () => {
        await (await fetch(`${served.url}/notes`)).text();
        return (await read(port)).get('dovetail_kept_responses_total{result="found"}');
      })
      .toBeGreaterThanOrEqual(1);
    const found = await read(port);
    expect(found.get('dovetail_kept_entries_total{result="found"}')).toBeGreaterThanOrEqual(0);
    expect(found.get('dovetail_plans_total{result="made"}')).toBeGreaterThanOrEqual(3);
    expect(found.get('dovetail_database_connections{state="open"}')).toBeGreaterThanOrEqual(1);
    expect(found.get('dovetail_database_connections{state="waiting"}')).toBe(0);
    expect(found.get('dovetail_database_statements_total')).toBeGreaterThan(10);
    expect(found.get('dovetail_write_duration_seconds_count{outcome="committed"}')).toBe(3);
    expect(found.get('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThanOrEqual(0);
    expect(found.get('process_resident_memory_bytes')).toBeGreaterThan(1e7);
  });

  it('nothing else is served there, and nothing of it on the public port', async () => {
    expect((await fetch(`http://127.0.0.1:${port}/api/notes`)).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${port}/metrics`, { method: 'POST' })).status).toBe(404);
    expect((await fetch(new URL('/metrics', served.url))).status).toBe(404);
  });
});

describe('metrics of workers', () => {
  let database: TestDatabase;
  let supervised: Supervised;
  let port: number;
  beforeAll(async () => {
    const dir = newFolder();
    writeProject(dir);
    database = await newDatabase('postgres');
    port = await freePort();
    supervised = await runSupervised(dir, { ...database.env, METRICS_PORT: String(port) });
    await supervised.logged(/2 workers serve/);
  });
  afterAll(async () => {
    supervised.child.kill('SIGTERM');
    await supervised.exited;
    await database.drop();
  });

  it('the supervisor serves those of all, each with the number of its worker', { timeout: 60_000 }, async () => {
    const found = await read(port);
    for (const worker of ['1', '2'])
      expect(found.get(`process_resident_memory_bytes{worker="${worker}"}`)).toBeGreaterThan(1e7);
    const statements = [...found].filter(([name]) => name.startsWith('dovetail_database_statements_total'));
    expect(statements.map(([name]) => name).sort()).toEqual(
      ['1', '2'].map((it) => `dovetail_database_statements_total{worker="${it}"}`),
    );
  });
});
