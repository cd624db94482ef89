/** `admin::user`, `admin::role` and `admin::auth`, with what bootstraps that seed an administrator call of them. */
import { isPassword } from '../../access/passwords.js';
import { SUPER_ADMIN } from '../../access/rights.js';
import { ACCOUNTS_LOCK, type AccountDeps, ownContext } from '../../accounts/account.js';
import { checkEmail, hashAdminPassword, readEmail } from '../../administration/administration.js';
import { ensureAdminRoles } from '../../administration/roles.js';
import { ADMIN_UID, typeOf } from '../../model/model.js';
import type { QueryEngine } from '../data/db.js';
import { type Entities, thrown } from '../data/entities.js';
import { currentSession } from '../data/scope.js';
import { isMembers, type Members } from '../loading/parts.js';
import { withMissing } from '../strapi-utils/missing.js';

const ROLE_UID = 'admin::role';

export interface AdministratorsDeps {
  readonly entities: Pick<Entities, 'transaction'>;
  readonly query: (uid: string) => QueryEngine;
  readonly accounts: () => AccountDeps;
}

export interface Administrators {
  /** `strapi.admin.services`, by their names. */
  readonly services: Readonly<Record<string, object>>;
  /** The same for roles, which v4 has made before `bootstrap`: here the first who asks for one makes them. */
  withRoles(uid: string, engine: QueryEngine): QueryEngine;
}

export const newAdministrators = ({ entities, query, accounts }: AdministratorsDeps): Administrators => {
  /** Runs work in a transaction that nobody else makes administrators or roles in. */
  const changing = <T>(work: () => Promise<T>): Promise<T> =>
    entities.transaction(async () => {
      const { db } = accounts();
      const lock = db.dialect.lock([ACCOUNTS_LOCK]);
      if (lock) await currentSession()!.tx.run(lock);
      return work();
    });

  let hasRoles = false;
  const ensureRoles = async (): Promise<void> => {
    if (hasRoles) return;
    const { count } = query(ROLE_UID);
    // what is made here may still be undone
    if ((await count()) > 0) hasRoles = currentSession() === null;
    else await changing(() => ensureAdminRoles(accounts().model, currentSession()!.tx, accounts().db.dialect));
  };

  const roles = async (): Promise<QueryEngine> => {
    await ensureRoles();
    return query(ROLE_UID);
  };

  const create = async (given: Members): Promise<unknown> =>
    thrown(async () => {
      const { password, roles: wanted = [], ...rest } = given;
      const email = readEmail(String(given['email'] ?? ''));
      const isGiven = typeof password === 'string' && password !== '';
      const hashes = isGiven ? await hashAdminPassword({ accounts: accounts() }, password) : null;
      await ensureRoles();
      return changing(async () => {
        const session = currentSession()!;
        const { db, model, writer } = accounts();
        await checkEmail(email, null, session.tx, db.dialect);
        const data = {
          ...{ isActive: false, blocked: false },
          ...rest,
          email,
          roles: [wanted].flat().map((it) => (isMembers(it) ? it['id'] : it)),
          ...(isGiven ? { password } : {}),
        };
        const request = { action: 'create', type: typeOf(model, ADMIN_UID), data } as const;
        const { id } = await writer.apply(
          { ...request, ...(hashes ? { hashes } : {}) },
          ownContext(accounts()),
          session,
        );
        return query(ADMIN_UID).findOne({ where: { id }, populate: ['roles'] });
      });
    });

  const hashed = async (password: string): Promise<string> =>
    thrown(async () => {
      const [hash = ''] = (await hashAdminPassword({ accounts: accounts() }, password)).values();
      return hash;
    });

  const user = withMissing('strapi.admin.services.user', {
    create,
    exists: async (where: Members = {}) => (await query(ADMIN_UID).count({ where })) > 0,
    count: (where: Members = {}) => query(ADMIN_UID).count({ where }),
    findOne: (id: unknown, populate: unknown = ['roles']) => query(ADMIN_UID).findOne({ where: { id }, populate }),
    findOneByEmail: (email: string, populate: unknown = []) =>
      query(ADMIN_UID).findOne({ where: { email: email.toLowerCase() }, populate }),
  });

  const role = withMissing('strapi.admin.services.role', {
    getSuperAdmin: async () => (await roles()).findOne({ where: { code: SUPER_ADMIN } }),
    findOne: async (where: Members = {}, populate?: unknown) => (await roles()).findOne({ where, populate }),
    find: async (where: Members = {}, populate?: unknown) => (await roles()).findMany({ where, populate }),
    count: async (where: Members = {}) => (await roles()).count({ where }),
    exists: async (where: Members = {}) => (await (await roles()).count({ where })) > 0,
  });

  const auth = withMissing('strapi.admin.services.auth', {
    hashPassword: hashed,
    validatePassword: (password: string, hash: string) => isPassword(password, hash),
  });

  return {
    services: { user, role, auth },
    withRoles: (uid, engine) => {
      if (uid !== ROLE_UID) return engine;
      const first =
        <Args extends readonly unknown[], T>(read: (...given: Args) => Promise<T>) =>
        async (...given: Args): Promise<T> => {
          await ensureRoles();
          return read(...given);
        };
      const { findOne, findMany, findWithCount, findPage, count } = engine;
      return {
        ...engine,
        findOne: first(findOne),
        findMany: first(findMany),
        findWithCount: first(findWithCount),
        findPage: first(findPage),
        count: first(count),
      };
    },
  };
};
