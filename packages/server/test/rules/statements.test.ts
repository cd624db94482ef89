/**
 * Statements per request, counted exactly: they grow with populated edges, never with entries. On PostgreSQL one statement
 * contains them all; SQLite renders most entries inside the statements of those that show them.
 */
import { describe, expect, it } from 'vitest';
import { dialects, useWorld, versionLook } from '../world/world.js';

const page = 1;
const count = 1;

describe.each(dialects)('statements on %s', (dialect) => {
  const world = useWorld(dialect, { responseCacheBytesMax: 0 });
  const isUnited = dialect === 'postgres';

  it.each([
    // a page that is not full tells how many entries there are
    ['/api/films', page],
    ['/api/films?pagination[pageSize]=2', page + count],
    ['/api/films?pagination[page]=100', page + count],
    // the entries that meet the filter are read once, for the page and for their number
    ['/api/films?fields=id&sort=director.name&filters[genres][name]=Drama', page],
    ['/api/films?fields=id&sort=director.name', page],
    ['/api/films?pagination[withCount]=false', page],
    ['/api/films/1', page],
    ['/api/house-rules', page],
    ['/api/films?filters[title]=nothing&populate=*', page],
    // a populated relation: its links and its entries
    ['/api/films?populate=director', page],
    ['/api/films/1?populate=director', page],
    // two levels
    ['/api/films?populate=director.mentor', page],
    // several films have one director, whose list is not rendered for each of them: links and directors
    ['/api/films?populate=director.directed', page + 2],
    ['/api/films/1?populate=director.directed', page],
    ['/api/films/1?populate=poster,stills', page],
    ['/api/films/1?populate=body,aside', page],
    ['/api/films/1?populate[body][on][blocks.quote]=true', page],
  ])(`%s runs ${isUnited ? 'one statement instead of %i' : '%i'}`, async (url, expected) => {
    expect(await world.statements(url)).toHaveLength(isUnited ? 1 : expected);
  });

  it.each(['/api/films?fields=nope', '/api/films/abc', '/api/donors', '/api/nothing'])(
    'a refused request costs no statement: %s',
    async (url) => {
      expect(await world.statements(url)).toEqual([]);
    },
  );

  it('their number and their texts do not depend on the number of entries', async () => {
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
});

describe.each(dialects)('statements with cached responses on %s', (dialect) => {
  const world = useWorld(dialect);

  const url = '/api/films?populate=director.directed';
  const read = dialect === 'postgres' ? 1 : page + 2;
  /** PostgreSQL's version is shared by all its databases, and other tests write to theirs meanwhile */
  const attemptsMax = dialect === 'sqlite' ? 1 : 100;
  const costKept = async (): Promise<readonly string[]> => {
    let texts: readonly string[] = [];
    for (let i = 0; i < attemptsMax && texts.length !== 1; i++) texts = await world.statements(url);
    return texts;
  };

  it('equal concurrent requests share one read', async () => {
    const asked = '/api/films?populate=director.directed&sort=id';
    for (let i = 0; i < attemptsMax; i++) {
      // a change: nothing is cached for the next version
      await world.update('people', 1, 'nickname', `Nick ${i}`);
      const texts = await world.statements(asked, 20);
      expect(texts.filter((it) => it === versionLook)).toHaveLength(20);
      if (texts.length === 20 + read) return;
    }
    expect.fail('every attempt took more than one read');
  });

  it('a cached response costs one version query; after a change the response is read once', async () => {
    expect(await world.statements(url)).toHaveLength(1 + read);
    expect(await costKept()).toEqual([versionLook]);
    await world.update('people', 1, 'nickname', 'Zed');
    expect(await world.statements(url)).toHaveLength(1 + read);
    expect(await costKept()).toEqual([versionLook]);
  });
});
