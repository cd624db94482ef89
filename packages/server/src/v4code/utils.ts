/** What `@strapi/utils` has that needs neither a site nor its model. */
import slugify, { type Options as SlugOptions } from '@sindresorhus/slugify';
import escapeRegExp from 'lodash/escapeRegExp.js';
import { missing } from './missing.js';
import { absoluteAdminUrl, absoluteServerUrl, configUrls } from './urls.js';

/** Runs the work for all at once. Without the work: a function that takes it. */
const mapAsync = (all: readonly unknown[], work?: Work): unknown =>
  work === undefined ? (later: Work) => mapAsync(all, later) : Promise.all(all.map(async (it, i) => work(await it, i)));

type Work = (it: unknown, index: number) => unknown;

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

const template = {
  /** Placeholders of these names only: `<%= user.name %>`. */
  createStrictInterpolationRegExp: (names: readonly string[], flags?: string) =>
    new RegExp(`<%=\\s*(${names.map(escapeRegExp).join('|')})\\s*%>`, flags),
  createLooseInterpolationRegExp: (flags?: string) => new RegExp('<%=([\\s\\S]+?)%>', flags),
};

const two = (value: number): string => String(value).padStart(2, '0');

const dayOf = (date: Date): string => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;

const timeOf = (value: unknown): string => {
  if (value instanceof Date)
    return `${two(value.getHours())}:${two(value.getMinutes())}:${two(value.getSeconds())}.${String(value.getMilliseconds()).padStart(3, '0')}`;
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
      return timeOf(value);
    case 'date':
      return dayOf(instantOf(value));
    case 'datetime':
    case 'timestamp':
      return instantOf(value);
    default:
      return value;
  }
};

export const ownUtils = {
  mapAsync,
  pipeAsync,
  setCreatorFields,
  keysDeep,
  template,
  parseType,
  nameToSlug: (name: string, options: SlugOptions = { separator: '-' }) => slugify(name, options),
  generateTimestampCode: (date = new Date()) => date.getTime().toString(36).toUpperCase(),
  isKebabCase: (text: string) => /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(text),
  isCamelCase: (text: string) => /^[a-z][a-zA-Z0-9]+$/.test(text),
  stringIncludes: (all: readonly unknown[], value: unknown) => all.map(String).includes(String(value)),
  stringEquals: (one: unknown, other: unknown) => String(one) === String(other),
  getConfigUrls: configUrls,
  getAbsoluteServerUrl: absoluteServerUrl,
  getAbsoluteAdminUrl: absoluteAdminUrl,
};

/** What v4's package has besides. It can be imported; whoever uses it gets an error that names it. */
export const absentUtils: Readonly<Record<string, unknown>> = Object.fromEntries(
  [
    ...['augmentErrors', 'buildQuery', 'components', 'convertQueryParams', 'convertRestQueryParams', 'escapeQuery'],
    ...['file', 'forEachAsync', 'formatYupErrors', 'generateInstanceId', 'getCommonBeginning', 'getCommonPath'],
    ...['hooks', 'importDefault', 'isOperator', 'isOperatorOfType', 'joinBy', 'machineID', 'nameToCollectionName'],
    ...['operators', 'pagination', 'policy', 'primitives', 'providerFactory', 'reduceAsync', 'relations'],
    ...['removeUndefined', 'sanitizeEntity', 'startsWithANumber', 'toKebabCase', 'toRegressedEnumValue', 'traverse'],
    ...['traverseEntity', 'validate', 'webhook'],
  ].map((name) => [name, absentUtil(`require('@strapi/utils').${name}`)]),
);

function absentUtil(name: string): unknown {
  return new Proxy(() => undefined, {
    get: (target, key, receiver) => {
      if (typeof key === 'symbol' || key in target || key === 'then' || key === 'toJSON' || key === '__esModule')
        return Reflect.get(target, key, receiver) as unknown;
      throw missing(`${name}.${key}`);
    },
    apply: () => {
      throw missing(name);
    },
    construct: () => {
      throw missing(name);
    },
  });
}
