/** A write on its way: its input, the entry that it finds, what it must match, and the plan that it becomes. */
import { sql } from 'kysely';
import { bug, issue, type Result, refuse, unwrap } from '../errors.js';
import type { EntryType } from '../model/model.js';
import { joinColumn } from '../model/storage.js';
import type { LeftOut } from '../query/lenient.js';
import type { ResolveContext } from '../query/resolve.js';
import { namesVersion, tellsVersion } from '../read/etag.js';
import type { Cell, Dialect, Statement } from '../sql/dialect.js';
import { type AheadPart, type Change, type ParsedBody, parseChange } from './change.js';
import { acceptBody, type CheckContext, type HeldValue } from './checks.js';
import { entryWithId, type RowLock, readEntries, type StoredEntry, type Which } from './entry.js';
import type { OwnerKey } from './keys.js';
import { renumberStatement } from './lists.js';
import { entryLock, ignoredKeys } from './locales.js';
import type { Operation, WritePlan } from './operations.js';
import type { PasswordHashes } from './passwords.js';
import { changeLocks, type Locks, type Planned, planWrite, uniqueLock } from './plan.js';
import {
  type Creators,
  type Data,
  type HookEvent,
  type Hooks,
  type HooksOf,
  type Place,
  type PreparedWrite,
  type Recorder,
  refuseChanged,
  refuseExcluded,
  type SetBeside,
  type WriteRequest,
} from './request.js';
import { runOperations } from './run.js';
import type { Session, WriteAction, WriteEvent } from './session.js';
import { changesOf, type OwnedChange, readSnapshot, type Snapshot } from './snapshot.js';

export interface Write {
  readonly request: WriteRequest;
  readonly context: ResolveContext;
  readonly session: Session;
  readonly dialect: Dialect;
  readonly now: () => number;
  readonly hooks: Hooks | undefined;
  readonly hooksOf: HooksOf;
  /** Makes another write as a part of this one. @returns the id. */
  readonly inside: (request: WriteRequest) => Promise<number>;
  readonly recorder: Recorder | null;
  /** Events of the session that were there before. */
  readonly eventsBefore: number;
  readonly place: Place;
  /** Keys of the data that had no effect, by name. */
  readonly leftOut: Map<string, LeftOut>;
  readonly byHooks: SetByHooks;
}

/** What hooks that saw a `Preview` have set beside the data. */
export interface SetByHooks extends SetBeside {
  /** Texts of the data that are hashes of passwords: they are stored as they are. */
  readonly hashes: Set<string>;
  /** Null if no hook saw them. */
  times: SetTimes | null;
  /** The components that were written before the hooks ran. */
  ahead: ReadonlyMap<OwnerKey, AheadPart>;
  /** Whether hooks were not run, because the data is invalid. */
  isSkipped: boolean;
  /** Whether they have seen the data. */
  haveRun: boolean;
  /** The entry that is written instead; null if they name no other. */
  turnedTo: number | null;
}

/** Epoch milliseconds; undefined where a hook took the time away. */
export interface SetTimes {
  readonly createdAt: number | null | undefined;
  readonly updatedAt: number | null | undefined;
  /** `updatedAt` as hooks saw it. */
  readonly shown: number;
}

// ---- input

/** Input of a create or update; hooks may change the data. */
export interface Given {
  readonly data: Record<string, unknown>;
  readonly hashes: PasswordHashes;
}

const noHashes: PasswordHashes = new Map();

/** Undefined leaves it as it is, null makes a draft. */
export type PublishedAt = number | null | undefined;

export const givenOf = ({ data, hashes = noHashes }: Extract<WriteRequest, { readonly data: Data }>): Given => ({
  data: { ...data },
  hashes,
});

/** Notes the keys of the data that have no effect. @param stored null if the entry is new. */
export const leaveOutIgnored = ({ request, leftOut }: Write, data: Data, stored: StoredEntry | null): void => {
  for (const it of ignoredKeys(request.type, data, stored ? stored.locale : (request.locale ?? undefined)))
    leftOut.set(it.name, it);
};

/** Whether what requests cannot write (BO4) is written: if no request has made the data, or code has had it in its hands. */
export const isOfCode = ({ context: { gate }, byHooks: { haveRun } }: Write): boolean =>
  haveRun || gate.writesAll === true;

/** The id that code has chosen for a new entry; null if the database gives it the next one. */
export const chosenId = ({ request, byHooks: { newId } }: Write): number | null =>
  newId !== undefined ? newId : request.action === 'create' ? (request.newId ?? null) : null;

export const parseData = (
  write: Write,
  data: Data,
  action: 'create' | 'update',
  draft: boolean,
  inherited: ReadonlySet<string> = noNames,
): ParsedBody => {
  const { model, gate, strict, format = 'v4' } = write.context;
  const { hashes } = write.byHooks;
  const context = { model, gate, action, draft, strict, format, inherited, isOfCode: isOfCode(write), hashes };
  return parseChange(data, write.request.type, context);
};

/** Parses the data into a change; refuses invalid data. @param id null for a new entry. */
export const acceptData = async (
  write: Write,
  data: Data,
  id: number | null,
  draft: boolean,
  inherited?: ReadonlySet<string>,
): Promise<Change> => {
  const parsed = parseData(write, data, id === null ? 'create' : 'update', draft, inherited);
  for (const it of parsed.leftOut) write.leftOut.set(it.name, it);
  const change = await acceptBody(parsed, id, checkContext(write));
  // hooks may guard something
  if (write.byHooks.isSkipped) throw bug('apply.hooks-skipped', { uid: change.type.uid, id });
  return change;
};

export const noNames: ReadonlySet<string> = new Set();

export const checkContext = (write: Write): CheckContext => ({
  model: write.context.model,
  gate: write.context.gate,
  dialect: write.dialect,
  tx: write.session.tx,
  appendsLate: appendsLate(write),
});

/** Whether others may add to the lists of entries that the write names, until it is committed: see `linkLocks`. */
const appendsLate = (write: Write): boolean => write.session.isHeldByCode && !writesAlone(write);

export const pick = (data: Data, names: ReadonlySet<string>): Data =>
  Object.fromEntries(Object.entries(data).filter(([name]) => names.has(name)));

// ---- the entry

/** An entry by id, or without one the entry of a single type in the locale of the request. */
export const findEntry = async (
  { request, context, dialect, session }: Write,
  id: number | null,
  lock: RowLock,
): Promise<StoredEntry | null> => {
  const { type } = request;
  const which =
    type.kind === 'single' && id === null
      ? onlyEntry(request, dialect, request.locale ?? context.defaultLocale)
      : entryWithId(id!);
  const [found] = await readEntries(type, which, lock, { dialect, tx: session.tx });
  return found ?? null;
};

const onlyEntry = (request: WriteRequest, dialect: Dialect, locale: string | null): Which => {
  const { localized } = request.type;
  const isPublished = request.action === 'delete' && request.isPublished === true;
  return {
    key: `only${localized ? ' of locale' : ''}${isPublished ? ' published' : ''}`,
    rest: () => {
      const conditions = [
        ...(localized ? [sql<boolean>`e.locale = ${dialect.bindSlot('string', 0)}`] : []),
        ...(isPublished ? [sql<boolean>`e.published_at is not null`] : []),
      ];
      const where = conditions.length === 0 ? sql`` : sql`where ${sql.join(conditions, sql` and `)}`;
      return sql`${where} order by e.id limit 1`;
    },
    values: localized ? [locale] : [],
  };
};

/** What is given to hooks that may have another entry written. */
export const turning = ({ byHooks }: Write): Required<Pick<HookEvent, 'turnTo'>> => ({
  turnTo: (id) => {
    byHooks.turnedTo = id;
  },
});

/** The entry that is written, once hooks have run. */
export const entryAfterHooks = async (write: Write, stored: StoredEntry): Promise<StoredEntry> => {
  const { turnedTo } = write.byHooks;
  if (turnedTo === null || turnedTo === stored.id) return stored;
  return (await findEntry(write, turnedTo, 'plain')) ?? refuse(issue('http.not-found', []));
};

/**
 * Checks the conditions on a stored entry in the order of RFC 9110, 13.2.2. Refuses if one fails; tags stay undecided if
 * the entry has no version. A date is ignored for an entry without one, or whose one is private.
 */
export const checkMatch = (
  { request: { type, match: given } }: Write,
  stored: StoredEntry,
): PreparedWrite['undecided'] => {
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

/**
 * What a change locks, to be taken in one statement: two writers that took their locks one after the other could wait for each
 * other. A component that is written by itself leaves them to its entry.
 * @param held unique values of components that have been written ahead.
 */
export const locksOf = (write: Write, change: Change, id: number | null, held: readonly HeldValue[]): Locks => {
  if (write.request.isPartOfDraft !== undefined || writesAlone(write)) return { own: [], shared: [] };
  const { own, shared } = changeLocks(changesOf(change, id, { withAhead: true }), write.session);
  return { own: [...own, ...held.map((it) => uniqueLock(it.type, it.attribute, it.value))], shared };
};

/** Whether no other writer can change anything meanwhile, because the engine has one. */
export const writesAlone = ({ dialect, request: { type } }: Write): boolean => dialect.lock([type.table]) === null;

/** Takes the lock of an entry and its siblings, which comes before all others. */
export const lockEntry = async (write: Write, id: number): Promise<void> => {
  if (!writesAlone(write)) await takeLocks([await entryLock(write.request.type, id, checkContext(write))], write);
};

/** Whether hooks of the type run while components of an entry are written, and the rest is not. */
export const writesAhead = ({ request: { type }, hooks }: Write): boolean =>
  hooks?.before('update') !== undefined && [...type.attributes.values()].some((it) => it.kind === 'part');

export const takeLocks = async (
  own: readonly string[],
  { dialect, session }: Write,
  shared: readonly string[] = [],
): Promise<void> => {
  const statement = dialect.lock(own, shared);
  if (statement) await session.tx.run(statement);
};

// ---- the plan

export const isDraftAfter = (
  { type, isPartOfDraft }: WriteRequest,
  stored: StoredEntry,
  publishedAt: PublishedAt,
): boolean =>
  isPartOfDraft ??
  (type.draftAndPublish && (publishedAt === undefined ? stored.publishedAt === null : publishedAt === null));

/** What the server sets in each row that changes. */
export const changedCells = (request: WriteRequest, version: number): readonly Cell[] =>
  request.isOfUpload === true || isUntimed(request.type)
    ? []
    : [instant('updated_at', version), ...creator(request, 'updatedBy')];

/** Rows of components have neither times nor creators. */
export const isUntimed = ({ kind }: EntryType): boolean => kind === 'component';

export const instant = (column: string, value: number | null): Cell => ({ column, kind: 'datetime', value });

/** Only administrators, and code, change creator fields (ST2). */
export const creator = ({ adminId = null, creators }: WriteRequest, name: keyof Creators): readonly Cell[] =>
  creators?.[name] === undefined && adminId !== null
    ? [{ column: joinColumn(name), kind: 'reference', value: adminId }]
    : chosenCreator(creators, name);

/** One that was chosen, as an administrator is not by writing. */
export const chosenCreator = (creators: Creators | undefined, name: keyof Creators): readonly Cell[] => {
  const value = creators?.[name];
  return value === undefined ? [] : [{ column: joinColumn(name), kind: 'reference', value }];
};

/** Plans the change; lists with unsound ranks (ST13), or without room for it, are renumbered first. */
export const planChange = async (
  change: Change,
  id: number,
  isNew: boolean,
  system: readonly Cell[],
  snapshot: Snapshot,
  write: Write,
): Promise<WritePlan> => {
  const changes = changesOf(change, isNew ? null : id);
  return settled(write, changes, snapshot, (it) => planWrite(change, id, isNew, system, it, write.context.model));
};

/** A plan for which no list lacks room: those that do are renumbered first. */
export const settled = async <P extends Planned>(
  write: Write,
  changes: readonly OwnedChange[],
  snapshot: Snapshot,
  plan: (snapshot: Snapshot) => Result<P>,
): Promise<Extract<P, { readonly kind: 'plan' }>> => {
  const { request, dialect, session } = write;
  const { parts, ahead, unseen } = snapshot;
  let known = snapshot;
  // at most two renumberings: one for unsound ranks, one for room
  for (let round = 0; round < 3; round++) {
    const result: Planned = known.unsound.length > 0 ? { kind: 'crowded', lists: known.unsound } : unwrap(plan(known));
    if (result.kind === 'plan') return result as Extract<P, { readonly kind: 'plan' }>;
    await session.tx.runAll(result.lists.map((list) => renumberStatement(list, dialect)));
    const again = await readSnapshot(changes, checkContext(write));
    known = { ...again, parts, ...(ahead ? { ahead } : {}), ...(unseen ? { unseen } : {}) };
  }
  throw bug('apply.lists-still-crowded', { uid: request.type.uid });
};

interface PlannedWrite {
  readonly action: WriteAction;
  readonly id: number;
  readonly version: number;
  readonly data: Record<string, unknown> | null;
  readonly operations: readonly Operation[];
  /** Siblings that the operations change too. */
  readonly followers: readonly number[];
  /** Statements that the operations rely on. */
  readonly before?: readonly Statement[];
  readonly undecided: PreparedWrite['undecided'];
  readonly isGone?: boolean;
  readonly publication?: WriteEvent['publication'] | undefined;
}

export const makePrepared = (
  { request: { type, isOfUpload, isUntold }, session, dialect, hooks, recorder, eventsBefore, leftOut }: Write,
  { action, id, version, data, operations, followers, before, undecided, isGone = false, publication }: PlannedWrite,
): PreparedWrite => {
  const cause = { ...(isOfUpload ? ({ isOfUpload } as const) : {}), ...(isUntold ? ({ isUntold } as const) : {}) };
  const events: readonly WriteEvent[] = [
    { action, type, id, ...(publication === undefined ? {} : { publication }), ...cause },
    ...followers.map((it) => ({ action: 'update', type, id: it, ...cause }) as const),
  ];
  const recording = recorder?.wants(events) ? recorder : null;
  const hook = hooks?.after(action);
  return {
    id,
    undecided,
    goesOn: hook !== undefined || recording !== null,
    isGone,
    run: async () => {
      // afterwards the entry would be gone; without a recorder the operations belong to this turn, which may end the transaction
      if (action === 'delete' && recording) await recording.record(events, session);
      await runOperations(operations, dialect, session.tx, before);
      session.events.push(...events);
      if (action !== 'delete') await recording?.record(events, session);
      await hook?.({ id, data, session });
      const written = { id, version, events: session.events.slice(eventsBefore), leftOut: [...leftOut.values()] };
      return { ...written, seen: hooks?.seen?.() ?? null };
    },
  };
};
