/**
 * Users, roles and API tokens for the shared world. Roles: authenticated (1), public (2), editor (3). All passwords are
 * `Passw0rd!`. Grants are inserted before the server first reads permissions.
 */
import crypto from 'node:crypto';
import bcrypt from '@node-rs/bcrypt';
import { sql } from 'kysely';
import { hashToken, type TokenType } from '../../src/access/tokens.js';
import type { Mail } from '../../src/accounts/mail.js';
import type { DialectName } from '../../src/sql/dialect.js';
import { insertGrants } from './grants.js';
import { openForTests } from './opening.js';
import {
  newTestServer,
  secrets,
  type TestAnswer,
  type TestPeople,
  type TestServer,
  type TestSettings,
} from './server.js';
import { newWorld, type World } from './world.js';

export const password = 'Passw0rd!';
/** Few rounds, so that tests are fast; the prefix is the one that v4 writes. */
const hash = bcrypt.hashSync(password, { cost: 4, version: '2a' });

export const roles = { authenticated: 1, public: 2, editor: 3 } as const;
export type RoleName = keyof typeof roles;

/** Ids of the users. */
export const users = { reader: 1, editor: 2, blocked: 3, roleless: 4, unconfirmed: 5, foreign: 6 } as const;
export type UserName = keyof typeof users;
const roleOfUser: Readonly<Record<UserName, number | null>> = {
  reader: 1,
  editor: 3,
  blocked: 1,
  roleless: null,
  unconfirmed: 1,
  foreign: 1,
};

/** Ids and texts of the API tokens. */
export const tokens = {
  reading: { id: 1, type: 'read-only', text: 'reading-token', expiresAt: null },
  full: { id: 2, type: 'full-access', text: 'full-token', expiresAt: null },
  custom: { id: 3, type: 'custom', text: 'custom-token', expiresAt: null },
  expired: { id: 4, type: 'full-access', text: 'expired-token', expiresAt: 1_600_000_000_000 },
} as const satisfies Record<string, { id: number; type: TokenType; text: string; expiresAt: number | null }>;
export type TokenName = keyof typeof tokens;

const plugin = 'plugin::users-permissions';
/** What v4 grants on first start (AC1). */
export const firstGrants: Readonly<Partial<Record<RoleName, readonly string[]>>> = {
  public: [
    'callback',
    'connect',
    'forgotPassword',
    'resetPassword',
    'register',
    'emailConfirmation',
    'sendEmailConfirmation',
  ].map((it) => `${plugin}.auth.${it}`),
  authenticated: [`${plugin}.user.me`, `${plugin}.auth.changePassword`],
};
/** All actions on users and roles. */
export const allOfAccounts: readonly string[] = [
  ...['find', 'findOne', 'count', 'me', 'create', 'update', 'destroy'].map((it) => `${plugin}.user.${it}`),
  ...['find', 'findOne', 'createRole', 'updateRole', 'deleteRole'].map((it) => `${plugin}.role.${it}`),
  `${plugin}.permissions.getPermissions`,
];

/** A JWT as v4's library makes it, or a forged one. */
export const jwtOf = (
  payload: Readonly<Record<string, unknown>>,
  { secret = secrets.jwtSecret, alg = 'HS256' } = {},
): string => {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg, typ: 'JWT' })}.${part(payload)}`;
  const digest = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' }[alg];
  return `${signed}.${digest === undefined ? '' : crypto.createHmac(digest, secret).update(signed).digest('base64url')}`;
};

/** A token of a user as v4 would have issued it. */
export const jwtFor = (id: unknown): string => jwtOf({ id, iat: 1_700_000_000, exp: 4_102_444_800 });

export const bearer = (text: string): { readonly authorization: string } => ({ authorization: `Bearer ${text}` });

export interface PeopleWorld {
  readonly world: World;
  readonly server: TestServer;
  /** E-mails that were sent, oldest first. */
  readonly mails: Mail[];
  /** Sends a request; `as` is a user, an API token, or anonymous. */
  ask(
    method: string,
    url: string,
    options?: {
      readonly as?: UserName | TokenName;
      readonly body?: unknown;
      readonly headers?: Record<string, string>;
    },
  ): Promise<TestAnswer>;
  /** Logs in and returns the JWT; the status must be 200. */
  login(identifier: string, word?: string): Promise<string>;
  setting(name: 'advanced' | 'grant' | 'email', value: unknown): Promise<void>;
  /** One column of a user. */
  stored(id: number, column: string): Promise<unknown>;
  close(): Promise<void>;
}

export interface PeopleOptions {
  readonly grants?: Readonly<Partial<Record<RoleName, readonly string[]>>>;
  /** Actions of the custom token. */
  readonly custom?: readonly string[];
  readonly settings?: Partial<TestSettings>;
  readonly people?: Omit<TestPeople, 'mail'>;
}

export const newPeopleWorld = async (dialect: DialectName, options: PeopleOptions = {}): Promise<PeopleWorld> => {
  const world = await newWorld(dialect);
  const names = Object.keys(users) as readonly UserName[];
  const time = { created_at: 1_700_000_000_000, updated_at: 1_700_000_060_000 };
  await world.insert('up_roles', [{ id: 3, name: 'Editor', description: 'a custom role', type: 'editor', ...time }]);
  await world.insert(
    'up_users',
    names.map((name) => ({
      id: users[name],
      username: name,
      email: `${name}@example.com`,
      provider: name === 'foreign' ? 'github' : 'local',
      password: name === 'foreign' ? null : hash,
      confirmed: name !== 'unconfirmed',
      blocked: name === 'blocked',
      ...time,
    })),
  );
  await world.insert(
    'up_users_role_links',
    names.flatMap((name) => {
      const role = roleOfUser[name];
      return role === null ? [] : [{ user_id: users[name], role_id: role, user_order: users[name] }];
    }),
  );
  await world.insert(
    'strapi_api_tokens',
    Object.values(tokens).map(({ id, type, text, expiresAt }) => ({
      id,
      name: text,
      type,
      access_key: hashToken(text, secrets.apiTokenSalt),
      expires_at: expiresAt,
      ...time,
    })),
  );
  const custom = options.custom ?? ['api::genre.genre.find'];
  await world.insert(
    'strapi_api_token_permissions',
    custom.map((action, i) => ({ id: i + 1, action })),
  );
  await world.insert(
    'strapi_api_token_permissions_token_links',
    custom.map((_action, i) => ({
      api_token_permission_id: i + 1,
      api_token_id: 3,
      api_token_permission_order: i + 1,
    })),
  );
  const grants = { ...firstGrants, ...options.grants };
  const granted = (Object.keys(grants) as readonly RoleName[]).flatMap((role) =>
    (grants[role] ?? []).map((action) => ({ role: roles[role], action })),
  );
  await insertGrants(granted, world.insert, 1000);
  const mails: Mail[] = [];
  const mail = { send: async (it: Mail) => void mails.push(it) };
  const server = await newTestServer(world.db, world.model, options.settings, undefined, { ...options.people, mail });

  const ask: PeopleWorld['ask'] = (method, url, { as, body, headers = {} } = {}) => {
    const credential =
      as === undefined ? {} : bearer(as in tokens ? tokens[as as TokenName].text : jwtFor(users[as as UserName]));
    return server.send(method, url, { body, headers: { ...credential, ...headers } });
  };
  let settings = 0;
  return {
    world,
    server,
    mails,
    ask,
    login: async (identifier, word = password) => {
      const { status, body, text } = await ask('POST', '/api/auth/local', { body: { identifier, password: word } });
      if (status !== 200) throw new Error(`login of ${identifier}: ${text}`);
      return (body as { jwt: string }).jwt;
    },
    setting: async (name, value) => {
      settings += 1;
      const key = `plugin_users-permissions_${name}`;
      // the first row counts
      const id = 1_000_000 - settings;
      await world.insert('strapi_core_store_settings', [{ id, key, value: JSON.stringify(value), type: 'object' }]);
    },
    stored: async (id, column) => {
      const { db } = world;
      const statement = db.dialect.compile(sql`select ${sql.ref(column)} from up_users where id = ${sql.lit(id)}`);
      const [row] = await db.write((tx) => tx.run(statement));
      return row?.[0];
    },
    close: async () => {
      await server.close();
      await world.close();
    },
  };
};

/** One for the tests of a block. */
export const usePeople = (dialect: DialectName, options: PeopleOptions = {}): (() => PeopleWorld) =>
  openForTests(() => newPeopleWorld(dialect, options));
