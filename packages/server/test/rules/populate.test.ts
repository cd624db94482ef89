/** Q1 to Q5, Q10, Q11: the forms of populate and its results (Q12, Q14). */
import { describe, expect, it } from 'vitest';
import { dialects, type Entry, files, idsIn, times, useWorld } from '../world/world.js';

const { createdAt, updatedAt } = times;
const file = (id: number) => ({ id, attributes: { ...files[id - 1], createdAt, updatedAt } });
const person = (id: number, name: string, nickname: string | null, born: string | null) => ({
  id,
  attributes: { name, nickname, born, createdAt },
});
const film = (id: number, title: string | null, tagline: string | null, year: number | null, score: number | null) => ({
  id,
  attributes: { title, tagline, year, score, ...times },
});
const films = {
  1: film(1, 'Éclair', 'A pastry, a storm', 1911, 7.5),
  2: film(2, 'éclair de lune', '', 1920, 8.25),
  3: film(3, '100% Wool', null, -44, null),
  5: film(5, 'underXscore', 'ends with %', 1931, -1.5),
};
const people = {
  1: person(1, 'Zoë Ångström', 'Z', '1890-05-01'),
  2: person(2, 'Bo', null, null),
  3: person(3, 'émile', 'Em', '1911-11-30'),
};
const genre = (id: number, name: string, order: number | null) => ({ id, attributes: { name, order, ...times } });
const programme = (id: number, name: string) => ({ id, attributes: { name, ...times } });

describe.each(dialects)('populate on %s', (dialect) => {
  const world = useWorld(dialect);
  const nullsFirst = dialect === 'sqlite';
  const attributes = async (url: string): Promise<Record<string, unknown>> =>
    (await world.read<Entry>(url)).data.attributes;

  it('Q10: without populate no relation, media, component or zone is in the response', async () => {
    expect((await world.get('/api/films/1')).body).toEqual({ data: films[1], meta: {} });
    expect((await world.read('/api/programmes')).data[0]).toEqual(programme(1, 'Opening Night'));
  });

  it.each(['populate=', 'populate', 'populate=false', 'populate=0'])('Q10: %s populates nothing', async (query) => {
    expect((await world.get(`/api/films/1?${query}`)).body).toEqual({ data: films[1], meta: {} });
  });

  it('Q1: * populates everything one level deep, and nothing inside components', async () => {
    const reel = await world.read<Entry>('/api/reels/1');
    const emptyReel = await world.read<Entry>('/api/reels/2');
    expect((await world.get('/api/films/1?populate=*')).body).toEqual({
      data: {
        id: 1,
        attributes: {
          ...films[1].attributes,
          director: { data: people[1] },
          genres: { data: [genre(5, 'Short', 2), genre(1, 'Drama', 2), genre(2, 'Comedy', 1)] },
          reels: { data: [emptyReel.data, reel.data] },
          poster: { data: file(1) },
          stills: { data: [file(2), file(1), file(3)] },
          credit: { id: 1, role: 'Auteur', billing: 1 },
          facts: [
            { id: 3, text: 'gamma' },
            { id: 1, text: 'alpha' },
            { id: 2, text: 'beta' },
          ],
          body: [
            { __component: 'blocks.quote', id: 1, text: 'Light!' },
            { __component: 'blocks.related', id: 1, heading: 'More', text: 'see' },
            { __component: 'blocks.gallery', id: 1, caption: 'On set' },
            { __component: 'blocks.quote', id: 2, text: 'under_%' },
          ],
          aside: [
            { __component: 'blocks.quote', id: 3, text: 'Aside' },
            { __component: 'blocks.citations', id: 1, text: 'list' },
          ],
          doubleBill: { data: null },
          answer: { data: films[2] },
          answerTo: { data: null },
          source: { data: null },
          remakeOf: { data: null },
          remakes: { data: [films[2], films[3]] },
          episodes: { data: [] },
          similar: { data: [films[3], films[5], films[2]] },
          influences: { data: [films[2], films[1]] },
          influenced: { data: [films[1], films[3]] },
          galaOf: { data: null },
          cycle: { data: programme(1, 'Opening Night') },
          keynoteOf: { data: [programme(4, 'Matinée')] },
          programmes: { data: [programme(1, 'Opening Night')] },
          backupOf: { data: [programme(4, 'Matinée')] },
        },
      },
      meta: {},
    });
  });

  it('Q1: * on an entry without any links shows the empty values (Q12)', async () => {
    expect(await attributes('/api/films/8?populate=*&fields=id')).toEqual({
      director: { data: null },
      genres: { data: [] },
      reels: { data: [] },
      poster: { data: null },
      // as v4's clients expect it (Q12)
      stills: { data: null },
      credit: null,
      facts: [],
      body: [],
      aside: [],
      doubleBill: { data: null },
      answer: { data: null },
      answerTo: { data: null },
      source: { data: null },
      remakeOf: { data: null },
      remakes: { data: [] },
      episodes: { data: [] },
      similar: { data: [] },
      influences: { data: [] },
      influenced: { data: [] },
      galaOf: { data: null },
      cycle: { data: null },
      keynoteOf: { data: [] },
      programmes: { data: [] },
      backupOf: { data: [] },
    });
  });

  it.each(['populate[0]=*', 'populate[]=*', 'populate[0]=director&populate[1]=*', 'populate=director,*'])(
    'Q1: %s is equivalent to populate=*',
    async (query) => {
      expect((await world.get(`/api/films/1?${query}`)).body).toEqual(
        (await world.get('/api/films/1?populate=*')).body,
      );
    },
  );

  it('Q1: * combined with a dotted name goes deeper for that name', async () => {
    const star = await attributes('/api/films/2?populate=*');
    expect(await attributes('/api/films/2?populate[0]=*&populate[1]=director.portrait')).toEqual({
      ...star,
      director: {
        data: { id: 1, attributes: { ...people[1].attributes, portrait: { data: file(2) } } },
      },
    });
  });

  it.each([
    'populate[0]=director&populate[1]=genres',
    'populate[]=director&populate[]=genres',
    'populate=director&populate=genres',
    'populate=director,genres',
    'populate=director, genres',
    'populate[0]=director,genres',
    'populate[7]=genres&populate[3]=director',
    'populate[101]=genres&populate[0]=director',
    'populate[director]=true&populate[genres]=true',
    'populate[0]=director&populate[1]=genres&populate[2]=director',
  ])('Q2: %s populates the named relations one level deep', async (query) => {
    expect(await attributes(`/api/films/1?${query}`)).toEqual({
      ...films[1].attributes,
      director: { data: people[1] },
      genres: { data: [genre(5, 'Short', 2), genre(1, 'Drama', 2), genre(2, 'Comedy', 1)] },
    });
  });

  it.each(['true', 't', '1', 'TRUE', 'T', '*'])('Q3: the flag %s populates', async (flag) => {
    expect(await attributes(`/api/films/1?fields=id&populate[director]=${flag}`)).toEqual({
      director: { data: people[1] },
    });
  });

  it.each(['false', 'f', '0', 'FALSE'])('Q3: the flag %s does not populate', async (flag) => {
    expect(await attributes(`/api/films/1?fields=id&populate[director]=${flag}&populate[poster]=true`)).toEqual({
      poster: { data: file(1) },
    });
  });

  it.each(['yes', 'null', '2', '', 'on', 'truee'])('Q3: the flag "%s" is refused', async (flag) => {
    expect(await world.refusal(`/api/films?populate[director]=${flag}`)).toEqual({
      status: 400,
      name: 'ValidationError',
      message: `Invalid parameter populate[director]: "${flag}" is not a boolean; expected true, t, 1, false, f or 0`,
      at: 'populate[director]',
      all: ['populate[director]'],
    });
  });

  it('Q4: a relation inside a relation, and so on', async () => {
    expect(
      await attributes(
        '/api/films/2?fields=title&populate[director][populate][0]=pupils&populate[remakeOf][populate][director][populate][mentor]=true&populate[remakeOf][fields]=title',
      ),
    ).toEqual({
      title: 'éclair de lune',
      director: { data: { id: 1, attributes: { ...people[1].attributes, pupils: { data: [people[3], people[2]] } } } },
      remakeOf: {
        data: {
          id: 1,
          attributes: {
            title: 'Éclair',
            director: { data: { id: 1, attributes: { ...people[1].attributes, mentor: { data: null } } } },
          },
        },
      },
    });
  });

  it.each([
    'populate[director][populate]=portrait',
    'populate[director][populate][0]=portrait',
    'populate[director][populate][portrait]=true',
    'populate[director][populate][portrait][populate]=',
    'populate=director.portrait',
    'populate[0]=director.portrait',
    'populate=director,director.portrait',
    'populate=director.portrait.*',
  ])('Q4: %s reaches the second level', async (query) => {
    expect(await attributes(`/api/films/2?fields=id&${query}`)).toEqual({
      director: { data: { id: 1, attributes: { ...people[1].attributes, portrait: { data: file(2) } } } },
    });
  });

  it('Q4: an inner * stays one level deep', async () => {
    const { director } = await attributes('/api/films/2?fields=id&populate[director][populate]=*');
    expect(director).toEqual({
      data: {
        id: 1,
        attributes: {
          ...people[1].attributes,
          portrait: { data: file(2) },
          directed: {
            data: nullsFirst
              ? [film(4, 'under_score', 'back\\slash', 1920, 0), films[2], films[1]]
              : [films[2], films[1], film(4, 'under_score', 'back\\slash', 1920, 0)],
          },
          mentor: { data: null },
          pupils: { data: [people[3], people[2]] },
        },
      },
    });
  });

  it('Q5: components, nested components and their media are listed one by one', async () => {
    expect(await attributes('/api/films/1?fields=id&populate[0]=credit')).toEqual({
      credit: { id: 1, role: 'Auteur', billing: 1 },
    });
    expect(await attributes('/api/films/1?fields=id&populate[0]=credit&populate[1]=credit.awards')).toEqual({
      credit: {
        id: 1,
        role: 'Auteur',
        billing: 1,
        awards: [
          { id: 2, title: 'Gold', year: 1913 },
          { id: 1, title: 'Silver', year: 1912 },
        ],
      },
    });
    expect(
      await attributes(
        '/api/films/1?fields=id&populate[0]=credit&populate[1]=credit.awards&populate[2]=credit.awards.citation&populate[3]=credit.awards.citation.scan&populate[4]=credit.awards.jury&populate[5]=credit.portrait&populate[6]=credit.person&populate[7]=credit.awards.citation.speakers',
      ),
    ).toEqual({
      credit: {
        id: 1,
        role: 'Auteur',
        billing: 1,
        person: { data: people[1] },
        portrait: { data: file(2) },
        awards: [
          { id: 2, title: 'Gold', year: 1913, citation: null, jury: { data: [] } },
          {
            id: 1,
            title: 'Silver',
            year: 1912,
            jury: { data: [people[3], people[1]] },
            citation: {
              id: 1,
              text: 'For light',
              scan: { data: file(3) },
              speakers: { data: [people[2], people[1]] },
            },
          },
        ],
      },
    });
  });

  it('Q5: a dotted path populates every step, whatever the order of the list', async () => {
    const expected = await attributes(
      '/api/films/1?populate[0]=credit&populate[1]=credit.awards&populate[2]=credit.awards.citation',
    );
    expect(await attributes('/api/films/1?populate=credit.awards.citation')).toEqual(expected);
    expect(
      await attributes('/api/films/1?populate[0]=credit.awards.citation&populate[1]=credit.awards&populate[2]=credit'),
    ).toEqual(expected);
  });

  it.each([
    [
      'populate[genres][fields]=id',
      {
        data: [
          { id: 5, attributes: {} },
          { id: 1, attributes: {} },
          { id: 2, attributes: {} },
        ],
      },
    ],
    [
      'populate[genres][fields][0]=id',
      {
        data: [
          { id: 5, attributes: {} },
          { id: 1, attributes: {} },
          { id: 2, attributes: {} },
        ],
      },
    ],
  ])('Q11: even %s returns entries, not ids', async (query, expected) => {
    expect((await attributes(`/api/films/1?${query}`))['genres']).toEqual(expected);
  });

  it('Q11: no option returns ids only', async () => {
    for (const option of ['ids', 'idsOnly', 'count', 'select'])
      expect(await world.refusal(`/api/films?populate[genres][${option}]=true`)).toMatchObject({
        status: 400,
        at: `populate[genres][${option}]`,
      });
  });

  describe('order and irregularities of stored links (ST8, ST10)', () => {
    it.each([
      ['genres', 'films/1', [5, 1, 2], 'a tie of ranks goes by the target'],
      ['genres', 'films/3', [2, 1], 'not by id'],
      ['films', 'genres/1', [3, 1, 2], 'the inverse side has an order of its own'],
      ['directed', 'people/2', [3, 5], 'a tie on the inverse side of many-to-one'],
      ['reels', 'films/1', [2, 1], 'one-to-many'],
      ['similar', 'films/1', [3, 5, 2], 'many-to-many to the own type'],
      ['influences', 'films/1', [2, 1], 'an entry may be related to itself'],
      ['influenced', 'films/1', [1, 3], 'and stands in the inverse list'],
      ['episodes', 'films/5', [4, 7], 'one-to-many to the own type'],
      ['remakes', 'films/1', [2, 3], 'one-to-many pair of the own type'],
      ['children', 'genres/1', [3, 2], 'a tree'],
      ['strand', 'programmes/1', [3, 1], 'many-ways'],
      ['stills', 'films/1', [2, 1, 3], 'media, with a tie'],
    ])('%s of %s is %j: %s', async (name, entry, expected) => {
      expect(idsIn((await attributes(`/api/${entry}?populate=${name}`))[name])).toEqual(expected);
    });

    it('links without a rank are sorted where the database puts NULL (SO5)', async () => {
      expect(idsIn((await attributes('/api/people/1?populate=directed'))['directed'])).toEqual(
        nullsFirst ? [4, 2, 1] : [2, 1, 4],
      );
      expect(idsIn((await attributes('/api/people/3?populate=pupils'))['pupils'])).toEqual(
        nullsFirst ? [4, 5] : [5, 4],
      );
      expect((await attributes('/api/films/2?populate=facts'))['facts']).toEqual(
        nullsFirst
          ? [
              { id: 5, text: 'without rank' },
              { id: 6, text: 'ranked' },
            ]
          : [
              { id: 6, text: 'ranked' },
              { id: 5, text: 'without rank' },
            ],
      );
    });

    it.each([
      ['director', 'films/5', 2],
      ['poster', 'films/2', 2],
    ])('%s of %s has two rows: the lowest target id is shown, %i', async (name, entry, expected) => {
      expect(idsIn((await attributes(`/api/${entry}?populate=${name}`))[name])).toEqual(expected);
    });

    it('a single component with two rows shows the lowest id', async () => {
      expect((await attributes('/api/films/4?populate=credit'))['credit']).toEqual({
        id: 3,
        role: 'Editor',
        billing: 3,
      });
    });

    it('Q18: rows of deleted components, or of a component that the schema file does not list, are skipped', async () => {
      expect((await attributes('/api/films/3?populate=credit'))['credit']).toBeNull();
      const { facts, body } = await attributes('/api/films/1?populate=facts,body');
      expect((facts as readonly { id: number }[]).map((it) => it.id)).toEqual([3, 1, 2]);
      expect(body).toHaveLength(4);
    });

    it('Q18: an entry reached by several links is complete in each place', async () => {
      const found = await attributes('/api/films/1?fields=id&populate=answer,remakes,similar,influences');
      const second = films[2];
      expect(found).toEqual({
        answer: { data: second },
        remakes: { data: [second, films[3]] },
        similar: { data: [films[3], films[5], second] },
        influences: { data: [second, films[1]] },
      });
    });

    it('lists with common targets: each parent gets its own list', async () => {
      const { data } = await world.read('/api/films?fields=id&populate[genres][fields]=id');
      expect(data.map((it) => [it.id, idsIn(it.attributes['genres'])])).toEqual([
        [1, [5, 1, 2]],
        [2, [1]],
        [3, [2, 1]],
        [4, []],
        [5, []],
        [7, []],
        [8, []],
      ]);
    });
  });

  it.each([
    ['opener', null, 'one-way'],
    ['gala', null, 'one-to-one'],
    ['strand', [], 'many-ways'],
    ['cycleFilms', [], 'one-to-many'],
    ['closing', null, 'many-to-one'],
    ['keynote', null, 'many-to-one'],
    ['extras', [], 'many-to-many'],
    ['lineup', [], 'many-to-many'],
    ['backup', null, 'many-to-one in a column'],
  ])('Q12: %s is empty as %j (%s)', async (name, empty, _kind) => {
    expect(await attributes(`/api/programmes/3?fields=id&populate=${name}`)).toEqual({ [name]: { data: empty } });
  });

  it.each([
    ['programmes/4', 'opener', 1],
    ['programmes/4', 'gala', 3],
    ['films/3', 'galaOf', 4],
    ['films/1', 'cycle', 1],
    ['programmes/1', 'cycleFilms', [1, 2]],
    ['programmes/4', 'closing', 1],
    ['programmes/4', 'keynote', 1],
    ['films/1', 'keynoteOf', [4]],
    ['programmes/1', 'extras', [2]],
    ['programmes/1', 'lineup', [1, 3]],
    ['films/1', 'programmes', [1]],
    ['programmes/4', 'backup', 1],
    ['films/1', 'backupOf', [4]],
    ['films/2', 'answerTo', 1],
    ['films/2', 'doubleBill', 3],
    ['films/4', 'source', 1],
    ['films/3', 'remakeOf', 1],
  ])('Q2: every relation kind, both sides: %s populates %s as %j', async (entry, name, expected) => {
    expect(idsIn((await attributes(`/api/${entry}?populate[0]=${name}`))[name])).toEqual(expected);
  });

  it('Q12: single types populate too', async () => {
    expect((await world.get('/api/house-rules?populate=contact')).body).toEqual({
      data: { id: 1, attributes: { text: 'No food.', createdAt, updatedAt, contact: { data: people[1] } } },
      meta: {},
    });
  });

  it('Q15: populate and pagination of the root list can be combined', async () => {
    const { data, meta } = await world.read(
      '/api/films?fields=id&populate[director][fields]=name&pagination[page]=2&pagination[pageSize]=2',
    );
    expect(data).toEqual([
      { id: 3, attributes: { director: { data: { id: 2, attributes: { name: 'Bo' } } } } },
      { id: 4, attributes: { director: { data: { id: 1, attributes: { name: 'Zoë Ångström' } } } } },
    ]);
    expect(meta).toEqual({ pagination: { page: 2, pageSize: 2, pageCount: 4, total: 7 } });
  });

  it.each([
    ['populate=genre', 'populate', 'film has no attribute "genre". Did you mean "genres"?'],
    ['populate[0]=director&populate[1]=Genres', 'populate[1]', 'Did you mean "genres"?'],
    ['populate[nope]=true', 'populate[nope]', 'film has no attribute "nope"'],
    ['populate=director.*.portrait', 'populate', 'person has no attribute "*"'],
    ['populate[nope]=false', 'populate[nope]', 'film has no attribute "nope"'],
    ['populate[nope][fields]=id', 'populate[nope]', 'film has no attribute "nope"'],
    ['populate=title', 'populate', '"title" of film is a field and cannot be populated; use fields'],
    ['populate[title]=true', 'populate[title]', 'cannot be populated'],
    ['populate=director.name', 'populate', '"name" of person is a field'],
    ['populate=director.mentr', 'populate', 'person has no attribute "mentr". Did you mean "mentor"?'],
    ['populate[director][populate][0]=mentr', 'populate[director][populate][0]', 'Did you mean "mentor"?'],
    ['populate[director][populate][mentor][populate]=nope', 'populate[director][populate][mentor][populate]', '"nope"'],
    ['populate[credit][populate]=award', 'populate[credit][populate]', 'Did you mean "awards"?'],
    ['populate[0]', 'populate[0]', 'expected a name or a list of names'],
    ['populate[director]', 'populate[director]', 'expected an object'],
    ['populate=id', 'populate', '"id" of film is a field and cannot be populated; use fields'],
    ['populate[director][0]=mentor', 'populate[director]', 'expected an object'],
    ['populate[director][]=mentor', 'populate[director]', 'expected an object'],
    ['populate[0][director]=true', 'populate[0]', 'expected a name or a list of names'],
    ['populate=director&populate[genres][fields]=name', 'populate', 'given both as a value and as an object'],
    [
      'populate[director]=true&populate[director][fields]=name',
      'populate[director]',
      'given both as a value and as an object',
    ],
    ['populate[0]=director&populate[genres]=true', 'populate[0]', '"director" is not a boolean'],
    ['populate[director][feilds]=name', 'populate[director][feilds]', 'Did you mean "fields"?'],
    ['populate[director][where]=1', 'populate[director][where]', '"where" is not a populate option'],
    ['populate[__proto__]=true', 'populate[__proto__]', 'has no attribute "__proto__"'],
    ['populate=constructor', 'populate', 'has no attribute "constructor"'],
    ['populate=deep', 'populate', 'has no attribute "deep"'],
  ])('Q2 to Q5, Q14, Q13: %s is refused', async (query, at, words) => {
    const refusal = await world.refusal(`/api/films?${query}`);
    expect(refusal).toMatchObject({ status: 400, name: 'ValidationError', at });
    expect(refusal.message).toContain(`Invalid parameter ${at}: `);
    expect(refusal.message).toContain(words);
  });

  it.each([
    'populate[lender][fields]=nam',
    'populate[lender][sort]=nam',
    'populate[lender][filters][nam]=x',
    'populate=lender.nam',
  ])('AC5: %s suggests no name of a type that the caller may not find', async (query) => {
    expect((await world.refusal(`/api/films?${query}`)).message).toMatch(/donor has no attribute "nam"$/);
  });

  it.each([
    'populate[genres][pagination][page]=1',
    'populate[genres][pagination]=1',
    'populate[genres][page]=1',
    'populate[genres][pageSize]=1',
    'populate[genres][start]=1',
    'populate[genres][limit]=1',
    'populate[director][populate][directed][limit]=1',
    'populate[stills][limit]=1',
    'populate[facts][limit]=1',
    'populate[body][start]=1',
    'populate[body][on][blocks.quote][limit]=1',
    'populate[lender][limit]=1',
  ])('Q15: %s is refused', async (query) => {
    const at = query.slice(0, query.indexOf(']=') + 1).replace('[pagination][page]', '[pagination]');
    expect(await world.refusal(`/api/films?${query}`)).toEqual({
      status: 400,
      name: 'ValidationError',
      message: `Invalid parameter ${at}: populate cannot be combined with pagination`,
      at,
      all: [at],
    });
  });
});
