/**
 * Starting on PostgreSQL: several processes at once on one database, on databases made by v4, and on servers that
 * refuse connections.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readRows } from '../../src/sql/dialect.js';
import { newDatabase, type TestDatabase } from '../world/databases.js';
import { withSmallDisk } from '../world/disk.js';
import { newFolder } from '../world/folders.js';
import { type PostgresServer, startPostgres } from '../world/postgres.js';
import { freePort, secretsGiven, serveInProcess } from '../world/process.js';
import { writeSmall } from '../world/small.js';

const root = path.join(import.meta.dirname, '../../../..');
const magazine = path.join(root, 'examples/magazine');
const main = path.join(root, 'packages/server/dist/cli/main.js');

/** Runs a command until it exits. */
const run = async (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number; readonly said: string }> => {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, ...secretsGiven, ...env, LOG_LEVEL: 'silent' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (text: Buffer) => {
    said += String(text);
  });
  const [code] = (await once(child, 'exit')) as [number];
  return { code, said };
};

const rowsOf = ({ db }: TestDatabase, text: string) =>
  db.read(() => readRows(db.dialect.compile(sql`${sql.raw(text)}`)));
const change = ({ db }: TestDatabase, text: string) =>
  db.write((tx) => tx.run(db.dialect.compile(sql`${sql.raw(text)}`)));

describe('processes that start together on one empty database', () => {
  it.each([2, 2, 4])('all %i of them serve, and initial data is created once', async (count) => {
    const database = await newDatabase('postgres');
    const served = await Promise.allSettled(
      Array.from({ length: count }, () => serveInProcess(magazine, database.env)),
    );
    try {
      for (const it of served) {
        if (it.status === 'rejected') throw it.reason;
        const answer = await fetch(`${it.value.url}/articles?fields=title&pagination[withCount]=true`);
        expect(answer.status).toBe(200);
        expect(await answer.json()).toMatchObject({ meta: { pagination: { total: 12 } } });
      }
      expect(await rowsOf(database, 'select type from up_roles order by id')).toEqual([['authenticated'], ['public']]);
      const repeated = 'select action from up_permissions p join up_permissions_role_links l on l.permission_id = p.id';
      expect(await rowsOf(database, `${repeated} group by action, role_id having count(*) > 1`)).toEqual([]);
    } finally {
      for (const it of served) if (it.status === 'fulfilled') it.value.child.kill('SIGKILL');
      await database.drop();
    }
  });
});

describe('first starts of a project at the same time', () => {
  it('ST12: all of them use the same secrets, which are written once', async () => {
    const dir = newFolder();
    fs.cpSync(path.join(magazine, 'src'), path.join(dir, 'src'), { recursive: true });
    const served = await Promise.allSettled(
      Array.from({ length: 4 }, () =>
        serveInProcess(dir, { JWT_SECRET: '', API_TOKEN_SALT: '', ADMIN_JWT_SECRET: '' }),
      ),
    );
    for (const it of served) if (it.status === 'fulfilled') it.value.child.kill('SIGKILL');
    expect(served.map((it) => it.status)).toEqual(Array(4).fill('fulfilled'));
    const names = fs.readFileSync(path.join(dir, '.env'), 'utf8').matchAll(/^(\w+)=/gm);
    expect([...names].map(([, name]) => name)).toEqual(['JWT_SECRET', 'API_TOKEN_SALT', 'ADMIN_JWT_SECRET']);
    fs.rmSync(dir, { recursive: true });
  });

  it('ST12: a disk that is full leaves no part of a secret, which the next start would take for a whole one', () =>
    withSmallDisk(1, async (disk) => {
      writeSmall(disk.dir, { types: { note: { attributes: { title: { type: 'string' } } } } });
      const file = path.join(disk.dir, '.env');
      // 20 bytes more fit into its block
      const before = `#${'x'.repeat(4096 - 22)}\n`;
      fs.writeFileSync(file, before);
      fs.writeFileSync(path.join(disk.dir, '.gitignore'), '.env\n');
      disk.fill();
      const { code, said } = await run(['start', '--project', disk.dir], {
        JWT_SECRET: '',
        API_TOKEN_SALT: '',
        ADMIN_JWT_SECRET: '',
      });
      expect([code, said]).toEqual([1, expect.stringContaining(`${file} cannot be written: ENOSPC`)]);
      expect(fs.readFileSync(file, 'utf8')).toBe(before);
    }));

  it('ST12: a disk that is full leaves no secrets without a .gitignore, and no empty one, with which they would get into git', () =>
    withSmallDisk(1, async (disk) => {
      writeSmall(disk.dir, { types: { note: { attributes: { title: { type: 'string' } } } } });
      // the secrets fit into its block
      fs.writeFileSync(path.join(disk.dir, '.env'), '# ours\n');
      disk.fill();
      const none = { JWT_SECRET: '', API_TOKEN_SALT: '', ADMIN_JWT_SECRET: '' };
      const { code, said } = await run(['start', '--project', disk.dir], none);
      expect([code, said]).toEqual([1, expect.stringContaining('The disk is full: ENOSPC')]);
      expect(fs.existsSync(path.join(disk.dir, '.gitignore'))).toBe(false);
      expect(fs.readFileSync(path.join(disk.dir, '.env'), 'utf8')).toBe('# ours\n');
    }));
});

describe('a link table with a name of 55 characters', () => {
  const table = 'chapters_of_the_very_long_history';
  const attribute = 'mentioned_towns';
  const links = `${table}_${attribute}_links`;
  let dir = '';
  let database: TestDatabase;
  const ownIndexes = `select indexname from pg_indexes where tablename = '${links}' and indexname ~ '_[0-9a-f]{8}$' order by 1`;
  beforeAll(async () => {
    expect(links).toHaveLength(55);
    dir = newFolder();
    const write = (name: string, schema: object): void => {
      const folder = path.join(dir, 'src/api', name, 'content-types', name);
      fs.mkdirSync(folder, { recursive: true });
      fs.writeFileSync(path.join(folder, 'schema.json'), JSON.stringify(schema));
    };
    const relation = { type: 'relation', relation: 'manyToMany' };
    write('chapter', {
      kind: 'collectionType',
      collectionName: table,
      info: { singularName: 'chapter', pluralName: 'chapters', displayName: 'Chapter' },
      attributes: { [attribute]: { ...relation, target: 'api::place.place', inversedBy: 'chapters' } },
    });
    write('place', {
      kind: 'collectionType',
      collectionName: 'places',
      info: { singularName: 'place', pluralName: 'places', displayName: 'Place' },
      attributes: { chapters: { ...relation, target: 'api::chapter.chapter', mappedBy: attribute } },
    });
    database = await newDatabase('postgres');
  });
  afterAll(async () => {
    await database.drop();
    fs.rmSync(dir, { recursive: true });
  });

  it('ST7: gets both of our own indexes, once, on a database made by v4 too', async () => {
    expect(await run(['sync', '--project', dir], database.env)).toEqual({ code: 0, said: '' });
    const made = await rowsOf(database, ownIndexes);
    expect(made).toHaveLength(2);
    // as v4 leaves it
    for (const [name] of made) await change(database, `drop index "${String(name)}"`);
    expect(await run(['sync', '--project', dir], database.env)).toEqual({ code: 0, said: '' });
    expect(await rowsOf(database, ownIndexes)).toEqual(made);
    expect((await run(['check', '--project', dir], database.env)).code).toBe(0);
    const served = await serveInProcess(dir, database.env);
    served.child.kill('SIGKILL');
    expect(await rowsOf(database, ownIndexes)).toEqual(made);
  });

  it.each(['sync', 'start'])('%s reports a statement that the database rejects in one line', async (command) => {
    await change(database, 'drop table if exists places cascade');
    await change(database, 'create view places as select 1 as id');
    const { code, said } = await run([command, '--project', dir], { ...database.env, PORT: String(await freePort()) });
    expect(code).toBe(1);
    expect(said).toMatch(
      /^postgres:\/\/127\.0\.0\.1:\d+\/\w+ rejected "create table "places" .*": relation "places" already exists\nNothing was changed\.\n$/,
    );
    await change(database, 'drop view places');
  });
});

describe('a server that refuses connections', () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await startPostgres('max_connections=8', 'superuser_reserved_connections=0', 'reserved_connections=0');
  });
  afterAll(() => postgres.stop());
  const plain = /\nCheck DATABASE_URL, or DATABASE_HOST, .*\n$/;

  it('too many clients are reported in one line', async () => {
    const clients = Array.from({ length: 8 }, () => new Client(postgres.url));
    try {
      for (const client of clients) await client.connect();
      const { code, said } = await run(['start', '--project', magazine], { DATABASE_URL: postgres.url });
      expect(code).toBe(1);
      expect(said).toMatch(
        /^Cannot connect to PostgreSQL at postgres:\/\/127\.0\.0\.1:\d+\/postgres: sorry, too many clients already\n/,
      );
      expect(said).toMatch(plain);
    } finally {
      for (const client of clients) await client.end();
    }
  });

  it('a server that is down, and a wrong password, are reported in one line without the password', async () => {
    const down = new URL(postgres.url);
    down.port = String(await freePort());
    down.password = 'sesame';
    const wrong = new URL(postgres.url);
    wrong.password = 'sesame';
    for (const [url, reason] of [
      [down, 'connect ECONNREFUSED'],
      [wrong, 'password authentication failed'],
    ] as const)
      for (const command of ['start', 'check']) {
        const { code, said } = await run([command, '--project', magazine], { DATABASE_URL: url.href });
        expect(code).toBe(1);
        expect(said).toContain(reason);
        expect(said).not.toContain('sesame');
        expect(said).toMatch(plain);
      }
  });

  it('several hosts are tried in turn', async () => {
    const { host } = new URL(postgres.url);
    const url = postgres.url.replace(host, `127.0.0.1:${await freePort()},${host}`);
    expect((await run(['check', '--project', magazine], { DATABASE_URL: url })).said).toBe('');
  });
});

describe('code of a v4 project that fails at the start', () => {
  it.each(['register', 'bootstrap'])('%s: ends it with its place, also if it has begun other work', async (hook) => {
    const dir = newFolder();
    const index = `module.exports = {\n  async ${hook}() {\n    setInterval(() => undefined, 1000);\n    throw new Error('not today');\n  },\n};\n`;
    fs.mkdirSync(path.join(dir, 'src'));
    const manifest = { dependencies: { '@strapi/strapi': '4.26.2' } };
    fs.writeFileSync(path.join(dir, 'package.json'), JSON.stringify(manifest));
    fs.writeFileSync(path.join(dir, 'src/index.js'), index);
    const { code, said } = await run(['start', '--project', dir], {
      DATABASE_CLIENT: 'sqlite',
      PORT: String(await freePort()),
    });
    expect([code, said]).toEqual([1, expect.stringContaining(`src/index.js:4: ${hook} failed: not today`)]);
    fs.rmSync(dir, { recursive: true });
  });
});
