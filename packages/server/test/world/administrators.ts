/**
 * Administrators for the shared world: `ada` (1) is super admin, `bea` (2) editor, `cyd` (3) author, `dot` (4) is blocked, `eve` (5)
 * is not active, `flo` (6) has no role, `gus` (7) no password. All passwords are `Adm1n pass!`. Roles are those that v4 makes, with
 * the permissions that a test gives them.
 */
import bcrypt from '@node-rs/bcrypt';
import { sql } from 'kysely';
import type { DialectName } from '../../src/sql/dialect.js';
import { openForTests } from './opening.js';
import { bearer, newPeopleWorld, type PeopleOptions, type PeopleWorld } from './people.js';
import type { TestAnswer } from './server.js';
import type { SmallWorld } from './small.js';

export const adminPassword = 'Adm1n pass!';
const hash = bcrypt.hashSync(adminPassword, { cost: 4, version: '2a' });

export const admins = { ada: 1, bea: 2, cyd: 3, dot: 4, eve: 5, flo: 6, gus: 7 } as const;
export type AdminName = keyof typeof admins;

export const adminRoles = { super: 1, editor: 2, author: 3 } as const;
export type AdminRoleName = keyof typeof adminRoles;
const roleOf: Readonly<Record<AdminName, readonly AdminRoleName[]>> = {
  ada: ['super'],
  bea: ['editor'],
  cyd: ['author'],
  dot: ['super'],
  eve: ['super'],
  flo: [],
  gus: ['super'],
};

export interface AdminPermission {
  /** Without `plugin::content-manager.explorer.` for the five actions on entries. */
  readonly action: string;
  readonly subject?: string;
  readonly fields?: readonly string[];
  readonly locales?: readonly string[] | null;
  readonly conditions?: readonly string[];
}

export const emailOf = (name: AdminName): string => `${name}@example.org`;
export const studio = { 'dovetail-studio': '1' } as const;

export interface AdminWorld extends PeopleWorld {
  /** Signs in, once for each, and sends a request with the access token. */
  askAs(
    name: AdminName,
    method: string,
    url: string,
    options?: { readonly body?: unknown; readonly headers?: Record<string, string> },
  ): Promise<TestAnswer>;
  tokenOf(name: AdminName): Promise<string>;
  signIn(name: AdminName, headers?: Record<string, string>): Promise<TestAnswer>;
}

export interface AdminOptions extends PeopleOptions {
  readonly permissions?: Readonly<Partial<Record<AdminRoleName, readonly AdminPermission[]>>>;
}

const explorer = new Set(['create', 'read', 'update', 'delete', 'publish']);

/** @param given permissions with the ids of the roles that have them. */
export const insertPermissions = async (
  { insert }: Pick<SmallWorld, 'insert'>,
  given: readonly { readonly role: number; readonly it: AdminPermission }[],
): Promise<void> => {
  if (given.length === 0) return;
  await insert(
    'admin_permissions',
    given.map(({ it: { action, subject, fields, locales, conditions = [] } }, i) => ({
      id: i + 1,
      action: explorer.has(action) ? `plugin::content-manager.explorer.${action}` : action,
      subject: subject ?? null,
      properties: JSON.stringify({ ...(fields ? { fields } : {}), ...(locales === undefined ? {} : { locales }) }),
      conditions: JSON.stringify(conditions),
    })),
  );
  await insert(
    'admin_permissions_role_links',
    given.map(({ role }, i) => ({ permission_id: i + 1, role_id: role, permission_order: i + 1 })),
  );
};

export const newAdminWorld = async (dialect: DialectName, options: AdminOptions = {}): Promise<AdminWorld> => {
  const people = await newPeopleWorld(dialect, options);
  const { world, server } = people;
  const names = Object.keys(admins) as readonly AdminName[];
  const { db } = world;
  await db.write((tx) => tx.run(db.dialect.compile(sql`delete from admin_users where id > 1`)));
  for (const [column, value] of Object.entries({ password: hash, email: emailOf('ada') }))
    await world.update('admin_users', admins.ada, column, value);
  await world.update('admin_users', admins.ada, 'is_active', true);
  await world.insert(
    'admin_users',
    names
      .filter((it) => it !== 'ada')
      .map((name) => ({
        id: admins[name],
        firstname: name,
        lastname: 'Tester',
        email: emailOf(name),
        password: name === 'gus' ? null : hash,
        is_active: name !== 'eve',
        blocked: name === 'dot',
      })),
  );
  await world.insert('admin_roles', [
    { id: 1, name: 'Super Admin', code: 'strapi-super-admin' },
    { id: 2, name: 'Editor', code: 'strapi-editor' },
    { id: 3, name: 'Author', code: 'strapi-author' },
  ]);
  await world.insert(
    'admin_users_roles_links',
    names.flatMap((name) =>
      roleOf[name].map((role) => ({ user_id: admins[name], role_id: adminRoles[role], role_order: 1 })),
    ),
  );
  await insertPermissions(
    world,
    (Object.keys(options.permissions ?? {}) as readonly AdminRoleName[]).flatMap((role) =>
      (options.permissions?.[role] ?? []).map((it) => ({ role: adminRoles[role], it })),
    ),
  );
  const signIn: AdminWorld['signIn'] = (name, headers = {}) =>
    server.send('POST', '/admin/login', { body: { email: emailOf(name), password: adminPassword }, headers });
  const tokens = new Map<AdminName, string>();
  const tokenOf: AdminWorld['tokenOf'] = async (name) => {
    const known = tokens.get(name);
    if (known !== undefined) return known;
    const { status, body, text } = await signIn(name);
    if (status !== 200) throw new Error(`sign-in of ${name}: ${text}`);
    const { token } = (body as { readonly data: { readonly token: string } }).data;
    tokens.set(name, token);
    return token;
  };
  return {
    ...people,
    signIn,
    tokenOf,
    askAs: async (name, method, url, { body, headers = {} } = {}) =>
      server.send(method, url, { body, headers: { ...bearer(await tokenOf(name)), ...headers } }),
  };
};

/** One for the tests of a block. */
export const useAdmins = (dialect: DialectName, options: AdminOptions = {}): (() => AdminWorld) =>
  openForTests(() => newAdminWorld(dialect, options));

/** The cookie that a response sets, as a request sends it; null without one. */
export const cookieOf = ({ headers }: TestAnswer): string | null => {
  const [cookie] = [headers['set-cookie']].flat();
  return cookie === undefined ? null : String(cookie).split(';')[0]!;
};
