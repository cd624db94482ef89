/** `api.strict: false`: v4's leniency in populate, and nowhere else (contract, decision b). */
import { describe, expect, it } from 'vitest';
import { dialects, type Entry, useWorld } from '../world/world.js';

describe.each(dialects)('lenient mode on %s', (dialect) => {
  const world = useWorld(dialect, { settings: { strict: false } });
  const populated = async (query: string): Promise<readonly string[]> => {
    const { data } = await world.read<Entry>(`/api/films/1?fields=id&${query}`);
    return Object.keys(data.attributes);
  };

  it.each([
    ['populate=nope', []],
    ['populate=nope,director', ['director']],
    ['populate[0]=director&populate[1]=nope', ['director']],
    ['populate[nope]=true&populate[director]=true', ['director']],
    ['populate[nope][populate]=*&populate[director]=true', ['director']],
    ['populate=title', []],
    ['populate[title]=true', []],
    ['populate=director.name', ['director']],
    ['populate=director.nope', ['director']],
    ['populate[director][nope]=x', ['director']],
    ['populate[director][feilds]=name', ['director']],
    ['populate=deep', []],
    ['populate[director][on][x]=true', ['director']],
    ['populate[director]=yes', ['director']],
    ['populate[director]=null', ['director']],
    ['populate[director]=2', ['director']],
    ['populate[director]=', []],
    ['populate[director]=false', []],
  ])('decision b: %s populates %j', async (query, expected) => {
    expect(await populated(query)).toEqual(expected);
  });

  it('contract 4.2: on with an unknown component gives an empty zone, on outside a zone leaves the other options', async () => {
    const of = async (query: string) => (await world.read<Entry>(`/api/films/1?fields=id&${query}`)).data.attributes;
    expect(await of('populate[body][on][blocks.nope]=true')).toEqual({ body: [] });
    expect(await of('populate[body][on][blocks.nope][fields]=x')).toEqual({ body: [] });
    expect(await of('populate[director][on][x]=true&populate[director][fields]=id')).toEqual({
      director: { data: { id: expect.any(Number), attributes: {} } },
    });
  });

  it.each(['filter[title]=x', 'populates=director', 'where[title]=x', '_limit=1', 'status=draft'])(
    'decision i: the near miss %s is ignored',
    async (query) => {
      expect(await populated(query)).toEqual([]);
      expect(await world.ids(`/api/films?${query}`)).toHaveLength(7);
    },
  );

  it.each([
    ['fields=nope', 'fields'],
    ['filters[nope]=1', 'filters[nope]'],
    ['filters[title][$nope]=1', 'filters[title][$nope]'],
    ['sort=nope', 'sort'],
    ['pagination[foo]=1', 'pagination[foo]'],
    ['publicationState=nope', 'publicationState'],
    ['populate[director][fields]=nope', 'populate[director][fields]'],
    ['populate[director][filters][nope]=1', 'populate[director][filters][nope]'],
    ['populate[director][sort]=nope', 'populate[director][sort]'],
    ['populate[genres][limit]=1', 'populate[genres][limit]'],
    ['populate=director&populate[genres]=true', 'populate'],
    ['filters.title=x', 'filters.title'],
  ])('decision b: %s is refused all the same', async (query, at) => {
    expect(await world.refusal(`/api/films?${query}`)).toMatchObject({ status: 400, at });
  });
});
