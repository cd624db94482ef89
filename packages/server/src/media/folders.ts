/** Folders of the media library, in v4's tables (UP17). */
import { sql } from 'kysely';
import { bug, catchRefusal, hintAt, type Issue, issue, type Result, refuse, refused, unwrap } from '../errors.js';
import { limits } from '../limits.js';
import { FILE_UID, FOLDER_UID, type LinkPath, type Model, typeOf } from '../model/model.js';
import type { ResolveContext } from '../query/resolve.js';
import { type Db, type Dialect, type Rows, readRows, type Statement, type Tx } from '../sql/dialect.js';
import type { Writer } from '../write/apply.js';
import type { Session } from '../write/session.js';

export interface MediaFolder {
  readonly id: number;
  readonly name: string;
  /** The numbers of the folders down to this one: `/1/4`. */
  readonly path: string;
  readonly pathId: number;
  /** Null at the top. */
  readonly parent: number | null;
  /** How many files are in it, not in folders below. */
  readonly files: number;
}

export interface FolderActions {
  /** @param creator the administrator whose files are counted; null for all files. */
  find(creator: number | null): Promise<readonly MediaFolder[]>;
  /** @param body `{ name, parent? }`. */
  create(body: unknown): Promise<Result<MediaFolder>>;
  /** Renames and moves it, with all that it holds. @param body of `create`, where both are optional. */
  update(id: number | null, body: unknown): Promise<Result<MediaFolder>>;
  /** Refuses one that is not empty. */
  remove(id: number | null): Promise<Result<MediaFolder>>;
}

export interface FolderDeps {
  readonly db: Db;
  readonly model: Model;
  readonly writer: Writer;
  /** With the server's own rights. */
  readonly own: ResolveContext;
}

export const newFolderActions = ({ db, model, writer, own }: FolderDeps): FolderActions => {
  const { dialect } = db;
  const type = typeOf(model, FOLDER_UID);
  const statement = foldersStatement(model, dialect);

  /** A change of the tree: one after the other, because each depends on all folders. */
  const change = <T>(work: (folders: readonly MediaFolder[], session: Session) => Promise<T>): Promise<Result<T>> =>
    catchRefusal(() =>
      writer.transaction(async (session) => {
        await lockFolders(session.tx, dialect);
        return work(foldersOf(await session.tx.run(statement)), session);
      }),
    );
  const again = async (id: number, { tx }: Session): Promise<MediaFolder> => {
    const found = foldersOf(await tx.run(statement)).find((it) => it.id === id);
    if (!found) throw bug('folders.not-readable', { id });
    return found;
  };

  return {
    find: async (creator) =>
      foldersOf(
        await db.read(() => readRows(creator === null ? statement : foldersStatement(model, dialect, creator))),
      ),

    create: (body) =>
      change(async (folders, session) => {
        const { name, parent = null } = unwrap(readFolder(body));
        if (name === undefined) return refuse(issue('body.required', ['name']));
        checkName(name, parent, null, folders);
        const above = parent === null ? '' : folderNamed(parent, folders).path;
        const pathId = Math.max(0, ...folders.map((it) => it.pathId)) + 1;
        const data = { name, pathId, path: `${above}/${pathId}`, parent };
        const { id } = await writer.apply({ action: 'create', type, data }, own, session);
        return again(id, session);
      }),

    update: (given, body) =>
      change(async (folders, session) => {
        const folder = folders.find((it) => it.id === given) ?? refuse(issue('media.folder-absent', []));
        const { id } = folder;
        const { name = folder.name, parent = folder.parent } = unwrap(readFolder(body));
        checkName(name, parent, id, folders);
        const above = parent === null ? '' : folderNamed(parent, folders).path;
        if (`${above}/`.startsWith(`${folder.path}/`)) return refuse(issue('media.folder-inside', ['parent']));
        const path = `${above}/${folder.pathId}`;
        await writer.apply({ action: 'update', type, id, data: { name, parent, path } }, own, session);
        if (path !== folder.path) {
          for (const it of folders.filter((other) => other.path.startsWith(`${folder.path}/`))) {
            const data = { path: path + it.path.slice(folder.path.length) };
            await writer.apply({ action: 'update', type, id: it.id, data }, own, session);
          }
          for (const moved of filePaths(folder.path, path, model, dialect)) await session.tx.run(moved);
        }
        return again(id, session);
      }),

    remove: (given) =>
      change(async (folders, session) => {
        const folder = folders.find((it) => it.id === given) ?? refuse(issue('media.folder-absent', []));
        const inside = folders.filter((it) => it.parent === folder.id).length;
        if (folder.files > 0 || inside > 0)
          return refuse(issue('media.folder-full', [], { files: folder.files, folders: inside }));
        await writer.apply({ action: 'delete', type, id: folder.id }, own, session);
        return folder;
      }),
  };
};

/** Where a file is put: the values of its row. Waits for changes of folders. @param folder null for the top. */
export const placeIn = async (
  folder: number | null,
  model: Model,
  tx: Tx,
  dialect: Dialect,
): Promise<{ readonly folder: number | null; readonly folderPath: string }> => {
  if (folder === null) return { folder, folderPath: '/' };
  await lockFolders(tx, dialect);
  const { path } = folderNamed(folder, foldersOf(await tx.run(foldersStatement(model, dialect))), 'folder');
  return { folder, folderPath: path };
};

const lockFolders = async (tx: Tx, dialect: Dialect): Promise<void> => {
  const lock = dialect.lock(['dovetail upload folder']);
  if (lock) await tx.run(lock);
};

const linkOf = (name: 'parent' | 'files', model: Model): LinkPath => {
  const attribute = typeOf(model, FOLDER_UID).attributes.get(name);
  if (attribute?.kind !== 'link') throw bug('folders.no-link', { name });
  return attribute.path;
};

const foldersStatement = (model: Model, dialect: Dialect, creator: number | null = null): Statement => {
  const parent = linkOf('parent', model);
  const files = linkOf('files', model);
  const theirs = (id: number) =>
    sql` and ${sql.ref(`l.${files.to}`)} in (select id from ${sql.table(typeOf(model, FILE_UID).table)} where created_by_id = ${dialect.bind('id', id)})`;
  return dialect.compile(sql`
    select f.id, f.name, f.path, f.path_id,
      (select min(${sql.ref(`p.${parent.to}`)}) from ${sql.table(parent.table)} p where ${sql.ref(`p.${parent.from}`)} = f.id),
      (select count(*) from ${sql.table(files.table)} l where ${sql.ref(`l.${files.from}`)} = f.id${creator === null ? sql`` : theirs(creator)})
    from ${sql.table(typeOf(model, FOLDER_UID).table)} f order by f.id`);
};

const foldersOf = (rows: Rows): readonly MediaFolder[] =>
  rows.map(([id, name, path, pathId, parent, files]) => ({
    id: Number(id),
    name: String(name ?? ''),
    path: String(path ?? ''),
    pathId: Number(pathId ?? 0),
    parent: parent === null ? null : Number(parent),
    files: Number(files),
  }));

/** The paths that v4 keeps with each file. They are made of digits and slashes. */
const filePaths = (from: string, to: string, model: Model, dialect: Dialect): readonly Statement[] => {
  const table = sql.table(typeOf(model, FILE_UID).table);
  const path = sql.ref('folder_path');
  const old = dialect.bind('string', from);
  const below = dialect.bind('string', `${from}/%`);
  const rest = sql`substr(${path}, ${sql.lit(from.length + 1)})`;
  return [
    dialect.compile(
      sql`update ${table} set ${path} = ${dialect.bind('string', to)} || ${rest} where ${path} = ${old} or ${path} like ${below}`,
    ),
  ];
};

const folderNamed = (id: number, folders: readonly MediaFolder[], at = 'parent'): MediaFolder =>
  folders.find((it) => it.id === id) ?? refuse(issue('media.no-such-folder', [at], { id }));

/** No two folders in one place have the same name, as in v4. */
const checkName = (name: string, parent: number | null, id: number | null, folders: readonly MediaFolder[]): void => {
  if (folders.some((it) => it.id !== id && it.parent === parent && it.name === name))
    refuse(issue('media.folder-taken', ['name'], { name }));
};

interface FolderForm {
  readonly name?: string;
  readonly parent?: number | null;
}

const keys: readonly string[] = ['name', 'parent'];

const readFolder = (body: unknown): Result<FolderForm> => {
  if (body === null || typeof body !== 'object' || Array.isArray(body))
    return refused(issue('body.type', [], { expected: 'object', value: body ?? null }));
  const given = new Map(Object.entries(body));
  const issues: Issue[] = [];
  for (const name of given.keys()) {
    if (keys.includes(name) || issues.length > limits.issuesMax) continue;
    issues.push(issue('body.unknown-key', [name], { type: 'folder', name, ...hintAt(name, keys) }));
  }
  const name = given.get('name');
  const parent = given.get('parent');
  if (name !== undefined && !isFolderName(name)) issues.push(issue('media.folder-name', ['name']));
  if (parent !== undefined && parent !== null && !Number.isSafeInteger(parent))
    issues.push(issue('body.type', ['parent'], { expected: 'integer', value: parent }));
  if (issues.length > 0) return { ok: false, issues };
  return {
    ok: true,
    value: {
      ...(name === undefined ? {} : { name: name as string }),
      ...(parent === undefined ? {} : { parent: parent as number | null }),
    },
  };
};

/** As v4: not empty, without slashes, and without spaces at its ends. */
const isFolderName = (name: unknown): boolean =>
  typeof name === 'string' &&
  name.length <= limits.stringCharactersMax &&
  name.isWellFormed() &&
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
  /^(?! )[^/\\\u0000-\u001f]+(?<! )$/.test(name);
