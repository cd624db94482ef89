/** Sends requests to a server in-process: through the listener that requests from a port get, unlike `app.inject`. */
import type { FastifyInstance } from 'fastify';
import inject, { type InjectOptions, type Response } from 'light-my-request';

export const injectInto = async (app: FastifyInstance, options: InjectOptions): Promise<Response> => {
  await app.ready();
  let close = (): void => undefined;
  const answer = await inject((request, response) => {
    close = () => request.destroy();
    app.server.emit('request', request, response);
  }, options);
  // as a connection does with a body that nobody has read
  close();
  return answer;
};
