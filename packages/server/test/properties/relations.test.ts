/**
 * Random writes of relations over HTTP against a model in memory: from both sides, of every kind, with positions, sets,
 * deletions and creations. After each step both sides of the touched relation must show the model's lists in order.
 */
import { describe, expect, test } from 'vitest';
import type { LinkAttribute } from '../../src/model/model.js';
import { newRandom, type Random, seedOfRun } from '../oracle/random.js';
import {
  dialects,
  type Entry,
  idsOf,
  newRelationsWorld,
  type RelationSide,
  type RelationsWorld,
  relationSides,
} from '../world/relations/world.js';

const seed = seedOfRun();
/** 10,000 in a full run. */
const steps = Number(process.env['DOVETAIL_RELATION_STEPS'] ?? 600);
const shelvesMax = 7;
const booksMax = 8;

type Id = number;

/** One side's lists: owner to ids in order. */
type Lists = Map<Id, readonly Id[]>;

interface ModelSide {
  readonly side: RelationSide;
  readonly lists: Lists;
  /** The other side of the same links; null if no attribute shows them. */
  other: ModelSide | null;
}

const isExclusive = ({ relation, inverse }: LinkAttribute): boolean =>
  inverse !== null && (relation === 'oneToOne' || relation === 'oneToMany');

const newSides = (sides: readonly RelationSide[]): readonly ModelSide[] => {
  const made = sides.map((side): ModelSide => ({ side, lists: new Map(), other: null }));
  for (const it of made)
    it.other =
      made.find(
        (other) => other.side.plural === it.side.targets && other.side.attribute.name === it.side.attribute.inverse,
      ) ?? null;
  return made;
};

const listOf = ({ lists }: ModelSide, id: Id): readonly Id[] => lists.get(id) ?? [];

/** What the side shows: ordered by id if it has no stored order. */
const shownList = (it: ModelSide, id: Id): readonly Id[] =>
  it.side.attribute.shape === 'many' && it.side.attribute.path.rank === null
    ? [...listOf(it, id)].sort((a, b) => a - b)
    : listOf(it, id);

const put = (it: ModelSide, owner: Id, wanted: readonly Id[]): void => {
  const before = listOf(it, owner);
  const { other } = it;
  if (other) {
    for (const id of before.filter((target) => !wanted.includes(target)))
      other.lists.set(
        id,
        listOf(other, id).filter((back) => back !== owner),
      );
    for (const id of wanted.filter((target) => !before.includes(target))) {
      if (isExclusive(it.side.attribute)) {
        for (const thief of listOf(other, id))
          it.lists.set(
            thief,
            listOf(it, thief).filter((target) => target !== id),
          );
        other.lists.set(id, [owner]);
      } else other.lists.set(id, [...listOf(other, id), owner]);
    }
  }
  it.lists.set(owner, wanted);
};

const forget = (sides: readonly ModelSide[], plural: string, id: Id): void => {
  for (const it of sides) {
    if (it.side.plural === plural) it.lists.delete(id);
    if (it.side.targets === plural)
      for (const [owner, ids] of it.lists)
        it.lists.set(
          owner,
          ids.filter((target) => target !== id),
        );
  }
};

type Position = { readonly start: true } | { readonly end: true } | { readonly before: Id } | { readonly after: Id };
interface Element {
  readonly id: Id;
  readonly position?: Position;
}

/** A body value with the resulting list; null: it must be refused. */
interface Step {
  readonly value: unknown;
  readonly result: readonly Id[] | null;
  /** Disconnected ids; those connected again get new links. */
  readonly gone?: readonly Id[];
}

const last = <T>(items: readonly T[]): readonly T[] => items.slice(-1);
const unique = <T>(items: readonly T[]): readonly T[] => [...new Set(items)];

const connected = (list: readonly Id[], connect: readonly Element[]): readonly Id[] | null => {
  let order = [...list];
  for (const { id, position = { end: true } } of connect) {
    const rest = order.filter((it) => it !== id);
    const anchor = 'before' in position ? position.before : 'after' in position ? position.after : null;
    if (anchor !== null && (anchor === id || !order.includes(anchor))) return null;
    const at =
      'start' in position ? 0 : anchor === null ? rest.length : rest.indexOf(anchor) + ('after' in position ? 1 : 0);
    order = [...rest.slice(0, at), id, ...rest.slice(at)];
  }
  return order;
};

const written = (ids: readonly Id[], random: Random): readonly unknown[] =>
  ids.map((id) => (random.chance(0.3) ? { id } : random.chance(0.1) ? String(id) : id));

const newStep = (shape: 'one' | 'many', current: readonly Id[], targets: readonly Id[], random: Random): Step => {
  const chosen = random.sample(targets, random.between(0, Math.min(5, targets.length)));
  const setTo = (ids: readonly Id[]): readonly Id[] => (shape === 'one' ? last(ids) : unique(ids));
  switch (random.below(8)) {
    case 0:
      return { value: random.chance(0.5) ? null : { set: random.chance(0.5) ? null : [] }, result: [] };
    case 1:
      return { value: written(chosen, random), result: setTo(chosen) };
    case 2:
      return { value: { set: written(chosen, random) }, result: setTo(chosen) };
    case 3: {
      const gone = unique([...chosen, ...random.sample(current, 1)]);
      return { value: { disconnect: written(gone, random) }, result: current.filter((id) => !gone.includes(id)) };
    }
    case 4: {
      if (chosen.length === 0) return { value: { connect: [] }, result: current };
      return { value: { connect: [...chosen, chosen[0]] }, result: null };
    }
    default: {
      const gone = random.chance(0.3) ? random.sample(current, random.between(0, current.length)) : [];
      const rest = current.filter((id) => !gone.includes(id));
      const known = [...rest];
      const connect = chosen.map((id): Element => {
        const anchor = known.length > 0 ? random.pick(known) : null;
        known.push(id);
        // sometimes an anchor that does not exist
        const named = random.chance(0.02) ? random.pick(targets) : anchor;
        const kind = random.below(5);
        if (kind === 0) return { id };
        if (kind === 1) return { id, position: { start: true } };
        if (kind === 2 || named === null || named === id) return { id, position: { end: true } };
        return { id, position: kind === 3 ? { before: named } : { after: named } };
      });
      const value = {
        connect: connect.map((it) => (it.position ? it : random.chance(0.5) ? it.id : it)),
        ...(gone.length > 0 ? { disconnect: written(gone, random) } : {}),
      };
      if (shape === 'one') return { value, gone, result: connect.length > 0 ? last(connect.map((it) => it.id)) : rest };
      // no anchors further back in the array: test/properties/order.test.ts covers them
      const waits = connect.some(({ position }, i) => {
        const anchor =
          position && 'before' in position ? position.before : position && 'after' in position ? position.after : null;
        return anchor !== null && !rest.includes(anchor) && connect.findIndex((it) => it.id === anchor) > i;
      });
      return waits ? { value: { connect: [] }, result: current } : { value, gone, result: connected(rest, connect) };
    }
  }
};

const shownSide = async (world: RelationsWorld, { side }: ModelSide): Promise<ReadonlyMap<Id, readonly Id[]>> => {
  const { name } = side.attribute;
  const { body, status, text } = await world.server.get(
    `/api/${side.plural}?fields=id&pagination[pageSize]=100&populate[${name}][fields]=id`,
  );
  if (status !== 200) throw new Error(`${side.plural} answers ${status}: ${text}`);
  return new Map((body as { data: Entry[] }).data.map((it) => [it.id, idsOf(it, name)]));
};

const expectSide = async (world: RelationsWorld, it: ModelSide, ids: readonly Id[], what: string): Promise<void> => {
  const wanted = new Map(ids.map((id) => [id, shownList(it, id)]));
  expect(await shownSide(world, it), `${it.side.plural}.${it.side.attribute.name} after ${what}`).toEqual(wanted);
};

/** Checks that the ranks of each list of each link table are distinct integers from 1, on both sides (ST13). */
const expectRanks = async (world: RelationsWorld, sides: readonly ModelSide[], what: string): Promise<void> => {
  for (const { side } of sides) {
    const { table, from, rank } = side.attribute.path;
    if (rank === null) continue;
    const lists = new Map<unknown, number[]>();
    for (const row of await world.rows(table))
      lists.set(row[from], [...(lists.get(row[from]) ?? []), Number(row[rank] ?? Number.NaN)]);
    for (const ranks of lists.values()) {
      expect(
        ranks.every((it) => Number.isInteger(it) && it > 0),
        `${table}.${rank} ${ranks.join()} after ${what}`,
      ).toBe(true);
      expect(new Set(ranks).size, `${table}.${rank} ${ranks.join()} after ${what}`).toBe(ranks.length);
    }
  }
};

describe.each(dialects)('relations on %s', (dialect) => {
  test(`R1 to R10, R11, R5: after ${steps} random writes both sides show what the model shows (seed ${seed})`, {
    timeout: 3_600_000,
  }, async () => {
    const world = await newRelationsWorld(dialect);
    try {
      const random = newRandom(`${seed}/${dialect}`);
      const sides = newSides(relationSides(world.model));
      const entries: Record<string, Id[]> = {
        shelves: [...(await world.createMany('shelves', 5))],
        books: [...(await world.createMany('books', 6))],
      };
      let [accepted, refused] = [0, 0];
      for (let i = 0; i < steps; i++) {
        const it = random.pick(sides);
        const { plural, targets, attribute } = it.side;
        const owners = entries[plural]!;
        const what = random.below(20);
        if (what === 0 && owners.length > 2) {
          const id = random.pick(owners);
          const { status } = await world.send('DELETE', `/api/${plural}/${id}`);
          expect(status, `step ${i}: DELETE ${plural}/${id}`).toBe(200);
          owners.splice(owners.indexOf(id), 1);
          forget(sides, plural, id);
        } else {
          const isNew = what === 1 && owners.length < (plural === 'books' ? booksMax : shelvesMax);
          const owner = isNew ? null : random.pick(owners);
          const current = owner === null ? [] : shownList(it, owner);
          const { value, result, gone = [] } = newStep(attribute.shape, current, entries[targets]!, random);
          const url = owner === null ? `/api/${plural}` : `/api/${plural}/${owner}`;
          const answer = await world.send(
            owner === null ? 'POST' : 'PUT',
            `${url}?fields=id&populate[${attribute.name}][fields]=id`,
            { data: { [attribute.name]: value } },
          );
          const said = `step ${i}: ${url} ${attribute.name} ${JSON.stringify(value)} on ${JSON.stringify(current)}`;
          expect(answer.status, `${said}: ${answer.text}`).toBe(result === null ? 400 : 200);
          if (result === null) refused += 1;
          else {
            accepted += 1;
            const { data } = answer.body as { data: Entry };
            if (owner === null) owners.push(data.id);
            put(
              it,
              data.id,
              current.filter((id) => !gone.includes(id)),
            );
            put(it, data.id, result);
            expect(idsOf(data, attribute.name), said).toEqual(shownList(it, data.id));
          }
        }
        const after = `step ${i}`;
        await expectSide(world, it, owners, after);
        if (it.other) await expectSide(world, it.other, entries[targets]!, after);
        if (i % 50 === 49 || i === steps - 1) {
          for (const side of sides) await expectSide(world, side, entries[side.side.plural]!, after);
          await expectRanks(world, sides, after);
          await world.expectNoOrphans();
        }
      }
      // a run that only refuses or only accepts would prove nothing
      expect(Math.min(accepted, refused * 10)).toBeGreaterThan(steps / 4);
    } finally {
      await world.close();
    }
  });
});
