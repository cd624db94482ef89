/** Signing in and out, and registering the first administrator (AD1 to AD7). */

import { isPassword } from '../access/passwords.js';
import { type StoredPermission, SUPER_ADMIN } from '../access/rights.js';
import { isSame } from '../access/tokens.js';
import { changeAccounts, ownContext, readForm } from '../accounts/account.js';
import { issue, refuse, refused, unwrap } from '../errors.js';
import { limits } from '../limits.js';
import { isObject } from '../write/ids.js';
import {
  type AdminAction,
  type AdministrationDeps,
  adminType,
  answer,
  asAction,
  hashAdminPassword,
  readNewAdmin,
  rightsOf,
} from './administration.js';
import { acceptInvitation } from './invitations.js';
import { ensureAdminRoles } from './roles.js';
import { type AdminRow, findAdmins, findAdminsInside, hasAdmin, hasAdminInside, readRolesOf } from './rows.js';

export interface SignInActions {
  readonly login: AdminAction;
  readonly refresh: AdminAction;
  readonly logout: AdminAction;
  readonly me: AdminAction;
  /** What a page needs to know before anybody has signed in. */
  readonly init: AdminAction;
  /** The first administrator by the key of `registerKey`, others by the link that was made for them. */
  readonly register: AdminAction;
  /** The key that `register` asks for; null once there is an administrator, and in production. */
  registerKey(): Promise<string | null>;
}

export const newSignInActions = (deps: AdministrationDeps): SignInActions => {
  const { accounts, sessions, tokens, roles, mode } = deps;
  const { db, model, now } = accounts;

  const show = async ({ id, firstname, lastname, email }: AdminRow) => ({
    id,
    firstname,
    lastname,
    email,
    roles: await readRolesOf(id, db),
  });

  const tokenData = async (admin: AdminRow, session: string) => {
    const { token, expiresAt } = await tokens.sign(admin.id, session);
    return { token, expiresAt: new Date(expiresAt).toISOString(), user: await show(admin) };
  };

  const signedIn = async (admin: AdminRow) => {
    const session = await sessions.start(admin);
    return answer(await tokenData(admin, session.key), { session });
  };

  /** Of the time at which it ends, so that processes that share a secret know each other's keys, and none outlives its day. */
  const keyUntil = (endsAt: number): string =>
    `${endsAt.toString(36)}-${tokens.digest('register', String(endsAt)).slice(0, 48)}`;

  const isKey = (key: string): boolean => {
    const [, end] = /^([0-9a-z]{8,10})-[0-9a-f]{48}$/.exec(key) ?? [];
    const endsAt = end === undefined ? Number.NaN : Number.parseInt(end, 36);
    return endsAt > now() && endsAt <= now() + limits.registerKeyMsMax && isSame(key, keyUntil(endsAt));
  };

  return {
    login: asAction(async ({ body }) => {
      const { email, password } = unwrap(readForm(body, ['email', 'password']));
      const [admin] = await findAdmins(db, { by: 'email', text: email });
      // one answer, after the same work, whatever is wrong: nobody learns who is an administrator
      const isRight = await isPassword(password, admin?.password ?? null);
      return admin?.maySignIn && isRight ? signedIn(admin) : refused(issue('admin.login', []));
    }),

    refresh: asAction(async ({ refreshToken }) => {
      const refreshed = refreshToken === null ? ({ kind: 'none' } as const) : await sessions.refresh(refreshToken);
      switch (refreshed.kind) {
        case 'none':
          return refused(issue('admin.no-session', []));
        case 'overlapping':
          return answer(await tokenData(refreshed.admin, refreshed.key));
        case 'rotated': {
          const { admin, session } = refreshed;
          return answer(await tokenData(admin, session.key), { session });
        }
      }
    }),

    logout: asAction(async ({ refreshToken }) => {
      // anybody may send this request: without a session it must cost nobody anything
      if (refreshToken !== null && (await sessions.end(refreshToken))) accounts.callers.forget();
      return answer({}, { session: 'ended' });
    }),

    me: asAction(async (request) => {
      const { adminId, isSuperAdmin } = rightsOf(request);
      const [admin] = await findAdmins(db, { by: 'id', id: adminId });
      if (!admin) return refused(issue('http.bad-credentials', []));
      const shown = await show(admin);
      const current = await roles.current();
      const own = shown.roles.flatMap((it) => current.roles.get(it.id)?.permissions ?? []);
      return answer({ ...shown, isSuperAdmin, permissions: own.map(showPermission) });
    }),

    init: asAction(async () => {
      const isThere = await hasAdmin(db);
      return answer({ hasAdmin: isThere, mode, mayRegister: mode === 'development' && !isThere });
    }),

    register: asAction(async ({ body }) => {
      if (isObject(body) && body['registrationToken'] !== undefined)
        return signedIn(await acceptInvitation(body, deps));
      if (mode !== 'development') return refused(issue('http.not-found', []));
      const { key } = unwrap(readForm(body, ['key']));
      if (!isKey(key)) return refused(issue('admin.register-key', ['key']));
      const { password, ...given } = readNewAdmin(body);
      if (await hasAdmin(db)) return refused(issue('admin.registered', []));
      const hashes = await hashAdminPassword(deps, password);
      const admin = await changeAccounts(accounts, async (session) => {
        const { tx } = session;
        // another request may have been first
        if (await hasAdminInside(tx, db.dialect)) return refuse(issue('admin.registered', []));
        const role = (await ensureAdminRoles(model, tx, db.dialect)).find((it) => it.code === SUPER_ADMIN);
        if (!role) return refuse(issue('admin.role-absent', [], { role: SUPER_ADMIN }));
        const data = { ...given, password, isActive: true, blocked: false, roles: [role.id] };
        const request = { action: 'create', type: adminType(deps), data, hashes } as const;
        const { id } = await accounts.writer.apply(request, ownContext(accounts), session);
        const [made] = await findAdminsInside(tx, { by: 'id', id }, db.dialect);
        return made ?? refuse(issue('admin.registered', []));
      });
      return signedIn(admin);
    }),

    registerKey: async () =>
      mode === 'development' && !(await hasAdmin(db)) ? keyUntil(now() + limits.registerKeyMsMax) : null,
  };
};

const showPermission = ({ action, subject, fields, locales, conditions }: StoredPermission) => ({
  action,
  subject,
  fields,
  locales: locales ?? null,
  conditions,
});
