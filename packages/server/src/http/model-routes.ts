/** The model for programs: `GET /_dovetail/model`, as the caller may know it (SU1). */
import type { FastifyInstance } from 'fastify';
import { newGate } from '../access/access.js';
import { readMainFields } from '../describe/main-fields.js';
import { FILE_UID, ROLE_UID, type Uid, USER_UID } from '../model/model.js';
import { answerOf } from '../read/answer.js';
import type { Site } from '../site/site.js';
import { localeRoute } from './locale-routes.js';
import { whoLooks } from './looking.js';
import { addPath } from './paths.js';
import { sendAnswer, sendIssues } from './respond.js';
import type { Route, Routes } from './routes.js';

export interface ModelRouteDeps {
  readonly site: Site;
  readonly routes: Routes;
  readonly prefix: string;
  /** Of the server. */
  readonly version: string;
  /** Whether anybody may know all of the model. */
  readonly isOpen: boolean;
}

/** Beside the content API, like `/_health`. */
export const MODEL_PATH = '/_dovetail/model';

/** @param taken paths of the project's content types. */
export const addModelPath = (app: FastifyInstance, taken: ReadonlySet<string>, deps: ModelRouteDeps): void => {
  const { site, prefix, version } = deps;
  const paths = pathsOf(deps.routes.served, prefix, taken);
  const pathsOfAdministrators = pathsOf(deps.routes.all, prefix, taken);
  addPath(app, MODEL_PATH, {
    GET: async (request, reply) => {
      const seen = await whoLooks(request.headers, deps);
      if (!seen.ok) return sendIssues(reply, seen.issues);
      const { caller, knowing } = seen.value;
      const { model, settings, db, locales } = site;
      const [mainFields, listed] = await Promise.all([
        knowing ? db.read(() => readMainFields(db.dialect)) : new Map<Uid, string>(),
        knowing || caller.may(localeRoute.permission) ? locales.list() : [],
      ]);
      // few servers are asked for it
      const { modelDocument } = await import('../describe/model-document.js');
      const document = modelDocument({
        model,
        caller,
        gate: newGate(caller, model),
        knowing,
        version,
        prefix,
        rest: settings.rest,
        strict: settings.strict,
        locales: listed.flatMap(({ code, name, isDefault }) => (code === null ? [] : [{ code, name, isDefault }])),
        paths: caller.rights ? pathsOfAdministrators : paths,
        mainFields,
      });
      reply
        .header('cache-control', 'no-cache')
        .header('vary', `${String(reply.getHeader('vary'))}, authorization, dovetail-as`);
      return sendAnswer(reply, answerOf(JSON.stringify({ data: document }), null, []));
    },
  });
};

const pathsOf = (routes: readonly Route[], prefix: string, taken: ReadonlySet<string>): ReadonlyMap<Uid, string> => {
  const builtin = [
    [FILE_UID, '/upload/files'],
    [USER_UID, '/users'],
    [ROLE_UID, '/users-permissions/roles'],
  ] as const;
  return new Map([
    ...builtin.map(([uid, path]) => [uid, prefix + path] as const).filter(([, path]) => !taken.has(path)),
    ...routes
      .filter(({ path, actions }) => !path.includes('/:id') && (actions.GET === 'find' || actions.GET === 'single'))
      .map(({ type, path }) => [type.uid, path] as const),
  ]);
};
