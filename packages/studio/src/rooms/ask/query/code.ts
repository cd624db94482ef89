/** The request as other texts: code for `qs` and for the typed client, and a command. */
import { nameOf } from '../../../model/model.js';
import { canonicalQuery, type Value } from './canonical.js';
import { isList, isMembers, type Members, type Node } from './node.js';
import type { Ground } from './place.js';
import { actionOf, pathOf, type Request, writeUrl } from './request.js';

export type TextForm = 'url' | 'qs' | 'client' | 'curl';
export const textForms: readonly TextForm[] = ['url', 'qs', 'client', 'curl'];

/** @param origin of the server, without a slash at the end. */
export const writeForm = (form: TextForm, request: Request, ground: Ground, origin: string): string => {
  switch (form) {
    case 'url':
      return writeUrl(ground.model, request);
    case 'qs':
      return writeQs(request, ground);
    case 'client':
      return writeClient(request, ground);
    case 'curl':
      return `curl -g '${origin}${writeUrl(ground.model, request)}'`;
  }
};

const writeQs = (request: Request, { model }: Ground): string => {
  const path = pathOf(model, request);
  if (Object.keys(request.query).length === 0) return `const url = '${path}';`;
  // `qs` writes a key without a value only if it is told to
  const options = hasNull(request.query)
    ? '{ encodeValuesOnly: true, strictNullHandling: true }'
    : '{ encodeValuesOnly: true }';
  return `import qs from 'qs';

const query = qs.stringify(
  ${writeValue(asValues(request.query), 1)},
  ${options},
);
const url = \`${path}?\${query}\`;`;
};

const hasNull = (node: Node): boolean => {
  if (isList(node)) return node.some(hasNull);
  return isMembers(node) ? Object.values(node).some(hasNull) : node === null;
};

type WithNull = Value | null | readonly WithNull[] | { readonly [name: string]: WithNull };

/** Flags and numbers of pages as such, which are the same texts. */
const asValues = (query: Members): WithNull => {
  const asValue = (node: Node, path: readonly string[]): WithNull => {
    if (isList(node)) return node.map((it, i) => asValue(it, [...path, `${i}`]));
    if (isMembers(node))
      return Object.fromEntries(Object.entries(node).map(([name, it]) => [name, asValue(it, [...path, name])]));
    const isFlag = path[0] !== '_q' && (path.includes('populate') || path[0] === 'pagination');
    if (isFlag && (node === 'true' || node === 'false')) return node === 'true';
    if (node !== null && path[0] === 'pagination' && /^(0|[1-9]\d{0,8})$/.test(node)) return Number(node);
    return node;
  };
  return asValue(query, []);
};

const writeClient = (request: Request, ground: Ground): string => {
  const { type } = ground;
  const query = canonicalQuery(request.query, ground);
  const path = pathOf(ground.model, request).slice(ground.model.prefix.length);
  if (query === null)
    return `// the typed client has no form for this query\nconst { body } = await api.send({ method: 'GET', path: '${path}', query: ${quoted(writeUrl(ground.model, request).replace(/^[^?]*\??/, ''))} });`;
  const given = Object.keys(query).length > 0 ? writeValue(query, 0) : '';
  switch (actionOf(type, request)) {
    case 'single':
      return `const { data } = await api.single(${quoted(nameOf(type))}).find(${given});`;
    case 'findOne':
      return `const { data } = await api.collection(${quoted(nameOf(type))}).findOne(${request.id}${given === '' ? '' : `, ${given}`});`;
    case 'find':
      return `const { data, meta } = await api.collection(${quoted(nameOf(type))}).find(${given});`;
  }
};

const WIDTH = 100;

/** On one line if it fits, as the usual formatters write it. */
const writeValue = (value: WithNull, depth: number): string => {
  const flat = flatValue(value);
  if (flat.length + depth * 2 < WIDTH - 20 && flat.length < 72) return flat;
  const [inner, outer] = ['  '.repeat(depth + 1), '  '.repeat(depth)];
  if (Array.isArray(value))
    return `[\n${(value as readonly WithNull[]).map((it) => `${inner}${writeValue(it, depth + 1)},\n`).join('')}${outer}]`;
  if (value === null || typeof value !== 'object') return flat;
  const members = Object.entries(value as Readonly<Record<string, WithNull>>);
  return `{\n${members.map(([name, it]) => `${inner}${keyOf(name)}: ${writeValue(it, depth + 1)},\n`).join('')}${outer}}`;
};

const flatValue = (value: WithNull): string => {
  if (typeof value === 'string') return quoted(value);
  if (value === null || typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[${(value as readonly WithNull[]).map(flatValue).join(', ')}]`;
  const members = Object.entries(value as Readonly<Record<string, WithNull>>);
  return members.length === 0
    ? '{}'
    : `{ ${members.map(([name, it]) => `${keyOf(name)}: ${flatValue(it)}`).join(', ')} }`;
};

const keyOf = (name: string): string => (/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) ? name : quoted(name));

const quoted = (text: string): string => {
  const json = JSON.stringify(text);
  return text.includes("'") ? json : `'${json.slice(1, -1).replaceAll('\\"', '"')}'`;
};
