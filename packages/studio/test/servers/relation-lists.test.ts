/**
 * Random work on relation lists, saved to a real server: what is shown before a save is what is read back after it, and only
 * what was moved, added or removed is sent.
 */
import { describe, expect, test } from 'vitest';
import { newRandom, type Random, seedOfRun } from '../../../server/test/oracle/random.js';
import type {} from '../../../server/test/world/postgres.js';
import { dialects, newRelationsWorld, type RelationsWorld } from '../../../server/test/world/relations/world.js';
import { indexOf, lengthOf, place, remove, slotsOf } from '../../src/rooms/content/relations/arrangement.js';
import { replay } from '../../src/rooms/content/relations/changes.js';
import {
  arrangementAt,
  arrangementOf,
  editIntent,
  editOf,
  type ListEdit,
  listBody,
  type RelatedRow,
} from '../../src/rooms/content/relations/relation-edit.js';

const seed = seedOfRun();
const saves = Number(process.env['STUDIO_RELATION_SAVES'] ?? 150);

const rowOf = (id: number): RelatedRow => ({
  id,
  type: 'api::book.book',
  title: null,
  publishedAt: null,
  locale: null,
});

/** Some steps on a list as an editor makes them; the ids of the whole list as it is then shown. */
const work = (base: readonly number[], others: readonly number[], random: Random) => {
  let edit: ListEdit | null = null;
  const list = { base: { version: 'v', total: base.length }, isOrdered: true, idAt: (home: number) => base[home] };
  const homeOf = (id: number): number | null => (base.includes(id) ? base.indexOf(id) : null);
  const named = new Set<number>();
  let shown = base;
  for (let step = random.between(1, 6); step > 0; step--) {
    const now = arrangementAt(edit, base.length);
    const id = random.pick(random.chance(0.7) && shown.length > 0 ? shown : others);
    const entry = { id, home: homeOf(id) };
    const isIn = indexOf(now, entry) !== null;
    const isRemoved = isIn && random.chance(0.25);
    const next = isRemoved ? remove(now, entry) : place(now, entry, random.between(0, lengthOf(now) - (isIn ? 1 : 0)));
    const edited = editOf(next, list, rowOf);
    if (edited.kind === 'unknown') throw new Error('everything is known');
    edit = edited.edit;
    named.add(id);
    shown = slotsOf(next, 0, lengthOf(next)).map((slot) => slot.id ?? base[slot.home!]!);
  }
  return { edit, shown, named };
};

const idsNamed = (body: unknown): readonly number[] => {
  const { connect = [], disconnect = [] } = body as { connect?: { id: number }[]; disconnect?: { id: number }[] };
  return [...connect, ...disconnect].map(({ id }) => id);
};

const save = async (world: RelationsWorld, shelf: number, attribute: string, edit: ListEdit): Promise<void> => {
  const { status, text } = await world.send('PUT', `/api/shelves/${shelf}`, { data: { [attribute]: listBody(edit) } });
  expect(status, `${JSON.stringify(listBody(edit))}: ${text}`).toBe(200);
};

describe.each(dialects)('relation lists on %s', (dialect) => {
  test.each(['manyMany', 'oneMany', 'manyWay'])(
    `R3 to R8: after ${saves} saves %s has always been what was shown (seed ${seed})`,
    async (attribute) => {
      const world = await newRelationsWorld(dialect);
      try {
        const random = newRandom(`${seed}/${dialect}/${attribute}`);
        const books = await world.createMany('books', 14);
        const [shelf = 0] = await world.createMany('shelves', 1);
        for (let i = 0; i < saves; i++) {
          const base = await world.ids('shelves', shelf, attribute);
          const { edit, shown, named } = work(base, books, random);
          if (edit === null) {
            expect(shown).toEqual(base);
            continue;
          }
          for (const id of idsNamed(listBody(edit))) expect(named).toContain(id);
          await save(world, shelf, attribute, edit);
          expect(await world.ids('shelves', shelf, attribute), `${base} ${JSON.stringify(listBody(edit))}`).toEqual(
            shown,
          );
        }
      } finally {
        await world.close();
      }
    },
  );

  test('moves that were made on a list which somebody else has changed are accepted on the new one', async () => {
    const world = await newRelationsWorld(dialect);
    try {
      const random = newRandom(`${seed}/${dialect}/two`);
      const books = await world.createMany('books', 14);
      const [shelf = 0] = await world.createMany('shelves', 1);
      await world.update('shelves', shelf, { manyMany: books.slice(0, 9) });
      for (let i = 0; i < saves / 2; i++) {
        const base = await world.ids('shelves', shelf, 'manyMany');
        const [mine, theirs] = [work(base, books, random), work(base, books, random)];
        if (mine.edit === null || theirs.edit === null) continue;
        await save(world, shelf, 'manyMany', theirs.edit);
        const homeOf = (id: number): number | null => (theirs.shown.includes(id) ? theirs.shown.indexOf(id) : null);
        const { arrangement } = replay(theirs.shown.length, homeOf, editIntent(mine.edit));
        const again = editOf(
          arrangement,
          {
            base: { version: 'w', total: theirs.shown.length },
            isOrdered: true,
            idAt: (home) => theirs.shown[home],
          },
          rowOf,
        );
        if (again.kind === 'unknown') throw new Error('everything is known');
        if (again.edit === null) continue;
        const shown = slotsOf(arrangementOf(again.edit), 0, 100).map((slot) => slot.id ?? theirs.shown[slot.home!]!);
        await save(world, shelf, 'manyMany', again.edit);
        expect(await world.ids('shelves', shelf, 'manyMany')).toEqual(shown);
      }
    } finally {
      await world.close();
    }
  });
});
