/** Roles and permissions over HTTP (AC16). */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { allOfAccounts, newPeopleWorld, type PeopleWorld, roles, usePeople, users } from '../world/people.js';
import { refusal } from '../world/server.js';
import { dialects } from '../world/world.js';

const url = '/api/users-permissions/roles';
const options = { grants: { editor: [...allOfAccounts, 'api::genre.genre.find', 'api::old.old.strange'] } } as const;
const ok = { ok: true };

type Tree = Record<string, { controllers: Record<string, Record<string, { enabled: boolean; policy: string }>> }>;
const treeOf = (...actions: readonly string[]): Tree => {
  const tree: Tree = {};
  for (const action of actions) {
    const [owner = '', controller = '', name = ''] = action.split('.');
    tree[owner] ??= { controllers: {} };
    tree[owner].controllers[controller] ??= {};
    tree[owner].controllers[controller][name] = { enabled: true, policy: '' };
  }
  return tree;
};
const enabled = (tree: Tree): readonly string[] =>
  Object.entries(tree).flatMap(([owner, { controllers }]) =>
    Object.entries(controllers).flatMap(([controller, actions]) =>
      Object.entries(actions).flatMap(([name, it]) => (it.enabled ? [`${owner}.${controller}.${name}`] : [])),
    ),
  );

const ask = (people: PeopleWorld, method: string, path = '', body?: unknown) =>
  people.ask(method, `${url}${path}`, { as: 'editor', body });
const permissionsOf = async (people: PeopleWorld, id: number): Promise<readonly string[]> => {
  const { body } = await ask(people, 'GET', `/${id}`);
  return enabled((body as { role: { permissions: Tree } }).role.permissions);
};
const idOf = async (people: PeopleWorld, type: string): Promise<number> => {
  const { body } = await ask(people, 'GET');
  return (body as { roles: { id: number; type: string }[] }).roles.find((it) => it.type === type)!.id;
};

describe.each(dialects)('reading roles on %s', (dialect) => {
  const it_ = usePeople(dialect, options);

  it('AC16: lists all roles, with the number of their users', async () => {
    const times = { createdAt: '2023-11-14T22:13:20.000Z', updatedAt: '2023-11-14T22:14:20.000Z' };
    expect((await ask(it_(), 'GET')).body).toEqual({
      roles: [
        { id: 1, name: 'Authenticated', description: 'Logged in', type: 'authenticated', ...times, nb_users: 4 },
        { id: 2, name: 'Public', description: 'Anybody', type: 'public', ...times, nb_users: 0 },
        { id: 3, name: 'Editor', description: 'a custom role', type: 'editor', ...times, nb_users: 1 },
      ],
    });
  });

  it('AC16: one role, with the tree of all actions; unknown actions of a v4 project stay visible', async () => {
    const { body } = await ask(it_(), 'GET', '/3');
    const { role } = body as { role: { id: number; permissions: Tree } };
    expect(role).toMatchObject({ id: 3, type: 'editor' });
    expect(enabled(role.permissions).toSorted()).toEqual([...options.grants.editor].sort());
    expect(role.permissions['api::film']?.controllers['film']).toEqual(
      Object.fromEntries(
        ['find', 'findOne', 'create', 'update', 'delete'].map((it) => [it, { enabled: false, policy: '' }]),
      ),
    );
    expect(Object.keys(role.permissions['api::lobby']!.controllers['lobby']!)).toEqual(['find', 'update', 'delete']);
    expect(Object.keys(role.permissions['api::notice']!.controllers['notice']!)).toContain('createLocalization');
    expect(role.permissions['plugin::upload']?.controllers['content-api']).toHaveProperty('upload');
  });

  it('AC16: the tree of actions alone', async () => {
    const { body } = await it_().ask('GET', '/api/users-permissions/permissions', { as: 'editor' });
    const { permissions } = body as { permissions: Tree };
    expect(enabled(permissions)).toEqual([]);
    expect(permissions['plugin::users-permissions']?.controllers['user']).toHaveProperty('me');
  });

  it.each(['/99', '/abc', '/0', '/1e0'])('AC16: %s is 404', async (path) => {
    const notFound = refusal(404, 'NotFoundError', 'Role not found');
    expect((await ask(it_(), 'GET', path)).body).toEqual(notFound);
    expect((await ask(it_(), 'PUT', path, { name: 'abc' })).body).toEqual(notFound);
    expect((await ask(it_(), 'DELETE', path)).body).toEqual(notFound);
  });
});

describe.each(dialects)('stored names of actions on %s', (dialect) => {
  const strange = ['__proto__.old.find', 'api::film.__proto__.find', 'api::film.constructor.find', 'constructor.a.b'];
  const it_ = usePeople(dialect, { grants: { editor: [...options.grants.editor, ...strange] } });

  it('AC16: names of Object.prototype are ordinary names', async () => {
    const { text } = await ask(it_(), 'GET', '/3');
    const { role } = JSON.parse(text) as { role: { permissions: Tree } };
    for (const action of strange) {
      const [owner = '', controller = '', name = ''] = action.split('.');
      const group = Object.entries(role.permissions).find(([key]) => key === owner)?.[1];
      const actions = Object.entries(group?.controllers ?? {}).find(([key]) => key === controller)?.[1];
      expect.soft(actions, action).toEqual({ [name]: { enabled: true, policy: '' } });
    }
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});

describe.each(dialects)('changing roles on %s', (dialect) => {
  it('AC16: a new role has the permissions of its tree at once', async () => {
    const people = await newPeopleWorld(dialect, options);
    try {
      const permissions = treeOf('api::donor.donor.find', 'api::film.film.find');
      permissions['api::film']!.controllers['film']!['create'] = { enabled: false, policy: '' };
      const body = { name: 'Night Editor', description: 'at night', permissions };
      expect((await ask(people, 'POST', '', body)).body).toEqual(ok);
      const id = await idOf(people, 'night_editor');
      expect((await permissionsOf(people, id)).toSorted()).toEqual(['api::donor.donor.find', 'api::film.film.find']);
      expect((await people.ask('GET', '/api/donors', { as: 'reader' })).status).toBe(403);
      await people.ask('PUT', `/api/users/${users.reader}`, { as: 'editor', body: { role: id } });
      expect((await people.ask('GET', '/api/donors', { as: 'reader' })).status).toBe(200);
      expect((await people.ask('GET', '/api/genres', { as: 'reader' })).status).toBe(403);
    } finally {
      await people.close();
    }
  });

  it('AC16: an empty list of permissions grants none', async () => {
    const people = await newPeopleWorld(dialect, options);
    try {
      expect((await ask(people, 'POST', '', { name: 'Guest', permissions: [] })).body).toEqual(ok);
      const id = await idOf(people, 'guest');
      expect(await permissionsOf(people, id)).toEqual([]);
      expect((await ask(people, 'PUT', `/${id}`, { permissions: { 'api::film': { controllers: [] } } })).body).toEqual(
        ok,
      );
      expect((await ask(people, 'POST', '', { name: 'Other', permissions: ['x'] })).status).toBe(400);
    } finally {
      await people.close();
    }
  });

  it('the users of a role in a body are refused, not silently ignored', async () => {
    const people = await newPeopleWorld(dialect, options);
    try {
      for (const [method, path] of [
        ['POST', ''],
        ['PUT', '/3'],
      ] as const)
        expect((await ask(people, method, path, { name: 'Crew', users: [1] })).body).toMatchObject({
          error: {
            status: 400,
            message: 'users: role has no attribute "users". Expected one of name, description, type, permissions',
          },
        });
      expect((await ask(people, 'GET')).text).not.toContain('Crew');
    } finally {
      await people.close();
    }
  });

  it('AC16: PUT replaces all permissions at once; without a tree they are unchanged', async () => {
    const people = await newPeopleWorld(dialect, options);
    try {
      expect((await people.ask('GET', '/api/genres')).status).toBe(200);
      expect((await ask(people, 'PUT', '/2', { permissions: treeOf('api::donor.donor.find') })).body).toEqual(ok);
      expect((await people.ask('GET', '/api/genres')).status).toBe(403);
      expect((await people.ask('GET', '/api/donors')).status).toBe(200);
      expect(await permissionsOf(people, 2)).toEqual(['api::donor.donor.find']);
      expect((await ask(people, 'PUT', '/2', { name: 'Everybody', description: null })).body).toEqual(ok);
      expect(await permissionsOf(people, 2)).toEqual(['api::donor.donor.find']);
      expect((await ask(people, 'GET', '/2')).body).toMatchObject({
        role: { name: 'Everybody', description: null, type: 'public' },
      });
      // a role as it was read can be sent back, and changes nothing
      const { body } = await ask(people, 'GET', '/3');
      const before = await permissionsOf(people, 3);
      expect((await ask(people, 'PUT', '/3', (body as { role: unknown }).role)).body).toEqual(ok);
      expect((await permissionsOf(people, 3)).toSorted()).toEqual(before.toSorted());
      // no rows of revoked permissions remain
      const { db } = people.world;
      const orphans = db.dialect.compile(
        sql`select count(*) from up_permissions p where not exists (select 1 from up_permissions_role_links l where l.permission_id = p.id)`,
      );
      const [[count] = []] = await db.write((tx) => tx.run(orphans));
      expect(Number(count)).toBe(0);
    } finally {
      await people.close();
    }
  });

  it('AC16: the users of a deleted role get the role public, and its permissions are deleted', async () => {
    const people = await newPeopleWorld(dialect, options);
    try {
      await people.world.insert('up_roles', [{ id: 9, name: 'Guests', type: 'guests' }]);
      await people.ask('PUT', `/api/users/${users.reader}`, { as: 'full', body: { role: 9 } });
      expect((await people.ask('DELETE', `${url}/9`, { as: 'full' })).body).toEqual(ok);
      const shown = await people.ask('GET', `/api/users/${users.reader}?populate=role`, { as: 'full' });
      expect(shown.body).toMatchObject({ role: { id: roles.public } });
      expect((await people.ask('DELETE', `${url}/2`, { as: 'full' })).body).toEqual(
        refusal(400, 'ApplicationError', 'Cannot delete public role'),
      );
      expect((await people.ask('GET', '/api/genres')).status).toBe(200);
      // the caller's own role can be deleted too
      expect((await people.ask('DELETE', `${url}/3`, { as: 'editor' })).body).toEqual(ok);
      expect((await people.ask('GET', url, { as: 'editor' })).status).toBe(403);
    } finally {
      await people.close();
    }
  });

  it('AC16: a change that waits while its role is deleted is a 404 and leaves no permissions', async () => {
    const people = await newPeopleWorld(dialect, options);
    try {
      const { db } = people.world;
      await people.world.insert('up_roles', [{ id: 9, name: 'Guests', type: 'guests' }]);
      const changes: ReturnType<typeof ask>[] = [];
      await db.write(async (tx) => {
        const lock = db.dialect.lock(['dovetail accounts']);
        if (lock) await tx.run(lock);
        changes.push(ask(people, 'PUT', '/9', { permissions: treeOf('api::donor.donor.find') }));
        changes.push(ask(people, 'DELETE', '/9'));
        // requests sent later are answered, so both wait for this transaction
        for (let i = 0; i < 3; i++) expect((await ask(people, 'GET', '/9')).status).toBe(200);
        await tx.run(db.dialect.compile(sql`delete from up_roles where id = 9`));
      });
      const notFound = refusal(404, 'NotFoundError', 'Role not found');
      for (const it of await Promise.all(changes)) expect(it.body).toEqual(notFound);
      const left = db.dialect.compile(sql`select count(*) from up_permissions where action = 'api::donor.donor.find'`);
      const [[count] = []] = await db.write((tx) => tx.run(left));
      expect(Number(count)).toBe(0);
    } finally {
      await people.close();
    }
  });

  it.each([
    ['an empty body', {}, 'Request body cannot be empty'],
    ['no body', undefined, 'Request body cannot be empty'],
    ['a list', [], 'Request body cannot be empty'],
    ['no name', { description: 'x' }, 'name must be defined.'],
    ['a short name', { name: 'ab' }, 'name must be at least 3 characters'],
    ['a type that is there', { name: 'Another', type: 'editor' }, 'This attribute must be unique'],
    ['the same name as a type that is there', { name: 'Editor' }, 'This attribute must be unique'],
    ['an unknown key', { name: 'Another', nope: 1 }, /nope/],
    [
      'an unknown action',
      { name: 'Another', permissions: treeOf('api::film.film.fnd') },
      /Did you mean "api::film.film.find"/,
    ],
    ['a tree that is none', { name: 'Another', permissions: 'all' }, /permissions/],
    [
      'a flag that is none',
      { name: 'Another', permissions: { 'api::film': { controllers: { film: { find: { enabled: 'yes' } } } } } },
      /enabled/,
    ],
    [
      'an unknown prototype',
      { name: 'Another', permissions: JSON.parse('{"__proto__":{"controllers":{"a":{"b":{"enabled":true}}}}}') },
      /__proto__/,
    ],
  ])('AC16: %s is refused, and leaves nothing behind', async (_name, body, message) => {
    const people = await newPeopleWorld(dialect, options);
    try {
      const answer = await ask(people, 'POST', '', body);
      expect(answer.body).toMatchObject({
        error: { status: 400, message: typeof message === 'string' ? message : expect.stringMatching(message) },
      });
      expect(((await ask(people, 'GET')).body as { roles: unknown[] }).roles).toHaveLength(3);
    } finally {
      await people.close();
    }
  });
});
