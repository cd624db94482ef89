/**
 * What an administrator may write (AD11, AD12, AD13): checked on the request itself, before any hook of the project, which may set what it
 * likes. Throws `Refusal`.
 */
import { sql } from 'kysely';
import omit from 'lodash/omit.js';
import { type Issue, issue, refuse, refuseAll } from '../errors.js';
import { limits } from '../limits.js';
import type { EntryType, Model } from '../model/model.js';
import type { ChangeGate, GovernedEntry } from '../query/selection.js';
import { findSourceOf } from './create.js';
import { ownMember } from './places.js';
import type { Data, WriteRequest } from './request.js';
import { findEntry, type Write } from './writing.js';

/** The write as far as the administrator may make it: refused, or as a draft if it must not be published. */
export const governed = async (write: Write, gate: ChangeGate): Promise<Write> => {
  const { request } = write;
  const { type } = request;
  if (request.action === 'delete') {
    await checkStored(write, request.id, 'delete', gate);
    return write;
  }
  if (request.action === 'create' && request.source)
    await checkStored(write, (await findSourceOf(write, request.source.id)).id, 'update', gate);
  const stored =
    request.action === 'update' || (type.kind === 'single' && !request.source)
      ? await checkStored(write, request.action === 'update' ? request.id : null, 'update', gate)
      : null;
  if (stored === null && request.action === 'update' && (type.kind !== 'single' || request.id !== null))
    return refuse(issue('http.not-found', []));
  const action = stored === null ? 'create' : 'update';
  const entry = stored ?? newEntry(write);
  if (!gate.covers(action, type, entry)) return refuse(issue('http.forbidden', []));
  checkFields(omit(request.data, [...(request.ownNames ?? [])]), type, action, write.context.model, gate);
  if (!type.draftAndPublish || gate.covers('publish', type, entry)) return write;
  const { publishedAt } = request.data;
  if (publishedAt !== undefined && !(publishedAt === null && stored === null))
    return refuse(issue('body.not-publishable', ['publishedAt']));
  // without a word of it a new entry would be published
  return stored === null ? withData(write, { ...request.data, publishedAt: null }) : write;
};

const withData = (write: Write, data: Data): Write => ({
  ...write,
  request: { ...write.request, data } as WriteRequest,
});

/** The entry that is written, if there is one and the permissions for the action cover it. @param id null: that of a single type. */
const checkStored = async (
  write: Write,
  id: number | null,
  action: 'update' | 'delete',
  gate: ChangeGate,
): Promise<GovernedEntry | null> => {
  const { type } = write.request;
  const found = await findEntry(write, id, 'plain');
  if (!found) return null;
  const entry = { creatorId: await creatorOf(type, found.id, write), locale: found.locale };
  if (gate.covers(action, type, entry)) return entry;
  // an entry that they may not see is as good as none
  if (gate.covers('read', type, entry)) return refuse(issue('http.forbidden', []));
  return refuse(issue(write.request.action === 'create' ? 'locale.no-entry' : 'http.not-found', []));
};

const creatorOf = async ({ table }: EntryType, id: number, { session, dialect }: Write): Promise<number | null> => {
  const [[creator = null] = []] = await session.tx.run(
    dialect.compile(sql`select created_by_id from ${sql.table(table)} where id = ${dialect.bind('id', id)}`),
  );
  return creator as number | null;
};

const newEntry = ({ request, context }: Write): GovernedEntry => {
  const { type, adminId = null } = request;
  const given = request.action === 'delete' ? undefined : (request.locale ?? ownMember(request.data, 'locale'));
  const locale = typeof given === 'string' ? given : context.defaultLocale;
  return { creatorId: adminId, locale: type.localized ? locale : null };
};

/** Iterative, because clients choose the nesting depth of components. */
const checkFields = (
  data: Data,
  root: EntryType,
  action: 'create' | 'update',
  { types }: Model,
  gate: ChangeGate,
): void => {
  const issues: Issue[] = [];
  const places: { readonly data: Data; readonly type: EntryType; readonly path: readonly string[] }[] = [
    { data, type: root, path: [] },
  ];
  for (const place of places) {
    if (issues.length > limits.issuesMax) break;
    for (const [name, value] of Object.entries(place.data)) {
      const attribute = place.type.attributes.get(name);
      if (!attribute || value === undefined) continue;
      const path = [...place.path, name];
      if (!gate.hasField(action, place.type, attribute)) issues.push(issue('body.not-writable', path));
      else if (attribute.kind === 'part') {
        const items: readonly unknown[] = Array.isArray(value) ? value : [value];
        for (const [i, item] of items.entries()) {
          if (item === null || typeof item !== 'object') continue;
          const inside = item as Data;
          const uid = attribute.shape === 'zone' ? inside['__component'] : attribute.components[0];
          const type = typeof uid === 'string' ? types.get(uid) : undefined;
          if (type) places.push({ data: inside, type, path: Array.isArray(value) ? [...path, String(i)] : path });
        }
      }
    }
  }
  if (issues.length > 0) refuseAll(issues);
};
