/** The top-level parameters of a query (RQ13), and the recognition of near misses. */
import { isOneErrorAway } from '../errors.js';
import type { EntryFormat } from './selection.js';

export const parameters = [
  'fields',
  'populate',
  'filters',
  'sort',
  'pagination',
  'publicationState',
  'locale',
  '_q',
] as const;
const known: ReadonlySet<string> = new Set(parameters);

/** v5's name of `publicationState`, in its format only. */
export const STATUS = 'status';

/** Members of `pagination` that lists reject at the top level (PA7). */
const misplaced: ReadonlySet<string> = new Set(['page', 'pageSize', 'start', 'limit']);

/** Names of the same parameters in v3 and v5 and in other query languages. */
const elsewhere: ReadonlyMap<string, string> = new Map([
  ['where', 'filters'],
  ['select', 'fields'],
  ['include', 'populate'],
  ['expand', 'populate'],
  ['order', 'sort'],
  ['orderby', 'sort'],
  ['sortby', 'sort'],
  ['status', 'publicationState'],
  ['offset', 'pagination[start]'],
  ['skip', 'pagination[start]'],
  ['start', 'pagination[start]'],
  ['limit', 'pagination[limit]'],
  ['take', 'pagination[limit]'],
  ['paginate', 'pagination'],
  ['paging', 'pagination'],
  ['page', 'pagination[page]'],
  ['pagesize', 'pagination[pageSize]'],
  ['perpage', 'pagination[pageSize]'],
  ['lang', 'locale'],
  ['language', 'locale'],
  ['q', '_q'],
]);

/** A malformed key that begins with a parameter: `filters.title`, `filters[title`, `[filters][title]`. */
const beginsKnown = new RegExp(`^\\[?(${parameters.join('|')})(?![A-Za-z0-9_$-])`);

export type ParameterName =
  | { readonly kind: 'known' }
  /** Has brackets that do not balance, or dots (RQ11). v4 reads some and ignores the others. */
  | { readonly kind: 'malformed'; readonly ignoredByV4: boolean }
  | { readonly kind: 'misplaced' }
  /** Not a parameter, but nearly one (RQ13). */
  | { readonly kind: 'near'; readonly meant: string }
  /** Anything else in a URL, such as `utm_source`: ignored. */
  | { readonly kind: 'other' };

export const parameterName = (name: string, format: EntryFormat = 'v4'): ParameterName => {
  if (known.has(name) || (format === 'v5' && name === STATUS)) return { kind: 'known' };
  if (misplaced.has(name)) return { kind: 'misplaced' };
  if (beginsKnown.test(name)) return { kind: 'malformed', ignoredByV4: !isReadByV4(name) };
  const meant = meantBy(name);
  return meant === undefined ? { kind: 'other' } : { kind: 'near', meant };
};

/**
 * v4's parser reads the text before the first pair of brackets as the name, and `[filters]` as `filters`; it drops
 * everything after an unclosed bracket.
 */
const isReadByV4 = (key: string): boolean => {
  const pair = key.search(/\[[^[\]]*\]/);
  return pair === -1 ? key.includes('[') : pair === 0 || known.has(key.slice(0, pair));
};

/** Differences of case, `_` and `-` do not count: `_sort`, `order_by`, `publication-state`. */
const meantBy = (name: string): string | undefined => {
  const plain = name.toLowerCase().replace(/[_-]/g, '');
  return (
    elsewhere.get(plain) ??
    parameters.find((it) => plain === it.toLowerCase()) ??
    // names as short as `_q` are not recognisable after one error
    parameters.find((it) => it.length > 2 && isOneErrorAway(name, it))
  );
};
