/** The rows of uploaded files that are read and written outside the ordinary lines. */
import { sql } from 'kysely';
import { bug, never } from '../errors.js';
import {
  type Db,
  type Dialect,
  jsonIn,
  type Rows,
  readRows,
  type Sql,
  type Statement,
  type Tx,
} from '../sql/dialect.js';
import type { ImageSettings } from './image.js';
import type { Fate, RowChange } from './journal.js';

/** What is needed of a stored file to replace or remove its objects. */
export interface FileRow {
  readonly id: number;
  readonly hash: string;
  readonly ext: string;
  readonly provider: string;
  /** Keys of its objects: its own first, then those of its formats. */
  readonly keys: readonly string[];
  /** What the row says of its content, by which a replacement is told from changes of captions and the like. */
  readonly content: string;
}

const fileStatement = (id: number, lock: 'plain' | 'locked', dialect: Dialect): Statement =>
  dialect.compile(
    sql`select id, hash, ext, provider, formats, mime, size, width, height from files where id = ${dialect.bind('id', id)}${lock === 'locked' ? dialect.forUpdate : sql``}`,
  );

const fileRowOf = ([row]: Rows): FileRow | null => {
  if (!row) return null;
  const [id, hash, ext, provider, ...described] = row;
  const [formats] = described;
  const own = { hash: String(hash ?? ''), ext: String(ext ?? '') };
  const keys = [own, ...formatsOf(formats)].map((it) => `${it.hash}${it.ext}`);
  return {
    id: id as number,
    ...own,
    provider: String(provider ?? ''),
    keys: [...new Set(keys)],
    content: JSON.stringify([hash, ext, ...described]),
  };
};

/** The column may hold anything: v4's plugins write it too. */
const formatsOf = (formats: unknown): readonly { readonly hash: string; readonly ext: string }[] => {
  const tree = jsonIn(formats);
  if (tree === null || typeof tree !== 'object') return [];
  return Object.values(tree).flatMap((it: unknown) => {
    if (it === null || typeof it !== 'object') return [];
    const { hash, ext } = it as { readonly hash?: unknown; readonly ext?: unknown };
    return typeof hash === 'string' && typeof ext === 'string' ? [{ hash, ext }] : [];
  });
};

export const findFile = async (id: number, db: Db): Promise<FileRow | null> =>
  fileRowOf(await db.read(() => readRows(fileStatement(id, 'plain', db.dialect))));

export const lockFile = async (id: number, tx: Tx, dialect: Dialect): Promise<FileRow | null> =>
  fileRowOf(await tx.run(fileStatement(id, 'locked', dialect)));

/** Lets `fateOf` wait for the end of a transaction that inserts rows. */
export const lockCreation = async (hash: string, tx: Tx, dialect: Dialect): Promise<void> => {
  const lock = dialect.lock([`dovetail upload ${hash}`]);
  if (lock) await tx.run(lock);
};

/** What has become of rows. Waits for their transaction: PostgreSQL may still commit for a process that was killed. */
export const fateOf = (change: RowChange, db: Db): Promise<Fate> =>
  db.write(async (tx) => {
    const { dialect } = db;
    const run = (query: Sql): Promise<Rows> => tx.run(dialect.compile(query));
    switch (change.kind) {
      case 'created': {
        await lockCreation(change.hash, tx, dialect);
        const hash = dialect.bind('string', change.hash);
        const isStored = (await run(sql`select 1 from files where hash = ${hash} limit 1`)).length > 0;
        return { kind: isStored ? 'committed' : 'undone', named: [] };
      }
      case 'deleted':
        return { kind: (await lockFile(change.id, tx, dialect)) === null ? 'committed' : 'undone', named: [] };
      case 'replaced': {
        const row = await lockFile(change.id, tx, dialect);
        // a file that is gone was deleted later
        if (!row) return { kind: 'committed', named: [] };
        const named = row.keys;
        const { before, after } = change;
        if (row.content !== before && row.content !== after) return { kind: 'superseded', named };
        if (before !== after) return { kind: row.content === after ? 'committed' : 'undone', named };
        // described alike, so either fits the row
        const updatedAt = dialect.jsonValue('epoch', sql`updated_at`);
        const [[time] = []] = await run(
          sql`select ${updatedAt} from files where id = ${dialect.bind('id', change.id)}`,
        );
        return { kind: Number(time) >= change.version ? 'committed' : 'undone', named };
      }
      default:
        return never(change);
    }
  });

export interface Folder {
  readonly id: number;
  readonly path: string;
}

/** v4's setting that names the folder of uploads over the content API. */
const FOLDER_SETTING = 'plugin_upload_api-folder';

const settingStatement = (key: string, dialect: Dialect): Statement =>
  dialect.compile(
    sql`select value from strapi_core_store_settings where ${sql.ref('key')} = ${dialect.bind('string', key)} order by id limit 1`,
  );

/** What v4's media library is set to. */
export const readImageSettings = async (dialect: Dialect, read: Db['read']): Promise<ImageSettings> => {
  const [[value] = []] = await read(() => readRows(settingStatement('plugin_upload_settings', dialect)));
  const tree = jsonIn(value);
  const given: Readonly<Record<string, unknown>> = tree !== null && typeof tree === 'object' ? { ...tree } : {};
  return {
    sizeOptimization: given['sizeOptimization'] !== false,
    responsiveDimensions: given['responsiveDimensions'] !== false,
    autoOrientation: given['autoOrientation'] === true,
  };
};

/** The folder `API Uploads`, if it was made already. */
export const findFolder = async (tx: Tx, dialect: Dialect): Promise<Folder | null> => {
  const [[value] = []] = await tx.run(settingStatement(FOLDER_SETTING, dialect));
  const id = idIn(value);
  if (id === null) return null;
  const [row] = await tx.run(
    dialect.compile(sql`select id, path from upload_folders where id = ${dialect.bind('id', id)}`),
  );
  return row ? { id: row[0] as number, path: String(row[1]) } : null;
};

const idIn = (value: unknown): number | null => {
  const tree = jsonIn(value);
  const id = tree !== null && typeof tree === 'object' && 'id' in tree ? tree.id : null;
  return typeof id === 'number' && Number.isSafeInteger(id) ? id : null;
};

/** The next free number and name of a folder at the top. */
export const nextFolder = async (
  tx: Tx,
  dialect: Dialect,
): Promise<{ readonly pathId: number; readonly name: string }> => {
  const [[last] = []] = await tx.run(dialect.compile(sql`select max(path_id) from upload_folders`));
  const rows = await tx.run(dialect.compile(sql`select name from upload_folders where name like 'API Uploads%'`));
  const taken = new Set(rows.map(([name]) => name));
  const names = ['API Uploads', ...Array.from({ length: taken.size }, (_, i) => `API Uploads (${i + 1})`)];
  const name = names.find((it) => !taken.has(it));
  if (name === undefined) throw bug('rows.no-folder-name', { taken: taken.size });
  return { pathId: Number(last ?? 0) + 1, name };
};

/** Names the folder in v4's setting. */
export const setFolder = async (id: number, tx: Tx, dialect: Dialect): Promise<void> => {
  const key = dialect.bind('string', FOLDER_SETTING);
  await tx.run(dialect.compile(sql`delete from strapi_core_store_settings where ${sql.ref('key')} = ${key}`));
  await tx.run(
    dialect.compile(
      sql`insert into strapi_core_store_settings (${sql.ref('key')}, value, type) values (${key}, ${JSON.stringify({ id })}, 'object')`,
    ),
  );
};
