/**
 * Writes one entry inside a transaction: locks, snapshot, checks against the database, planned operations. Preparing and
 * running are separate steps, so that the caller can read an entry before it is deleted, or pipeline its reads after the
 * operations (`answer.ts`). Issues are thrown as `Refusal`.
 */
import { type Issue, issue, never, Refusal, refuse, unwrap } from '../errors.js';
import type { EntryType, Model } from '../model/model.js';
import { tablesOf } from '../model/storage.js';
import type { ResolveContext } from '../query/resolve.js';
import { ConstraintFault, type Db } from '../sql/dialect.js';
import { readPublishedAt } from './change.js';
import { findSourceOf, prepareCreate } from './create.js';
import { prepareDelete } from './delete.js';
import { adoptLooseParts } from './loose-parts.js';
import { dropUnwritable } from './places.js';
import { previewOf } from './preview.js';
import {
  type HooksOf,
  type Place,
  type PreparedWrite,
  type Recorder,
  type RunHook,
  refuseChanged,
  type WriteRequest,
  type Written,
} from './request.js';
import { governed } from './rights.js';
import { type Ending, newSession, type Session, type WriteAction, writeActions } from './session.js';
import { prepareUnread, prepareUpdate } from './update.js';
import {
  acceptData,
  chosenId,
  entryAfterHooks,
  findEntry,
  givenOf,
  isDraftAfter,
  isOfCode,
  leaveOutIgnored,
  type SetTimes,
  takeLocks,
  turning,
  type Write,
} from './writing.js';

export interface Writer {
  /**
   * Runs the work in one transaction; throwing rolls it back. The work may be retried from the beginning.
   * @param only the one write that it consists of, if it is one.
   */
  transaction<T>(work: (session: Session) => Promise<T>, only?: WriteRequest): Promise<T>;
  /** Writes one entry. */
  apply(request: WriteRequest, context: ResolveContext, session: Session): Promise<Written>;
  /** The same in two steps. */
  prepare(request: WriteRequest, context: ResolveContext, session: Session, place?: Place): Promise<PreparedWrite>;
}

/**
 * @param now milliseconds since 1970 UTC.
 * @param recorder null: nobody is told of writes.
 */
export const newWriter = (
  db: Db,
  now: () => number,
  hooksOf: HooksOf = () => undefined,
  recorder: Recorder | null = null,
): Writer => {
  const prepare: Writer['prepare'] = async (request, context, session, place = 'inside') => {
    const { type, action } = request;
    const hooks = hooksOf(request);
    if (hooks?.before(action) ?? hooks?.after(action)) session.isHeldByCode = true;
    const write: Write = {
      request,
      context,
      session,
      dialect: db.dialect,
      now,
      hooks,
      hooksOf,
      inside: async (other) => (await apply(other, context, session)).id,
      recorder,
      eventsBefore: session.events.length,
      place,
      leftOut: new Map(),
      byHooks: {
        hashes: new Set(),
        times: chosenTimes(request, now),
        creators: null,
        newId: undefined,
        ahead: new Map(),
        isSkipped: false,
        haveRun: false,
        turnedTo: null,
      },
    };
    // a part of the session that is undone gives their ids back
    const noLongerPending = (): void => {
      for (const key of write.byHooks.ahead.keys()) session.pendingParts.delete(key);
    };
    try {
      const refusing = <T>(work: () => Promise<T>): Promise<T> =>
        refuseConflicts(type, work, (fault) => chosenId(write) === null && isOfIds(fault, context.model));
      const prepared = await refusing(() => prepareWrite(write));
      return { ...prepared, run: () => refusing(prepared.run).finally(noLongerPending) };
    } catch (fault) {
      noLongerPending();
      throw fault;
    }
  };
  const apply: Writer['apply'] = async (request, context, session) => {
    const { undecided, run } = await prepare(request, context, session);
    return undecided ? refuseChanged() : run();
  };
  const transaction: Writer['transaction'] = (work, only) =>
    refuseConflicts(null, async () => {
      let session: Session | null = null;
      let how: Ending['when'] = 'undone';
      try {
        const result = await db.write((tx) => {
          // a former attempt was rolled back
          session?.end('undone');
          session = newSession(tx);
          return work(session);
        }, only && kindOf(only));
        how = 'committed';
        if (session) recorder?.committed(session);
        return result;
      } finally {
        (session as Session | null)?.end(how);
      }
    });
  const kinds = new WeakMap<EntryType, Record<WriteAction, object>>();
  /** Writes of a kind cost about the same. None with hooks, which may do anything, and once only. */
  const kindOf = (request: WriteRequest): object | undefined => {
    const hooks = hooksOf(request);
    if (hooks && writeActions.some((it) => hooks.before(it) ?? hooks.after(it))) return undefined;
    const known = kinds.get(request.type) ?? { create: {}, update: {}, delete: {} };
    kinds.set(request.type, known);
    return known[request.action];
  };
  return {
    transaction,
    prepare,
    apply,
  };
};

/** Times that code has chosen for an entry; hooks see them, and may set others. */
const chosenTimes = (request: WriteRequest, now: () => number): SetTimes | null => {
  if (request.action === 'delete' || !request.times) return null;
  const shown = now();
  const createdAt = request.action === 'create' ? shown : undefined;
  return { createdAt, updatedAt: shown, ...request.times, shown };
};

/**
 * Another program wrote first; our own writers wait for each other.
 * @param type null if no longer known. @param isOfSequence whether a conflict is one of ids that the database itself has given.
 */
const refuseConflicts = async <T>(
  type: EntryType | null,
  work: () => Promise<T>,
  isOfSequence: (fault: ConstraintFault) => boolean = () => false,
): Promise<T> => {
  try {
    return await work();
  } catch (fault) {
    if (!(fault instanceof ConstraintFault)) throw fault;
    throw isOfSequence(fault) ? behindTable(fault) : new Refusal(constraintIssue(fault, type));
  }
};

/** As PostgreSQL names the constraint; SQLite never gives ids that are taken. */
const isOfIds = ({ kind, names }: ConstraintFault, model: Model): boolean =>
  kind === 'unique' && names.endsWith('_pkey') && tablesOf(model).some((it) => `${it.name}_pkey` === names);

/** Of a sequence, as after an import: no client is to blame. */
const behindTable = (fault: ConstraintFault): Error =>
  new Error(
    `${fault.names}: the next id is taken. The sequence of the table is behind it; dovetail adopt shows the statement that repairs it.`,
    { cause: fault },
  );

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
      return issue('body.required', named ? path : [fault.names]);
    case 'check':
      return issue('body.check', [], { constraint: fault.names });
    default:
      return never(fault.kind);
  }
};

const prepareWrite = async (given: Write): Promise<PreparedWrite> => {
  const { changes } = given.context.gate;
  const isPart = given.request.isPartOfDraft !== undefined;
  // what may be written of a component was asked of its entry
  let write = changes && !isPart ? await governed(given, changes) : given;
  const { request, hooks, session } = write;
  if (request.action === 'delete') return prepareDelete(write, request.id);
  const { type, action } = request;
  const unread =
    action === 'update' &&
    request.id !== null &&
    !request.mayAdopt &&
    !isPart &&
    (await prepareUnread(write, request.id));
  if (unread) return unread;
  const source = action === 'create' && request.source ? await findSourceOf(write, request.source.id) : null;
  const isNew =
    request.action === 'create' && (type.kind !== 'single' || source !== null || request.isAnother === true);
  const find = () => findEntry(write, action === 'update' ? request.id : null, 'plain');
  let stored = isNew ? null : await find();
  if (stored === null && action === 'update' && (type.kind !== 'single' || request.id !== null))
    return refuse(issue('http.not-found', []));
  if (stored === null && !isNew) {
    // concurrent requests may create the entry of a single type: only the first runs the hooks of a creation
    await takeLocks([`single ${type.table}`], write);
    stored = await find();
  }
  const input = givenOf(request);
  const hook = hooks?.before(stored === null ? 'create' : 'update') ?? (isPart ? writingParts : undefined);
  if (hook) {
    const { data } = input;
    if (!isOfCode(write)) dropUnwritable(data, type, write.context.model);
    // what hooks do not see of it, they do not leave either
    leaveOutIgnored(write, data, stored);
    const preview = previewOf(write, input, stored, source);
    await hook({ id: stored?.id ?? null, data, session, preview, ...turning(write) });
    write.byHooks.haveRun = true;
    stored &&= await entryAfterHooks(write, stored);
  } else if (request.mayAdopt) await adoptLooseParts(write, input.data, stored?.id ?? null);
  if (write.byHooks.creators)
    write = { ...write, request: { ...request, creators: { ...request.creators, ...write.byHooks.creators } } };
  // the hook itself may have created the entry of a single type
  if (hook && stored === null && !isNew) stored = await find();
  leaveOutIgnored(write, input.data, stored);
  const publishedAt = unwrap(readPublishedAt(type, input.data));
  if (stored === null) return prepareCreate(write, input, publishedAt, source);
  const isDraft = isDraftAfter(request, stored, publishedAt);
  const change = await acceptData(write, input.data, stored.id, isDraft);
  return prepareUpdate(write, stored.id, { ...input, publishedAt, change, isDraft });
};

/** In place of a hook of a component that has none, but contains others that do. */
const writingParts: RunHook = async ({ data, preview }) => {
  const shown = { ...data };
  if (await preview?.writeParts(shown)) await preview?.take(shown);
};
