/** Hashes the passwords of a body with bcrypt (BO16), before the transaction begins, which on SQLite blocks all other writers. */
import { hashPassword } from '../access/passwords.js';
import { issue, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import { isSecretType } from '../model/attributes.js';
import type { EntryType, Model } from '../model/model.js';
import type { Change } from './change.js';

type Data = Readonly<Record<string, unknown>>;

/** Hashes by rounds and password. */
export type PasswordHashes = ReadonlyMap<string, string>;

const known = new WeakMap<EntryType, boolean>();

/** Whether entries of the type, or components in them, may have passwords. */
const hasPasswords = (type: EntryType, model: Model): boolean => {
  let has = known.get(type);
  if (has === undefined) {
    const reached = new Set([type]);
    for (const { attributes } of reached)
      for (const attribute of attributes.values())
        if (attribute.kind === 'part')
          for (const uid of attribute.components) {
            const component = model.types.get(uid);
            if (component) reached.add(component);
          }
    has = [...reached].some(({ attributes }) =>
      [...attributes.values()].some((it) => it.kind === 'scalar' && isSecretType(it.type)),
    );
    known.set(type, has);
  }
  return has;
};

const keyOf = (password: string, rounds: number): string => `${rounds} ${password}`;

/**
 * Hashes the passwords of a body and its components sequentially, so that a request occupies one thread at a time.
 * Checks only their number.
 */
export const hashPasswords = async (data: Data, type: EntryType, model: Model): Promise<Result<PasswordHashes>> => {
  const hashes = new Map<string, string>();
  if (!hasPasswords(type, model)) return ok(hashes);
  for (const { password, rounds, path } of passwordsOf(data, type, model)) {
    const key = keyOf(password, rounds);
    if (hashes.has(key)) continue;
    if (hashes.size >= limits.passwordsMax)
      return refused(issue('body.too-many', path, { max: limits.passwordsMax, what: 'passwords' }));
    hashes.set(key, await hashPassword(password, rounds));
  }
  return ok(hashes);
};

/** Iterative, because clients choose the nesting depth of components. */
function* passwordsOf(data: Data, type: EntryType, model: Model) {
  const places = [{ data, type, path: [] as readonly string[] }];
  for (const place of places) {
    for (const [name, value] of Object.entries(place.data)) {
      const attribute = place.type.attributes.get(name);
      if (attribute?.kind === 'scalar' && isSecretType(attribute.type) && typeof value === 'string')
        yield { password: value, rounds: attribute.rules.hashRounds, path: [...place.path, name] };
      if (attribute?.kind !== 'part') continue;
      const path = [...place.path, name];
      const items: readonly unknown[] = Array.isArray(value) ? value : [value];
      for (const [i, item] of items.entries()) {
        if (item === null || typeof item !== 'object') continue;
        const inside = item as Data;
        const uid = attribute.shape === 'zone' ? inside['__component'] : attribute.components[0];
        const component = typeof uid === 'string' ? model.types.get(uid) : undefined;
        if (component)
          places.push({ data: inside, type: component, path: Array.isArray(value) ? [...path, String(i)] : path });
      }
    }
  }
}

/** Replaces the passwords of a change with their hashes. Passwords set by a hook are not in `hashes` and are hashed here. */
export const withHashes = async (change: Change, hashes: PasswordHashes, model: Model): Promise<Change> =>
  hasPasswords(change.type, model) ? withHashesInside(change, hashes) : change;

const withHashesInside = async (change: Change, hashes: PasswordHashes): Promise<Change> => {
  const values: Change['values'][number][] = [];
  for (const it of change.values) {
    const { attribute, value } = it;
    if (!isSecretType(attribute.type) || typeof value !== 'string') values.push(it);
    else {
      const { hashRounds } = attribute.rules;
      const hash = hashes.get(keyOf(value, hashRounds)) ?? (await hashPassword(value, hashRounds));
      values.push({ ...it, value: hash });
    }
  }
  const parts: Change['parts'][number][] = [];
  for (const part of change.parts) {
    const items: (typeof part.items)[number][] = [];
    for (const item of part.items) items.push({ ...item, change: await withHashesInside(item.change, hashes) });
    parts.push({ ...part, items });
  }
  return { ...change, values, parts };
};
