/** Registers one path with its methods: others are a 405, and OPTIONS lists those allowed (RQ4). */
import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import { issue } from '../errors.js';
import { withFaults } from './faults.js';
import { sendIssues } from './respond.js';
import { type Method, methods } from './routes.js';

export type PathHandlers = Readonly<Partial<Record<Method, RouteHandlerMethod>>>;

export const addPath = (app: FastifyInstance, url: string, handlers: PathHandlers): void => {
  const others: Method[] = [];
  for (const method of methods) {
    const handler = handlers[method];
    if (handler) app.route({ method: withHead(method), url, handler: withFaults(handler) });
    else if (method === 'GET')
      app.route({
        method: withHead(method),
        url,
        handler: (_request, reply) => sendIssues(reply, [issue('http.not-found', [])]),
      });
    else others.push(method);
  }
  const allow = methods
    .filter((it) => !others.includes(it))
    .flatMap(withHead)
    .join(', ');
  app.route({ method: 'OPTIONS', url, handler: (_request, reply) => reply.header('allow', allow).send() });
  app.route({
    method: others,
    url,
    handler: (_request, reply) => sendIssues(reply.header('allow', allow), [issue('http.method', [])]),
  });
};

const withHead = (method: Method): string[] => (method === 'GET' ? ['HEAD', 'GET'] : [method]);
