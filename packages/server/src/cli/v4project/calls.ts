/** Which files of a v4 project a file calls, as far as its text shows it: those that it imports, and services that it names. */
import path from 'node:path';
import { kebabName } from '../../model/files.js';
import { withoutComments } from './code-texts.js';
import { filesAt, textOf } from './project-files.js';

/** Files that are reached from a file, by whatever others, itself among them. @param all those of the project that may be reached as services. */
export const reachedFrom = (projectDir: string, file: string, all: readonly string[]): ReadonlySet<string> => {
  const reached = new Set([file]);
  for (const at of reached) {
    const text = withoutComments(textOf(projectDir, at));
    for (const it of importsOf(projectDir, at, text)) reached.add(it);
    const isCalled = servicesIn(text, at);
    for (const it of all) if (!reached.has(it) && isCalled(it)) reached.add(it);
  }
  return reached;
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

/** Whether a file is a service that the text calls: by its uid, by a name that may stand for one, as one of an API, or behind a core controller. */
const servicesIn = (text: string, file: string): ((other: string) => boolean) => {
  const uids = (form: RegExp): ReadonlySet<string> =>
    new Set([...text.matchAll(form)].map(([, api = '', name = '']) => uidOf(api, name)));
  const called = uids(calledByUid);
  const behind = superCall.test(text) ? uids(coreController) : new Set<string>();
  // a name for one of those that stand in the text, or else for one of its own API
  const named = calledByName.test(text) ? uids(quotedUid) : new Set<string>();
  const isOfOwn = calledByName.test(text) && named.size === 0;
  const [, own = ''] = /^src\/api\/([^/]+)\//.exec(file) ?? [];
  const apis = new Set([...text.matchAll(servicesOfApi)].map(([, api = '']) => kebabName(api)));
  return (other) => {
    const [, api, name = ''] = /^src\/api\/([^/]+)\/services\/([^/]+?)\.\w+$/.exec(other) ?? [];
    if (api === undefined) return false;
    const uid = uidOf(api, name);
    return called.has(uid) || behind.has(uid) || named.has(uid) || apis.has(kebabName(api)) || (isOfOwn && api === own);
  };
};

const uidOf = (api: string, name: string): string => `api::${kebabName(api)}.${kebabName(name)}`;

const uid = String.raw`['"\x60]api::([\w-]+)\.([\w-]+)['"\x60]`;
const quotedUid = new RegExp(uid, 'g');
/** `strapi.service('api::tool.tool')`, `strapi.services['api::tool.tool']` */
const calledByUid = new RegExp(String.raw`\bservices?\s*(?:\?\.\s*)?(?:<[^<>()]*>\s*)?[([]\s*${uid}`, 'g');
/** `strapi.service(NAME)`, `strapi.services[NAME]` */
const calledByName = /\.\s*services?\s*(?:\?\.\s*)?(?:<[^<>()]*>\s*)?[([]\s*(?!(['"`])[\w:.-]+\1\s*[)\]])/;
/** `strapi.api.tool.services.tool`, `strapi.api['tool'].services` */
const servicesOfApi = /\bapi\s*(?:\?\.|\.|\[)\s*['"`]?([\w-]+)['"`]?\s*\]?\s*(?:\?\.|\.)\s*services\b/g;
const coreController = new RegExp(String.raw`\bcreateCoreController\s*(?:<[^<>()]*>\s*)?\(\s*${uid}`, 'g');
const superCall = /\bsuper\s*\./;
