/** Q6 and Q7: the shared and the detailed strategy of dynamic zones (Q7). */
import { describe, expect, it } from 'vitest';
import { dialects, type Entry, files, times, useWorld } from '../world/world.js';

const { createdAt, updatedAt } = times;
const file = (id: number) => ({ id, attributes: { ...files[id - 1], createdAt, updatedAt } });
const bo = { id: 2, attributes: { name: 'Bo', nickname: null, born: null, createdAt } };
const quote = (id: number, text: string) => ({ __component: 'blocks.quote', id, text });
const related = { __component: 'blocks.related', id: 1, heading: 'More', text: 'see' };
const gallery = { __component: 'blocks.gallery', id: 1, caption: 'On set' };

describe.each(dialects)('zones on %s', (dialect) => {
  const world = useWorld(dialect);
  const zone = async (query: string, name = 'body'): Promise<unknown> =>
    (await world.read<Entry>(`/api/films/1?fields=id&${query}`)).data.attributes[name];

  it.each([
    'populate=body',
    'populate[body]=true',
    'populate[0]=body',
    'populate[body]=*',
    'populate[body][populate]=',
  ])('Q2: %s shows every element with its scalars, in stored order', async (query) => {
    expect(await zone(query)).toEqual([quote(1, 'Light!'), related, gallery, quote(2, 'under_%')]);
  });

  it('Q2: two zones of one entry are not mixed up', async () => {
    const { data } = await world.read<Entry>('/api/films/1?fields=id&populate=body,aside');
    expect(data.attributes).toEqual({
      body: [quote(1, 'Light!'), related, gallery, quote(2, 'under_%')],
      aside: [quote(3, 'Aside'), { __component: 'blocks.citations', id: 1, text: 'list' }],
    });
  });

  it.each(['populate[body][populate]=*', 'populate[body][populate][0]=*'])(
    'Q6: %s populates relations, media and nested components of every component, one level deep',
    async (query) => {
      const { data } = await world.read<readonly Entry[]>('/api/films?filters[id][$in][0]=1&filters[id][$in][1]=2');
      expect(await zone(query)).toEqual([
        { ...quote(1, 'Light!'), speaker: { data: bo } },
        // the donor is hidden; film 6 is a draft
        { ...related, films: { data: [data[1], data[0]] } },
        { ...gallery, images: { data: [file(3), file(1)] } },
        { ...quote(2, 'under_%'), speaker: { data: null } },
      ]);
    },
  );

  it('Q6: * reaches nested components and nothing inside them', async () => {
    expect(await zone('populate[aside][populate]=*', 'aside')).toEqual([
      {
        ...quote(3, 'Aside'),
        speaker: { data: { id: 3, attributes: { name: 'émile', nickname: 'Em', born: '1911-11-30', createdAt } } },
      },
      {
        __component: 'blocks.citations',
        id: 1,
        text: 'list',
        list: [
          { id: 3, text: 'a' },
          { id: 2, text: 'b' },
        ],
      },
    ]);
  });

  it.each([
    'populate[body][populate]=speaker',
    'populate[body][populate][0]=speaker',
    'populate[body][populate][speaker]=true',
    'populate=body.speaker',
    'populate[0]=body&populate[1]=body.speaker',
  ])('Q6: %s applies to every component that has that name', async (query) => {
    expect(await zone(query)).toEqual([
      { ...quote(1, 'Light!'), speaker: { data: bo } },
      related,
      gallery,
      { ...quote(2, 'under_%'), speaker: { data: null } },
    ]);
  });

  it('Q6: names of several components in one shared list, with options', async () => {
    expect(
      await zone(
        'populate[body][fields]=id&populate[body][populate][speaker][fields]=name&populate[body][populate][images][fields]=name&populate[body][populate][images][sort]=name',
      ),
    ).toEqual([
      { __component: 'blocks.quote', id: 1, speaker: { data: { id: 2, attributes: { name: 'Bo' } } } },
      { __component: 'blocks.related', id: 1 },
      {
        __component: 'blocks.gallery',
        id: 1,
        images: {
          data: [
            { id: 1, attributes: { name: 'poster.png' } },
            { id: 3, attributes: { name: 'scan.pdf' } },
          ],
        },
      },
      { __component: 'blocks.quote', id: 2, speaker: { data: null } },
    ]);
  });

  it('Q6: shared fields and filters need an attribute of every component', async () => {
    expect(await zone('populate[aside][fields]=text', 'aside')).toEqual([
      quote(3, 'Aside'),
      { __component: 'blocks.citations', id: 1, text: 'list' },
    ]);
    expect(await zone('populate[aside][filters][text]=list', 'aside')).toEqual([
      { __component: 'blocks.citations', id: 1, text: 'list' },
    ]);
    // ids of a zone are unique per component only: each table is filtered by id
    expect(await zone('populate[body][filters][id]=1')).toEqual([quote(1, 'Light!'), related, gallery]);
  });

  it('Q7: on returns only the listed components, in stored order', async () => {
    expect(await zone('populate[body][on][blocks.gallery]=true&populate[body][on][blocks.quote]=true')).toEqual([
      quote(1, 'Light!'),
      gallery,
      quote(2, 'under_%'),
    ]);
    expect(await zone('populate[body][on][blocks.related]=true')).toEqual([related]);
    expect(await zone('populate[body][on][blocks.quote][sort]=id:desc')).toEqual([
      quote(1, 'Light!'),
      quote(2, 'under_%'),
    ]);
  });

  it('Q7: a component gets only its own options', async () => {
    expect(
      await zone(
        'populate[body][on][blocks.quote][fields][0]=id&populate[body][on][blocks.quote][populate]=*&populate[body][on][blocks.gallery][populate]=*&populate[body][on][blocks.related][fields][0]=heading',
      ),
    ).toEqual([
      { __component: 'blocks.quote', id: 1, speaker: { data: bo } },
      { __component: 'blocks.related', id: 1, heading: 'More' },
      { ...gallery, images: { data: [file(3), file(1)] } },
      { __component: 'blocks.quote', id: 2, speaker: { data: null } },
    ]);
  });

  it('Q7: fields without populate, and populate without fields', async () => {
    expect(await zone('populate[body][on][blocks.related][fields][0]=heading')).toEqual([
      { __component: 'blocks.related', id: 1, heading: 'More' },
    ]);
    expect(await zone('populate[body][on][blocks.related][populate][films][fields]=title')).toEqual([
      {
        ...related,
        films: {
          data: [
            { id: 2, attributes: { title: 'éclair de lune' } },
            { id: 1, attributes: { title: 'Éclair' } },
          ],
        },
      },
    ]);
  });

  it('Q7: filters of a component exclude elements', async () => {
    expect(
      await zone(
        'populate[body][on][blocks.quote][filters][text][$contains]=_&populate[body][on][blocks.gallery][filters][caption]=nope',
      ),
    ).toEqual([quote(2, 'under_%')]);
  });

  it('Q7: with on, shared options have no effect', async () => {
    expect(
      await zone(
        'populate[body][on][blocks.quote]=true&populate[body][fields]=id&populate[body][populate]=*&populate[body][filters][id]=1',
      ),
    ).toEqual([quote(1, 'Light!'), quote(2, 'under_%')]);
  });

  it('Q7: nested components of an element, level by level', async () => {
    expect(
      await zone(
        'populate[aside][on][blocks.citations][populate][list][populate]=source&populate[aside][on][blocks.citations][populate][list][fields]=text',
        'aside',
      ),
    ).toEqual([
      {
        __component: 'blocks.citations',
        id: 1,
        text: 'list',
        list: [
          { id: 3, text: 'a', source: { data: null } },
          {
            id: 2,
            text: 'b',
            source: {
              data: {
                id: 2,
                attributes: { title: 'éclair de lune', tagline: '', year: 1920, score: 8.25, ...times },
              },
            },
          },
        ],
      },
    ]);
  });

  it.each(['populate[body][on][blocks.quote]=false', 'populate[body][on][blocks.quote]=0'])(
    'Q7: a falsy flag lists nothing: %s',
    async (query) => {
      expect(await zone(query)).toEqual([]);
    },
  );

  it('Q7: in a list of entries each zone stays with its entry', async () => {
    const { data } = await world.read('/api/films?fields=id&populate[body][on][blocks.quote][fields]=text');
    expect(data.map((it) => it.attributes['body'])).toEqual([
      [quote(1, 'Light!'), quote(2, 'under_%')],
      [quote(4, 'Second')],
      [],
      [],
      [],
      [],
      [],
    ]);
  });

  it.each([
    [
      'populate[body][on][blocks.nope]=true',
      'populate[body][on][blocks.nope]',
      '"body" has no component "blocks.nope"',
    ],
    ['populate[body][on][blocks.qoute]=true', 'populate[body][on][blocks.qoute]', 'Did you mean "blocks.quote"?'],
    ['populate[body][on][quote][populate]=*', 'populate[body][on][quote]', 'has no component "quote"'],
    // a component that only the other zone lists
    ['populate[body][on][blocks.citations]=true', 'populate[body][on][blocks.citations]', 'has no component'],
    ['populate[body][on][blocks.nope][fields]=x', 'populate[body][on][blocks.nope]', 'has no component'],
    [
      'populate[body][on][blocks.quote][fields]=txt',
      'populate[body][on][blocks.quote][fields]',
      'Did you mean "text"?',
    ],
    ['populate[body][on][blocks.quote][populate]=images', 'populate[body][on][blocks.quote][populate]', '"images"'],
    ['populate[body][on][blocks.quote][nope]=1', 'populate[body][on][blocks.quote][nope]', 'is not a populate option'],
    [
      'populate[body][on][blocks.quote][on][blocks.quote]=1',
      'populate[body][on][blocks.quote][on]',
      'is not a populate option',
    ],
    ['populate[body][on][blocks.quote]', 'populate[body][on][blocks.quote]', 'expected an object'],
    ['populate[body][on][blocks.quote]=', 'populate[body][on][blocks.quote]', 'is not a boolean'],
    ['populate[body][on][blocks.quote]=maybe', 'populate[body][on][blocks.quote]', 'is not a boolean'],
    ['populate[body][on]=blocks.quote', 'populate[body][on]', 'expected an object'],
    ['populate[body][on]=', 'populate[body][on]', 'expected an object'],
    ['populate[body][on][]=blocks.quote', 'populate[body][on]', 'expected an object'],
    ['populate[director][on][blocks.quote]=true', 'populate[director][on]', 'applies only to dynamic zones'],
    ['populate[facts][on][parts.fact]=true', 'populate[facts][on]', 'applies only to dynamic zones'],
    ['populate[body][populate]=nope', 'populate[body][populate]', 'has no attribute "nope"'],
    [
      'populate[body][populate]=filmz',
      'populate[body][populate]',
      'blocks.related has no attribute "filmz". Did you mean "films"?',
    ],
    ['populate[body][populate]=heading', 'populate[body][populate]', '"heading" of blocks.related is a field'],
    ['populate[body][populate][id]=true', 'populate[body][populate][id]', '"id" of blocks.quote is a field'],
    ['populate[body][populate][speakr]=true', 'populate[body][populate][speakr]', 'Did you mean "speaker"?'],
    ['populate=body.text', 'populate', 'cannot be populated'],
    // not an attribute of every component
    ['populate[body][fields]=text', 'populate[body][fields]', 'blocks.gallery has no attribute "text"'],
    ['populate[body][filters][text]=x', 'populate[body][filters][text]', 'blocks.gallery has no attribute "text"'],
    ['populate[body][sort]=caption', 'populate[body][sort]', 'has no attribute "caption"'],
  ])('Q6, Q7, Q14: %s is refused', async (query, at, words) => {
    const refusal = await world.refusal(`/api/films?${query}`);
    expect(refusal).toMatchObject({ status: 400, name: 'ValidationError', at });
    expect(refusal.message).toContain(`Invalid parameter ${at}: `);
    expect(refusal.message).toContain(words);
  });
});
