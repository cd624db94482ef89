/** Permissions on content (AC5; AC2). The public role may not find donors. */
import { describe, expect, it } from 'vitest';
import { insertGrants } from '../world/grants.js';
import { openedForTests } from '../world/opening.js';
import { newTestServer, refusal } from '../world/server.js';
import { newSmallWorld } from '../world/small.js';
import { dialects, type Entry, publicActions, useWorld, type World } from '../world/world.js';

/** A server that reads permissions anew for every request. */
const ask = async (world: World, url: string, headers?: Record<string, string>) => {
  const server = await newTestServer(world.db, world.model);
  try {
    return await server.get(url, headers);
  } finally {
    await server.close();
  }
};

describe.each(dialects)('permissions on %s', (dialect) => {
  const world = useWorld(dialect);

  it.each([
    '/api/donors',
    '/api/donors/1',
    '/api/donors/999',
    '/api/donors/abc',
    '/api/donors?fields=nope',
    '/api/donors?populate=*',
  ])('AC4: %s is 403, whatever else the request contains', async (url) => {
    expect((await world.get(url)).body).toEqual(
      refusal(403, 'ForbiddenError', 'Forbidden', { code: 'http.forbidden' }),
    );
  });

  it.each([
    'populate=lender',
    'populate[0]=lender',
    'populate[lender]=true',
    'populate[lender][fields]=name',
    'populate=lender.lent',
  ])('AC5: %s leaves the relation out, without an error', async (query) => {
    const { data } = await world.read<Entry>(`/api/films/1?fields=title&${query}`);
    expect(data).toEqual({ id: 1, attributes: { title: 'Éclair' } });
  });

  it('AC5: the relation is absent at every level and under *', async () => {
    for (const query of [
      'populate=*',
      'populate=remakes.lender',
      'populate[remakes][populate]=*',
      'populate[body][populate]=*',
      'populate[body][populate]=donor',
      'populate[body][on][blocks.related][populate]=*',
      'populate[body][on][blocks.related][populate][donor][fields]=name',
      'populate[director][populate][directed][populate]=*',
    ]) {
      const { text, status } = await world.get(`/api/films?${query}`);
      expect(status).toBe(200);
      expect(text).toContain('Éclair');
      expect(text).not.toMatch(/lender|donor|Secret Donor/);
    }
  });

  it('AC5: the options of a hidden relation are still validated (AC5)', async () => {
    expect(await world.refusal('/api/films?populate[lender][fields]=nme')).toMatchObject({
      status: 400,
      at: 'populate[lender][fields]',
    });
    expect(await world.refusal('/api/films?populate[lender][filters][nope]=1')).toMatchObject({
      status: 400,
      at: 'populate[lender][filters][nope]',
    });
    expect(await world.refusal('/api/films?populate=lender.nope')).toMatchObject({ status: 400, at: 'populate' });
  });

  it.each([
    ['filters[lender][name]=x', 'filters[lender]'],
    ['filters[lender]=1', 'filters[lender]'],
    ['filters[lender][$null]=true', 'filters[lender]'],
    ['filters[$or][0][lender][name]=x', 'filters[$or][0][lender]'],
    ['filters[remakes][lender][name]=x', 'filters[remakes][lender]'],
    ['sort=lender.name', 'sort'],
    ['sort=remakeOf.lender.name', 'sort'],
    ['fields=lender', 'fields'],
    ['populate[remakes][filters][lender][name]=x', 'populate[remakes][filters][lender]'],
    ['populate[remakes][sort]=lender.name', 'populate[remakes][sort]'],
    [
      'populate[body][on][blocks.related][filters][donor][name]=x',
      'populate[body][on][blocks.related][filters][donor]',
    ],
  ])('AC6: %s is refused', async (query, at) => {
    const refusal = await world.refusal(`/api/films?${query}`);
    expect(refusal).toMatchObject({ status: 400, name: 'ValidationError', at });
    expect(refusal.message).toContain('is not available');
  });

  it('F8: a private relation is absent for every caller', async () => {
    for (const query of [
      'populate=confidant',
      'populate[confidant]=true',
      'populate=*',
      'populate[confidant][fields]=name',
    ]) {
      const { data } = await world.read<Entry>(`/api/films/1?fields=id&${query}`);
      expect(data.attributes).not.toHaveProperty('confidant');
    }
  });

  it('AC5: components, zones and media need no permission of their own', async () => {
    const { data } = await world.read<Entry>('/api/films/1?fields=id&populate=poster,credit,body');
    expect(Object.keys(data.attributes).sort()).toEqual(['body', 'credit', 'poster']);
  });

  it('AC6: a relation to users is hidden unless the caller may find users', () => {
    expect(publicActions(world.model)).not.toContain('plugin::users-permissions.user.find');
  });

  it.each([undefined, 'Basic YTpi', 'Bearer', 'Bearer ', 'Bearer one two', 'Token abc', ''])(
    'AC2: Authorization "%s" is anonymous',
    async (authorization) => {
      const { status } = await world.get('/api/films', authorization === undefined ? {} : { authorization });
      expect(status).toBe(200);
    },
  );

  it.each(['Bearer nonsense', 'bearer nonsense', 'BEARER a.b.c', 'Bearer   spaced'])(
    'AC3: an unknown token in "%s" is 401, even where public may read',
    async (authorization) => {
      for (const url of ['/api/films', '/api/films/1', '/api/donors', '/api/films?fields=nope'])
        expect((await world.get(url, { authorization })).body).toEqual(
          refusal(401, 'UnauthorizedError', 'Missing or invalid credentials', { code: 'http.bad-credentials' }),
        );
    },
  );

  it('AC3: on an unknown path credentials are not checked', async () => {
    expect((await world.get('/api/nothing', { authorization: 'Bearer nonsense' })).status).toBe(404);
  });
});

describe.each(dialects)('granting and revoking on %s', (dialect) => {
  const world = useWorld(dialect);
  const grant = async (id: number, action: string, roleId: number): Promise<void> => {
    await world.insert('up_permissions', [{ id, action }]);
    await world.insert('up_permissions_role_links', [{ id, permission_id: id, role_id: roleId, permission_order: id }]);
  };
  const populated = async (): Promise<unknown> =>
    (await ask(world, '/api/films/1?fields=id&populate[lender][fields]=name')).body;

  it('AC5: populate requires find on the target; findOne or another role’s permission is not enough', async () => {
    const hidden = { data: { id: 1, attributes: {} }, meta: {} };
    await grant(100, 'api::donor.donor.findOne', 2);
    await grant(101, 'api::donor.donor.find', 1);
    expect(await populated()).toEqual(hidden);
    expect((await ask(world, '/api/donors/1')).status).toBe(200);
    expect((await ask(world, '/api/donors')).status).toBe(403);
    await grant(102, 'api::donor.donor.find', 2);
    expect(await populated()).toEqual({
      data: { id: 1, attributes: { lender: { data: { id: 1, attributes: { name: 'Secret Donor' } } } } },
      meta: {},
    });
    expect((await ask(world, '/api/films?fields=id&filters[lender][name]=Secret Donor')).body).toMatchObject({
      data: [{ id: 1 }, { id: 2 }],
    });
    await world.remove('up_permissions', 102);
    expect(await populated()).toEqual(hidden);
  });

  it('AC1: reading a list and reading one entry are separate permissions', async () => {
    const actions = publicActions(world.model);
    await world.remove('up_permissions', actions.indexOf('api::genre.genre.find') + 1);
    expect((await ask(world, '/api/genres')).status).toBe(403);
    expect((await ask(world, '/api/genres/1')).status).toBe(200);
    expect((await ask(world, '/api/films/1?fields=id&populate=genres')).body).toEqual({
      data: { id: 1, attributes: {} },
      meta: {},
    });
    await world.remove('up_permissions', actions.indexOf('api::genre.genre.findOne') + 1);
    expect((await ask(world, '/api/genres/1')).status).toBe(403);
  });

  it('AC1: reading a single type requires find', async () => {
    const actions = publicActions(world.model);
    expect((await ask(world, '/api/house-rules')).status).toBe(200);
    await world.remove('up_permissions', actions.indexOf('api::house-rules.house-rules.find') + 1);
    expect((await ask(world, '/api/house-rules')).status).toBe(403);
  });
});

describe.each(dialects)('relations to files on %s', (dialect) => {
  const open = async (...more: readonly string[]) => {
    const leaflets = { type: 'relation', relation: 'manyToMany', target: 'plugin::upload.file' };
    const attributes = { logo: { type: 'media' }, leaflets, extra: { type: 'relation', relation: 'morphToMany' } };
    const opened = await newSmallWorld(dialect, { types: { shop: { attributes } } }, { mode: 'roles' });
    const grants = ['api::shop.shop.find', 'api::shop.shop.findOne', ...more].map((action) => ({ role: 1, action }));
    await insertGrants(grants, opened.insert);
    const file = { hash: 'h', mime: 'text/plain', size: 1, url: '/uploads/h.txt', provider: 'local' };
    await opened.insert('files', [{ id: 1, name: 'a.txt', ...file }]);
    await opened.insert('shops', [{ id: 1 }]);
    await opened.insert('shops_leaflets_links', [{ id: 1, shop_id: 1, file_id: 1, file_order: 1 }]);
    const related = { related_id: 1, related_type: 'api::shop.shop', field: 'logo', order: 1 };
    await opened.insert('files_related_morphs', [{ id: 1, file_id: 1, ...related }]);
    const extra = { extra_id: 1, extra_type: 'plugin::upload.file', order: 1 };
    await opened.insert('shops_extra_morphs', [{ id: 1, shop_id: 1, ...extra }]);
    return opened;
  };
  const bare = openedForTests(() => open());
  const finding = openedForTests(() => open('plugin::upload.content-api.find'));
  const shown = async ({ send }: typeof bare): Promise<readonly string[]> => {
    const { body } = await send('GET', '/api/shops/1?populate=*');
    return Object.keys((body as { data: Entry }).data.attributes).filter((it) => !it.endsWith('At'));
  };

  it('AC5: they need find on files, as every relation does on its target, and media do not', async () => {
    expect(await shown(bare)).toEqual(['logo']);
    expect(await shown(finding)).toEqual(['logo', 'leaflets', 'extra']);
  });

  it('AC5: without it they cannot be filtered by', async () => {
    const filtered = '/api/shops?filters[leaflets][name]=a.txt';
    expect((await bare.send('GET', filtered)).status).toBe(400);
    expect((await finding.send('GET', filtered)).body).toMatchObject({ data: [{ id: 1 }] });
    expect((await bare.send('GET', '/api/shops?filters[logo][name]=a.txt')).body).toMatchObject({ data: [{ id: 1 }] });
  });
});
