/** Routes of the media library for administrators, beside the content API (UP17, UP18). */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { hasName } from '../access/admin-gate.js';
import type { Callers, KnownCaller } from '../access/caller.js';
import type { Rights, Rule } from '../access/rights.js';
import { issue, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import type { Library } from '../media/media.js';
import { addPath } from './paths.js';
import { JSON_TYPE, sendIssues } from './respond.js';
import { parseId } from './routes.js';

export interface LibraryRouteDeps {
  readonly library: Library;
  readonly callers: Callers;
}

const FOLDERS = '/_dovetail/folders';

/** All paths with the permission of v4's administration that each needs. */
export const libraryRoutes = [
  { method: 'GET', path: FOLDERS, permission: 'plugin::upload.read' },
  { method: 'POST', path: FOLDERS, permission: 'plugin::upload.assets.create' },
  { method: 'PUT', path: `${FOLDERS}/:id`, permission: 'plugin::upload.assets.update' },
  { method: 'DELETE', path: `${FOLDERS}/:id`, permission: 'plugin::upload.assets.update' },
  { method: 'GET', path: '/_dovetail/files/:id/uses', permission: 'plugin::upload.read' },
] as const;

export const addLibraryPaths = (app: FastifyInstance, { library, callers }: LibraryRouteDeps): void => {
  const { folders } = library;
  /** @param permission of v4's administration, without `plugin::upload.`. */
  const route =
    (
      permission: string,
      act: (request: FastifyRequest, id: number | null, rights: Rights) => Promise<Result<object>>,
    ) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      reply.header('cache-control', 'no-store');
      const caller = await callers.identify(request.headers.authorization);
      const allowed = caller.ok ? mayManage(caller.value, permission) : caller;
      if (!allowed.ok) return sendIssues(reply, allowed.issues);
      const { id } = request.params as { readonly id?: string };
      const answer = await act(request, id === undefined ? null : parseId(id), allowed.value);
      if (!answer.ok) return sendIssues(reply, answer.issues);
      const code = request.method === 'POST' ? 201 : 200;
      return reply.code(code).header('content-type', JSON_TYPE).send(JSON.stringify(answer.value));
    };
  const inData = async (answer: Promise<Result<unknown>>): Promise<Result<object>> => {
    const made = await answer;
    return made.ok ? ok({ data: made.value }) : made;
  };
  addPath(app, FOLDERS, {
    GET: route('read', async (_request, _id, rights) => ok({ data: await folders.find(countedBy(rights)) })),
    POST: route('assets.create', ({ body }) => inData(folders.create(body))),
  } satisfies Record<string, RouteHandlerMethod>);
  addPath(app, `${FOLDERS}/:id`, {
    PUT: route('assets.update', ({ body }, id) => inData(folders.update(id, body))),
    DELETE: route('assets.update', (_request, id) => inData(folders.remove(id))),
  } satisfies Record<string, RouteHandlerMethod>);
  addPath(app, '/_dovetail/files/:id/uses', {
    GET: route('read', async (_request, id, rights) => {
      const file = id === null ? null : await library.creatorOf(id);
      const isOpen = ({ isOwn }: Rule): boolean => !isOwn || file?.adminId === rights.adminId;
      if (id === null || !file || !rights.rulesOfAction('plugin::upload.read').some(isOpen))
        return refused(issue('media.absent', []));
      // entries of types of which they may see only some are not looked at one by one; an attribute that they may not read tells of none
      const uses = (await library.uses(id)).filter(({ type, attribute }) =>
        rights
          .rulesOf('read', type)
          .some((it) => coversAll(it) && (it.fields === null || hasName(it.fields, attribute))),
      );
      return ok({ data: uses.slice(0, limits.usesMax), meta: { total: uses.length } });
    }),
  } satisfies Record<string, RouteHandlerMethod>);
};

/** Folders belong to nobody: changing them needs a permission for more than one's own files. */
const mayManage = ({ rights }: KnownCaller, permission: string): Result<Rights> =>
  rights?.rulesOfAction(`plugin::upload.${permission}`).some(({ isOwn }) => !isOwn || permission === 'read')
    ? ok(rights)
    : refused(issue('http.forbidden', []));

/** Whose files count: their own, if they may see no others (AD11); null for all. */
const countedBy = (rights: Rights): number | null =>
  rights.rulesOfAction('plugin::upload.read').some(coversAll) ? null : rights.adminId;

const coversAll = ({ isOwn, locales }: Rule): boolean => !isOwn && locales === null;
