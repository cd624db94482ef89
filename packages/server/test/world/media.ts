/** A project with media attributes on a port, with its uploads in a folder of its own; the public may do everything. */
import fs from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { newServer, type ServerSettings } from '../../src/http/server.js';
import { newLocalStore } from '../../src/media/local-store.js';
import type { Store } from '../../src/media/store.js';
import type { Site } from '../../src/site/site.js';
import type { Db, DialectName } from '../../src/sql/dialect.js';
import { createTables, insertRows, newDatabase, type TestDatabase } from './databases.js';
import { newFolder } from './folders.js';
import { newTestDeps, type TestPeople } from './server.js';
import { loadSmall, type SmallProject } from './small.js';

const media = (allowedTypes: readonly string[] = [], multiple = false) => ({ type: 'media', multiple, allowedTypes });

export const albumProject: SmallProject = {
  types: {
    album: {
      attributes: {
        title: { type: 'string' },
        cover: media(['images']),
        paper: media(['files']),
        pictures: media(['images'], true),
        any: media(),
        card: { type: 'component', component: 'parts.card' },
        cards: { type: 'component', component: 'parts.card', repeatable: true },
        zone: { type: 'dynamiczone', components: ['parts.card', 'parts.sheet'] },
      },
    },
    lobby: { kind: 'singleType', attributes: { title: { type: 'string' }, cover: media() } },
  },
  components: {
    'parts.card': { heading: { type: 'string', required: true }, picture: media(['images']) },
    'parts.sheet': { pages: media([], true), inner: { type: 'component', component: 'parts.card' } },
  },
};

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface StoredFile {
  readonly id: number;
  readonly name: string;
  readonly url: string;
  readonly hash: string;
  readonly ext: string;
  readonly mime: string;
  readonly size: number;
  readonly width: number | null;
  readonly height: number | null;
  readonly formats: Readonly<Record<string, { readonly url: string; readonly width: number }>> | null;
  readonly caption: string | null;
}

export interface MediaWorld {
  readonly db: Db;
  readonly database: TestDatabase;
  readonly site: Site;
  readonly base: string;
  readonly port: number;
  /** Errors beside the answers. */
  readonly faults: readonly unknown[];
  /** Errors that requests have logged. */
  readonly logged: readonly { readonly reqId?: string; readonly err?: { readonly message?: string } }[];
  send(method: string, url: string, body?: FormData | unknown): Promise<Answer>;
  /** Uploads one file. */
  upload(file: Blob | string, name: string, more?: Readonly<Record<string, string>>): Promise<Answer>;
  /** The same, and expects that it is stored. */
  stored(file: Blob | string, name: string, more?: Readonly<Record<string, string>>): Promise<StoredFile>;
  /** Names of the files in the folder of uploads. */
  files(): readonly string[];
  /** Names of rows, in order. */
  rows(): Promise<readonly string[]>;
  /** What is on the disk besides: files on their way and records. Claims are left out. */
  leftovers(): readonly string[];
  /** Its folder. */
  readonly dir: string;
  close(): Promise<void>;
}

export interface MediaWorldOptions extends TestPeople {
  /** Wraps the store in the folder. */
  readonly store?: (local: Store) => Store;
  readonly settings?: Partial<ServerSettings>;
  /** `albumProject` by default. */
  readonly project?: SmallProject;
  /** Replaces the database of the server. */
  readonly watch?: (db: Db) => Db;
}

export const form = (
  files: readonly (readonly [field: string, content: Blob | string, name: string, type?: string])[],
  fields: Readonly<Record<string, string>> = {},
): FormData => {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  for (const [field, content, name, type = 'text/plain'] of files)
    body.append(field, typeof content === 'string' ? new Blob([content], { type }) : content, name);
  return body;
};

export const newMediaWorld = async (
  dialect: DialectName,
  {
    store = (it) => it,
    settings = {},
    watch = (db) => db,
    project = albumProject,
    media: given = {},
    ...people
  }: MediaWorldOptions = {},
): Promise<MediaWorld> => {
  const model = loadSmall(project);
  const database = await newDatabase(dialect);
  const { db } = database;
  const tables = new Map((await createTables(db, model)).map((table) => [table.name, table]));
  await insertRows(db, tables.get('up_roles')!, [{ id: 1, name: 'Public', type: 'public' }]);
  const dir = newFolder();
  const uploadsDir = path.join(dir, 'public/uploads');
  const faults: unknown[] = [];
  const deps = newTestDeps(watch(db), model, { uploadsDir, ...settings }, undefined, {
    mode: 'open',
    onFault: (fault) => faults.push(fault),
    ...people,
    media: { store: store(newLocalStore(uploadsDir)), ...given },
  });
  const logged: MediaWorld['logged'][number][] = [];
  const logger = pino({ level: 'error' }, { write: (line) => logged.push(JSON.parse(line)) });
  const app = await newServer({ ...deps, logger });
  const base = await app.listen({ host: '127.0.0.1', port: 0 });

  const send: MediaWorld['send'] = async (method, url, body) => {
    const payload =
      body === undefined
        ? {}
        : body instanceof FormData
          ? { body }
          : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const answer = await fetch(base + url, { method, ...payload });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
  };
  const upload: MediaWorld['upload'] = (content, name, more) =>
    send('POST', '/api/upload', form([['files', content, name]], more));
  const filesBelow = (folder: string): readonly string[] =>
    fs.existsSync(folder)
      ? fs
          .readdirSync(folder, { recursive: true, withFileTypes: true })
          .filter((it) => it.isFile())
          .map((it) => path.relative(folder, path.join(it.parentPath, it.name)))
          .sort()
      : [];
  return {
    db,
    database,
    site: deps.site,
    base,
    port: Number(new URL(base).port),
    faults,
    logged,
    send,
    upload,
    stored: async (...args) => {
      const { status, body } = await upload(...args);
      if (status !== 200) throw new Error(JSON.stringify(body));
      return (body as StoredFile[])[0]!;
    },
    dir,
    files: () => filesBelow(uploadsDir),
    rows: async () => {
      const statement = db.dialect.compile(sql`select name from files order by id`);
      return (await db.write((tx) => tx.run(statement))).map(([name]) => String(name));
    },
    leftovers: () => filesBelow(path.join(dir, '.tmp')).filter((it) => !it.endsWith('-serving')),
    close: async () => {
      await app.close();
      await database.drop();
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
};
