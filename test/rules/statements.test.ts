/** Statements per request, counted exactly: they grow with populated edges, never with entries. */
import { describe, expect, it } from 'vitest';
import { dialects, useWorld } from '../world/world.js';

/** Each answer reads the snapshot's version once; then: */
const version = 1;
const page = 1;
const count = 1;

describe.each(dialects)('statements on %s', (dialect) => {
  const world = useWorld(dialect, { answersBytesMax: 0 });
  const counted = async (url: string): Promise<number> => (await world.statements(url)).length;

  it.each([
    ['/api/films', version + page + count],
    ['/api/films?fields=id&sort=director.name&filters[genres][name]=Drama', version + page + count],
    ['/api/films?pagination[withCount]=false', version + page],
    ['/api/films/1', version + page],
    ['/api/house-rules', version + page],
    ['/api/films?filters[title]=nothing&populate=*', version + page + count],
    // a populated relation: its links and its entries
    ['/api/films?populate=director', version + page + count + 2],
    ['/api/films/1?populate=director', version + page + 2],
    // two levels
    ['/api/films?populate=director.mentor', version + page + count + 4],
    // poster and stills share a table, and the files of both are read together
    ['/api/films/1?populate=poster,stills', version + page + 2],
    // one statement for the rows of both zones, one for each component
    ['/api/films/1?populate=body,aside', version + page + 1 + 4],
    ['/api/films/1?populate[body][on][blocks.quote]=true', version + page + 2],
  ])('%s runs %i', async (url, expected) => {
    expect(await counted(url)).toBe(expected);
  });

  it.each(['/api/films?fields=nope', '/api/films/abc', '/api/donors', '/api/nothing'])(
    'what is refused costs no statement: %s',
    async (url) => {
      expect(await world.statements(url)).toEqual([]);
    },
  );

  it('their number and their texts do not depend on how many entries there are', async () => {
    const urls = [
      '/api/people?pagination[pageSize]=100&populate=pupils.mentor.directed',
      '/api/films?pagination[pageSize]=100&populate=*',
      '/api/films?pagination[pageSize]=100&populate[director][populate]=*&populate[credit][populate]=awards.citation',
    ];
    const before: (readonly string[])[] = [];
    for (const url of urls) before.push(await world.statements(url));
    const people = Array.from({ length: 40 }, (_none, i) => ({ id: 1000 + i, name: `Person ${i}` }));
    await world.insert('people', people);
    await world.insert(
      'people_mentor_links',
      people.map(({ id }, i) => ({ id, person_id: id, inv_person_id: 1 + (i % 5), person_order: i })),
    );
    await world.insert(
      'films',
      people.map(({ id }) => ({ id, title: `Film ${id}`, published_at: 1_700_000_000_000 })),
    );
    await world.insert(
      'films_director_links',
      people.map(({ id }, i) => ({ id, film_id: id, person_id: id, film_order: i })),
    );
    for (const [i, url] of urls.entries()) {
      expect((await world.read(url)).data.length).toBeGreaterThan(40);
      expect(await world.statements(url)).toEqual(before[i]);
    }
  });

  it('the page, its children and its grandchildren are read in one snapshot each: one version per answer', async () => {
    const texts = await world.statements('/api/films?populate[director][populate]=*');
    expect(texts.filter((it) => it === world.db.dialect.snapshotVersion.sql)).toHaveLength(1);
  });
});

describe.each(dialects)('statements with kept answers on %s', (dialect) => {
  const world = useWorld(dialect);

  it('a kept answer costs the look at the version; a change costs the whole answer once', async () => {
    const url = '/api/films?populate=director';
    expect(await world.statements(url)).toHaveLength(5);
    expect(await world.statements(url)).toEqual([world.db.dialect.snapshotVersion.sql]);
    await world.update('people', 1, 'nickname', 'Zed');
    expect(await world.statements(url)).toHaveLength(6);
    expect(await world.statements(url)).toHaveLength(1);
  });
});
