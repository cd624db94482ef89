/**
 * Parses a body into a `Change`: every value is parsed, every schema rule checked, and all faults are listed with their
 * paths (BO5). Pure; checks that need the database (existence, uniqueness, foreign component ids) come later.
 */
import { bug, hintAt, type Issue, issue, nearest, never, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import { isSecretType, parseInstant, scalarTypes } from '../model/attributes.js';
import {
  type Attribute,
  DOCUMENT_ID,
  type EntryType,
  hasDocumentId,
  isWritable,
  type LinkAttribute,
  type Model,
  type MorphAttribute,
  type PartAttribute,
  type ScalarAttribute,
  typeLabel,
  type Uid,
} from '../model/model.js';
import { isSystemAttribute } from '../model/system.js';
import { type LeftOut, leaveOut } from '../query/lenient.js';
import type { EntryFormat, Gate } from '../query/selection.js';
import type { DbValue } from '../sql/dialect.js';
import { entryIdOf, idOf, isObject, isObjectOrList, namesEntry } from './ids.js';
import { type MorphChange, parseMorph, unseenTargets } from './morphs.js';
import type { Moves, Position } from './order.js';
import { compareAll, comparingLater, comparisonKey, type Matches } from './patterns.js';
import { ownMember } from './places.js';

type Path = readonly string[];

/** The changes that a body makes to one entry or component. */
export interface Change {
  readonly type: EntryType;
  readonly values: readonly ValueChange[];
  readonly links: readonly LinkChange[];
  readonly morphs: readonly MorphChange[];
  readonly parts: readonly PartChange[];
}

/** Names of the attributes of the entry that change. */
export const namesOf = ({ values, links, morphs, parts }: Change): ReadonlySet<string> =>
  new Set([...values, ...links, ...morphs, ...parts].map((it) => it.attribute.name));

export interface ValueChange {
  readonly attribute: ScalarAttribute;
  readonly value: DbValue;
  readonly path: Path;
}

export interface LinkChange {
  readonly attribute: LinkAttribute;
  readonly path: Path;
  /** Whether the list must not be empty afterwards: the attribute is required and the entry is not a draft. */
  readonly isNeeded: boolean;
  readonly change: { readonly kind: 'set'; readonly ids: readonly number[] } | ({ readonly kind: 'moves' } & Moves);
}

/** The complete, ordered elements of a component or zone attribute after the change. */
export interface PartChange {
  readonly attribute: PartAttribute;
  readonly path: Path;
  readonly items: readonly PartItem[];
}

export interface PartItem {
  /** The stored component to update; null creates a new one. */
  readonly id: number | null;
  readonly change: Change;
  readonly path: Path;
  /** Given if its row has been written ahead of the entry's: what it was before. */
  readonly ahead: AheadPart['was'] | null;
}

/** A component of the data that no body can hold: its row has been written before hooks ran. */
export class AheadPart {
  readonly uid: Uid;
  readonly id: number;
  /** What the body says of it. */
  readonly given: unknown;
  /** Nothing, a component of the entry, or a row without a place, which code has made by itself. */
  readonly was: 'new' | 'own' | 'loose';
  constructor({ uid, id, given, was }: Pick<AheadPart, 'uid' | 'id' | 'given' | 'was'>) {
    this.uid = uid;
    this.id = id;
    this.given = given;
    this.was = was;
  }
}

/** A value of a list of media that no body can hold: files that are added at its end. */
export class AddedFiles {
  readonly connect: readonly number[];
  constructor(ids: readonly number[]) {
    this.connect = ids;
  }
}

export interface ParseContext {
  readonly model: Model;
  readonly gate: Gate;
  readonly action: 'create' | 'update';
  /** Whether the entry is a draft after the change; drafts may be incomplete (DR7). */
  readonly draft: boolean;
  /** False ignores unknown keys, as v4 does (`api.strict`). */
  readonly strict: boolean;
  readonly format: EntryFormat;
  /** Attributes of a new entry that have a value elsewhere if the body has none: no default, not missing. */
  readonly inherited: ReadonlySet<string>;
  /** Whether what requests cannot write (BO4) is written. */
  readonly isOfCode: boolean;
  /** Passwords that are hashes already: the rules are those of what was hashed. */
  readonly hashes: ReadonlySet<string>;
}

/** Checks only that the body has an object of attributes (BO1). */
export const checkData = (data: unknown): Result<Readonly<Record<string, unknown>>> => {
  if (Array.isArray(data)) return refused(issue('body.data-type', [], { value: data }));
  return isObjectOrList(data) ? ok(data) : refused(issue('body.missing', []));
};

/** `publishedAt` of a body: undefined if absent, null for a draft. */
export const readPublishedAt = (
  type: EntryType,
  data: Readonly<Record<string, unknown>>,
): Result<number | null | undefined> => {
  const value = ownMember(data, 'publishedAt');
  if (!type.draftAndPublish || value === undefined || value === null)
    return ok(type.draftAndPublish ? (value as null | undefined) : undefined);
  return typeof value === 'string' || typeof value === 'number'
    ? parseInstant(String(value), ['publishedAt'])
    : refused(issue('value.datetime', ['publishedAt']));
};

/** Keys that only the server sets; ignored in bodies (BO4). */
const serverKeys: ReadonlySet<string> = new Set([
  'id',
  'createdAt',
  'updatedAt',
  'publishedAt',
  'createdBy',
  'updatedBy',
  'localizations',
]);

/** Whether only the server sets a key of an entry: a type may have an attribute of its own by such a name. */
export const isServerKey = (type: EntryType, key: string): boolean =>
  serverKeys.has(key) && (!type.attributes.has(key) || isSystemAttribute(type, key));

/** Keys that could pollute prototypes; ignored (BO3). */
const prototypeKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** A parsed body. If there are issues, `change` holds what could be parsed, so that it can still be checked against the database. */
export interface ParsedBody {
  readonly change: Change;
  readonly issues: readonly Issue[];
  /** Keys that had no effect. */
  readonly leftOut: readonly LeftOut[];
}

/** Parses the `data` of an entry and reports the faults of all attributes together. */
export const parseChange = (
  data: Readonly<Record<string, unknown>>,
  type: EntryType,
  context: ParseContext,
): ParsedBody => {
  const parseWith = (matches: Matches): ParsedBody => {
    const issues: Issue[] = [];
    const leftOut: LeftOut[] = [];
    const parser = newParser(context, matches, issues, leftOut);
    const change = parser.object(data, type, [], { isNew: context.action === 'create', depth: 0 });
    return { change, issues, leftOut };
  };
  const { matches, comparisons } = comparingLater();
  const parsed = parseWith(matches);
  if (comparisons.length === 0) return parsed;
  const { mismatched, slow } = compareAll(comparisons);
  // once more, for issues in the order of the attributes
  const body = mismatched.size === 0 ? parsed : parseWith((regex, text) => !mismatched.has(comparisonKey(regex, text)));
  return slow === null ? body : { ...body, issues: [...body.issues, slow] };
};

interface Place {
  /** New entries and components must have their required attributes and get defaults. */
  readonly isNew: boolean;
  /** Component nesting depth; 0 for the entry itself. */
  readonly depth: number;
}

const newParser = (
  { model, gate, draft, strict, format, inherited, isOfCode, hashes }: ParseContext,
  matches: Matches,
  issues: Issue[],
  leftOut: LeftOut[],
) => {
  let partsLeft: number = limits.partsMax;
  /** Whether there are already more faults than a response lists, so that further parsing is pointless. */
  const isHopeless = (): boolean => issues.length > limits.issuesMax;
  const report = (...found: readonly Issue[]): void => {
    if (!isHopeless()) issues.push(...found);
  };

  const object = (data: Readonly<Record<string, unknown>>, type: EntryType, path: Path, place: Place): Change => {
    const change = {
      type,
      values: [] as ValueChange[],
      links: [] as LinkChange[],
      morphs: [] as MorphChange[],
      parts: [] as PartChange[],
    };
    for (const key of Object.keys(data)) {
      const known =
        type.attributes.has(key) ||
        prototypeKeys.has(key) ||
        (place.depth > 0 ? key === 'id' || key === '__component' : isServerKey(type, key)) ||
        (format === 'v5' && key === DOCUMENT_ID && hasDocumentId(type));
      if (known) continue;
      if (isHopeless() || (!strict && leftOut.length === limits.leftOutMax)) break;
      const at = [...path, key];
      const names = writableNames(type, place);
      const fault = issue('body.unknown-key', at, { type: typeLabel(type), name: key, ...hintAt(key, names) });
      leaveOut({ strict, issues, leftOut }, fault, ['data', ...at]);
    }
    for (const attribute of type.attributes.values()) {
      if (place.depth === 0 && isServerKey(type, attribute.name)) continue;
      const at = [...path, attribute.name];
      const given = Object.hasOwn(data, attribute.name) ? data[attribute.name] : undefined;
      if (given === undefined || !(isWritable(attribute) || isOfCode)) {
        absent(attribute, at, place, change.values);
        continue;
      }
      switch (attribute.kind) {
        case 'scalar':
          change.values.push(...scalar(attribute, given, at, place));
          break;
        case 'link':
          change.links.push(...link(type, attribute, given, at, place));
          break;
        case 'morph':
          change.morphs.push(...morph(attribute, given, at, place));
          break;
        case 'part':
          change.parts.push(...part(attribute, given, at, place));
          break;
        default:
          never(attribute);
      }
    }
    return change;
  };

  /** The names that may be suggested to the caller. */
  const writableNames = (type: EntryType, { depth }: Place): readonly string[] =>
    [...type.attributes.values()]
      .filter((it) => !it.hidden && gate.allows(type, it, 'write') && (depth > 0 || !isServerKey(type, it.name)))
      .map((it) => it.name);

  /** An attribute missing from the body: a new entry gets its default, or an issue if it is required. */
  const absent = (attribute: Attribute, path: Path, place: Place, values: ValueChange[]): void => {
    if (!place.isNew || (place.depth === 0 && inherited.has(attribute.name))) return;
    const need = (isNeeded: boolean): void => {
      if (isNeeded) report(issue('body.required', path));
    };
    switch (attribute.kind) {
      case 'scalar': {
        const { defaultValue, required } = attribute.rules;
        if (defaultValue !== undefined && defaultValue !== null)
          values.push(...scalar(attribute, defaultValue, path, place));
        else need(required && !draft);
        break;
      }
      case 'link':
      case 'morph':
        need(attribute.required && !draft);
        break;
      case 'part':
        // drafts still need their required repeatable components and zones (DR7)
        need(attribute.required && !(draft && attribute.shape === 'one'));
        break;
      default:
        never(attribute);
    }
  };

  const scalar = (attribute: ScalarAttribute, value: unknown, path: Path, { isNew }: Place): readonly ValueChange[] => {
    const { rules } = attribute;
    if (rules.frozen) return [];
    if (value === null) {
      if (rules.required && !draft) report(nullIssue(scalarTypes[attribute.type].bodyType, isNew, path));
      return [{ attribute, value: null, path }];
    }
    if (isSecretType(attribute.type) && typeof value === 'string' && hashes.has(value))
      return [{ attribute, value, path }];
    const parsed = scalarTypes[attribute.type].parseJson(value, { rules, path, draft, matches });
    if (parsed.ok) return [{ attribute, value: parsed.value, path }];
    report(...(isSecretType(attribute.type) ? parsed.issues.map(untold) : parsed.issues));
    return [];
  };

  // ---- links (R1 to R10, CO9, R11)

  const link = (
    type: EntryType,
    attribute: LinkAttribute,
    value: unknown,
    path: Path,
    { isNew }: Place,
  ): readonly LinkChange[] => {
    // a relation that the caller may not see is left unchanged (R14)
    if (!gate.allows(type, attribute, 'write')) {
      if (leftOut.length < limits.leftOutMax)
        leftOut.push({ name: ['data', ...path].join('.'), issue: issue('body.not-findable', path) });
      return [];
    }
    const given = attribute.source === 'media' ? media(value, path) : relation(value, path);
    if (!given) return [];
    const change = given.kind === 'set' ? { ...given, ids: distinctIds(given.ids, attribute) } : given;
    const isNeeded = attribute.required && !draft;
    if (isNeeded && change.kind === 'set' && change.ids.length === 0)
      report(value === null ? nullIssue(null, isNew, path) : issue('body.required', path));
    return [{ attribute, path, change, isNeeded }];
  };

  const media = (value: unknown, path: Path): LinkChange['change'] | null => {
    if (value instanceof AddedFiles)
      return {
        kind: 'moves',
        connect: value.connect.map((id) => ({ id, position: { kind: 'end' } })),
        disconnect: [],
      };
    if (isObject(value)) {
      for (const name of ['connect', 'disconnect']) {
        if (Object.hasOwn(value, name)) {
          report(issue('relation.media-connect', [...path, name], { name }));
          return null;
        }
      }
    }
    return relation(value, path);
  };

  const relation = (value: unknown, path: Path): LinkChange['change'] | null => {
    if (value === null) return { kind: 'set', ids: [] };
    if (Array.isArray(value)) return setOf(value, path);
    if (!isObjectOrList(value)) {
      const id = idOf(value);
      if (id !== null) return { kind: 'set', ids: [id] };
      report(issue('relation.invalid', path, { value }));
      return null;
    }
    const keys = Object.keys(value).filter((key) => !prototypeKeys.has(key));
    const has = (key: string): boolean => keys.includes(key);
    if (namesEntry(value, format) && !has('connect') && !has('disconnect') && !has('set')) return setOf([value], path);
    const known = ['connect', 'disconnect', 'set', 'options'];
    const unknown = keys.filter((name) => !known.includes(name));
    for (const name of unknown) {
      if (isHopeless()) break;
      report(issue('relation.unknown-key', path, { name, near: nearest(name, known) }));
    }
    if (unknown.length > 0) return null;
    if (has('set')) {
      if (has('connect') || has('disconnect')) {
        report(issue('relation.set-with-others', path));
        return null;
      }
      return value['set'] === null ? { kind: 'set', ids: [] } : setOf(value['set'], [...path, 'set']);
    }
    if (!has('connect') && !has('disconnect')) {
      report(issue('relation.empty-object', path));
      return null;
    }
    const connect = connectOf(value['connect'] ?? [], [...path, 'connect']);
    const disconnect = idsOf(value['disconnect'] ?? [], [...path, 'disconnect']);
    return connect && disconnect ? { kind: 'moves', connect, disconnect } : null;
  };

  const setOf = (value: unknown, path: Path): LinkChange['change'] | null => {
    const ids = idsOf(value, path);
    return ids && { kind: 'set', ids };
  };

  const listOf = (value: unknown, path: Path): readonly unknown[] | null => {
    if (!Array.isArray(value)) report(issue('relation.invalid', path, { value }));
    else if (value.length > limits.relationIdsMax)
      report(issue('body.too-many', path, { max: limits.relationIdsMax, what: 'ids' }));
    else return value as unknown[];
    return null;
  };

  const idsOf = (value: unknown, path: Path): readonly number[] | null => {
    const elements = listOf(value, path);
    if (!elements) return null;
    const ids = elements.map((element, place) => {
      const isNamed = isObjectOrList(element) && !Array.isArray(element);
      const id = isNamed ? entryIdOf(element, format) : idOf(element);
      if (id === null) report(issue('relation.invalid', [...path, String(place)], { value: element }));
      return id;
    });
    return ids.includes(null) ? null : (ids as number[]);
  };

  const connectOf = (value: unknown, path: Path): Moves['connect'] | null => {
    const ids = idsOf(value, path);
    if (!ids) return null;
    const seen = new Set<number>();
    let isRight = true;
    const moves = ids.map((id, place) => {
      const at = [...path, String(place)];
      if (seen.has(id)) {
        report(issue('relation.connected-twice', at, { id }));
        isRight = false;
      }
      seen.add(id);
      const element = (value as unknown[])[place];
      const given = isObjectOrList(element) ? element['position'] : undefined;
      const position = given === undefined ? ({ kind: 'end' } as const) : positionOf(given);
      if (position) return { id, position };
      report(issue('relation.position', [...at, 'position'], { value: given }));
      isRight = false;
      return { id, position: { kind: 'end' } as const };
    });
    return isRight ? moves : null;
  };

  /** An entry that the caller may not find cannot be named, as one of a type that does not exist. */
  const morph = (attribute: MorphAttribute, value: unknown, path: Path, { isNew }: Place): readonly MorphChange[] => {
    const isNeeded = attribute.required && !draft;
    const unseen = unseenTargets(attribute, { model, gate });
    // entries that the caller may not see would stay
    const isEmptied = isNeeded && (isNew || !unseen.mayHoldUnseen);
    if (value === null) {
      if (isEmptied) report(nullIssue(null, isNew, path));
      return [{ attribute, path, isNeeded, ...unseen, change: { kind: 'set', targets: [] } }];
    }
    const parsed = parseMorph(attribute, value, path, { model, hidden: unseen.hidden, format });
    if (!parsed.ok) {
      report(...parsed.issues);
      return [];
    }
    const change = parsed.value;
    if (isEmptied && change.kind === 'set' && change.targets.length === 0) report(issue('body.required', path));
    return [{ attribute, path, isNeeded, ...unseen, change }];
  };

  // ---- parts (CO2)

  const part = (attribute: PartAttribute, value: unknown, path: Path, place: Place): readonly PartChange[] => {
    if (attribute.shape === 'one') {
      if (value === null) {
        if (attribute.required && !draft) report(nullIssue('object', place.isNew, path));
        return [{ attribute, path, items: [] }];
      }
      return [{ attribute, path, items: partItem(attribute, value, path, place) }];
    }
    if (!Array.isArray(value)) {
      report(issue('body.type', path, { expected: 'array', value }));
      return [];
    }
    const { min, max, required } = attribute;
    if (min !== null && value.length < min && (value.length > 0 || required))
      report(issue('body.items-min', path, { min }));
    if (max !== null && value.length > max) report(issue('body.items-max', path, { max }));
    const items: PartItem[] = [];
    for (const [i, element] of (value as unknown[]).entries()) {
      if (isHopeless() || partsLeft < 0) break;
      items.push(...partItem(attribute, element, [...path, String(i)], place));
    }
    return [{ attribute, path, items: withoutRepeats(items) }];
  };

  const partItem = (
    attribute: PartAttribute,
    value: unknown,
    path: Path,
    { isNew, depth }: Place,
  ): readonly PartItem[] => {
    if (value instanceof AheadPart) {
      const { id, given, uid, was } = value;
      // its place may be another one now, which has components of its own
      const named = attribute.shape === 'zone' && isObject(given) ? { ...given, __component: uid } : given;
      const [item] = partItem(attribute, named, path, { isNew: was === 'new', depth });
      if (item && item.change.type.uid !== uid) report(issue('body.component-foreign', path, { id }));
      return item ? [{ ...item, id, ahead: was }] : [];
    }
    if (!isObject(value)) {
      report(issue('body.type', path, { expected: 'object', value }));
      return [];
    }
    if (depth === limits.componentDepthMax) {
      report(issue('body.too-deep', path, { max: limits.componentDepthMax }));
      return [];
    }
    partsLeft -= 1;
    if (partsLeft < 0) {
      if (partsLeft === -1) report(issue('body.too-many', path, { max: limits.partsMax, what: 'components' }));
      return [];
    }
    const component = componentOf(attribute, value, path);
    if (!component) return [];
    // the components of a new entry are new, whatever ids they carry
    let id: number | null = null;
    if (!isNew && Object.hasOwn(value, 'id') && value['id'] !== undefined) {
      id = idOf(value['id']);
      if (id === null) {
        report(issue('body.component-foreign', path, { id: value['id'] }));
        return [];
      }
    }
    const change = object(value, component, path, { isNew: id === null, depth: depth + 1 });
    return [{ id, path, change, ahead: null }];
  };

  const componentOf = (
    attribute: PartAttribute,
    value: Readonly<Record<string, unknown>>,
    path: Path,
  ): EntryType | null => {
    const at = [...path, '__component'];
    let uid: unknown = attribute.components[0];
    if (attribute.shape === 'zone') {
      uid = Object.hasOwn(value, '__component') ? value['__component'] : undefined;
      if (uid === undefined || uid === null || uid === '') report(issue('body.component-missing', at));
      else if (typeof uid !== 'string' || !attribute.components.includes(uid))
        report(issue('body.component-unknown', at, { known: attribute.components }));
      if (typeof uid !== 'string' || !attribute.components.includes(uid)) return null;
    }
    const component = typeof uid === 'string' ? model.types.get(uid) : undefined;
    if (!component) throw bug('change.component-without-type', { attribute: attribute.name });
    return component;
  };

  return { object };
};

/** Null for a required attribute, worded as in v4: by type where v4 does so (ER4). */
const nullIssue = (expected: string | null, isNew: boolean, path: Path): Issue => {
  if (expected !== null) return issue('body.type', path, { expected, value: null });
  return isNew ? issue('body.required', path) : issue('body.null', path);
};

/** Removes the value, which is a secret. */
const untold = (it: Issue): Issue =>
  it.code === 'body.type' ? issue(it.code, it.path, { ...it.facts, value: undefined }) : it;

/** Whether a list stands for its last entry (R7). Media and `morphOne` show the first of several, as in v4. */
export const lastWins = ({ shape, source }: LinkAttribute): boolean => shape === 'one' && source === 'relation';

/** Of repeated ids, the first occurrence counts (R10); the last, if it is to win. */
const distinctIds = (ids: readonly number[], attribute: LinkAttribute): readonly number[] =>
  lastWins(attribute) ? [...new Set(ids.toReversed())].reverse() : [...new Set(ids)];

/** Exactly one of the four keys (R3); null for anything else. */
const positionOf = (value: unknown): Position | null => {
  if (!isObject(value)) return null;
  const [key, ...others] = Object.keys(value);
  if (others.length > 0) return null;
  if (key === 'start' || key === 'end') return value[key] === true ? { kind: key } : null;
  if (key !== 'before' && key !== 'after') return null;
  const anchor = idOf(value[key]);
  return anchor === null ? null : { kind: key, anchor };
};

/** Of a stored component listed twice, the first occurrence counts (CO3). */
const withoutRepeats = (items: readonly PartItem[]): readonly PartItem[] => {
  const seen = new Set<string>();
  return items.filter(({ id, change }) => {
    if (id === null) return true;
    const key = `${change.type.uid} ${id}`;
    const isFirst = !seen.has(key);
    seen.add(key);
    return isFirst;
  });
};
