/** Routes of uploaded files. */
import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify';
import type { Callers } from '../access/caller.js';
import { issue } from '../errors.js';
import { limits } from '../limits.js';
import type { FileAction } from '../media/files.js';
import type { Media } from '../media/media.js';
import { readMatch } from './forms.js';
import { addPath } from './paths.js';
import { sendAnswer, sendIssues } from './respond.js';
import { parseId } from './routes.js';
import { searchOf } from './target.js';

export interface FileRouteDeps {
  readonly media: Media;
  readonly callers: Callers;
  readonly prefix: string;
}

/** @param taken paths of the project's content types, which take precedence. */
export const addFilePaths = (app: FastifyInstance, taken: ReadonlySet<string>, deps: FileRouteDeps): void => {
  const { files } = deps.media;
  const handler =
    (permission: string, actionOf: (id: string | undefined) => FileAction): RouteHandlerMethod =>
    async (request, reply): Promise<FastifyReply> => {
      const identified = await deps.callers.identify(request.headers.authorization);
      if (!identified.ok) return sendIssues(reply, identified.issues);
      const caller = identified.value;
      if (!caller.may(`plugin::upload.content-api.${permission}`))
        return sendIssues(reply, [issue('http.forbidden', [])]);
      const search = searchOf(request.raw.url!);
      const { id = new URLSearchParams(search).get('id') ?? undefined } = request.params as { readonly id?: string };
      const answer = await actionOf(id)({
        caller,
        form: request.form,
        body: request.body,
        search,
        id: id === undefined ? null : parseId(id, limits.integerMax),
        match: readMatch(request.headers['if-match']),
      });
      return answer.ok ? sendAnswer(reply, answer.value) : sendIssues(reply, answer.issues);
    };
  const paths = {
    '/upload': { POST: handler('upload', (id) => (id === undefined ? files.upload : files.update)) },
    '/upload/files': { GET: handler('find', () => files.find) },
    '/upload/files/:id': {
      GET: handler('findOne', () => files.findOne),
      DELETE: handler('destroy', () => files.destroy),
    },
  };
  for (const [path, handlers] of Object.entries(paths))
    if (!taken.has(deps.prefix + path)) addPath(app, deps.prefix + path, handlers);
};
