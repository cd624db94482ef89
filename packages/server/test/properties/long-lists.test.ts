/**
 * Lists too long to be read in full: a few moves read only the rows near them, and must give the same list as if all
 * rows had been read. Lists without room, or with tied or missing ranks, fall back to reading the whole list.
 */
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { spread } from '../../src/write/order.js';
import { newRandom, type Random, seedOfRun } from '../oracle/random.js';
import { dialects, type Entry, idsOf, useRelationsWorld } from '../world/relations/world.js';
import { type Element, type Id, type Moves, moved } from './moves.js';

const seed = seedOfRun();
const steps = Number(process.env['DOVETAIL_LONG_LIST_STEPS'] ?? 80);

/** Some moves near one place of the list, where the excerpts meet, or anywhere. */
const randomMoves = (list: readonly Id[], outside: readonly Id[], random: Random): Moves => {
  const place = random.below(list.length);
  const near = random.chance(0.6) ? list.slice(Math.max(0, place - 4), place + 5) : list;
  const disconnect = random.chance(0.4) ? random.sample(near, random.between(1, 3)) : [];
  const pool = [...new Set([...random.sample(near, 4), ...random.sample(outside, 2)])];
  const chosen = random.sample(pool, random.between(disconnect.length > 0 ? 0 : 1, 4));
  const present = list.filter((id) => !disconnect.includes(id));
  const anchors = near.filter((id) => present.includes(id));
  const connect = chosen.map((id): Element => {
    const anchor = anchors.find((it) => it !== id && random.chance(0.4)) ?? null;
    anchors.push(id);
    const kind = random.below(6);
    if (anchor === null || kind === 0) return { id, position: { end: true } };
    if (kind === 1) return { id, position: { start: true } };
    return { id, position: random.chance(0.5) ? { before: anchor } : { after: anchor } };
  });
  return { disconnect, connect };
};

describe.each(dialects)('long lists on %s', (dialect) => {
  const world = useRelationsWorld(dialect);

  const setUp = async (): Promise<{ url: string; list: readonly Id[]; outside: readonly Id[] }> => {
    const books = await world.createMany('books', limits.wholeListMax + 60);
    const list = books.slice(0, limits.wholeListMax + 40);
    const shelf = await world.create('shelves', { manyMany: list });
    return { url: `/api/shelves/${shelf}`, list, outside: books.slice(list.length) };
  };
  const put = async (url: string, moves: Moves, from: readonly Id[]): Promise<readonly Id[]> => {
    const wanted = moved(from, moves);
    const { status, body, text } = await world.send('PUT', `${url}?populate[manyMany][fields]=id`, {
      data: { manyMany: moves },
    });
    const said = JSON.stringify(moves);
    expect(status, `${said}: ${text}`).toBe(200);
    expect(idsOf((body as { data: Entry }).data, 'manyMany'), said).toEqual(wanted);
    return wanted;
  };
  const ranksOf = async (url: string): Promise<readonly number[]> => {
    const shelf = Number(url.split('/').at(-1));
    const rows = await world.rows('shelves_many_many_links');
    return rows.filter((it) => it['shelf_id'] === shelf).map((it) => Number(it['book_order'] ?? Number.NaN));
  };
  const expectRanks = async (url: string, length: number): Promise<void> => {
    const ranks = await ranksOf(url);
    expect(ranks.length).toBe(length);
    expect(ranks.every((it) => Number.isInteger(it) && it > 0)).toBe(true);
    expect(new Set(ranks).size).toBe(length);
  };
  const update = (set: string, where: string): Promise<void> =>
    world.db.write(async (tx) => {
      await tx.run({ sql: `update shelves_many_many_links set ${set} where ${where}`, params: [], ids: [] });
    });

  it(`R3 to R9: ${steps} changes of a few entries give what the whole list would (seed ${seed})`, {
    timeout: 600_000,
  }, async () => {
    const random = newRandom(`${seed}/long ${dialect}`);
    const { url, list, outside } = await setUp();
    let now = list;
    for (let i = 0; i < steps; i++) {
      const absent = [...list, ...outside].filter((id) => !now.includes(id));
      now = await put(url, randomMoves(now, absent, random), now);
      // keeps the list long: removed entries come back at the end
      if (now.length <= limits.wholeListMax + 10) {
        const back = [...list, ...outside].filter((id) => !now.includes(id)).slice(0, 10);
        now = await put(url, { disconnect: [], connect: back.map((id) => ({ id, position: { end: true } })) }, now);
      }
    }
    await expectRanks(url, now.length);
  });

  it('R5: positioning before the same entry again and again, until there is no room', async () => {
    const { url, list } = await setUp();
    let now = list;
    for (let i = 0; i < 30; i++)
      now = await put(url, { disconnect: [], connect: [{ id: list[i]!, position: { before: list[100]! } }] }, now);
    await expectRanks(url, list.length);
  });

  it('R5: a list that has become short is changed as before', async () => {
    const { url, list, outside } = await setUp();
    const last = list.at(-1)!;
    // spreads the list
    let now = await put(url, { disconnect: [], connect: [{ id: last, position: { before: list[100]! } }] }, list);
    now = await put(url, { disconnect: now.filter((id) => id !== last && id !== list[0]), connect: [] }, now);
    expect(now).toEqual([list[0], last]);
    expect(Math.min(...(await ranksOf(url)))).toBeGreaterThanOrEqual(spread.min);
    const positions: readonly NonNullable<Element['position']>[] = [
      { end: true },
      { start: true },
      { before: last },
      { after: last },
      { after: list[0]! },
    ];
    for (const [i, position] of positions.entries())
      now = await put(url, { disconnect: [], connect: [{ id: outside[i]!, position }] }, now);
    now = await put(url, { disconnect: [], connect: [{ id: last, position: { start: true } }] }, now);
    await expectRanks(url, 2 + positions.length);
    now = await put(url, { disconnect: now, connect: [] }, now);
    await put(url, { disconnect: [], connect: [{ id: last, position: { end: true } }] }, now);
    await expectRanks(url, 1);
  });

  it('ST10: tied and missing ranks near the change are repaired', async () => {
    const { url, list } = await setUp();
    const shelf = Number(url.split('/').at(-1));
    await update('book_order = 50', `shelf_id = ${shelf} and book_id in (${list.slice(49, 53).join()})`);
    const tied = await put(
      url,
      { disconnect: [], connect: [{ id: list[150]!, position: { after: list[50]! } }] },
      list,
    );
    await expectRanks(url, list.length);
    await update('book_order = null', `shelf_id = ${shelf} and book_id = ${tied[dialect === 'sqlite' ? 0 : 239]}`);
    await put(url, { disconnect: [tied[120]!], connect: [{ id: tied[7]!, position: { start: true } }] }, tied);
  });

  it('R15: an anchor that is not in the list is refused, and nothing changes', async () => {
    const { url, list, outside } = await setUp();
    const before = await ranksOf(url);
    const { status, paths } = await world.refused('PUT', url, {
      data: { manyMany: { connect: [{ id: list[3], position: { before: outside[0] } }] } },
    });
    expect([status, paths]).toEqual([400, ['manyMany.connect.0']]);
    expect(await ranksOf(url)).toEqual(before);
  });

  it('connecting one entry into a long list with room adds one row and changes no other', async () => {
    const { url, list: dense, outside } = await setUp();
    const list = await put(
      url,
      { disconnect: [], connect: [{ id: outside[1]!, position: { before: dense[7]! } }] },
      dense,
    );
    const before = await world.rows('shelves_many_many_links');
    await put(url, { disconnect: [], connect: [{ id: outside[0]!, position: { before: list[100]! } }] }, list);
    const after = new Set((await world.rows('shelves_many_many_links')).map((it) => JSON.stringify(it)));
    const gone = before.filter((it) => !after.has(JSON.stringify(it)));
    expect([gone.length, after.size - before.length]).toEqual([0, 1]);
  });
});
