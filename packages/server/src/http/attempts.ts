/** Limits brute-force attempts by address and by account (AC14). */
import crypto from 'node:crypto';
import rateLimit, { type FastifyRateLimitStore, normalizeIP } from '@fastify/rate-limit';
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

/** Counts one attempt under a key, and returns how many there were in the window that the first of them opened. */
export type CountAttempt = (key: string, windowMs: number) => Promise<AttemptCount>;

export interface AttemptCount {
  /** This attempt included. */
  readonly count: number;
  /** Milliseconds until the window ends. */
  readonly msLeft: number;
}

/**
 * @param max attempts per address, account and endpoint in `limits.attemptsMs`; 0 disables counting.
 * @param countAttempt where attempts are counted if not in this process.
 */
export const newAttempts = async (
  app: FastifyInstance,
  max: number,
  countAttempt?: CountAttempt,
): Promise<Attempts> => {
  if (max === 0) return async () => true;
  await app.register(rateLimit, { global: false, ...(countAttempt ? { store: storeOf(countAttempt) } : {}) });
  // the counters read their keys from the request
  app.decorateRequest('attemptedAccount', '');
  const counter = (attemptsMax: number, keyGenerator: (request: FastifyRequest) => string) => {
    const options = { max: attemptsMax, timeWindow: limits.attemptsMs, cache: limits.attemptCountersMax, keyGenerator };
    return app.createRateLimit(options);
  };
  // the keys begin with the name of the counter, because a store may keep all of them together
  const ofAddress = counter(Math.max(limits.attemptsOfAddressMax, max), (request) => `address ${addressOf(request)}`);
  const ofBoth = counter(max, (request) =>
    ['both', addressOf(request), request.routeOptions.url, request.attemptedAccount].join(' '),
  );
  const forAccount = counter(
    Math.max(limits.attemptsForAccountMax, max),
    (request) => `account ${request.attemptedAccount}`,
  );
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

/** The plugin wants a class. */
const storeOf = (countAttempt: CountAttempt) =>
  class implements FastifyRateLimitStore {
    incr(key: string, done: Parameters<FastifyRateLimitStore['incr']>[1], windowMs: number): void {
      countAttempt(key, windowMs).then(
        ({ count, msLeft }) => done(null, { current: count, ttl: msLeft }),
        (fault: Error) => done(fault),
      );
    }
    child(): FastifyRateLimitStore {
      return this;
    }
  };

const addressOf = (request: FastifyRequest): string => normalizeIP(request.ip);

/** Fixed length, however long the name is. */
const digestOf = (account: string): string => crypto.hash('sha256', account, 'base64url');
