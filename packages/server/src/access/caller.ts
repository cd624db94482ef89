/** Authentication: the `Authorization` header to a caller. API tokens come before JWTs of users (AC7, AC17). */
import crypto from 'node:crypto';
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { type Issue, issue, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import { ADMIN_UID, type Model, ROLE_UID, type Uid, USER_UID } from '../model/model.js';
import { type Ready, whenReady } from '../ready.js';
import { newSingleFlight } from '../single-flight.js';
import { type Db, type Dialect, type ReadProgram, type Rows, readRows, type Statement } from '../sql/dialect.js';
import { type Caller, publicCaller } from './access.js';
import { isGuarded, isReading } from './actions.js';
import { type AdminClaims, type AdminTokens, isOfAdministrators } from './admin-tokens.js';
import {
  type AdminCredential,
  type AdminRoleStore,
  type AdminRoles,
  adminCredential,
  rightsOfRoles,
  sessionStatement,
} from './administrators.js';
import type { JwtClaims, Jwts } from './jwt.js';
import type { IsServed, PermissionStore, Permissions, Role } from './permissions.js';
import { mayDo } from './rights.js';
import { settingsOf, settingsStatement } from './settings.js';
import {
  type ApiToken,
  firstToken,
  hashToken,
  lastUseStatement,
  tokenIdStatement,
  tokenOf,
  tokenStatement,
} from './tokens.js';

/** The types whose entries say who a caller is, and what they may do. */
export const accessTypes: ReadonlySet<Uid> = new Set([
  USER_UID,
  ROLE_UID,
  'plugin::users-permissions.permission',
  'admin::api-token',
  'admin::api-token-permission',
  ADMIN_UID,
  'admin::role',
  'admin::permission',
]);

export interface KnownCaller extends Caller {
  readonly who:
    | { readonly kind: 'public' }
    | { readonly kind: 'user'; readonly id: number }
    | { readonly kind: 'token'; readonly id: number; readonly adminId: number | null }
    | { readonly kind: 'admin'; readonly id: number };
}

export interface Callers {
  /**
   * @param header the `Authorization` header. Issues are the 401 of AC3.
   * @param as the `Dovetail-As` header: whose rights an administrator reads with instead (AD15).
   */
  identify(header: string | undefined, as?: string): Ready<Result<KnownCaller>>;
  /** Invalidates the caches: to be called once a change of `accessTypes` is committed. */
  forget(): void;
  /** Waits for background work. */
  idle(): Promise<void>;
}

export interface CallerDeps {
  readonly db: Db;
  readonly permissions: PermissionStore;
  readonly jwts: Jwts;
  /** Null where administrators do not sign in: their tokens are unknown then. */
  readonly admins: AdminDeps | null;
  readonly model: Model;
  readonly apiTokenSalt: string;
  /** Which permissions of custom API tokens have an effect; all of them without it. */
  readonly isServed?: IsServed | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** `open`: everybody may do anything except change users and roles. */
  readonly mode: 'roles' | 'open';
  /** Called with background errors. */
  readonly onFault: (fault: unknown) => void;
}

export interface AdminDeps {
  readonly tokens: AdminTokens;
  readonly roles: AdminRoleStore;
  /** Makes the table of sessions, if it is missing. */
  readonly ready: () => Promise<void>;
}

/** What a bearer value stands for, before permissions are checked. */
type Credential =
  | { readonly kind: 'token'; readonly token: ApiToken; readonly caller: KnownCaller }
  | { readonly kind: 'user'; readonly id: number; readonly roleId: number; readonly expiresAt: number | null }
  | AdminCredential;

export const newCallers = (deps: CallerDeps): Callers => {
  const { db, permissions, jwts, admins, apiTokenSalt, isServed, now, mode } = deps;
  const known = new LRUCache<string, { readonly credential: Credential; readonly readAt: number }>({
    max: limits.credentialsMax,
  });
  const singleFlight = newSingleFlight<Result<Credential>>();
  const noted = new LRUCache<number, number>({ max: limits.credentialsMax });
  const running = new Set<Promise<void>>();
  let changes = 0;

  const credentialOf = (bearer: string): Ready<Result<Credential>> => {
    // the value itself is not kept, and the hash that the database has takes eight times as long
    const digest = crypto.hash('sha256', bearer, 'base64url');
    const cached = known.get(digest);
    const readAt = now();
    if (cached && readAt - cached.readAt <= limits.permissionsMsMax && readAt >= cached.readAt)
      return ok(cached.credential);
    return singleFlight.join(digest, async () => {
      const changesBefore = changes;
      const hash = hashToken(bearer, apiTokenSalt);
      const isOfAdmin = isOfAdministrators(bearer);
      const admin = isOfAdmin ? await adminSession(bearer) : null;
      if (isOfAdmin && !admin) return unknown();
      const claims = isOfAdmin ? null : await jwts.verify(bearer);
      const read = await db.readSmall(() =>
        credentialProgram(hash, { claims, admin, jwts, isServed }, db.dialect, readAt),
      );
      // not cached if something changed during the read: it may be out of date already
      if (read.ok && changes === changesBefore) known.set(digest, { credential: read.value, readAt });
      return read;
    });
  };

  const adminSession = async (bearer: string): Promise<AdminSession | null> => {
    const claims = await admins?.tokens.verify(bearer);
    if (!admins || !claims) return null;
    await admins.ready();
    return { claims, tokens: admins.tokens };
  };

  // all of one kind: each tells whether the next one is small enough for the server's thread
  const uses = {};
  const noteUse = ({ id, lastUsedAt }: ApiToken): void => {
    const time = now();
    const last = Math.max(lastUsedAt ?? Number.NEGATIVE_INFINITY, noted.get(id) ?? Number.NEGATIVE_INFINITY);
    if (time - last < limits.lastUseMsMin) return;
    noted.set(id, time);
    const statement = lastUseStatement(id, time, time - limits.lastUseMsMin, db.dialect);
    const work = db
      .write((tx) => tx.run(statement), uses)
      .then(() => undefined, deps.onFault)
      .finally(() => running.delete(work));
    running.add(work);
  };

  const callerOf = (credential: Credential): Ready<Result<KnownCaller>> => {
    if (credential.kind === 'token') {
      const { token, caller } = credential;
      if (token.expiresAt !== null && token.expiresAt <= now()) return refused(issue('http.token-expired', []));
      noteUse(token);
      return ok(caller);
    }
    if (credential.expiresAt !== null && credential.expiresAt <= now()) return unknown();
    if (credential.kind === 'admin')
      return admins
        ? whenReady(admins.roles.current(), (current) => ok(adminCaller(credential, current, deps.model)))
        : unknown();
    return whenReady(permissions.current(), (current) => userCaller(credential.id, credential.roleId, current));
  };

  const publicAccess = (current: Permissions): Result<KnownCaller> => {
    // v4 treats a public role without permissions as absent (AC2)
    const hasPermissions = current.roles.some((role) => role.type === 'public' && !role.isEmpty);
    if (!hasPermissions && mode === 'roles') return unknown();
    return withMode(ok({ ...publicCaller(current), who: { kind: 'public' } }));
  };

  const withMode = (caller: Result<KnownCaller>): Result<KnownCaller> =>
    caller.ok && mode === 'open' && caller.value.who.kind !== 'admin' ? ok(allowAll(caller.value)) : caller;

  /** The same for every request without credentials, until permissions change. */
  let ofPublic: { readonly permissions: Permissions; readonly access: Result<KnownCaller> } | null = null;

  /** Nobody gets rights by it that they could not give themselves. */
  const withRightsOf = (text: string, own: Result<KnownCaller>): Ready<Result<KnownCaller>> => {
    if (!own.ok) return own;
    const { rights } = own.value;
    if (!rights) return forbidden();
    const [, kind, name = ''] = /^(role|token):(.+)$/.exec(text.trim()) ?? [];
    if (kind === 'role')
      return whenReady(permissions.current(), (current) => {
        const role = current.roles.find((it) => it.type === name);
        if (role?.type !== 'public' && rights.rulesOfAction('plugin::users-permissions.roles.update').length === 0)
          return forbidden();
        return role ? withMode(ok(borrowed(role, current))) : noSuch(text);
      });
    if (kind !== 'token') return noSuch(text);
    if (rights.rulesOfAction('admin::api-tokens.regenerate').length === 0) return forbidden();
    const id = /^[1-9]\d{0,9}$/.test(name) ? Number(name) : Number.NaN;
    if (!(id <= limits.integerMax)) return noSuch(text);
    return db
      .readSmall(() => readRows(tokenIdStatement(id, db.dialect)))
      .then((rows) => {
        const token = firstToken(rows);
        if (!token) return noSuch(text);
        if (token.expiresAt !== null && token.expiresAt <= now()) return refused(issue('http.token-expired', []));
        return withMode(ok(tokenCaller({ ...token, adminId: null }, isServed)));
      });
  };

  const identifyOwn = (header: string | undefined): Ready<Result<KnownCaller>> => {
    const bearer = header === undefined ? null : bearerOf(header);
    if (bearer === null)
      return whenReady(permissions.current(), (current) => {
        if (ofPublic?.permissions !== current) ofPublic = { permissions: current, access: publicAccess(current) };
        return ofPublic.access;
      });
    return whenReady(credentialOf(bearer), (credential) =>
      credential.ok ? whenReady(callerOf(credential.value), withMode) : credential,
    );
  };

  return {
    identify: (header, as) =>
      as === undefined ? identifyOwn(header) : whenReady(identifyOwn(header), (own) => withRightsOf(as, own)),
    forget: () => {
      changes += 1;
      known.clear();
      singleFlight.forget();
      permissions.forget();
      admins?.roles.forget();
    },
    idle: async () => {
      while (running.size > 0) await Promise.all(running);
    },
  };
};

const forbidden = (): Result<never> => refused(issue('http.forbidden', []));
const noSuch = (text: string): Result<never> => refused(issue('admin.as', [], { text }));

/** The rights of a role as its users have them, whose plans and answers these share. */
const borrowed = (role: Role, current: Permissions): KnownCaller =>
  role.type === 'public'
    ? { ...publicCaller(current), who: { kind: 'public' } }
    : {
        version: versionOf(role, current),
        who: { kind: 'public' },
        may: (action) => role.actions.has(action),
        actions: role.actions,
      };

const versionOf = ({ id }: Role, { version }: Permissions): string => `role:${id}:${version}`;

const unknown = (): Result<never> => refused(issue('http.bad-credentials', []));

/** The value after `Bearer`; null for other schemes, no value and several words, which count as no credentials (AC2). */
export const bearerOf = (header: string): string | null => /^bearer +([^ ]+)$/i.exec(header.trim())?.[1] ?? null;

interface AdminSession {
  readonly claims: AdminClaims;
  readonly tokens: AdminTokens;
}

/** Reads everything about a bearer value in one snapshot. */
function* credentialProgram(
  hash: string,
  {
    claims,
    admin,
    jwts,
    isServed,
  }: Pick<CallerDeps, 'jwts' | 'isServed'> & {
    readonly claims: JwtClaims | null;
    readonly admin: AdminSession | null;
  },
  dialect: Dialect,
  now: number,
): ReadProgram<Result<Credential>> {
  if (admin) {
    const [sessions = []] = yield [sessionStatement(admin.claims.session, dialect)];
    const credential = adminCredential(admin.claims, sessions, admin.tokens, now);
    return credential ? ok(credential) : unknown();
  }
  const statements: Statement[] = [tokenStatement(hash, dialect)];
  if (claims) statements.push(userStatement(claims.userId, dialect), settingsStatement(['advanced'], dialect));
  const [tokens = [], found = [], settings = []] = yield statements;
  const token = tokenOf(tokens, hash);
  if (token) return ok({ kind: 'token', token, caller: tokenCaller(token, isServed) });
  return claims ? userCredential(claims, found, settings, jwts) : unknown();
}

const userStatement = (id: number, dialect: Dialect): Statement =>
  dialect.compile(sql`
    select u.password, u.blocked, u.confirmed, l.role_id from up_users u
    left join up_users_role_links l on l.user_id = u.id
    where u.id = ${dialect.bind('id', id)} order by l.role_id`);

const userCredential = (claims: JwtClaims, users: Rows, settings: Rows, jwts: Jwts): Result<Credential> => {
  const fault = (code: Issue['code'] & `http.${string}-credentials`): Result<never> => refused(issue(code, []));
  const [user] = users as readonly (readonly [string | null, unknown, unknown, number | null])[];
  if (!user) return fault('http.invalid-credentials');
  const [password, blocked, confirmed, roleId] = user;
  if (!jwts.isCurrent(claims, password)) return fault('http.bad-credentials');
  if (isTrue(blocked)) return fault('http.invalid-credentials');
  if (!isTrue(confirmed) && settingsOf(settings).emailConfirmation) return fault('http.invalid-credentials');
  // a user without a role can log in but do nothing else (ST11)
  if (roleId === null) return fault('http.bad-credentials');
  return ok({ kind: 'user', id: claims.userId, roleId, expiresAt: claims.expiresAt });
};

/** A boolean as drivers return it. */
export const isTrue = (stored: unknown): boolean => stored === true || stored === 1;

/** Whoever may do nothing. */
export const nobody: KnownCaller = { version: 'nobody', who: { kind: 'public' }, may: () => false };

/** The rights of an API token. As in v4 those that need no permissions are full access and reading, whatever routes serve. */
export const tokenCaller = ({ id, type, actions, adminId }: ApiToken, isServed?: IsServed): KnownCaller => {
  const who = { kind: 'token', id, adminId } as const;
  if (type === 'full-access') return { version: 'full-access', who, may: () => true };
  if (type === 'read-only') return { version: 'read-only', who, may: isReading };
  const granted = isServed ? new Set([...actions].filter(isServed)) : actions;
  const list = crypto.hash('sha256', JSON.stringify([...granted].sort()), 'base64url');
  return { version: `custom:${list}`, who, may: (action) => granted.has(action), actions: granted };
};

const userCaller = (id: number, roleId: number, permissions: Permissions): Result<KnownCaller> => {
  const role = permissions.roles.find((it) => it.id === roleId);
  if (!role) return unknown();
  return ok({
    version: versionOf(role, permissions),
    who: { kind: 'user', id },
    may: (action) => role.actions.has(action),
    actions: role.actions,
  });
};

const adminCallers = new WeakMap<AdminRoles, Map<string, KnownCaller>>();

/** The rights of an administrator; kept with the roles that they are made of. */
const adminCaller = ({ id, roleIds }: AdminCredential, current: AdminRoles, model: Model): KnownCaller => {
  const known = adminCallers.get(current) ?? new Map<string, KnownCaller>();
  adminCallers.set(current, known);
  const key = `${id} ${roleIds}`;
  const caller = known.get(key) ?? newAdminCaller(id, roleIds, current, model);
  known.set(key, caller);
  return caller;
};

/** Super admins, and roles without personal conditions, have the same rights whoever has them. */
const newAdminCaller = (id: number, roleIds: readonly number[], current: AdminRoles, model: Model): KnownCaller => {
  const rights = rightsOfRoles(id, roleIds, current, model);
  const version = rights.isSuperAdmin
    ? 'super-admin'
    : `admin:${roleIds.join('+')}:${current.version}${rights.isPersonal ? `:${id}` : ''}`;
  return { version, who: { kind: 'admin', id }, rights, may: (action) => mayDo(rights, action, model) };
};

/** The rights of a role, without a user. */
export const roleCaller = (role: Role): Caller => ({
  version: `role:${role.id}`,
  may: (action) => role.actions.has(action),
});

/** Permissions are off, but nobody can create users or roles that would remain when they are on again. */
export const allowAll = <Known extends Caller>(caller: Known): Known => ({
  ...caller,
  version: `open:${caller.version}`,
  may: (action) => !isGuarded(action) || caller.may(action),
});
