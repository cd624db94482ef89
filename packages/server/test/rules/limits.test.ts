/** Limits of a request (src/limits.ts): what is refused, and that everything below the limits works. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { refusal } from '../world/server.js';
import { dialects, type Entry, useWorld } from '../world/world.js';

describe.each(dialects)('limits on %s', (dialect) => {
  const world = useWorld(dialect);

  it('a URL up to the limit is read, a longer one is 414', async () => {
    const url = (length: number): string => '/api/films?fields=id&x='.padEnd(length, 'x');
    expect((await world.get(url(limits.urlBytesMax))).status).toBe(200);
    expect((await world.get(url(limits.urlBytesMax + 1))).body).toEqual(
      refusal(414, 'UriTooLongError', `The URL is longer than ${limits.urlBytesMax} bytes`, {
        code: 'http.url-too-long',
      }),
    );
  });

  it('FL17: a list accepts hundreds of values, at any index, and loses none', async () => {
    const list = (count: number): string =>
      Array.from({ length: count }, (_none, i) => `filters[id]=${i + 4}`).join('&');
    expect(await world.ids(`/api/films?${list(500)}`)).toEqual([4, 5, 7, 8]);
    expect(await world.ids(`/api/films?${list(500).replaceAll('filters[id]', 'filters[id][$in]')}`)).toEqual([
      4, 5, 7, 8,
    ]);
    const indexed = Array.from({ length: 150 }, (_none, i) => `filters[id][$notIn][${i}]=${i + 4}`).join('&');
    expect(await world.ids(`/api/films?${indexed}`)).toEqual([1, 2, 3]);
    expect(await world.ids('/api/films?filters[id][$in][100]=4&filters[id][$in][7]=5')).toEqual([4, 5]);
  });

  it('a biginteger of thousands of zeros is parsed at once: two hundred of them fit into the time of a test', async () => {
    const zeros = '0'.repeat(16_000);
    for (let i = 0; i < 200; i++) expect((await world.get(`/api/reels?filters[bytes]=${zeros}x${i}`)).status).toBe(400);
    expect((await world.get(`/api/reels?filters[bytes]=${zeros}1`)).status).toBe(200);
  });

  it('RQ18: ninety conditions through a relation are served, too many are refused', async () => {
    const or = (count: number): string =>
      Array.from({ length: count }, (_none, i) => `filters[$or][${i}][director][name]=n${i}`).join('&');
    expect(await world.ids(`/api/films?${or(90)}&filters[$or][90][director][name]=Bo`)).toEqual([3, 5]);
    // each takes a step through a relation
    expect((await world.get(`/api/films?${or(limits.conditionsMax / 2)}`)).status).toBe(200);
    expect(await world.refusal(`/api/films?${or(limits.conditionsMax / 2 + 1)}`)).toMatchObject({
      status: 400,
      name: 'ValidationError',
      at: 'filters',
      message: expect.stringContaining(`more than ${limits.conditionsMax} conditions`),
    });
  });

  it('RQ18: levels of populate that differ are bounded, because compiling them takes time', async () => {
    const path = Array.from({ length: limits.distinctSelectionsMax }, () => 'answer').join('.');
    for (const url of ['/api/films/999', '/api/films', '/api/films/999/relations/similar'])
      expect(await world.refusal(`${url}?fields=id&populate=${path}`)).toMatchObject({
        status: 400,
        name: 'ValidationError',
        at: 'populate',
        message: expect.stringContaining(`more than ${limits.distinctSelectionsMax} relations`),
      });
  });

  // film 1 has the answer 2, which is the answer to 1, and so on in a cycle
  const around = (levels: number): readonly string[] =>
    Array.from({ length: levels }, (_none, i) => (i % 2 === 0 ? 'answer' : 'answerTo'));

  it.each([60, 500])('Q4: %i levels of populate work, with an entry on each', async (levels) => {
    const options = around(levels)
      .map((name) => `[${name}]`)
      .join('[populate]');
    const { data } = await world.read<Entry>(`/api/films/1?fields=id&populate${options}=true`);
    let entry: Entry = data;
    for (const name of around(levels)) entry = (entry.attributes[name] as { data: Entry }).data;
    expect(entry).toMatchObject({ id: levels % 2 === 0 ? 1 : 2, attributes: { year: 1911 } });
    expect((await world.read<Entry>(`/api/films/1?fields=id&populate=${around(levels).join('.')}`)).data).toEqual(data);
  });

  it('RQ18: a query whose result multiplies with every level is refused, and the server continues', async () => {
    const crowd = 60;
    await world.insert(
      'people',
      Array.from({ length: crowd }, (_none, i) => ({ id: 1000 + i, name: `Pupil ${i}` })),
    );
    await world.insert(
      'people_mentor_links',
      Array.from({ length: crowd }, (_none, i) => ({
        id: 1000 + i,
        person_id: 1000 + i,
        inv_person_id: 5,
        person_order: i,
      })),
    );
    const circle = Array.from({ length: 10 }, () => 'pupils.mentor').join('.');
    const refusal = await world.refusal(`/api/people/5?populate=${circle}`);
    expect(refusal).toMatchObject({ status: 400, name: 'ValidationError' });
    expect(refusal.message).toMatch(/^populate is too expensive.*Ask for fewer/);
    expect((await world.read<Entry>('/api/people/5?fields=name')).data).toEqual({ id: 5, attributes: { name: '' } });
  });

  it('CO3: two thousand elements of one component attribute are read, in order', async () => {
    const count = 2000;
    const ids = Array.from({ length: count }, (_none, i) => 10_000 + i);
    await world.insert(
      'components_parts_facts',
      ids.map((id) => ({ id, text: `fact ${id}` })),
    );
    // ranks are in reverse order of ids
    await world.insert(
      'films_components',
      ids.map((id, i) => ({
        id,
        entity_id: 7,
        component_id: id,
        component_type: 'parts.fact',
        field: 'facts',
        order: count - i,
      })),
    );
    const { data } = await world.read<Entry>('/api/films/7?fields=id&populate[facts][fields]=id');
    expect((data.attributes['facts'] as readonly Entry[]).map((it) => it.id)).toEqual([...ids].reverse());
  });

  it('RQ18: a response that is too large is 400', async () => {
    const text = 'x'.repeat(1024 * 1024);
    await world.insert(
      'reels',
      Array.from({ length: 20 }, (_none, i) => ({ id: 1000 + i, label: 'large', remark: text })),
    );
    expect(await world.refusal('/api/reels?filters[label]=large')).toMatchObject({
      status: 400,
      name: 'ValidationError',
      message: expect.stringContaining('Ask for fewer entries'),
    });
    expect((await world.read('/api/reels?filters[label]=large&pagination[pageSize]=3')).data).toHaveLength(3);
  });

  it('RQ18: so are populated entries that are too large, however many there are', async () => {
    const text = 'x'.repeat(300 * 1024);
    const ids = Array.from({ length: 60 }, (_none, i) => 2000 + i);
    await world.insert(
      'reels',
      ids.map((id) => ({ id, label: 'wide', remark: text })),
    );
    await world.insert(
      'reels_film_links',
      ids.map((id) => ({ id, reel_id: id, film_id: 8, reel_order: id })),
    );
    for (const sort of ['', '&populate[reels][sort]=label'])
      expect(await world.refusal(`/api/films/8?populate[reels][fields]=remark${sort}`)).toMatchObject({
        status: 400,
        message: expect.stringContaining(`larger than ${limits.responseCharactersMax} characters`),
      });
    expect((await world.read<Entry>('/api/films/8?fields=id&populate[reels][fields]=label')).data.id).toBe(8);
  });
});
