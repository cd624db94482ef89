/**
 * Writes the components of a body before hooks of v4 projects see it, as v4 does: hooks get their ids, and can read their rows.
 * The entry gives them their places later. What hooks leave out is removed again.
 */
import { unwrap } from '../errors.js';
import type { EntryType, Model } from '../model/model.js';
import { pipeline } from '../sql/pipeline.js';
import { AheadPart, type PartChange, type PartItem } from './change.js';
import { checkChanges } from './checks.js';
import { isObjectOrList } from './ids.js';
import { ownerKey } from './keys.js';
import { readParts } from './parts.js';
import { withHashes } from './passwords.js';
import { ownMember } from './places.js';
import { lockNames, planPartsAhead } from './plan.js';
import { removalOf } from './removal.js';
import type { Data } from './request.js';
import { runOperations } from './run.js';
import { changesOf } from './snapshot.js';
import { checkContext, type Given, noParts, parseData, pick, settled, takeLocks, type Write } from './writing.js';

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
  const named = new Set([...type.attributes.values()].flatMap((it) => (it.kind === 'part' ? [it.name] : [])));
  const given = pick(data, named);
  if (!Object.values(given).some((it) => it !== null && it !== undefined)) return true;
  // nothing is said of other attributes
  const others = new Set(type.attributes.keys());
  const { change, issues } = parseData(write, given, id === null ? 'create' : 'update', isDraft, others);
  if (issues.length > 0) return false;
  const hashed = await withHashes(change, hashes, byHooks.hashes, context.model);
  const changes = changesOf(hashed, id).slice(1);
  const [, parts, checked] = await pipeline(
    () => takeLocks(lockNames(changes), write),
    async () => (id === null ? noParts : readParts(type, [id], context.model, session.tx, dialect)),
    () => checkChanges(changes, checkContext(write)),
  );
  const plan = await settled(write, changes, { ...unwrap(checked), parts }, (snapshot) =>
    planPartsAhead(hashed, id, snapshot, context.model),
  );
  await runOperations(plan.operations, dialect, session.tx);
  byHooks.ahead = { parts: plan.parts, written: new Map() };
  for (const part of hashed.parts) {
    const seen = part.items.map((item) => {
      const written = new AheadPart({
        uid: item.change.type.uid,
        id: plan.ids.get(item)!,
        given: givenTo(item, part, given),
        isNew: item.id === null,
      });
      byHooks.ahead.written.set(ownerKey(written.uid, written.id), written);
      return seenByHooks(written, part);
    });
    const { name, shape } = part.attribute;
    if (seen.length > 0) shown[name] = shape === 'one' ? seen[0] : seen;
  }
  return true;
};

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
      if (!isObjectOrList(item) || Array.isArray(item)) return item;
      const { __pivot: _place, ...rest } = item;
      const uid = attribute.shape === 'zone' ? item['__component'] : attribute.components[0];
      const written = ahead.written.get(ownerKey(String(uid), Number(item['id'])));
      if (!written) return rest;
      return written.isNew && placed.has(written) ? written.given : written;
    };
    const value = ownMember(data, attribute.name);
    if (value === undefined) continue;
    const left = Array.isArray(value) ? value.map(known) : known(value);
    data[attribute.name] = left;
    for (const it of [left].flat()) if (it instanceof AheadPart) placed.add(it);
  }
};

/** Removes new components that hooks have taken out of the data. */
export const removeUnplaced = async (
  { byHooks: { ahead }, session, dialect }: Write,
  data: Data,
  model: Model,
): Promise<void> => {
  const placed = new Set(Object.values(data).flat());
  const roots = [...ahead.written.values()].flatMap((it) => {
    const type = model.types.get(it.uid);
    return it.isNew && type && !placed.has(it) ? [{ type, id: it.id }] : [];
  });
  if (roots.length > 0) await runOperations(removalOf(roots, ahead.parts, model), dialect, session.tx);
};
