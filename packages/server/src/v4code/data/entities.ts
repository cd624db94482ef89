/** Plain entities for project code, on the read and write lines: flat objects with every attribute, in the caller's transaction if it has one. */
import crypto from 'node:crypto';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import type { KnownCaller } from '../../access/caller.js';
import { issue, Refusal, refuse, unwrap } from '../../errors.js';
import { limits } from '../../limits.js';
import type { Media } from '../../media/media.js';
import { type FormField, IncomingForm, type Received } from '../../media/receive.js';
import type { EntryType, Model, Uid } from '../../model/model.js';
import { objectQuery, type QueryObject } from '../../query/objects.js';
import type { ResolveContext } from '../../query/resolve.js';
import type { Reader } from '../../read/find.js';
import type { LocaleStore } from '../../read/locales.js';
import { type Db, readInside } from '../../sql/dialect.js';
import type { Writer } from '../../write/apply.js';
import { AddedFiles, checkData, parseChange } from '../../write/change.js';
import { inheritedNames } from '../../write/locales.js';
import { hashPasswords } from '../../write/passwords.js';
import type { Data, WriteRequest } from '../../write/request.js';
import { inPart, type Session } from '../../write/session.js';
import { isMembers, type Members } from '../loading/parts.js';
import { storeLocalDates } from '../strapi-utils/dates.js';
import { thrownBy } from '../strapi-utils/errors.js';
import { absentModel } from '../strapi-utils/missing.js';
import { takeMatch } from './core-requests.js';
import { receivedFiles } from './files.js';
import {
  checkCreators,
  checkSiblings,
  givenIn,
  isIdOfClient,
  noneGiven,
  ofRows,
  refuseOtherSiblings,
} from './given.js';
import type { Operation } from './lifecycles.js';
import { alone, inScope, inTurn, type Title } from './scope.js';
import { missedUnlessSent } from './sent.js';
import { refuseUnstorable } from './storable.js';
import { asBody } from './values.js';
import { codeGate, type ModelViews } from './views.js';

export type Entity = Record<string, unknown> & { readonly id: number };

export interface Rows {
  readonly start: number;
  /** Null for all. */
  readonly limit: number | null;
}

export interface ReadOptions {
  /** What entries populate is published, whatever they are themselves; by default code sees drafts unless it says otherwise. */
  readonly populatesPublished?: boolean;
}

export interface WriteOptions {
  /** `bare`: values are stored as they are, without the rules of their attributes and without hashing. */
  readonly rules: 'checked' | 'bare';
  /** The hooks of the write; null for writes that run none. */
  readonly operation: Operation | null;
  /** Files that are stored with the entry, by the place of their media attribute: `cover`, `cards[0].picture`. */
  readonly files?: Members | undefined;
  /** A create of a single type that has an entry changes that one; otherwise it makes another, which is not served. */
  readonly isOnly?: boolean;
}

export interface Entities {
  readonly model: Model;
  typeOf(uid: Uid): EntryType;
  find(uid: Uid, query: QueryObject, rows: Rows & ReadOptions): Promise<Entity[]>;
  findOne(uid: Uid, id: number, query: QueryObject, options?: ReadOptions): Promise<Entity | null>;
  count(uid: Uid, query: QueryObject): Promise<number>;
  /** @returns the id. */
  create(uid: Uid, data: object, options: WriteOptions): Promise<number>;
  /** @returns the id, which may be that of another entry, because of hooks. */
  update(uid: Uid, id: number, data: object, options: WriteOptions): Promise<number>;
  remove(uid: Uid, id: number, options: WriteOptions): Promise<void>;
  /** Joins the transaction of the running code, or begins one. @param title names the work if it does not end. */
  transaction<T>(work: () => Promise<T>, title?: Title): Promise<T>;
  /** Stores files, and adds them to the entry that the fields name. @returns them as `POST /upload` shows them. */
  upload(files: readonly Received[], fields: readonly FormField[]): Promise<readonly Entity[]>;
  /** Removes a file, with what is stored of it. */
  removeFile(id: number): Promise<void>;
}

export interface EntitiesDeps {
  readonly db: Db;
  readonly views: ModelViews;
  /** Lazy, because the site runs the hooks that use them. */
  readonly reader: () => Reader;
  readonly writer: () => Writer;
  readonly locales: () => LocaleStore;
  readonly media: () => Media;
  /** The error of a model of a plugin that does not run here; null for others. */
  readonly absentOf: (uid: Uid) => Error | null;
}

/** Whose rights code has. */
const codeCaller: KnownCaller = { version: 'full-access code', who: { kind: 'public' }, may: () => true };
const askedByCode = { caller: codeCaller, body: undefined, search: '', match: null, mayPlace: true } as const;

export const newEntities = ({ db, views, reader, writer, locales, media, absentOf }: EntitiesDeps): Entities => {
  const typeIn = (model: Model, uid: Uid): EntryType => {
    const type = model.types.get(uid);
    if (type) return type;
    const absent = absentModel(uid) ?? absentOf(uid);
    throw absent ? missedUnlessSent(absent, [uid]) : new Error(`Model ${uid} not found`);
  };

  const contextFor = async (type: EntryType, model: Model, session: Session | null): Promise<ResolveContext> => ({
    model,
    gate: codeGate,
    rest: { defaultLimit: limits.rowsMax, maxLimit: null, withCount: false },
    strict: false,
    defaultLocale: type.localized ? await locales().defaultCode(session?.tx) : null,
  });

  const read = async (
    action: 'find' | 'findOne',
    uid: Uid,
    id: number | null,
    query: QueryObject,
    session: Session | null,
    { populatesPublished = false }: ReadOptions = {},
  ): Promise<unknown> => {
    const type = typeIn(views.open, uid);
    const context = await contextFor(type, views.open, session);
    const asked = objectQuery(populatesPublished ? query : { publicationState: 'preview', ...query });
    const shown = populatesPublished ? ({ drafts: 'found' } as const) : {};
    const request = { action, type, id, query: asked, form: 'plain', ...shown } as const;
    if (session) {
      const answer = unwrap(await reader().readInside(request, context, session.tx));
      return answer && JSON.parse(answer.body.toString());
    }
    const answer = await reader().read(request, context);
    if (!answer.ok && answer.issues[0]?.code === 'http.not-found') return null;
    return JSON.parse(unwrap(answer).body.toString());
  };

  const write = async (
    uid: Uid,
    action: WriteRequest['action'],
    id: number | null,
    data: object,
    options: WriteOptions,
  ) => {
    const type = typeIn(options.rules === 'bare' ? views.bare : views.open, uid);
    const model = options.rules === 'bare' ? views.bare : views.open;
    const { rules, operation } = options;
    const body = action === 'delete' ? {} : asBody(storableIn(data, type, model), type, model, rules);
    const given = action === 'update' && operation === null ? ofRows(body, type) : asUnpublished(body, type, action);
    const mayChooseId = rules === 'bare' || !isIdOfClient(given['id']);
    const { times, creators, newId, siblings } =
      action === 'delete' ? noneGiven : givenIn(given, type, { action, mayChooseId, isOfMany: operation === null });
    const hashes =
      action === 'delete' || options.rules === 'bare' ? undefined : unwrap(await hashPasswords(given, type, model));
    const apply = async (written: Data, session: Session): Promise<number> => {
      const context = await contextFor(type, model, session);
      if (creators) await checkCreators(creators, (of, ids) => countInside(of, { filters: { id: ids } }, session));
      const source = siblings && (await sourceOf(type, id, siblings, session));
      if (rules === 'checked' && action !== 'delete' && (await isCheckedInFull(type, id, body, session)))
        checkInFull(given, type, { model, action, isSibling: source !== null });
      const match = takeMatch(type, id, session);
      const request = {
        ...{ action, type, id },
        data: source ? { ...written, locale: written['locale'] ?? context.defaultLocale } : written,
        ...(hashes ? { hashes } : {}),
        ...(times ? { times } : {}),
        ...(creators ? { creators } : {}),
        ...(newId === null ? {} : { newId }),
        ...(match ? { match } : {}),
        ...(source ? { source } : {}),
        ...(action === 'create' && type.kind === 'single' && !type.localized && !options.isOnly
          ? { isAnother: true }
          : {}),
        ...(rules === 'bare' ? { isUntold: true } : {}),
        ...(rules === 'bare' && namesParts(written, type) ? { mayAdopt: true } : {}),
      } as WriteRequest;
      return inScope(session, async () => (await writer().apply(request, context, session)).id, {
        operation,
        isSilent: operation === null,
      });
    };
    const files = await receivedFiles(options.files, 'files.');
    if (files.length === 0) return joined((session) => apply(given, session));
    return media().withCopies(files, (copies) =>
      media().attach(copies, { type, data: given, adminId: null, model }, apply, {
        transaction: joined,
        read: reading,
      }),
    );
  };

  /** Whether a draft is written by the rules of published entries: a new one that does not say so, and one that was published, as in v4. */
  const isCheckedInFull = async (
    type: EntryType,
    id: number | null,
    { publishedAt }: Members,
    session: Session,
  ): Promise<boolean> => {
    if (!type.draftAndPublish) return false;
    if (id === null) return publishedAt === undefined;
    if (publishedAt !== null) return false;
    const stored = (await read('findOne', type.uid, id, { fields: ['publishedAt'] }, session)) as Entity | null;
    return stored !== null && stored['publishedAt'] !== null;
  };

  const countInside = async (uid: Uid, query: QueryObject, session: Session | null): Promise<number> => {
    const type = typeIn(views.open, uid);
    const context = await contextFor(type, views.open, session);
    const asked = objectQuery({ publicationState: 'preview', ...query });
    return unwrap(await reader().count({ type, query: asked }, context, session?.tx)).total;
  };

  /** The entry of which a new one is to be another locale; null for an update, which cannot change them. @param id null for a new one. */
  const sourceOf = async (
    type: EntryType,
    id: number | null,
    siblings: readonly number[],
    session: Session,
  ): Promise<{ readonly id: number } | null> => {
    const first = id ?? siblings[0]!;
    const populate = { localizations: { fields: ['id'] } };
    const found = (await read('findOne', type.uid, first, { populate }, session)) as Entity | null;
    const group = found && [first, ...(found['localizations'] as readonly Entity[]).map((it) => it.id)];
    if (id === null) {
      checkSiblings(type, siblings, group);
      return { id: first };
    }
    if (group) refuseOtherSiblings(type, id, siblings, group);
    return null;
  };

  /** Runs work in the transaction of the running code, or in one of its own. */
  const joined = <T>(work: (session: Session) => Promise<T>): Promise<T> =>
    inTurn((session) => (session ? inPart(session, () => work(session)) : ownTransaction(work)));

  const reading: Db['read'] = (program) =>
    inTurn((session) => (session ? readInside(program(), session.tx) : db.read(program)));

  /** Runs work in a transaction, which hooks of the writes in it join, too. */
  const scoped = <T>(work: (session: Session) => Promise<T>): Promise<T> =>
    joined((session) => inScope(session, () => work(session)));

  const ownTransaction = <T>(work: (session: Session) => Promise<T>): Promise<T> =>
    alone((begun) =>
      writer().transaction((session) => {
        begun();
        return work(session);
      }),
    );

  return {
    model: views.open,
    typeOf: (uid) => typeIn(views.open, uid),
    find: (uid, query, { start, limit, ...options }) =>
      thrown(() =>
        inTurn(async (session) => {
          if (limit === 0) return [];
          const pagination = { start, limit: limit ?? -1, withCount: false };
          return (await read('find', uid, null, { ...query, pagination }, session, options)) as Entity[];
        }),
      ),
    findOne: (uid, id, query, options) =>
      thrown(() =>
        inTurn(async (session) => (await read('findOne', uid, id, query, session, options)) as Entity | null),
      ),
    count: (uid, query) => thrown(() => inTurn((session) => countInside(uid, query, session))),
    create: (uid, data, options) => thrown(() => write(uid, 'create', null, data, options)),
    update: (uid, id, data, options) => thrown(() => write(uid, 'update', id, data, options)),
    remove: (uid, id, options) => thrown(async () => void (await write(uid, 'delete', id, {}, options))),
    transaction: (work, title = () => 'a transaction of code') =>
      thrown(() => joined((session) => inScope(session, work, { title }))),
    upload: (files, fields) =>
      thrown(async () => {
        const form = new IncomingForm('', Readable.from([]), null, null);
        form.received = { files, fields, dir: '' };
        const asked = {
          ...askedByCode,
          form,
          id: null,
          codeModel: views.open,
          part: { transaction: scoped, read: reading },
        };
        const answer = unwrap(await media().files.upload(asked));
        return JSON.parse(answer.body.toString()) as readonly Entity[];
      }),
    removeFile: (id) =>
      thrown(async () => {
        unwrap(
          await media().files.destroy({ ...askedByCode, form: null, id, part: { transaction: scoped, read: reading } }),
        );
      }),
  };
};

/** Unlike the content API, code publishes nothing by itself. */
const asUnpublished = (data: Members, type: EntryType, action: WriteRequest['action']): Members =>
  action === 'create' && type.draftAndPublish && data['publishedAt'] === undefined
    ? { ...data, publishedAt: null }
    : data;

interface InFull {
  readonly model: Model;
  readonly action: 'create' | 'update';
  /** Whether a new entry has what all locales share from others. */
  readonly isSibling: boolean;
}

/** Refuses what a published entry could not have. */
const checkInFull = (data: Members, type: EntryType, { model, action, isSibling }: InFull): void => {
  const { issues } = parseChange(data, type, {
    ...{ model, action, gate: codeGate, draft: false, strict: false, format: 'v4', hashes: noNames, isOfCode: true },
    inherited: isSibling ? inheritedNames(type, data, { isOfCode: true }) : noNames,
  });
  if (issues.length > 0) throw new Refusal(...issues);
};

const noNames: ReadonlySet<string> = new Set();

const namesParts = (data: Data, { attributes }: EntryType): boolean =>
  Object.entries(data).some(([name, value]) => value != null && attributes.get(name)?.kind === 'part');

/** Files that are added to a list, which no text holds. */
const ADDED = crypto.randomUUID();

/**
 * Dates and the like as JSON writes them, and a BigInt as its digits, which `biginteger` attributes take. Refuses what is nested so deeply
 * that JSON cannot be written.
 */
export const plain = (data: object): unknown => {
  try {
    return JSON.parse(
      JSON.stringify(data, (_name, value: unknown) => {
        if (typeof value === 'bigint') return String(value);
        return value instanceof AddedFiles ? { [ADDED]: value.connect } : value;
      }),
      (_name, value: unknown) =>
        isMembers(value) && ADDED in value ? new AddedFiles(value[ADDED] as readonly number[]) : value,
    );
  } catch (fault) {
    // the stack has no room for it
    if (fault instanceof RangeError) return refuse(issue('body.too-deep', ['data'], { max: limits.jsonDepthMax }));
    throw fault;
  }
};

/** Whether data is as the JSON of a client would be. What is nested too deeply is: the server itself refuses it. */
export const isPlainData = (data: Members): boolean => {
  try {
    return isDeepStrictEqual(plain(data), data);
  } catch (fault) {
    if (fault instanceof RangeError || fault instanceof Refusal) return true;
    throw fault;
  }
};

/** A body with what code has put into it as a client would have sent it: dates as instants, days or times of the server. */
export const asSent = (body: Members, type: EntryType, model: Model): Members => {
  if (isPlainData(body)) return body;
  const sent = plain(body) as Members;
  storeLocalDates(sent, body, type, model);
  return sent;
};

/** Data of an entry as it is plain; refuses what would be lost. */
export const storableIn = (data: object, type: EntryType, model: Model): Members => {
  const values = unwrap(checkData(plain(data)));
  refuseUnstorable(data as Members, type, model);
  storeLocalDates(values, data as Members, type, model);
  return values;
};

/** Refusals as the errors that project code expects. */
export const thrown = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (fault) {
    throw thrownBy(fault);
  }
};
