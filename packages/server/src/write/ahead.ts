/**
 * Writes the components of a body before hooks of v4 projects see it, as v4 does: hooks get their ids, and can read their rows.
 * The entry gives them their places later. What hooks leave out is removed again.
 */
import { issue, refuse, unwrap } from '../errors.js';
import type { EntryType, Model } from '../model/model.js';
import { pipeline } from '../sql/pipeline.js';
import { AheadPart, type ParsedBody, type PartChange, type PartItem } from './change.js';
import { checkChanges } from './checks.js';
import { isObject } from './ids.js';
import { type OwnerKey, ownerKey } from './keys.js';
import { sharedOf, siblingsLock } from './locales.js';
import { pendingParts } from './loose-parts.js';
import { readContained, readParts } from './parts.js';
import { withHashes } from './passwords.js';
import { ownMember } from './places.js';
import { lockNames, planPartsAhead } from './plan.js';
import { removalOf } from './removal.js';
import type { Data, WriteRequest } from './request.js';
import { runOperations } from './run.js';
import { changesOf } from './snapshot.js';
import {
  checkContext,
  findEntry,
  type Given,
  noParts,
  parseData,
  pick,
  settled,
  takeLocks,
  type Write,
} from './writing.js';

type Open = Record<string, unknown>;

/**
 * Writes them and puts what stands for them into `shown`. False if a value is invalid: then nothing is written.
 * @param id of the entry; null if it is new. Throws a `Refusal` for what the database refuses.
 */
export const writePartsAhead = async (
  write: Write,
  { data, hashes }: Given,
  { id, isDraft, shown }: { readonly id: number | null; readonly isDraft: boolean; readonly shown: Open },
): Promise<boolean> => {
  const { request, context, session, dialect, byHooks } = write;
  const { type } = request;
  const given = pick(
    data,
    new Set([...type.attributes.values()].flatMap((it) => (it.kind === 'part' ? [it.name] : []))),
  );
  if (!Object.values(given).some((it) => it !== null && it !== undefined)) return true;
  // what is missing of the entry itself, hooks may add, and what is wrong with it they may mend
  const parse = (of: Data): ParsedBody =>
    parseData(write, of, id === null ? 'create' : 'update', isDraft, new Set(type.attributes.keys()));
  const { issues, change } = parse(given);
  if (issues.length > 0) return false;
  const whole = parse(data).change;
  const hashed = await withHashes(change, hashes, byHooks.hashes, context.model);
  const changes = changesOf(hashed, id).slice(1);
  const isShared = sharedOf(whole) !== null || (request.action === 'create' && request.source !== undefined);
  const [, stored, parts, checked] = await pipeline(
    // all that the write takes, in the order in which every other takes them
    () => takeLocks([...lockNames(changesOf(whole, id)), ...(isShared ? [siblingsLock(type)] : [])], write),
    async () => (id === null ? null : findEntry(write, id, 'locked')),
    async () => (id === null ? noParts : readParts(type, [id], context.model, session.tx, dialect)),
    () => checkChanges(changes, checkContext(write)),
  );
  if (id !== null && stored === null) return refuse(issue('http.not-found', []));
  const isHeard = hearing(write);
  const plan = await settled(write, changes, { ...unwrap(checked), parts }, (snapshot) =>
    planPartsAhead(hashed, id, snapshot, context.model, (it) => !isHeard(it)),
  );
  await runOperations(plan.operations, dialect, session.tx);
  const alones: { readonly type: EntryType; readonly id: number }[] = [];
  const written = new Map<OwnerKey, AheadPart>();
  for (const part of hashed.parts) {
    const seen: Open[] = [];
    for (const item of part.items) {
      const itsData = givenTo(item, part, given);
      const { type: component } = item.change;
      const known = plan.ids.get(item);
      const partId = known ?? (await write.inside(alone(item, itsData as Data, { hashes, isPartOfDraft: isDraft })));
      if (known === undefined) alones.push({ type: component, id: partId });
      const ahead = new AheadPart({
        uid: component.uid,
        id: partId,
        given: itsData,
        was: item.id === null ? 'new' : 'own',
      });
      written.set(ownerKey(component.uid, partId), ahead);
      seen.push(seenByHooks(ahead, part));
    }
    const { name, shape } = part.attribute;
    if (seen.length > 0) shown[name] = shape === 'one' ? seen[0] : seen;
  }
  const contained = await readContained(alones, context.model, session.tx, dialect);
  byHooks.ahead = { parts: new Map([...plan.parts, ...contained]), written };
  pendingParts.set(session, new Set([...(pendingParts.get(session) ?? []), ...written.keys()]));
  return true;
};

/** Whether hooks hear of a component, or of one that it contains: then it is written by itself. */
const hearing =
  ({ hooksOf }: Write): ((item: PartItem) => boolean) =>
  ({ id, change }) =>
    changesOf(change, id).some((it) => {
      const action = it.id === null ? 'create' : 'update';
      const hooks = hooksOf({ type: it.change.type, action: 'create', data: {}, isPartOfDraft: false });
      return (hooks?.before(action) ?? hooks?.after(action)) !== undefined;
    });

/** The write of a component by itself. @param data as the body has it. */
const alone = (
  { id, change: { type } }: PartItem,
  { __component: _uid, ...data }: Data,
  rest: Pick<WriteRequest & { readonly action: 'create' }, 'hashes' | 'isPartOfDraft'>,
): WriteRequest =>
  id === null ? { type, action: 'create', data, ...rest } : { type, action: 'update', id, data, ...rest };

const givenTo = ({ path }: PartItem, { attribute }: PartChange, given: Data): unknown => {
  const value = given[attribute.name];
  return attribute.shape === 'one' ? value : (value as readonly unknown[])[Number(path.at(-1))];
};

/** In the form that v4 gives to its database layer. */
const seenByHooks = ({ id, uid }: AheadPart, { attribute: { name, shape } }: PartChange): Open =>
  shape === 'zone'
    ? { id, __component: uid, __pivot: { field: name } }
    : { id, __pivot: { field: name, component_type: uid } };

/**
 * Data that hooks have left: components that were written ahead are those again, whatever else hooks have put beside their ids. A new
 * one that they have put under another attribute too is written a second time there: v4 would let both have the same row.
 */
export const knowAhead = (data: Open, type: EntryType, { byHooks: { ahead } }: Write): void => {
  const placed = new Set<AheadPart>();
  for (const attribute of type.attributes.values()) {
    if (attribute.kind !== 'part') continue;
    const known = (item: unknown): unknown => {
      if (!isObject(item)) return item;
      const { __pivot: _place, ...rest } = item;
      const uid = attribute.shape === 'zone' ? item['__component'] : attribute.components[0];
      const written = ahead.written.get(ownerKey(String(uid), Number(item['id'])));
      if (!written) return rest;
      if (!placed.has(written)) return written;
      // of one that the entry had before there is one only: it is refused
      return written.was === 'new' ? written.given : rest;
    };
    const value = ownMember(data, attribute.name);
    if (value === undefined) continue;
    const left = Array.isArray(value) ? value.map(known) : known(value);
    data[attribute.name] = left;
    for (const it of [left].flat()) if (it instanceof AheadPart) placed.add(it);
  }
};

/** Removes new components that hooks have taken out of the data, with what they contain by now. */
export const removeUnplaced = async (
  { byHooks: { ahead }, session, dialect }: Write,
  data: Data,
  model: Model,
): Promise<void> => {
  const placed = new Set(Object.values(data).flat());
  const roots = [...ahead.written.values()].flatMap((it) => {
    const type = model.types.get(it.uid);
    return it.was === 'new' && type && !placed.has(it) ? [{ type, id: it.id }] : [];
  });
  if (roots.length === 0) return;
  const parts = await readContained(roots, model, session.tx, dialect);
  await runOperations(removalOf(roots, parts, model), dialect, session.tx);
};
