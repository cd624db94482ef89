/** A query as an object means what the same query means as a query string, whatever texts it contains. */
import fc from 'fast-check';
import qs from 'qs';
import { describe, expect, test } from 'vitest';
import { unwrap } from '../../src/errors.js';
import { readFields, textQuery } from '../../src/query/brackets.js';
import { objectQuery, type QueryObject, toObject } from '../../src/query/objects.js';
import { type RawNode, type RawQuery, shapeOf } from '../../src/query/raw.js';
import { seedOfRun } from '../oracle/random.js';

const seed = seedOfRun();

/** The meaning of a query, without the forms in which it was given. */
const meaning = (query: RawQuery): unknown => Object.fromEntries([...query].map(([name, node]) => [name, said(node)]));
const said = (node: RawNode): unknown => {
  const shape = shapeOf(node);
  switch (shape.kind) {
    case 'null':
      return null;
    case 'text':
      return shape.text;
    case 'list':
      return shape.items.map(said);
    case 'tree':
      return new Map([...shape.members].map(([name, member]) => [name, said(member)]));
    case 'mixed':
      return { mixed: true };
  }
};

/** Texts with a meaning in query strings, and arbitrary ones; NUL is refused in both forms. */
const text = fc.oneof(
  fc.constantFrom('a&populate=*', 'x]=1', '[0]', '%00', '%5B', '+', '#', 'a=b', '', 'true', '*', 'a,b.c', '😀', '"'),
  fc.string({ unit: 'grapheme' }).filter((it) => !it.includes('\0')),
);
const value = fc.oneof(text, fc.integer(), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null));
/** Names that a query string can contain. */
const name = fc.constantFrom(
  'title',
  '$eq',
  '$in',
  'author',
  '$or',
  'on',
  'fields',
  'filters',
  'a.b',
  '__proto__',
  'x y',
);
const tree = fc.letrec((tie) => ({
  node: fc.oneof({ maxDepth: 4 }, value, tie('list'), tie('object')),
  // qs leaves out empty values
  list: fc.array(tie('node'), { minLength: 1, maxLength: 3 }),
  object: fc.dictionary(name, tie('node'), { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
}));
const parameter = fc.constantFrom('fields', 'populate', 'filters', 'sort', 'pagination', 'locale', '_q');
const query = fc.dictionary(parameter, tree.node, { maxKeys: 4, noNullPrototype: true }) as fc.Arbitrary<QueryObject>;

const write = (object: QueryObject): string =>
  qs.stringify(object, { strictNullHandling: true, arrayFormat: 'indices', allowEmptyArrays: false });

/** Plain objects. */
const toJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe(`queries as objects, seed ${seed}`, () => {
  test('mean the same as their query strings written by qs', () => {
    fc.assert(
      fc.property(query, (object) => {
        const asText = unwrap(textQuery(write(object)).read());
        expect(meaning(unwrap(objectQuery(object).read()))).toEqual(meaning(asText));
      }),
      { seed, numRuns: 2_000 },
    );
  });

  test('a query string as an object means the same when it is run again', () => {
    fc.assert(
      fc.property(query, (object) => {
        const asked = unwrap(textQuery(write(object)).read());
        expect(meaning(unwrap(objectQuery(unwrap(toObject(asked))).read()))).toEqual(meaning(asked));
      }),
      { seed, numRuns: 2_000 },
    );
  });

  test('BO19: a body means the same as the fields that qs writes of it', () => {
    const texts = fc.letrec((tie) => ({
      node: fc.oneof({ maxDepth: 4 }, text, tie('list'), tie('object')),
      list: fc.array(tie('node'), { minLength: 1, maxLength: 3 }),
      object: fc.dictionary(
        name.filter((it) => it !== '__proto__'),
        tie('node'),
        { minKeys: 1, maxKeys: 3, noNullPrototype: true },
      ),
    }));
    const body = fc.dictionary(fc.constantFrom('data', 'identifier'), texts.node, { noNullPrototype: true });
    fc.assert(
      fc.property(body, (it) => {
        const fields = qs.stringify(it, { arrayFormat: 'indices' });
        expect(toJson(unwrap(toObject(unwrap(readFields(fields)))))).toEqual(it);
      }),
      { seed, numRuns: 2_000 },
    );
  });

  test('have equal keys if they are equal, and different keys otherwise', () => {
    fc.assert(
      fc.property(query, query, (one, other) => {
        const isSame = JSON.stringify(one) === JSON.stringify(other);
        expect(objectQuery(one).key === objectQuery(other).key).toBe(isSame);
        expect(objectQuery(structuredClone(one)).key).toBe(objectQuery(one).key);
        expect(objectQuery(one).key).not.toBe(textQuery(write(one)).key);
      }),
      { seed, numRuns: 500 },
    );
  });
});
