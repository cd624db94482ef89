/** What `@strapi/utils` makes of names and other short texts. */
import slugify, { type Options as SlugOptions } from '@sindresorhus/slugify';
import escapeRegExp from 'lodash/escapeRegExp.js';
import kebabCase from 'lodash/kebabCase.js';
import trimEnd from 'lodash/trimEnd.js';
import trimStart from 'lodash/trimStart.js';

/** Parts with one separator between them, whatever they begin and end with; what stands at both ends of the whole stays. */
const joinBy = (separator: string, ...parts: readonly string[]): string =>
  parts
    .map((it, i) => {
      const begun = i === 0 ? it : trimStart(it, separator);
      return i === parts.length - 1 ? begun : trimEnd(begun, separator);
    })
    .join(separator);

const getCommonBeginning = (...texts: readonly string[]): string => {
  const [first = '', ...others] = texts;
  let length = 0;
  while (length < first.length && others.every((it) => it[length] === first[length])) length += 1;
  return first.slice(0, length);
};

/** Puts the mark before each of the characters. */
const escapeQuery = (text: string, characters: string, mark = '\\'): string =>
  [...text].map((it) => (characters.includes(it) ? mark + it : it)).join('');

export const names = {
  joinBy,
  getCommonBeginning,
  escapeQuery,
  toKebabCase: (text: string) => kebabCase(text),
  nameToSlug: (name: string, options: SlugOptions = { separator: '-' }) => slugify(name, options),
  nameToCollectionName: (name: string) => slugify(name, { separator: '_' }),
  toRegressedEnumValue: (value: string) => slugify(value, { decamelize: false, lowercase: false, separator: '_' }),
  isKebabCase: (text: string) => /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(text),
  isCamelCase: (text: string) => /^[a-z][a-zA-Z0-9]+$/.test(text),
  startsWithANumber: (text: string) => /^\d/.test(text),
  stringIncludes: (all: readonly unknown[], value: unknown) => all.map(String).includes(String(value)),
  stringEquals: (one: unknown, other: unknown) => String(one) === String(other),
  template: {
    /** Placeholders of these names only: `<%= user.name %>`. */
    createStrictInterpolationRegExp: (allowed: readonly string[], flags?: string) =>
      new RegExp(`<%=\\s*(${allowed.map(escapeRegExp).join('|')})\\s*%>`, flags),
    createLooseInterpolationRegExp: (flags?: string) => new RegExp('<%=([\\s\\S]+?)%>', flags),
  },
};
