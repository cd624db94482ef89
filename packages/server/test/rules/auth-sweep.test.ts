/**
 * Every route with every credential against one table. A route that is missing from the table fails the test (RQ1,
 * AC1).
 */
import { describe, expect, it } from 'vitest';
import { actionsOf } from '../../src/access/actions.js';
import { accountEndpoints } from '../../src/accounts/endpoints.js';
import { fileRoutes } from '../../src/http/file-routes.js';
import { localeRoute } from '../../src/http/locale-routes.js';
import { routesOf } from '../../src/http/routes.js';
import type { Model } from '../../src/model/model.js';
import { bearer, type PeopleWorld, type TokenName, type UserName, usePeople } from '../world/people.js';
import { dialects, publicActions, worldModel } from '../world/world.js';

interface Row {
  readonly method: string;
  /** With a colon for path parameters. */
  readonly path: string;
  /** The permission that the route needs. */
  readonly action: string;
}

const plugin = (line: string): Row => {
  const [method = '', path = '', action = ''] = line.trim().split(/\s+/);
  return { method, path: `/api${path}`, action: `plugin::users-permissions.${action}` };
};

/** Routes of users and roles, listed independently: a change in the source requires a change here. */
const accountTable: readonly Row[] = `
  POST   /auth/local                            auth.callback
  POST   /auth/local/register                   auth.register
  POST   /auth/forgot-password                  auth.forgotPassword
  POST   /auth/reset-password                   auth.resetPassword
  POST   /auth/change-password                  auth.changePassword
  POST   /auth/send-email-confirmation          auth.sendEmailConfirmation
  GET    /auth/email-confirmation               auth.emailConfirmation
  GET    /auth/:provider/callback               auth.callback
  GET    /connect/*                             auth.connect
  GET    /users                                 user.find
  POST   /users                                 user.create
  GET    /users/count                           user.count
  GET    /users/me                              user.me
  GET    /users/:id                             user.findOne
  PUT    /users/:id                             user.update
  DELETE /users/:id                             user.destroy
  GET    /users-permissions/roles               role.find
  POST   /users-permissions/roles               role.createRole
  GET    /users-permissions/roles/:id           role.findOne
  PUT    /users-permissions/roles/:id           role.updateRole
  DELETE /users-permissions/roles/:id           role.deleteRole
  GET    /users-permissions/permissions         permissions.getPermissions`
  .trim()
  .split('\n')
  .map(plugin);

const uploadTable: readonly Row[] = [
  ['POST', '/upload', 'upload'],
  ['GET', '/upload/files', 'find'],
  ['GET', '/upload/files/count', 'find'],
  ['GET', '/upload/files/:id', 'findOne'],
  ['DELETE', '/upload/files/:id', 'destroy'],
].map(([method = '', path, action]) => ({
  method,
  path: `/api${path}`,
  action: `plugin::upload.content-api.${action}`,
}));

/** Routes of content by the kinds of RQ1. */
const contentTable = (model: Model): readonly Row[] =>
  [...model.types.values()].flatMap(({ uid, kind, origin, plural, singular, localized }): readonly Row[] => {
    if (origin !== 'project' || kind === 'component') return [];
    const rows =
      kind === 'single'
        ? [`GET /${singular} find`, `PUT /${singular} update`, `DELETE /${singular} delete`]
        : [
            `GET /${plural} find`,
            `POST /${plural} create`,
            `GET /${plural}/:id findOne`,
            `PUT /${plural}/:id update`,
            `DELETE /${plural}/:id delete`,
          ];
    const entry = kind === 'single' ? singular : `${plural}/:id`;
    const sibling = localized ? [`POST /${entry}/localizations createLocalization`] : [];
    return [...rows, ...sibling].map((row) => {
      const [method = '', path = '', action = ''] = row.split(' ');
      return { method, path: `/api${path}`, action: `${uid}.${action}` };
    });
  });

const model = worldModel();
const localeTable: readonly Row[] = [
  { method: 'GET', path: '/api/i18n/locales', action: 'plugin::i18n.locales.listLocales' },
];
const table = [...accountTable, ...uploadTable, ...localeTable, ...contentTable(model)];
const every = (nth: number, from: number): readonly string[] =>
  table.map((it) => it.action).filter((_action, i) => i % nth === from);

const grants = {
  public: every(2, 0),
  authenticated: every(2, 1),
  editor: every(3, 0),
} as const;
const custom = every(3, 1);

/** The rights of each credential, independent of the code. */
const credentials: Readonly<
  Record<string, { as?: UserName | TokenName; text?: string; may: (action: string) => boolean }>
> = {
  nobody: { may: (it) => grants.public.includes(it) || publicActions(model).includes(it) },
  reader: { as: 'reader', may: (it) => grants.authenticated.includes(it) },
  editor: { as: 'editor', may: (it) => grants.editor.includes(it) },
  'read-only token': { as: 'reading', may: (it) => ['find', 'findOne'].includes(it.split('.').at(-1)!) },
  'full-access token': { as: 'full', may: () => true },
  'custom token': { as: 'custom', may: (it) => custom.includes(it) },
};
const strangers: Readonly<Record<string, { as?: UserName | TokenName; text?: string }>> = {
  'blocked user': { as: 'blocked' },
  'user without a role': { as: 'roleless' },
  'expired token': { as: 'expired' },
  garbage: { text: 'garbage' },
};

/** A path that finds nothing, so that an allowed request is refused for another reason. */
const address = (path: string): string =>
  path.replace(':id', '999999').replace(':provider', 'github').replace('*', 'github');

const ask = ({ ask: send }: PeopleWorld, row: Row, { as, text }: { as?: UserName | TokenName; text?: string }) =>
  send(row.method, address(row.path), {
    ...(as === undefined ? {} : { as }),
    ...(text === undefined ? {} : { headers: bearer(text) }),
    ...(row.method === 'POST' || row.method === 'PUT' ? { body: {} } : {}),
  });

describe('the table', () => {
  it('contains every route of the server, and no other', async () => {
    const key = ({ method, path, action }: Row): string => `${method} ${path} ${action}`;
    const served = [
      ...accountEndpoints.map((it) =>
        key({ method: it.method, path: `/api${it.path}`, action: `plugin::users-permissions.${it.permission}` }),
      ),
      ...fileRoutes.map(({ method, path, permission }) =>
        key({ method, path: `/api${path}`, action: `plugin::upload.content-api.${permission}` }),
      ),
      key({ method: localeRoute.method, path: `/api${localeRoute.path}`, action: localeRoute.permission }),
      ...routesOf(model, '/api').flatMap(({ path, type, actions }) =>
        Object.entries(actions).map(([method, action]) =>
          key({ method, path, action: `${type.uid}.${action === 'single' ? 'find' : action}` }),
        ),
      ),
    ];
    expect(served.toSorted()).toEqual(table.map(key).sort());
  });

  it('names only actions that can be granted to roles', () => {
    const known = new Set(actionsOf(model));
    expect(table.filter((row) => !known.has(row.action))).toEqual([]);
  });
});

describe.each(dialects)('access on %s', (dialect) => {
  const people = usePeople(dialect, { grants, custom });

  it.each(Object.keys(credentials))('%s', async (name) => {
    const { may, ...credential } = credentials[name]!;
    const wrong: string[] = [];
    for (const row of table) {
      const { status, text } = await ask(people(), row, credential);
      // only users have `me`
      const needsUser = ['user.me', 'auth.changePassword'].some((it) => row.action.endsWith(it));
      const isUser = credential.as === 'reader' || credential.as === 'editor';
      const expected = !may(row.action)
        ? status === 403
        : needsUser && !isUser
          ? status === 401
          : status !== 401 && status !== 403;
      if (!expected || status >= 500) wrong.push(`${row.method} ${row.path}: ${status} ${text.slice(0, 200)}`);
    }
    expect(wrong).toEqual([]);
  });

  it.each(Object.keys(strangers))('%s is 401 everywhere', async (name) => {
    const wrong: string[] = [];
    for (const row of table) {
      const { status } = await ask(people(), row, strangers[name]!);
      if (status !== 401) wrong.push(`${row.method} ${row.path}: ${status}`);
    }
    expect(wrong).toEqual([]);
  });

  it('a path that is not in the table is 404, and a wrong method 405, for every caller', async () => {
    const paths = new Map<string, Set<string>>();
    for (const { path, method } of table) paths.set(path, (paths.get(path) ?? new Set()).add(method));
    for (const as of [undefined, 'full'] as const) {
      const wrong: string[] = [];
      for (const [path, known] of paths) {
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
          if (known.has(method)) continue;
          // with other methods `/users/count` is a user with the id `count`
          const isUser = /^\/api\/users\/(count|me)$/.test(path) && (method === 'PUT' || method === 'DELETE');
          const { status } = await ask(people(), { method, path, action: '' }, as ? { as } : {});
          const single = /^\/api\/[\w-]+$/.test(path) && method === 'GET';
          const expected = method === 'GET' || single ? [404] : isUser ? [404, 403, 405] : [405];
          if (!expected.includes(status)) wrong.push(`${method} ${path}: ${status}`);
        }
      }
      for (const path of [
        '/api/admin',
        '/api/users-permissions',
        '/api/auth',
        '/api/roles',
        '/api/permissions',
        '/api/api-tokens',
        '/api/up_users',
        '/api/users/1/role',
        '/admin/content-manager',
        '/users',
        '/auth/local',
      ]) {
        for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
          const { status } = await ask(people(), { method, path, action: '' }, as ? { as } : {});
          if (status !== 404) wrong.push(`${method} ${path}: ${status}`);
        }
      }
      expect(wrong).toEqual([]);
    }
  });
});
