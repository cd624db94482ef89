/** Stores files together with their rows: both, or neither. */
import { AsyncLocalStorage } from 'node:async_hooks';
import fs from 'node:fs/promises';
import mimeTypes from 'mime-types';
import { serverGate } from '../access/access.js';
import { issue, Refusal } from '../errors.js';
import { FILE_UID, type Model, typeOf, type Uid } from '../model/model.js';
import type { ResolveContext } from '../query/resolve.js';
import type { Reader } from '../read/find.js';
import type { Db } from '../sql/dialect.js';
import type { Writer } from '../write/apply.js';
import type { Written } from '../write/request.js';
import type { Session } from '../write/session.js';
import { placeIn } from './folders.js';
import { type Journal, newJournal } from './journal.js';
import { type KeptName, type NewFile, type PreparedFile, prepareFile } from './prepare.js';
import {
  type Form,
  type FormBounds,
  type IncomingForm,
  type OnDisk,
  type Received,
  stagingFault,
  withCopies,
  withForm,
} from './receive.js';
import {
  type FileRow,
  type Folder,
  fateOf,
  findFolder,
  lockCreation,
  nextFolder,
  readImageSettings,
  setFolder,
} from './rows.js';
import type { StagedObject, Store } from './store.js';

export interface MediaOptions {
  readonly store: Store;
  /** A folder on the local disk for files on their way, shared by all processes of a project. */
  readonly workDir: string;
  readonly bounds: FormBounds;
  /** Called after the row of a file was deleted or replaced whose content is kept by another provider. */
  readonly onKept?: (file: KeptFile) => void;
}

/** A file of another provider, such as `cloudinary`: only that provider can remove it. */
export type KeptFile = Pick<FileRow, 'id' | 'provider' | 'keys'>;

export interface MediaDeps extends MediaOptions {
  readonly db: Db;
  readonly model: Model;
  readonly reader: Reader;
  readonly writer: Writer;
  readonly settings: Omit<ResolveContext, 'model' | 'gate' | 'defaultLocale'>;
  /** Whether the project has a handler for updates of a type, which an upload with a reference would bypass. */
  readonly hasUpdateHandler: (uid: Uid) => boolean;
  /** Called with background errors, and with failures of the store where the form of no request is known. */
  readonly onFault: (fault: unknown) => void;
}

/** The transaction that a write may be a part of. */
export interface Part {
  /** Runs work in it, or in one of its own. */
  readonly transaction: <T>(work: (session: Session) => Promise<T>) => Promise<T>;
  /** Reads what it sees: another connection might not be free as long as it is open. */
  readonly read: Db['read'];
}

export interface Storing {
  readonly deps: MediaDeps;
  /** With the server's own rights. */
  readonly own: ResolveContext;
  /** Reads a received file: its name, its type, and its formats if it is an image. Throws `Refusal`. */
  prepare(file: NewFile, kept: KeptName | null, read?: Db['read']): Promise<PreparedFile>;
  /** Puts objects; a failure is a 503. */
  put(objects: Iterable<readonly [key: string, object: StagedObject]>): Promise<void>;
  /** Copies a stored object to a new local file; null if there is none. A failure is a 503. */
  save(key: string, path: string): Promise<StagedObject | null>;
  /** A new path for a local file. */
  newPath(): Promise<string>;
  /** Runs work that changes the store and ends with the commit of the rows. */
  during: Journal['during'];
  /** Receives a form, runs the work with it and removes its files. Throws `Refusal`. */
  withForm<T>(incoming: IncomingForm, work: (form: Form) => Promise<T>): Promise<T>;
  /** Runs the work with copies of local files, which it may store, and removes them. */
  withCopies<T>(files: readonly Received[], work: (copies: readonly Received[]) => Promise<T>): Promise<T>;
  /**
   * Stores the files, then runs the work, which inserts their rows with `insert` in a transaction and ends with its
   * commit. If anything fails, nothing of the files remains. Throws `Refusal`.
   */
  store<T>(files: readonly NewFile[], work: (stored: readonly PreparedFile[]) => Promise<T>, part?: Part): Promise<T>;
  /**
   * Inserts the rows of stored files, then runs the work with them, in their order. If it is refused, the rows are undone: the issues
   * name these files, not their ids.
   * @param adminId the administrator who uploads them, if one does.
   */
  insert<T>(
    stored: readonly PreparedFile[],
    session: Session,
    adminId: number | null,
    work: (inserted: readonly Written[]) => Promise<T>,
  ): Promise<T>;
  /** Removes what uploads of killed processes have left; called once, at the start. */
  recover(): Promise<void>;
}

/** `onFault` of the form that is being worked with, so that the log has the id of its request (RQ22), also below code of the project. */
const onFaultOfForm = new AsyncLocalStorage<(fault: unknown) => void>();

export const newStoring = (deps: MediaDeps): Storing => {
  const { db, model, store, writer, settings, onFault, bounds } = deps;
  const own: ResolveContext = { ...settings, model, gate: serverGate, defaultLocale: null };
  const tell = (fault: unknown): void => (onFaultOfForm.getStore() ?? onFault)(fault);
  const onDisk: OnDisk = async (work) => {
    try {
      return await work();
    } catch (fault) {
      const known = stagingFault(fault);
      if (known !== fault) tell(fault);
      throw known;
    }
  };
  const journal = newJournal({
    root: deps.workDir,
    store,
    fateOf: (row) => fateOf(row, db),
    onDisk,
    onFault,
  });
  const withStore = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (fault) {
      tell(fault);
      const known = stagingFault(fault);
      throw known instanceof Refusal ? known : new Refusal(issue('media.store-failed', []));
    }
  };
  const usual: Db['read'] = (program) => db.read(program);
  const prepare: Storing['prepare'] = async (file, kept, read = usual) => {
    const settings = await readImageSettings(db.dialect, read);
    return onDisk(() => prepareFile(file, kept, settings, store));
  };
  const put: Storing['put'] = (objects) =>
    withStore(async () => {
      for (const [key, object] of objects) await store.put(key, object);
    });
  const folderOf = async (session: Session): Promise<Folder> => {
    const { tx } = session;
    const { dialect } = db;
    const found = await findFolder(tx, dialect);
    if (found) return found;
    // one process creates it, the others wait and then find it
    const lock = dialect.lock(['dovetail upload folder']);
    if (lock) await tx.run(lock);
    const again = await findFolder(tx, dialect);
    if (again) return again;
    const { pathId, name } = await nextFolder(tx, dialect);
    const path = `/${pathId}`;
    const type = typeOf(model, 'plugin::upload.folder');
    const { id } = await writer.apply({ action: 'create', type, data: { name, pathId, path } }, own, session);
    await setFolder(id, tx, dialect);
    return { id, path };
  };
  /** @param folder undefined for that of API uploads. */
  const placeOf = async (folder: number | null | undefined, session: Session) => {
    if (folder !== undefined) return placeIn(folder, model, session.tx, db.dialect);
    const { id, path } = await folderOf(session);
    return { folder: id, folderPath: path };
  };
  return {
    deps,
    own,
    prepare,
    put,
    save: (key, path) =>
      withStore(async () => {
        if (!(await store.get(key, path))) return null;
        const mime = mimeTypes.lookup(key) || 'application/octet-stream';
        return { path, bytes: (await fs.stat(path)).size, mime };
      }),
    newPath: journal.newPath,
    during: journal.during,
    recover: journal.recover,
    withForm: async (incoming, work) => {
      const receive = async () => withForm(incoming, await journal.newPath(), bounds, onDisk, work);
      return incoming.onFault ? onFaultOfForm.run(incoming.onFault, receive) : receive();
    },
    withCopies: async (files, work) => withCopies(files, await journal.newPath(), onDisk, work),
    store: async (files, work, part) => {
      const prepared: PreparedFile[] = [];
      for (const file of files) prepared.push(await prepare(file, null, part?.read));
      const [first] = prepared;
      if (!first) return work([]);
      const objects = prepared.flatMap((it) => [...it.objects]);
      return journal.during(
        async (record) => {
          const row = { kind: 'created', hash: first.hash } as const;
          await record({ row, written: objects.map(([key]) => key), obsolete: [], saved: [] });
          await put(objects);
          return work(prepared);
        },
        { isPart: part !== undefined },
      );
    },
    insert: async (stored, session, adminId, work) => {
      const [first] = stored;
      if (!first) return work([]);
      await lockCreation(first.hash, session.tx, db.dialect);
      const places = new Map<number | null | undefined, Awaited<ReturnType<typeof placeOf>>>();
      for (const { folder } of stored) if (!places.has(folder)) places.set(folder, await placeOf(folder, session));
      const inserted: Written[] = [];
      for (const { values, folder } of stored) {
        const data = { ...values, ...places.get(folder) };
        const request = { action: 'create', type: typeOf(model, FILE_UID), data, adminId } as const;
        inserted.push(await writer.apply(request, own, session));
      }
      const names = new Map(inserted.map(({ id }, i) => [id, String(stored[i]!.values['name'])]));
      return work(inserted).catch((fault) => {
        throw fault instanceof Refusal ? withNames(fault, names) : fault;
      });
    },
  };
};

/** @param names of files by their ids. */
const withNames = (refusal: Refusal, names: ReadonlyMap<number | string, string>): Refusal => {
  if (!refusal.issues.some((it) => it.code === 'media.type')) return refusal;
  const issues = refusal.issues.map((it) =>
    it.code === 'media.type'
      ? issue(it.code, it.path, { ...it.facts, files: it.facts.files.map((file) => names.get(file) ?? file) })
      : it,
  );
  return new Refusal(...issues);
};
