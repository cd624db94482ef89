/** Edits of an entry laid over what somebody else has stored meanwhile. */
import { withoutPlaces } from '../relations/relation-edit.js';
import type { Field, FieldPath, Fields, Part, PartsField } from './fields.js';
import { isSameField, pathTo } from './paths.js';

interface Merged {
  readonly fields: Fields;
  /** Where both have changed the same thing differently: the edit stands. */
  readonly conflicts: readonly FieldPath[];
}

/**
 * What was edited stays edited, all else is as it is stored now.
 * @param base what the edits began with
 */
export const mergeFields = (base: Fields, mine: Fields, theirs: Fields): Merged => {
  const conflicts: FieldPath[] = [];
  return { fields: merge(base, mine, theirs, '', conflicts), conflicts };
};

/** Components that a save has stored, by the keys and ids that they have since. They are stored in the order in which they were sent. */
export const withStoredKeys = (fields: Fields, sent: Fields, stored: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const was = sent[name];
      const now = stored[name];
      if (field.kind !== 'parts' || was?.kind !== 'parts' || now?.kind !== 'parts') return [name, field];
      const keyed = (part: Part): Part => {
        const place = was.parts.findIndex(({ key }) => key === part.key);
        const [before, after] = [was.parts[place], now.parts[place]];
        if (!before || after?.component !== part.component) return part;
        const { key, id } = after;
        return { ...part, key, id, fields: withStoredKeys(part.fields, before.fields, after.fields) };
      };
      return [name, fieldOf(field.parts.map(keyed))];
    }),
  );

const merge = (
  base: Fields | undefined,
  mine: Fields,
  theirs: Fields,
  at: FieldPath,
  conflicts: FieldPath[],
): Fields => {
  const merged = Object.fromEntries(
    Object.entries(theirs).map(([name, field]) => {
      const own = mine[name];
      return [name, own ? mergeField(base?.[name], own, field, pathTo(at, name), conflicts) : field];
    }),
  );
  return Object.keys(theirs).every((name) => merged[name] === theirs[name]) ? theirs : merged;
};

const isSame = (a: Field | undefined, b: Field): boolean => a !== undefined && isSameField(a, b);

const mergeField = (
  base: Field | undefined,
  mine: Field,
  theirs: Field,
  at: FieldPath,
  conflicts: FieldPath[],
): Field => {
  if (isSame(base, mine) || isSame(theirs, mine)) return theirs;
  if (mine.kind === 'parts' && theirs.kind === 'parts')
    return mergeParts(base?.kind === 'parts' ? base : { kind: 'parts', parts: [] }, mine, theirs, at, conflicts);
  if (mine.kind === 'relation' && theirs.kind === 'relation') return { ...theirs, edit: mine.edit };
  if (!isSame(base, theirs)) conflicts.push(at);
  return mine;
};

/**
 * The order is that of the edit if it has changed the list, with what was added meanwhile behind its neighbour. A
 * component that was removed meanwhile comes back, as a new one, only if it was edited.
 */
const mergeParts = (
  base: PartsField,
  mine: PartsField,
  theirs: PartsField,
  at: FieldPath,
  conflicts: FieldPath[],
): Field => {
  const baseOf = byKey(base.parts);
  const mineOf = byKey(mine.parts);
  const theirsOf = byKey(theirs.parts);
  const hasOrder = mine.parts.map(({ key }) => key).join() !== base.parts.map(({ key }) => key).join();

  const together = (part: Part): Part => {
    const own = mineOf.get(part.key);
    if (own === undefined) return part;
    const fields = merge(baseOf.get(part.key)?.fields, own.fields, part.fields, `${at}/${part.key}`, conflicts);
    return fields === part.fields ? part : { ...part, fields };
  };
  const own = (part: Part): readonly Part[] => {
    const stored = theirsOf.get(part.key);
    if (stored) return [together(stored)];
    const former = baseOf.get(part.key);
    if (former === undefined) return [part];
    if (former === part || isSameField(fieldOf([former]), fieldOf([part]))) return [];
    conflicts.push(`${at}/${part.key}`);
    return [{ ...part, id: null, fields: detached(part.fields) }];
  };

  if (!hasOrder) {
    const kept = theirs.parts.map(together);
    const back = mine.parts.filter(({ key }) => !theirsOf.has(key)).flatMap(own);
    return fieldOf([...kept, ...back]);
  }
  const result = mine.parts.flatMap(own);
  let previous = -1;
  for (const part of theirs.parts) {
    const place = result.findIndex(({ key }) => key === part.key);
    if (place >= 0) previous = place;
    // what the edit has removed stays removed
    else if (!baseOf.has(part.key)) {
      previous += 1;
      result.splice(previous, 0, part);
    }
  }
  return fieldOf(result);
};

/** The fields of a component that is gone: of its lists, what was added or moved is all that is known. */
const detached = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]): [string, Field] => {
      if (field.kind === 'parts') {
        const parts = field.parts.map((part) => ({ ...part, id: null, fields: detached(part.fields) }));
        return [name, { kind: 'parts', parts }];
      }
      if (field.kind !== 'relation') return [name, field];
      const { stored, edit } = field;
      if (edit?.kind === 'list') return [name, { kind: 'relation', stored: [], edit: withoutPlaces(edit) }];
      return [name, stored === null ? { kind: 'relation', stored: [], edit } : field];
    }),
  );

const byKey = (parts: readonly Part[]): ReadonlyMap<string, Part> => new Map(parts.map((it) => [it.key, it]));
const fieldOf = (parts: readonly Part[]): PartsField => ({ kind: 'parts', parts });
