/** Prepares the update of an entry. */
import { issue, refuse, refuseAll, unwrap } from '../errors.js';
import type { EntryType } from '../model/model.js';
import type { LeftOut } from '../query/lenient.js';
import type { Cell } from '../sql/dialect.js';
import { pipeline } from '../sql/pipeline.js';
import { checkAhead, heldAhead } from './ahead.js';
import { type Change, readPublishedAt } from './change.js';
import { checkChanges } from './checks.js';
import { checkedIn, missingInStored } from './complete.js';
import { nextVersion, type StoredEntry } from './entry.js';
import { checkShared, follow, readSiblings, sharedOf, siblingsLock } from './locales.js';
import { noParts, readParts } from './parts.js';
import { withHashes } from './passwords.js';
import type { PreparedWrite } from './request.js';
import type { WriteEvent } from './session.js';
import { changesOf, type Snapshot } from './snapshot.js';
import {
  acceptData,
  changedCells,
  checkContext,
  checkMatch,
  chosenCreator,
  creator,
  findEntry,
  type Given,
  givenOf,
  instant,
  isDraftAfter,
  isUntimed,
  leaveOutIgnored,
  lockEntry,
  locksOf,
  makePrepared,
  type PublishedAt,
  parseData,
  pick,
  planChange,
  takeLocks,
  type Write,
  writesAhead,
} from './writing.js';

/**
 * An update whose body is parsed before the entry is read, which saves reading it twice. Null if a hook runs first, or if the
 * body is invalid: it is refused once the entry is known to exist, together with what the database says of it.
 */
export const prepareUnread = async (write: Write, id: number): Promise<PreparedWrite | null> => {
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

/** The input of an update, parsed. */
interface ParsedUpdate extends Given {
  readonly publishedAt: PublishedAt;
  readonly change: Change;
  /** Whether the data was parsed as that of a draft. */
  readonly isDraft: boolean;
}

/** @param unread keys of the data that had no effect, if nothing has been read of the entry. */
export const prepareUpdate = async (
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
  if (writesAhead(write)) await lockEntry(write, id);
  const held = await heldAhead(change, write);
  const locks = locksOf(write, change, id, held);
  const [, stored, siblings, parts, checked] = await pipeline(
    () => takeLocks([...locks.own, ...(isFollowed ? [siblingsLock(type)] : [])], write, locks.shared),
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
  const isDraft = isDraftAfter(request, stored, publishedAt);
  // it is a draft after all, or was published or unpublished while this request waited, so other rules apply
  if (isDraft !== parsed.isDraft) change = await acceptData(write, data, stored.id, isDraft);
  const undecided = checkMatch(write, stored);
  const snapshot: Snapshot = { ...unwrap(checked), parts, ahead: await checkAhead(change, held, write) };
  await checkShared(change, siblings, isDraft, (names) => acceptData(write, pick(data, names), stored.id, false));
  const isPublishedNow =
    type.draftAndPublish && stored.publishedAt === null && publishedAt !== undefined && publishedAt !== null;
  if (isPublishedNow) {
    const missing = await missingInStored(type, stored.id, checkedIn(change), context.model, session.tx, dialect);
    if (missing.length > 0) return refuseAll(missing);
  }
  const { times } = write.byHooks;
  const version = nextVersion(times?.shown ?? now(), [stored, ...siblings]);
  const { cells: system, version: ownVersion } = timesAfter(write, stored, version);
  system.push(...chosenCreator(request.creators, 'createdBy'));
  if (type.draftAndPublish && publishedAt !== undefined) system.push(instant('published_at', publishedAt));
  const hashed = await withHashes(change, hashes, write.byHooks.hashes, context.model);
  const plan = await planChange(hashed, stored.id, false, system, snapshot, write);
  const planned = { id: stored.id, change, plan };
  const { operations, followers } = await follow(planned, siblings, changedCells(request, version), checking);
  return makePrepared(write, {
    action: 'update',
    id: stored.id,
    version: ownVersion,
    data,
    operations: [...plan.operations, ...operations],
    followers,
    undecided,
    publication: publicationOf(type, stored, isDraft),
  });
};

/** What the server sets in the row of the entry, and the version that it then has: hooks may have set other times, or taken them away. */
const timesAfter = (
  { request, byHooks: { times } }: Write,
  stored: StoredEntry,
  version: number,
): { readonly cells: Cell[]; readonly version: number } => {
  if (isUntimed(request.type)) return { cells: [], version };
  if (!times || times.updatedAt === times.shown) {
    const cells = [...changedCells(request, version)];
    if (times?.createdAt !== undefined) cells.push(instant('created_at', times.createdAt));
    return { cells, version };
  }
  const { createdAt, updatedAt } = times;
  const cells = [...creator(request, 'updatedBy')];
  if (createdAt !== undefined) cells.push(instant('created_at', createdAt));
  if (updatedAt !== undefined) cells.push(instant('updated_at', updatedAt));
  return { cells, version: updatedAt ?? stored.version ?? version };
};

const publicationOf = (type: EntryType, { publishedAt }: StoredEntry, isDraft: boolean): WriteEvent['publication'] => {
  if (!type.draftAndPublish || isDraft === (publishedAt === null)) return undefined;
  return isDraft ? 'unpublish' : 'publish';
};
