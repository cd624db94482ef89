/** Registers one path with its methods: others are a 405, and OPTIONS lists those allowed (RQ4). */
import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import { issue } from '../errors.js';
import { isByAdministrator } from './credentials.js';
import { withFaults } from './faults.js';
import { sendIssues } from './respond.js';
import { type Method, methods } from './routes.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set if the server has an answer, which may be for administrators only, and not just a refusal. */
    isAnswered?: true;
  }
}

export type PathHandlers = Readonly<Partial<Record<Method, RouteHandlerMethod>>>;

/** @param ofAdministrators handlers that answer administrators only; to everybody else the path has no such method. */
export const addPath = (
  app: FastifyInstance,
  url: string,
  handlers: PathHandlers,
  ofAdministrators: PathHandlers = {},
): void => {
  const others = methods.filter((it) => it !== 'GET' && !handlers[it]);
  const allow = methods
    .filter((it) => !others.includes(it))
    .flatMap(withHead)
    .join(', ');
  const refused: RouteHandlerMethod = (request, reply) =>
    request.method === 'GET' || request.method === 'HEAD'
      ? sendIssues(reply, [issue('http.not-found', [])])
      : sendIssues(reply.header('allow', allow), [issue('http.method', [])]);
  const unanswered: Method[] = [];
  for (const method of methods) {
    const own = ofAdministrators[method];
    const handler =
      handlers[method] ??
      (own &&
        function (this: FastifyInstance, request, reply) {
          return (isByAdministrator(request.headers) ? own : refused).call(this, request, reply);
        });
    if (!handler) unanswered.push(method);
    else app.route({ method: withHead(method), url, handler: withFaults(handler), config: { isAnswered: true } });
  }
  // one route for all of them: a start takes longer with each
  app.route({ method: unanswered.flatMap(withHead), url, handler: refused });
  app.route({ method: 'OPTIONS', url, handler: (_request, reply) => reply.header('allow', allow).send() });
};

const withHead = (method: Method): string[] => (method === 'GET' ? ['HEAD', 'GET'] : [method]);
