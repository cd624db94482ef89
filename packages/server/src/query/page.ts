/** `pagination` of a list (PA1). */
import { hintAt, issue, never } from '../errors.js';
import { limits } from '../limits.js';
import { parseFlag } from '../model/attributes.js';
import { leaveOut } from './lenient.js';
import type { RawNode } from './raw.js';
import { type Path, type Resolving, refuse, shapeIn } from './resolving.js';
import type { Page } from './selection.js';

export interface Paging {
  readonly page: Page;
  /** Which blank of the query's template its number or start was read from; null for none. */
  readonly blank: number | null;
  readonly withCount: boolean;
}

const known = ['page', 'pageSize', 'start', 'limit', 'withCount'];

export const resolvePage = (resolving: Resolving, node: RawNode | undefined): Paging => {
  const { rest } = resolving;
  const largest = rest.maxLimit ?? limits.rowsMax;
  const clamp = (size: number): number => Math.max(1, Math.min(size, largest));
  const standard: Paging = {
    page: { kind: 'page', page: 1, pageSize: clamp(rest.defaultLimit) },
    blank: null,
    withCount: rest.withCount,
  };
  if (!node) return standard;
  const shape = shapeIn(resolving, node);
  if (shape.kind === 'null') return standard;
  if (shape.kind !== 'tree') {
    leaveOut(resolving, issue('query.expected-object', ['pagination']));
    return standard;
  }
  const { members } = shape;
  for (const name of members.keys()) {
    if (!known.includes(name))
      leaveOut(resolving, issue('query.unknown-pagination', ['pagination', name], { name, ...hintAt(name, known) }));
  }
  const number = (name: string): number | undefined => {
    const given = members.get(name);
    return given ? pageNumber(resolving, given, ['pagination', name]) : undefined;
  };
  const [page, pageSize, start, limit] = [number('page'), number('pageSize'), number('start'), number('limit')];
  const withCount = countFlag(resolving, members.get('withCount')) ?? rest.withCount;
  const byOffset = members.has('start') || members.has('limit');
  const numbered = members.get(byOffset ? 'start' : 'page');
  const blank = numbered ? blankOf(resolving, numbered) : null;
  if (byOffset && (members.has('page') || members.has('pageSize')))
    refuse(resolving, 'pagination.mixed', ['pagination']);
  if (byOffset) {
    // -1 means the maximum, as in v4
    const wanted = limit === -1 ? largest : (limit ?? rest.defaultLimit);
    return { page: { kind: 'offset', start: Math.max(0, start ?? 0), limit: clamp(wanted) }, blank, withCount };
  }
  const size = clamp(pageSize ?? rest.defaultLimit);
  const pageMax = lastPage(size);
  if (page !== undefined && page > pageMax)
    refuse(resolving, 'query.too-large', ['pagination', 'page'], { max: `${pageMax}` });
  return { page: { kind: 'page', page: Math.max(1, page ?? 1), pageSize: size }, blank, withCount };
};

/** The number of rows to skip must be exact. */
const lastPage = (size: number): number => Math.floor(Number.MAX_SAFE_INTEGER / size);

/** The same page with another number or start, as a blank of a template has it; null if it is out of range. */
export const otherPage = (page: Page, text: string): Page | null => {
  const number = Number(text);
  switch (page.kind) {
    case 'page':
      return number <= lastPage(page.pageSize) ? { ...page, page: number } : null;
    case 'offset':
      return { ...page, start: number };
    case 'every':
      return null;
    default:
      return never(page);
  }
};

const blankOf = (resolving: Resolving, node: RawNode): number | null => {
  const shape = shapeIn(resolving, node);
  return shape.kind === 'text' ? shape.blank : null;
};

const pageNumber = (resolving: Resolving, node: RawNode, path: Path): number | undefined => {
  let shape = shapeIn(resolving, node);
  if (shape.kind === 'list' && shape.items.length === 1) shape = shapeIn(resolving, shape.items[0]!);
  if (shape.kind === 'null' || (shape.kind === 'text' && shape.text.trim() === '')) return 0;
  if (shape.kind !== 'text') {
    refuse(resolving, 'query.expected-text', path);
    return undefined;
  }
  const { text } = shape;
  const name = path.at(-1);
  const number = Number(text);
  // an infinite page size means the maximum; an infinite page number is invalid
  if (number === Number.POSITIVE_INFINITY && (name === 'pageSize' || name === 'limit')) return number;
  if (Number.isInteger(number)) {
    if (name !== 'start') return number;
    // no list is longer than the largest exact integer
    if (exactInteger(text, number) < 2n ** 63n) return Math.min(number, Number.MAX_SAFE_INTEGER);
    refuse(resolving, 'query.too-large', path, { max: `${2n ** 63n - 1n}` });
  } else refuse(resolving, 'query.integer', path, { text });
  return undefined;
};

/** The integer of a text whose number may have lost digits. */
const exactInteger = (text: string, number: number): bigint =>
  /^\s*\d+\s*$/.test(text) ? BigInt(text) : BigInt(number);

/** Accepts fewer words than other flags: lower case only (PA1). */
const countFlag = (resolving: Resolving, node: RawNode | undefined): boolean | undefined => {
  if (!node) return undefined;
  const shape = shapeIn(resolving, node);
  const flag = shape.kind === 'text' && /^(true|t|1|false|f|0)$/.test(shape.text) ? parseFlag(shape.text) : undefined;
  if (flag === undefined) refuse(resolving, 'pagination.with-count', ['pagination', 'withCount']);
  return flag;
};

/** Rows to take and to skip. */
export const boundsOf = (page: Page | null): { readonly limit: number; readonly offset: number } => {
  if (!page) return { limit: 1, offset: 0 };
  switch (page.kind) {
    case 'page':
      return { limit: page.pageSize, offset: (page.page - 1) * page.pageSize };
    case 'offset':
      return { limit: page.limit, offset: page.start };
    case 'every':
      return { limit: limits.rowsMax, offset: 0 };
    default:
      return never(page);
  }
};
