/**
 * Writes the components of a body before hooks of v4 projects see it, as v4 does: hooks get their ids, and can read their rows.
 * The entry gives them their places later. What hooks leave out is removed again.
 */
import omit from 'lodash/omit.js';
import { issue, refuseAll, unwrap } from '../errors.js';
import type { EntryType, Model, PartAttribute } from '../model/model.js';
import { pipeline } from '../sql/pipeline.js';
import { AheadPart, type Change, type PartChange, type PartItem } from './change.js';
import { askUsed, checkChanges, findHeld, type HeldValue, type UniqueCell } from './checks.js';
import { idOf, isObject } from './ids.js';
import { type OwnerKey, ownerKey } from './keys.js';
import { looseOf } from './loose-parts.js';
import { noParts, readContained, readParts } from './parts.js';
import { withHashes } from './passwords.js';
import { ownMember } from './places.js';
import { isUnique, linkLocks, planPartsAhead } from './plan.js';
import { removalOf } from './removal.js';
import type { Data, WriteRequest } from './request.js';
import { runOperations } from './run.js';
import { changesOf, type Snapshot } from './snapshot.js';
import { checkContext, type Given, lockEntry, parseData, pick, settled, takeLocks, type Write } from './writing.js';

type Open = Record<string, unknown>;

const NO_ID = 0;

/**
 * Writes them and puts what stands for them into `shown`. False if a value is invalid: then nothing is written. Nothing is locked
 * but these rows and those of components that the entry has, so that others need not wait for hooks: `checkAhead` asks again.
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
  const { issues, change } = parseData(
    write,
    given,
    id === null ? 'create' : 'update',
    isDraft,
    new Set(type.attributes.keys()),
  );
  if (issues.length > 0) return false;
  const hashed = await withHashes(change, hashes, byHooks.hashes, context.model);
  const changes = changesOf(hashed, id).slice(1);
  const checking = checkContext(write);
  const owner = id !== null && changes.some((it) => it.id !== null) ? id : null;
  if (owner !== null) await lockEntry(write, owner);
  const locks = linkLocks(changes, session);
  const [, parts, checked] = await pipeline(
    () => takeLocks(locks.own, write, locks.shared),
    async () => (owner === null ? noParts : readParts(type, [owner], context.model, session.tx, dialect)),
    () => checkChanges(changes, checking),
  );
  const isHeard = hearing(write);
  const plan = await settled(write, changes, { ...unwrap(checked), parts }, (snapshot) =>
    planPartsAhead(hashed, id, snapshot, context.model, (it) => !isHeard(it)),
  );
  await runOperations(plan.operations, dialect, session.tx);
  const written = new Map<OwnerKey, AheadPart>();
  byHooks.ahead = written;
  for (const part of hashed.parts) {
    const seen: Open[] = [];
    for (const item of part.items) {
      const itsData = givenTo(item, part, given);
      const { type: component } = item.change;
      const partId =
        plan.ids.get(item) ?? (await write.inside(alone(item, itsData as Data, { hashes, isPartOfDraft: isDraft })));
      const ahead = new AheadPart({
        uid: component.uid,
        id: partId,
        given: itsData,
        was: item.id === null ? 'new' : 'own',
      });
      const key = ownerKey(component.uid, partId);
      written.set(key, ahead);
      session.pendingParts.add(key);
      seen.push(seenByHooks(ahead, part.attribute));
    }
    const { name, shape } = part.attribute;
    if (seen.length > 0) shown[name] = shape === 'one' ? seen[0] : seen;
  }
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
export const seenByHooks = (
  { id, uid }: Pick<AheadPart, 'id' | 'uid'>,
  { name, shape }: Pick<PartAttribute, 'name' | 'shape'>,
): Open =>
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
      const { __pivot: _place, ...rest } = isObject(item) ? item : { id: item };
      const uid = attribute.shape === 'zone' ? rest['__component'] : attribute.components[0];
      const written = ahead.get(ownerKey(String(uid), idOf(rest['id']) ?? NO_ID));
      if (written && !placed.has(written)) return written;
      // of one that the entry had before there is one only: it is refused
      if (written?.was === 'new') return isObject(written.given) ? omit(written.given, 'id') : written.given;
      return isObject(item) ? rest : item;
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
  const roots = [...ahead.values()].flatMap((it) => {
    const type = model.types.get(it.uid);
    return it.was === 'new' && type && !placed.has(it) ? [{ type, id: it.id }] : [];
  });
  if (roots.length === 0) return;
  const parts = await readContained(roots, model, session.tx, dialect);
  await runOperations(removalOf(roots, parts, model), dialect, session.tx);
};

/**
 * The unique values that the write, hooks included, has stored by now in components of the change that have been written ahead, and
 * in what they contain. The change takes their locks too.
 */
export const heldAhead = async (change: Change, write: Write): Promise<readonly HeldValue[]> => {
  const { context, session, dialect } = write;
  const placed = placedAhead(change);
  if (placed.length === 0) return [];
  const contained = await readContained(placed, context.model, session.tx, dialect);
  return findHeld(cellsSet(placed, contained, context.model), checkContext(write));
};

/**
 * What the components of a change that have been written ahead contain by now. To be called behind the locks of the change: refuses
 * unique values that other rows have too, and components that have become part of another entry.
 * @param held as `heldAhead` has found them.
 */
export const checkAhead = async (
  change: Change,
  held: readonly UniqueCell[],
  write: Write,
): Promise<Snapshot['parts']> => {
  const { context, session, dialect } = write;
  const placed = placedAhead(change);
  if (placed.length === 0) return noParts;
  const contained = await readContained(placed, context.model, session.tx, dialect);
  const loose = await looseOf(
    placed.filter((it) => it.ahead === 'loose'),
    write,
  );
  const taken = placed.filter((it) => it.ahead === 'loose' && !loose.has(ownerKey(it.type.uid, it.id)));
  const foreign = taken.map(({ path, id }) => issue('body.component-foreign', path.slice(0, 1), { id }));
  const issues = [...foreign, ...(await askUsed(held, checkContext(write)))];
  return issues.length > 0 ? refuseAll(issues) : contained;
};

interface PlacedAhead extends Pick<PartItem, 'path' | 'change'> {
  readonly type: EntryType;
  readonly id: number;
  readonly ahead: AheadPart['was'];
}

/** The components of a change that have been written ahead. */
const placedAhead = ({ parts }: Change): readonly PlacedAhead[] =>
  parts.flatMap(({ items }) =>
    items.flatMap(({ id, ahead, path, change }) =>
      id === null || ahead === null ? [] : [{ type: change.type, id, ahead, path, change }],
    ),
  );

interface SetRow extends Pick<PartItem, 'path'> {
  readonly type: EntryType;
  readonly id: number;
  /** What is set of it; null: everything. */
  readonly change: Change | null;
}

/**
 * The unique attributes that the write has set in these components, and in all that they contain: all of what is new, and those that
 * the request gives of what the entry had before. The others may have values that v4 has stored twice.
 */
const cellsSet = (
  placed: readonly PlacedAhead[],
  contained: Snapshot['parts'],
  { types }: Model,
): readonly UniqueCell[] => {
  const rows: SetRow[] = placed.map(({ ahead, change, ...it }) => ({ ...it, change: ahead === 'own' ? change : null }));
  // damaged rows may make a component contain itself
  const seen = new Set(rows.map((it) => ownerKey(it.type.uid, it.id)));
  for (let i = 0; i < rows.length; i++) {
    const { type, id, path, change } = rows[i]!;
    for (const it of contained.get(ownerKey(type.uid, id)) ?? []) {
      const component = types.get(it.uid);
      const part = change?.parts.find(({ attribute }) => attribute.name === it.attribute);
      const key = ownerKey(it.uid, it.id);
      if (!component || seen.has(key) || (change && !part)) continue;
      seen.add(key);
      const item = part?.items.find((given) => given.id === it.id && given.change.type === component);
      const at = [...path, it.attribute, ...(it.rank === null ? [] : [String(it.rank - 1)])];
      rows.push({ type: component, id: it.id, path: at, change: item?.change ?? null });
    }
  }
  return rows.flatMap(({ type, id, path, change }) =>
    (change ? change.values.map((it) => it.attribute) : [...type.attributes.values()]).flatMap((it) =>
      it.kind === 'scalar' && isUnique(it) ? [{ type, id, attribute: it, path: [...path, it.name] }] : [],
    ),
  );
};
