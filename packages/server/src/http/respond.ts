/** Answers and issues as HTTP responses. */
import type { FastifyReply } from 'fastify';
import { errorEnvelope, type Issue } from '../errors.js';
import { limits } from '../limits.js';
import type { Answer } from '../read/answer.js';
import { namesEtag } from '../read/etag.js';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** A response with a body, without the headers that every response has. */
export interface JsonResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export const issuesResponse = (issues: readonly Issue[]): JsonResponse => {
  const { status, body } = errorEnvelope(issues);
  const retry = status === 503 ? { 'retry-after': String(limits.retryAfterS) } : {};
  return { status, headers: { ...retry, 'content-type': JSON_TYPE }, body };
};

export const sendJson = (reply: FastifyReply, { status, headers, body }: JsonResponse): FastifyReply =>
  reply.code(status).headers(headers).send(body);

export const sendIssues = (reply: FastifyReply, issues: readonly Issue[]): FastifyReply =>
  sendJson(reply, issuesResponse(issues));

/** Sends an answer with its entity tag, or a 304 if the client already has it. Code of the project may have set another tag or type. */
export const sendAnswer = (reply: FastifyReply, answer: Answer): FastifyReply => {
  const { raw } = reply;
  reply.reportLeftOut(answer.leftOut).header('etag', raw.getHeader('etag') ?? weakTag(answer));
  if (isKnown(reply.request, answer)) return reply.code(304).send();
  if (isNull(answer)) return reply.code(204).send();
  return reply.header('content-type', raw.getHeader('content-type') ?? JSON_TYPE).send(answer.body);
};

/** Whether nothing is left to show, which v4 answers without a body. */
export const isNull = ({ body }: Answer): boolean => body.length === 4 && body.toString() === 'null';

/** Weak, because compressed and plain responses have different bytes. */
export const weakTag = ({ etag }: Answer): string => `W/${etag}`;

/** Whether the client has this answer already. */
export const isKnown = ({ method, headers }: Conditional, { etag }: Answer): boolean => {
  const known = headers['if-none-match'];
  return known !== undefined && (method === 'GET' || method === 'HEAD') && namesEtag(known, etag);
};

interface Conditional {
  readonly method?: string | undefined;
  readonly headers: { readonly 'if-none-match'?: string | undefined };
}
