/** Which files of a v4 project a file calls: those that it imports, and the services and controllers that it names. */
import path from 'node:path';
import type { Node } from 'estree';
import groupBy from 'lodash/groupBy.js';
import memoize from 'lodash/memoize.js';
import { kebabName } from '../../model/files.js';
import { pathOf } from './paths.js';
import { filesAt } from './project-files.js';
import { bareNode, eachNode, importedIn, lastNameOf, type Syntax, textOfNode } from './syntax.js';

/** Null for a file that is no code. */
export type SyntaxAt = (file: string) => Syntax | null;

/** Files that are reached from some files, through any number of others, these among them. */
type Reach = (from: readonly string[]) => ReadonlySet<string>;

/** @param all files of the project that may be reached as services and controllers. */
export const reachIn = (projectDir: string, all: readonly string[], syntaxAt: SyntaxAt): Reach => {
  const members = membersIn(all);
  const namesAt = memoize((file: string): Names => {
    const syntax = syntaxAt(file);
    return syntax === null ? noNames : namesIn(syntax);
  });
  const calledBy = memoize((file: string): readonly string[] => {
    const imported = importsOf(projectDir, file, syntaxAt);
    return [...imported, ...membersCalledBy(file, imported)];
  });
  /** Services and controllers: by uid, by a name that may stand for one, as those of an API, or behind a core controller. */
  const membersCalledBy = (file: string, imported: readonly string[]): readonly string[] => {
    const { called, behind, isByName, apis } = namesAt(file);
    // the file says for what the name stands, or one that it imports
    const named = isByName ? [file, ...imported].flatMap((it) => namesAt(it).others) : [];
    const uids = [...called, ...behind, ...named];
    const [, own] = /^src\/api\/([^/]+)\//.exec(file) ?? [];
    const asked = isByName && uids.length === 0 && own !== undefined ? [...apis, own] : apis;
    return [
      ...uids.flatMap((uid) => members.byUid.get(uid) ?? []),
      ...asked.flatMap((api) => members.byApi.get(kebabName(api)) ?? []),
    ];
  };
  return (from) => {
    const reached = new Set(from);
    for (const file of reached) for (const it of calledBy(file)) reached.add(it);
    return reached;
  };
};

/** A file, and the files of the project that it imports by their places, and these import; null if one of them cannot be read. */
export const withImported = (projectDir: string, file: string, syntaxAt: SyntaxAt): readonly Syntax[] | null => {
  const files = new Set([file]);
  for (const at of files) for (const it of importsOf(projectDir, at, syntaxAt)) files.add(it);
  const syntaxes = [...files].map(syntaxAt);
  return syntaxes.includes(null) ? null : (syntaxes as readonly Syntax[]);
};

const importsOf = (projectDir: string, file: string, syntaxAt: SyntaxAt): readonly string[] => {
  const syntax = syntaxAt(file);
  if (syntax === null) return [];
  const known = importsOfSyntaxes.get(syntax);
  if (known) return known;
  const found = filesImported(projectDir, file, syntax);
  importsOfSyntaxes.set(syntax, found);
  return found;
};

const importsOfSyntaxes = new WeakMap<Syntax, readonly string[]>();

const filesImported = (projectDir: string, file: string, syntax: Syntax): readonly string[] => {
  const places: string[] = [];
  eachNode(syntax.program, (node) => {
    const given = importedIn(node, syntax);
    if (given !== null && /^\.{1,2}(?:\/|$)/.test(given)) places.push(given);
  });
  return places
    .map((given) => path.posix.join(path.posix.dirname(file), given).replace(/\/$|\.[cm]?[jt]s$/, ''))
    .filter((place) => !place.startsWith('..'))
    .flatMap((place) => [place, `${place}/index`].flatMap((it) => filesAt(projectDir, it.split('/'))));
};

interface ApiMembers {
  readonly byUid: ReadonlyMap<string, readonly string[]>;
  /** By the name of the API. */
  readonly byApi: ReadonlyMap<string, readonly string[]>;
}

const membersIn = (files: readonly string[]): ApiMembers => {
  const found = files.flatMap((file) => {
    const [, api, name = ''] = /^src\/api\/([^/]+)\/(?:services|controllers)\/([^/]+?)\.\w+$/.exec(file) ?? [];
    return api === undefined ? [] : { file, uid: `api::${kebabName(api)}.${kebabName(name)}`, api: kebabName(api) };
  });
  const filesBy = (key: 'uid' | 'api'): ReadonlyMap<string, readonly string[]> =>
    new Map(Object.entries(groupBy(found, key)).map(([name, its]) => [name, its.map((it) => it.file)]));
  return { byUid: filesBy('uid'), byApi: filesBy('api') };
};

/** What a file names of services and controllers. */
interface Names {
  /** Uids of those that it calls. */
  readonly called: readonly string[];
  /** Uids of the services behind its core controllers, which call them. */
  readonly behind: readonly string[];
  /** Whether it calls some by names that it does not say. */
  readonly isByName: boolean;
  /** Uids for which such a name may stand: those that queries are given are of no service. */
  readonly others: readonly string[];
  /** Names of APIs of which it asks for members. */
  readonly apis: readonly string[];
}

const noNames: Names = { called: [], behind: [], isByName: false, others: [], apis: [] };

const namesIn = (syntax: Syntax): Names => {
  const [called, core, others, apis]: [string[], string[], string[], string[]] = [[], [], [], []];
  let isByName = false;
  let callsSuper = false;
  let isCoreByName = false;
  const noteMember = (given: Node | undefined): void => {
    const text = given ? textOfNode(given, syntax) : null;
    if (text === null) isByName = true;
    else called.push(...uidsIn(text));
  };
  eachNode(syntax.program, (node, parent) => {
    switch (node.type) {
      case 'Super':
        callsSuper ||= parent?.type === 'MemberExpression';
        break;
      case 'Literal':
      case 'TemplateLiteral':
        if (!isOfQuery(parent, syntax)) others.push(...uidsIn(textOfNode(node, syntax) ?? ''));
        break;
      case 'MemberExpression': {
        const [, api] = apiMember.exec(pathOf(node, syntax) ?? '') ?? [];
        if (api !== undefined) apis.push(api);
        if (!isMember(node.object, syntax)) break;
        // `strapi.services[uid]`, `strapi.service.bind(strapi)`
        if (node.computed) noteMember(node.property);
        isByName ||= ['bind', 'call', 'apply'].includes(lastNameOf(node, syntax) ?? '');
        break;
      }
      case 'CallExpression': {
        if (isMember(node.callee, syntax)) noteMember(node.arguments[0]);
        if (lastNameOf(node.callee, syntax) !== 'createCoreController' || !node.arguments[0]) break;
        const uid = textOfNode(node.arguments[0], syntax);
        if (uid === null) isCoreByName = true;
        else core.push(...uidsIn(uid));
        break;
      }
    }
  });
  const behind = callsSuper ? core : [];
  return { called, behind, isByName: isByName || (callsSuper && isCoreByName), others, apis };
};

/** `strapi.service`, `strapi.controllers` */
const isMember = (given: Node, syntax: Syntax): boolean =>
  (bareNode(given).type === 'MemberExpression' || pathOf(given, syntax) !== null) &&
  /^(?:service|controller)s?$/.test(pathOf(given, syntax)?.split('.').at(-1) ?? lastNameOf(given, syntax) ?? '');

/** `strapi.api.tool.services.tool`, `strapi.api['tool'].service('tool')` */
const apiMember = /^strapi\.api\.([\w-]+)\.(?:service|controller)s?$/;

const uidsIn = (text: string): readonly string[] => {
  const [, api, name] = /^api::([\w-]+)\.([\w-]+)$/.exec(text) ?? [];
  return api === undefined || name === undefined ? [] : [`api::${kebabName(api)}.${kebabName(name)}`];
};

const isOfQuery = (parent: Node | null, syntax: Syntax): boolean =>
  parent?.type === 'CallExpression' && queries.test(lastNameOf(parent.callee, syntax) ?? '');

const queries = /^(?:query|find\w*|create(?!Core)\w*|update\w*|delete\w*|count|load|getModel|contentType)$/;
