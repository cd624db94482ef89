/** Prepares the deletion of an entry. */
import { issue, refuse } from '../errors.js';
import type { EntryType, LinkAttribute, Model } from '../model/model.js';
import { pipeline } from '../sql/pipeline.js';
import type { StoredEntry } from './entry.js';
import { siblingsLock } from './locales.js';
import type { Operation } from './operations.js';
import { owningPaths, readParts } from './parts.js';
import { removalOf } from './removal.js';
import type { PreparedWrite } from './request.js';
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
} from './writing.js';

export const prepareDelete = async (write: Write, id: number | null): Promise<PreparedWrite> => {
  const { request, context, dialect, session, hooks } = write;
  const { type } = request;
  const links = linkTablesOf(type, context.model);
  const locks = type.localized ? [...links, siblingsLock(type)] : links;
  // others need not wait for the hook, unless theirs run behind these locks and may write the same as it: then it does, too
  if (hooks?.before('delete') && hooks.runsAfter()) {
    await lockTarget(write, id);
    await takeLocks(locks, write);
  }
  const seen = await runHook(write, id);
  const target = seen?.id ?? id;
  await lockTarget(write, target);
  const findParts = (of: number) => readParts(type, [of], context.model, session.tx, dialect);
  const [, found, early] = await pipeline(
    () => takeLocks(locks, write),
    () => findEntry(write, target, 'locked'),
    async () => (target === null ? null : findParts(target)),
  );
  // the hook itself may have deleted it
  const stored = found ?? (seen && hasDeleted(write, seen) ? seen : refuse(issue('http.not-found', [])));
  const undecided = checkMatch(write, stored);
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
  });
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

const hasDeleted = ({ session, request: { type } }: Write, { id }: StoredEntry): boolean =>
  session.events.some((it) => it.action === 'delete' && it.type === type && it.id === id);

/** A component that code deletes by itself leaves the entries and components that it is a part of. */
const removalFromOwners = (type: EntryType, id: number, model: Model): readonly Operation[] =>
  owningPaths(type, model).map(({ table, to, typeColumn }) => ({
    kind: 'delete',
    table,
    column: to,
    ids: [id],
    fixed: [{ column: typeColumn!, value: type.uid }],
  }));

const linkTablesOf = (type: EntryType, model: Model): readonly string[] => {
  const links = (it: EntryType): readonly LinkAttribute[] =>
    [...it.attributes.values()].filter((attribute) => attribute.kind === 'link');
  const touching = [
    ...links(type),
    ...[...model.types.values()].flatMap((other) => links(other).filter((it) => it.target === type.uid)),
  ];
  return touching.filter((it) => it.inverse !== null).map((it) => it.path.table);
};
