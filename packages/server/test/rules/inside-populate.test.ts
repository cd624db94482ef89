/** Q8: fields, filters and sort of a populated relation. */
import { describe, expect, it } from 'vitest';
import { dialects, type Entry, idsIn, useWorld } from '../world/world.js';

describe.each(dialects)('inside populate on %s', (dialect) => {
  const world = useWorld(dialect);
  const nullsFirst = dialect === 'sqlite';
  const attributes = async (url: string): Promise<Record<string, unknown>> =>
    (await world.read<Entry>(url)).data.attributes;
  /** Ids of one populated attribute. */
  const populated = async (entry: string, name: string, options: string): Promise<unknown> =>
    idsIn((await attributes(`/api/${entry}?fields=id&${options.replaceAll('@', `populate[${name}]`)}`))[name]);

  it('Q8: fields, filters and sort together', async () => {
    expect(
      await attributes(
        '/api/films/1?fields=title&populate[genres][fields][0]=name&populate[genres][filters][order][$eq]=2&populate[genres][sort][0]=name:asc',
      ),
    ).toEqual({
      title: 'Éclair',
      genres: {
        data: [
          { id: 1, attributes: { name: 'Drama' } },
          { id: 5, attributes: { name: 'Short' } },
        ],
      },
    });
  });

  it.each([
    ['films/1', 'genres', '@[filters][name][$eq]=Drama', [1]],
    ['films/1', 'genres', '@[filters][name]=Drama', [1]],
    ['films/1', 'genres', '@[filters][name][$ne]=Drama', [5, 2]],
    ['films/1', 'genres', '@[filters][order][$gte]=1&@[filters][order][$lt]=2', [2]],
    ['films/1', 'genres', '@[filters][$or][0][name]=Drama&@[filters][$or][1][name]=Short', [5, 1]],
    ['films/1', 'genres', '@[filters][id][$in][0]=2&@[filters][id][$in][1]=5', [5, 2]],
    ['films/1', 'genres', '@[filters][name]=nobody', []],
    ['films/1', 'genres', '@[filters][parent][name]=Drama', [2]],
    ['films/1', 'genres', '@[filters][$not][parent][$null]=true', [2]],
    ['films/1', 'genres', '@[filters]', [5, 1, 2]],
    ['films/1', 'director', '@[filters][name][$startsWith]=Zo', 1],
    ['films/1', 'director', '@[filters][name]=nobody', null],
    // the filter leaves one of two rows
    ['films/5', 'director', '@[filters][name]=émile', 3],
    ['films/1', 'reels', '@[filters][frames][$null]=true', [2]],
    ['films/1', 'stills', '@[filters][name][$endsWith]=.pdf', [3]],
    ['films/1', 'poster', '@[filters][name]=scan.pdf', null],
    ['films/1', 'stills', '@[filters][name]=nope', null],
  ])('Q8: %s populates %s with %s', async (entry, name, options, expected) => {
    expect(await populated(entry, name, options)).toEqual(expected);
  });

  it.each([
    ['credit', '@[filters][role]=Auteur', { id: 1, role: 'Auteur', billing: 1 }],
    ['credit', '@[filters][role]=nobody', null],
    [
      'facts',
      '@[filters][text][$contains]=a&@[filters][text][$ne]=gamma',
      [
        { id: 1, text: 'alpha' },
        { id: 2, text: 'beta' },
      ],
    ],
    ['facts', '@[filters][source][title]=éclair de lune', [{ id: 1, text: 'alpha' }]],
    [
      'facts',
      '@[sort]=text:desc',
      [
        { id: 3, text: 'gamma' },
        { id: 2, text: 'beta' },
        { id: 1, text: 'alpha' },
      ],
    ],
  ])('Q8: the component %s with %s', async (name, options, expected) => {
    expect((await attributes(`/api/films/1?${options.replaceAll('@', `populate[${name}]`)}`))[name]).toEqual(expected);
  });

  it.each([
    ['films/1', 'genres', '@[sort]=name', [2, 1, 5]],
    ['films/1', 'genres', '@[sort]=name:desc', [5, 1, 2]],
    ['films/1', 'genres', '@[sort][0]=name:DESC', [5, 1, 2]],
    ['films/1', 'genres', '@[sort][name]=desc', [5, 1, 2]],
    ['films/1', 'genres', '@[sort][0]=order:desc&@[sort][1]=name:desc', [5, 1, 2]],
    ['films/1', 'genres', '@[sort][0]=order&@[sort][1]=name', [2, 1, 5]],
    ['films/1', 'genres', '@[sort]=order,name:desc', [2, 5, 1]],
    ['films/1', 'genres', '@[sort]=id', [1, 2, 5]],
    ['genres/1', 'films', '@[sort]=director.name', [3, 1, 2]],
    ['films/1', 'stills', '@[sort]=name:desc', [3, 1, 2]],
    ['films/1', 'similar', '@[sort]=title', [3, 5, 2]],
    ['films/1', 'similar', '@[sort]=title:desc', [2, 5, 3]],
  ])('Q8: %s populates %s in the order %s', async (entry, name, options, expected) => {
    expect(await populated(entry, name, options)).toEqual(expected);
  });

  it('Q8: ties of a sort keep the stored order', async () => {
    // genres 5 and 1 have the order 2
    expect(await populated('films/1', 'genres', '@[sort]=order:desc')).toEqual([5, 1, 2]);
    expect(await populated('films/1', 'genres', '@[sort]=order:asc')).toEqual([2, 5, 1]);
  });

  it('Q8: NULL in a sorted column is placed where the database puts it (SO5)', async () => {
    const [first, last] = [
      [3, 2],
      [2, 3],
    ];
    expect(await populated('genres/1', 'children', '@[sort]=order')).toEqual(nullsFirst ? first : last);
    expect(await populated('genres/1', 'children', '@[sort]=order:desc')).toEqual(nullsFirst ? last : first);
  });

  it('Q8: every parent gets its own filtered and sorted list', async () => {
    const { data } = await world.read(
      '/api/films?fields=id&populate[genres][fields]=id&populate[genres][sort]=name&populate[genres][filters][name][$ne]=Short',
    );
    expect(data.map((it) => [it.id, idsIn(it.attributes['genres'])])).toEqual([
      [1, [2, 1]],
      [2, [1]],
      [3, [2, 1]],
      [4, []],
      [5, []],
      [7, []],
      [8, []],
    ]);
  });

  it('Q8: the same sorted selection on two levels is sorted on both', async () => {
    const options = '[sort]=title:desc';
    const found = await attributes(
      `/api/films/2?fields=id&populate[similar]${options}&populate[remakeOf][populate][similar]${options}`,
    );
    expect(idsIn(found['similar'])).toEqual([5]);
    const { data } = found['remakeOf'] as { data: Entry };
    expect(idsIn(data.attributes['similar'])).toEqual([2, 5, 3]);
  });

  it('Q8: options apply to their own level', async () => {
    const { director } = await attributes(
      '/api/films/1?fields=id&populate[director][fields]=name&populate[director][populate][directed][fields]=title&populate[director][populate][directed][filters][year][$lt]=1920&populate[director][populate][pupils][sort]=name:desc&populate[director][populate][pupils][fields]=name',
    );
    expect(director).toEqual({
      data: {
        id: 1,
        attributes: {
          name: 'Zoë Ångström',
          directed: { data: [{ id: 1, attributes: { title: 'Éclair' } }] },
          pupils: {
            data: [
              { id: 3, attributes: { name: 'émile' } },
              { id: 2, attributes: { name: 'Bo' } },
            ],
          },
        },
      },
    });
  });

  it('Q8: entries excluded by a filter are not followed further', async () => {
    const found = await attributes(
      '/api/films/1?fields=id&populate[genres][fields]=id&populate[genres][filters][name]=Drama&populate[genres][populate][children][fields]=name',
    );
    expect(found).toEqual({
      genres: {
        data: [
          {
            id: 1,
            attributes: {
              children: {
                data: [
                  { id: 3, attributes: { name: 'Noir' } },
                  { id: 2, attributes: { name: 'Comedy' } },
                ],
              },
            },
          },
        ],
      },
    });
  });

  it('Q17: root filters through a relation select entries and never narrow the populated lists', async () => {
    const { data } = await world.read(
      '/api/films?fields=id&filters[genres][name]=Comedy&populate[genres][fields]=name',
    );
    expect(data).toEqual([
      {
        id: 1,
        attributes: {
          genres: {
            data: [
              { id: 5, attributes: { name: 'Short' } },
              { id: 1, attributes: { name: 'Drama' } },
              { id: 2, attributes: { name: 'Comedy' } },
            ],
          },
        },
      },
      {
        id: 3,
        attributes: {
          genres: {
            data: [
              { id: 2, attributes: { name: 'Comedy' } },
              { id: 1, attributes: { name: 'Drama' } },
            ],
          },
        },
      },
    ]);
  });

  it('Q8: filters of populate do not select entries of the root', async () => {
    const { meta } = await world.read('/api/films?populate[genres][filters][name]=Comedy');
    expect(meta.pagination).toMatchObject({ total: 7 });
  });

  it.each([
    ['[filters]=text', '[filters]', 'expected an object'],
    ['[filters][nam]=x', '[filters][nam]', 'genre has no attribute "nam". Did you mean "name"?'],
    ['[filters][name][$nope]=x', '[filters][name][$nope]', '"$nope" is not a filter operator'],
    ['[filters][order]=abc', '[filters][order]', '"abc" is not a number'],
    ['[filters][films][titel]=x', '[filters][films][titel]', 'Did you mean "title"?'],
    ['[sort]=nam', '[sort]', 'Did you mean "name"?'],
    ['[sort][0]=name:up', '[sort][0]', '"up" is not a direction; expected asc or desc'],
    ['[sort][name]=sideways', '[sort][name]', '"sideways" is not a direction'],
    ['[sort]=films', '[sort]', '"films" of genre is a relation; name one of its attributes'],
    ['[publicationState]=no', '[publicationState]', '"no" is not a publication state; expected live or preview'],
    ['[populate][films][filters][yeer]=1', '[populate][films][filters][yeer]', 'Did you mean "year"?'],
    ['[count]=xx', '[count]', 'is not a populate option'],
    ['[ordering]=desc', '[ordering]', 'is not a populate option'],
  ])('Q8, Q14: populate[genres]%s is refused', async (option, place, words) => {
    const at = `populate[genres]${place}`;
    const refusal = await world.refusal(`/api/films?populate[genres]${option}`);
    expect(refusal).toMatchObject({ status: 400, name: 'ValidationError', at });
    expect(refusal.message).toContain(`Invalid parameter ${at}: `);
    expect(refusal.message).toContain(words);
  });
});
