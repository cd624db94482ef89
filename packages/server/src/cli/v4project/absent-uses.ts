/** What files of a v4 project use of Strapi that is not here, as far as their text shows it. Code that gets there fails. */
import escapeRegExp from 'lodash/escapeRegExp.js';
import { enumerated } from '../../errors.js';
import { absentMembers, UTILS } from '../../v4code/strapi-utils/missing.js';
import { absentServicesIn, destructuredNames, type Named } from './absent-services.js';
import { type CodeTexts, codeTexts, lineAt } from './code-texts.js';
import { GROUPING, MANUAL_TRANSACTION, refusedCallsIn } from './db-calls.js';

export interface AbsentUse {
  /** `strapi.db.connection`, or the name of a module or a policy. */
  readonly what: string;
  /** Counted from 1. */
  readonly line: number;
  /** Where it stands in another file, which this one calls. */
  readonly file?: string;
}

interface Project {
  /** Whether code of the project makes `ctx.session`, so that it is there. */
  readonly keepsSessions: boolean;
  /** Names of plugins that v4 has, or may have, and that do not run here. */
  readonly plugins: ReadonlySet<string>;
}

/** Each once, in order. Comments and texts do not count. */
export const absentUses = (file: string, source: string, { keepsSessions, plugins }: Project): readonly AbsentUse[] => {
  const { text, code } = namingStrapi(codeTexts(source));
  const found = new Map<string, AbsentUse>();
  // v4's panel asks its own policies on routes of its own, which nobody serves here; an API has none, whatever their type
  const isOfPanel = !file.startsWith('src/api/') && routesOfPanel.test(text);
  // what policies are given has none in v4 either
  const meansSessions = !keepsSessions && !/^src\/(?:api\/[^/]+\/)?policies\//.test(file);
  const named = [
    ...usesIn(text, code),
    ...pluginsIn(text, code, plugins),
    ...absentServicesIn({ text, code }),
    ...refusedCallsIn({ text, code }, takenOfStrapi(code)),
    ...(isOfPanel ? [] : policiesIn(text)),
    ...(meansSessions ? sessionsIn(code) : []),
  ];
  const uses = named
    .sort((a, b) => a.index - b.index)
    .map(({ what, index }): AbsentUse => ({ what, line: lineAt(text, index) }));
  for (const it of [...uses, ...utilsIn(text, code)]) if (!found.has(it.what)) found.set(it.what, it);
  return [...found.values()].sort((a, b) => a.line - b.line);
};

/**
 * With `strapi` for the names that the file gives it: `({ strapi: app }) =>`, `const app = strapi;`, `const { ...app } = strapi;`. Both still
 * have all lines, and what is at a place of one is at that of the other.
 */
const namingStrapi = ({ text, code }: CodeTexts): CodeTexts => {
  const names = [...code.matchAll(strapiByName)].map(([, ...found]) => found.find((it) => it !== undefined) ?? '');
  if (names.length === 0) return { text, code };
  const used = new RegExp(`(?<![\\w$.]|\\?\\.)(?:${[...new Set(names)].map(escapeRegExp).join('|')})(?![\\w$])`, 'g');
  const places = [...code.matchAll(used)].map(({ 0: { length }, index }) => ({ index, end: index + length }));
  const named = (it: string): string => {
    const parts = places.map(({ index }, i) => it.slice(places[i - 1]?.end ?? 0, index));
    return [...parts, it.slice(places.at(-1)?.end ?? 0)].join('strapi');
  };
  return { text: named(text), code: named(code) };
};

const strapiByName =
  /\.\.\.\s*([\w$]+)\s*,?\s*\}\s*=\s*(?:global(?:This)?\s*\.\s*)?strapi\s*(?=[;,\n]|$)|[{,]\s*strapi\s*:\s*([\w$]+)\s*[,}]|\b(?:const|let|var)\s+([\w$]+)\s*=\s*(?:global(?:This)?\s*\.\s*)?strapi\s*(?=[;,\n]|$)/g;

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

/** What the list of a destructuring takes out of the object at the path. @param index where the list begins. */
const membersIn = (list: string, path: string, index: number): readonly Taken[] =>
  destructuredNames(list).map(({ member, name, at }) => ({ path: `${path}.${member}`, name, index: index + at }));

/** `{ a, b: c } = utils` and `import { a, b as c } from '@strapi/utils'`. */
const takenIn = (source: string, names: ReadonlyMap<string, string>): readonly Taken[] =>
  [...source.matchAll(destructured)].flatMap(({ 0: whole, 1: list = '', 2: from = '', index }) => {
    const [, isModule, local = '', members = ''] = /^(['"].*|require.*?\))?([\w$]*)((?:\??\.\w+)*)$/.exec(from) ?? [];
    const object = isModule === undefined ? names.get(local) : UTILS;
    if (object === undefined) return [];
    const at = object + members.replaceAll('?', '');
    return membersIn(list, at, index + whole.indexOf('{') + 1);
  });

const utilsIn = (source: string, code: string): readonly AbsentUse[] => {
  if (!source.includes('@strapi/utils')) return [];
  const names = namesIn(source);
  const uses: { readonly path: string; readonly index: number }[] = [...takenIn(source, names)];
  const required = ['require\\( ?[\'"]@strapi/utils[\'"] ?\\)', UTILS] as const;
  const named = [...names].map(([name, path]) => [escapeRegExp(name), path] as const);
  for (const [name, path] of [...named, required])
    for (const found of (name === required[0] ? source : code).matchAll(
      new RegExp(`(?<![\\w$.])${name}((?:\\s*\\??\\.\\s*\\w+)+)`, 'g'),
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

const wholeModule =
  /(?:\b(?:const|let|var)\s+([\w$]+)\s*=\s*require\(\s*['"]@strapi\/utils['"]\s*\)(?!\s*\??\.)|\bimport\s+(?:\*\s*as\s+)?([\w$]+)[^'"{]*from\s*['"]@strapi\/utils['"])/g;

const destructured =
  /\{([^{}]*)\}\s*(?:=|from)\s*(require\(\s*['"]@strapi\/utils['"]\s*\)(?:\??\.\w+)*|['"]@strapi\/utils['"]|[\w$]+(?:\??\.\w+)*)/g;

/** What is taken out of `strapi`, and by which names: `const db = strapi.db`, `const { connection } = strapi.db`. */
const takenOfStrapi = (code: string): readonly Taken[] => [
  ...[...code.matchAll(alias)].map(({ 1: name = '', 2: path = '', index }) => ({
    path: path.replaceAll('?', ''),
    name,
    index,
  })),
  ...[...code.matchAll(destructuredStrapi)].flatMap(({ 1: list = '', 2: path = '', index }) =>
    membersIn(list, path.replaceAll('?', ''), index + 1),
  ),
];

const alias = /\b(?:const|let|var)\s+([\w$]+)\s*=\s*(strapi(?:\??\.\w+)+)\s*(?=[;,)\n]|$)/g;
const destructuredStrapi = /\{([^{}]*)\}\s*=\s*(strapi(?:\??\.\w+)*)\s*(?=[;,)\n]|$)/g;

/** Uses of absent members by the names that the file gives to what it has taken. */
const usesByNames = (code: string): readonly Named[] => {
  const absentOf: Readonly<Record<string, ReadonlySet<string>>> = absentMembers;
  return takenOfStrapi(code).flatMap(({ path, name, index }): readonly Named[] => {
    if (absentPaths.has(path)) return [{ what: path, index }];
    const absent = absentOf[path];
    if (!absent) return [];
    const used = new RegExp(`(?<![\\w$.])${escapeRegExp(name)}\\s*\\??\\.\\s*(\\w+)`, 'g');
    return [...code.matchAll(used)]
      .filter(({ 1: it = '' }) => absent.has(it))
      .map(({ 1: it = '', index: at }) => ({ what: `${path}.${it}`, index: at }));
  });
};

const usesIn = (text: string, code: string): readonly Named[] => [
  ...usesByNames(code),
  ...Object.entries(absentMembers)
    // services of the panel are found with those of plugins
    .filter(([object]) => object.startsWith('strapi') && object !== 'strapi.admin.services')
    .flatMap(([object, absent]) =>
      [...code.matchAll(memberOf(object))]
        .map(({ 1: dotted, 2: quoted, index }) => ({ name: dotted ?? quoted ?? '', index }))
        .filter(({ name }) => (absent as ReadonlySet<string>).has(name))
        .map(({ name, index }) => ({ what: `${object}.${name}`, index })),
    ),
  // the calls are code, and what they are given is text
  ...[...text.matchAll(deepImport)]
    .filter(({ 0: whole, index }) => isCode(whole, index, code))
    .map(({ 1: what = '', index }) => ({ what, index })),
  ...[...text.matchAll(modelOfServer)]
    .filter(({ 0: whole, index }) => isCode(whole, index, code))
    .map(({ 1: uid = '', index }) => ({ what: `query('${uid}')`, index })),
];

/** What a name of the file stands for, if it is a text. */
const textOfName = (name: string, text: string): string | undefined =>
  new RegExp(`(?<![\\w$.])${escapeRegExp(name)}\\s*=\\s*['"\`]([^'"\`]+)`).exec(text)?.[1];

/** Plugins by their names, and their parts by uids. */
const pluginsIn = (text: string, code: string, plugins: ReadonlySet<string>): readonly Named[] => [
  ...[...text.matchAll(pluginCall)]
    .filter(({ 0: whole, 1: name = '', index }) => plugins.has(name) && isCode(whole, index, code))
    .map(({ 1: name, index }) => ({ what: `strapi.plugin('${name}')`, index })),
  ...[...code.matchAll(memberOf('strapi.plugins'))]
    .map(({ 1: dotted, 2: quoted, index }) => ({ name: dotted ?? quoted ?? '', index }))
    .filter(({ name }) => plugins.has(name))
    .map(({ name, index }) => ({ what: `strapi.plugins['${name}']`, index })),
  ...takenOfStrapi(code).flatMap(({ path, index }) => {
    const [, name = ''] = /^strapi\.plugins\.(\w+)$/.exec(path) ?? [];
    return plugins.has(name) ? [{ what: `strapi.plugins['${name}']`, index }] : [];
  }),
  ...[...code.matchAll(pluginByName)].flatMap(({ 1: name = '', index }) => {
    const plugin = textOfName(name, text);
    return plugin !== undefined && plugins.has(plugin) ? [{ what: `strapi.plugin('${plugin}')`, index }] : [];
  }),
  ...[...text.matchAll(uidOfPlugin)]
    .filter(({ 0: whole, 1: name = '', index }) => plugins.has(name) && isCode(whole, index, code))
    .map(({ 0: whole, index }) => ({ what: /plugin::[^'"`]+/.exec(whole)![0], index })),
];

const pluginCall =
  /(?<![\w$])strapi(?:\s+as\s+[\w.$]+\s*\))?\s*!?\??\.\s*plugin\s*(?:\?\.)?(?:<[^<>()]*>\s*)?\(\s*['"`]([^'"`]+)['"`]\s*\)/g;

/** `strapi.plugin(NAME)` and `strapi.plugin<any>(NAME)`. */
const pluginByName = /(?<![\w$])strapi\s*!?\??\.\s*plugin\s*(?:<[^<>()]*>\s*)?\(\s*([A-Za-z_$][\w$]*)\s*\)/g;

/** What a call is given, or a member is named by, or a name or a member of the file stands for. */
const uidOfPlugin = /(?:[([:]|(?<![=!])=)\s*['"`]plugin::([\w@/-]+)\.[\w.-]+['"`]/g;

/** Whether what a match begins with is no part of a text. */
const isCode = (whole: string, index: number, code: string): boolean => code[index] === whole[0];

const policiesIn = (text: string): readonly Named[] =>
  [...text.matchAll(policyOfPanel)].map(({ 1: what = '', index }) => ({ what, index }));

/** `strapi.db.NAME` or `strapi['db']['NAME']`, with `?.` too. */
const memberOf = (object: string): RegExp => {
  const [root = '', ...path] = object.split('.');
  const named = path.map((it) => member(`${it}(?![\\w$])`, it)).join('');
  return new RegExp(`(?<![\\w$])${root}${named}${member('(\\w+)', '([\\w-]+)')}`, 'g');
};

const member = (dotted: string, quoted: string): string =>
  `(?:\\s+as\\s+[\\w.$]+\\s*\\))?\\s*!?(?:\\??\\.\\s*${dotted}|(?:\\?\\.)?\\s*\\[\\s*['"\`]${quoted}['"\`]\\s*\\])`;

/** What v4 keeps beside content types. */
const modelOfServer = /\bquery\( ?['"`](strapi::[\w-]+|webhook)['"`]/g;

const policyOfPanel = /['"`](admin::(?:isAuthenticatedAdmin|hasPermissions|isTelemetryEnabled))['"`]/g;
const routesOfPanel = /\btype['"]? ?: ?['"]admin['"]|\broutes(?:\??\.admin\b|\[['"]admin['"]\])/;

const session =
  /(?<![\w$.])(?:ctx|context|requestContext\.get\(\))\??(?:\.session\b|\.?\[['"]session['"]\])|\{[^{}]*\bsession\b[^{}]*\} ?= ?(?:ctx|context)\b(?!\.)/;
const sessionsIn = (code: string): readonly Named[] => {
  const index = code.search(session);
  return index === -1 ? [] : [{ what: 'ctx.session', index }];
};

/** Neither reads it first, as `ctx.session = ctx.session || {}` does. */
const madeSession =
  /['"`](?:@koa\/session|koa-[\w-]*session[\w-]*)['"`]|\b(?:ctx|context)\.session ?= ?(?!=)(?![^;\n]*\.session\b)/;

/** Whether code gives requests sessions of its own: by a package of Koa's, or by itself. @param source without comments. */
export const makesSessions = (source: string): boolean => madeSession.test(source);

const deepImport = /(?:\brequire\(|\bfrom |\bimport\(?) ?['"`](@strapi\/strapi\/[\w./-]+)['"`]/g;

/** A policy that is not here refuses the start. */
const throwsError = ({ what }: AbsentUse): boolean => !what.startsWith('admin::');

/** Whether code that gets there may catch the error, and go on. A query that is refused ends the request of a guard all the same. */
export const mayBeCaught = (use: AbsentUse): boolean => throwsError(use) && use.what !== GROUPING;

/** `strapi.db.connection on line 12 and strapi.fs on line 40 are not here`. */
export const describeUses = (uses: readonly AbsentUse[]): string => {
  const isFile = ({ what }: AbsentUse): boolean => what.startsWith('@strapi/strapi/');
  const isManual = ({ what }: AbsentUse): boolean => what === MANUAL_TRANSACTION;
  const members = uses.filter((it) => throwsError(it) && !isFile(it) && !isManual(it));
  return [
    described(members, ['is not here, and throws an error when used', 'are not here, and throw an error when used']),
    described(uses.filter(isManual), [`throws an error${withWork}`, `throw an error${withWork}`]),
    described(uses.filter(isFile), [`is a file ${ofStrapi}`, `are files ${ofStrapi}`]),
    described(
      uses.filter((it) => !throwsError(it)),
      [`is a policy ${ofPanel}`, `are policies ${ofPanel}`],
    ),
  ]
    .filter((it) => it !== '')
    .join('; ');
};

const withWork =
  ': give it one, strapi.db.transaction(async () => { … }), which commits at its end and rolls back if it throws';

const ofStrapi =
  "of Strapi's own package: without that the start is refused, and with it nothing in there knows this server";

const ofPanel =
  "of v4's admin panel, which is not here: the start refuses routes that name it, so remove it there, or name a policy of the project instead";

/** @param said what is said of one, and of several. */
const described = (uses: readonly AbsentUse[], said: readonly [one: string, several: string]): string => {
  const each = uses.map(({ what, line, file }) => `${what} on line ${line}${file === undefined ? '' : ` of ${file}`}`);
  return each.length === 0 ? '' : `${enumerated(each)} ${each.length === 1 ? said[0] : said[1]}`;
};
