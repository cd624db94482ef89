/** Prepares the creation of an entry, in one locale or as a sibling of another. */
import { sql } from 'kysely';
import { bug, issue, refuse, unwrap } from '../errors.js';
import type { Cell, Statement } from '../sql/dialect.js';
import { pipeline } from '../sql/pipeline.js';
import { checkAhead, heldAhead } from './ahead.js';
import { checkChanges, countedQuestions } from './checks.js';
import { nextVersion, type StoredEntry } from './entry.js';
import {
  checkInherited,
  checkShared,
  findSource,
  follow,
  inheritedNames,
  join,
  localeOfNew,
  localeOfSibling,
  readGroup,
  siblingsLock,
} from './locales.js';
import { askedTargets } from './morphs.js';
import { noParts } from './parts.js';
import { withHashes } from './passwords.js';
import { ownMember } from './places.js';
import type { Locks } from './plan.js';
import { type PreparedWrite, refuseChanged } from './request.js';
import { changesOf, isExclusive, type OwnedChange, type Snapshot } from './snapshot.js';
import {
  acceptData,
  changedCells,
  checkContext,
  chosenId,
  creator,
  type Given,
  instant,
  isOfCode,
  isUntimed,
  lockEntry,
  locksOf,
  makePrepared,
  noNames,
  type PublishedAt,
  pick,
  planChange,
  takeLocks,
  type Write,
  writesAhead,
} from './writing.js';

/** @param source null, or the entry of which the new one becomes a sibling. */
export const prepareCreate = async (
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
  const accepted = request.isUntold ? 'any' : 'existing';
  const sibling = source && {
    id: source.id,
    locale: await localeOfSibling(ownMember(data, 'locale'), accepted, checking),
  };
  // an entry is published with its creation, a sibling is a draft at first
  const isDraft =
    request.isPartOfDraft ??
    (type.draftAndPublish && (publishedAt === null || (publishedAt === undefined && sibling !== null)));
  const inherited = sibling ? inheritedNames(type, data, { isOfCode: isOfCode(write) }) : noNames;
  const change = await acceptData(write, data, null, isDraft, inherited);
  const changes = changesOf(change, null);
  if (type.kind === 'single' && !sibling && type.localized && (await hasEntries(write)))
    return refuse(issue('body.single-exists', []));
  const given = request.locale ?? ownMember(data, 'locale');
  const locale =
    sibling?.locale ?? (type.localized ? await localeOfNew(given, context.defaultLocale, accepted, checking) : null);
  const held = await heldAhead(change, write);
  const locks = locksOf(write, change, null, held);
  const early = sibling ? null : await askThenLock(write, changes, locks);
  const { group, checked, before } = early ?? (await lockThenAsk(write, changes, locks, sibling));
  const snapshot: Snapshot = { ...checked, parts: noParts, ahead: await checkAhead(change, held, write) };
  await checkShared(change, group, isDraft, (names) => acceptData(write, pick(data, names), group[0]!.id, false));
  if (sibling) await checkInherited(change, group[0]!.id, isDraft, checking);
  const newId = chosenId(write);
  const [reserved] = snapshot.newIds.get(type.uid) ?? [];
  const id = newId ?? reserved;
  if (id === undefined) throw bug('apply.id-not-reserved', { uid: type.uid });
  const { times } = write.byHooks;
  const time = times?.shown ?? now();
  const { createdAt, updatedAt } = times ?? { createdAt: time, updatedAt: time };
  const system: Cell[] = isUntimed(type)
    ? []
    : [
        instant('created_at', createdAt ?? null),
        instant('updated_at', updatedAt ?? null),
        ...creator(request, 'createdBy'),
        ...creator(request, 'updatedBy'),
      ];
  if (type.draftAndPublish) system.push(instant('published_at', isDraft ? null : (publishedAt ?? time)));
  else if (type.keepsPublishedAt) system.push(instant('published_at', time));
  if (type.localized) system.push({ column: 'locale', kind: 'string', value: locale });
  const hashed = await withHashes(change, hashes, write.byHooks.hashes, context.model);
  const plan = await planChange(hashed, id, true, system, snapshot, write);
  const changed = changedCells(request, nextVersion(time, group));
  const planned = { id, change, plan };
  const { operations, followers } = await (sibling ? join : follow)(planned, group, changed, checking);
  return makePrepared(write, {
    action: 'create',
    id,
    version: updatedAt ?? time,
    data,
    operations: [
      ...plan.operations,
      ...(newId === null ? [] : [{ kind: 'continue', table: type.table } as const]),
      ...operations,
    ],
    followers,
    before,
    undecided: null,
  });
};

interface Asked {
  /** The siblings of a new sibling. */
  readonly group: readonly StoredEntry[];
  readonly checked: Omit<Snapshot, 'parts'>;
  /** Statements that the operations rely on. */
  readonly before: readonly Statement[];
}

/** @param sibling null, or the entry of which the new one becomes a sibling, and the locale of the new one. */
const lockThenAsk = async (
  write: Write,
  changes: readonly OwnedChange[],
  { own, shared }: Locks,
  sibling: { readonly id: number; readonly locale: string } | null,
): Promise<Asked> => {
  const { type } = write.request;
  const checking = checkContext(write);
  if (sibling && writesAhead(write)) await lockEntry(write, sibling.id);
  const [, group, checked] = await pipeline(
    () => takeLocks(sibling ? [...own, siblingsLock(type)] : own, write, shared),
    async () => (sibling ? readGroup(type, sibling.id, sibling.locale, checking) : []),
    () => checkChanges(changes, checking),
  );
  return { group, checked: unwrap(checked), before: [] };
};

/**
 * The other way round, so that writers wait only for each other's last round trip: behind the locks a statement fails if what was
 * found of other entries has changed, and ranks in their lists are decided as the rows are inserted. Null where that would not
 * be enough.
 */
const askThenLock = async (write: Write, changes: readonly OwnedChange[], locks: Locks): Promise<Asked | null> => {
  const { dialect, hooks, place, session } = write;
  const lock = dialect.lock(locks.own, locks.shared);
  // hooks would be run again
  const mayRepeat = place === 'last' && session.tx.mayLockLate && !hooks?.before('create');
  if (!lock || !mayRepeat || changes.some(({ change }) => change.links.some(isExclusive))) return null;
  // what they lead to is locked as it is asked for, which comes behind the locks
  if (changes.some(({ change }) => change.morphs.some((it) => askedTargets(it).length > 0))) return null;
  // components that are there already could become part of another entry meanwhile
  if (changes.some(({ change: { parts } }) => parts.some(({ items }) => items.some((it) => it.ahead !== null))))
    return null;
  const checking = checkContext(write);
  const counted = countedQuestions(changes, checking);
  if (counted.length > QUESTIONS_MAX) return null;
  const checked = unwrap(await checkChanges(changes, checking));
  if (checked.unsound.length > 0) return null;
  const unchanged = counted.length > 0 ? dialect.unchanged(counted) : null;
  return { group: [], checked: { ...checked, isEarly: true }, before: unchanged ? [lock, unchanged] : [lock] };
};

/** Questions in one statement: to plan it takes longer with each. */
const QUESTIONS_MAX = 24;

export const findSourceOf = (write: Write, id: number | null): Promise<StoredEntry> =>
  findSource(write.request.type, id, write.context.defaultLocale, checkContext(write));

/** Whether a single type has an entry in any locale. */
const hasEntries = async ({ request: { type }, dialect, session }: Write): Promise<boolean> =>
  (await session.tx.run(dialect.compile(sql`select 1 from ${sql.table(type.table)} limit 1`))).length > 0;
