/** The command `admin`: administrators, who sign in to the Studio. A running server picks up changes within a second. */
import crypto from 'node:crypto';
import { newAdminTokens } from '../../access/admin-tokens.js';
import { type AccountDeps, changeAccounts, ownContext } from '../../accounts/account.js';
import { hashAdminPassword, readEmail } from '../../administration/administration.js';
import { newInvitation, storeInvitation } from '../../administration/invitations.js';
import { ensureAdminRoles } from '../../administration/roles.js';
import {
  type AdminRoleRow,
  type AdminRow,
  findAdmins,
  findAdminsInside,
  readRolesOfAll,
} from '../../administration/rows.js';
import { endSessionsOf, hasSessions } from '../../administration/sessions.js';
import { nearest } from '../../errors.js';
import { STUDIO_PATH } from '../../http/studio-files.js';
import { typeOf } from '../../model/model.js';
import type { Session } from '../../write/session.js';
import { addressOf, hasStudio, takesStudioPath } from '../site.js';
import { StartFault } from '../start-fault.js';
import { withSite } from '../with-site.js';

export interface AdminOptions {
  readonly project: string;
  readonly email: string;
  readonly firstname?: string | undefined;
  readonly lastname?: string | undefined;
  readonly password?: string | undefined;
  /** The code or name of the role. */
  readonly role: string;
}

/** Creates an administrator. Prints the password if it was generated. */
export const createAdminCommand = ({ project, role, firstname, lastname, ...options }: AdminOptions): Promise<void> =>
  withAdmins(project, async (deps) => {
    const { db, model, writer } = deps;
    const email = readEmail(options.email);
    const password = options.password ?? newPassword();
    const hashes = await hashAdminPassword({ accounts: deps }, password);
    const id = await changeAccounts(deps, async (session) => {
      const { tx } = session;
      if ((await findAdminsInside(tx, { by: 'email', text: email }, db.dialect)).length > 0)
        throw new StartFault('An administrator with that e-mail address already exists.');
      const roleId = roleNamed(role, await ensureAdminRoles(model, tx, db.dialect)).id;
      const data = {
        firstname: firstname ?? null,
        lastname: lastname ?? null,
        email,
        password,
        isActive: true,
        blocked: false,
        roles: [roleId],
      };
      const request = { action: 'create', type: typeOf(model, 'admin::user'), data, hashes } as const;
      return (await writer.apply(request, ownContext(deps), session)).id;
    });
    process.stderr.write(`administrator ${id} created with the role ${role}\n`);
    if (options.password === undefined) process.stdout.write(`${password}\n`);
  });

/** Prints one line per administrator. */
export const listAdminsCommand = (project: string): Promise<void> =>
  withAdmins(project, async ({ db }) => {
    const admins = await findAdmins(db, { by: 'everybody' });
    const roles = await readRolesOfAll(db);
    if (admins.length === 0) process.stderr.write('There are no administrators. Create one with admin create.\n');
    for (const { id, email, firstname, lastname, isActive, isBlocked } of admins) {
      const own = (roles.get(id) ?? []).map((it) => it.name).join(', ') || '(no role)';
      const name = [firstname, lastname].filter((it) => it !== null && it !== '').join(' ');
      process.stdout.write(
        `${id}  ${own}  ${isBlocked ? 'blocked' : isActive ? 'active' : 'inactive'}  ${email}${name === '' ? '' : `  ${name}`}\n`,
      );
    }
  });

/** Blocks or unblocks the administrator with that id or e-mail address; a blocked one is signed out. */
export const blockAdminCommand = (project: string, name: string, blocked: boolean): Promise<void> =>
  withAdmins(project, async (deps) => {
    const admin = await adminNamed(name, deps);
    // one without a password registers by a link
    const mayBeActive = !blocked && admin.password !== null;
    await changeAdmin(admin.id, { blocked, ...(mayBeActive ? { isActive: true } : {}) }, deps);
    process.stderr.write(`administrator ${admin.id} (${admin.email}) ${blocked ? 'blocked' : 'unblocked'}\n`);
  });

/** Sets a password, which is generated and printed without one; sessions end. */
export const setAdminPasswordCommand = (project: string, name: string, given: string | undefined): Promise<void> =>
  withAdmins(project, async (deps) => {
    const admin = await adminNamed(name, deps);
    const password = given ?? newPassword();
    await changeAdmin(admin.id, { password, registrationToken: null }, deps);
    process.stderr.write(`administrator ${admin.id} (${admin.email}) has a new password; all sessions have ended\n`);
    if (given === undefined) process.stdout.write(`${password}\n`);
  });

/** Prints a one-time link by which an administrator chooses a password (AD18). Their password stays until then. */
export const linkAdminCommand = (dir: string, name: string): Promise<void> =>
  withSite(dir, async ({ accountDeps: deps }, secrets, project) => {
    if (!hasStudio(project) || takesStudioPath(project.config))
      throw new StartFault('The Studio is not served, so nobody could use the link. Use admin password instead.');
    const { id } = await adminNamed(name, deps);
    const invitation = newInvitation(newAdminTokens({ secret: secrets.adminJwtSecret(), now: deps.now }), deps.now());
    const email = await changeAccounts(deps, async (session) => {
      const [admin] = await findAdminsInside(session.tx, { by: 'id', id }, deps.db.dialect);
      if (!admin) return noSuchAdmin(name);
      await storeInvitation(invitation, admin, deps, session, null);
      return admin.email;
    });
    const until = new Date(invitation.expiresAt).toISOString();
    process.stderr.write(`administrator ${id} (${email}) can choose a password with this link, once, until ${until}\n`);
    process.stdout.write(`${addressOf(project, project.env.PORT)}${STUDIO_PATH}/join#${invitation.token}\n`);
  });

// ----

const newPassword = (): string => crypto.randomBytes(18).toString('base64url');

const withAdmins = (dir: string, work: (deps: AccountDeps) => Promise<void>): Promise<void> =>
  withSite(dir, ({ accountDeps }) => work(accountDeps));

/** Changes an administrator and ends the sessions. */
const changeAdmin = async (
  id: number,
  data: Readonly<Record<string, unknown>> & { readonly password?: string },
  deps: AccountDeps,
): Promise<void> => {
  const { password } = data;
  const hashes = password === undefined ? undefined : await hashAdminPassword({ accounts: deps }, password);
  const hasTable = await hasSessions(deps.db);
  await changeAccounts(deps, async (session: Session) => {
    const request = { action: 'update', type: typeOf(deps.model, 'admin::user'), id, data } as const;
    await deps.writer.apply({ ...request, ...(hashes ? { hashes } : {}) }, ownContext(deps), session);
    if (hasTable) await endSessionsOf(id, session.tx, deps.db);
  });
};

const adminNamed = async (name: string, { db }: AccountDeps): Promise<AdminRow> => {
  const admins = await findAdmins(db, { by: 'everybody' });
  const admin =
    admins.find((it) => String(it.id) === name) ?? admins.find((it) => it.email === name.trim().toLowerCase());
  return admin ?? noSuchAdmin(name);
};

const noSuchAdmin = (name: string): never => {
  throw new StartFault(`There is no administrator "${name}". See admin list.`);
};

const roleNamed = (name: string, roles: readonly AdminRoleRow[]): AdminRoleRow => {
  const role =
    roles.find((it) => it.code === name || it.code === `strapi-${name}`) ?? roles.find((it) => it.name === name);
  if (role) return role;
  const codes = roles.map((it) => it.code.replace(/^strapi-/, ''));
  const near = nearest(name, codes);
  throw new StartFault(
    `There is no administrator role "${name}".${near === undefined ? '' : ` Did you mean ${near}?`} Roles: ${codes.join(', ')}`,
  );
};
