/** Hashes the passwords of a body with bcrypt (BO16), before the transaction begins, which on SQLite blocks all other writers. */
import { hashPassword } from '../access/passwords.js';
import { issue, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import { isSecretType } from '../model/attributes.js';
import type { EntryType, Model } from '../model/model.js';
import type { Change } from './change.js';
import { placesOf } from './places.js';

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

function* passwordsOf(data: Data, type: EntryType, model: Model) {
  for (const place of placesOf(data, type, model))
    for (const [name, value] of Object.entries(place.data)) {
      const attribute = place.type.attributes.get(name);
      if (attribute?.kind === 'scalar' && isSecretType(attribute.type) && typeof value === 'string')
        yield { password: value, rounds: attribute.rules.hashRounds, path: [...place.path, name] };
    }
}

/** The hash of a password: one of `hashes`, or a new one. */
export const hashOf = async (password: string, rounds: number, hashes: PasswordHashes): Promise<string> =>
  hashes.get(keyOf(password, rounds)) ?? (await hashPassword(password, rounds));

/**
 * Replaces the passwords of a change with their hashes. Passwords set by a hook are not in `hashes` and are hashed here.
 * @param done those that are hashes already.
 */
export const withHashes = async (
  change: Change,
  hashes: PasswordHashes,
  done: ReadonlySet<string>,
  model: Model,
): Promise<Change> => (hasPasswords(change.type, model) ? withHashesInside(change, hashes, done) : change);

const withHashesInside = async (change: Change, hashes: PasswordHashes, done: ReadonlySet<string>): Promise<Change> => {
  const values: Change['values'][number][] = [];
  for (const it of change.values) {
    const { attribute, value } = it;
    if (!isSecretType(attribute.type) || typeof value !== 'string' || done.has(value)) values.push(it);
    else values.push({ ...it, value: await hashOf(value, attribute.rules.hashRounds, hashes) });
  }
  const parts: Change['parts'][number][] = [];
  for (const part of change.parts) {
    const items: (typeof part.items)[number][] = [];
    for (const item of part.items) items.push({ ...item, change: await withHashesInside(item.change, hashes, done) });
    parts.push({ ...part, items });
  }
  return { ...change, values, parts };
};
