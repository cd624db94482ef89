/** Administrators looking after administrators (AD17). Only super admins make super admins, or change them. */
import { sql } from 'kysely';
import { SUPER_ADMIN } from '../access/rights.js';
import { changeAccounts, ownContext, readForm } from '../accounts/account.js';
import { issue, refuse, unwrap } from '../errors.js';
import { isObject } from '../write/ids.js';
import type { PasswordHashes } from '../write/passwords.js';
import type { Session } from '../write/session.js';
import {
  type AdminAction,
  type AdministrationDeps,
  type AdminRequest,
  adminType,
  answer,
  asAction,
  checkEmail,
  hashAdminPassword,
  readEmail,
  readNames,
  rightsOf,
} from './administration.js';
import { type Invitation, newInvitation, storeInvitation } from './invitations.js';
import { newOwnAccountAction } from './own-account.js';
import { ensureAdminRoles } from './roles.js';
import { type AdminRoleRow, findAdmins, findAdminsInside, readAdminRoles, readRolesOfAll } from './rows.js';
import { endSessionsOf, hasSessions } from './sessions.js';

export interface PeopleActions {
  readonly find: AdminAction;
  readonly roles: AdminAction;
  readonly create: AdminAction;
  readonly update: AdminAction;
  readonly updateMe: AdminAction;
  readonly remove: AdminAction;
  /** Makes a one-time link by which an administrator chooses a password. */
  readonly invite: AdminAction;
}

export const newPeopleActions = (deps: AdministrationDeps): PeopleActions => {
  const { accounts, tokens } = deps;
  const { db, model, writer, now } = accounts;
  const { dialect } = db;

  const readAll = async () => {
    const roles = await readRolesOfAll(db);
    return (await findAdmins(db, { by: 'everybody' })).map(
      ({ id, firstname, lastname, email, isActive, isBlocked: blocked }) => ({
        ...{ id, firstname, lastname, email, isActive, blocked },
        roles: roles.get(id) ?? [],
      }),
    );
  };
  const show = async (id: number) => (await readAll()).find((it) => it.id === id) ?? absent();

  /** The roles that a body names, which the administrator may give. */
  const rolesIn = (given: unknown, known: readonly AdminRoleRow[], request: AdminRequest): readonly number[] => {
    const ids: readonly unknown[] = Array.isArray(given) ? given : [];
    if (ids.length === 0) return refuse(issue('account.required', ['roles']));
    const roles = ids.map((id) => known.find((it) => it.id === id));
    if (roles.some((it) => it === undefined))
      return refuse(issue('admin.role-absent', ['roles'], { role: ids.map(String).join(', ') }));
    if (!rightsOf(request).isSuperAdmin && roles.some((it) => it?.code === SUPER_ADMIN))
      return refuse(issue('admin.super-admins', ['roles']));
    return [...new Set(roles.map((it) => it!.id))];
  };

  /** Whether anybody else could still look after everything. */
  const checkNotLast = async (id: number, { tx }: Session): Promise<void> => {
    const rows = await tx.run(
      dialect.compile(sql`
        select 1 from admin_users u join admin_users_roles_links l on l.user_id = u.id join admin_roles r on r.id = l.role_id
        where r.code = ${SUPER_ADMIN} and u.id <> ${dialect.bind('id', id)} and u.password is not null
          and u.is_active = ${dialect.bind('boolean', true)} and (u.blocked is null or u.blocked = ${dialect.bind('boolean', false)}) limit 1`),
    );
    if (rows.length === 0) refuse(issue('admin.last-super-admin', []));
  };

  /** The administrator whom another one may change. */
  const changeable = async (id: number, isSuperAdmin: boolean, session: Session) => {
    const [stored] = await findAdminsInside(session.tx, { by: 'id', id }, dialect);
    if (!stored) return absent();
    const known = await ensureAdminRoles(model, session.tx, dialect);
    const superId = known.find((it) => it.code === SUPER_ADMIN)?.id;
    const isSuper = await hasRole(id, superId, session);
    if (isSuper && !isSuperAdmin) return refuse(issue('admin.super-admins', []));
    return { stored, known, superId, isSuper };
  };

  return {
    find: asAction(async () => answer(await readAll())),

    roles: asAction(async () => answer(await readAdminRoles(db))),

    create: asAction(async (request) => {
      const { adminId } = rightsOf(request);
      const body = isObject(request.body) ? request.body : {};
      const given = { email: readEmail(unwrap(readForm(body, ['email'])).email), ...readNames(body) };
      const password = body['password'] === undefined ? null : unwrap(readForm(body, ['password'])).password;
      const hashes = password === null ? null : await hashAdminPassword(deps, password);
      const invitation = password === null ? newInvitation(tokens, now()) : null;
      const state = invitation
        ? { isActive: false, registrationToken: invitation.digest }
        : { isActive: true, password };
      const id = await changeAccounts(accounts, async (session) => {
        await checkEmail(given.email, null, session.tx, dialect);
        const roles = rolesIn(body['roles'], await ensureAdminRoles(model, session.tx, dialect), request);
        const data = { ...given, ...state, blocked: false, roles };
        const write = { action: 'create', type: adminType(deps), data, adminId } as const;
        return (await writer.apply({ ...write, ...(hashes ? { hashes } : {}) }, ownContext(accounts), session)).id;
      });
      return answer({ ...(await show(id)), ...(invitation ? shownOnce(invitation) : {}) }, { isNew: true });
    }),

    update: asAction(async (request) => {
      const { isSuperAdmin, adminId } = rightsOf(request);
      const given = isObject(request.body) ? request.body : {};
      const id = request.id ?? absent();
      const { password, email, isActive, blocked, roles } = given;
      for (const [name, value] of Object.entries({ isActive, blocked }))
        if (value !== undefined && typeof value !== 'boolean')
          return refuse(issue('body.type', [name], { expected: 'boolean', value }));
      for (const [name, value] of Object.entries({ password, email }))
        if (value !== undefined && typeof value !== 'string')
          return refuse(issue('body.type', [name], { expected: 'string', value: undefined }));
      const hashes: PasswordHashes | null =
        typeof password === 'string' ? await hashAdminPassword(deps, password) : null;
      const hasTable = await hasSessions(db);
      await changeAccounts(accounts, async (session) => {
        const { stored, known, superId, isSuper } = await changeable(id, isSuperAdmin, session);
        const roleIds = roles === undefined ? undefined : rolesIn(roles, known, request);
        const losesRole = roleIds !== undefined && superId !== undefined && !roleIds.includes(superId);
        if (isSuper && (losesRole || blocked === true || isActive === false)) await checkNotLast(id, session);
        // a link would make them active again; one who has not used the first one yet is inactive
        const endsLink = typeof password === 'string' || blocked === true || (isActive === false && stored.isActive);
        const newEmail = typeof email === 'string' ? readEmail(email) : undefined;
        if (newEmail !== undefined) await checkEmail(newEmail, id, session.tx, dialect);
        const data = {
          ...readNames(given),
          ...(newEmail === undefined ? {} : { email: newEmail }),
          ...(typeof password === 'string' ? { password } : {}),
          ...(endsLink ? { registrationToken: null } : {}),
          ...(isActive === undefined ? {} : { isActive }),
          ...(blocked === undefined ? {} : { blocked }),
          ...(roleIds === undefined ? {} : { roles: roleIds }),
        };
        const write = { action: 'update', type: adminType(deps), id, data, adminId } as const;
        await writer.apply({ ...write, ...(hashes ? { hashes } : {}) }, ownContext(accounts), session);
        // another password ends sessions by itself; they leave the table too
        if (hasTable && (hashes !== null || blocked === true || isActive === false))
          await endSessionsOf(id, session.tx, db);
        return undefined;
      });
      return answer(await show(id));
    }),

    updateMe: newOwnAccountAction(deps, show),

    remove: asAction(async (request) => {
      const { isSuperAdmin, adminId } = rightsOf(request);
      const id = request.id ?? absent();
      const shown = await show(id);
      const hasTable = await hasSessions(db);
      await changeAccounts(accounts, async (session) => {
        const { isSuper } = await changeable(id, isSuperAdmin, session);
        if (isSuper) await checkNotLast(id, session);
        const write = { action: 'delete', type: adminType(deps), id, adminId } as const;
        await writer.apply(write, ownContext(accounts), session);
        if (hasTable) await endSessionsOf(id, session.tx, db);
      });
      return answer(shown);
    }),

    invite: asAction(async (request) => {
      const { isSuperAdmin, adminId } = rightsOf(request);
      const id = request.id ?? absent();
      const invitation = newInvitation(tokens, now());
      await changeAccounts(accounts, async (session) => {
        const { stored } = await changeable(id, isSuperAdmin, session);
        return storeInvitation(invitation, stored, accounts, session, adminId);
      });
      return answer(shownOnce(invitation));
    }),
  };

  async function hasRole(id: number, roleId: number | undefined, { tx }: Session): Promise<boolean> {
    if (roleId === undefined) return false;
    const rows = await tx.run(
      dialect.compile(
        sql`select 1 from admin_users_roles_links where user_id = ${dialect.bind('id', id)} and role_id = ${dialect.bind('id', roleId)} limit 1`,
      ),
    );
    return rows.length > 0;
  }
};

const shownOnce = ({ token, expiresAt }: Invitation) => ({
  registrationToken: token,
  registrationTokenExpiresAt: new Date(expiresAt).toISOString(),
});

const absent = (): never => refuse(issue('account.user-absent', []));
