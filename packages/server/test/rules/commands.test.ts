/** Read-only commands, and messages about configuration errors. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { listRolesCommand, listTokensCommand, listUsersCommand } from '../../src/cli/commands/accounts.js';
import { type CheckReport, check, sync } from '../../src/cli/commands/check.js';
import { explain } from '../../src/cli/commands/explain.js';
import { environmentSchema, postgresUrl, readConfig } from '../../src/cli/config.js';
import { compareDatabase, openDatabase, openProject } from '../../src/cli/project.js';
import { StartFault } from '../../src/cli/start-fault.js';
import { exportContent } from '../../src/cli/transfer/export.js';
import { tablesOf } from '../../src/model/storage.js';
import { readRows } from '../../src/sql/dialect.js';
import { type Index, readCatalog } from '../../src/sql/schema.js';
import { newDatabase } from '../world/databases.js';
import { withSmallDisk } from '../world/disk.js';
import { printed } from '../world/printed.js';
import { dialects, projectDir } from '../world/world.js';

const stub = (env: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
};

let dir = '';
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-commands-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  process.exitCode = undefined;
  fs.rmSync(dir, { recursive: true });
});

/** An index that v4's layout does not have, so any database may lack it. */
const ownIndex = async () => {
  const { model } = await openProject(projectDir);
  const [found] = tablesOf(model).flatMap(({ name, indexes }) =>
    indexes.filter((it) => it.own).map((it) => ({ table: name, name: it.name })),
  );
  return found!;
};

describe('an empty project', () => {
  const makeProject = (attributes: unknown): void => {
    const type = path.join(dir, 'src/api/note/content-types/note');
    fs.mkdirSync(type, { recursive: true });
    const info = { singularName: 'note', pluralName: 'notes', displayName: 'Note' };
    fs.writeFileSync(path.join(type, 'schema.json'), JSON.stringify({ kind: 'collectionType', info, attributes }));
  };

  it('check says what the start would refuse of handlers, and fails; what these print is no part of its JSON', async () => {
    makeProject({ text: { type: 'string' } });
    await printed(() => sync(dir, { dryRun: false, publishDrafts: [] }));
    const file = 'src/api/note/handlers.ts';
    fs.writeFileSync(path.join(dir, file), "console.log('loaded'); export default { beforCreate() {} };");
    const { out } = await printed(() => check(dir, { json: true }));
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      refused: [expect.stringMatching(`^${file}: "beforCreate" is not a handler or hook; did you mean "beforeCreate"`)],
    });
    expect(process.exitCode).toBe(1);
  });

  it('check --json prints the faults of schema files as JSON, and fails', async () => {
    makeProject({ text: { type: 'strng' }, more: { type: 'string', requird: true } });
    const { out, said } = await printed(() => check(dir, { json: true }));
    const file = 'src/api/note/content-types/note/schema.json';
    expect(JSON.parse(out)).toEqual({
      ok: false,
      faults: [{ file, place: 'attributes.text.type', message: expect.stringContaining('did you mean "string"?') }],
      warnings: [
        { file, place: 'attributes.more.requird', message: expect.stringContaining('did you mean "required"?') },
      ],
    });
    expect(said).toBe('');
    expect(process.exitCode).toBe(1);
    await expect(check(dir, { json: false })).rejects.toThrow(/A schema file has an error:\n.*attributes\.text\.type/);
  });

  it('empty lists are reported on stderr, not in the output', async () => {
    makeProject({ text: { type: 'string' } });
    stub({ DATABASE_CLIENT: 'sqlite' });
    const { out } = await printed(() => sync(dir, { dryRun: false, publishDrafts: [] }));
    expect(out).toMatch(/^\d+ statements run on /);
    expect(await printed(() => listUsersCommand(dir))).toEqual({
      out: '',
      said: 'There are no users. Create one with user create.\n',
    });
    expect(await printed(() => listTokensCommand(dir))).toEqual({
      out: '',
      said: 'There are no tokens. Create one with token create.\n',
    });
    expect(await printed(() => listRolesCommand(dir, undefined))).toEqual({
      out: '',
      said: 'There are no roles. Run start once: it creates them.\n',
    });
    new Database(path.join(dir, '.tmp/data.db')).exec('alter table note drop column text').close();
    const again = await printed(() => sync(dir, { dryRun: false, publishDrafts: [] }));
    expect(again.out).toMatch(/^1 statement run on /);
  });
});

describe('read-only commands', () => {
  const url = '/api/films?fields=title';

  it('create no file or folder: a missing database is treated as empty', async () => {
    const file = path.join(dir, 'deep', 'data.db');
    stub({ DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: file });
    const checked = await printed(() => check(projectDir, { json: false }));
    expect(checked.out).toMatch(/table {2}films \(/);
    expect(checked.said).toBe(`There is no file ${file} yet; treating the database as empty.\n`);
    expect(process.exitCode).toBe(1);
    const report = JSON.parse((await printed(() => check(projectDir, { json: true }))).out) as CheckReport;
    expect(report).toMatchObject({ ok: false, database: file, otherTypes: [], drafts: [], ownIndexes: [] });
    expect(report.missing.tables).toContain('films');
    expect(report.types).toContainEqual({ uid: 'api::film.film', kind: 'collection' });
    expect((await printed(() => sync(projectDir, { dryRun: true, publishDrafts: [] }))).out).toContain(
      'create table "films"',
    );
    await expect(printed(() => explain(projectDir, url, { json: false }))).rejects.toThrow(/Run start or sync first/);
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it.each(['delete', 'wal'])(
    'leave a file in journal mode %s unchanged, and create nothing beside it',
    async (mode) => {
      const file = path.join(dir, 'data.db');
      stub({ DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: file });
      await printed(() => sync(projectDir, { dryRun: false, publishDrafts: [] }));
      const raw = new Database(file);
      raw.pragma(`journal_mode = ${mode}`);
      raw.exec(`drop index ${(await ownIndex()).name}`);
      raw.close();
      const before = fs.readFileSync(file);
      await printed(() => check(projectDir, { json: false }));
      await printed(() => sync(projectDir, { dryRun: true, publishDrafts: [] }));
      expect((await printed(() => explain(projectDir, url, { json: false }))).out).toContain('films');
      expect(fs.readFileSync(file).equals(before)).toBe(true);
      expect(fs.readdirSync(dir)).toEqual(['data.db']);
    },
  );

  it.each(dialects)('check reports missing indexes, as sync --dry-run does, on %s', async (dialect) => {
    const database = await newDatabase(dialect);
    try {
      stub(database.env);
      await printed(() => sync(projectDir, { dryRun: false, publishDrafts: [] }));
      const agreed = (await printed(() => check(projectDir, { json: false }))).out;
      expect(agreed).toContain('Model and database agree.');
      const [, own = ''] = agreed.split("Of Dovetail's own beside v4's layout");
      const { model } = await openProject(projectDir);
      const isOwn = ({ own: isOurs, ofIds }: Index): boolean => isOurs && (!ofIds || dialect === 'sqlite');
      const names = tablesOf(model).flatMap((it) => it.indexes.filter(isOwn).map((index) => index.name));
      expect([...own.matchAll(/index {2}(\S+)/g)].map(([, name]) => name)).toEqual(names);
      expect(process.exitCode).toBeUndefined();
      const index = await ownIndex();
      await database.db.write(async (tx) => {
        await tx.run(database.db.dialect.compile(sql`drop index ${sql.id(index.name)}`));
      });
      expect((await printed(() => check(projectDir, { json: false }))).out).toMatch(
        new RegExp(`Missing, .*\\n  index  ${index.name} on ${index.table} \\(`),
      );
      expect(process.exitCode).toBe(1);
      expect((await printed(() => sync(projectDir, { dryRun: true, publishDrafts: [] }))).out).toMatch(
        new RegExp(`^create index (concurrently )?(if not exists )?"${index.name}" on "${index.table}" [^\\n]*;\\n$`),
      );
    } finally {
      await database.drop();
    }
  });

  it.each(dialects)('a database that was never started gives a message, not an exception, on %s', async (dialect) => {
    const database = await newDatabase(dialect);
    try {
      stub(database.env);
      const fault = /has no roles and permissions yet\. Run start or sync first\./;
      await expect(printed(() => explain(projectDir, url, { json: false }))).rejects.toThrow(fault);
      await expect(printed(() => listRolesCommand(projectDir, undefined))).rejects.toThrow(fault);
      await printed(() => sync(projectDir, { dryRun: false, publishDrafts: [] }));
      expect((await printed(() => explain(projectDir, url, { json: false }))).out).toContain('Statements (');
    } finally {
      await database.drop();
    }
  });

  it.each(dialects)(
    'content that the database has no column for yet is not read, and why is said, on %s',
    async (dialect) => {
      const database = await newDatabase(dialect);
      try {
        stub(database.env);
        await printed(() => sync(projectDir, { dryRun: false, publishDrafts: [] }));
        await database.db.write(async (tx) => {
          await tx.run(database.db.dialect.compile(sql`alter table films rename column title to titel`));
        });
        const fault =
          / has no column films\.title yet\. Run start or sync first; if something was renamed, migrate plan\.$/;
        await expect(printed(() => explain(projectDir, url, { json: false }))).rejects.toThrow(fault);
        await expect(printed(() => exportContent(projectDir, '-', { scope: 'content' }))).rejects.toThrow(fault);
        await printed(() => listRolesCommand(projectDir, undefined));
      } finally {
        await database.drop();
      }
    },
  );

  it('a disk without room for a new SQLite file is named as what it is', () =>
    withSmallDisk(1, async (disk) => {
      const file = path.join(disk.dir, 'data.db');
      stub({ DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: file });
      const project = await openProject(projectDir);
      disk.fill();
      await expect(openDatabase(project)).rejects.toThrow(
        `SQLite cannot open ${file}: database or disk is full\nFree some space on its disk.`,
      );
    }));

  it.each([true, false])(
    'a folder in place of the SQLite file gives a clear message (read only: %s)',
    async (readOnly) => {
      stub({ DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: dir });
      const project = await openProject(projectDir);
      await expect(openDatabase(project, { readOnly })).rejects.toThrow(
        `SQLite cannot open ${dir}: unable to open database file\nCheck DATABASE_FILENAME.`,
      );
    },
  );

  it.each(dialects)(
    'a database that was upgraded to Strapi 5 is refused, and nothing is added to it: %s',
    async (dialect) => {
      const { db, env, drop } = await newDatabase(dialect);
      try {
        await db.write(async (tx) => {
          await tx.run(db.dialect.compile(sql`create table files (id integer primary key, document_id varchar(255))`));
        });
        stub(env);
        const refusal = /^The database was upgraded to Strapi 5: its tables have documents\. Name a backup/;
        await expect(printed(() => sync(projectDir, { dryRun: false, publishDrafts: [] }))).rejects.toThrow(refusal);
        await expect(printed(() => check(projectDir, { json: false }))).rejects.toThrow(refusal);
        expect([...(await readCatalog(db)).tables.keys()]).toEqual(['files']);
        // a column that the project has had itself is in one table only
        await db.write((tx) => tx.run(db.dialect.compile(sql`create table up_users (id integer primary key)`)));
        const { surplusColumns } = await compareDatabase(await openProject(projectDir), db);
        expect(surplusColumns).toEqual([{ table: 'files', column: 'document_id' }]);
      } finally {
        await drop();
      }
    },
  );

  it.each(dialects)('a database of Strapi 3 is refused, and nothing is added to it: %s', async (dialect) => {
    const { db, env, drop } = await newDatabase(dialect);
    const create = (table: string) =>
      db.write((tx) => tx.run(db.dialect.compile(sql`create table ${sql.table(table)} (id integer primary key)`)));
    try {
      await create('core_store');
      stub(env);
      await expect(printed(() => sync(projectDir, { dryRun: false, publishDrafts: [] }))).rejects.toThrow(
        /^The database is of Strapi 3\. Migrate it to Strapi 4 first/,
      );
      expect([...(await readCatalog(db)).tables.keys()]).toEqual(['core_store']);
      // v4 has been started on it
      await create('up_users');
      const { surplusTables } = await compareDatabase(await openProject(projectDir), db);
      expect(surplusTables).toEqual(['core_store']);
    } finally {
      await drop();
    }
  });

  it('a SQLite file that may not be written is refused at once, not with each write', async () => {
    const file = path.join(dir, 'data.db');
    new Database(file).exec('create table kept (id integer)').close();
    stub({ DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: file });
    const project = await openProject(projectDir);
    // root, as whom tests may run, may write every file
    const refused = new Error(`EACCES: permission denied, access '${file}'`);
    const access = vi.spyOn(fs, 'accessSync').mockImplementation((_, mode) => {
      if (mode === fs.constants.W_OK) throw refused;
    });
    try {
      await expect(openDatabase(project)).rejects.toThrow(
        `SQLite cannot open ${file}: ${refused.message}\nCheck DATABASE_FILENAME.`,
      );
      await (await openDatabase(project, { readOnly: true })).close();
    } finally {
      access.mockRestore();
    }
  });

  it.each([true, false])('a file that is not a database gives a clear message (read only: %s)', async (readOnly) => {
    const file = path.join(dir, 'data.db');
    fs.writeFileSync(file, 'no database '.repeat(100));
    stub({ DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: file });
    const project = await openProject(projectDir);
    const fault = await openDatabase(project, { readOnly }).catch((it: unknown) => it);
    expect(fault).toBeInstanceOf(StartFault);
    expect((fault as Error).message).toBe(
      `SQLite cannot open ${file}: file is not a database\nCheck DATABASE_FILENAME.`,
    );
  });
});

describe('configuration', () => {
  it.each<readonly [packageJson: string | null, config: object | null, strict: boolean]>([
    [null, null, true],
    ['{}', null, true],
    ['{ "dependencies": { "express": "4" } }', null, true],
    ['{ "dependencies": { "@strapi/strapi": "4.26.2" } }', null, false],
    ['{ "dependencies": { "@strapi/strapi": "4.26.2" } }', { api: { rest: { maxLimit: 5 } } }, false],
    ['{ "dependencies": { "@strapi/strapi": "4.26.2" } }', { api: { strict: true } }, true],
    ['{ "dependencies": { "express": "4" } }', { api: { strict: false } }, false],
    ['no JSON', null, true],
    ['[]', null, true],
    ['{ "dependencies": 5 }', null, true],
  ])('Q16: package.json %s and configuration %j: strict is %s', async (packageJson, config, strict) => {
    if (packageJson !== null) fs.writeFileSync(path.join(dir, 'package.json'), packageJson);
    if (config !== null) fs.writeFileSync(path.join(dir, 'dovetail.config.json'), JSON.stringify(config));
    expect((await readConfig(dir)).config.api.strict).toBe(strict);
  });

  it.each([
    ['postgres://h/d', {}, 'postgres://h/d'],
    ['postgres://h/d', { DATABASE_SCHEMA: 'cms' }, 'postgres://h/d?search_path=cms'],
    ['postgres://h/d', { DATABASE_SCHEMA: 'Cms' }, 'postgres://h/d?search_path=%22Cms%22'],
    ['postgres://h/d', { DATABASE_SCHEMA: 'cms,public' }, 'postgres://h/d?search_path=cms%2Cpublic'],
    ['postgres://h/d', { DATABASE_SSL: 'true' }, 'postgres://h/d?sslmode=require'],
    ['postgres://a:1,b:2/d?x=1', { DATABASE_SCHEMA: 'cms' }, 'postgres://a:1,b:2/d?x=1&search_path=cms'],
    [
      'postgres://h/d?sslmode=disable&search_path=own',
      { DATABASE_SSL: 'true', DATABASE_SCHEMA: 'cms' },
      'postgres://h/d?sslmode=disable&search_path=own',
    ],
  ])('DATABASE_URL %s with %j', (DATABASE_URL, env, url) => {
    expect(postgresUrl(environmentSchema.parse({ DATABASE_URL, ...env }))).toBe(url);
  });

  it.each(['cms', 'Our CMS'])(
    'DATABASE_SCHEMA %s also applies to DATABASE_URL, and gets the tables',
    async (schema) => {
      const database = await newDatabase('postgres');
      try {
        await database.db.write(async (tx) => {
          await tx.run(database.db.dialect.compile(sql`create schema ${sql.id(schema)}`));
        });
        stub({ ...database.env, DATABASE_SCHEMA: schema });
        await printed(() => sync(projectDir, { dryRun: false, publishDrafts: [] }));
        const project = await openProject(projectDir);
        const db = await openDatabase(project);
        const rows = await db.read(() => readRows(db.dialect.compile(sql`select current_schema()::text`)));
        const { missingTables } = await compareDatabase(project, db);
        await db.close();
        expect([rows, missingTables]).toEqual([[[schema]], []]);
        expect((await readCatalog(database.db)).tables.size).toBe(0);
      } finally {
        await database.drop();
      }
    },
  );

  it.each([
    ['dovetail.config.json', '{ "api": ', /^dovetail\.config\.json: cannot be read: /],
    ['dovetail.config.ts', 'export default { api: ', /^dovetail\.config\.ts: cannot be read: /],
    ['dovetail.config.ts', 'throw new Error("on purpose");', /^dovetail\.config\.ts: cannot be read: on purpose/],
    [
      'dovetail.config.json',
      '{ "api": { "rest": { "maxLimt": 5 } }, "cor": {} }',
      /^dovetail\.config\.json: api\.rest: .*"maxLimt"; did you mean "maxLimit"\?\n.*"cor"; did you mean "cors"\?$/,
    ],
    [
      'dovetail.config.json',
      '{ "api": { "rest": { "prefix": "api", "maxLimit": "x" }, "strict": "yes" }, "server": { "url": "x" }, "zz": 1 }',
      /prefix: must be a string such as "\/api", not "api"\. .*\n.*maxLimit: must be a whole number from 1 on or null, not "x"\. .*\n.*strict: must be true or false, not "yes"\. .*\n.*url: must be a URL such as "https:\/\/example\.com" or null, not "x"\. .*\n.*there is no setting "zz"; expected one of api, cors, /,
    ],
    [
      'dovetail.config.json',
      '{ "cors": { "origin": [5] }, "mail": 5, "project": { "ignoreCode": [1] } }',
      /origin: must be "\*" or a list of strings, not an array\. .*\n.*mail: must be an object, not 5\n.*ignoreCode\.0: must be a list of strings, not 1\. /,
    ],
    [
      'dovetail.config.json',
      '{ "customFields": { "plugin::score.stars": "nmber" } }',
      /customFields\.plugin::score\.stars: must be string, text, .* or [a-z]+, not "nmber"/,
    ],
    [
      'dovetail.config.json',
      '{ "server": { "securityHeaders": { "x-frame-options": "a\\nb" } } }',
      /securityHeaders\.x-frame-options: must be a string or null, not "a\\nb"\. A header has no line breaks/,
    ],
  ])('%s with an error: %s', async (name, text, words) => {
    fs.writeFileSync(path.join(dir, name), text);
    const fault = await readConfig(dir).catch((it: unknown) => it);
    expect(fault).toBeInstanceOf(StartFault);
    expect((fault as Error).message).toMatch(words);
  });
});
