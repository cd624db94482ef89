/**
 * Values of polymorphic relations in bodies (R19), which name the type of each entry. The links that point back
 * (`morphOne`, `morphMany`) are written like other links.
 */
import { hintAt, type Issue, issue, nearest, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import { type Model, type MorphAttribute, targetsOf, typeOf, type Uid } from '../model/model.js';
import type { EntryFormat, Gate } from '../query/selection.js';
import { entryIdOf, isObjectOrList, namesEntry } from './ids.js';
import { staysUnseen } from './unseen.js';

type Path = readonly string[];

/** An entry that a polymorphic relation leads to. */
export interface MorphTarget {
  readonly uid: Uid;
  readonly id: number;
}

export interface MorphChange {
  readonly attribute: MorphAttribute;
  readonly path: Path;
  /** Whether the list must not be empty afterwards: the attribute is required and the entry is not a draft. */
  readonly isNeeded: boolean;
  /** The types that the caller may not find. */
  readonly hidden: ReadonlySet<Uid>;
  /** Whether it may hold entries that the caller may not see, of these types or of others. */
  readonly mayHoldUnseen: boolean;
  /** Connected entries go last; those that are linked already move there. Neither list repeats an entry. */
  readonly change:
    | { readonly kind: 'set'; readonly targets: readonly MorphTarget[] }
    | { readonly kind: 'moves'; readonly connect: readonly MorphTarget[]; readonly disconnect: readonly MorphTarget[] };
}

/** A stored link of a `morphToMany`. */
export interface StoredMorph extends MorphTarget {
  /** Id of the link row. */
  readonly row: number;
  /** The entry that has the link. */
  readonly from: number;
  readonly rank: number | null;
}

/** The entries that must exist. */
export const askedTargets = ({ change }: MorphChange): readonly MorphTarget[] =>
  change.kind === 'set' ? change.targets : change.connect;

/** The entries to disconnect. */
export const removedTargets = ({ change }: MorphChange): readonly MorphTarget[] =>
  change.kind === 'set' ? [] : change.disconnect;

/** Whether the change depends on what is stored. A `morphToOne` is replaced, but for entries that the caller may not see. */
export const isOfStored = ({ attribute, mayHoldUnseen }: MorphChange): boolean =>
  attribute.shape === 'many' || mayHoldUnseen;

/** Identifies an entry of any type. */
export const targetKey = ({ uid, id }: MorphTarget): string => `${uid} ${id}`;

// ---- values

interface ParseContext {
  readonly model: Model;
  /** See `MorphChange`. */
  readonly hidden: ReadonlySet<Uid>;
  readonly format: EntryFormat;
}

/** What the relation may hold, and the caller may not find or see. */
export const unseenTargets = (
  attribute: MorphAttribute,
  { model, gate }: { readonly model: Model; readonly gate: Gate },
): Pick<MorphChange, 'hidden' | 'mayHoldUnseen'> => {
  const types = targetsOf(model, attribute).map((it) => typeOf(model, it));
  const hidden = new Set(types.filter((it) => !gate.reaches(it, attribute)).map((it) => it.uid));
  return { hidden, mayHoldUnseen: hidden.size > 0 || types.some((it) => staysUnseen(it, gate)) };
};

/** A value other than null: `{ id, __type }`, for `morphToMany` also a list of them or `connect`, `disconnect`, `set`. */
export const parseMorph = (
  attribute: MorphAttribute,
  value: unknown,
  path: Path,
  context: ParseContext,
): Result<MorphChange['change']> => {
  const listOf = (given: unknown, at: Path) => targetList(attribute, given, at, context);
  if (attribute.shape === 'one') {
    const target = morphTarget(attribute, value, path, context);
    return target.ok ? setOf([target.value]) : target;
  }
  if (Array.isArray(value)) return then(listOf(value, path), setOf);
  if (!isObjectOrList(value)) return refused(issue('relation.morph', path, { value }));
  const has = (key: string): boolean => Object.hasOwn(value, key);
  const known = ['connect', 'disconnect', 'set'];
  if (!known.some(has) && namesEntry(value, context.format)) return then(listOf([value], path), setOf);
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined)
    return refused(issue('relation.unknown-key', path, { name: unknown, near: nearest(unknown, known) }));
  if (has('set')) {
    if (has('connect') || has('disconnect')) return refused(issue('relation.set-with-others', path));
    return then(listOf(value['set'] ?? [], [...path, 'set']), setOf);
  }
  if (!has('connect') && !has('disconnect')) return refused(issue('relation.empty-object', path));
  const connect = listOf(value['connect'] ?? [], [...path, 'connect']);
  const disconnect = listOf(value['disconnect'] ?? [], [...path, 'disconnect']);
  if (!connect.ok || !disconnect.ok)
    return { ok: false, issues: [connect, disconnect].flatMap((it) => (it.ok ? [] : it.issues)) };
  const repeated = repeatedPlaces(connect.value).map((place) =>
    issue('relation.connected-twice', [...path, 'connect', String(place)], { id: connect.value[place]!.id }),
  );
  if (repeated.length > 0) return { ok: false, issues: repeated };
  return ok({ kind: 'moves', connect: connect.value, disconnect: disconnect.value });
};

const repeatedPlaces = (targets: readonly MorphTarget[]): readonly number[] => {
  const seen = new Set<string>();
  return targets.flatMap((it, place) => {
    const isRepeated = seen.has(targetKey(it));
    seen.add(targetKey(it));
    return isRepeated ? [place] : [];
  });
};

const then = <T, U>(result: Result<T>, next: (value: T) => Result<U>): Result<U> =>
  result.ok ? next(result.value) : result;

/** Of repeated entries, the first occurrence counts (R10). */
const setOf = (targets: readonly MorphTarget[]): Result<MorphChange['change']> => {
  const repeated = new Set(repeatedPlaces(targets));
  return ok({ kind: 'set', targets: targets.filter((_it, place) => !repeated.has(place)) });
};

const targetList = (
  attribute: MorphAttribute,
  value: unknown,
  path: Path,
  context: ParseContext,
): Result<readonly MorphTarget[]> => {
  if (!Array.isArray(value)) return refused(issue('relation.morph', path, { value }));
  if (value.length > limits.relationIdsMax)
    return refused(issue('body.too-many', path, { max: limits.relationIdsMax, what: 'ids' }));
  const targets: MorphTarget[] = [];
  const issues: Issue[] = [];
  for (const [place, element] of (value as unknown[]).entries()) {
    if (issues.length > limits.issuesMax) break;
    const target = morphTarget(attribute, element, [...path, String(place)], context);
    if (target.ok) targets.push(target.value);
    else issues.push(...target.issues);
  }
  return issues.length > 0 ? { ok: false, issues } : ok(targets);
};

const morphTarget = (
  attribute: MorphAttribute,
  value: unknown,
  path: Path,
  { model, hidden, format }: ParseContext,
): Result<MorphTarget> => {
  const id = isObjectOrList(value) && !Array.isArray(value) ? entryIdOf(value, format) : null;
  if (!isObjectOrList(value) || id === null) return refused(issue('relation.morph', path, { value }));
  if (Object.hasOwn(value, 'position')) return refused(issue('relation.morph-position', [...path, 'position']));
  const uid = Object.hasOwn(value, '__type') ? value['__type'] : undefined;
  const known = targetsOf(model, attribute).filter((it) => !hidden.has(it));
  if (typeof uid === 'string' && known.includes(uid)) return ok({ uid, id });
  const hint = typeof uid === 'string' ? hintAt(uid, known) : {};
  return refused(issue('relation.unknown-type', [...path, '__type'], { value: uid, ...hint }));
};
