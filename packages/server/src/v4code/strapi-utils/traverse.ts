/** `traverseEntity` of `@strapi/utils`: visits each attribute of an entry, and of all that is populated in it. */
import { FILE_UID } from '../../model/model.js';
import { isMembers, type Members } from '../loading/parts.js';

/** Where an attribute is: `one.title`. Both are the same below the start. */
interface Path {
  readonly raw: string | null;
  readonly attribute: string | null;
}

interface Visited {
  readonly data: Members;
  readonly schema: unknown;
  readonly key: string;
  readonly value: unknown;
  readonly attribute: Members;
  readonly path: Path;
}

type Visitor = (
  visited: Visited,
  changes: { set(key: string, value: unknown): void; remove(key: string): void },
) => unknown;

interface Place {
  readonly schema: unknown;
  readonly path?: Path;
}

/** @param describe what `strapi.getModel` gives. Without an entry: a function that takes it. */
export const newTraverseEntity = (describe: (uid: string) => unknown) => {
  const traverse = async (
    visit: Visitor,
    { schema, path = { raw: null, attribute: null } }: Place,
    entity: unknown,
  ) => {
    const attributes = isMembers(schema) ? schema['attributes'] : undefined;
    if (!isMembers(entity) || !isMembers(attributes)) return entity;
    const copy: Record<string, unknown> = { ...entity };
    const changes = {
      set: (key: string, value: unknown) => {
        copy[key] = value;
      },
      remove: (key: string) => {
        delete copy[key];
      },
    };
    for (const key of Object.keys(copy)) {
      const attribute = attributes[key];
      if (!isMembers(attribute)) continue;
      const at = { raw: below(path.raw, key), attribute: below(path.attribute, key) };
      await visit({ data: copy, schema, key, value: copy[key], attribute, path: at }, changes);
      const uidOf = targetOf(attribute);
      if (uidOf === null || !Object.hasOwn(copy, key)) continue;
      const within = async (it: unknown): Promise<unknown> => {
        const uid = isMembers(it) ? uidOf(it) : undefined;
        return typeof uid === 'string' ? traverse(visit, { schema: describe(uid), path: at }, it) : it;
      };
      const value = copy[key];
      copy[key] = Array.isArray(value) ? await inOrder(value, within) : await within(value);
    }
    return copy;
  };
  return (visit: Visitor, place: Place, ...given: readonly [entity?: unknown]): unknown =>
    given.length === 0 ? (entity: unknown) => traverse(visit, place, entity) : traverse(visit, place, given[0]);
};

const below = (path: string | null, key: string): string => (path === null ? key : `${path}.${key}`);

const inOrder = async (all: readonly unknown[], work: (it: unknown) => Promise<unknown>): Promise<unknown[]> => {
  const done: unknown[] = [];
  for (const it of all) done.push(await work(it));
  return done;
};

/** The uid of what an attribute holds; null for one that holds no entries. */
const targetOf = ({ type, relation, target, component }: Members): ((entry: Members) => unknown) | null => {
  switch (type) {
    case 'media':
      return () => FILE_UID;
    case 'component':
      return () => component;
    case 'dynamiczone':
      return (entry) => entry['__component'];
    case 'relation':
      return String(relation).startsWith('morphTo') ? (entry) => entry['__type'] : () => target;
    default:
      return null;
  }
};
