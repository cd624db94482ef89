/** Limits brute-force attempts by address and by account (AC14). */
import crypto from 'node:crypto';
import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../limits.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The account by which an attempt is counted, besides the address; '' if the endpoint names none. */
    attemptedAccount: string;
  }
}

/**
 * Counts one attempt for an account ('' for none) and returns false if there were too many. Sets the rate limit headers
 * either way.
 */
export type Attempts = (request: FastifyRequest, reply: FastifyReply, account: string) => Promise<boolean>;

/** @param max attempts per address, account and endpoint in `limits.attemptsMs`; 0 disables counting. */
export const newAttempts = async (app: FastifyInstance, max: number): Promise<Attempts> => {
  if (max === 0) return async () => true;
  await app.register(rateLimit, { global: false });
  // the counters read their keys from the request
  app.decorateRequest('attemptedAccount', '');
  const counter = (attemptsMax: number, keyGenerator: (request: FastifyRequest) => string) => {
    const options = { max: attemptsMax, timeWindow: limits.attemptsMs, cache: limits.attemptCountersMax, keyGenerator };
    return app.createRateLimit(options);
  };
  const ofAddress = counter(Math.max(limits.attemptsOfAddressMax, max), addressOf);
  const ofBoth = counter(max, (request) =>
    [addressOf(request), request.routeOptions.url, request.attemptedAccount].join(' '),
  );
  const forAccount = counter(Math.max(limits.attemptsForAccountMax, max), (request) => request.attemptedAccount);
  return async (request, reply, account) => {
    request.attemptedAccount = account === '' ? '' : digestOf(account);
    // in this order, so that attempts refused for their address do not count against the account
    for (const count of [ofAddress, ofBoth, ...(account === '' ? [] : [forAccount])]) {
      const counted = await count(request);
      if (counted.isAllowed) continue;
      if (counted.isExceeded || count === ofBoth)
        reply.headers({
          'x-ratelimit-limit': counted.max,
          'x-ratelimit-remaining': counted.remaining,
          'x-ratelimit-reset': Math.ceil((Date.now() + counted.ttl) / 1000),
        });
      if (!counted.isExceeded) continue;
      reply.header('retry-after', counted.ttlInSeconds);
      return false;
    }
    return true;
  };
};

const addressOf = (request: FastifyRequest): string => normalizeIP(request.ip);

/** Fixed length, however long the name is. */
const digestOf = (account: string): string => crypto.hash('sha256', account, 'base64url');
