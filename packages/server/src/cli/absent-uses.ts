/** What files of a v4 project use of Strapi that is not here, as far as their text shows it. Code that gets there fails. */
import { absentMembers } from '../v4code/missing.js';

export interface AbsentUse {
  /** `strapi.db.connection`, or the name of a module. */
  readonly what: string;
  /** Counted from 1. */
  readonly line: number;
}

/** Each once, in order. @param source without comments, but with all of its lines. */
export const absentUses = (source: string): readonly AbsentUse[] => {
  const found = new Map<string, AbsentUse>();
  source.split('\n').forEach((text, i) => {
    for (const what of usesIn(text)) if (!found.has(what)) found.set(what, { what, line: i + 1 });
  });
  return [...found.values()];
};

const usesIn = (text: string): readonly string[] => [
  ...Object.entries(absentMembers).flatMap(([object, absent]) =>
    [...text.matchAll(memberOf(object))]
      .map(([, dotted, quoted]) => dotted ?? quoted ?? '')
      .filter((name) => absent.has(name))
      .map((name) => (/^\w+$/.test(name) ? `${object}.${name}` : `${object}['${name}']`)),
  ),
  ...[...text.matchAll(deepImport)].map(([, name = '']) => name),
];

/** `strapi.db.NAME` or `strapi.db['NAME']`, with `?.` too. */
const memberOf = (object: string): RegExp =>
  new RegExp(`(?<![\\w$])${object.replaceAll('.', '\\??\\.')}(?:\\??\\.(\\w+)|\\[['"]([\\w-]+)['"]\\])`, 'g');

const deepImport = /(?:\brequire\(|\bfrom |\bimport\(?) ?['"`](@strapi\/strapi\/[\w./-]+)['"`]/g;

/** `strapi.db.connection in line 12 and strapi.fs in line 40 are not here`. */
export const describeUses = (uses: readonly AbsentUse[]): string => {
  const each = uses.map(({ what, line }) => `${what} in line ${line}`);
  const list = each.length > 1 ? `${each.slice(0, -1).join(', ')} and ${each.at(-1)}` : each.join('');
  return `${list} ${uses.length > 1 ? 'are' : 'is'} not here, and ${uses.length > 1 ? 'throw' : 'throws'} an error when used`;
};
