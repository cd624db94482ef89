/**
 * Which files of a v4 project a file calls, as far as its text shows it: those that it imports, and the services and controllers that it
 * names.
 */
import path from 'node:path';
import groupBy from 'lodash/groupBy.js';
import memoize from 'lodash/memoize.js';
import { kebabName } from '../../model/files.js';
import { withoutComments } from './code-texts.js';
import { filesAt, textOf } from './project-files.js';

/** Files that are reached from some files, through any number of others, these among them. */
export type Reach = (from: readonly string[]) => ReadonlySet<string>;

/** @param all files of the project that may be reached as services and controllers. */
export const reachIn = (projectDir: string, all: readonly string[]): Reach => {
  const members = membersIn(all);
  const bareTextOf = memoize((file: string) => withoutComments(textOf(projectDir, file)));
  const calledBy = memoize((file: string): readonly string[] => {
    const text = bareTextOf(file);
    const imported = importsOf(projectDir, file, text);
    return [...imported, ...membersCalledBy(file, text, imported)];
  });
  /** Services and controllers that the text calls: by uid, by a name that may stand for one, as those of an API, or behind a core controller. */
  const membersCalledBy = (file: string, text: string, imported: readonly string[]): readonly string[] => {
    const isByName = calledByName.test(text) || (superCall.test(text) && coreOfName.test(text));
    const uids = [
      ...uidsIn(text, calledUid),
      ...(superCall.test(text) ? uidsIn(text, coreUid) : []),
      // the file says for what the name stands, or one that it imports
      ...(isByName ? [file, ...imported].flatMap((it) => uidsIn(bareTextOf(it), namedUid)) : []),
    ];
    const [, own] = /^src\/api\/([^/]+)\//.exec(file) ?? [];
    const apis = [...text.matchAll(membersOfApi)].map(([, api = '']) => api);
    if (isByName && uids.length === 0 && own !== undefined) apis.push(own);
    return [
      ...uids.flatMap((uid) => members.byUid.get(uid) ?? []),
      ...apis.flatMap((api) => members.byApi.get(kebabName(api)) ?? []),
    ];
  };
  return (from) => {
    const reached = new Set(from);
    for (const file of reached) for (const it of calledBy(file)) reached.add(it);
    return reached;
  };
};

/** The text of a file, and those of the files of the project that it imports by their places. */
export const withImported = (projectDir: string, file: string, source: string): string => {
  const texts = new Map([[file, source]]);
  for (const [at, text] of texts)
    for (const it of importsOf(projectDir, at, withoutComments(text)))
      if (!texts.has(it)) texts.set(it, textOf(projectDir, it));
  return [...texts.values()].join('\n');
};

/** @param text without comments. */
const importsOf = (projectDir: string, file: string, text: string): readonly string[] =>
  [...text.matchAll(importsPlace)]
    .map(([, given = '']) => path.posix.join(path.posix.dirname(file), given).replace(/\/$|\.[cm]?[jt]s$/, ''))
    .filter((place) => !place.startsWith('..'))
    .flatMap((place) => [place, `${place}/index`].flatMap((it) => filesAt(projectDir, it.split('/'))));

const importsPlace = /(?:\brequire\(|\bfrom|\bimport\(?)\s*['"`](\.{1,2}(?:\/[^'"`]*)?)['"`]/g;

interface ApiMembers {
  readonly byUid: ReadonlyMap<string, readonly string[]>;
  /** By the name of the API. */
  readonly byApi: ReadonlyMap<string, readonly string[]>;
}

const membersIn = (files: readonly string[]): ApiMembers => {
  const found = files.flatMap((file) => {
    const [, api, name = ''] = /^src\/api\/([^/]+)\/(?:services|controllers)\/([^/]+?)\.\w+$/.exec(file) ?? [];
    return api === undefined ? [] : { file, uid: uidOf(api, name), api: kebabName(api) };
  });
  const filesBy = (key: 'uid' | 'api'): ReadonlyMap<string, readonly string[]> =>
    new Map(Object.entries(groupBy(found, key)).map(([name, its]) => [name, its.map((it) => it.file)]));
  return { byUid: filesBy('uid'), byApi: filesBy('api') };
};

const uidOf = (api: string, name: string): string => `api::${kebabName(api)}.${kebabName(name)}`;

const uidsIn = (text: string, form: RegExp): readonly string[] =>
  [...text.matchAll(form)].map(([, api = '', name = '']) => uidOf(api, name));

const uid = String.raw`['"\x60]api::([\w-]+)\.([\w-]+)['"\x60]`;
const member = '(?:service|controller)s?';
const opens = String.raw`\s*(?:\?\.\s*)?(?:<[^<>()]*>\s*)?[([]\s*`;
/** `strapi.service('api::tool.tool')`, `strapi.services['api::tool.tool']` */
const calledUid = new RegExp(String.raw`\b${member}${opens}${uid}`, 'g');
/** `strapi.service(NAME)`, `strapi.services[NAME]`, `strapi.service.bind(strapi)` */
const calledByName = new RegExp(
  String.raw`\.\s*${member}(?:${opens}(?!(['"\x60])[\w:.-]+\1\s*[)\]])|\s*\.\s*(?:bind|call|apply)\b)`,
);
/** One for which a name may stand: those that queries are given are of no service. */
const namedUid = new RegExp(
  String.raw`(?<!\b(?:query|find\w*|create(?!Core)\w*|update\w*|delete\w*|count|load|getModel|contentType)\s*(?:<[^<>()]*>\s*)?\(\s*)${uid}`,
  'g',
);
/** `strapi.api.tool.services.tool`, `strapi.api['tool'].service('tool')` */
const membersOfApi = new RegExp(
  String.raw`\bapi\s*(?:\?\.|\.|\[)\s*['"\x60]?([\w-]+)['"\x60]?\s*\]?\s*(?:\?\.|\.)\s*${member}\b`,
  'g',
);
const core = String.raw`\bcreateCoreController\s*(?:<[^<>()]*>\s*)?\(\s*`;
const coreUid = new RegExp(core + uid, 'g');
const coreOfName = new RegExp(`${core}[A-Za-z_$]`);
const superCall = /\bsuper\s*\./;
