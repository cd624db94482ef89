/** What all administrators may change, whatever their roles: their own name, e-mail address and password (AD19). */
import { isPassword } from '../access/passwords.js';
import { changeAccounts, ownContext, readForm } from '../accounts/account.js';
import { issue, nearest, refuse, unwrap } from '../errors.js';
import { isObject } from '../write/ids.js';
import {
  type AdminAction,
  type AdministrationDeps,
  adminType,
  answer,
  asAction,
  checkEmail,
  hashAdminPassword,
  readEmail,
  readNames,
  rightsOf,
} from './administration.js';
import { findAdmins, findAdminsInside } from './rows.js';
import { keepOnlySession } from './sessions.js';

const known = ['firstname', 'lastname', 'email', 'password', 'currentPassword'] as const;

/**
 * `PUT /admin/users/me`. Another password or e-mail address needs `currentPassword`; another password ends all sessions but the one
 * of the request.
 */
export const newOwnAccountAction = (deps: AdministrationDeps, show: (id: number) => Promise<object>): AdminAction => {
  const { accounts, tokens } = deps;
  const { db, writer } = accounts;
  return asAction(async (request) => {
    const { adminId } = rightsOf(request);
    const given = isObject(request.body) ? request.body : {};
    const strange = Object.keys(given).filter((it) => !known.some((name) => name === it));
    if (strange.length > 0)
      return refuse(
        ...strange.map((name) =>
          issue('body.unknown-key', [name], { type: 'administrator', name, near: nearest(name, known) }),
        ),
      );
    const names = readNames(given);
    const [stored] = await findAdmins(db, { by: 'id', id: adminId });
    if (!stored) return refuse(issue('http.bad-credentials', []));
    const isWithPassword = given['password'] !== undefined;
    const password = isWithPassword ? unwrap(readForm(given, ['password'])).password : null;
    const email = given['email'] === undefined ? stored.email : readEmail(unwrap(readForm(given, ['email'])).email);
    const isOtherEmail = email !== stored.email;
    if (password !== null || isOtherEmail) {
      const { currentPassword } = unwrap(readForm(given, ['currentPassword']));
      if (!(await isPassword(currentPassword, stored.password)))
        return refuse(issue('account.current-password', ['currentPassword']));
    }
    const hashes = password === null ? null : await hashAdminPassword(deps, password);
    const claims = password === null ? null : await tokens.verify(request.accessToken ?? '');
    await changeAccounts(accounts, async (session) => {
      const { tx } = session;
      const [current] = await findAdminsInside(tx, { by: 'id', id: adminId }, db.dialect);
      // somebody else has just deleted them, or set another password
      if (current?.password !== stored.password) return refuse(issue('http.bad-credentials', []));
      if (isOtherEmail) await checkEmail(email, adminId, tx, db.dialect);
      const data = {
        ...names,
        ...(isOtherEmail ? { email } : {}),
        ...(password === null ? {} : { password, registrationToken: null }),
      };
      if (Object.keys(data).length === 0) return undefined;
      const write = { action: 'update', type: adminType(deps), id: adminId, data, adminId } as const;
      await writer.apply({ ...write, ...(hashes ? { hashes } : {}) }, ownContext(accounts), session);
      if (claims) {
        const [changed] = await findAdminsInside(tx, { by: 'id', id: adminId }, db.dialect);
        const stamp = tokens.stampOf(adminId, changed?.password ?? '');
        await keepOnlySession(claims.session, stamp, adminId, tx, db);
      }
      return undefined;
    });
    return answer(await show(adminId));
  });
};
