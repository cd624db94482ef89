/** What files of a v4 project use of Strapi that is not here, as far as their text shows it. Code that gets there fails. */
import { absentMembers, UTILS } from '../../v4code/strapi-utils/missing.js';

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
  for (const it of [...utilsIn(source), ...groupingIn(source)]) if (!found.has(it.what)) found.set(it.what, it);
  return [...found.values()].sort((a, b) => a.line - b.line);
};

// ---- `@strapi/utils`, by whatever names the file gives it and its members

/** Names of the file for the package, or for an object of it that lacks some members. */
const namesIn = (source: string): ReadonlyMap<string, string> => {
  const names = new Map<string, string>();
  for (const [, required, imported] of source.matchAll(wholeModule)) names.set(required ?? imported ?? '', UTILS);
  // what is taken out of an object that was itself taken out of the package
  for (let size = -1; size < names.size; ) {
    size = names.size;
    for (const { path, name } of takenIn(source, names)) if (Object.hasOwn(absentMembers, path)) names.set(name, path);
  }
  return names;
};

interface Taken {
  /** `require('@strapi/utils').joinBy` */
  readonly path: string;
  /** What the file calls it. */
  readonly name: string;
  /** Where the member is named. */
  readonly index: number;
}

/** `{ a, b: c } = utils` and `import { a, b as c } from '@strapi/utils'`. */
const takenIn = (source: string, names: ReadonlyMap<string, string>): readonly Taken[] =>
  [...source.matchAll(destructured)].flatMap(({ 0: whole, 1: list = '', 2: from = '', index }) => {
    const [, isModule, local = '', members = ''] = /^(['"].*|require.*?\))?([\w$]*)((?:\??\.\w+)*)$/.exec(from) ?? [];
    const object = isModule === undefined ? names.get(local) : UTILS;
    if (object === undefined) return [];
    const at = object + members.replaceAll('?', '');
    return [...list.matchAll(/([\w$]+)(?:\s*(?::|\bas\b)\s*([\w$]+))?/g)].map((one) => ({
      path: `${at}.${one[1]}`,
      name: one[2] ?? one[1] ?? '',
      index: index + whole.indexOf('{') + 1 + one.index,
    }));
  });

const utilsIn = (source: string): readonly AbsentUse[] => {
  if (!source.includes('@strapi/utils')) return [];
  const names = namesIn(source);
  const uses: { readonly path: string; readonly index: number }[] = [...takenIn(source, names)];
  for (const [name, path] of [...names, ['require\\( ?[\'"]@strapi/utils[\'"] ?\\)', UTILS] as const])
    for (const found of source.matchAll(
      new RegExp(`(?<![\\w$.])${name.replace(/^\$/, '\\$')}((?:\\s*\\??\\.\\s*\\w+)+)`, 'g'),
    ))
      uses.push(
        ...(found[1] ?? '')
          .split('.')
          .slice(1)
          .map((_it, i, all) => ({
            path: [path, ...all.slice(0, i + 1).map((it) => it.replaceAll(/[\s?]/g, ''))].join('.'),
            index: found.index,
          })),
      );
  return uses
    .filter(({ path }) => isAbsent(path))
    .sort((a, b) => a.index - b.index)
    .map(({ path, index }) => ({ what: path, line: lineAt(source, index) }));
};

const absentPaths: ReadonlySet<string> = new Set(
  Object.entries(absentMembers).flatMap(([object, members]) => [...members].map((it) => `${object}.${it}`)),
);
const isAbsent = (path: string): boolean => absentPaths.has(path);

const lineAt = (source: string, index: number): number => source.slice(0, index).split('\n').length;

const wholeModule =
  /(?:\b(?:const|let|var)\s+([\w$]+)\s*=\s*require\(\s*['"]@strapi\/utils['"]\s*\)(?!\s*\??\.)|\bimport\s+(?:\*\s*as\s+)?([\w$]+)[^'"{]*from\s*['"]@strapi\/utils['"])/g;

const destructured =
  /\{([^{}]*)\}\s*(?:=|from)\s*(require\(\s*['"]@strapi\/utils['"]\s*\)(?:\??\.\w+)*|['"]@strapi\/utils['"]|[\w$]+(?:\??\.\w+)*)/g;

/** Which other queries of v4 do not have. */
const GROUPING = 'groupBy of db.query';

const groupingIn = (source: string): readonly AbsentUse[] => {
  const at = /\bquery\(/.test(source) ? source.search(/\bgroupBy['"]?\s*:/) : -1;
  return at === -1 ? [] : [{ what: GROUPING, line: lineAt(source, at) }];
};

const usesIn = (text: string): readonly string[] => [
  ...Object.entries(absentMembers)
    .filter(([object]) => object.startsWith('strapi'))
    .flatMap(([object, absent]) =>
      [...text.matchAll(memberOf(object))]
        .map(([, dotted, quoted]) => dotted ?? quoted ?? '')
        .filter((name) => (absent as ReadonlySet<string>).has(name))
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

/** A policy that is not here refuses the start. */
const throwsError = ({ what }: AbsentUse): boolean => !what.startsWith('admin::');

/** Whether code that gets there may catch the error, and go on. A query that is refused ends the request of a guard all the same. */
export const mayBeCaught = (use: AbsentUse): boolean => throwsError(use) && use.what !== GROUPING;

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
