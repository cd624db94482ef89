/** The indexes that a project's configuration names, checked against its model (ST16). */
import { never, orKnown, orNearest } from '../errors.js';
import { isIndexable } from './attributes.js';
import { type Attribute, type EntryType, type IndexKey, type Model, targetsOf, type Uid } from './model.js';

/** By type, each written like the parameter `sort`: `views`, `kind,views:desc`, `author.name` (configuration `indexes`). */
export type GivenIndexes = Readonly<Record<Uid, readonly string[]>>;

/** The model with its indexes; or one line for each fault, beginning with the place in the configuration. */
export type Indexed =
  | { readonly ok: true; readonly model: Model }
  | { readonly ok: false; readonly faults: readonly string[] };

export const withIndexes = (model: Model, given: GivenIndexes): Indexed => {
  const faults: string[] = [];
  const found = new Map<Uid, (readonly IndexKey[])[]>();
  for (const [uid, texts] of Object.entries(given)) {
    const type = model.types.get(uid);
    if (!type) {
      faults.push(`indexes: there is no type "${uid}"${orKnown(uid, ownTypes(model))}`);
      continue;
    }
    texts.forEach((text, i) => {
      const read = readIndex(model, type, text);
      if (typeof read === 'string') faults.push(`indexes.${uid}.${i}: ${read}`);
      else found.set(read.type.uid, [...(found.get(read.type.uid) ?? []), read.keys]);
    });
  }
  if (faults.length > 0) return { ok: false, faults };
  const types = [...model.types].map(([uid, type]): [Uid, EntryType] => {
    const indexes = found.get(uid);
    return [uid, indexes ? Object.freeze({ ...type, indexes }) : type];
  });
  return { ok: true, model: { types: new Map(types) } };
};

const ownTypes = (model: Model): readonly Uid[] =>
  [...model.types.values()].filter((it) => it.origin === 'project').map((it) => it.uid);

/** The type whose table gets the index, and its keys; or a fault. */
const readIndex = (
  model: Model,
  from: EntryType,
  text: string,
): { readonly type: EntryType; readonly keys: readonly IndexKey[] } | string => {
  const keys: IndexKey[] = [];
  let type: EntryType | null = null;
  for (const piece of text.split(',')) {
    const [dotted = '', direction = 'asc', ...rest] = piece.trim().split(':');
    if (rest.length > 0 || (direction !== 'asc' && direction !== 'desc'))
      return `"${piece.trim()}" ends with neither :asc nor :desc`;
    const found = findAttribute(model, from, dotted.split('.'));
    if (typeof found === 'string') return found;
    if (type && found.type !== type)
      return `"${text}" names attributes of ${type.uid} and of ${found.type.uid}; an index has those of one`;
    type = found.type;
    if (keys.some((it) => it.attribute === found.attribute)) return `"${text}" names "${dotted}" twice`;
    keys.push({ attribute: found.attribute, direction });
  }
  return type ? { type, keys } : 'expected the name of an attribute';
};

const findAttribute = (
  model: Model,
  from: EntryType,
  segments: readonly string[],
): { readonly type: EntryType; readonly attribute: IndexKey['attribute'] } | string => {
  let type = from;
  for (const [i, name] of segments.entries()) {
    const isLast = i === segments.length - 1;
    const attribute: Attribute | undefined = type.attributes.get(name);
    if (name === 'id') return '"id" always has an index';
    if (!attribute) return `${type.uid} has no attribute "${name}"${orKnown(name, indexable(type))}`;
    switch (attribute.kind) {
      case 'scalar':
        if (!isLast) return `"${name}" of ${type.uid} leads to no other type`;
        if (!isIndexable(attribute.type))
          return `"${name}" of ${type.uid} is a ${attribute.type}, which cannot have an index`;
        return { type, attribute };
      case 'link':
      case 'part':
      case 'morph': {
        const targets = targetsOf(model, attribute);
        if (isLast) {
          const [behind = 'name'] = targets.flatMap((uid) => scalars(model.types.get(uid)!));
          return `"${name}" of ${type.uid} is not a value; name an attribute behind it, such as ${name}.${behind}`;
        }
        if (targets.length !== 1)
          return `"${name}" of ${type.uid} leads to several types; name the index at the type that has the attribute`;
        type = model.types.get(targets[0]!)!;
        break;
      }
      default:
        return never(attribute);
    }
  }
  return `expected the name of an attribute of ${from.uid}${orNearest(segments.join('.'), indexable(from))}`;
};

const indexable = (type: EntryType): readonly string[] =>
  [...type.attributes.values()].filter((it) => it.kind !== 'scalar' || isIndexable(it.type)).map((it) => it.name);

const scalars = (type: EntryType): readonly string[] =>
  [...type.attributes.values()].filter((it) => it.kind === 'scalar' && isIndexable(it.type)).map((it) => it.name);
