/** What is asked, as one plain object: which entries, and the members of the query. */
import { type Model, nameOf, type Type } from '../../../model/model.js';
import { type Leniency, type Read, readSearch, type TextFault, writeSearch } from './brackets.js';
import { type Members, noMembers } from './node.js';

export interface Request {
  /** The uid of a content type that has a route. */
  readonly type: string;
  /** Of one entry of a collection; null for its list, and for single types. */
  readonly id: string | null;
  /** The parameters, as they were written. */
  readonly query: Members;
}

export type Action = 'find' | 'findOne' | 'single';

export const actionOf = (type: Type, { id }: Pick<Request, 'id'>): Action =>
  type.kind === 'single' ? 'single' : id === null ? 'find' : 'findOne';

/** The content types that can be asked for: those with a route. */
export const askable = (model: Model): readonly Type[] => model.types.filter((it) => it.path !== null);

export const newRequest = (type: Type): Request => ({ type: type.uid, id: null, query: noMembers });

export const typeOfRequest = (model: Model, { type }: Request): Type | null =>
  model.types.find((it) => it.uid === type && it.path !== null) ?? null;

/** `/api/articles/7?fields[0]=title`, from the root of the server. */
export const writeUrl = (model: Model, request: Request): string => {
  const search = writeSearch(request.query);
  return `${pathOf(model, request)}${search === '' ? '' : `?${search}`}`;
};

/** `/api/articles/7`. */
export const pathOf = (model: Model, request: Request): string =>
  `${typeOfRequest(model, request)?.path ?? ''}${request.id === null ? '' : `/${encodeURIComponent(request.id)}`}`;

/**
 * A URL, with or without host and prefix: `https://example.org/api/articles?fields=title`, `/articles/7`, `articles`. Or the
 * parameters alone, for the type at hand. Offsets of faults are those of the text.
 */
export const readUrl = (text: string, model: Model, at: Request | null): Read<Request> => {
  const begin = text.length - text.trimStart().length;
  const address = text.trim();
  const hash = address.indexOf('#');
  const whole = hash === -1 ? address : address.slice(0, hash);
  const question = whole.indexOf('?');
  const isSearch = question === -1 && at !== null && /^[^/?]*=/.test(whole);
  const path = isSearch ? '' : question === -1 ? whole : whole.slice(0, question);
  const searchAt = isSearch ? 0 : question === -1 ? whole.length : question + 1;
  const place = path === '' && at ? at : placeOf(path, model);
  const query = readSearch(whole.slice(searchAt), leniencyOf(model));
  const faults: TextFault[] = [
    ...(place ? [] : [unknownPath(path, begin, model)]),
    ...(query.ok
      ? []
      : query.faults.map((it) => ({ ...it, from: it.from + begin + searchAt, to: it.to + begin + searchAt }))),
  ];
  return place && query.ok && faults.length === 0
    ? { ok: true, value: { type: place.type, id: place.id, query: query.value } }
    : { ok: false, faults };
};

export const leniencyOf = ({ strict }: Model): Leniency => ({ strict });

const unknownPath = (path: string, begin: number, model: Model): TextFault => {
  const span = { from: begin, to: begin + Math.max(1, path.length) };
  if (path === '') return { ...span, code: 'no-address', name: '' };
  const types = askable(model);
  const inside = listUrl(path, types);
  if (inside !== null) return { ...span, code: 'relation-list', name: inside };
  // what stands behind the path of a collection is no id
  const behind = types
    .filter((it) => it.kind === 'collection')
    .map(({ path: own }) => path.split(`${own}/`)[1])
    .find((it) => it !== undefined);
  if (behind !== undefined && !behind.includes('/')) return { ...span, code: 'not-an-id', name: behind };
  const last = path.split('/').at(-1);
  const meant = types.find((it) => it.kind === 'collection' && it.singular === last);
  return meant ? { ...span, code: 'singular', name: meant.path ?? '' } : { ...span, code: 'unknown-path', name: path };
};

/** Of `/api/editions/1/relations/articles`, a window of a list, the URL of the entry with that list; null for other paths. */
const listUrl = (path: string, types: readonly Type[]): string | null => {
  const [entry = '', list] = path.replace(/\/+$/, '').split('/relations/');
  const found = types
    .map((type) => ({ ...type, at: entry.lastIndexOf(type.path ?? '') }))
    .find(({ kind, at, path: own }) => {
      const id = at === -1 ? null : entry.slice(at + (own ?? '').length);
      return id !== null && (kind === 'single' ? id === '' : /^\/\d+$/.test(id));
    });
  if (list === undefined || !found) return null;
  // components on the way are named with their ids, in zones with their uids too
  const names = list.split('/').filter((it) => !/^\d+$|\./.test(it));
  return `${entry.slice(found.at)}?populate=${names.join('.')}`;
};

const placeOf = (path: string, model: Model): Pick<Request, 'type' | 'id'> | null => {
  const bare = path.replace(/^[a-z][a-z+.-]*:\/\/[^/]*/i, '').replace(/\/+$/, '');
  const decoded = safelyDecoded(bare.startsWith('/') ? bare : `/${bare}`);
  for (const type of askable(model)) {
    // what is before the prefix is the path of the server itself, behind a proxy
    for (const known of [type.path ?? '', `/${nameOf(type)}`]) {
      const at = known === type.path ? decoded.lastIndexOf(`${known}/`) : decoded.startsWith(`${known}/`) ? 0 : -1;
      if (decoded === known || (known === type.path && decoded.endsWith(known))) return { type: type.uid, id: null };
      const id = at === -1 ? '' : decoded.slice(at + known.length + 1);
      if (type.kind !== 'single' && /^\d+$/.test(id)) return { type: type.uid, id };
    }
  }
  return null;
};

const safelyDecoded = (path: string): string => {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
};
