/** The files of a form that are stored with an entry: `files.cover`, `files.cards.1.picture`, `files.blocks[0].image`. */
import { hintAt, issue, refuse } from '../errors.js';
import {
  type EntryType,
  isWritable,
  type LinkAttribute,
  type Model,
  type PartAttribute,
  typeLabel,
} from '../model/model.js';
import { AddedFiles } from '../write/change.js';
import { isObject } from '../write/ids.js';
import type { Data } from '../write/request.js';
import type { Session } from '../write/session.js';
import type { Form, Received } from './receive.js';
import type { Part, Storing } from './storing.js';

/** A form with the parsed text of its field `data`. */
export interface EntryForm {
  readonly data: unknown;
  readonly files: readonly Received[];
}

/** Runs the write of an entry with the ids of its files in the data. It may run twice. */
export type WriteWithFiles<T> = (data: Data, session: Session) => Promise<T>;

export interface EntryFiles {
  /**
   * Stores files and writes their entry, both or neither. Throws `Refusal`.
   * @param data as in a JSON body; the names of the files are places in it.
   * @param entry with the model as whoever writes it sees it.
   * @param part the write is perhaps a part of another; it has a transaction of its own by default.
   */
  attach<T>(
    files: readonly Received[],
    entry: {
      readonly type: EntryType;
      readonly data: Data;
      readonly adminId: number | null;
      readonly model: Model;
    },
    write: WriteWithFiles<T>,
    part?: Part,
  ): Promise<T>;
}

/** Throws `Refusal`. */
export const readEntryForm = ({ fields, files }: Form): EntryForm => {
  const texts = fields.filter((it) => it.name === 'data').map((it) => it.value);
  const [text] = texts;
  if (text === undefined) return refuse(issue('form.no-data', []));
  if (texts.length > 1) return refuse(issue('form.data', ['data']));
  const textual = fields.find((it) => it.name.startsWith('files'));
  if (textual) return refuse(issue('form.not-a-file', [], { name: textual.name }));
  try {
    return { data: JSON.parse(text), files };
  } catch {
    return refuse(issue('form.data', ['data']));
  }
};

export const newEntryFiles = (storing: Storing): EntryFiles => {
  const { writer } = storing.deps;
  return {
    attach: (received, { type, data, adminId, model }, write, part) => {
      const places = received.map((it) => placeOf(it.field, data, type, model));
      return storing.store(
        received.map((it) => ({ received: it, info: {} })),
        (stored) =>
          (part ?? writer).transaction((session) =>
            storing.insert(stored, session, adminId, (inserted) => {
              const ids = inserted.map((it) => it.id);
              return write(withFiles(data, places, ids), session);
            }),
          ),
        part,
      );
    },
  };
};

// ---- where a file belongs

/** A media attribute of an entry, or of a component in its data. */
interface Place {
  /** Keys and indexes in the data: `['cards', '1', 'picture']`. */
  readonly path: readonly string[];
  readonly attribute: LinkAttribute;
}

const placeOf = (name: string, data: Data, type: EntryType, model: Model): Place => {
  const refuseName = (what: string): never => refuse(issue('form.file-name', [], { name, what }));
  if (!name.startsWith('files.')) return refuseName('the name of a file begins with "files."');
  const path = name
    .slice('files.'.length)
    .replaceAll(/\[(\d+)\]/g, '.$1')
    .split('.');

  const componentOf = ({ shape, components }: PartAttribute, value: unknown): EntryType => {
    const uid = shape === 'zone' && isObject(value) ? value['__component'] : components[0];
    const component = typeof uid === 'string' && components.includes(uid) ? model.types.get(uid) : undefined;
    return component ?? refuseName('data names no component there');
  };

  let owner: { readonly type: EntryType; readonly data: Data } = { type, data };
  for (let at = 0; ; at++) {
    const key = path[at]!;
    const attribute = owner.type.attributes.get(key);
    if (attribute && !isWritable(attribute)) return refuseName(`requests cannot write "${key}"`);
    if (attribute?.kind === 'link' && attribute.source === 'media')
      return at === path.length - 1 ? { path, attribute } : refuseName(`the name ends with "${key}"`);
    if (attribute?.kind !== 'part' || at === path.length - 1) {
      const media = [...owner.type.attributes.values()].filter((it) => it.kind === 'link' && it.source === 'media');
      const names = media.filter((it) => !it.hidden && isWritable(it)).map((it) => it.name);
      return refuse(issue('form.no-media', [], { name, key, type: typeLabel(owner.type), ...hintAt(key, names) }));
    }
    let value = Object.hasOwn(owner.data, key) ? owner.data[key] : undefined;
    if (attribute.shape !== 'one') {
      at += 1;
      value = Array.isArray(value) ? (value as readonly unknown[])[indexOf(path[at])] : undefined;
    }
    if (!isObject(value) || at === path.length - 1) return refuseName('data has no component there');
    owner = { type: componentOf(attribute, value), data: value };
  }
};

const indexOf = (segment: string | undefined): number =>
  segment !== undefined && /^(?:0|[1-9]\d{0,5})$/.test(segment) ? Number(segment) : -1;

// ---- the data with its files

/** A copy of the data: a single file replaces the value, several are added to it in the order of the request. */
const withFiles = (data: Data, places: readonly Place[], ids: readonly number[]): Data => {
  const added = new Map<string, { readonly place: Place; readonly ids: number[] }>();
  for (const [i, place] of places.entries()) {
    const key = place.path.join('.');
    const group = added.get(key) ?? { place, ids: [] };
    added.set(key, group);
    group.ids.push(ids[i]!);
  }
  let copy: unknown = data;
  for (const { place, ids: own } of added.values())
    copy = changedAt(copy, place.path, (given) =>
      place.attribute.shape === 'one' ? own.at(-1) : extended(given, own),
    );
  return copy as Data;
};

const changedAt = (
  node: unknown,
  [key = '', ...rest]: readonly string[],
  change: (given: unknown) => unknown,
): unknown => {
  const members = node as Readonly<Record<string, unknown>>;
  const given = Object.hasOwn(members, key) ? members[key] : undefined;
  const value = rest.length === 0 ? change(given) : changedAt(given, rest, change);
  return Array.isArray(node) ? node.with(Number(key), value) : { ...members, [key]: value };
};

/** A list of media in any form of a body, and files after it. */
const extended = (given: unknown, ids: readonly number[]): unknown => {
  if (given === undefined) return new AddedFiles(ids);
  if (given === null) return ids;
  if (Array.isArray(given)) return [...(given as readonly unknown[]), ...ids];
  if (!isObject(given) || 'id' in given) return [given, ...ids];
  // what is not a list is refused where any value is
  return Object.keys(given).join() === 'set' ? extended(given['set'], ids) : given;
};
