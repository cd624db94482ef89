/** Registers one path with its methods: others are a 405, and OPTIONS lists those allowed (RQ4). */
import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { issue } from '../errors.js';
import { withFaults } from './faults.js';
import { isByAdministrator, type PathParams } from './past-code.js';
import { sendIssues } from './respond.js';
import { type Method, methods } from './routes.js';

export type PathHandlers = Readonly<Partial<Record<Method, RouteHandlerMethod>>>;

export interface PathOptions {
  /** Handlers that answer administrators only: to everybody else the path has no such method. */
  readonly ofAdministrators?: PathHandlers;
  /** Whether administrators are answered here even where code of a v4 project has a route for the path; by default they are not. */
  readonly pastCode?: (params: PathParams) => boolean;
}

export const addPath = (
  app: FastifyInstance,
  url: string,
  handlers: PathHandlers,
  { ofAdministrators = {}, pastCode }: PathOptions = {},
): void => {
  const allowOf = (handled: PathHandlers): string =>
    methods
      .filter((it) => it === 'GET' || handled[it])
      .flatMap(withHead)
      .join(', ');
  const allowOfOthers = allowOf(handlers);
  const allowOfAdministrators = allowOf({ ...ofAdministrators, ...handlers });
  const allowFor = (request: FastifyRequest): string =>
    isByAdministrator(request) ? allowOfAdministrators : allowOfOthers;
  const refused: RouteHandlerMethod = (request, reply) =>
    request.method === 'GET' || request.method === 'HEAD'
      ? sendIssues(reply, [issue('http.not-found', [])])
      : sendIssues(reply.header('allow', allowFor(request)), [issue('http.method', [])]);
  const answers = new Map<string, RouteHandlerMethod>();
  for (const method of methods) {
    const own = ofAdministrators[method];
    const handler =
      handlers[method] ??
      (own &&
        function (this: FastifyInstance, request, reply) {
          return (isByAdministrator(request) ? own : refused).call(this, request, reply);
        });
    if (!handler) continue;
    const answer = withFaults(handler);
    for (const it of withHead(method)) answers.set(it, answer);
  }
  // one route for all methods: a start takes longer with each
  app.route({
    method: [...methods.flatMap(withHead), 'OPTIONS'],
    url,
    handler(request, reply) {
      if (request.method === 'OPTIONS') return reply.header('allow', allowFor(request)).send();
      return (answers.get(request.method) ?? refused).call(this, request, reply);
    },
    ...(pastCode ? { config: { pastCode: (method, params) => answers.has(method) && pastCode(params) } } : {}),
  });
};

const withHead = (method: Method): string[] => (method === 'GET' ? ['HEAD', 'GET'] : [method]);
