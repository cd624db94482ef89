/**
 * Reads, writes in two locales and uploads against a served example project for a while, on PostgreSQL with its connections
 * killed every second: `npm run soak -- --minutes 30 [--database sqlite|postgres]`. Fails on any 5xx but 503, on an answered
 * write that is not there, on rows and files of uploads that do not belong together, and on memory that keeps growing.
 */
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startPostgres } from '../world/postgres.ts';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    database: { type: 'string', default: 'postgres' },
    clients: { type: 'string', default: '8' },
  },
});
const root = path.resolve(import.meta.dirname, '../../../..');
const main = path.join(root, 'packages/server/dist/cli/main.js');
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-soak-'));
const project = path.join(dir, 'magazine');
fs.cpSync(path.join(root, 'examples/magazine'), project, {
  recursive: true,
  filter: (from) => !/[/\\](\.tmp|\.env)$/.test(from),
});

const freePort = () =>
  new Promise((resolve) => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });

const postgres = options.database === 'postgres' ? await startPostgres() : null;
const port = await freePort();
const env = {
  ...process.env,
  HOST: '127.0.0.1',
  PORT: String(port),
  LOG_LEVEL: 'silent',
  ...(postgres ? { DATABASE_CLIENT: 'postgres', DATABASE_URL: postgres.url } : { DATABASE_CLIENT: 'sqlite' }),
};
const server = spawn(process.execPath, [main, 'start', '--project', project], { env, stdio: 'inherit' });
const base = `http://127.0.0.1:${port}`;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const isServing = async () => (await fetch(`${base}/_health`).catch(() => null))?.status === 204;
while (!(await isServing())) {
  if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`);
  await pause(50);
}
const token = execFileSync(process.execPath, [main, 'token', 'create', '--type', 'full-access', '--project', project], {
  env,
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'ignore'],
}).trim();

const random = (below) => Math.floor(Math.random() * below);
const pick = (list) => list[random(list.length)];
const reads = [
  () => '/api/articles?populate=*',
  () => `/api/articles?pagination[page]=${1 + random(1000)}&pagination[pageSize]=${1 + random(100)}`,
  () => `/api/articles/${1 + random(20)}?populate[author][populate]=*`,
  () => `/api/articles?filters[title][$containsi]=${random(1e9).toString(36)}&sort=author.name`,
  () => `/api/articles?locale=${pick(['de', 'all'])}&populate[localizations][fields]=title`,
  () => `/api/editions?populate[articles][sort]=title:${pick(['asc', 'desc'])}`,
  () => `/api/articles?_=${random(1e9)}&populate=autor${random(1e6)}`,
  () => `/api/articles?filters[$or][0][title]=${random(1e9)}&filters[$or][1][author][name][$ne]=${random(1e9)}`,
];
const statuses = new Map();
const bad = [];
const count = (status, what) => {
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  if (typeof status === 'number' && status >= 500 && status !== 503) bad.push(`${status} ${what}`);
};

const ask = async (url, init) => {
  try {
    const answer = await fetch(base + url, { ...init, signal: AbortSignal.timeout(60_000) });
    const body = await answer.text();
    count(answer.status, `${init?.method ?? 'GET'} ${url}\n  ${body.slice(0, 300)}`);
    return answer.status === 200 ? JSON.parse(body) : null;
  } catch (fault) {
    count(String(fault.cause?.code ?? fault.name), url);
    bad.push(`${fault.name} ${fault.cause?.code ?? ''} ${init?.method ?? 'GET'} ${url}`);
    return null;
  }
};

const authorization = `Bearer ${token}`;
const sendJson = (method, url, body) =>
  ask(url, { method, headers: { authorization, 'content-type': 'application/json' }, body: JSON.stringify(body) });

const picture = fs.readFileSync(path.join(project, 'public/uploads/workbench_640461831c.png'));
/** A picture for an article; every other one is deleted again. */
const upload = async (articleId) => {
  const form = new FormData();
  for (const [name, value] of Object.entries({ ref: 'api::article.article', refId: articleId, field: 'cover' }))
    form.append(name, String(value));
  form.append('files', new Blob([picture], { type: 'image/png' }), 'soak.png');
  const files = await ask('/api/upload', { method: 'POST', headers: { authorization }, body: form });
  if (files && random(2) === 0)
    await ask(`/api/upload/files/${files[0].id}`, { method: 'DELETE', headers: { authorization } });
};

const until = Date.now() + Number(options.minutes) * 60_000;
const written = new Map();
const client = async (place) => {
  for (let round = 0; Date.now() < until; round++) {
    const kind = random(12);
    if (kind < 8) await ask(pick(reads)());
    else if (kind < 10) {
      const id = 1 + random(3);
      const connect = [{ id: 1 + random(12), position: pick([{ start: true }, { end: true }]) }];
      await sendJson('PUT', `/api/editions/${id}?populate[articles][fields]=id`, {
        data: { articles: { connect, disconnect: [1 + random(12)] } },
      });
    } else if (kind === 10) {
      const slug = `soak-${place}-${round}`;
      const made = await sendJson('POST', '/api/articles', {
        data: { title: slug, slug, author: 1, categories: [1, 2] },
      });
      if (!made) continue;
      written.set(made.data.id, slug);
      const sibling = await sendJson('POST', `/api/articles/${made.data.id}/localizations`, {
        locale: 'de',
        title: `${slug} auf Deutsch`,
        slug: `${slug}-de`,
        publishedAt: new Date().toISOString(),
      });
      if (!sibling) continue;
      written.set(sibling.id, `${slug}-de`);
      // a value that both share
      await sendJson('PUT', `/api/articles/${sibling.id}`, { data: { readingMinutes: 1 + random(9) } });
    } else await upload(1 + random(12));
  }
};

server.once('exit', (code) => {
  if (Date.now() >= until) return;
  console.log(`the server ended with ${code} before its time`);
  process.exit(1);
});
const rssMb = () => {
  const [, kib] = /VmRSS:\s+(\d+) kB/.exec(fs.readFileSync(`/proc/${server.pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kib) / 1024);
};
const memory = [];
const watch = setInterval(() => memory.push(rssMb()), 1000);
const report = setInterval(() => {
  console.log(`${Math.round((until - Date.now()) / 60_000)} min left`, Object.fromEntries(statuses), `${rssMb()} MB`);
}, 60_000);
const killing = async () => {
  while (postgres && Date.now() < until) {
    await pause(1000);
    try {
      execFileSync('psql', [
        '-qAt',
        postgres.url,
        '-c',
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'dovetail%' and random() < 0.5`,
      ]);
    } catch {
      // the next round tries again
    }
  }
};
await Promise.all([killing(), ...Array.from({ length: Number(options.clients) }, (_it, place) => client(place))]);
clearInterval(watch);
clearInterval(report);

await pause(1000);
for (const [id, slug] of written) {
  const found = await ask(`/api/articles/${id}?fields=slug`);
  if (found?.data.attributes.slug !== slug) bad.push(`answered and not there: article ${id}, ${slug}`);
}
/** Every stored file must be that of a row, and the other way round; a file of a row that was never committed is removed at the next start. */
const expectFiles = async () => {
  const dir = path.join(project, 'public/uploads');
  const rows = [];
  for (let isDone = false; !isDone; ) {
    const page = await ask(`/api/upload/files?sort=id&limit=100&start=${rows.length}&filters[name]=soak.png`, {
      headers: { authorization },
    });
    rows.push(...(page ?? []));
    isDone = page === null || page.length === 0;
  }
  const known = new Set(
    rows.flatMap(({ url, formats }) => [{ url }, ...Object.values(formats ?? {})].map((it) => path.basename(it.url))),
  );
  const stored = new Set(fs.readdirSync(dir).filter((name) => /soak_[0-9a-f]{10}\.png$/.test(name)));
  for (const name of known.difference(stored)) bad.push(`a row without its file: ${name}`);
  for (const name of stored.difference(known)) bad.push(`a file without its row: ${name}`);
  console.log(`${rows.length} uploads with ${stored.size} files`);
};
await expectFiles();

const mean = (list) => Math.round(list.reduce((sum, it) => sum + it, 0) / list.length);
const third = Math.floor(memory.length / 3);
const [middle, last] = [mean(memory.slice(third, 2 * third)), mean(memory.slice(2 * third))];
console.log(
  Object.fromEntries(statuses),
  `memory: middle third ${middle} MB, last third ${last} MB, ${written.size} written`,
);
if (last > middle * 1.2) bad.push(`memory grows: ${middle} MB, then ${last} MB`);
server.kill('SIGTERM');
const code = await new Promise((resolve) => server.once('exit', resolve));
if (code !== 0) bad.push(`the server ended with ${code}`);
await postgres?.stop();
fs.rmSync(dir, { recursive: true, force: true });
for (const line of bad.slice(0, 20)) console.log(line);
console.log(`${bad.length} faults`);
process.exit(bad.length === 0 ? 0 : 1);
