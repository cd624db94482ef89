/** Q9: creator fields are absent unless the project has a handler; writes by administrators' tokens set them. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Handlers } from '../../src/handlers/handlers.js';
import { newPeopleWorld, type PeopleWorld, tokens } from '../world/people.js';
import { newSmallWorld } from '../world/small.js';
import { dialects, type Entry, useWorld } from '../world/world.js';

describe.each(dialects)('creator fields on %s', (dialect) => {
  const world = useWorld(dialect);

  it.each([
    ['films/1', 'populate=createdBy'],
    ['films/1', 'populate=createdBy,updatedBy'],
    ['films/1', 'populate[createdBy]=true'],
    ['films/1', 'populate[createdBy][fields]=firstname'],
    ['films/1', 'populate=*'],
    ['films/1', ''],
    ['people/1', 'populate=createdBy'],
    // and their options are not checked
    ['reels/1', 'populate[createdBy][fields]=nope&populate[createdBy][filters][nope]=1&populate[createdBy][sort]=nope'],
    ['reels/1', 'populate=createdBy.nope'],
    // the option alone is not sufficient
    ['reels/1', 'populate=createdBy'],
    ['reels/1', 'populate=*'],
  ])('Q9: %s?%s shows none', async (entry, query) => {
    const { text, status } = await world.get(`/api/${entry}?${query}`);
    expect(status).toBe(200);
    expect(text).not.toMatch(/createdBy|updatedBy|firstname|Quill/);
  });

  it('Q9: a populated relation shows none either', async () => {
    const { data } = await world.read<Entry>('/api/films/2?fields=id&populate[remakeOf][populate]=createdBy');
    expect(data.attributes['remakeOf']).toEqual({
      data: { id: 1, attributes: expect.not.objectContaining({ createdBy: expect.anything() }) },
    });
  });

  it.each([
    ['filters[createdBy][id]=1', 'filters[createdBy]'],
    ['filters[createdBy][firstname]=Ada', 'filters[createdBy]'],
    ['filters[updatedBy][$notNull]=true', 'filters[updatedBy]'],
    ['sort=createdBy.firstname', 'sort'],
    ['fields=createdBy', 'fields'],
  ])('SO6, FL11: %s is refused', async (query, at) => {
    expect(await world.refusal(`/api/films?${query}`)).toMatchObject({
      status: 400,
      name: 'ValidationError',
      at,
      message: expect.stringContaining(`Invalid parameter ${at}: `),
    });
  });
});

describe.each(dialects)('creators of an entry on %s', (dialect) => {
  /** Administrators 1 and 2 own the tokens `full` and `custom`; `reading` belongs to nobody. */
  const opened = async (): Promise<PeopleWorld> => {
    const actions = ['create', 'update', 'delete', 'find'].map((it) => `api::reel.reel.${it}`);
    const find: Handlers['find'] = ({ next }) => next({ creatorFields: true });
    const people = await newPeopleWorld(dialect, {
      grants: { public: actions, authenticated: [...actions, 'api::house-rules.house-rules.update'] },
      custom: actions,
      people: { handlers: new Map([['api::reel.reel', { find }]]) },
    });
    await people.world.insert('admin_users', [{ id: 2, firstname: 'Bea', lastname: 'Pen', email: 'bea@example.org' }]);
    await people.world.update('strapi_api_tokens', tokens.full.id, 'created_by_id', 1);
    await people.world.update('strapi_api_tokens', tokens.custom.id, 'created_by_id', 2);
    return people;
  };
  const signers = async ({ world }: PeopleWorld, table: string, id: number): Promise<unknown> => {
    const statement = world.db.dialect.compile(
      sql`select created_by_id, updated_by_id from ${sql.table(table)} where id = ${sql.lit(id)}`,
    );
    return (await world.db.write((tx) => tx.run(statement)))[0];
  };
  const create = async (
    { ask }: PeopleWorld,
    as?: 'full' | 'custom' | 'reader',
    extra: object = {},
  ): Promise<number> => {
    const body = { data: { label: 'signed', ...extra } };
    const answer = await ask('POST', '/api/reels', as === undefined ? { body } : { as, body });
    if (answer.status !== 200) throw new Error(answer.text);
    expect(answer.text).not.toMatch(/createdBy|updatedBy/);
    return (answer.body as { data: Entry }).data.id;
  };
  const update = ({ ask }: PeopleWorld, id: number, as?: 'full' | 'custom' | 'reader', extra: object = {}) => {
    const body = { data: { remark: 'changed', ...extra } };
    return ask('PUT', `/api/reels/${id}`, as === undefined ? { body } : { as, body });
  };

  it('Q9: a token of an administrator sets both creator fields on create, and updatedBy on update', async () => {
    const people = await opened();
    try {
      const id = await create(people, 'full');
      expect(await signers(people, 'reels', id)).toEqual([1, 1]);
      expect((await update(people, id, 'custom')).status).toBe(200);
      expect(await signers(people, 'reels', id)).toEqual([1, 2]);
      expect((await update(people, id, 'full', { film: [1] })).status).toBe(200);
      expect(await signers(people, 'reels', id)).toEqual([1, 1]);
      await update(people, id, 'custom');
      const url = `/api/reels?filters[id]=${id}&fields=label&populate=createdBy,updatedBy`;
      expect((await people.ask('GET', url)).body).toMatchObject({
        data: [
          {
            id,
            attributes: {
              label: 'signed',
              createdBy: { id: 1, firstname: 'Ada', lastname: 'Quill' },
              updatedBy: { id: 2, firstname: 'Bea', lastname: 'Pen' },
            },
          },
        ],
      });
      expect((await people.ask('GET', url)).text).not.toMatch(/email|bea@|password|isActive/);
    } finally {
      await people.close();
    }
  });

  it('Q9: where creators are shown, their options apply, and unknown or hidden names are refused', async () => {
    const people = await opened();
    try {
      const id = await create(people, 'full');
      const creators = async (query: string): Promise<unknown> => {
        const { body } = await people.ask('GET', `/api/reels?filters[id]=${id}&fields=id&${query}`);
        return (body as { data: readonly Entry[] }).data[0]?.attributes['createdBy'];
      };
      expect(await creators('populate[createdBy][fields]=firstname')).toEqual({ id: 1, firstname: 'Ada' });
      expect(await creators('populate[createdBy][fields]=id')).toEqual({ id: 1 });
      expect(await creators('populate[createdBy][fields]=*')).toEqual({ id: 1, firstname: 'Ada', lastname: 'Quill' });
      expect(await creators('populate[createdBy][filters][firstname]=Ada&populate[createdBy][sort]=lastname')).toEqual({
        id: 1,
        firstname: 'Ada',
        lastname: 'Quill',
      });
      expect(await creators('populate[createdBy][filters][firstname]=Bea')).toBeNull();
      for (const [query, path] of [
        ['populate[createdBy][fields]=nope', ['populate', 'createdBy', 'fields']],
        ['populate[createdBy][fields]=email', ['populate', 'createdBy', 'fields']],
        ['populate[createdBy][filters][nope]=1', ['populate', 'createdBy', 'filters', 'nope']],
        ['populate[createdBy][filters][email]=x', ['populate', 'createdBy', 'filters', 'email']],
        ['populate[createdBy][sort]=nope', ['populate', 'createdBy', 'sort']],
        ['populate=createdBy.nope', ['populate']],
        ['populate[createdBy][fields]=emial', ['populate', 'createdBy', 'fields']],
        ['populate[createdBy][populate]=nope', ['populate', 'createdBy', 'populate']],
      ] as const) {
        const { status, body, text } = await people.ask('GET', `/api/reels?${query}`);
        expect([query, status]).toEqual([query, 400]);
        expect(body).toMatchObject({ error: { details: { errors: [{ path }] } } });
        expect(text).not.toMatch(/Did you mean/);
      }
    } finally {
      await people.close();
    }
  });

  it('Q9: users, anonymous callers and tokens without an administrator set no creator fields and leave them unchanged', async () => {
    const people = await opened();
    try {
      for (const as of [undefined, 'reader'] as const)
        expect(await signers(people, 'reels', await create(people, as))).toEqual([null, null]);
      await people.world.update('reels', 1, 'created_by_id', 2);
      await people.world.update('reels', 1, 'updated_by_id', 1);
      for (const as of [undefined, 'reader'] as const) {
        expect((await update(people, 1, as)).status).toBe(200);
        expect(await signers(people, 'reels', 1)).toEqual([2, 1]);
      }
      await people.world.update('strapi_api_tokens', tokens.full.id, 'created_by_id', null);
      const forgetful = await opened();
      await forgetful.world.update('strapi_api_tokens', tokens.full.id, 'created_by_id', null);
      expect(await signers(forgetful, 'reels', await create(forgetful, 'full'))).toEqual([null, null]);
      await forgetful.close();
    } finally {
      await people.close();
    }
  });

  it('Q9: a body cannot set creator fields', async () => {
    const people = await opened();
    try {
      for (const createdBy of [2, '2', { id: 2 }, [2], { set: [2] }, { connect: [{ id: 2 }] }, null]) {
        const forged = { createdBy, updatedBy: createdBy };
        expect(await signers(people, 'reels', await create(people, undefined, forged))).toEqual([null, null]);
        const id = await create(people, 'full', forged);
        expect(await signers(people, 'reels', id)).toEqual([1, 1]);
        expect((await update(people, id, 'reader', forged)).status).toBe(200);
        expect(await signers(people, 'reels', id)).toEqual([1, 1]);
        expect((await update(people, id, 'full', forged)).status).toBe(200);
        expect(await signers(people, 'reels', id)).toEqual([1, 1]);
      }
      for (const name of ['created_by_id', 'createdById', 'created_by', 'adminId', 'updated_by_id']) {
        const answer = await update(people, 1, 'full', { [name]: 2 });
        expect([name, answer.status]).toEqual([name, 400]);
        expect(answer.text).toContain(name);
      }
      expect(await signers(people, 'reels', 1)).toEqual([null, null]);
      // and neither can a header or a query
      await people.ask('PUT', '/api/reels/1?createdBy=2&adminId=2&updatedBy=2', {
        body: { data: { remark: 'x' }, createdBy: 2, adminId: 2 },
        headers: { 'x-admin-id': '2' },
      });
      expect(await signers(people, 'reels', 1)).toEqual([null, null]);
    } finally {
      await people.close();
    }
  });

  it('Q9: single types get creator fields like others; a refused or failed write sets none', async () => {
    const people = await opened();
    try {
      const rules = (as: 'full' | 'reader') =>
        people.ask('PUT', '/api/house-rules', { as, body: { data: { text: 'No cats.' } } });
      expect((await rules('reader')).status).toBe(200);
      expect(await signers(people, 'house_rules', 1)).toEqual([null, null]);
      expect((await rules('full')).status).toBe(200);
      expect(await signers(people, 'house_rules', 1)).toEqual([null, 1]);
      expect((await people.ask('PUT', '/api/closure', { as: 'full', body: { data: { reason: 'rain' } } })).status).toBe(
        200,
      );
      expect(await signers(people, 'closures', 1)).toEqual([1, 1]);
      expect((await update(people, 1, 'full', { frames: 'many' })).status).toBe(400);
      expect((await people.ask('PUT', '/api/films/1', { as: 'custom', body: { data: { title: 'x' } } })).status).toBe(
        403,
      );
      expect(await signers(people, 'reels', 1)).toEqual([null, null]);
      expect(await signers(people, 'films', 1)).toEqual([1, null]);
    } finally {
      await people.close();
    }
  });

  it('Q9: if the administrator no longer exists, entries get no creator fields', async () => {
    const people = await opened();
    try {
      const id = await create(people, 'custom');
      expect(await signers(people, 'reels', id)).toEqual([2, 2]);
      await people.world.remove('admin_users', 2);
      expect(await signers(people, 'reels', id)).toEqual([null, null]);
      const url = `/api/reels?filters[id]=${id}&fields=id&populate=createdBy`;
      expect((await people.ask('GET', url)).body).toMatchObject({ data: [{ id, attributes: { createdBy: null } }] });
    } finally {
      await people.close();
    }
  });
});

describe.each(dialects)('relations to administrators on %s', (dialect) => {
  it('Q9, Q12: an administrator in a relation of the schema file is an entry like others, beside plain creators', async () => {
    const toAdmins = (relation: string) => ({ type: 'relation', relation, target: 'admin::user' });
    const attributes = {
      reviewer: toAdmins('oneToOne'),
      editors: toAdmins('manyToMany'),
      card: { type: 'component', component: 'parts.card' },
    };
    const find: Handlers['find'] = ({ next }) => next({ creatorFields: true });
    const world = await newSmallWorld(
      dialect,
      {
        types: { note: { options: { populateCreatorFields: true }, attributes } },
        components: { 'parts.card': { author: toAdmins('oneToOne') } },
      },
      { handlers: new Map([['api::note.note', { find }]]) },
    );
    try {
      await world.insert('admin_users', [{ id: 1, firstname: 'Ada', lastname: 'Quill' }]);
      await world.send('POST', '/api/notes', { data: { reviewer: 1, editors: [1], card: { author: 1 } } });
      await world.db.write((tx) =>
        tx.run(world.db.dialect.compile(sql`update notes set created_by_id = 1 where id = 1`)),
      );
      const named = ['reviewer', 'editors', 'createdBy'].map((it) => `populate[${it}][fields]=firstname`).join('&');
      const url = `/api/notes?fields=id&${named}&populate[card][populate][author][fields]=firstname`;
      const ada = { id: 1, attributes: { firstname: 'Ada' } };
      expect((await world.send('GET', url)).body).toMatchObject({
        data: [
          {
            id: 1,
            attributes: {
              reviewer: { data: ada },
              editors: { data: [ada] },
              card: { author: { data: ada } },
              createdBy: { id: 1, firstname: 'Ada' },
            },
          },
        ],
      });
    } finally {
      await world.close();
    }
  });
});
