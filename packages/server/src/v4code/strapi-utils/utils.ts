/** What `@strapi/utils` has that needs neither a site nor its model. */
import { atMost } from '../../concurrency.js';
import { eventNames } from '../../events/events.js';
import { absoluteAdminUrl, absoluteServerUrl, configUrls } from '../loading/urls.js';
import { relations } from './content-types.js';
import { dayOf, timeOf } from './dates.js';
import { PaginationError } from './errors.js';
import { file } from './file-sizes.js';
import { hooks } from './hook-lists.js';
import { absentFunction, absentMembers, UTILS, withMissing } from './missing.js';
import { names } from './names.js';
import { operators } from './operator-names.js';
import { policy } from './policies.js';

/** Runs the work for all at once, or for so many at a time. Without the work: a function that takes it. */
const mapAsync = (all: readonly unknown[], work?: Work, { concurrency = all.length || 1 }: AtATime = {}): unknown => {
  if (work === undefined) return (later: Work, options?: AtATime) => mapAsync(all, later, options);
  const inTurn = atMost(concurrency);
  return Promise.all(all.map((it, i) => inTurn(async () => work(await it, i))));
};

type Work = (it: unknown, index: number) => unknown;

interface AtATime {
  readonly concurrency?: number;
}

/** The same for work whose results nobody wants. */
const forEachAsync = (all: readonly unknown[], work?: Work, options?: AtATime): unknown =>
  work === undefined
    ? (later: Work, given?: AtATime) => forEachAsync(all, later, given)
    : Promise.resolve(mapAsync(all, work, options)).then(() => undefined);

/** One after the other, each with the result of those before: `reduceAsync(list)(work, initial)`. */
const reduceAsync =
  (all: readonly unknown[]) =>
  async (work: (before: unknown, it: unknown, index: number) => unknown, initial?: unknown): Promise<unknown> => {
    let result = initial;
    for (const [i, it] of all.entries()) result = await work(result, await it, i);
    return result;
  };

const removeUndefined = (given: object): object =>
  Object.fromEntries(Object.entries(given).filter(([, it]) => it !== undefined));

interface Pages {
  readonly start?: unknown;
  readonly limit?: unknown;
  readonly page?: unknown;
  readonly pageSize?: unknown;
}

interface PageDefaults {
  readonly defaults?: {
    readonly offset?: { readonly start?: number; readonly limit?: number };
    readonly page?: { readonly page?: number; readonly pageSize?: number };
  };
  /** -1: there is none. */
  readonly maxLimit?: number;
}

/** Parameters with `start` and `limit`, whichever way they name a page. */
const withDefaultPagination = (given: Pages, { defaults = {}, maxLimit = -1 }: PageDefaults = {}): object => {
  const { start, limit, page, pageSize, ...rest } = given;
  const isGiven = (...values: readonly unknown[]): boolean => values.some((it) => it !== undefined && it !== null);
  if (isGiven(page, pageSize) && isGiven(start, limit))
    throw new PaginationError('Cannot use both page & offset pagination in the same query');
  const bounded = (count: number): number => {
    if (count === -1) return maxLimit;
    const atLeast = Math.max(1, count);
    return maxLimit === -1 ? atLeast : Math.min(atLeast, maxLimit);
  };
  if (!isGiven(page, pageSize)) {
    const from = { start: 0, limit: 10, ...defaults.offset };
    return { ...rest, start: Math.max(0, Number(start ?? from.start)), limit: bounded(Number(limit ?? from.limit)) };
  }
  const from = { page: 1, pageSize: 10, ...defaults.page };
  const size = bounded(Math.max(1, Number(pageSize ?? from.pageSize)));
  return { ...rest, start: (Math.max(1, Number(page ?? from.page)) - 1) * size, limit: size };
};

interface Yup {
  mixed(): { test(name: string, message: string, isRight: (value: unknown) => boolean): unknown };
}

/** yup with v4's schema of an id: a text or a whole number. */
export const withStrapiId = (yup: Yup): object => ({
  ...yup,
  strapiID: () =>
    yup.mixed().test(
      'strapiID',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: yup fills it in
      '${path} must be a text or a whole number',
      (it) => it === undefined || typeof it === 'string' || (Number.isSafeInteger(it) && (it as number) >= 0),
    ),
});

/** A function that passes what it is given through all of these. */
const pipeAsync =
  (...steps: readonly ((it: unknown) => unknown)[]) =>
  async (given: unknown): Promise<unknown> => {
    let it = given;
    for (const step of steps) it = await step(it);
    return it;
  };

const setCreatorFields =
  ({ user, isEdition = false }: { readonly user: { readonly id: unknown }; readonly isEdition?: boolean }) =>
  (data: object): object => ({ ...data, ...(isEdition ? {} : { createdBy: user.id }), updatedBy: user.id });

/** Places of all values that are no objects: `user.name`. */
const keysDeep = (value: unknown, path: readonly string[] = []): readonly string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, it]) => keysDeep(it, [...path, key]))
    : [path.join('.')];

const timeIn = (value: unknown): string => {
  if (value instanceof Date) return timeOf(value);
  const [, time, fraction = ''] =
    /^((?:2[0-3]|[01]\d):[0-5]\d:[0-5]\d)(?:\.(\d{1,3}))?$/.exec(typeof value === 'string' ? value : '') ?? [];
  if (time === undefined) throw new Error('Invalid time format, expected HH:mm:ss.SSS');
  return `${time}.${fraction.padEnd(3, '0')}`;
};

/** An instant; a day alone begins where the server is. */
const instantOf = (value: unknown): Date => {
  if (value instanceof Date) return value;
  const isDay = typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value);
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^\d{5,}$/.test(value));
  const date = new Date(isDay ? `${value}T00:00:00` : isNumber ? Number(value) : String(value));
  if (Number.isNaN(date.getTime())) throw new Error('Invalid format, expected a timestamp or an ISO date');
  return date;
};

const booleanOf = (value: unknown): boolean => {
  if (typeof value === 'boolean') return value;
  if (['true', 't', '1', 1].includes(value as string | number)) return true;
  if (['false', 'f', '0', 0].includes(value as string | number)) return false;
  throw new Error('Invalid boolean input. Expected "t","1","true","false","0","f"');
};

/** A value as the attribute of a type has it. */
const parseType = ({ type, value }: { readonly type: string; readonly value: unknown }): unknown => {
  switch (type) {
    case 'boolean':
      return booleanOf(value);
    case 'integer':
    case 'biginteger':
    case 'float':
    case 'decimal':
      return Number(value);
    case 'time':
      return timeIn(value);
    case 'date':
      return dayOf(instantOf(value));
    case 'datetime':
    case 'timestamp':
      return instantOf(value);
    default:
      return value;
  }
};

/** `ENTRY_CREATE: 'entry.create'` */
const webhookEvents = Object.fromEntries(eventNames.map((it) => [it.toUpperCase().replace('.', '_'), it]));

export const ownUtils = {
  mapAsync,
  forEachAsync,
  reduceAsync,
  pipeAsync,
  removeUndefined,
  pagination: withMissing(`${UTILS}.pagination`, { withDefaultPagination }),
  setCreatorFields,
  keysDeep,
  ...names,
  ...operators,
  file,
  hooks,
  policy,
  relations,
  webhook: { webhookEvents },
  parseType,
  generateTimestampCode: (date = new Date()) => date.getTime().toString(36).toUpperCase(),
  getConfigUrls: configUrls,
  getAbsoluteServerUrl: absoluteServerUrl,
  getAbsoluteAdminUrl: absoluteAdminUrl,
};

/** What v4's package has besides. It can be imported; whoever uses it gets an error that names it. */
export const absentUtils: Readonly<Record<string, unknown>> = Object.fromEntries(
  [...absentMembers[UTILS]].map((name) => [name, absentFunction(`${UTILS}.${name}`)]),
);
