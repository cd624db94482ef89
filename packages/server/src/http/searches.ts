/** What a request of the framework asks for. */
import type { FastifyRequest } from 'fastify';
import type { ChangedQuery, Search } from '../query/searches.js';
import { searchOf } from './target.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set if the code of a project has changed the query of the URL. */
    changedQuery?: ChangedQuery | null;
  }
}

export const searchOfRequest = (request: FastifyRequest): Search => request.changedQuery ?? searchOf(request.raw.url!);
