/** Hostile and nearly valid bodies: no 5xx, and a refused one changes nothing. */
import { describe, expect, it } from 'vitest';
import type { Attribute, EntryType, Model } from '../../src/model/model.js';
import { newRandom, type Random, seedOfRun } from '../oracle/random.js';
import { dialects, newRelationsWorld, type RelationsWorld } from '../world/relations/world.js';

const seed = seedOfRun();
/** 100,000 in a full run, for both databases together. */
const bodies = Number(process.env['DOVETAIL_FUZZ_BODIES'] ?? 1800);

const texts = [
  '',
  ' ',
  'x',
  'abc',
  '1',
  '-1',
  '1.5',
  '1e400',
  '0x10',
  'true',
  'null',
  '2024-01-02',
  '2024-02-30',
  '10:20:30',
  '24:00:00',
  '2024-01-02T10:00:00Z',
  '+275760-09-13T00:00:00Z',
  '-271821-04-20T00:00:00Z',
  '0000-01-01',
  '9999-12-31',
  'a@example.org',
  'a\0b',
  '\ud800',
  '\u{1f600}',
  "'; drop table shelves; --",
  '%_\\',
  '__proto__',
  'constructor',
  'toString',
  'parts.card',
  'parts.note',
  'api::book.book',
  'x'.repeat(255),
  'x'.repeat(256),
  'x'.repeat(3000),
  '99999999999999999999',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775809',
  '{}',
  '[]',
];
const numbers = [
  0,
  1,
  2,
  3,
  -1,
  -0,
  0.1,
  1.5,
  255,
  2147483647,
  2147483648,
  -2147483648,
  -2147483649,
  2 ** 53,
  2 ** 63,
  1e8,
  99999999.99,
  99999999.999,
  1e300,
  5e-324,
  8.64e15,
  8.64e15 + 1,
  -8.64e15,
  253402300800000,
  -62167219200001,
];
const keys = [
  'id',
  '__component',
  '__proto__',
  'constructor',
  'prototype',
  '__pivot',
  '__type',
  'set',
  'connect',
  'disconnect',
  'options',
  'position',
  'before',
  'after',
  'start',
  'end',
  'data',
  'name',
  'label',
  'createdAt',
  'updatedAt',
  'publishedAt',
  'createdBy',
  'locale',
  'localizations',
  'nope',
  '',
  'length',
  'hasOwnProperty',
  '0',
  '$gt',
];

const anyValue = (random: Random, depth: number): unknown => {
  const kind = random.below(depth > 0 ? 10 : 6);
  if (kind < 2) return random.pick(texts);
  if (kind < 4) return random.pick(numbers);
  if (kind === 4) return random.pick([true, false]);
  if (kind === 5) return null;
  if (kind < 8) return Array.from({ length: random.below(4) }, () => anyValue(random, depth - 1));
  return anyObject(random, depth);
};

/** Own keys, including `__proto__`. */
const objectOf = (pairs: readonly (readonly [string, unknown])[]): unknown => {
  const made: Record<string, unknown> = {};
  for (const [key, value] of pairs)
    Object.defineProperty(made, key, { value, enumerable: true, configurable: true, writable: true });
  return made;
};
const anyObject = (random: Random, depth: number): unknown =>
  objectOf(Array.from({ length: random.below(4) }, () => [random.pick(keys), anyValue(random, depth - 1)]));

const someId = (random: Random): unknown =>
  random.chance(0.8)
    ? random.between(1, 9)
    : random.pick<unknown>([0, -1, 2_000_000, '1', '07', 'x', 1.5, null, {}, { id: 1 }, { id: null }, [1]]);
const somePosition = (random: Random): unknown =>
  random.chance(0.7)
    ? random.pick<unknown>([
        { start: true },
        { end: true },
        { before: random.between(1, 9) },
        { after: random.between(1, 9) },
      ])
    : anyValue(random, 1);
const someIds = (random: Random): unknown =>
  random.chance(0.9)
    ? Array.from({ length: random.below(5) }, () => {
        const id = someId(random);
        return random.chance(0.6)
          ? id
          : objectOf([
              ['id', id],
              ...(random.chance(0.5) ? [['position', somePosition(random)] as const] : []),
              ...(random.chance(0.1) ? [[random.pick(keys), anyValue(random, 1)] as const] : []),
            ]);
      })
    : anyValue(random, 1);
const someLink = (random: Random): unknown =>
  random.pick<() => unknown>([
    () => someId(random),
    () => someIds(random),
    () => ({ set: someIds(random) }),
    () => ({ connect: someIds(random) }),
    () => ({ disconnect: someIds(random) }),
    () => ({ connect: someIds(random), disconnect: someIds(random) }),
    () =>
      objectOf(
        Array.from({ length: random.between(1, 3) }, () => [
          random.pick(['set', 'connect', 'disconnect', 'options', 'id', 'nope', '__proto__']),
          someIds(random),
        ]),
      ),
    () => anyValue(random, 2),
  ])();

const samples: Readonly<Record<string, readonly unknown[]>> = {
  string: ['abc', 'ABC', 'Title'],
  text: ['some text'],
  enumeration: ['a', 'b', 'mint'],
  email: ['a@example.org'],
  uid: ['here', 'there'],
  date: ['2024-01-02'],
  time: ['10:20:30'],
  datetime: ['2024-01-02T10:00:00Z', 0],
  timestamp: [0],
  integer: [1, 2, '3'],
  biginteger: ['9007199254740993', 5],
  float: [1, 0.5],
  decimal: [12.34],
  boolean: [true, '0'],
  blocks: [[{ type: 'paragraph', children: [{ type: 'text', text: 'x' }] }]],
  array: [['x']],
};

const someAttribute = (attribute: Attribute, model: Model, random: Random, depth: number): unknown => {
  if (random.chance(0.12)) return anyValue(random, 3);
  switch (attribute.kind) {
    case 'scalar':
      return random.chance(0.7) ? random.pick(samples[attribute.type] ?? [anyValue(random, 3)]) : anyValue(random, 2);
    case 'link':
      return someLink(random);
    case 'morph': {
      const element = (): unknown =>
        random.chance(0.9)
          ? objectOf([
              ['id', someId(random)],
              ['__type', random.chance(0.9) ? random.pick([...model.types.keys()]) : random.pick<unknown>([...texts])],
            ])
          : anyValue(random, 2);
      const list = (): readonly unknown[] => Array.from({ length: random.between(0, 3) }, element);
      return random.pick<() => unknown>([
        element,
        list,
        () => objectOf([[random.pick(['set', 'connect', 'disconnect', 'nope']), list()]]),
        () => null,
      ])();
    }
    case 'part': {
      const element = (): unknown => {
        const uid = random.pick(attribute.components);
        const type = model.types.get(uid)!;
        const named =
          attribute.shape === 'zone' && random.chance(0.95)
            ? [['__component', random.chance(0.95) ? uid : random.pick<unknown>([...texts, ...numbers])] as const]
            : [];
        const id = random.chance(0.15) ? [['id', someId(random)] as const] : [];
        return depth > 0 && random.chance(0.95)
          ? objectOf([...named, ...id, ...somePairs(type, model, random, depth - 1)])
          : anyValue(random, 2);
      };
      return attribute.shape === 'one'
        ? random.chance(0.9)
          ? element()
          : null
        : Array.from({ length: random.below(4) }, element);
    }
  }
};

const somePairs = (
  type: EntryType,
  model: Model,
  random: Random,
  depth: number,
): readonly (readonly [string, unknown])[] => {
  const own = [...type.attributes.values()].filter((it) => it.kind !== 'link' || it.source !== 'creator');
  const pairs = own
    .filter((it) => ('required' in it ? it.required : it.rules.required) || random.chance(2.5 / own.length))
    .filter(() => random.chance(0.97))
    .map((it) => [it.name, someAttribute(it, model, random, depth)] as const);
  return random.chance(0.08) ? [...pairs, [random.pick(keys), anyValue(random, 2)]] : pairs;
};

/** A corrupted JSON text. */
const damaged = (text: string, random: Random): string => {
  const at = random.below(text.length + 1);
  return random.pick([
    text.slice(0, at),
    text.slice(0, at) +
      random.pick(['"', '{', '}', '[', ']', ',', ':', '\\', '\0', '\ud800', 'null', '-', '1e999']) +
      text.slice(at + random.below(3)),
    text.replaceAll('"', "'"),
    `${text}${text}`,
  ]);
};

const someLocale = (random: Random): unknown =>
  random.chance(0.9) ? random.pick(['en', 'de', 'fr']) : random.pick<unknown>(['xx', '', 'all', null, 5, ['de'], {}]);

interface Addressed {
  readonly method: string;
  readonly url: string;
  /** Whether the body is an entry's data, instead of holding it. */
  readonly isBare: boolean;
}

const address = (type: EntryType, random: Random): Addressed => {
  const { kind, singular, plural, localized } = type;
  const list = `/api/${kind === 'single' ? singular : plural}`;
  const entry = kind === 'single' ? list : `${list}/${random.between(1, 6)}`;
  if (localized && random.chance(0.3)) return { method: 'POST', url: `${entry}/localizations`, isBare: true };
  const query = localized && random.chance(0.3) ? `?locale=${random.pick(['en', 'de', 'fr', 'xx', 'all', ''])}` : '';
  if (kind === 'collection' && random.chance(0.4)) return { method: 'POST', url: `${list}${query}`, isBare: false };
  return { method: random.chance(0.03) ? 'DELETE' : 'PUT', url: `${entry}${query}`, isBare: false };
};

/** What all locales of each entry share. */
const expectShared = async (world: RelationsWorld): Promise<void> => {
  const links = await world.rows('leaves_localizations_links');
  const parts = await world.rows('leaves_components');
  const shared = new Map(
    (await world.rows('leaves')).map(({ id, code, serial, amount, extra }) => {
      const own = parts.filter((it) => it['entity_id'] === id && it['field'] !== 'zone');
      return [id, [code, serial, amount, JSON.stringify(extra), own.map((it) => it['field']).sort()]];
    }),
  );
  for (const { leaf_id: from, inv_leaf_id: to } of links)
    expect([from, to, shared.get(to)]).toEqual([from, to, shared.get(from)]);
};

const types = ['shelf', 'book', 'sheet', 'form', 'holder', 'setting', 'motto', 'leaf', 'placard'];

describe.each(dialects)('hostile bodies on %s', (dialect) => {
  it(`ER5: ${bodies / 2} bodies get no 5xx, refused ones change nothing (seed ${seed})`, {
    timeout: 3_600_000,
  }, async () => {
    const world = await newRelationsWorld(dialect);
    try {
      const { model } = world;
      const random = newRandom(`${seed}/bodies`);
      await world.createMany('shelves', 6);
      await world.createMany('books', 6);
      for (let i = 0; i < 6; i++) {
        await world.create('sheets');
        await world.create('forms', {
          publishedAt: null,
          cards: [{ label: 'a' }],
          zone: [{ __component: 'parts.note' }],
        });
        await world.create('holders', {
          card: { label: 'a', inner: { word: 'x' } },
          cards: [{ label: 'b' }],
          zone: [{ __component: 'parts.note', text: 'n' }],
          gallery: [1, 2],
        });
      }
      for (let i = 0; i < 3; i++) await world.create('leaves', { code: 'c', locale: 'de', cards: [{ label: 'a' }] });
      for (let i = 0; i < 3; i++) await world.send('POST', `/api/leaves/${i + 1}/localizations`, { locale: 'fr' });
      const statuses = new Map<number, number>();
      let localized = 0;
      let known = await world.dump();
      for (let i = 0; i < bodies / 2; i++) {
        const singular = random.pick(types);
        const type = model.types.get(`api::${singular}.${singular}`)!;
        const { method, url, isBare } = address(type, random);
        const locale =
          isBare || (type.localized && random.chance(0.5)) ? [['locale', someLocale(random)] as const] : [];
        const data = random.chance(0.97)
          ? objectOf([...somePairs(type, model, random, 3), ...locale])
          : anyValue(random, 3);
        const body = isBare ? data : { data };
        const plain = JSON.stringify(random.chance(0.98) ? body : anyValue(random, 2)) ?? 'undefined';
        const text = random.chance(0.03) ? damaged(plain, random) : plain;
        const answer = await world.send(
          method,
          url,
          method === 'DELETE' ? undefined : text,
          method === 'DELETE' ? undefined : { 'content-type': 'application/json' },
        );
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        if (type.localized && answer.status === 200) localized += 1;
        expect
          .soft(answer.status, `${method} ${url} ${text.slice(0, 2000)}\n${answer.text.slice(0, 300)}`)
          .toBeLessThan(500);
        const now = await world.dump();
        if (answer.status !== 200)
          expect.soft(now, `${answer.status} to ${method} ${url} ${text.slice(0, 2000)}`).toBe(known);
        known = now;
      }
      await world.expectNoOrphans();
      await expectShared(world);
      const said = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
      process.stdout.write(`${dialect}: ${said.join(', ')}\n`);
      // the run must contain both accepted and refused bodies
      expect(Math.min(statuses.get(200) ?? 0, statuses.get(400) ?? 0)).toBeGreaterThan(bodies / 40);
      expect(localized).toBeGreaterThan(bodies / 200);
    } finally {
      await world.close();
    }
  });
});
