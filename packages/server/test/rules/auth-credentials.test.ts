/** Bearer values (AC1, AC7, AC17, AC11): what they are, what they grant, and how invalid ones are refused. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { newJwts } from '../../src/access/jwt.js';
import { isSame } from '../../src/access/tokens.js';
import {
  bearer,
  jwtFor,
  jwtOf,
  newPeopleWorld,
  type PeopleWorld,
  password,
  tokens,
  usePeople,
  users,
} from '../world/people.js';
import { refusal, secrets } from '../world/server.js';
import { dialects, publicActions, worldModel } from '../world/world.js';

const missing = refusal(401, 'UnauthorizedError', 'Missing or invalid credentials');
const invalid = refusal(401, 'UnauthorizedError', 'Invalid credentials');
const forbidden = refusal(403, 'ForbiddenError', 'Forbidden');

const asBearer = (it: PeopleWorld, text: string, url = '/api/genres') => it.server.get(url, bearer(text));

describe.each(dialects)('credentials on %s', (dialect) => {
  const it_ = usePeople(dialect, {
    grants: {
      authenticated: ['api::genre.genre.find', 'plugin::users-permissions.user.me'],
      editor: ['api::donor.donor.find', 'api::genre.genre.find', 'api::film.film.find', 'api::film.film.findOne'],
    },
  });
  const now = Math.floor(Date.now() / 1000);
  const good = { id: users.reader, iat: now, exp: now + 60 };

  describe('JWTs of users (AC7)', () => {
    it.each([
      ['as v4 makes them', jwtOf(good)],
      ['without exp', jwtOf({ id: users.reader, iat: now })],
      ['without iat', jwtOf({ id: users.reader })],
    ])('are accepted %s', async (_name, jwt) => {
      expect((await asBearer(it_(), jwt)).status).toBe(200);
    });

    it.each(['Bearer', 'bearer', 'BEARER'])('the scheme %s is case-insensitive', async (scheme) => {
      const { status } = await it_().server.get('/api/users/me', { authorization: `${scheme} ${jwtOf(good)}` });
      expect(status).toBe(200);
    });

    it.each([
      ['signed with another key', jwtOf(good, { secret: 'another secret' })],
      ['alg none', jwtOf(good, { alg: 'none' })],
      ['alg None with a signature', `${jwtOf(good, { alg: 'None' })}abc`],
      ['alg HS384', jwtOf(good, { alg: 'HS384' })],
      ['alg HS512', jwtOf(good, { alg: 'HS512' })],
      ['expired', jwtOf({ ...good, exp: now - 1 })],
      ['not yet valid', jwtOf({ ...good, nbf: now + 60 })],
      ['without an id', jwtOf({ iat: now, exp: now + 60 })],
      ['with a text as id', jwtOf({ ...good, id: '1' })],
      ['with an object as id (AC7)', jwtOf({ ...good, id: { $ne: 0 } })],
      ['with a list as id', jwtOf({ ...good, id: [1] })],
      ['with id 0', jwtOf({ ...good, id: 0 })],
      ['with a fraction as id', jwtOf({ ...good, id: 1.5 })],
      ['with an id past 32 bits', jwtOf({ ...good, id: 2 ** 40 })],
      ['with a stamp of another password', jwtOf({ ...good, pw: 'x'.repeat(32) })],
      ['with a stamp that is no text', jwtOf({ ...good, pw: 1 })],
      ['cut', jwtOf(good).slice(0, -1)],
      [
        'with a changed payload',
        jwtOf(good).replace(/\.[^.]+\./, `.${Buffer.from('{"id":2}').toString('base64url')}.`),
      ],
      ['three letters', 'a.b.c'],
      ['not one', 'garbage'],
      ['NUL and friends', 'a\u00ff'],
      ['of a user without a role', jwtOf({ ...good, id: users.roleless })],
    ])('%s is 401, even where public may read', async (_name, jwt) => {
      for (const url of ['/api/genres', '/api/donors', '/api/users/me', '/api/genres?fields=nope'])
        expect((await asBearer(it_(), jwt, url)).body).toEqual(missing);
    });

    it.each([
      ['absent', 999],
      ['blocked', users.blocked],
    ])('of a user who is %s are 401 Invalid credentials', async (_name, id) => {
      expect((await asBearer(it_(), jwtFor(id))).body).toEqual(invalid);
    });

    it('the role determines the rights, and inherits nothing from public (AC1)', async () => {
      const { ask } = it_();
      expect((await ask('GET', '/api/films')).status).toBe(200);
      expect((await ask('GET', '/api/films', { as: 'reader' })).body).toEqual(forbidden);
      expect((await ask('GET', '/api/donors', { as: 'reader' })).body).toEqual(forbidden);
      expect((await ask('GET', '/api/donors', { as: 'editor' })).status).toBe(200);
      expect((await ask('POST', '/api/films', { as: 'editor', body: { data: {} } })).body).toEqual(forbidden);
    });

    it('plans and responses of one role are never used for another', async () => {
      const { ask } = it_();
      const url = '/api/films/1?fields=id&populate[lender][fields]=name';
      const lender = { lender: { data: { id: 1, attributes: { name: 'Secret Donor' } } } };
      const seen = async (as?: 'editor' | 'full') =>
        ((await ask('GET', url, as ? { as } : {})).body as { data: { attributes: unknown } }).data.attributes;
      for (let round = 0; round < 2; round++) {
        expect(await seen()).toEqual({});
        expect(await seen('editor')).toEqual(lender);
        expect(await seen('full')).toEqual(lender);
      }
    });

    it('filters and sorts through what the role may not find are refused for that role only', async () => {
      const { ask } = it_();
      const url = '/api/films?filters[lender][name]=Secret Donor&fields=id';
      expect((await ask('GET', url)).status).toBe(400);
      expect((await ask('GET', url, { as: 'editor' })).status).toBe(200);
    });
  });

  describe('API tokens (AC17)', () => {
    it('full access may do everything, including what no role may', async () => {
      const { ask } = it_();
      expect((await ask('GET', '/api/donors', { as: 'full' })).status).toBe(200);
      expect((await ask('GET', '/api/users', { as: 'full' })).status).toBe(200);
      expect((await ask('GET', '/api/users-permissions/roles', { as: 'full' })).status).toBe(200);
      expect((await ask('POST', '/api/genres', { as: 'full', body: { data: { name: 'new' } } })).status).toBe(200);
    });

    it('full access does not see hidden attributes, and is not a user', async () => {
      const { ask } = it_();
      expect((await ask('GET', '/api/users?fields=password', { as: 'full' })).status).toBe(400);
      expect((await ask('GET', '/api/users?populate=*', { as: 'full' })).text).not.toMatch(/\$2a|\$2b|[tT]oken"/);
      expect((await ask('GET', '/api/users/me', { as: 'full' })).body).toEqual(
        refusal(401, 'UnauthorizedError', 'Unauthorized'),
      );
    });

    it('read-only may use find and findOne and nothing else', async () => {
      const { ask } = it_();
      for (const url of ['/api/donors', '/api/donors/1', '/api/users', '/api/users/1', '/api/users-permissions/roles'])
        expect([url, (await ask('GET', url, { as: 'reading' })).status]).toEqual([url, 200]);
      for (const [method, url] of [
        ['POST', '/api/donors'],
        ['PUT', '/api/donors/1'],
        ['DELETE', '/api/donors/1'],
        ['GET', '/api/users/me'],
        ['GET', '/api/users/count'],
        ['GET', '/api/users-permissions/permissions'],
        ['POST', '/api/auth/local'],
      ])
        expect([
          url,
          (await ask(method!, url!, { as: 'reading', body: method === 'GET' ? undefined : {} })).body,
        ]).toEqual([url, forbidden]);
    });

    it('custom may use the listed actions', async () => {
      const { ask } = it_();
      expect((await ask('GET', '/api/genres', { as: 'custom' })).status).toBe(200);
      expect((await ask('GET', '/api/genres/1', { as: 'custom' })).body).toEqual(forbidden);
      expect((await ask('GET', '/api/films', { as: 'custom' })).body).toEqual(forbidden);
      expect((await ask('GET', '/api/genres?populate=*&fields=id', { as: 'custom' })).text).not.toContain('films');
    });

    it('an expired one is 401 Token expired, on every path', async () => {
      for (const url of ['/api/genres', '/api/donors', '/api/users/me'])
        expect((await it_().ask('GET', url, { as: 'expired' })).body).toEqual(
          refusal(401, 'UnauthorizedError', 'Token expired'),
        );
    });

    it('the hash of a token is not accepted as a token', async () => {
      const [[stored] = []] = await it_().world.db.write((tx) =>
        tx.run(it_().world.db.dialect.compile(sql`select access_key from strapi_api_tokens where id = 2`)),
      );
      expect((await asBearer(it_(), stored as string)).body).toEqual(missing);
    });
  });
});

describe.each(dialects)('credentials that change on %s', (dialect) => {
  const lastUsedAt = async ({ world }: PeopleWorld, id: number): Promise<number | null> => {
    const { dialect: sqlOf } = world.db;
    const statement = sqlOf.compile(
      sql`select ${sqlOf.jsonValue('epoch', sql`last_used_at`)} from strapi_api_tokens where id = ${sql.lit(id)}`,
    );
    const [[text] = []] = await world.db.write((tx) => tx.run(statement));
    return text == null ? null : Number(text);
  };

  it('AC17: the last use is stored at first, then at most hourly; an expired token is not recorded', async () => {
    const start = Date.UTC(2030, 0, 1);
    let clock = start;
    const people = await newPeopleWorld(dialect, { people: { now: () => clock } });
    try {
      const use = async (as: 'reading' | 'expired'): Promise<number | null> => {
        await people.ask('GET', '/api/genres', { as });
        await people.server.idle();
        return lastUsedAt(people, tokens[as].id);
      };
      expect(await use('reading')).toBe(start);
      clock += 59 * 60_000;
      expect(await use('reading')).toBe(start);
      clock += 60_000;
      expect(await use('reading')).toBe(clock);
      expect(await use('expired')).toBeNull();
    } finally {
      await people.close();
    }
  });

  it('cached JWTs and tokens expire on time', async () => {
    let clock = Date.UTC(2030, 0, 1);
    const people = await newPeopleWorld(dialect, {
      grants: { authenticated: ['api::genre.genre.find'] },
      people: { now: () => clock },
    });
    try {
      await people.world.update('strapi_api_tokens', 1, 'expires_at', clock + 500);
      const jwt = jwtOf({ id: users.reader, exp: clock / 1000 + 1 });
      const both = async () => [
        (await asBearer(people, jwt)).status,
        (await people.ask('GET', '/api/genres', { as: 'reading' })).status,
      ];
      expect(await both()).toEqual([200, 200]);
      clock += 400;
      expect(await both()).toEqual([200, 200]);
      clock += 400;
      expect(await both()).toEqual([200, 401]);
      clock += 200;
      expect(await both()).toEqual([401, 401]);
    } finally {
      await people.close();
    }
  });

  it('AC4, AC5: responses that are asked for repeatedly go to callers with the same rights only, as long as they have them', async () => {
    const people = await newPeopleWorld(dialect, {
      grants: {
        authenticated: ['api::film.film.findOne'],
        editor: ['api::donor.donor.find', 'api::film.film.findOne'],
      },
    });
    const show = async (as?: 'reader' | 'editor' | 'full'): Promise<string> => {
      const asked = ['/api/genres', '/api/donors', '/api/films/1?fields=title&populate=lender'].map(async (url) => {
        const { status, text } = await people.ask('GET', url, as ? { as } : {});
        return `${status}${text.includes('Secret Donor') ? ' with a donor' : ''}`;
      });
      return (await Promise.all(asked)).join(', ');
    };
    try {
      for (let round = 0; round < 4; round++) {
        expect(await show('full')).toBe('200, 200 with a donor, 200 with a donor');
        expect(await show()).toBe('200, 403, 200');
        expect(await show('editor')).toBe('403, 200 with a donor, 200 with a donor');
        expect(await show('reader')).toBe('403, 403, 200');
      }
      expect((await people.ask('DELETE', '/api/users-permissions/roles/3', { as: 'full' })).status).toBe(200);
      expect(await show('editor')).toBe('200, 403, 200');
      expect(await show('full')).toBe('200, 200 with a donor, 200 with a donor');
    } finally {
      await people.close();
    }
  });

  it('AC7: if confirmation is required, JWTs of unconfirmed users are 401 Invalid credentials', async () => {
    const people = await newPeopleWorld(dialect);
    try {
      expect((await people.ask('GET', '/api/users/me', { as: 'unconfirmed' })).status).toBe(200);
      await people.setting('advanced', { email_confirmation: true });
      const fresh = await newPeopleWorld(dialect);
      await fresh.setting('advanced', { email_confirmation: true });
      expect((await fresh.ask('GET', '/api/users/me', { as: 'unconfirmed' })).body).toEqual(invalid);
      expect((await fresh.ask('GET', '/api/users/me', { as: 'reader' })).status).toBe(200);
      await fresh.close();
    } finally {
      await people.close();
    }
  });

  it('a user blocked or deleted through the API loses access at once', async () => {
    const people = await newPeopleWorld(dialect);
    try {
      expect((await people.ask('GET', '/api/users/me', { as: 'reader' })).status).toBe(200);
      await people.ask('PUT', `/api/users/${users.reader}`, { as: 'full', body: { blocked: true } });
      expect((await people.ask('GET', '/api/users/me', { as: 'reader' })).body).toEqual(invalid);
      await people.ask('PUT', `/api/users/${users.reader}`, { as: 'full', body: { blocked: false } });
      expect((await people.ask('GET', '/api/users/me', { as: 'reader' })).status).toBe(200);
      await people.ask('DELETE', `/api/users/${users.reader}`, { as: 'full' });
      expect((await people.ask('GET', '/api/users/me', { as: 'reader' })).body).toEqual(invalid);
    } finally {
      await people.close();
    }
  });

  it('AC2: a public role without any permission gives 401; with permissions off the server is open', async () => {
    const closed = await newPeopleWorld(dialect, { grants: { public: [] } });
    const open = await newPeopleWorld(dialect, { grants: { public: [] }, people: { mode: 'open' } });
    try {
      for (const people of [closed, open]) {
        for (let id = 1; id <= publicActions(worldModel()).length; id++)
          await people.world.remove('up_permissions', id);
      }
      expect((await closed.ask('GET', '/api/genres')).body).toEqual(missing);
      for (const url of ['/api/genres', '/api/donors', '/api/users', '/api/films/1?populate=lender'])
        expect([url, (await open.ask('GET', url)).status]).toEqual([url, 200]);
      expect((await open.ask('POST', '/api/genres', { body: { data: { name: 'open' } } })).status).toBe(200);
      expect((await open.ask('GET', '/api/films/1?populate=lender')).text).toContain('Secret Donor');
      // what would remain afterwards still needs its permission
      for (const [method, url] of [
        ['POST', '/api/users'],
        ['PUT', '/api/users/1'],
        ['DELETE', '/api/users/1'],
        ['POST', '/api/users-permissions/roles'],
        ['PUT', '/api/users-permissions/roles/2'],
        ['DELETE', '/api/users-permissions/roles/3'],
      ])
        expect([url, (await open.ask(method!, url!, { body: {} })).body]).toEqual([url, forbidden]);
      expect((await asBearer(open, 'garbage')).body).toEqual(missing);
    } finally {
      await closed.close();
      await open.close();
    }
  });
});

describe('secrets are compared in constant time', () => {
  it('isSame compares the lengths and then every byte', () => {
    expect(isSame('abc', 'abc')).toBe(true);
    for (const other of ['abd', 'ab', 'abcd', '', 'äbc']) expect(isSame('abc', other)).toBe(false);
  });

  it('a digest is bound to one user, one password and one secret', async () => {
    const jwts = newJwts({ secret: secrets.jwtSecret, lifetimeMs: 60_000, now: Date.now });
    const claims = await jwts.verify(await jwts.sign(1, password));
    expect(claims).toMatchObject({ userId: 1, stamp: expect.stringMatching(/^[0-9a-f]{32}$/) });
    expect(jwts.isCurrent(claims!, password)).toBe(true);
    expect(jwts.isCurrent(claims!, 'another')).toBe(false);
    expect(jwts.isCurrent({ ...claims!, userId: 2 }, password)).toBe(false);
    expect(
      await newJwts({ secret: 'another', lifetimeMs: 60_000, now: Date.now }).verify(await jwts.sign(1, 'x')),
    ).toBeNull();
  });
});
