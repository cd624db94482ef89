/** Codes that users get by mail, for a new password or to confirm an address, and what the database stores of them. */
import crypto from 'node:crypto';
import type { Jwts } from '../access/jwt.js';
import { limits } from '../limits.js';

export type CodeKind = 'reset' | 'confirmation';

/** Kinds of codes that are stored as they are mailed, as in v4, because code of a project looks for them by itself. */
export type RawCodes = Readonly<Record<CodeKind, boolean>>;

export interface Codes {
  make(kind: CodeKind): { readonly code: string; readonly stored: string };
  /** What may be stored for a code that somebody gives; nothing if it cannot be valid. */
  storedFor(kind: CodeKind, given: string): readonly string[];
}

interface CodeDeps {
  readonly jwts: Pick<Jwts, 'digest'>;
  /** Null where no code of a project runs, so that nobody else stores any. */
  readonly raw: RawCodes | null;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
}

export const newCodes = ({ jwts, raw, now }: CodeDeps): Codes => {
  const digestOf = (kind: CodeKind, code: string): string => DIGEST + jwts.digest(kind, code);
  return {
    make: (kind) => {
      const code = kind === 'reset' ? newResetCode(now() + limits.resetCodeMsMax) : newToken(20);
      return { code, stored: raw?.[kind] ? code : digestOf(kind, code) };
    },
    storedFor: (kind, given) => {
      if (!mayBeStored.test(given) || given.startsWith(DIGEST)) return [];
      const expiresAt = kind === 'reset' ? expiryOf(given) : null;
      if (expiresAt !== null && expiresAt <= now()) return [];
      const isUsual = kind === 'reset' ? expiresAt !== null : confirmationForm.test(given);
      if (raw === null && !isUsual) return [];
      // links that v4 has mailed still confirm; code of a project stores what it mails, in any form
      return [digestOf(kind, given), given];
    },
  };
};

/** Marks what the server stores: no such text is a code, so that reading the database is not enough to use one. */
const DIGEST = 'digest:';

/** The server's and v4's. */
const confirmationForm = /^[0-9a-f]{40}$/;

/** As long as v4's columns, and without what PostgreSQL does not store. */
const mayBeStored = /^\P{Cc}{1,255}$/u;

const newToken = (bytes: number): string => crypto.randomBytes(bytes).toString('hex');

/** The time it expires at is part of the code, and of its digest: v4's table has a column for the code only. */
const newResetCode = (expiresAt: number): string => `${expiresAt.toString(36)}-${newToken(32)}`;

/** Epoch milliseconds; null for a code of another form, which has no expiry, as in v4. */
const expiryOf = (code: string): number | null => {
  const [, expiry] = /^([0-9a-z]{8,10})-[0-9a-f]{64}$/.exec(code) ?? [];
  return expiry === undefined ? null : Number.parseInt(expiry, 36);
};
