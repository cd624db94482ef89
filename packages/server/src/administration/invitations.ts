/**
 * One-time links by which administrators choose their password (AD18): new ones, and those who have forgotten theirs. The token
 * in the link is shown to whoever makes it; v4's column has a digest of it. A later link, another password, blocking,
 * deactivating and `limits.registrationTokenMsMax` end it.
 */
import crypto from 'node:crypto';
import type { AdminTokens } from '../access/admin-tokens.js';
import { type AccountDeps, changeAccounts, ownContext, readForm } from '../accounts/account.js';
import { issue, refuse, unwrap } from '../errors.js';
import { limits } from '../limits.js';
import { isObject } from '../write/ids.js';
import type { Session } from '../write/session.js';
import { type AdministrationDeps, adminType, hashAdminPassword, readNames } from './administration.js';
import { type AdminRow, findAdmins, findAdminsInside } from './rows.js';
import { endSessionsOf, hasSessions } from './sessions.js';

export interface Invitation {
  /** For the link alone. */
  readonly token: string;
  /** What is stored of it. */
  readonly digest: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

const digestOf = (token: string, tokens: AdminTokens): string => tokens.digest('registration', token).slice(0, 64);

/** @param now milliseconds since 1970 UTC. */
export const newInvitation = (tokens: AdminTokens, now: number): Invitation => {
  const expiresAt = now + limits.registrationTokenMsMax;
  // the digest is one of the time, too
  const token = `${expiresAt.toString(36)}.${crypto.randomBytes(32).toString('base64url')}`;
  return { token, digest: digestOf(token, tokens), expiresAt };
};

/** Stores what the link of an administrator is known by; an earlier one ends. @param by who makes it; null for the command line. */
export const storeInvitation = (
  { digest }: Invitation,
  { id, isBlocked }: AdminRow,
  accounts: AccountDeps,
  session: Session,
  by: number | null,
): Promise<unknown> => {
  if (isBlocked) return refuse(issue('admin.blocked', []));
  const data = { registrationToken: digest };
  const write = { action: 'update', type: adminType({ accounts }), id, data, adminId: by } as const;
  return accounts.writer.apply(write, ownContext(accounts), session);
};

/**
 * Sets the password that an administrator has chosen, and makes their account active. Sessions that they had end.
 * Body as v4's: `{ registrationToken, userInfo: { password, firstname?, lastname? } }`. Throws `Refusal`.
 */
export const acceptInvitation = async (body: unknown, deps: AdministrationDeps): Promise<AdminRow> => {
  const { accounts, tokens } = deps;
  const { db } = accounts;
  const { registrationToken } = unwrap(readForm(body, ['registrationToken']));
  const userInfo = isObject(body) ? body['userInfo'] : undefined;
  const { password } = unwrap(readForm(userInfo, ['password']));
  const names = readNames(userInfo);
  const [, end] = /^([0-9a-z]{8,10})\.[\w-]{43}$/.exec(registrationToken) ?? [];
  if (end === undefined || !(Number.parseInt(end, 36) > accounts.now())) return unknown();
  const key = { by: 'registration', digest: digestOf(registrationToken, tokens) } as const;
  // nobody makes the server hash a password without a link
  if ((await findAdmins(db, key)).length === 0) return unknown();
  const hashes = await hashAdminPassword(deps, password);
  const hasTable = await hasSessions(db);
  return changeAccounts(accounts, async (session) => {
    const [stored] = await findAdminsInside(session.tx, key, db.dialect);
    if (!stored || stored.isBlocked) return unknown();
    const { id } = stored;
    const data = { ...names, password, isActive: true, registrationToken: null };
    const write = { action: 'update', type: adminType(deps), id, data, hashes } as const;
    await accounts.writer.apply(write, ownContext(accounts), session);
    if (hasTable) await endSessionsOf(id, session.tx, db);
    const [changed] = await findAdminsInside(session.tx, { by: 'id', id }, db.dialect);
    return changed ?? unknown();
  });
};

const unknown = (): never => refuse(issue('admin.registration-token', ['registrationToken']));
