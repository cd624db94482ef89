/** Drafts are hidden at every level under live, and shown under preview (DR3, DR2, DR9, DR4, DR5). */
import { describe, expect, it } from 'vitest';
import { dialects, type Entry, useWorld } from '../world/world.js';

const idsOf = (field: unknown): unknown => {
  const { data } = field as { data: Entry | readonly Entry[] | null };
  return Array.isArray(data) ? data.map((it: Entry) => it.id) : data === null ? null : (data as Entry).id;
};

/** Every kind of link to a draft: entry, attribute, result under live, result under preview. */
const links: readonly (readonly [entry: string, name: string, live: unknown, preview: unknown])[] = [
  ['programmes/1', 'opener', null, 6],
  ['programmes/1', 'gala', null, 6],
  ['programmes/1', 'strand', [3, 1], [3, 6, 1]],
  ['programmes/1', 'cycleFilms', [1, 2], [6, 1, 2]],
  ['programmes/1', 'closing', null, 6],
  ['programmes/1', 'keynote', null, 6],
  ['programmes/1', 'extras', [2], [6, 2]],
  ['programmes/1', 'lineup', [1, 3], [1, 6, 3]],
  ['programmes/1', 'backup', null, 6],
  ['films/1', 'galaOf', null, 2],
  ['films/5', 'cycle', null, 2],
  ['films/1', 'keynoteOf', [4], [2, 4]],
  ['films/1', 'programmes', [1], [2, 1]],
  ['films/1', 'backupOf', [4], [2, 4]],
  ['films/1', 'genres', [5, 1, 2], [5, 1, 2, 4]],
  ['films/1', 'doubleBill', null, 6],
  ['films/4', 'answer', null, 9],
  ['films/3', 'answerTo', null, 6],
  ['films/3', 'source', null, 6],
  ['films/4', 'remakeOf', null, 6],
  ['films/1', 'remakes', [2, 3], [2, 6, 3]],
  ['films/5', 'episodes', [4, 7], [4, 6, 7]],
  ['films/1', 'similar', [3, 5, 2], [3, 5, 6, 2]],
  ['films/3', 'influences', [1], [1, 6]],
  ['films/1', 'influenced', [1, 3], [1, 3, 6]],
  ['genres/5', 'parent', null, 4],
  ['genres/1', 'children', [3, 2], [3, 2, 4]],
  ['genres/1', 'films', [3, 1, 2], [3, 1, 6, 2]],
  ['people/2', 'directed', [3, 5], [3, 5, 9]],
  ['reels/3', 'film', null, 6],
  ['house-rules', 'favourite', null, 6],
];

describe.each(dialects)('publication on %s', (dialect) => {
  const world = useWorld(dialect);
  const attributes = async (url: string): Promise<Record<string, unknown>> =>
    (await world.read<Entry>(url)).data.attributes;

  it.each(['', 'publicationState=live'])('DR1: "%s" lists published entries', async (query) => {
    const { data, meta } = await world.read(`/api/films?fields=publishedAt&${query}`);
    expect(data.map((it) => it.id)).toEqual([1, 2, 3, 4, 5, 7, 8]);
    expect(meta.pagination).toMatchObject({ total: 7 });
    expect(data.every((it) => it.attributes['publishedAt'] !== null)).toBe(true);
  });

  it('DR2: preview lists drafts too, with publishedAt null', async () => {
    const { data, meta } = await world.read(
      '/api/films?publicationState=preview&fields[0]=title&fields[1]=publishedAt',
    );
    expect(meta.pagination).toMatchObject({ total: 9 });
    expect(data[5]).toEqual({ id: 6, attributes: { title: 'Lost Draft', publishedAt: null } });
  });

  it('DR1: only drafts', async () => {
    expect(await world.ids('/api/films?publicationState=preview&filters[publishedAt][$null]=true')).toEqual([6, 9]);
    expect(await world.ids('/api/films?filters[publishedAt][$null]=true')).toEqual([]);
  });

  it('DR1: a date in the future counts as published', async () => {
    await world.update('films', 7, 'published_at', 4_102_444_800_000);
    expect(await world.ids('/api/films?filters[title][$contains]=Cat')).toEqual([7]);
  });

  it('DR3: a draft by id is 404 under live and shown under preview', async () => {
    for (const query of ['', '?publicationState=live', '?populate=*'])
      expect(await world.refusal(`/api/films/6${query}`)).toMatchObject({ status: 404, name: 'NotFoundError' });
    expect((await world.read<Entry>('/api/films/6?publicationState=preview&fields=title')).data).toEqual({
      id: 6,
      attributes: { title: 'Lost Draft' },
    });
    expect((await world.read<Entry>('/api/films/1?publicationState=preview&fields=title')).data.id).toBe(1);
  });

  it('RQ1: a single type that is a draft is 404 unless preview', async () => {
    expect(await world.refusal('/api/lobby')).toMatchObject({ status: 404, name: 'NotFoundError' });
    const { data } = await world.read<Entry>(
      '/api/lobby?publicationState=preview&fields=headline&populate[featured][fields]=id',
    );
    expect(data).toEqual({
      id: 1,
      attributes: {
        headline: 'Soon',
        featured: {
          data: [
            { id: 1, attributes: {} },
            { id: 6, attributes: {} },
          ],
        },
      },
    });
  });

  it('RQ1: a single type without an entry is 404, also under preview', async () => {
    expect(await world.refusal('/api/closure')).toMatchObject({ status: 404, name: 'NotFoundError' });
    expect(await world.refusal('/api/closure?publicationState=preview')).toMatchObject({ status: 404 });
  });

  it.each(links)('DR2: %s %s is %j under live, %j under preview', async (entry, name, live, preview) => {
    expect(idsOf((await attributes(`/api/${entry}?populate=${name}`))[name])).toEqual(live);
    expect(idsOf((await attributes(`/api/${entry}?populate=${name}&publicationState=preview`))[name])).toEqual(preview);
  });

  it.each(links.filter(([entry]) => entry.includes('/')))(
    'DR2: %s %s in a list is %j under live, %j under preview',
    async (entry, name, live, preview) => {
      const [types, id] = entry.split('/');
      const list = `/api/${types}?filters[id]=${id}&populate[${name}]=true`;
      expect(idsOf((await world.read(list)).data[0]?.attributes[name])).toEqual(live);
      expect(idsOf((await world.read(`${list}&publicationState=preview`)).data[0]?.attributes[name])).toEqual(preview);
    },
  );

  it('DR4: drafts stay hidden in components, three levels down, and in zones', async () => {
    const query =
      'fields=id&populate[credit][populate][awards][populate][citation][populate]=source&populate[facts][populate]=source&populate[body][populate]=films';
    const found = async (state: string) => {
      const { credit, facts, body } = (await attributes(`/api/films/1?${query}${state}`)) as unknown as {
        credit: { awards: readonly { citation: { source: unknown } | null }[] };
        facts: readonly { source: unknown }[];
        body: readonly { films?: unknown }[];
      };
      return [
        idsOf(credit.awards[1]?.citation?.source),
        facts.map((it) => idsOf(it.source)),
        body.filter((it) => it.films).map((it) => idsOf(it.films)),
      ];
    };
    expect(await found('')).toEqual([null, [null, 2, null], [[2, 1]]]);
    expect(await found('&publicationState=preview')).toEqual([6, [6, 2, null], [[2, 6, 1]]]);
  });

  it('DR4: drafts stay hidden behind the detailed strategy of a zone', async () => {
    const list = '/api/films?filters[id]=1&fields=id&populate[body][on][blocks.related][populate]=*';
    const shown = async (url: string): Promise<unknown> => {
      const { data } = await world.read<readonly { attributes: { body: readonly { films: unknown }[] } }[]>(url);
      return idsOf(data[0]?.attributes.body[0]?.films);
    };
    expect(await shown(list)).toEqual([2, 1]);
    expect(await shown(`${list}&publicationState=preview`)).toEqual([2, 6, 1]);
  });

  it('DR4: deep populate returns no draft at any level, even around a cycle', async () => {
    const { text } = await world.get(
      '/api/programmes?populate[lineup][populate][genres][populate][films][populate][remakes][populate]=*&populate[strand][populate]=*&populate[opener][populate]=*',
    );
    expect(text).toContain('Éclair');
    expect(text).not.toMatch(/Lost Draft|Second Draft|Hidden Genre|Draft Night/);
  });

  it('DR4: entries linked from a draft are not reached through it', async () => {
    // film 4 is a remake of draft 6, which has a director
    expect((await attributes('/api/films/4?fields=id&populate[remakeOf][populate]=director'))['remakeOf']).toEqual({
      data: null,
    });
  });

  it.each([
    ['filters[source][title]=Lost Draft', [], [3]],
    ['filters[genres][name]=Hidden Genre', [], [1]],
    ['filters[genres][id]=4', [], [1]],
    ['filters[remakeOf]=6', [], [4]],
    ['filters[remakeOf][$notNull]=true', [2, 3], [2, 3, 4, 6]],
    ['filters[answerTo][$null]=true', [1, 3, 4, 5, 7, 8], [1, 4, 5, 6, 7, 8]],
    ['filters[galaOf][name]=Draft Night', [], [1]],
    ['filters[credit][awards][citation][source][title]=Lost Draft', [], [1]],
    ['filters[influenced][source][title]=Lost Draft', [], [1, 6]],
    ['filters[similar][genres][name]=Drama&filters[similar][id]=6', [], [1]],
  ])('DR5: %s finds %j under live, %j under preview', async (query, live, preview) => {
    expect(await world.ids(`/api/films?${query}`)).toEqual(live);
    expect(await world.ids(`/api/films?${query}&publicationState=preview`)).toEqual(preview);
  });

  it('DR5: drafts stay hidden in filters of populate', async () => {
    const query =
      '/api/genres/1?fields=id&populate[films][fields]=id&populate[films][filters][source][title]=Lost Draft';
    expect(idsOf((await attributes(query))['films'])).toEqual([]);
    expect(idsOf((await attributes(`${query}&publicationState=preview`))['films'])).toEqual([3]);
  });

  it('DR4: publicationState of a populated relation applies from there on', async () => {
    const found = await attributes(
      '/api/films/1?fields=id&populate[similar][fields]=id&populate[similar][publicationState]=preview&populate[similar][populate][genres][fields]=id&populate[remakes][fields]=id',
    );
    expect(idsOf(found['similar'])).toEqual([3, 5, 6, 2]);
    expect(idsOf(found['remakes'])).toEqual([2, 3]);
    const hidden = await attributes(
      '/api/films/1?fields=id&publicationState=preview&populate[similar][publicationState]=live&populate[remakes][fields]=id',
    );
    expect(idsOf(hidden['similar'])).toEqual([3, 5, 2]);
    expect(idsOf(hidden['remakes'])).toEqual([2, 6, 3]);
  });

  it.each(['films', 'films/1', 'house-rules', 'people'])('DR9: on %s any other state is refused', async (entry) => {
    for (const query of [
      'publicationState',
      'publicationState=',
      'publicationState=nope',
      'publicationState=LIVE',
      'publicationState[0]=live&publicationState[1]=preview',
      'publicationState[a]=live',
      'publicationState=live&publicationState=preview',
    ]) {
      expect(await world.refusal(`/api/${entry}?${query}`)).toMatchObject({
        status: 400,
        name: 'ValidationError',
        at: 'publicationState',
        message: expect.stringContaining('expected live or preview'),
      });
    }
    const twice = await world.refusal(`/api/${entry}?publicationState=preview&publicationState=preview`);
    expect(twice.message).toBe('Invalid parameter publicationState: expected live or preview, as a single value');
  });
});
