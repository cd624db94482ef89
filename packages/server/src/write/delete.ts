/** Prepares the deletion of an entry. */

import { sql } from 'kysely';
import { issue, refuse } from '../errors.js';
import type { EntryType, LinkAttribute, Model } from '../model/model.js';
import { withValues } from '../sql/dialect.js';
import { keptStatement } from '../sql/kept.js';
import { pipeline } from '../sql/pipeline.js';
import type { StoredEntry } from './entry.js';
import { column } from './lists.js';
import { siblingsLock } from './locales.js';
import type { Operation } from './operations.js';
import { owningPaths, readParts } from './parts.js';
import { linkLock } from './plan.js';
import { removalOf } from './removal.js';
import type { PreparedWrite } from './request.js';
import type { Session } from './session.js';
import {
  checkMatch,
  entryAfterHooks,
  findEntry,
  lockEntry,
  makePrepared,
  takeLocks,
  turning,
  type Write,
  writesAhead,
  writesAlone,
} from './writing.js';

export const prepareDelete = async (write: Write, id: number | null): Promise<PreparedWrite> => {
  const { request, context, dialect, session } = write;
  const { type } = request;
  // before the hook: updates hold it while theirs run
  await lockTarget(write, id);
  const seen = await runHook(write, id);
  const target = seen?.id ?? id;
  if (target !== id) await lockTarget(write, target);
  const findParts = (of: number) => readParts(type, [of], context.model, session.tx, dialect);
  const locks = runsHooks(write) || writesAlone(write) ? [] : await locksOfDeletion(write, target);
  const [, found, , early] = await pipeline(
    () => takeLocks(locks, write),
    () => findEntry(write, target, 'deleted'),
    async () => (target === null ? undefined : lockLinksWithin(write, target)),
    async () => (target === null ? null : findParts(target)),
  );
  // the hook itself may have deleted it
  const isGone = found === null && seen !== null && hasDeleted(session, type, seen.id);
  const stored = found ?? (isGone ? seen : refuse(issue('http.not-found', [])));
  const undecided = checkMatch(write, stored);
  if (target === null) await lockLinksWithin(write, stored.id);
  const parts = early ?? (await findParts(stored.id));
  const operations = [
    ...(type.kind === 'component' ? removalFromOwners(type, stored.id, context.model) : []),
    ...removalOf([{ type, id: stored.id }], parts, context.model),
  ];
  const version = stored.version ?? 0;
  return makePrepared(write, {
    action: 'delete',
    id: stored.id,
    version,
    data: null,
    operations,
    followers: [],
    undecided,
    isGone,
  });
};

/** Whether code of the project runs in the transaction, before the deletion or after it. */
const runsHooks = ({ hooks }: Write): boolean => (hooks?.before('delete') ?? hooks?.after('delete')) !== undefined;

/**
 * The links of the entry in relations with two sides, and its siblings: what other writers lock before they change rows that the deletion
 * deletes, too. Where hooks run, a deletion takes none: others would wait for them, and hooks that run behind these locks may write the
 * same as these. Rows that lead to the entry are kept apart from it all the same: whoever adds one locks the entry, by a foreign key
 * or `forReference`.
 * @param target null for the entry of a single type.
 */
const locksOfDeletion = async (write: Write, target: number | null): Promise<readonly string[]> => {
  const { type } = write.request;
  const id = target ?? (await findEntry(write, null, 'plain'))?.id;
  if (id === undefined) return [];
  const links = (it: EntryType): readonly LinkAttribute[] =>
    [...it.attributes.values()].flatMap((attribute) =>
      attribute.kind === 'link' && attribute.inverse !== null ? [attribute] : [],
    );
  const leading = [...write.context.model.types.values()].flatMap((other) =>
    links(other).filter((it) => it.target === type.uid),
  );
  return [
    ...links(type).map(({ path }) => linkLock(path.table, path.from, id)),
    ...leading.map(({ path }) => linkLock(path.table, path.to, id)),
    ...(type.localized ? [siblingsLock(type)] : []),
  ];
};

/** Takes the lock of the entry, which updates hold while their hooks run. @param id null for that of a single type. */
const lockTarget = async (write: Write, id: number | null): Promise<void> => {
  if (!writesAhead(write)) return;
  const target = id ?? (await findEntry(write, null, 'plain'))?.id;
  if (target !== undefined) await lockEntry(write, target);
};

/** Runs the hook before a deletion. @returns the entry that is deleted; null without a hook. */
const runHook = async (write: Write, id: number | null): Promise<StoredEntry | null> => {
  const hook = write.hooks?.before('delete');
  if (!hook) return null;
  const found = (await findEntry(write, id, 'plain')) ?? refuse(issue('http.not-found', []));
  checkMatch(write, found);
  await hook({ id: found.id, data: null, session: write.session, ...turning(write) });
  return entryAfterHooks(write, found);
};

/** Whether the transaction has deleted an entry. Code of a v4 project writes by types of its own. */
export const hasDeleted = ({ events }: Session, { uid }: EntryType, id: number): boolean =>
  events.some((it) => it.action === 'delete' && it.type.uid === uid && it.id === id);

/** A component that code deletes by itself leaves the entries and components that it is a part of. */
const removalFromOwners = (type: EntryType, id: number, model: Model): readonly Operation[] =>
  owningPaths(type, model).map(({ table, to, typeColumn }) => ({
    kind: 'delete',
    table,
    column: to,
    ids: [id],
    fixed: [{ column: typeColumn!, value: type.uid }],
  }));

/**
 * Locks the links between the entry and others of its type in one order: two entries that are linked to each other may be deleted at once.
 */
const lockLinksWithin = async (write: Write, id: number): Promise<void> => {
  if (writesAlone(write)) return;
  const { request, dialect, session } = write;
  const paths = [...request.type.attributes.values()].flatMap((it) =>
    it.kind === 'link' &&
    it.source === 'relation' &&
    it.target === request.type.uid &&
    it.path.from !== 'id' &&
    it.path.to !== 'id'
      ? [it.path]
      : [],
  );
  const byTable = new Map(paths.map((it) => [it.table, it]));
  const locks = [...byTable.keys()].sort().map((table) => {
    const { from, to } = byTable.get(table)!;
    const statement = keptStatement(dialect, `links within ${table}`, () => {
      const own = dialect.bindSlot('id', 0);
      const links = sql`select l.id from ${sql.table(table)} l where ${column('l', from)} = ${own} or ${column('l', to)} = ${own} order by l.id${dialect.forUpdate}`;
      // there may be many
      return sql`select count(*) from (${links}) locked`;
    });
    return withValues(statement, [id], dialect);
  });
  await session.tx.runAll(locks);
};
