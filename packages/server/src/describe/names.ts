/** Names of types where they are described: in TypeScript and in OpenAPI. */
import type { EntryType, Uid } from '../model/model.js';

/**
 * A name for each type: `Article`, `SectionsText`, `UploadFile`; equal ones are numbered.
 * @param reserved names that no type gets.
 */
export const namesOf = (types: Iterable<EntryType>, reserved: readonly string[]): ReadonlyMap<Uid, string> => {
  const names = new Map<Uid, string>();
  const taken = new Set(reserved);
  for (const type of types) {
    const wanted = pascal(
      type.kind === 'component' ? type.uid : type.origin === 'project' ? type.singular : type.uid.split('::')[1]!,
    );
    let name = wanted;
    for (let n = 2; taken.has(name); n++) name = `${wanted}${n}`;
    taken.add(name);
    names.set(type.uid, name);
  }
  return names;
};

/** `sections.text` to `SectionsText`; a name that begins with a digit gets a letter before it. */
const pascal = (name: string): string => {
  const joined = name
    .split(/[^\p{L}\p{N}]+/u)
    .map((it) => it.slice(0, 1).toUpperCase() + it.slice(1))
    .join('');
  return /^\p{L}/u.test(joined) ? joined : `T${joined}`;
};
