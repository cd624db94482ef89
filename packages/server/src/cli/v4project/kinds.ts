/** What kind of code a file of a v4 project is, by its place and its syntax. */
import fs from 'node:fs';
import path from 'node:path';
import { kebabName } from '../../model/files.js';
import { type SyntaxAt, withImported } from './calls.js';
import { type CodeFile, memberPlace, patchName, routePlace } from './code.js';
import { coreRouterOf, isAsGenerated, replacesAction, usesFactory } from './core-code.js';
import { changesReads, guardsOthers, replacesControllers } from './guard-texts.js';
import { addsMiddlewares, changesRoutes, guardsRoutes } from './guards.js';
import { foldersAt, textOf } from './project-files.js';
import type { Syntax } from './syntax.js';

/** Of what is no code of the project's own: a patch of Strapi may well be a guard, or mend one. */
export const kindBesides = (projectDir: string, file: string): CodeFile['kind'] => {
  if (!patchName.test(file)) return 'code';
  const isOfStrapi =
    /@strapi(?:\+|__|-(?!community\b))/.test(file) ||
    /^(?:---|\+\+\+|diff) .*\/@strapi\//m.test(textOf(projectDir, file));
  return isOfStrapi ? 'guard' : 'unused';
};

/**
 * Policies and middlewares, and what else may refuse a request or narrow what it finds: controllers, services, lifecycles, also those
 * that the index of the project or an extension of a plugin subscribes.
 */
export const guardPlace =
  /^src\/(?:(?:api\/[^/]+\/)?(?:policies|middlewares)\/|api\/[^/]+\/(?:(?:controllers|services)\/|index\.|content-types\/[^/]+\/lifecycles\.)|extensions\/|index\.)/;
/** What `strapi-server` of an extension imports: mostly its controllers and services. */
export const extensionPlace = /^src\/extensions\/(?:users-permissions|email|upload|i18n)\/(?!content-types\/)/;

/** @param place where the file is looked for. @param kind where nothing runs. */
export const kindWhereCodeRuns = (place: string, kind: CodeFile['kind'], environment: string): CodeFile['kind'] => {
  const [config, selected = environment] = /^config\/(?:env\/([^/]+)\/)?[^/]+$/.exec(place) ?? [];
  if (config !== undefined) return selected === environment ? 'config' : 'unused';
  if (kind === 'default' || kind === 'router') return kind;
  if (runPlace.test(place)) return 'run';
  return importedPlace.test(place) ? 'unused' : kind;
};

/** What v4 does not load by itself either, and other files of the project may import. */
const importedPlace =
  /^src\/(?:functions|cron-tasks|api\/[^/]+\/content-types\/[^/]+|extensions\/(?:users-permissions|email|upload|i18n)\/content-types)\//;

/** What `src/v4code` loads. Plugins of the project's own and those of others are not among it. */
export const runPlace =
  /^src\/(?:api\/[^/]+\/(?:(?:routes|controllers|services|policies|middlewares)\/[^/]+|index\.[^/]+|content-types\/[^/]+\/lifecycles\.[^/]+)|policies\/[^/]+|middlewares\/[^/]+|index\.[^/]+|extensions\/(?:users-permissions|email|upload|i18n)\/strapi-server\.[^/]+)$/;

/** Of a file that is not run and may add guards: whether it takes one from the files that it imports. @param place where it is looked for. */
export const importsGuard = (projectDir: string, file: string, place: string, syntaxAt: SyntaxAt): boolean => {
  if (!registerPlace.test(place)) return false;
  const syntaxes = withImported(projectDir, file, syntaxAt);
  return syntaxes === null || mayRestrict(projectDir, place, syntaxes);
};

/** What is called once, and may change the routes, controllers and middlewares of others. */
const registerPlace = /^src\/(?:extensions|plugins|index\.|api\/[^/]+\/index\.)/;

/** Where nothing runs. @param syntax null for a file that cannot be read, which may be anything that its place allows. */
export const kindOf = (
  projectDir: string,
  place: string,
  syntax: Syntax | null,
): Pick<CodeFile, 'kind' | 'router' | 'isUnread'> => {
  if (syntax === null) return unreadGuardPlace.test(place) ? { kind: 'guard', isUnread: true } : { kind: 'code' };
  if (isAsGenerated(place, syntax)) return { kind: 'default' };
  const router = routePlace.test(place) ? coreRouterOf(syntax) : null;
  if (router) return { kind: 'router', router };
  return { kind: mayRestrict(projectDir, place, [syntax]) ? 'guard' : 'code' };
};

/** Where a file that cannot be parsed is taken for a guard. */
const unreadGuardPlace = /^(?:src\/|config\/(?:env\/[^/]+\/)?middlewares\.)/;

/** Whether the content type of a router is there. A router of any other type has to be loaded, which reports it. */
export const isOfType = (projectDir: string, uid: string): boolean =>
  foldersAt(projectDir, 'src/api/*/content-types/*').some((it) => {
    const [, , api = '', , name = ''] = it.split('/');
    return uid === `api::${kebabName(api)}.${kebabName(name)}`;
  });

/** @param syntaxes of the file, and of those that it imports. */
const mayRestrict = (projectDir: string, place: string, syntaxes: readonly Syntax[]): boolean => {
  if (routePlace.test(place)) return syntaxes.some(guardsRoutes);
  const [, api = '', name = ''] = memberPlace.exec(place) ?? [];
  if (name !== '') {
    // others belong to no content type, so only routes of their own lead to them, and those are not served
    const belongsToType =
      syntaxes.some(usesFactory) || fs.existsSync(path.join(projectDir, api, 'content-types', name));
    return belongsToType && syntaxes.some(replacesAction);
  }
  if (/^config\/(?:env\/[^/]+\/)?middlewares\./.test(place)) return syntaxes.some(addsMiddlewares);
  const text = syntaxes.map((it) => it.text.replace(/\s+/g, ' ')).join('\n');
  // lifecycles of reads and decorations of the entity service may narrow every query, or empty its results
  if (place.startsWith('src/') && changesReads(text)) return true;
  if (!registerPlace.test(place)) return false;
  // `plugin.controllers.user.find = …`; what a plugin puts into its own is its own
  const replaces = !place.startsWith('src/plugins/') && replacesControllers(text);
  return replaces || guardsOthers(text) || changesRoutes(place, syntaxes);
};
