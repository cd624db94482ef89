/** What files of a v4 project use of Strapi that is not here, as far as their text shows it. Code that gets there fails. */
import { absentMembers } from '../../v4code/strapi-utils/missing.js';

export interface AbsentUse {
  /** `strapi.db.connection`, or the name of a module or a policy. */
  readonly what: string;
  /** Counted from 1. */
  readonly line: number;
}

/** Each once, in order. @param source without comments, but with all of its lines. */
export const absentUses = (file: string, source: string): readonly AbsentUse[] => {
  const found = new Map<string, AbsentUse>();
  // v4's panel asks its own policies on routes of its own, which nobody serves here; an API has none, whatever their type
  const isOfPanel = !file.startsWith('src/api/') && routesOfPanel.test(source);
  source.split('\n').forEach((text, i) => {
    const all = [...usesIn(text), ...(isOfPanel ? [] : policiesIn(text))];
    for (const what of all) if (!found.has(what)) found.set(what, { what, line: i + 1 });
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
  ...[...text.matchAll(modelOfServer)].map(([, uid = '']) => `query('${uid}')`),
];

const policiesIn = (text: string): readonly string[] => [...text.matchAll(policyOfPanel)].map(([, name = '']) => name);

/** `strapi.db.NAME` or `strapi.db['NAME']`, with `?.` too. */
const memberOf = (object: string): RegExp =>
  new RegExp(`(?<![\\w$])${object.replaceAll('.', '\\??\\.')}(?:\\??\\.(\\w+)|\\[['"]([\\w-]+)['"]\\])`, 'g');

/** What v4 keeps beside content types. */
const modelOfServer = /\bquery\( ?['"`](strapi::[\w-]+|webhook)['"`]/g;

const policyOfPanel = /['"`](admin::(?:isAuthenticatedAdmin|hasPermissions|isTelemetryEnabled))['"`]/g;
const routesOfPanel = /\btype['"]? ?: ?['"]admin['"]|\broutes(?:\??\.admin\b|\[['"]admin['"]\])/;

const deepImport = /(?:\brequire\(|\bfrom |\bimport\(?) ?['"`](@strapi\/strapi\/[\w./-]+)['"`]/g;

/** Whether code that gets there may catch an error; a policy that is not here refuses the start. */
export const throwsError = ({ what }: AbsentUse): boolean => !what.startsWith('admin::');

/** `strapi.db.connection in line 12 and strapi.fs in line 40 are not here`. */
export const describeUses = (uses: readonly AbsentUse[]): string => {
  const [policies, others] = [uses.filter((it) => !throwsError(it)), uses.filter(throwsError)];
  return [
    described(others, ['is not here, and throws an error when used', 'are not here, and throw an error when used']),
    described(policies, [`is a policy ${ofPanel}`, `are policies ${ofPanel}`]),
  ]
    .filter((it) => it !== '')
    .join('; ');
};

const ofPanel =
  "of v4's admin panel, which is not here: the start refuses routes that name it, so remove it there, or name a policy of the project instead";

/** @param said what is said of one, and of several. */
const described = (uses: readonly AbsentUse[], said: readonly [one: string, several: string]): string => {
  const each = uses.map(({ what, line }) => `${what} in line ${line}`);
  if (each.length < 2) return each.map((it) => `${it} ${said[0]}`).join('');
  return `${each.slice(0, -1).join(', ')} and ${each.at(-1)} ${said[1]}`;
};
