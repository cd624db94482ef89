/** Routes of uploaded files. */
import type http from 'node:http';
import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import type { Callers } from '../access/caller.js';
import { issue, type Result, refused } from '../errors.js';
import type { FileActions, FileRequest } from '../media/files.js';
import type { Media } from '../media/media.js';
import { textOfSearch } from '../query/searches.js';
import type { Answer } from '../read/answer.js';
import { readPrecondition } from '../read/etag.js';
import { identifyCaller, isReading } from './credentials.js';
import { mayBeEntry } from './past-code.js';
import { addPath } from './paths.js';
import { sendAnswer, sendIssues } from './respond.js';
import { type Method, parseId } from './routes.js';
import { searchOfRequest } from './searches.js';

export interface FileRouteDeps {
  readonly media: Media;
  readonly callers: Callers;
  readonly prefix: string;
}

interface FileRoute {
  readonly method: Method;
  /** Without the prefix. */
  readonly path: string;
  /** The permission, without `plugin::upload.content-api.`. */
  readonly permission: string;
  readonly action: keyof FileActions;
}

export const fileRoutes: readonly FileRoute[] = [
  { method: 'POST', path: '/upload', permission: 'upload', action: 'upload' },
  { method: 'GET', path: '/upload/files', permission: 'find', action: 'find' },
  { method: 'GET', path: '/upload/files/count', permission: 'find', action: 'count' },
  { method: 'GET', path: '/upload/files/:id', permission: 'findOne', action: 'findOne' },
  { method: 'DELETE', path: '/upload/files/:id', permission: 'destroy', action: 'destroy' },
];

/** @param taken paths of the project's content types, which take precedence. */
export const addFilePaths = (app: FastifyInstance, taken: ReadonlySet<string>, deps: FileRouteDeps): void => {
  const paths = new Map<string, Partial<Record<Method, RouteHandlerMethod>>>();
  for (const route of fileRoutes) {
    const path = deps.prefix + route.path;
    if (!taken.has(path)) paths.set(path, { ...paths.get(path), [route.method]: handlerOf(route, deps) });
  }
  for (const [path, handlers] of paths) addPath(app, path, handlers, { pastCode: mayBeEntry });
};

const handlerOf =
  ({ action, permission }: FileRoute, { callers, media }: FileRouteDeps): RouteHandlerMethod =>
  async (request, reply) => {
    const identified = await identifyCaller(request.headers, isReading(request.method), callers);
    if (!identified.ok) return sendIssues(reply, identified.issues);
    const caller = identified.value;
    if (!caller.may(`plugin::upload.content-api.${permission}`))
      return sendIssues(reply, [issue('http.forbidden', [])]);
    const { form, body, headers } = request;
    const { id = null } = request.params as { readonly id?: string };
    const answer = await answerFiles(
      action,
      { caller, form, body, headers, id, search: searchOfRequest(request) },
      media,
    );
    return answer.ok ? sendAnswer(reply, answer.value) : sendIssues(reply, answer.issues);
  };

interface FilesAsked extends Pick<FileRequest, 'caller' | 'form' | 'body' | 'search'> {
  /** That of the path. */
  readonly id: string | null;
  readonly headers: http.IncomingHttpHeaders;
}

/** What an endpoint of files answers a caller who may use it. */
export const answerFiles = async (
  action: keyof FileActions,
  { id: given, headers, ...asked }: FilesAsked,
  media: Media,
): Promise<Result<Answer>> => {
  // an upload with an id in the query changes that file
  const ids =
    action === 'upload'
      ? [...new URLSearchParams(textOfSearch(asked.search))].filter(([name]) => /^id(?:\[|$)/.test(name))
      : [];
  const [[name, changed] = ['id', null], ...others] = ids;
  // not taken for an upload without id, which would store another file
  if (name !== 'id' || others.length > 0) return refused(issue('query.expected-text', ['id']));
  const id = given ?? changed;
  return media.files[changed === null ? action : 'update']({
    ...asked,
    id: id === null ? null : parseId(id),
    match: readPrecondition(headers),
  });
};
