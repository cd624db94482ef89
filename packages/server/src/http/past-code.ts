/** Administrators pass the code of a v4 project by, as they do in v4's panel (AD14): who they are, and where the server answers them. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Callers } from '../access/caller.js';
import { asOf, claimsAdministrator } from './credentials.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The `Authorization` header by which an administrator was identified, who asks with rights of their own; else null. */
    administrator: string | null;
  }
  interface FastifyContextConfig {
    /** Whether the server itself answers administrators, past the code of the project. @param method of the request. @param params of the path. */
    pastCode?: (method: string, params: PathParams) => boolean;
  }
}

export type PathParams = Readonly<Record<string, string | undefined>>;

/** A path with a word in place of the id is the project's own, such as `/api/articles/latest`. */
export const mayBeEntry = ({ id }: PathParams): boolean => id === undefined || /^\d+$/.test(id);

/** Identifies administrators before anything is decided by who asks: the token alone says only what it claims to be. */
export const addAdministrators = (app: FastifyInstance, callers: Callers): void => {
  app.decorateRequest('administrator', null);
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request;
    if (!claimsAdministrator(headers)) return done();
    const identified = async (): Promise<void> => {
      const caller = await callers.identify(headers.authorization);
      if (caller.ok && caller.value.rights) request.administrator = headers.authorization ?? null;
    };
    // whatever fails now fails again when the request is answered
    identified().then(
      () => done(),
      () => done(),
    );
  });
};

/** Code of the project may have changed the credentials since: then the request is somebody else's. */
export const isByAdministrator = ({ administrator, headers }: FastifyRequest): boolean =>
  administrator !== null && headers.authorization === administrator && asOf(headers) === undefined;

export const isAnsweredPastCode = (request: FastifyRequest): boolean =>
  isByAdministrator(request) && isOfContent(request);

/** Whether it is a route of content, whoever asks. */
export const isOfContent = ({ routeOptions: { config }, method, params }: FastifyRequest): boolean =>
  config.pastCode?.(method, params as PathParams) === true;
