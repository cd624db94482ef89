/**
 * Writes one entry inside a transaction: locks, snapshot, checks against the database, planned operations. Preparing and
 * running are separate steps, so that the caller can read an entry before it is deleted, or pipeline its reads after the
 * operations (`answer.ts`). Issues are thrown as `Refusal`.
 */
import { sql } from 'kysely';
import { bug, type Issue, issue, never, Refusal, refuse, refuseAll, unwrap } from '../errors.js';
import type { EntryType, LinkAttribute, Model } from '../model/model.js';
import type { LeftOut } from '../query/lenient.js';
import type { ResolveContext } from '../query/resolve.js';
import { namesVersion, type Precondition, tellsVersion, type UndecidedTags } from '../read/etag.js';
import { type Cell, ConstraintFault, type Db, type Dialect } from '../sql/dialect.js';
import { pipeline } from '../sql/pipeline.js';
import { type Change, namesOf, type ParsedBody, parseChange, readPublishedAt } from './change.js';
import { acceptBody, type CheckContext, checkChanges } from './checks.js';
import { missingInStored } from './complete.js';
import { entryWithId, nextVersion, readEntries, type StoredEntry, type Which } from './entry.js';
import { renumberStatement } from './lists.js';
import {
  checkInherited,
  checkShared,
  findSource,
  follow,
  ignoredKeys,
  inheritedNames,
  join,
  localeOfNew,
  localeOfSibling,
  readGroup,
  readSiblings,
  sharedOf,
  siblingsLock,
} from './locales.js';
import { readParts } from './parts.js';
import { type PasswordHashes, withHashes } from './passwords.js';
import { lockNames, type Operation, planWrite, removalOf, type WritePlan } from './plan.js';
import { runOperations } from './run.js';
import { newSession, type Session, type WriteAction, type WriteEvent } from './session.js';
import { changesOf, readSnapshot, type Snapshot } from './snapshot.js';

/** Attributes of an entry by name, in the form of request bodies (BO5). */
export type Data = Readonly<Record<string, unknown>>;

export type WriteRequest = {
  readonly type: EntryType;
  /** Conditions on the entry, if any. */
  readonly match?: Precondition | null;
  /** The administrator on whose behalf the caller writes; creator fields keep the id. */
  readonly adminId?: number | null;
  /** Leaves `updatedAt` and `updatedBy` as they are, as v4 does when it adds an uploaded file to an entry (UP11). */
  readonly keepsUpdatedAt?: boolean;
  /** Which entry of a localized single type to write; the one in the default locale otherwise. */
  readonly locale?: string | null;
} & (
  | {
      readonly action: 'create';
      readonly data: Data;
      readonly hashes?: PasswordHashes;
      /** The entry of which the new one is another locale; the id is null for a single type. */
      readonly source?: { readonly id: number | null };
    }
  | {
      readonly action: 'update';
      /** Null for a single type, whose first update creates the entry. */
      readonly id: number | null;
      readonly data: Data;
      /** Hashes of the passwords in the data, computed before the transaction; missing ones are computed inside it. */
      readonly hashes?: PasswordHashes;
    }
  /** The id is null for a single type. */
  | { readonly action: 'delete'; readonly id: number | null }
);

/** The result of a write. */
export interface Written {
  readonly id: number;
  /** The entry's `updatedAt` in epoch milliseconds, which never repeats; for a deletion, the last one. */
  readonly version: number;
  /** All writes in order, including those of hooks. */
  readonly events: readonly WriteEvent[];
  /** Keys of the data that had no effect. */
  readonly leftOut: readonly LeftOut[];
}

/** A write that is checked and planned, but not run; only its hooks may have changed anything. */
export interface PreparedWrite {
  readonly id: number;
  /** Tags to compare with the entry's response, if the entry has no version; null if decided. */
  readonly undecided: UndecidedTags | null;
  /** Whether a hook runs after the operations. */
  readonly isHooked: boolean;
  run(): Promise<Written>;
}

/**
 * A project's hooks around the writes of a type, inside the transaction: throwing rolls it back, and a `Refusal` becomes
 * the response.
 */
export interface Hooks {
  /** The hook that runs before anything is checked; undefined if there is none. It may change `data`. */
  before(action: WriteAction): RunHook | undefined;
  /** The one that runs after the operations, before the answer is read. */
  after(action: WriteAction): RunHook | undefined;
}

export type RunHook = (event: HookEvent) => Promise<void>;

export interface HookEvent {
  /** Null before the entry is created. */
  readonly id: number | null;
  /** Null for a delete. */
  readonly data: Record<string, unknown> | null;
  readonly session: Session;
}

export type HooksOf = (type: EntryType) => Hooks | undefined;

export interface Writer {
  /** Runs the work in one transaction; throwing rolls it back. The work may be retried from the beginning. */
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** Writes one entry. */
  apply(request: WriteRequest, context: ResolveContext, session: Session): Promise<Written>;
  /** The same in two steps. */
  prepare(request: WriteRequest, context: ResolveContext, session: Session): Promise<PreparedWrite>;
}

/** @param now milliseconds since 1970 UTC. */
export const newWriter = (db: Db, now: () => number, hooksOf: HooksOf = () => undefined): Writer => {
  const prepare: Writer['prepare'] = async (request, context, session) => {
    const { type } = request;
    const write: Write = {
      request,
      context,
      session,
      dialect: db.dialect,
      now,
      hooks: hooksOf(type),
      eventsBefore: session.events.length,
      leftOut: new Map(),
    };
    const prepared = await refuseConflicts(type, () => prepareWrite(write));
    return { ...prepared, run: () => refuseConflicts(type, prepared.run) };
  };
  return {
    transaction: (work) => refuseConflicts(null, () => db.write((tx) => work(newSession(tx)))),
    prepare,
    apply: async (request, context, session) => {
      const { undecided, run } = await prepare(request, context, session);
      return undecided ? refuseChanged() : run();
    },
  };
};

/** Another program wrote first; our own writers wait for each other. @param type null if no longer known. */
const refuseConflicts = async <T>(type: EntryType | null, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (fault) {
    throw fault instanceof ConstraintFault ? new Refusal(constraintIssue(fault, type)) : fault;
  }
};

export const refuseChanged = (): never => refuse(issue('http.changed-meanwhile', []));
export const refuseExcluded = (): never => refuse(issue('http.excluded', []));

interface Write {
  readonly request: WriteRequest;
  readonly context: ResolveContext;
  readonly session: Session;
  readonly dialect: Dialect;
  readonly now: () => number;
  readonly hooks: Hooks | undefined;
  /** Events of the session that were there before. */
  readonly eventsBefore: number;
  /** Keys of the data that had no effect, by name. */
  readonly leftOut: Map<string, LeftOut>;
}

const constraintIssue = (fault: ConstraintFault, type: EntryType | null): Issue => {
  const named = [...(type?.attributes.values() ?? [])].find(
    (it) =>
      it.kind === 'scalar' &&
      (fault.names.split(', ').includes(`${type?.table}.${it.column}`) ||
        fault.names === `${type?.table}_${it.column}_unique`),
  );
  const path = named ? [named.name] : [];
  switch (fault.kind) {
    case 'unique':
      return issue('body.unique', path);
    case 'reference':
      return issue('relation.rejected', []);
    // v4 declares none, but a project may have added one
    case 'not-null':
      return issue('body.required', path);
    case 'check':
      return issue('body.check', [], { constraint: fault.names });
    default:
      return never(fault.kind);
  }
};

const prepareWrite = async (write: Write): Promise<PreparedWrite> => {
  const { request, hooks, session } = write;
  if (request.action === 'delete') return prepareDelete(write, request.id);
  const { type, action } = request;
  const unread = action === 'update' && request.id !== null && (await prepareUnread(write, request.id));
  if (unread) return unread;
  const source = action === 'create' && request.source ? await findSourceOf(write, request.source.id) : null;
  const isNew = action === 'create' && (type.kind !== 'single' || source !== null);
  const find = () => findEntry(write, action === 'update' ? request.id : null, 'plain');
  let stored = isNew ? null : await find();
  if (stored === null && action === 'update' && (type.kind !== 'single' || request.id !== null))
    return refuse(issue('http.not-found', []));
  if (stored === null && !isNew) {
    // concurrent requests may create the entry of a single type: only the first runs the hooks of a creation
    await takeLocks([`single ${type.table}`], write);
    stored = await find();
  }
  const given = givenOf(request);
  const event = { id: stored?.id ?? null, data: given.data, session };
  const hook = hooks?.before(stored === null ? 'create' : 'update');
  await hook?.(event);
  // the hook itself may have created the entry of a single type
  if (hook && stored === null && !isNew) stored = await find();
  leaveOutIgnored(write, given.data, stored);
  const publishedAt = unwrap(readPublishedAt(type, given.data));
  if (stored === null) return prepareCreate(write, given, publishedAt, source);
  const isDraft = isDraftAfter(type, stored, publishedAt);
  const change = await acceptData(write, given.data, stored.id, isDraft);
  return prepareUpdate(write, stored.id, { ...given, publishedAt, change, isDraft });
};

/**
 * An update whose body is parsed before the entry is read, which saves reading it twice. Null if a hook runs first, or if the
 * body is invalid: it is refused once the entry is known to exist, together with what the database says of it.
 */
const prepareUnread = async (write: Write, id: number): Promise<PreparedWrite | null> => {
  const { request, hooks } = write;
  if (request.action !== 'update' || hooks?.before('update')) return null;
  const given = givenOf(request);
  const publishedAt = readPublishedAt(request.type, given.data);
  if (!publishedAt.ok) return null;
  // a body that is right for a published entry is right for a draft
  const parsed = parseData(write, given.data, 'update', false);
  if (parsed.issues.length > 0) return null;
  const { change } = parsed;
  return prepareUpdate(write, id, { ...given, publishedAt: publishedAt.value, change, isDraft: false }, parsed.leftOut);
};

const givenOf = ({ data, hashes = noHashes }: Extract<WriteRequest, { readonly data: Data }>): Given => ({
  data: { ...data },
  hashes,
});

/** Notes the keys of the data that have no effect. @param stored null if the entry is new. */
const leaveOutIgnored = ({ request, leftOut }: Write, data: Data, stored: StoredEntry | null): void => {
  for (const it of ignoredKeys(request.type, data, stored ? stored.locale : (request.locale ?? undefined)))
    leftOut.set(it.name, it);
};

const findSourceOf = (write: Write, id: number | null): Promise<StoredEntry> =>
  findSource(write.request.type, id, write.context.defaultLocale, checkContext(write));

/** Input of a create or update; hooks may change the data. */
interface Given {
  readonly data: Record<string, unknown>;
  readonly hashes: PasswordHashes;
}

const noHashes: PasswordHashes = new Map();

/** Undefined leaves it as it is, null makes a draft. */
type PublishedAt = number | null | undefined;

// ---- the entry

const firstEntry: Which = { key: 'first', rest: () => sql`order by e.id limit 1`, values: [] };

/** An entry by id, or without one the entry of a single type in the locale of the request. */
const findEntry = async (
  { request: { type, locale }, context, dialect, session }: Write,
  id: number | null,
  lock: 'plain' | 'locked',
): Promise<StoredEntry | null> => {
  const inLocale: Which = {
    key: 'locale',
    rest: () => sql`where e.locale = ${dialect.bindSlot('string', 0)} order by e.id limit 1`,
    values: [locale ?? context.defaultLocale],
  };
  const one: Which = type.localized ? inLocale : firstEntry;
  const which = type.kind === 'single' && id === null ? one : entryWithId(id!);
  const [found] = await readEntries(type, which, lock, { dialect, tx: session.tx });
  return found ?? null;
};

/** Whether a single type has an entry in any locale. */
const hasEntries = async ({ request: { type }, dialect, session }: Write): Promise<boolean> =>
  (await session.tx.run(dialect.compile(sql`select 1 from ${sql.table(type.table)} limit 1`))).length > 0;

/**
 * Checks the conditions on a stored entry in the order of RFC 9110, 13.2.2. Refuses if one fails; tags stay undecided if
 * the entry has no version. A date is ignored for an entry without one, or whose one is private.
 */
const checkMatch = ({ request: { type, match: given } }: Write, stored: StoredEntry): PreparedWrite['undecided'] => {
  if (!given) return null;
  const { match, noneMatch, unmodifiedSince } = given;
  if (noneMatch === '*') return refuseExcluded();
  const tags = match === '*' ? null : match;
  if (stored.version === null || !tellsVersion(type))
    return tags === null && noneMatch === null ? null : { match: tags, noneMatch };
  if (tags && !namesVersion(tags, stored.version)) return refuseChanged();
  // dates have whole seconds
  if (unmodifiedSince !== null && Math.floor(stored.version / 1000) * 1000 > unmodifiedSince) return refuseChanged();
  if (noneMatch && namesVersion(noneMatch, stored.version)) return refuseExcluded();
  return null;
};

const takeLocks = async (names: readonly string[], { dialect, session }: Write): Promise<void> => {
  const statement = dialect.lock(names);
  if (statement) await session.tx.run(statement);
};

const parseData = (
  { request: { type }, context: { model, gate, strict } }: Write,
  data: Data,
  action: 'create' | 'update',
  draft: boolean,
  inherited: ReadonlySet<string> = noNames,
): ParsedBody => parseChange(data, type, { model, gate, action, draft, strict, inherited });

/** Parses the data into a change; refuses invalid data. @param id null for a new entry. */
const acceptData = (
  write: Write,
  data: Data,
  id: number | null,
  draft: boolean,
  inherited?: ReadonlySet<string>,
): Promise<Change> => {
  const parsed = parseData(write, data, id === null ? 'create' : 'update', draft, inherited);
  for (const it of parsed.leftOut) write.leftOut.set(it.name, it);
  return acceptBody(parsed, id, checkContext(write));
};

const noNames: ReadonlySet<string> = new Set();

const checkContext = ({ context, dialect, session }: Write): CheckContext => ({
  model: context.model,
  dialect,
  tx: session.tx,
});

// ---- the three actions

/** @param source null, or the entry of which the new one becomes a sibling. */
const prepareCreate = async (
  write: Write,
  { data, hashes }: Given,
  publishedAt: PublishedAt,
  source: StoredEntry | null,
): Promise<PreparedWrite> => {
  const { request, context, now } = write;
  const { type } = request;
  const checking = checkContext(write);
  // a new entry has no tag, and no time of a change
  if (request.match?.match != null) return refuseChanged();
  const sibling = source && { id: source.id, locale: await localeOfSibling(data['locale'], checking) };
  // an entry is published with its creation, a sibling is a draft at first
  const isDraft = type.draftAndPublish && (publishedAt === null || (publishedAt === undefined && sibling !== null));
  const change = await acceptData(write, data, null, isDraft, sibling ? inheritedNames(type, data) : noNames);
  const changes = changesOf(change, null);
  if (type.kind === 'single' && !sibling && type.localized && (await hasEntries(write)))
    return refuse(issue('body.single-exists', []));
  const given = request.locale ?? data['locale'];
  const locale = sibling?.locale ?? (type.localized ? await localeOfNew(given, context.defaultLocale, checking) : null);
  const [, group, checked] = await pipeline(
    () => takeLocks([...lockNames(changes), ...(sibling ? [siblingsLock(type)] : [])], write),
    async () => (sibling ? readGroup(type, sibling.id, sibling.locale, checking) : []),
    () => checkChanges(changes, checking),
  );
  const snapshot: Snapshot = { ...unwrap(checked), parts: noParts };
  await checkShared(change, group, isDraft, (names) => acceptData(write, pick(data, names), group[0]!.id, false));
  if (sibling) await checkInherited(change, group[0]!.id, isDraft, checking);
  const [id] = snapshot.newIds.get(type.uid) ?? [];
  if (id === undefined) throw bug('apply.id-not-reserved', { uid: type.uid });
  const time = now();
  const system: Cell[] = [
    instant('created_at', time),
    instant('updated_at', time),
    ...creator(request, 'created_by_id'),
    ...creator(request, 'updated_by_id'),
  ];
  if (type.draftAndPublish) system.push(instant('published_at', isDraft ? null : (publishedAt ?? time)));
  else if (type.keepsPublishedAt) system.push(instant('published_at', time));
  if (type.localized) system.push({ column: 'locale', kind: 'string', value: locale });
  const plan = await planChange(await withHashes(change, hashes, context.model), id, true, system, snapshot, write);
  const changed = changedCells(request, nextVersion(time, group));
  const planned = { id, change, plan };
  const { operations, followers } = await (sibling ? join : follow)(planned, group, changed, checking);
  return makePrepared(write, {
    action: 'create',
    id,
    version: time,
    data,
    operations: [...plan.operations, ...operations],
    followers,
    undecided: null,
  });
};

const noParts: Snapshot['parts'] = new Map();

/** The input of an update, parsed. */
interface ParsedUpdate extends Given {
  readonly publishedAt: PublishedAt;
  readonly change: Change;
  /** Whether the data was parsed as that of a draft. */
  readonly isDraft: boolean;
}

/** @param unread keys of the data that had no effect, if nothing has been read of the entry. */
const prepareUpdate = async (
  write: Write,
  id: number,
  { data, hashes, publishedAt, ...parsed }: ParsedUpdate,
  unread: readonly LeftOut[] | null = null,
): Promise<PreparedWrite> => {
  const { request, context, now, session, dialect } = write;
  const { type } = request;
  const checking = checkContext(write);
  let { change } = parsed;
  const changes = changesOf(change, id);
  const isFollowed = sharedOf(change) !== null;
  const [, stored, siblings, parts, checked] = await pipeline(
    () => takeLocks([...lockNames(changes), ...(isFollowed ? [siblingsLock(type)] : [])], write),
    () => findEntry(write, id, 'locked'),
    async () => (isFollowed ? readSiblings(type, id, checking) : []),
    async () => (change.parts.length > 0 ? readParts(type, [id], context.model, session.tx, dialect) : noParts),
    () => checkChanges(changes, checking),
  );
  if (stored === null) return refuse(issue('http.not-found', []));
  if (unread) {
    leaveOutIgnored(write, data, stored);
    for (const it of unread) write.leftOut.set(it.name, it);
  }
  const isDraft = isDraftAfter(type, stored, publishedAt);
  // it is a draft after all, or was published or unpublished while this request waited, so other rules apply
  if (isDraft !== parsed.isDraft) change = await acceptData(write, data, stored.id, isDraft);
  const undecided = checkMatch(write, stored);
  const snapshot: Snapshot = { ...unwrap(checked), parts };
  await checkShared(change, siblings, isDraft, (names) => acceptData(write, pick(data, names), stored.id, false));
  const isPublishedNow =
    type.draftAndPublish && stored.publishedAt === null && publishedAt !== undefined && publishedAt !== null;
  if (isPublishedNow) {
    const missing = await missingInStored(type, stored.id, namesOf(change), context.model, session.tx, dialect);
    if (missing.length > 0) return refuseAll(missing);
  }
  const version = nextVersion(now(), [stored, ...siblings]);
  const system: Cell[] = [...changedCells(request, version)];
  if (type.draftAndPublish && publishedAt !== undefined) system.push(instant('published_at', publishedAt));
  const hashed = await withHashes(change, hashes, context.model);
  const plan = await planChange(hashed, stored.id, false, system, snapshot, write);
  const planned = { id: stored.id, change, plan };
  const { operations, followers } = await follow(planned, siblings, changedCells(request, version), checking);
  return makePrepared(write, {
    action: 'update',
    id: stored.id,
    version,
    data,
    operations: [...plan.operations, ...operations],
    followers,
    undecided,
  });
};

const pick = (data: Data, names: ReadonlySet<string>): Data =>
  Object.fromEntries(Object.entries(data).filter(([name]) => names.has(name)));

const prepareDelete = async (write: Write, id: number | null): Promise<PreparedWrite> => {
  const { request, context, dialect, session, hooks } = write;
  const { type } = request;
  const locks = linkTablesOf(type, context.model);
  const hook = hooks?.before('delete');
  const findParts = (of: number) => readParts(type, [of], context.model, session.tx, dialect);
  const [, stored, early] = await pipeline(
    () => takeLocks(type.localized ? [...locks, siblingsLock(type)] : locks, write),
    () => findEntry(write, id, 'locked'),
    // a hook may change them
    async () => (id === null || hook ? null : findParts(id)),
  );
  if (stored === null) return refuse(issue('http.not-found', []));
  const undecided = checkMatch(write, stored);
  await hook?.({ id: stored.id, data: null, session });
  const parts = early ?? (await findParts(stored.id));
  const operations = removalOf([{ type, id: stored.id }], parts, context.model);
  const version = stored.version ?? 0;
  return makePrepared(write, {
    action: 'delete',
    id: stored.id,
    version,
    data: null,
    operations,
    followers: [],
    undecided,
  });
};

const linkTablesOf = (type: EntryType, model: Model): readonly string[] => {
  const links = (it: EntryType): readonly LinkAttribute[] =>
    [...it.attributes.values()].filter((attribute) => attribute.kind === 'link');
  const touching = [
    ...links(type),
    ...[...model.types.values()].flatMap((other) => links(other).filter((it) => it.target === type.uid)),
  ];
  return touching.filter((it) => it.inverse !== null).map((it) => it.path.table);
};

const isDraftAfter = (type: EntryType, stored: StoredEntry, publishedAt: number | null | undefined): boolean =>
  type.draftAndPublish && (publishedAt === undefined ? stored.publishedAt === null : publishedAt === null);

/** What the server sets in each row that changes. */
const changedCells = (request: WriteRequest, version: number): readonly Cell[] =>
  request.keepsUpdatedAt === true ? [] : [instant('updated_at', version), ...creator(request, 'updated_by_id')];

const instant = (column: string, value: number | null): Cell => ({ column, kind: 'datetime', value });

/** Only administrators change creator fields (ST2). */
const creator = ({ adminId }: WriteRequest, column: string): readonly Cell[] =>
  adminId == null ? [] : [{ column, kind: 'reference', value: adminId }];

/** Plans the change; lists with unsound ranks (ST13), or without room for it, are renumbered first. */
const planChange = async (
  change: Change,
  id: number,
  isNew: boolean,
  system: readonly Cell[],
  snapshot: Snapshot,
  { dialect, context, session }: Write,
): Promise<WritePlan> => {
  let known = snapshot;
  // at most two renumberings: one for unsound ranks, one for room
  for (let round = 0; round < 3; round++) {
    const result =
      known.unsound.length > 0
        ? ({ kind: 'crowded', lists: known.unsound } as const)
        : unwrap(planWrite(change, id, isNew, system, known, context.model));
    if (result.kind === 'plan') return result;
    await session.tx.runAll(result.lists.map((list) => renumberStatement(list, dialect)));
    const again = await readSnapshot(changesOf(change, isNew ? null : id), session.tx, dialect);
    known = { ...again, parts: snapshot.parts };
  }
  throw bug('apply.lists-still-crowded', { uid: change.type.uid, id });
};

interface Planned {
  readonly action: WriteAction;
  readonly id: number;
  readonly version: number;
  readonly data: Record<string, unknown> | null;
  readonly operations: readonly Operation[];
  /** Siblings that the operations change too. */
  readonly followers: readonly number[];
  readonly undecided: PreparedWrite['undecided'];
}

const makePrepared = (
  { request: { type }, session, dialect, hooks, eventsBefore, leftOut }: Write,
  { action, id, version, data, operations, followers, undecided }: Planned,
): PreparedWrite => ({
  id,
  undecided,
  isHooked: hooks?.after(action) !== undefined,
  run: async () => {
    await runOperations(operations, dialect, session.tx);
    session.events.push({ action, type, id }, ...followers.map((it) => ({ action: 'update', type, id: it }) as const));
    await hooks?.after(action)?.({ id, data, session });
    return { id, version, events: session.events.slice(eventsBefore), leftOut: [...leftOut.values()] };
  },
});
