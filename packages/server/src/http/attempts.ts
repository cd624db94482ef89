/** Limits brute-force attempts by address and by account (AC14). */
import crypto from 'node:crypto';
import rateLimit, { type FastifyRateLimitStore, normalizeIP } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../limits.js';
import { type CountAttempt, newAttemptCounts } from './attempt-counts.js';

/** Who tries what. */
export interface Attempting {
  /** The address of the client. */
  readonly ip: string;
  /** The path of the endpoint, with its parameters as they are declared. */
  readonly endpoint: string;
  /** '' if the endpoint names none. */
  readonly account: string;
  /** Of the response. */
  setHeader(name: string, value: number): void;
}

/** Counts one attempt and returns false if there were too many. Sets the rate limit headers either way. */
export type Attempts = (attempting: Attempting) => Promise<boolean>;

/** What the counters read their keys from. */
type Counted = Pick<Attempting, 'ip' | 'endpoint' | 'account'>;

export interface AttemptBounds {
  /** Attempts per address, account and endpoint; 0 disables counting. */
  readonly attemptsMax: number;
  /** The time for these; those of an address or an account alone are counted in `limits.attemptsMs`, which is its default. */
  readonly attemptsMs?: number;
}

/**
 * @param countAttempt where attempts are counted if not in this process. The plugin itself would count by a clock that may be set back.
 */
export const newAttempts = async (
  app: FastifyInstance,
  { attemptsMax: max, attemptsMs = limits.attemptsMs }: AttemptBounds,
  countAttempt: CountAttempt = newAttemptCounts(),
): Promise<Attempts> => {
  if (max === 0) return async () => true;
  await app.register(rateLimit, { global: false, store: storeOf(countAttempt) });
  const counter = (attemptsMax: number, timeWindow: number, keyOf: (counted: Counted) => string) => {
    // the plugin only hands on what it is given
    const keyGenerator = (given: FastifyRequest): string => keyOf(given as unknown as Counted);
    const count = app.createRateLimit({ max: attemptsMax, timeWindow, keyGenerator });
    return (counted: Counted) => count(counted as unknown as FastifyRequest);
  };
  // the keys begin with the name of the counter, because the store keeps all of them together
  const ofAddress = counter(Math.max(limits.attemptsOfAddressMax, max), limits.attemptsMs, ({ ip }) => `address ${ip}`);
  const ofBoth = counter(max, attemptsMs, ({ ip, endpoint, account }) => ['both', ip, endpoint, account].join(' '));
  const forAccount = counter(
    Math.max(limits.attemptsForAccountMax, max),
    limits.attemptsMs,
    ({ account }) => `account ${account}`,
  );
  return async ({ ip, endpoint, account: given, setHeader }) => {
    const account = given === '' ? '' : digestOf(given);
    // the plugin looks for options of the route
    const attempt = { ip: normalizeIP(ip), endpoint, account, routeOptions: {} };
    // in this order, so that attempts refused for their address do not count against the account
    for (const count of [ofAddress, ofBoth, ...(account === '' ? [] : [forAccount])]) {
      const counted = await count(attempt);
      if (counted.isAllowed) continue;
      if (counted.isExceeded || count === ofBoth) {
        setHeader('x-ratelimit-limit', counted.max);
        setHeader('x-ratelimit-remaining', counted.remaining);
        setHeader('x-ratelimit-reset', Math.ceil((Date.now() + counted.ttl) / 1000));
      }
      if (!counted.isExceeded) continue;
      setHeader('retry-after', counted.ttlInSeconds);
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

export const attemptingBy = (request: FastifyRequest, reply: FastifyReply, account: string): Attempting => ({
  // undefined if the client has left already
  ip: request.ip ?? '',
  endpoint: request.routeOptions.url ?? '',
  account,
  setHeader: (name, value) => void reply.header(name, value),
});

/** Fixed length, however long the name is. */
const digestOf = (account: string): string => crypto.hash('sha256', account, 'base64url');
