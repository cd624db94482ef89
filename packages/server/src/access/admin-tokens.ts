/**
 * Access tokens of administrators: JWTs that are valid for minutes and belong to a session (AD3). Their key is derived from v4's
 * secret for this purpose alone, so that no token of a user or of v4's own panel is ever one of these, even under one secret.
 */
import crypto from 'node:crypto';
import { JOSEError } from 'jose/errors';
import { SignJWT } from 'jose/jwt/sign';
import { jwtVerify } from 'jose/jwt/verify';
import { limits } from '../limits.js';
import { isSame } from './tokens.js';

export interface AdminClaims {
  readonly adminId: number;
  /** The session's `key`. */
  readonly session: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

export interface AdminTokens {
  sign(adminId: number, session: string): Promise<{ readonly token: string; readonly expiresAt: number }>;
  /** Null for anything but a token that `sign` made with the same secret and that is not expired. */
  verify(text: string): Promise<AdminClaims | null>;
  /** A keyed digest; `purpose` separates their domains. */
  digest(purpose: string, text: string): string;
  /** Of the password that a session begins with; another password ends it. */
  stampOf(adminId: number, passwordHash: string): string;
  isCurrent(stamp: string, adminId: number, passwordHash: string): boolean;
}

export interface AdminTokenOptions {
  readonly secret: string;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
}

const AUDIENCE = 'dovetail administrators';
/** A type of their own tells these tokens from all others before they are verified. */
const header = { alg: 'HS256', typ: 'administrator+jwt' };
const BEGINNING = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.`;

/** Whether a bearer value claims to be an administrator's token, which may be forged. Nobody else's credentials begin like one. */
export const isOfAdministrators = (bearer: string): boolean => bearer.startsWith(BEGINNING);

export const newAdminTokens = ({ secret, now }: AdminTokenOptions): AdminTokens => {
  const derived = (purpose: string): Buffer =>
    crypto.createHmac('sha512', secret).update(`dovetail administrators ${purpose}`).digest();
  const key = crypto.createSecretKey(derived('access'));
  const digestKey = derived('digests');
  const digest = (purpose: string, text: string): string =>
    crypto.createHmac('sha512', digestKey).update(`${purpose}\0${text}`).digest('hex');
  const stampOf = (adminId: number, passwordHash: string): string =>
    digest('password', `${adminId}\0${passwordHash}`).slice(0, 32);
  return {
    digest,
    stampOf,
    isCurrent: (stamp, adminId, passwordHash) => isSame(stamp, stampOf(adminId, passwordHash)),
    sign: async (adminId, session) => {
      const issuedAt = Math.floor(now() / 1000);
      const expiresAt = issuedAt + limits.adminTokenMsMax / 1000;
      const token = await new SignJWT({ sid: session })
        .setProtectedHeader(header)
        .setSubject(String(adminId))
        .setAudience(AUDIENCE)
        .setIssuedAt(issuedAt)
        .setExpirationTime(expiresAt)
        .sign(key);
      return { token, expiresAt: expiresAt * 1000 };
    },
    verify: async (text) => {
      try {
        const { payload } = await jwtVerify(text, key, {
          algorithms: [header.alg],
          typ: header.typ,
          audience: AUDIENCE,
          requiredClaims: ['sub', 'exp', 'sid'],
          currentDate: new Date(now()),
        });
        const { sub = '', sid, exp = 0 } = payload;
        const adminId = Number(sub);
        if (typeof sid !== 'string' || !Number.isInteger(adminId) || adminId < 1) return null;
        return { adminId, session: sid, expiresAt: exp * 1000 };
      } catch (fault) {
        if (fault instanceof JOSEError || fault instanceof TypeError) return null;
        throw fault;
      }
    },
  };
};
