/** `api.strict: false` (Q16): responses as from 4.26.2; the response names what had no effect. */
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Step } from '../../src/handlers/handlers.js';
import { newServer } from '../../src/http/server.js';
import { limits } from '../../src/limits.js';
import { newTestDeps, newTestServer } from '../world/server.js';
import { dialects, type Entry, useWorld } from '../world/world.js';

describe.each(dialects)('lenient mode on %s', (dialect) => {
  const world = useWorld(dialect, { settings: { strict: false } });
  const all = [1, 2, 3, 4, 5, 7, 8];

  /** The names that a response reports as ignored; null if there is no header. */
  const leftOut = async (url: string): Promise<unknown> =>
    (await world.get(url)).headers['dovetail-ignored']?.toString() ?? null;

  describe('populate', () => {
    const populated = async (query: string): Promise<readonly string[]> => {
      const { data } = await world.read<Entry>(`/api/films/1?fields=id&${query}`);
      return Object.keys(data.attributes);
    };

    it.each<readonly [query: string, populated: readonly string[], named: string | null]>([
      // names
      ['populate=nope', [], 'populate.nope'],
      ['populate=nope,director', ['director'], 'populate.nope'],
      ['populate[0]=director&populate[1]=nope', ['director'], 'populate.nope'],
      ['populate[nope]=true&populate[director]=true', ['director'], 'populate.nope'],
      ['populate[nope][populate]=*&populate[nope][fields]=x&populate[director]=true', ['director'], 'populate.nope'],
      ['populate=title', [], 'populate.title'],
      ['populate[title]=true', [], 'populate.title'],
      ['populate=director.name', ['director'], 'populate.director.name'],
      ['populate=director.nope.deeper', ['director'], 'populate.director.nope'],
      ['populate=credit.awards.nope,credit.nope', ['credit'], 'populate.credit.nope, populate.credit.awards.nope'],
      ['populate[director][populate]=nope', ['director'], 'populate.director.populate.nope'],
      ['populate[body][populate][__component]=*', ['body'], 'populate.body.populate.__component'],
      ['populate=true', [], 'populate.true'],
      ['populate=deep', [], 'populate.deep'],
      ['populate[director][populate]=true', ['director'], 'populate.director.populate.true'],
      ['populate[constructor]=true', [], 'populate.constructor'],
      ['populate', [], null],
      ['populate=', [], null],
      ['populate=false', [], null],
      // options
      ['populate[director][nope]=x', ['director'], 'populate.director.nope'],
      ['populate[director][feilds]=name', ['director'], 'populate.director.feilds'],
      ['populate[director][pagination][page]=2', ['director'], 'populate.director.pagination'],
      ['populate[director][count]=true', ['director'], 'populate.director.count'],
      // flags
      ['populate[director]=yes', ['director'], null],
      ['populate[director]=null', ['director'], null],
      ['populate[director]=2', ['director'], null],
      ['populate[director]=False', ['director'], null],
      ['populate[director]=', [], null],
      ['populate[director]=false', [], null],
      // `on`
      ['populate[director][on][x]=true', ['director'], 'populate.director.on'],
      ['populate[body][on][blocks.nope]=true', ['body'], 'populate.body.on.blocks.nope'],
      ['populate[body][on]=text', ['body'], 'populate.body.on'],
      ['populate[body][on]', ['body'], null],
    ])('Q14: %s populates %j and names %s', async (query, expected, named) => {
      expect(await populated(query)).toEqual(expected);
      expect(await leftOut(`/api/films/1?fields=id&${query}`)).toBe(named);
      // the list is parsed in the same way
      expect(await leftOut(`/api/films?fields=id&${query}`)).toBe(named);
    });

    it('Q7: an unknown component in on gives an empty zone; on outside a zone leaves the other options in effect', async () => {
      const of = async (query: string) => (await world.read<Entry>(`/api/films/1?fields=id&${query}`)).data.attributes;
      expect(await of('populate[body][on][blocks.nope]=true')).toEqual({ body: [] });
      expect(await of('populate[body][on][blocks.nope][fields]=x')).toEqual({ body: [] });
      expect(await of('populate[body][on]=')).toEqual({ body: [] });
      expect(await of('populate[body][on][blocks.quote]=false')).toEqual(
        await of('populate[body][on][blocks.quote]=true'),
      );
      expect(await of('populate[director][on][x]=true&populate[director][fields]=id')).toEqual({
        director: { data: { id: expect.any(Number), attributes: {} } },
      });
    });

    it.each<readonly [query: string, same: string, named: string | null]>([
      [
        'populate[director][fields]=name&populate=genres',
        'populate[director][fields]=name&populate[genres]=true',
        null,
      ],
      [
        'populate=genres&populate[director][fields]=name',
        'populate[director][fields]=name&populate[genres]=true',
        null,
      ],
      [
        'populate[credit][populate][person]=true&populate[credit][populate]=portrait',
        'populate[credit][populate][person]=true&populate[credit][populate][portrait]=true',
        null,
      ],
      ['populate[director]=true&populate[director][fields]=name', 'populate[director][fields]=name', null],
      ['populate[director][fields]=name&populate[director]=true', 'populate[director][fields]=name', null],
      ['populate=director.*.portrait', 'populate=director', null],
      // the parser ignores the value
      [
        'populate[director][fields]=name&populate=genres,credit',
        'populate[director][fields]=name',
        'populate.genres,credit',
      ],
      ['populate[director][fields]=name&populate=*', 'populate[director][fields]=name', 'populate.*'],
      ['populate[0]=genres&populate[director]=true', 'populate[director]=true', 'populate.0'],
      ['populate[]=genres&populate[director]=true', 'populate[director]=true', 'populate.0'],
      // one list written in two ways
      ['populate=director&populate[]=genres', 'populate[0]=director&populate[1]=genres', null],
      ['fields=title&fields[]=year', 'fields[0]=title&fields[1]=year', null],
    ])('Q16: %s is read as the parser of v4.13 to 4.25 reads it', async (query, same, named) => {
      const answer = await world.get(`/api/films/1?fields=id&${query}`);
      const expected = await world.get(`/api/films/1?fields=id&${same}`);
      expect([answer.status, answer.body]).toEqual([200, expected.body]);
      expect(answer.headers['dovetail-ignored'] ?? null).toBe(named === null ? null : named.replace(',', '%2C'));
    });
  });

  describe('filters', () => {
    it.each<readonly [query: string, found: readonly number[], named: string]>([
      // conditions that v4 ignores
      ['filters[title][$nope]=x', all, 'filters.title.$nope'],
      ['filters[title][$EQ]=x', all, 'filters.title.$EQ'],
      ['filters[title][foo][bar]=x', all, 'filters.title.foo'],
      ['filters[title][$eq][foo]=x', all, 'filters.title.$eq'],
      ['filters[title][$not][foo]=x', all, 'filters.title.$not.foo'],
      ['filters[director][name][$foo]=x', all, 'filters.director.name.$foo'],
      ['filters[created_at]=x', all, 'filters.created_at'],
      ['filters[constructor]=x', all, 'filters.constructor'],
      ['filters[director][constructor][x]=1', all, 'filters.director.constructor'],
      ['filters.title=x', all, 'filters.title'],
      ['filters[title[$eq]]=x', all, 'filters%5Btitle%5B$eq%5D%5D'],
      // the rest of a group
      ['filters[$or][0][title][$nope]=x&filters[$or][1][year]=1911', [1], 'filters.$or.0.title.$nope'],
      ['filters[$not][title][$nope]=x&filters[year]=1911', [1], 'filters.$not.title.$nope'],
      ['filters[year]=1911&filters[title][$nope]=x', [1], 'filters.title.$nope'],
    ])('FL3, FL17, RQ12, FL11, RQ11: %s finds %j and names %s', async (query, found, named) => {
      expect(await world.ids(`/api/films?${query}`)).toEqual(found);
      expect(await leftOut(`/api/films?${query}`)).toBe(named);
    });

    it.each<readonly [query: string, found: readonly number[]]>([
      ['filters[tagline][$null]=xx', [3, 7]],
      ['filters[tagline][$null]', [1, 2, 4, 5, 8]],
      ['filters[tagline][$null]=FALSE', [3, 7]],
      ['filters[score]=', [4]],
      // several values under a negative operator are joined by AND in every mode (FL8)
      ['filters[year][$ne][0]=1920&filters[year][$ne][1]=1911', [3, 5, 8]],
    ])('FL10: %s finds %j, and nothing is ignored', async (query, found) => {
      expect(await world.ids(`/api/films?${query}`)).toEqual(found);
      expect(await leftOut(`/api/films?${query}`)).toBeNull();
    });

    it('FL10: any text except the falsy words is true', async () => {
      const [yes, no] = [
        await world.ids('/api/reels?filters[nitrate]=true'),
        await world.ids('/api/reels?filters[nitrate]=f'),
      ];
      expect(yes.length).toBeGreaterThan(0);
      expect(await world.ids('/api/reels?filters[nitrate]=yes')).toEqual(yes);
      expect(await world.ids('/api/reels?filters[nitrate]=')).toEqual(no);
    });
  });

  describe('other parameters', () => {
    it.each<readonly [query: string, named: string]>([
      ['filter[title]=x', 'filter'],
      ['populates=director', 'populates'],
      ['where[title]=x', 'where'],
      ['_limit=1', '_limit'],
      ['status=draft', 'status'],
      ['pagination[foo]=1', 'pagination.foo'],
      ['pagination[pagesize]=1', 'pagination.pagesize'],
      ['pagination=5', 'pagination'],
      ['sort[constructor]=asc', 'sort.constructor'],
    ])('RQ13, Q14: %s has no effect and is named', async (query, named) => {
      expect(await world.ids(`/api/films?${query}`)).toEqual(all);
      expect(await leftOut(`/api/films?${query}`)).toBe(named);
    });

    it('F5: fields accepts column names', async () => {
      const { data } = await world.read<Entry>('/api/films/1?fields=created_at');
      expect(Object.keys(data.attributes)).toEqual(['createdAt']);
      expect(await leftOut('/api/films/1?fields=created_at')).toBeNull();
    });
  });

  it.each([
    // v4 refuses these too
    ['fields=nope', 'fields'],
    ['fields=director', 'fields'],
    ['filters[nope]=1', 'filters[nope]'],
    ['filters[id][$nope]=1', 'filters[id][$nope]'],
    ['filters[director][$nope]=1', 'filters[director][$nope]'],
    ['filters[$nope][title]=1', 'filters[$nope]'],
    ['filters[director][updated_at]=1', 'filters[director][updated_at]'],
    ['sort=nope', 'sort'],
    ['sort=director', 'sort'],
    ['pagination[withCount]=yes', 'pagination[withCount]'],
    ['populate[director][fields]=nope', 'populate[director][fields]'],
    ['populate[director][filters][nope]=1', 'populate[director][filters][nope]'],
    ['populate[director][sort]=nope', 'populate[director][sort]'],
    ['page=2', 'page'],
    // 500 in v4
    ['filters[title][$eq][$eq]=x', 'filters[title][$eq]'],
    ['filters[title][year]=x', 'filters[title][year]'],
    ['filters[title][$jsonSupersetOf]=x', 'filters[title][$jsonSupersetOf]'],
    ['filters[year]=abc', 'filters[year]'],
    ['filters=x', 'filters'],
    ['sort=created_at', 'sort'],
    ['sort=title:up', 'sort'],
    ['fields=', 'fields'],
    ['pagination[page]=abc', 'pagination[page]'],
    ['publicationState=nope', 'publicationState'],
    ['populate[director]=false&populate[director][fields]=name', 'populate[director]'],
    ['populate[director][filters]=x', 'populate[director][filters]'],
    // v4 leaks drafts here (DR9); counts the limit over all parents together (Q15); reads only half of the key
    ['publicationState', 'publicationState'],
    ['populate[genres][limit]=1', 'populate[genres][limit]'],
    ['populate[genres][start]=1', 'populate[genres][start]'],
    ['filters[title][$eq=x', 'filters[title][$eq'],
    ['filters[title]x=y', 'filters[title]x'],
    ['filters[title=x', 'filters[title'],
    ['sort[0=title', 'sort[0'],
    ['[filters][title]=x', '[filters][title]'],
  ])('Q16: %s is refused in lenient mode too', async (query, at) => {
    const { headers } = await world.get(`/api/films?${query}`);
    expect(headers['dovetail-ignored']).toBeUndefined();
    expect(await world.refusal(`/api/films?${query}`)).toMatchObject({ status: 400, at });
  });

  describe('the header', () => {
    it('Q16: is also set on cached responses and on 304', async () => {
      const url = '/api/films?fields=id&populate=nope';
      const { headers } = await world.get(url);
      expect(headers['dovetail-ignored']).toBe('populate.nope');
      expect(await leftOut(url)).toBe('populate.nope');
      const unchanged = await world.get(url, { 'if-none-match': String(headers['etag']) });
      expect([unchanged.status, unchanged.headers['dovetail-ignored']]).toEqual([304, 'populate.nope']);
    });

    it('Q16: names each name once, and is readable for pages of other origins', async () => {
      const { headers } = await world.get('/api/films?populate=nope,director.nope,nope&populate=nope', {
        origin: 'https://a.example',
      });
      expect(headers['dovetail-ignored']).toBe('populate.nope, populate.director.nope');
      expect(headers['access-control-expose-headers']).toContain('Dovetail-Ignored');
    });

    it('Q16: contains safe characters only, and its length is bounded', async () => {
      expect(await leftOut(`/api/films?populate=${encodeURIComponent('naïve name\r\nX: y')}`)).toBe(
        'populate.na%C3%AFve%20name%0D%0AX:%20y',
      );
      const long = await leftOut(`/api/films?populate=${'x'.repeat(5_000)}`);
      expect(long).toBe(`populate.${'x'.repeat(limits.leftOutNameMax - 9)}...`);
      const names = Array.from({ length: 200 }, (_none, i) => `name${i}`);
      const many = String(await leftOut(`/api/films?populate=${names.join()}`));
      expect(many.split(', ')).toEqual([...names.slice(0, limits.leftOutMax).map((it) => `populate.${it}`), '...']);
      const longNames = names.slice(0, 50).map((it) => it.padEnd(90, 'x'));
      const cut = String(await leftOut(`/api/films?populate=${longNames.join()}`));
      expect(cut.length).toBeLessThan(limits.leftOutHeaderMax + 10);
      expect(cut).toMatch(/, \.\.\.$/);
    });

    it('Q16: is kept on a response that a handler modifies', async () => {
      const handlers = new Map([
        ['api::film.film', { find: async ({ next }: Step) => ({ made: (await next()).json() }) }],
      ]);
      const server = await newTestServer(world.db, world.model, { strict: false }, undefined, { handlers });
      try {
        const { body, headers } = await server.get('/api/films?fields=id&populate=nope');
        expect(Object.keys(body as object)).toEqual(['made']);
        expect(headers['dovetail-ignored']).toBe('populate.nope');
      } finally {
        await server.close();
      }
    });

    it('is for requests only: what project code gets wrong is refused, and nothing is written', async () => {
      const handlers = new Map([
        [
          'api::film.film',
          {
            find: ({ content }: Step) => content.create('api::genre.genre', { name: 'Lost', nme: 'Lost' }),
            findOne: ({ content }: Step) => content.update('api::genre.genre', 1, { nme: 'Lost' }),
          },
        ],
      ]);
      const server = await newTestServer(world.db, world.model, { strict: false }, undefined, { handlers });
      try {
        for (const url of ['/api/films', '/api/films/1']) {
          const { status, body } = await server.get(url);
          expect(status).toBe(400);
          expect(body).toMatchObject({
            error: { message: 'nme: genre has no attribute "nme". Did you mean "name"?' },
          });
        }
        const { text } = await server.get('/api/genres?pagination[pageSize]=100');
        expect(text).not.toContain('Lost');
      } finally {
        await server.close();
      }
    });

    it('Q16: is absent if everything had effect', async () => {
      expect(await leftOut('/api/films?populate=director&utm_source=x')).toBeNull();
    });
  });
});

describe('the log of lenient mode', () => {
  const world = useWorld('sqlite');

  it('Q16: has one line for each name, with the message of strict mode', async () => {
    const lines: { ignored?: string; path?: string; msg: string }[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const app = await newServer({ ...newTestDeps(world.db, world.model, { strict: false }), logger });
    try {
      for (const url of [
        '/api/films?populate=directr',
        '/api/films/1?populate=directr,nope',
        '/api/films?populate=nope',
      ])
        expect((await app.inject({ url })).statusCode).toBe(200);
      expect(lines.map(({ ignored, path, msg }) => ({ ignored, path, msg }))).toEqual([
        {
          ignored: 'populate.directr',
          path: '/api/films',
          msg: 'populate.directr had no effect (api.strict is false): Invalid parameter populate: film has no attribute "directr". Did you mean "director"?',
        },
        {
          ignored: 'populate.nope',
          path: '/api/films/1',
          msg: expect.stringMatching(
            /^populate\.nope had no effect \(api\.strict is false\): Invalid parameter populate: film has no attribute "nope"\. Expected one of (?!.*title).*director/,
          ),
        },
      ]);
    } finally {
      await app.close();
    }
  });

  it('Q16: stops after a maximum number of names', async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    const app = await newServer({ ...newTestDeps(world.db, world.model, { strict: false }), logger });
    try {
      for (let i = 0; i <= limits.leftOutLoggedMax + 50; i += limits.leftOutMax) {
        const names = Array.from({ length: limits.leftOutMax }, (_none, n) => `name${i + n}`);
        await app.inject({ url: `/api/films?fields=id&populate=${names.join()}` });
      }
      expect(lines.length).toBe(limits.leftOutLoggedMax + 1);
      expect(lines.at(-1)).toContain('more names had no effect than are logged');
    } finally {
      await app.close();
    }
  });
});

describe.each(dialects)('strict mode on %s', (dialect) => {
  const world = useWorld(dialect);

  it('Q16: ignores nothing', async () => {
    for (const query of ['populate=nope', 'filter[title]=x', 'filters[title][$nope]=x']) {
      const { status, headers } = await world.get(`/api/films?${query}`);
      expect([status, headers['dovetail-ignored']]).toEqual([400, undefined]);
    }
  });
});
