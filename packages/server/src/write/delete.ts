/** Prepares the deletion of an entry. */
import { issue, refuse } from '../errors.js';
import type { EntryType, LinkAttribute, Model } from '../model/model.js';
import { pipeline } from '../sql/pipeline.js';
import { siblingsLock } from './locales.js';
import type { Operation } from './operations.js';
import { owningPaths, readParts } from './parts.js';
import { removalOf } from './removal.js';
import type { PreparedWrite } from './request.js';
import { checkMatch, entryAfterHooks, findEntry, makePrepared, takeLocks, turning, type Write } from './writing.js';

export const prepareDelete = async (write: Write, id: number | null): Promise<PreparedWrite> => {
  const { request, context, dialect, session, hooks } = write;
  const { type } = request;
  const locks = linkTablesOf(type, context.model);
  const hook = hooks?.before('delete');
  const findParts = (of: number) => readParts(type, [of], context.model, session.tx, dialect);
  const [, found, early] = await pipeline(
    () => takeLocks(type.localized ? [...locks, siblingsLock(type)] : locks, write),
    () => findEntry(write, id, 'locked'),
    // a hook may change them
    async () => (id === null || hook ? null : findParts(id)),
  );
  if (found === null) return refuse(issue('http.not-found', []));
  const undecided = checkMatch(write, found);
  await hook?.({ id: found.id, data: null, session, ...turning(write) });
  const stored = await entryAfterHooks(write, found, 'locked');
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
