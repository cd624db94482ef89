/** `start --workers`: several processes on one port and one PostgreSQL, replaced, killed and stopped under load. */
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { newDatabase, type TestDatabase } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { freePort } from '../world/process.js';
import { runSupervised, type Supervised, untilFile, writeProject } from '../world/supervised.js';

let dir = '';
let database: TestDatabase;
let running: Supervised | null = null;
beforeEach(async () => {
  dir = newFolder();
  writeProject(dir);
  database = await newDatabase('postgres');
});
afterEach(async () => {
  running?.child.kill('SIGKILL');
  await running?.exited;
  running = null;
  await database.drop();
  fs.rmSync(dir, { recursive: true });
});

const allServe = /^2 workers serve/;
const run = async (env: Readonly<Record<string, string>> = {}, project = dir): Promise<Supervised> => {
  running = await runSupervised(project, { ...database.env, ...env });
  return running;
};
const serve = async (project = dir): Promise<Supervised> => {
  const supervised = await run({}, project);
  await supervised.logged(allServe);
  for (const worker of [1, 2]) await supervised.logged(/^serving /, 0, worker);
  return supervised;
};

interface Answer {
  readonly status: number;
  readonly body: string;
}
/** Without an agent each request has a connection of its own. */
const get = (url: string, agent: http.Agent | false = false): Promise<Answer> => send('GET', url, undefined, agent);
const send = (method: string, url: string, data?: object, agent: http.Agent | false = false): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const headers = data ? { 'content-type': 'application/json' } : {};
    const request = http.request(url, { method, agent, headers }, (answer) => {
      let body = '';
      answer.on('data', (bytes: Buffer) => {
        body += String(bytes);
      });
      answer.on('end', () => resolve({ status: answer.statusCode!, body })).on('error', reject);
    });
    request.on('error', reject).end(data && JSON.stringify(data));
  });
const pidAt = async (origin: string): Promise<number> => JSON.parse((await get(`${origin}/api/notes`)).body).data;

interface Sent {
  readonly client: number;
  readonly begunAt: number;
  readonly outcome: number | string;
}

/** Clients that send one request after the other until they are stopped; all but two keep their connection. */
const startLoad = (origin: string, count = 8): (() => Promise<readonly Sent[]>) => {
  const sent: Sent[] = [];
  let isOver = false;
  const clients = Array.from({ length: count }, async (_none, client) => {
    const agent = client < 2 ? false : new http.Agent({ keepAlive: true, maxSockets: 1 });
    const url = client === 2 ? `${origin}/_health` : `${origin}/api/words?pagination[page]=${client}`;
    while (!isOver) {
      const begunAt = performance.now();
      const outcome = await get(url, agent).then(
        (it) => it.status,
        (fault: NodeJS.ErrnoException) => fault.code ?? fault.message,
      );
      sent.push({ client, begunAt, outcome });
    }
    if (agent) agent.destroy();
  });
  return async () => {
    isOver = true;
    await Promise.all(clients);
    return sent;
  };
};
const isRefused = ({ outcome }: Sent): boolean => outcome !== 200 && outcome !== 204;

describe('workers', () => {
  it('prepare the database once, serve one port, and their log lines name them', async () => {
    const { origin, lines } = await serve();
    expect((await get(`${origin}/_health`)).status).toBe(204);
    expect(JSON.parse((await get(`${origin}/api/words`)).body).meta.pagination.total).toBe(3);
    const by = (text: string) => lines().filter((it) => it.msg.startsWith(text));
    expect(by('database: new')).toMatchObject([{ worker: 1 }]);
    expect(by('database: added')).toHaveLength(1);
    expect(by('permissions are switched off')).toHaveLength(1);
    expect(by('serving ').map((it) => it['worker'])).toEqual([1, 2]);
    expect(by('2 workers serve').map((it) => 'worker' in it)).toEqual([false]);
  });

  it('SIGHUP replaces them one by one: every request under load is answered, and /_health stays 204', async () => {
    const { origin, child, logged, lines, pidOf } = await serve();
    const stop = startLoad(origin);
    const pids = [pidOf(1), pidOf(2)];
    for (const _round of [1, 2]) {
      const from = lines().length;
      child.kill('SIGHUP');
      await logged(/^replaced 2 workers/, from);
      for (const worker of [1, 2]) await logged(/^serving /, from, worker);
    }
    const sent = await stop();
    expect(sent.filter(isRefused)).toEqual([]);
    expect(sent.length).toBeGreaterThan(8);
    expect(pids).not.toContain(pidOf(1));
    expect(pids).not.toContain(pidOf(2));
    // each successor served before its predecessor was told to stop
    const timesOf = (text: string, worker: number) =>
      lines()
        .filter((it) => it.msg.startsWith(text) && it['worker'] === worker)
        .map((it) => Number(it['time']));
    for (const worker of [1, 2]) {
      const [, ...successors] = timesOf('serving ', worker);
      const stopped = timesOf('stopping', worker);
      expect(successors).toHaveLength(2);
      for (const [i, at] of stopped.entries()) expect(at).toBeGreaterThanOrEqual(successors[i]!);
    }
  });

  it('a request that is still running when its worker is replaced is answered by that worker', async () => {
    const { origin, child, logged } = await serve();
    const waiting = get(`${origin}/api/notes?wait`);
    await untilFile(path.join(dir, 'waiting'));
    child.kill('SIGHUP');
    // one of the two is replaced, or waits for this request
    await logged(/^stopping/);
    expect((await get(`${origin}/api/words`)).status).toBe(200);
    fs.writeFileSync(path.join(dir, 'go'), '');
    expect((await waiting).status).toBe(200);
    await logged(/^replaced 2 workers/);
    expect(JSON.parse((await waiting).body).data).not.toBe(await pidAt(origin));
  });

  it('what is deployed in between is served: a broken project leaves the old workers, a mended one replaces them', async () => {
    const { origin, child, logged, lines, said } = await serve();
    const config = path.join(dir, 'dovetail.config.json');
    fs.writeFileSync(config, '{ "api": { "rest": { "prefix": "nonsense" } } }');
    child.kill('SIGHUP');
    expect(await logged(/^the new worker 1 did not start/)).toMatchObject({ worker: 1, code: 1 });
    await logged(/^the restart has ended/);
    expect(said()).toContain('api.rest.prefix: must be');
    expect((await get(`${origin}/api/words`)).status).toBe(200);
    fs.writeFileSync(config, '{ "permissions": { "enabled": false }, "api": { "rest": { "prefix": "/v2" } } }');
    const from = lines().length;
    child.kill('SIGHUP');
    await logged(/^replaced 2 workers/, from);
    expect((await get(`${origin}/v2/words`)).status).toBe(200);
    expect((await get(`${origin}/api/words`)).status).toBe(404);
  });

  it('a link to the project, given as a whole path, is followed anew: a release is deployed by moving it', async () => {
    const link = `${dir}-current`;
    const next = `${dir}-next`;
    fs.symlinkSync(dir, link);
    try {
      const { origin, child, logged } = await serve(link);
      fs.cpSync(dir, next, { recursive: true });
      const config = { permissions: { enabled: false }, api: { rest: { prefix: '/v2' } } };
      fs.writeFileSync(path.join(next, 'dovetail.config.json'), JSON.stringify(config));
      fs.symlinkSync(next, `${link}-moved`);
      fs.renameSync(`${link}-moved`, link);
      child.kill('SIGHUP');
      await logged(/^replaced 2 workers/);
      expect((await get(`${origin}/v2/words`)).status).toBe(200);
    } finally {
      for (const it of [link, next]) fs.rmSync(it, { recursive: true, force: true });
    }
  });

  it('SIGKILL of one under load loses its own requests in flight, and it is started again', async () => {
    const { origin, logged, lines, pidOf, child } = await serve();
    const stop = startLoad(origin);
    for (const number of [1, 2, 1]) {
      const from = lines().length;
      process.kill(pidOf(number), 'SIGKILL');
      const ended = await logged(/ended by itself$/, from);
      expect(ended).toMatchObject({ msg: `worker ${number} ended by itself`, worker: number, signal: 'SIGKILL' });
      await logged(/^serving /, from);
    }
    const seenAt = performance.now();
    const sent = await stop();
    const lost = sent.filter(isRefused);
    expect([...new Set(lost.map((it) => it.outcome))].filter((it) => it !== 'ECONNRESET' && it !== 'EPIPE')).toEqual(
      [],
    );
    // one connection per client, and three kills
    for (let client = 0; client < 8; client++)
      expect(lost.filter((it) => it.client === client).length).toBeLessThanOrEqual(3);
    expect(lost.filter((it) => it.begunAt >= seenAt)).toEqual([]);
    child.kill('SIGTERM');
    expect(await running!.exited).toEqual([0, null]);
  });

  it('a connection that a hanging worker has not accepted goes to another one, also if it is killed', async () => {
    const { origin, pidOf, logged } = await serve();
    const [hanging, other] = [pidOf(1), pidOf(2)];
    process.kill(hanging, 'SIGSTOP');
    const answers = Array.from({ length: 20 }, () => pidAt(origin));
    expect(new Set(await Promise.all(answers))).toEqual(new Set([other]));
    process.kill(hanging, 'SIGKILL');
    await logged(/^worker 1 ended by itself/);
    expect((await get(`${origin}/api/words`)).status).toBe(200);
  });

  it('one that dies again and again is started with growing pauses, and the others serve', async () => {
    const { origin, pidOf, logged, lines } = await serve();
    const broken = path.join(dir, 'broken');
    fs.writeFileSync(broken, '');
    process.kill(pidOf(2), 'SIGKILL');
    await logged(/^starting worker 2 again in 100 ms/);
    await logged(/^starting worker 2 again in 200 ms/);
    expect((await get(`${origin}/api/words`)).status).toBe(200);
    const from = lines().length;
    fs.rmSync(broken);
    await logged(/^serving /, from, 2);
  });

  it('AC14, AD6: attempts to log in, of users and of administrators, are counted over all of them', async () => {
    const { origin, pidOf } = await serve();
    const attempts = {
      users: ['/api/auth/local', { identifier: 'nobody', password: 'wrong-word' }],
      administrators: ['/admin/login', { email: 'nobody@example.org', password: 'wrong-word' }],
    } as const;
    const guess = async (who: keyof typeof attempts) => {
      const [path, body] = attempts[who];
      return (await send('POST', `${origin}${path}`, body)).status;
    };
    const guesses = async (who: keyof typeof attempts, count: number): Promise<readonly number[]> => {
      const found: number[] = [];
      for (let i = 0; i < count; i++) found.push(await guess(who));
      return found;
    };
    const [first, second] = [pidOf(1), pidOf(2)];
    process.kill(second, 'SIGSTOP');
    for (const who of ['users', 'administrators'] as const)
      expect([who, ...new Set(await guesses(who, limits.attemptsMax))]).toEqual([who, 400]);
    process.kill(second, 'SIGCONT');
    process.kill(first, 'SIGSTOP');
    for (const who of ['users', 'administrators'] as const) expect([who, await guess(who)]).toEqual([who, 429]);
    process.kill(first, 'SIGCONT');
  });
});

describe('the supervisor', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('%s ends it with 0 once every request is answered', async (signal) => {
    const { origin, child, exited, logged, pidOf } = await serve();
    const pids = [pidOf(1), pidOf(2)];
    const waiting = get(`${origin}/api/notes?wait`);
    await untilFile(path.join(dir, 'waiting'));
    child.kill(signal);
    await logged(/^stopping: accepting no new connections/);
    fs.writeFileSync(path.join(dir, 'go'), '');
    expect((await waiting).status).toBe(200);
    expect(await exited).toEqual([0, null]);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  it('gives up with the message and the exit code of a worker that cannot start', async () => {
    const port = await freePort();
    const taken = http.createServer().listen(port, '127.0.0.1');
    await once(taken, 'listening');
    const { exited, said } = await run({ PORT: String(port) });
    expect(await exited).toEqual([1, null]);
    expect(said()).toContain(`Cannot listen on 127.0.0.1:${port}: `);
    taken.close();
    fs.writeFileSync(path.join(dir, 'broken'), '');
    expect(await (await run()).exited).toEqual([7, null]);
  });

  it('told to stop while the first one still prepares the database, starts no other', async () => {
    const server = new Client({ connectionString: database.env['DATABASE_URL']! });
    await server.connect();
    await server.query(`select pg_advisory_lock(hashtext('dovetail start'))`);
    const { child, exited, logged, lines, said } = await run();
    await logged(/^permissions are switched off/, 0, 1);
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    await server.end();
    expect(lines().filter((it) => it['worker'] === 2 || allServe.test(it.msg))).toEqual([]);
    expect(said()).not.toContain('Error');
  });

  it('told to stop while they are replaced, and are to be replaced again, begins nothing more', async () => {
    const { child, exited, logged, lines } = await serve();
    child.kill('SIGHUP');
    await logged(/^SIGHUP/);
    child.kill('SIGHUP');
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    expect(
      lines()
        .filter((it) => it.msg.startsWith('SIG'))
        .map((it) => it.msg.slice(0, 7)),
    ).toEqual(['SIGHUP:', 'SIGTERM']);
  });

  it('refuses SQLite, which one process serves, and other counts', async () => {
    const one = await runSupervised(dir, { DATABASE_CLIENT: 'sqlite' });
    expect(await one.exited).toEqual([2, null]);
    expect(one.said()).toMatch(/^--workers 2: one process serves a SQLite file/);
    for (const count of [0, -1, 1.5, 65, Number.NaN]) {
      const refused = await runSupervised(dir, database.env, count);
      expect(await refused.exited).toEqual([2, null]);
      expect(refused.said()).toContain('Expected a number from 1 to 64.');
    }
  });

  it('killed, it leaves no worker behind, and they finish their requests', async () => {
    const { origin, child, exited, logged } = await serve();
    const waiting = get(`${origin}/api/notes?wait`);
    await untilFile(path.join(dir, 'waiting'));
    child.kill('SIGKILL');
    await logged(/^the supervisor is gone; stopping/);
    fs.writeFileSync(path.join(dir, 'go'), '');
    expect((await waiting).status).toBe(200);
    // once no process has its output any more
    expect(await exited).toEqual([null, 'SIGKILL']);
  });
});
