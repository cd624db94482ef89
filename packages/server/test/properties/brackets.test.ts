/**
 * The bracket grammar against `qs`, the dialect's parser (RQ10): whatever both accept must mean the same. Left out is
 * what this server refuses on purpose: unbalanced brackets, a key used as value and as object, `__proto__`.
 */
import fc from 'fast-check';
import qs from 'qs';
import { describe, expect, test } from 'vitest';
import { readBrackets } from '../../src/query/brackets.js';
import { type RawNode, shapeOf } from '../../src/query/raw.js';
import { seedOfRun } from '../oracle/random.js';

const runs = 10_000;
const seed = seedOfRun();

/** A tree as parsed by `qs`; undefined if a key is a value and an object at once. */
type Plain = null | string | readonly Plain[] | { readonly [key: string]: Plain };

const plainOf = (node: RawNode): Plain | undefined => {
  const shape = shapeOf(node);
  switch (shape.kind) {
    case 'null':
      return null;
    case 'text':
      return shape.text;
    case 'list': {
      const items = shape.items.map(plainOf);
      return items.every((it) => it !== undefined) ? items : undefined;
    }
    case 'tree': {
      const members = [...shape.members].map(([key, child]) => [key, plainOf(child)] as const);
      return members.every((it) => it[1] !== undefined)
        ? (Object.fromEntries(members) as { [key: string]: Plain })
        : undefined;
    }
    case 'mixed':
      return undefined;
  }
};

const readOurs = (search: string): Record<string, Plain> | undefined => {
  const raw = readBrackets(search);
  if (!raw.ok) return undefined;
  const plain = [...raw.value].map(([name, node]) => [name, plainOf(node)] as const);
  return plain.every((it) => it[1] !== undefined) ? (Object.fromEntries(plain) as Record<string, Plain>) : undefined;
};

const readTheirs = (search: string): unknown =>
  // JSON removes the missing prototypes
  JSON.parse(
    JSON.stringify(
      qs.parse(search, {
        depth: Number.POSITIVE_INFINITY,
        arrayLimit: 100_000,
        strictNullHandling: true,
        parameterLimit: 1000,
        plainObjects: true,
      }),
    ),
  );

const names = ['filters', 'populate', 'fields', 'sort', 'pagination', 'publicationState', 'locale', '_q'];
const word = fc
  .oneof(
    fc.constantFrom(
      'title',
      '$eq',
      '$and',
      '$or',
      'on',
      'shared.seo',
      'constructor',
      'toString',
      '-1',
      '1e1',
      ' 0',
      'x y',
    ),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }),
  )
  .filter((it) => !/[[\]\0]/.test(it) && it !== '__proto__');
const index = fc.integer({ min: 0, max: 120 }).map(String);
const value = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }).filter((it) => !it.includes('\0')) },
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.constantFrom('%', '%E0%A4%A', '100%25', '%5B', 'a]=b', 'a=b', 'a+b', '') },
);

interface Pair {
  readonly name: string;
  readonly segments: readonly string[];
  /** Ends in empty brackets. */
  readonly isAppended: boolean;
  readonly value: string | null;
}
const pair: fc.Arbitrary<Pair> = fc.record({
  name: fc.constantFrom(...names),
  segments: fc.array(fc.oneof({ weight: 3, arbitrary: word }, { weight: 1, arbitrary: index }), { maxLength: 5 }),
  isAppended: fc.boolean(),
  value,
});

/** How a client writes it: everything encoded, or only what must be. */
const write = ({ name, segments, isAppended, value: text }: Pair, isSparing: boolean): string => {
  const encode = (it: string): string =>
    isSparing ? it.replace(/[%&+#[\]=]/g, encodeURIComponent).replaceAll(' ', '+') : encodeURIComponent(it);
  const key = [name, ...segments.map((it) => `[${encode(it)}]`), ...(isAppended ? ['[]'] : [])].join('');
  return text === null ? key : `${key}=${encode(text)}`;
};

/** Pairs whose keys begin alike, so that they share one tree. */
const search = fc
  .tuple(fc.array(pair, { minLength: 1, maxLength: 4 }), fc.boolean(), fc.array(fc.nat({ max: 7 }), { maxLength: 3 }))
  .map(([pairs, isSparing, copies]) => {
    const related = copies.map((from, i): Pair => {
      const [a, b] = [pairs[from % pairs.length]!, pairs[i % pairs.length]!];
      return { ...b, name: a.name, segments: [...a.segments.slice(0, 1 + (i % 3)), ...b.segments.slice(0, 2)] };
    });
    return [...pairs, ...related].map((it) => write(it, isSparing)).join('&');
  });

/** Indexes and empty brackets in one list: their relative order is undefined. */
const mixesIndexes = (node: RawNode): boolean =>
  !('kind' in node) &&
  ((node.appended.length > 0 && (node.members.size > 0 || node.values.length > 0)) ||
    [...node.members.values(), ...node.appended].some(mixesIndexes));

describe(`readBrackets, seed ${seed}`, () => {
  test('reads as qs does wherever both accept', () => {
    let compared = 0;
    fc.assert(
      fc.property(search, (text) => {
        const ours = readOurs(text);
        const raw = readBrackets(text);
        if (ours === undefined || (raw.ok && [...raw.value.values()].some(mixesIndexes))) return;
        compared += 1;
        expect(ours).toEqual(readTheirs(text));
      }),
      { numRuns: runs, seed },
    );
    // the generators must keep producing input that both accept
    expect(compared).toBeGreaterThan(runs / 3);
  });

  // a known difference: names after empty brackets belong to one element in qs, to one element each here, so that
  // filters[$or][][a]=1&filters[$or][][b]=2 is an AND there and an OR here
  test.fails.each([
    'filters[$or][][title]=x&filters[$or][][kind]=y',
    'sort[][title]=asc&sort[][kind]=desc',
    // in qs an index has no leading zero: this is an object there and a list here
    'filters[title][$in][01]=x',
  ])('reads as qs does: %s', (text) => {
    expect(readOurs(text)).toEqual(readTheirs(text));
  });

  test('never throws on any text', () => {
    const piece = fc.oneof(
      fc.constantFrom(...names, '[', ']', '=', '&', '%', '%5B', '%5D', '%00', '%ff', '+', '.', '$', '[]', '[0]', '\0'),
      fc.string({ unit: 'binary', maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const raw = readBrackets(pieces.join(''));
        if (raw.ok) for (const node of raw.value.values()) plainOf(node);
        else expect(raw.issues.length).toBeGreaterThan(0);
      }),
      { numRuns: runs, seed },
    );
  });
});
