/**
 * Plays the recorded cases over HTTP, by default against what is built in dist/, on SQLite and then on a PostgreSQL that
 * is started for it. README.md gives the options. The exit status is 1 when a case failed, 2 for a wrong command line.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { startPostgres } from '../world/postgres.ts';
import { freePort } from '../world/process.ts';
import {
  type Case,
  isRead,
  type Kit,
  kitFiles,
  kits,
  type Played,
  play,
  readCases,
  secrets,
  stepsOf,
  suites,
  type Target,
} from './cases.ts';
import { send } from './send.ts';

type DatabaseName = 'sqlite' | 'postgres';

interface Options {
  /** A shell command that starts the server in the foreground. */
  readonly start: string;
  /** A running server: only GET requests are played. */
  readonly base: string | null;
  /** A folder whose files are laid over the copy of the project; null for that of the kit. */
  readonly overlay: string | null;
  readonly jobs: number;
  readonly json: string | null;
}

/** What playing the cases needs from a database. */
interface Databases {
  readonly name: DatabaseName;
  /** A copy of the recorded data: environment variables under which the server opens it. */
  copy(dir: string): Promise<{ readonly env: Readonly<Record<string, string>>; drop(): Promise<void> }>;
  end(): Promise<void>;
}

const startMsMax = 60_000;
const stopMsMax = 3_000;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const usage = `Usage: node test/conformance/run.ts [--kit core|museum]... [--suite reads|contract|writes]... [--cases FILE]...
         [--only TEXT] [--jobs N] [--json REPORT] [--start 'CMD'] [--overlay DIR] [--database sqlite|postgres]... [--postgres URL]
       node test/conformance/run.ts --base URL [--database sqlite|postgres] [--kit ...] [--suite ...] [--cases ...] [--only ...]
`;

const main = async (): Promise<number> => {
  const { values: given } = parseArgs({
    options: {
      kit: { type: 'string', multiple: true, default: [...kits] },
      suite: { type: 'string', multiple: true },
      cases: { type: 'string', multiple: true },
      only: { type: 'string' },
      jobs: { type: 'string', default: '2' },
      json: { type: 'string' },
      start: { type: 'string' },
      base: { type: 'string' },
      overlay: { type: 'string' },
      database: { type: 'string', multiple: true },
      postgres: { type: 'string', default: process.env['POSTGRES_URL'] },
    },
  });
  const unknown = given.suite?.find((it) => !suites.some((suite) => suite === it));
  if (unknown !== undefined) throw new TypeError(`There is no suite ${unknown}; there are ${suites.join(', ')}.`);
  const chosen = kits.filter((it) => given.kit.includes(it));
  const strange = given.kit.find((it) => !chosen.some((kit) => kit === it));
  if (strange !== undefined) throw new TypeError(`There is no kit ${strange}; there are ${kits.join(', ')}.`);
  const wanted = suites.filter((it) => given.suite?.includes(it) ?? true);
  const casesOf = (kit: Kit): readonly Case[] =>
    (given.cases ?? wanted.map(kitFiles(kit).suite))
      .flatMap(readCases)
      .filter((it) => given.only === undefined || mentions(it, given.only));
  const plays = chosen.map((kit) => ({ kit, cases: casesOf(kit) })).filter(({ cases }) => cases.length > 0);
  if (plays.length === 0) throw new TypeError('No case matches.');
  const options: Options = {
    start:
      given.start ??
      `node "${path.join(import.meta.dirname, '../../dist/cli/main.js')}" start --project "$PROJECT_DIR"`,
    base: given.base?.replace(/\/+$/, '') ?? null,
    overlay: given.overlay ?? null,
    jobs: Math.max(1, Number(given.jobs) || 1),
    json: given.json ?? null,
  };
  const names = given.database ?? (options.base === null ? ['sqlite', 'postgres'] : ['sqlite']);
  let failed = 0;
  for (const name of names) {
    if (name !== 'sqlite' && name !== 'postgres') throw new TypeError(`There is no database ${name}.`);
    for (const { kit, cases } of plays) {
      console.log(`${kit} on ${name === 'sqlite' ? 'SQLite' : 'PostgreSQL'}`);
      const databases = name === 'sqlite' ? sqliteCopies(kit) : await postgresCopies(kit, given.postgres, options);
      try {
        failed += await playAll(kit, cases, databases, options);
      } finally {
        await databases.end();
      }
    }
  }
  return failed === 0 ? 0 : 1;
};

const mentions = (it: Case, text: string): boolean =>
  [it.id, it.rule, it.note, ...stepsOf(it).map(({ request }) => request.path)].some((part) => part?.includes(text));

/** Plays the cases; prints the failed ones, the totals of each rule, and the sum; returns the number of failed ones. */
const playAll = async (kit: Kit, cases: readonly Case[], databases: Databases, options: Options): Promise<number> => {
  const began = performance.now();
  const wanted = cases.filter((it) => it.databases?.includes(databases.name) ?? true);
  const isHostile = (it: Case): boolean => it.rule === 'robust';
  const writes = options.base === null ? wanted.filter((it) => !isRead(it)) : [];
  const queue = [
    ...wanted.filter(isRead),
    ...writes.filter((it) => !isHostile(it)),
    ...writes.filter((it) => isHostile(it)),
  ];
  const count = queue.length;
  const results = new Map<Case, Played>();
  const work = async (): Promise<void> => {
    let server: Server | null = null;
    for (let it = queue.shift(); it; it = queue.shift()) {
      server ??= options.base === null ? await newServer(kit, databases, options) : runningServer(kit, options.base);
      const played = await play(it, server);
      results.set(it, played);
      const { fault } = played;
      if (fault) console.log(`FAIL ${it.id} [${it.rule}] ${fault.where}: ${fault.text}`);
      // the next case gets neither data that may have changed nor a server that may have been affected
      if (played.changed || !server.isRunning() || (isHostile(it) && queue.some((next) => !isHostile(next)))) {
        await server.stop();
        server = null;
      }
    }
    await server?.stop();
  };
  await Promise.all(Array.from({ length: options.base === null ? Math.min(options.jobs, count) : 1 }, work));

  const played = [...results];
  const totals = new Map<string, { passed: number; all: number }>();
  for (const [{ rule }, { fault }] of played) {
    const { passed, all } = totals.get(rule) ?? { passed: 0, all: 0 };
    totals.set(rule, { passed: passed + (fault ? 0 : 1), all: all + 1 });
  }
  const inOrder = [...totals].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  console.log('');
  for (const [rule, { passed, all }] of inOrder)
    console.log(`${rule.padEnd(20)} ${String(passed).padStart(4)} of ${all}`);
  const broken = played.filter(([, { fault }]) => (fault?.status ?? 0) >= 500).length;
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`\n${cases.length - count} skipped, ${broken} answers with a 5xx status, ${seconds} s`);
  const failed = played.filter(([, { fault }]) => fault).length;
  if (options.json !== null) {
    const report = played.map(([{ id, rule }, { fault }]) => ({ id, rule, ok: fault === null, ...fault }));
    fs.writeFileSync(options.json, JSON.stringify({ database: databases.name, cases: report }, null, 1));
  }
  console.log(`${played.length - failed} passed, ${failed} failed`);
  return failed;
};

// ---- servers

interface Server extends Target {
  isRunning(): boolean;
  stop(): Promise<void>;
}

const runningServer = (kit: Kit, base: string): Server => ({
  logins: new Map(),
  send: (request) => send({ base, files: kitFiles(kit).dir }, request),
  isRunning: () => true,
  stop: async () => undefined,
});

const newServer = async (kit: Kit, databases: Databases, { start, overlay }: Options): Promise<Server> => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-conformance-'));
  const project = path.join(dir, 'project');
  const recorded = kitFiles(kit);
  fs.cpSync(recorded.project, project, { recursive: true });
  for (const it of [overlay ?? recorded.overlay].filter(fs.existsSync)) fs.cpSync(it, project, { recursive: true });
  recorded.copyUploads(project);
  const database = await databases.copy(dir);
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  let tail = '';
  const child = spawn('sh', ['-c', start], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...database.env,
      PORT: String(port),
      HOST: '127.0.0.1',
      TZ: 'UTC',
      PROJECT_DIR: project,
      JWT_SECRET: secrets.jwtSecret,
      API_TOKEN_SALT: secrets.apiTokenSalt,
    },
  });
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      tail = `${tail}${chunk}`.slice(-4000);
    });
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const stop = async (): Promise<void> => {
    await endGroup(child);
    await database.drop();
    fs.rmSync(dir, { recursive: true, force: true });
  };
  const deadline = Date.now() + startMsMax;
  while (isRunning() && Date.now() < deadline) {
    const health = await send({ base, files: recorded.dir }, { method: 'GET', path: '/_health' }).catch(() => null);
    if (health?.status === 204 || health?.status === 200)
      return { logins: new Map(), send: (request) => send({ base, files: recorded.dir }, request), isRunning, stop };
    await sleep(50);
  }
  const why = isRunning() ? `GET /_health is not ready after ${startMsMax} ms` : 'the server ended before it was ready';
  await stop();
  throw new Error(`${why}\n${tail}`);
};

/** Ends the shell, the server, and their child processes. */
const endGroup = async (child: ChildProcess): Promise<void> => {
  const signal = (name: NodeJS.Signals | 0): boolean => {
    try {
      process.kill(-child.pid!, name);
      return true;
    } catch {
      return false;
    }
  };
  signal('SIGTERM');
  for (let waited = 0; signal(0) && waited < stopMsMax; waited += 30) await sleep(30);
  signal('SIGKILL');
};

// ---- databases

const sqliteCopies = (kit: Kit): Databases => ({
  name: 'sqlite',
  copy: async (dir) => {
    const file = path.join(dir, 'data.sqlite');
    fs.copyFileSync(kitFiles(kit).data.sqlite, file);
    return { env: { DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: file }, drop: async () => undefined };
  },
  end: async () => undefined,
});

/** A template of the recorded data on the given server, or on one that is started for it. */
const postgresCopies = async (kit: Kit, given: string | undefined, { base }: Options): Promise<Databases> => {
  if (base !== null) return { ...sqliteCopies(kit), name: 'postgres' };
  const own = given === undefined ? await startPostgres() : null;
  const adminUrl = given ?? own!.url;
  const admin = new Client(adminUrl);
  await admin.connect();
  const urlOf = (name: string): string => {
    const url = new URL(adminUrl);
    url.pathname = `/${name}`;
    return url.href;
  };
  const template = `conformance_${kit}_${process.pid}`;
  const drop = async (name: string): Promise<void> => {
    await admin.query(`drop database if exists ${name} with (force)`);
  };
  await admin.query(`create database ${template} template template0 locale 'C' encoding 'UTF8'`);
  const filling = new Client(urlOf(template));
  await filling.connect();
  await filling.query(fs.readFileSync(kitFiles(kit).data.postgres, 'utf8'));
  await filling.end();
  let serial = 0;
  return {
    name: 'postgres',
    copy: async () => {
      serial += 1;
      const name = `${template}_${serial}`;
      await admin.query(`create database ${name} template ${template}`);
      return { env: { DATABASE_CLIENT: 'postgres', DATABASE_URL: urlOf(name) }, drop: () => drop(name) };
    },
    end: async () => {
      await drop(template);
      await admin.end();
      await own?.stop();
    },
  };
};

try {
  process.exitCode = await main();
} catch (fault) {
  console.error((fault as Error).message);
  if (fault instanceof TypeError) console.error(usage);
  process.exitCode = fault instanceof TypeError ? 2 : 1;
}
