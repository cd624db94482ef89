/** Calls of `strapi.db` that this server refuses for what they are given, as far as the text of a file shows it. */
import escapeRegExp from 'lodash/escapeRegExp.js';
import { blockAround, type Named, plainly } from './absent-services.js';
import type { CodeTexts } from './code-texts.js';

/** Which other queries of v4 do not have. */
export const GROUPING = 'groupBy of db.query';

/** The form of v4 that is ended by hand: `const { commit } = await strapi.db.transaction()`. */
export const MANUAL_TRANSACTION = 'strapi.db.transaction() without a function';

/** A name that the file gives to something of `strapi`. */
interface NameOfStrapi {
  /** `strapi.db.query` */
  readonly path: string;
  readonly name: string;
}

export const refusedCallsIn = (texts: CodeTexts, names: readonly NameOfStrapi[]): readonly Named[] => {
  const code = plainly(texts.code);
  const spelled = (path: string): string => {
    const own = names.filter((it) => it.path === path).map(({ name }) => `(?<!\\.\\s*)${escapeRegExp(name)}`);
    return [path.replaceAll('.', '\\s*\\.\\s*'), ...own].join('|');
  };
  const db = `(?:${spelled('strapi.db')})\\s*\\.\\s*`;
  const callsOf = (called: string): RegExp => new RegExp(`(?<![\\w$])(?:${called})${CALL}`, 'g');
  const queries = `${db}query|${spelled('strapi.db.query')}|${spelled('strapi.query')}`;
  const calls = texts.text.includes('groupBy') ? code.matchAll(callsOf(queries)) : [];
  const grouping = [...calls]
    .flatMap(({ 0: whole, index }) => givenToQuery(code, { start: index, end: index + whole.length }))
    .flatMap((it) => keysIn(texts, it));
  const transactions = [...code.matchAll(callsOf(`${db}transaction|${spelled('strapi.db.transaction')}`))]
    .filter(({ 0: whole, index }) => /^\s*\)/.test(code.slice(index + whole.length)))
    .map(({ index }) => ({ what: MANUAL_TRANSACTION, index }));
  return [...grouping, ...transactions];
};

/** What comes between the name of a function and what it is given. */
const CALL = '\\s*(?:<[^<>()]*>\\s*)?\\(';

interface Place {
  readonly start: number;
  readonly end: number;
}

/** The arguments of the methods of a query. @param call from its beginning to what it is given. */
const givenToQuery = (code: string, call: Place): readonly Place[] => {
  const method = new RegExp(`\\s*\\.\\s*[\\w$]+${CALL}`, 'y');
  const end = endOfArguments(code, call.end);
  method.lastIndex = end + 1;
  if (method.test(code)) return [{ start: method.lastIndex, end: endOfArguments(code, method.lastIndex) }];
  const before = code.slice(Math.max(0, call.start - DECLARATION_LENGTH), call.start);
  const [, name] = /\b(?:const|let|var)\s+([\w$]+)[^=;]*=\s*$/.exec(before) ?? [];
  if (name === undefined) return [];
  const uses = new RegExp(`(?<![\\w$]|\\.\\s*)${escapeRegExp(name)}${method.source}`, 'g');
  const [first, last] = blockAround(code, call.start);
  return [...code.slice(first, last).matchAll(uses)].map(({ 0: whole, index }) => {
    const start = first + index + whole.length;
    return { start, end: endOfArguments(code, start) };
  });
};

/** How far back from a query the beginning of its declaration is looked for. */
const DECLARATION_LENGTH = 200;

/** Where the parenthesis is closed that opens before the place. */
const endOfArguments = (code: string, start: number): number => {
  let depth = 1;
  const last = Math.min(code.length, start + ARGUMENTS_LENGTH_MAX);
  for (let at = start; at < last; at += 1) {
    if (code[at] === '(') depth += 1;
    if (code[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return last;
};

/** Longer ones are not looked at to their end. */
const ARGUMENTS_LENGTH_MAX = 10_000;

/** Keys of the object that is given, `{ groupBy }` too; those deeper inside are attributes. A quoted one is a text, its name is not. */
const keysIn = ({ text, code }: CodeTexts, { start, end }: Place): readonly Named[] =>
  [...text.slice(start, end).matchAll(/(?<=[{,]\s*)(['"]?)groupBy\1\s*(?=[:,}])/g)]
    .filter(({ 1: quote, index }) => quote !== '' || code[start + index] === 'g')
    .filter(({ index }) => depthAt(code, start, start + index) === 1)
    .map(({ index }) => ({ what: GROUPING, index: start + index }));

/** In how many braces it stands. */
const depthAt = (code: string, start: number, place: number): number => {
  let depth = 0;
  for (const it of code.slice(start, place)) depth += it === '{' ? 1 : it === '}' ? -1 : 0;
  return depth;
};
