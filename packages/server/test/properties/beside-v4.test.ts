/**
 * Two servers take turns on one database: Dovetail over HTTP, and v4's writes of relations as SQL. After each turn both
 * read the same lists in the same order, from either side, and the ranks that Dovetail commits are those that v4's
 * arithmetic relies on: distinct integers from 1. Other ranks, left by v4 or an earlier version, are repaired by the
 * next change that names the list.
 */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import type { LinkAttribute } from '../../src/model/model.js';
import type { Rows, Sql, Tx } from '../../src/sql/dialect.js';
import { newRandom, type Random, seedOfRun } from '../oracle/random.js';
import { dialects, newRelationsWorld, type RelationsWorld, relationSides } from '../world/relations/world.js';
import { type Element, type Id, type Moves, moved } from './moves.js';

const seed = seedOfRun();
/** 5,000 in a full run. */
const turns = Number(process.env['DOVETAIL_BESIDE_V4_TURNS'] ?? 300);

type Change = { readonly set: readonly Id[] } | Moves;

/** A relation from one side: the rows of `table` with the owner in `from`, in the order of `rank`. */
interface Side {
  readonly plural: string;
  readonly targets: string;
  readonly name: string;
  readonly table: string;
  readonly from: string;
  readonly to: string;
  readonly rank: string | null;
  readonly inverseRank: string | null;
}

const sideOf = (plural: string, targets: string, { name, path, inverseRank }: LinkAttribute): Side => ({
  plural,
  targets,
  name,
  table: path.table,
  from: path.from,
  to: path.to,
  rank: path.rank,
  inverseRank,
});

/** The list after a change, computed naively. */
const changed = (list: readonly Id[], change: Change): readonly Id[] =>
  'set' in change ? [...new Set(change.set)] : moved(list, change);

const randomChange = (list: readonly Id[], targets: readonly Id[], random: Random): Change => {
  if (random.chance(0.15)) return { set: random.sample(targets, random.below(targets.length + 1)) };
  const disconnect = random.chance(0.3) ? random.sample(list, random.between(1, 2)) : [];
  const known = list.filter((id) => !disconnect.includes(id));
  const connect = random.sample(targets, random.between(disconnect.length > 0 ? 0 : 1, 3)).map((id): Element => {
    const anchor = known.filter((other) => other !== id);
    known.push(id);
    const kind = random.below(anchor.length > 0 ? 7 : 3);
    if (kind === 0) return { id };
    if (kind === 1) return { id, position: { end: true } };
    if (kind === 2) return { id, position: { start: true } };
    const named = random.pick(anchor);
    return { id, position: kind % 2 === 0 ? { before: named } : { after: named } };
  });
  return { connect, disconnect };
};

/**
 * v4's writes. A set numbers the list 1 to N; a creation with `connect` numbers it from 0; a positioned `connect`
 * computes provisional ranks and then numbers the list 1 to N. New links go last on the other side, where lists from
 * which a link is removed are renumbered.
 */
const newV4 = (world: RelationsWorld) => {
  const { db } = world;
  const { dialect } = db;
  const run = (tx: Tx, query: Sql): Promise<Rows> => tx.run(dialect.compile(query));
  const name = (column: string): Sql => sql`${sql.ref(column)}`;

  /** Numbers lists 1 to N with a window function over the old ranks. */
  const renumber = async (tx: Tx, { table, from, rank }: Side, owners: readonly Id[]): Promise<void> => {
    if (rank === null || owners.length === 0) return;
    const numbered = sql`select id, row_number() over (partition by ${name(from)} order by ${name(rank)}) as place from ${sql.table(table)} where ${name(from)} in (${sql.join(owners)})`;
    await run(
      tx,
      sql`update ${sql.table(table)} as l set ${name(rank)} = n.place from (${numbered}) n where l.id = n.id`,
    );
  };

  const inverseOf = (side: Side): Side => ({
    ...side,
    from: side.to,
    to: side.from,
    rank: side.inverseRank,
    inverseRank: side.rank,
  });

  const upsert = async (tx: Tx, side: Side, owner: Id, id: Id, place: number): Promise<void> => {
    const { table, from, to, rank, inverseRank } = side;
    const moved = rank === null ? sql`` : sql`, ${name(rank)} = ${place}`;
    const found = await run(
      tx,
      sql`update ${sql.table(table)} set ${name(from)} = ${name(from)}${moved} where ${name(from)} = ${owner} and ${name(to)} = ${id} returning id`,
    );
    if (found.length > 0) return;
    const columns = [from, to, ...(rank === null ? [] : [rank]), ...(inverseRank === null ? [] : [inverseRank])].map(
      name,
    );
    const last =
      inverseRank === null
        ? []
        : [sql`coalesce((select max(${name(inverseRank)}) from ${sql.table(table)} where ${name(to)} = ${id}), 0) + 1`];
    const values = [sql`${owner}`, sql`${id}`, ...(rank === null ? [] : [sql`${place}`]), ...last];
    // bound numbers are untyped on PostgreSQL
    const cast = values.map((it) => sql`cast(${it} as double precision)`);
    await run(tx, sql`insert into ${sql.table(table)} (${sql.join(columns)}) values (${sql.join(cast)})`);
  };

  const detach = async (tx: Tx, side: Side, owner: Id, ids: readonly Id[]): Promise<void> => {
    if (ids.length === 0) return;
    const { table, from, to } = side;
    await run(
      tx,
      sql`delete from ${sql.table(table)} where ${name(from)} = ${owner} and ${name(to)} in (${sql.join(ids)})`,
    );
    await renumber(tx, inverseOf(side), ids);
  };

  const listOf = async (tx: Tx, { table, from, to, rank }: Side, owner: Id): Promise<readonly [Id, number][]> =>
    (await run(
      tx,
      sql`select ${name(to)}, ${rank === null ? sql`0` : name(rank)} from ${sql.table(table)} where ${name(from)} = ${owner} order by 2, 1`,
    )) as readonly [Id, number][];

  /** Provisional ranks of connected entries: n new ones with the same base get `floor(base) + i / (n + 1)`. */
  const provisional = (stored: readonly (readonly [Id, number])[], connect: readonly Element[]): Map<Id, number> => {
    interface Computed {
      readonly id: Id;
      readonly base: number;
      readonly isNew: boolean;
    }
    const max = Math.max(0, ...stored.map(([, rank]) => rank));
    let computed: Computed[] = stored.map(([id, base]) => ({ id, base, isNew: false }));
    for (const { id, position = { end: true } } of connect) {
      computed = computed.filter((it) => it.id !== id);
      const anchorId = 'before' in position ? position.before : 'after' in position ? position.after : null;
      const place = computed.findIndex((it) => it.id === anchorId);
      const anchor = computed[place];
      if (anchorId !== null && !anchor) throw new Error(`no anchor ${anchorId}`);
      const [at, base] = anchor
        ? 'before' in position
          ? [place, anchor.isNew ? anchor.base : anchor.base - 0.5]
          : [place + 1, anchor.isNew ? anchor.base : anchor.base + 0.5]
        : 'start' in position
          ? [0, 0.5]
          : [computed.length, max + 0.5];
      computed.splice(at, 0, { id, base, isNew: true });
    }
    const orders = new Map<Id, number>();
    for (const base of new Set(computed.filter((it) => it.isNew).map((it) => it.base))) {
      const sharing = computed.filter((it) => it.isNew && it.base === base);
      sharing.forEach((it, i) => {
        orders.set(it.id, Math.floor(base) + (i + 1) / (sharing.length + 1));
      });
    }
    return orders;
  };

  return {
    /** Ids in stored order, as v4 reads them. */
    list: (side: Side, owner: Id): Promise<readonly Id[]> =>
      db.write(async (tx) => (await listOf(tx, side, owner)).map(([id]) => id)),

    change: (side: Side, owner: Id, change: Change): Promise<void> =>
      db.write(async (tx) => {
        const before = (await listOf(tx, side, owner)).map(([id]) => id);
        if ('set' in change) {
          const wanted = [...new Set(change.set)];
          await detach(
            tx,
            side,
            owner,
            before.filter((id) => !wanted.includes(id)),
          );
          for (const [place, id] of wanted.entries()) await upsert(tx, side, owner, id, place + 1);
          return;
        }
        await detach(tx, side, owner, change.disconnect);
        await renumber(tx, side, [owner]);
        const orders = provisional(await listOf(tx, side, owner), change.connect);
        for (const [id, order] of orders) await upsert(tx, side, owner, id, order);
        await renumber(tx, side, [owner]);
      }),

    /** A new entry with `connect`: the one case that is numbered from 0. */
    create: (side: Side, owner: Id, ids: readonly Id[]): Promise<void> =>
      db.write(async (tx) => {
        for (const [place, id] of ids.entries()) await upsert(tx, side, owner, id, place);
      }),

    /** Ranks as left by upgrades, uploads, races and earlier versions. */
    damage: (side: Side, owner: Id, random: Random): Promise<void> =>
      db.write(async (tx) => {
        const { table, from, to, rank } = side;
        if (rank === null) return;
        for (const [id] of await listOf(tx, side, owner)) {
          if (random.chance(0.3)) continue;
          const damaged = random.pick([sql`null`, sql`0`, sql`1`, sql`2`, sql`1.5`, sql`2.25`, sql`0.5`, sql`-3`]);
          await run(
            tx,
            sql`update ${sql.table(table)} set ${name(rank)} = ${damaged} where ${name(from)} = ${owner} and ${name(to)} = ${id}`,
          );
        }
      }),

    ranks: async (side: Side, owner: Id): Promise<readonly unknown[]> =>
      db.write(async (tx) => (await listOf(tx, side, owner)).map(([, rank]) => rank)),
  };
};

const isSound = (ranks: readonly unknown[]): boolean =>
  ranks.every((it, i) => Number.isInteger(it) && Number(it) >= 1 && Number(it) > Number(ranks[i - 1] ?? 0));

/** The two sides of a relation that is ordered on both, and of one that is ordered on one. */
const relationsOf = (world: RelationsWorld): readonly (readonly [Side, Side | null])[] => {
  const sides = relationSides(world.model);
  const find = (plural: string, name: string): Side => {
    const found = sides.find((it) => it.plural === plural && it.attribute.name === name)!;
    return sideOf(plural, found.targets, found.attribute);
  };
  return [
    [find('shelves', 'manyMany'), find('books', 'manyManyOf')],
    [find('books', 'manyManyOf'), find('shelves', 'manyMany')],
    [find('shelves', 'peers'), find('shelves', 'peersOf')],
    [find('shelves', 'manyWay'), null],
    [find('shelves', 'oneManyWay'), null],
  ];
};

describe.each(dialects)('alternating with v4 on %s', (dialect) => {
  it(`R5, ST13: after ${turns} turns of both servers, both read the same lists (seed ${seed})`, {
    timeout: 3_600_000,
  }, async () => {
    const world = await newRelationsWorld(dialect);
    try {
      const random = newRandom(`${seed}/beside v4 ${dialect}`);
      const v4 = newV4(world);
      const relations = relationsOf(world);
      const entries: Readonly<Record<string, readonly Id[]>> = {
        shelves: await world.createMany('shelves', 5),
        books: await world.createMany('books', 7),
      };
      const expectAlike = async ([side, other]: readonly [Side, Side | null], what: string): Promise<void> => {
        for (const it of other ? [side, other] : [side])
          for (const owner of entries[it.plural]!)
            expect(await world.ids(it.plural, owner, it.name), `${it.name} of ${owner} after ${what}`).toEqual(
              await v4.list(it, owner),
            );
      };
      /** Lists that v4 numbered from 0; it would misplace new first entries itself (R5). */
      const fromZero = new Set<string>();
      for (let turn = 0; turn < turns; turn++) {
        const relation = random.pick(relations);
        const [side, other] = relation;
        const owner = random.pick(entries[side.plural]!);
        const key = `${side.table} ${side.from} ${owner}`;
        const targets = entries[side.targets]!;
        if (random.chance(0.1)) {
          await v4.change(side, owner, { set: [] });
          await v4.create(side, owner, random.sample(targets, random.below(5)));
          fromZero.add(key);
        }
        const isOurs = random.chance(0.5) || fromZero.has(key);
        if (isOurs && random.chance(0.3)) await v4.damage(side, owner, random);
        const list = await world.ids(side.plural, owner, side.name);
        const change = randomChange(list, targets, random);
        const ids = 'set' in change ? change.set : [...change.connect.map((it) => it.id), ...change.disconnect];
        if (isOurs && other && random.chance(0.2))
          for (const id of random.sample(ids, 2)) await v4.damage(other, id, random);
        const what = `turn ${turn}: ${isOurs ? 'ours' : 'v4'} ${side.name} of ${owner} ${JSON.stringify(list)} ${JSON.stringify(change)}`;
        if (isOurs) {
          await world.update(side.plural, owner, { [side.name]: change });
          fromZero.delete(key);
          const touched: (readonly [Side, Id])[] = [[side, owner]];
          if (other) touched.push(...ids.map((id) => [other, id] as const));
          for (const [it, id] of touched) {
            const ranks = await v4.ranks(it, id);
            expect(isSound(ranks), `${it.name} of ${id} has ${JSON.stringify(ranks)} after ${what}`).toBe(true);
          }
        } else await v4.change(side, owner, change);
        expect(await v4.list(side, owner), what).toEqual(changed(list, change));
        await expectAlike(relation, what);
      }
    } finally {
      await world.close();
    }
  });

  it(`R5, ST13: turns of both servers on a list that is read partially (seed ${seed})`, {
    timeout: 600_000,
  }, async () => {
    const world = await newRelationsWorld(dialect);
    try {
      const random = newRandom(`${seed}/beside v4 long ${dialect}`);
      const v4 = newV4(world);
      const [[side, other] = []] = relationsOf(world);
      if (!side || !other) throw new Error('no relation');
      const books = await world.createMany('books', limits.wholeListMax + 80);
      const [shelf] = await world.createMany('shelves', 1);
      await v4.change(side, shelf!, { set: books.slice(0, limits.wholeListMax + 60) });
      const fitting = async (): Promise<boolean> => isSound(await v4.ranks(side, shelf!));
      for (let turn = 0; turn < turns / 10; turn++) {
        const list = await v4.list(side, shelf!);
        const isOurs = random.chance(0.7);
        const change = randomChange(list, random.sample(books, 8), random);
        if ('set' in change) continue;
        if (isOurs && random.chance(0.2)) {
          const [first, second] = random.sample(list, 2);
          const rank = random.pick([sql`null`, sql`0`, sql`7.5`, sql`7`]);
          await world.db.write((tx) =>
            tx.run(
              world.db.dialect.compile(
                sql`update shelves_many_many_links set book_order = ${rank} where book_id in (${first}, ${second})`,
              ),
            ),
          );
        }
        const before = await v4.list(side, shelf!);
        const what = `turn ${turn}: ${isOurs ? 'ours' : 'v4'} ${JSON.stringify(change)}`;
        if (isOurs) await world.update('shelves', shelf!, { manyMany: change });
        else await v4.change(side, shelf!, change);
        expect(await v4.list(side, shelf!), what).toEqual(changed(before, change));
        expect(await fitting(), what).toBe(true);
        if (turn % 10 === 0)
          expect(await world.ids('shelves', shelf!, 'manyMany'), what).toEqual(changed(before, change));
      }
    } finally {
      await world.close();
    }
  });

  it('ST13: files and components get integer ranks with the next change of their list', async () => {
    const world = await newRelationsWorld(dialect);
    try {
      const id = await world.create('holders', {
        gallery: [1, 2, 3],
        cards: [{ label: 'a' }, { label: 'b' }, { label: 'c' }],
        zone: [
          { __component: 'parts.note', text: 'n' },
          { __component: 'parts.card', label: 'd' },
        ],
      });
      const run = (text: string): Promise<unknown> =>
        world.db.write((tx) => tx.run({ sql: text, params: [], ids: [] }));
      // as uploads and earlier versions leave them
      await run('update files_related_morphs set "order" = 1');
      await run('update holders_components set "order" = "order" / 2.0');
      const { attributes } = await world.read(`/api/holders/${id}?populate[cards]=true&populate[zone]=true`);
      const [first, second, third] = attributes['cards'] as unknown as readonly { id: number }[];
      const [note, card] = attributes['zone'] as unknown as readonly { id: number; __component: string }[];
      await world.update('holders', id, {
        gallery: [3, 1, 2],
        cards: [{ id: third!.id }, { id: first!.id }, { id: second!.id }],
        zone: [
          { id: card!.id, __component: card!.__component },
          { id: note!.id, __component: note!.__component },
        ],
      });
      const files = (await world.rows('files_related_morphs')).filter((it) => it['field'] === 'gallery');
      const ordered = (rows: readonly Readonly<Record<string, unknown>>[], column: string): unknown[] =>
        rows.toSorted((a, b) => Number(a['order']) - Number(b['order'])).map((it) => [it[column], it['order']]);
      expect(ordered(files, 'file_id')).toEqual([
        [3, 1],
        [1, 2],
        [2, 3],
      ]);
      const parts = await world.rows('holders_components');
      const of = (field: string) =>
        ordered(
          parts.filter((it) => it['field'] === field),
          'component_id',
        );
      expect(of('cards')).toEqual([third, first, second].map((it, i) => [it!.id, i + 1]));
      expect(of('zone')).toEqual([card, note].map((it, i) => [it!.id, i + 1]));
    } finally {
      await world.close();
    }
  });

  it('ST13: what v4 places after an entry that Dovetail placed comes right after it', async () => {
    const world = await newRelationsWorld(dialect);
    try {
      const v4 = newV4(world);
      const [[side] = []] = relationsOf(world);
      const [one, two, three, four, six, nine] = (await world.createMany('books', 6)) as [Id, Id, Id, Id, Id, Id];
      const shelf = await world.create('shelves', { manyMany: [one, two, three, four] });
      await world.update('shelves', shelf, { manyMany: { connect: [{ id: six, position: { after: one } }] } });
      expect(await v4.ranks(side!, shelf)).toEqual([1, 2, 3, 4, 5]);
      await v4.change(side!, shelf, { connect: [{ id: nine, position: { after: six } }], disconnect: [] });
      expect(await world.ids('shelves', shelf, 'manyMany')).toEqual([one, six, nine, two, three, four]);
    } finally {
      await world.close();
    }
  });
});
