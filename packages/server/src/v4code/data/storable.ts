/** Values of code that no JSON can hold: they are refused before they become null or nothing there. */
import { type Issue, issue, Refusal } from '../../errors.js';
import { scalarTypes } from '../../model/attributes.js';
import type { Attribute, EntryType, Model } from '../../model/model.js';
import { AddedFiles } from '../../write/change.js';
import { placesOf } from '../../write/places.js';
import { isCallable, isMembers, type Members } from '../loading/parts.js';

type Path = readonly string[];

/** Throws a `Refusal`. What is inside of values of JSON stays what JSON makes of it, as in v4. */
export const refuseUnstorable = (data: Members, type: EntryType, model: Model): void => {
  const issues: Issue[] = [];
  for (const place of placesOf(data, type, model))
    for (const [name, value] of Object.entries(place.data)) {
      const attribute = place.type.attributes.get(name);
      if (name === 'id' || attribute) issues.push(...faultsOf(value, attribute, [...place.path, name]));
    }
  if (issues.length > 0) throw new Refusal(...issues);
};

/** @param attribute undefined for an id. */
const faultsOf = (value: unknown, attribute: Attribute | undefined, path: Path): readonly Issue[] => {
  if (attribute?.kind === 'scalar') {
    const { family, form } = scalarTypes[attribute.type];
    if (family === 'json') return holdsBigInt(value) ? [unstorableAt(path, 'JSON with a BigInt')] : [];
    return form === 'digits' && typeof value === 'bigint' ? [] : faultOf(value, path);
  }
  if (attribute === undefined) return faultOf(value, path);
  return attribute.kind === 'part' ? inElements(value, path, faultOf) : inLinks(value, path);
};

/** Ids, in any form that relations have. */
const inLinks = (value: unknown, path: Path): readonly Issue[] => {
  if (!isMembers(value)) return inElements(value, path, inLinks);
  if (value instanceof AddedFiles) return [];
  return ['id', 'set', 'connect', 'disconnect'].flatMap((it) => inLinks(value[it], [...path, it]));
};

const inElements = (value: unknown, path: Path, look: typeof faultOf): readonly Issue[] =>
  Array.isArray(value) ? value.flatMap((it, i) => look(it, [...path, String(i)])) : faultOf(value, path);

const faultOf = (value: unknown, path: Path): readonly Issue[] => {
  const what = unstorable(value);
  return what === null ? [] : [unstorableAt(path, what)];
};

const unstorableAt = (path: Path, what: string): Issue => issue('body.unstorable', path, { what });

/** JSON has no word for it, and v4 throws. */
const holdsBigInt = (value: unknown): boolean => {
  let holds = false;
  JSON.stringify(value, (_name, it: unknown) => {
    holds ||= typeof it === 'bigint';
    return typeof it === 'bigint' ? null : it;
  });
  return holds;
};

/** What a value is, if it is none for JSON; null if it is one. */
const unstorable = (value: unknown): string | null => {
  if (typeof value === 'number') return Number.isFinite(value) ? null : String(value);
  if (typeof value === 'bigint') return 'a BigInt';
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`;
  // dates, those of libraries too
  const isLost = isMembers(value) && isCallable(value['toJSON']) && (value['toJSON']() ?? null) === null;
  return isLost ? 'an invalid date' : null;
};
