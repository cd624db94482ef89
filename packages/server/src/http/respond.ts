/** Sends answers and issues as HTTP responses. */
import type { FastifyReply } from 'fastify';
import { errorEnvelope, type Issue } from '../errors.js';
import { limits } from '../limits.js';
import { namesEtag } from '../read/etag.js';
import type { Answer } from '../read/find.js';

export const JSON_TYPE = 'application/json; charset=utf-8';

export const sendIssues = (reply: FastifyReply, issues: readonly Issue[]): FastifyReply => {
  const { status, body } = errorEnvelope(issues);
  if (status === 503) reply.header('retry-after', limits.retryAfterS);
  return reply.code(status).header('content-type', JSON_TYPE).send(body);
};

/** Sends an answer with its entity tag, or a 304 if the client already has it. */
export const sendAnswer = (reply: FastifyReply, { body, etag, leftOut }: Answer): FastifyReply => {
  // weak, because compressed and plain responses have different bytes
  reply.reportLeftOut(leftOut).header('etag', `W/${etag}`);
  const { method, headers } = reply.request;
  const known = headers['if-none-match'];
  if (known !== undefined && (method === 'GET' || method === 'HEAD') && namesEtag(known, etag))
    return reply.code(304).send();
  return reply.header('content-type', JSON_TYPE).send(body);
};
