/**
 * JWTs of users: HS256 and nothing else, payload `{ id, iat, exp }` as v4 makes them (AC7). Ours also carry a
 * digest of the password hash: changing the password revokes them (AC7). v4's have none and stay valid until they expire.
 */
import crypto from 'node:crypto';
// loading all of jose for two functions would be slow
import { JOSEError } from 'jose/errors';
import { SignJWT } from 'jose/jwt/sign';
import { jwtVerify } from 'jose/jwt/verify';
import { limits } from '../limits.js';
import { isSame } from './tokens.js';

export interface JwtClaims {
  readonly userId: number;
  /** Null in tokens that v4 made. */
  readonly stamp: string | null;
  /** Epoch milliseconds; null for never. */
  readonly expiresAt: number | null;
}

export interface Jwts {
  /** @param passwordHash as stored; null for users without one. */
  sign(userId: number, passwordHash: string | null): Promise<string>;
  /** Null for anything but a token that was signed with the secret and is not expired. */
  verify(text: string): Promise<JwtClaims | null>;
  /** Whether the password is still the one that the token was made for. */
  isCurrent(claims: JwtClaims, passwordHash: string | null): boolean;
  /** Keyed digest of codes and tokens stored in the database; `purpose` separates their domains. */
  digest(purpose: string, text: string): string;
}

export interface JwtOptions {
  readonly secret: string;
  readonly lifetimeMs: number;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
}

export const newJwts = ({ secret, lifetimeMs, now }: JwtOptions): Jwts => {
  const key = crypto.createSecretKey(secret, 'utf8');
  const digest = (purpose: string, text: string): string =>
    crypto.createHmac('sha512', key).update(`dovetail ${purpose}\0${text}`).digest('hex');
  const stampOf = (userId: number, passwordHash: string | null): string =>
    digest('password', `${userId}\0${passwordHash ?? ''}`).slice(0, 32);
  return {
    digest,
    sign: (userId, passwordHash) => {
      const issuedAt = Math.floor(now() / 1000);
      return new SignJWT({ id: userId, pw: stampOf(userId, passwordHash) })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + Math.floor(lifetimeMs / 1000))
        .sign(key);
    },
    verify: async (text) => {
      try {
        const { payload } = await jwtVerify(text, key, { algorithms: ['HS256'], currentDate: new Date(now()) });
        const { id, pw, exp } = payload;
        // in v4 an id that is not a number acts as a query condition (AC7)
        if (typeof id !== 'number' || !Number.isInteger(id) || id < 1 || id > limits.integerMax) return null;
        if (pw !== undefined && typeof pw !== 'string') return null;
        return { userId: id, stamp: pw ?? null, expiresAt: exp === undefined ? null : exp * 1000 };
      } catch (fault) {
        if (fault instanceof JOSEError || fault instanceof TypeError) return null;
        throw fault;
      }
    },
    isCurrent: ({ userId, stamp }, passwordHash) => stamp === null || isSame(stamp, stampOf(userId, passwordHash)),
  };
};
