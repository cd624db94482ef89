/**
 * Code and commands back to a request: the object that is given to `qs.stringify` or to the typed client, in JavaScript as people
 * write it, and `curl`. Loaded with the editor, whose parser of JavaScript this uses.
 */
import type { SyntaxNode } from '@lezer/common';
import { parser } from '@lezer/javascript';
import { type Model, nameOf, type Type } from '../../../model/model.js';
import type { Read, TextFault } from './brackets.js';
import type { Span } from './faults.js';
import { isMembers, type Members, type Node, type Path } from './node.js';
import { askable, leniencyOf, type Request, readUrl } from './request.js';

/** Any text that says what to read: a URL, a command, code. */
export const readAny = (text: string, model: Model, at: Request | null): Read<Request> => {
  if (/^\s*curl\s/.test(text)) return readCurl(text, model, at);
  const isAddress = /^\s*(https?:\/\/|\/(?!\/))/.test(text);
  return !isAddress && /[{(;]/.test(text) ? readCode(text, model, at) : readUrl(text, model, at);
};

// ---- commands

/** The URL among the words of a command, with what `--data-urlencode` adds to it. */
const readCurl = (text: string, model: Model, at: Request | null): Read<Request> => {
  const words = wordsOf(text);
  const isAddress = (it: Word): boolean => /^https?:\/\/|^\/|^[\w.-]+(:\d+)?\//.test(it.text);
  const valued = new Set([
    '-H',
    '--header',
    '-X',
    '--request',
    '-d',
    '--data',
    '--data-urlencode',
    '-u',
    '--user',
    '-o',
    '--output',
    '-A',
    '-b',
    '-w',
    '-F',
  ]);
  const plain = words.slice(1).filter((it, i) => !it.text.startsWith('-') && !valued.has(words[i]?.text ?? ''));
  const url = plain.find(isAddress) ?? plain[0];
  if (!url) return { ok: false, faults: [{ from: 0, to: text.length, code: 'no-address', name: '' }] };
  const added = words.flatMap((it, i) => (words[i - 1]?.text === '--data-urlencode' ? [encodedPair(it.text)] : []));
  const whole = added.length > 0 ? `${url.text}${url.text.includes('?') ? '&' : '?'}${added.join('&')}` : url.text;
  const read = readUrl(whole, model, at);
  if (read.ok) return read;
  // offsets inside of a quoted word are those of the text, but for escapes
  const moved = (offset: number): number => Math.min(url.from + offset, text.length);
  return { ok: false, faults: read.faults.map((it) => ({ ...it, from: moved(it.from), to: moved(it.to) })) };
};

const encodedPair = (text: string): string => {
  const equals = text.indexOf('=');
  return equals === -1
    ? encodeURIComponent(text)
    : `${text.slice(0, equals + 1)}${encodeURIComponent(text.slice(equals + 1))}`;
};

interface Word {
  readonly text: string;
  /** Where its text begins, behind a quotation mark. */
  readonly from: number;
}

/** Words as a shell takes them: quotes, escapes, lines that go on. */
const wordsOf = (text: string): readonly Word[] => {
  const words: Word[] = [];
  let word = null as Word | null;
  const token = /'([^']*)'|"((?:\\.|[^"\\])*)"|\\([\s\S])|([^\s'"\\]+)|(\s+)/g;
  for (const match of text.matchAll(token)) {
    const [whole, single, double, escaped, bare, space] = match;
    if (space !== undefined) {
      if (word) words.push(word);
      word = null;
      continue;
    }
    if (escaped === '\n') continue;
    const part: string = single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? bare ?? '';
    const from = match.index + (bare === undefined && whole.length > part.length ? 1 : 0);
    word = word ? { ...word, text: word.text + part } : { text: part, from };
  }
  if (word) words.push(word);
  return words;
};

// ---- code

/** The query of a piece of code; its type by `collection('articles')`, by a path in a text, or that at hand. */
const readCode = (text: string, model: Model, at: Request | null): Read<Request> => {
  const found = queryIn(text);
  if (!found.ok) return found;
  // `send({ method, path, query })` of the client
  const { path, query } = found.value;
  if (typeof path === 'string' && typeof query === 'string') return readUrl(`${path}?${query}`, model, at);
  const place = placeIn(text, model) ?? (at ? { type: at.type, id: at.id } : null);
  if (!place) return { ok: false, faults: [{ from: 0, to: text.length, code: 'no-address', name: '' }] };
  return { ok: true, value: { ...place, query: found.value } };
};

/** The place of each value of the query, by its path joined by dots: for faults. */
const spansIn = (text: string): ReadonlyMap<string, Span> => {
  const spans = new Map<string, Span>();
  const object = objectIn(text);
  if (object) readValue(object, text, [], { faults: [], spans });
  return spans;
};

/** The span of the deepest value on the way to a path. */
export const spanInCode = (text: string, path: Path): Span => {
  const spans = spansIn(text);
  for (let length = path.length; length > 0; length--) {
    const span = spans.get(path.slice(0, length).join('.'));
    if (span) return span;
  }
  return { from: 0, to: text.length };
};

const queryIn = (text: string): Read<Members> => {
  const faults: TextFault[] = [];
  const error = firstError(text);
  if (error) return { ok: false, faults: [{ ...error, code: 'syntax', name: '' }] };
  const object = objectIn(text);
  if (!object) {
    // `find()` and `const url = '/api/articles'` have no query
    const isEmpty = /\b(find|findOne)\s*\(\s*\d*\s*\)/.test(text) || /['"`]\/?[\w/-]+['"`]\s*;?\s*$/.test(text);
    const fault: TextFault = { from: 0, to: text.length, code: 'no-query', name: '' };
    return isEmpty ? { ok: true, value: {} } : { ok: false, faults: [fault] };
  }
  const node = readValue(object, text, [], { faults, spans: new Map() });
  if (faults.length > 0) return { ok: false, faults };
  return { ok: true, value: isMembers(node) ? asSent(node) : {} };
};

/** `{ populate: { author: {} } }` populates; other empty objects and lists are not sent. */
const asSent = (members: Members): Members =>
  Object.fromEntries(Object.entries(members).flatMap(([name, it]) => sentMember(name, it, [])));

const sentMember = (name: string, node: Node, path: Path): readonly (readonly [string, Node])[] => {
  const sent = sentNode(node, [...path, name]);
  return sent === undefined ? [] : [[name, sent]];
};

const sentNode = (node: Node, path: Path): Node | undefined => {
  if (node === null || typeof node === 'string') return node;
  if (Array.isArray(node)) {
    const items = (node as readonly Node[])
      .map((it, i) => sentNode(it, [...path, `${i}`]))
      .filter((it) => it !== undefined);
    return items.length > 0 ? items : undefined;
  }
  const members = Object.fromEntries(
    Object.entries(node as Members).flatMap(([name, it]) => sentMember(name, it, path)),
  );
  if (Object.keys(members).length > 0) return members;
  return path.at(-2) === 'populate' || path.at(-2) === 'on' ? 'true' : undefined;
};

/** A bare `{ … }` is an expression here. */
const parsed = (text: string): { readonly tree: ReturnType<typeof parser.parse>; readonly shift: number } => {
  const isObject = /^\s*\{/.test(text);
  return { tree: parser.configure({ dialect: 'ts' }).parse(isObject ? `(${text}\n)` : text), shift: isObject ? 1 : 0 };
};

interface Place {
  readonly node: SyntaxNode;
  readonly shift: number;
}

const firstError = (text: string): Span | null => {
  const { tree, shift } = parsed(text);
  const found: Span[] = [];
  tree.iterate({
    enter: (it) => {
      if (it.type.isError)
        found.push({
          from: Math.max(0, Math.min(it.from - shift, text.length - 1)),
          to: Math.max(1, Math.min(it.to - shift + 1, text.length)),
        });
    },
  });
  return found[0] ?? null;
};

/** The outermost object; behind `import { a } from` and options it is the first that is a value. */
const objectIn = (text: string): Place | null => {
  const { tree, shift } = parsed(text);
  const found: SyntaxNode[] = [];
  tree.iterate({
    enter: (it) => {
      if (it.name === 'ObjectExpression') found.push(it.node);
      return found.length === 0;
    },
  });
  return found[0] ? { node: found[0], shift } : null;
};

interface Reading {
  readonly faults: TextFault[];
  readonly spans: Map<string, Span>;
}

/** Data only: what would have to be run is a fault. */
const readValue = ({ node, shift }: Place, text: string, path: Path, reading: Reading): Node | undefined => {
  const source = text.slice(node.from - shift, node.to - shift);
  const span = { from: node.from - shift, to: node.to - shift };
  if (path.length > 0) reading.spans.set(path.join('.'), span);
  const at = (inner: SyntaxNode): Place => ({ node: inner, shift });
  switch (node.name) {
    case 'ObjectExpression':
      return Object.fromEntries(
        node.getChildren('Property').flatMap((property) => {
          const key = property.firstChild;
          const value = property.lastChild;
          const name = key && keyOf(key, text.slice(key.from - shift, key.to - shift));
          if (!key || !value || key === value || name === null) {
            reading.faults.push({ from: property.from - shift, to: property.to - shift, code: 'not-data', name: '' });
            return [];
          }
          const inner = readValue(at(value), text, [...path, name], reading);
          reading.spans.set([...path, name].join('.'), { from: property.from - shift, to: property.to - shift });
          return inner === undefined ? [] : [[name, inner] as const];
        }),
      );
    case 'ArrayExpression': {
      const items: Node[] = [];
      for (let child = node.firstChild; child; child = child.nextSibling) {
        if (['[', ']', ',', 'LineComment', 'BlockComment'].includes(child.name)) continue;
        const item = readValue(at(child), text, [...path, `${items.length}`], reading);
        if (item !== undefined) items.push(item);
      }
      return items;
    }
    case 'String':
      return textOf(source);
    case 'TemplateString':
      if (!source.includes('${')) return textOf(source);
      break;
    case 'Number':
      return numberText(source);
    case 'BooleanLiteral':
      return source;
    case 'null':
      return null;
    case 'VariableName':
      if (source === 'undefined') return undefined;
      if (source === 'NaN' || source === 'Infinity') return source;
      break;
    case 'UnaryExpression':
      if (/^[-+]\s*[\d.]/.test(source)) return numberText(source.replace(/\s/g, ''));
      break;
    case 'ParenthesizedExpression':
    case 'AsExpression':
    case 'SatisfiesExpression': {
      const inner = node.name === 'ParenthesizedExpression' ? node.firstChild?.nextSibling : node.firstChild;
      if (inner) return readValue(at(inner), text, path, reading);
      break;
    }
    case 'BinaryExpression': {
      // `{ … } as const`
      const first = node.firstChild;
      if (first && /\s(as|satisfies)\s/.test(source)) return readValue(at(first), text, path, reading);
      break;
    }
    case 'NewExpression': {
      const [, given] = /^new\s+Date\(\s*(['"`][^'"`]*['"`])\s*\)$/.exec(source) ?? [];
      const date = given === undefined ? null : new Date(textOf(given));
      if (date && !Number.isNaN(date.getTime())) return date.toISOString();
      break;
    }
  }
  reading.faults.push({ ...span, code: 'not-data', name: source });
  return undefined;
};

const numberText = (source: string): string => {
  const plain = source.replaceAll('_', '').replace(/n$/, '');
  const number = Number(plain.replace(/^\+/, ''));
  return Number.isSafeInteger(number) || !/^\d+$/.test(plain) ? String(number) : plain;
};

const keyOf = (key: SyntaxNode, source: string): string | null => {
  if (key.name === 'PropertyDefinition' || key.name === 'Number') return source;
  return key.name === 'String' ? textOf(source) : null;
};

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v', '0': '\0' };

/** The text of a literal, without its quotation marks. */
const textOf = (source: string): string =>
  source
    .slice(1, -1)
    .replace(
      /\\(?:u\{([\da-f]+)\}|u([\da-f]{4})|x([\da-f]{2})|(\r?\n)|([\s\S]))/gi,
      (_, long, four, two, line, one) => {
        const code: string | undefined = long ?? four ?? two;
        if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
        return line === undefined ? (escapes[one as string] ?? (one as string)) : '';
      },
    );

/** `collection('articles').findOne(7`, `single('homepage')`, or a text such as `/api/articles/7`. */
const placeIn = (text: string, model: Model): Pick<Request, 'type' | 'id'> | null => {
  const [, , name] =
    /\.(collection|single)\(\s*(?:'([^']+)'|"([^"]+)")/.exec(text)?.filter((it) => it !== undefined) ?? [];
  const type = name === undefined ? undefined : askable(model).find((it: Type) => nameOf(it) === name);
  if (type) {
    const [, id] = /\.findOne\(\s*['"]?(\d+)/.exec(text) ?? [];
    return { type: type.uid, id: id ?? null };
  }
  for (const [, path = ''] of text.matchAll(/['"`]((?:https?:\/\/[^/'"`]+)?\/[^'"`?$]*)/g)) {
    const read = readUrl(path, { ...model, strict: leniencyOf(model).strict }, null);
    if (read.ok) return { type: read.value.type, id: read.value.id };
  }
  return null;
};
