/** Q9 where no handler of the project adds them: creator fields are absent everywhere. */
import { describe, expect, it } from 'vitest';
import { dialects, type Entry, useWorld } from '../world/world.js';

describe.each(dialects)('creator fields on %s', (dialect) => {
  const world = useWorld(dialect);

  it.each([
    ['films/1', 'populate=createdBy'],
    ['films/1', 'populate=createdBy,updatedBy'],
    ['films/1', 'populate[createdBy]=true'],
    ['films/1', 'populate[createdBy][fields]=firstname'],
    ['films/1', 'populate=*'],
    ['films/1', ''],
    ['people/1', 'populate=createdBy'],
    // the option alone is not enough
    ['reels/1', 'populate=createdBy'],
    ['reels/1', 'populate=*'],
  ])('Q9: %s?%s shows none', async (entry, query) => {
    const { text, status } = await world.get(`/api/${entry}?${query}`);
    expect(status).toBe(200);
    expect(text).not.toMatch(/createdBy|updatedBy|firstname|Quill/);
  });

  it('Q9: nor does a populated relation', async () => {
    const { data } = await world.read<Entry>('/api/films/2?fields=id&populate[remakeOf][populate]=createdBy');
    expect(data.attributes['remakeOf']).toEqual({
      data: { id: 1, attributes: expect.not.objectContaining({ createdBy: expect.anything() }) },
    });
  });

  it.each([
    ['filters[createdBy][id]=1', 'filters[createdBy]'],
    ['filters[createdBy][firstname]=Ada', 'filters[createdBy]'],
    ['filters[updatedBy][$notNull]=true', 'filters[updatedBy]'],
    ['sort=createdBy.firstname', 'sort'],
    ['fields=createdBy', 'fields'],
  ])('contract 4.3, 4.4: %s is refused', async (query, at) => {
    expect(await world.refusal(`/api/films?${query}`)).toMatchObject({
      status: 400,
      name: 'ValidationError',
      at,
      message: expect.stringContaining(`Invalid parameter ${at}: `),
    });
  });
});
