import { describe, expect, it } from 'vitest';
import type { Attribute, Model, Type } from '../src/model/model.js';
import { around, cardsOf, drawEdge, drawEdges, HEAD_HEIGHT, type Rect, ROW_HEIGHT } from '../src/rooms/map/geometry.js';
import { graphOf, matching } from '../src/rooms/map/graph.js';
import { kindOf, sayEdge } from '../src/rooms/map/wording.js';
import { attribute, contentType, modelOf } from './made-model.js';

const relation = (name: string, target: string, kind: string, inverse: string | null): Attribute =>
  attribute(name, {
    kind: 'relation',
    type: 'relation',
    relation: { kind, target, inverse, list: kind.endsWith('Many'), ordered: kind.endsWith('Many') },
  });

const article: Type = contentType('article', [
  attribute('title'),
  relation('author', 'api::author.author', 'manyToOne', 'articles'),
  relation('related', 'api::article.article', 'manyToMany', null),
  attribute('sections', {
    kind: 'zone',
    type: 'dynamiczone',
    zone: { components: ['sections.quote', 'sections.hero'], min: null, max: null },
  }),
]);
const author: Type = contentType('author', [
  attribute('name'),
  relation('articles', 'api::article.article', 'oneToMany', 'author'),
]);
const quote: Type = { ...contentType('quote', [attribute('text')]), uid: 'sections.quote', kind: 'component' };
const user: Type = { ...contentType('user', []), uid: 'plugin::users-permissions.user' };
const model: Model = modelOf([article, author, quote, user]);
const all = { components: true, plugins: true };

describe('the graph of a model', () => {
  it('has the types that are to be shown', () => {
    const uids = (shown: typeof all) => graphOf(model, shown).types.map((it) => it.singular);
    expect(uids({ components: false, plugins: false })).toEqual(['article', 'author']);
    expect(uids({ components: true, plugins: false })).toEqual(['article', 'author', 'quote']);
    expect(uids({ components: false, plugins: true })).toEqual(['article', 'author', 'user']);
  });

  it('has a relation that two attributes show once, with how many there are at both ends', () => {
    const edges = graphOf(model, { components: false, plugins: false }).edges;
    expect(edges.map((it) => sayEdge(model, it))).toEqual([
      'Article.author → Author; Author.articles → many Article',
      'Article.related → many Article',
    ]);
    expect(edges.map((it) => [it.from.count, it.to.count])).toEqual([
      ['many', 'one'],
      ['many', 'many'],
    ]);
    expect(article.attributes.map((it) => kindOf(model, it))).toEqual([
      'string',
      '→ Author',
      '→ many Article',
      'Quote | sections.hero',
    ]);
  });

  it('has an edge to every component of a zone that is shown', () => {
    const edges = graphOf(model, all).edges.filter((it) => it.kind === 'zone');
    expect(edges.map((it) => [it.from.attribute, it.to.uid])).toEqual([['sections', 'sections.quote']]);
  });

  it('finds types by their names and by those of attributes', () => {
    expect([...matching(model.types, 'QUO')]).toEqual(['sections.quote']);
    expect([...matching(model.types, 'title')]).toEqual(['api::article.article']);
    expect(matching(model.types, ' ').size).toBe(model.types.length);
  });
});

describe('the geometry of the map', () => {
  const shown = { components: true, plugins: true };
  const cardOf = (type: Type, whole: readonly string[] = []) => {
    const graph = graphOf(modelOf([type, article, author]), shown);
    return cardsOf(graph, new Set(whole)).get(type.uid)!;
  };

  it('gives a card a row for each attribute, up to a bound, and all of them when they are wanted', () => {
    const many = contentType(
      'wide',
      Array.from({ length: 40 }, (_, i) => attribute(`a${i}`)),
    );
    expect(cardOf(many)).toMatchObject({ rows: { length: 13 }, more: 27 });
    expect(cardOf(many).height).toBe(cardOf(contentType('less', many.attributes.slice(0, 14))).height);
    const whole = cardOf(many, [many.uid]);
    expect(whole).toMatchObject({ rows: { length: 40 }, more: 0 });
    // and one to show fewer again
    expect(whole.height - cardOf(many).height).toBe(27 * ROW_HEIGHT);
  });

  it('keeps the rows of links, where edges begin', () => {
    const links = contentType('linked', [
      ...Array.from({ length: 20 }, (_, i) => attribute(`a${i}`)),
      relation('author', 'api::author.author', 'manyToOne', null),
    ]);
    expect(cardOf(links).rows.at(-1)?.name).toBe('author');
  });

  /** Where edges meet the card of a type, from its top. */
  const offsetsAt = (types: readonly Type[], uid: string): readonly number[] => {
    const graph = graphOf(modelOf(types), shown);
    const cards = cardsOf(graph, new Set());
    const rects = new Map([...cards].map(([it, { width, height }], i) => [it, { x: 400 * i, y: 0, width, height }]));
    return drawEdges(graph, cards, rects).flatMap(({ edge, path }) => {
      const [, start] = /^M \S+ (\S+) h/.exec(path) ?? [];
      const [, end] = /L \S+ (\S+)$/.exec(path) ?? [];
      return [...(edge.from.uid === uid ? [Number(start)] : []), ...(edge.to.uid === uid ? [Number(end)] : [])];
    });
  };

  it.each([1, 3, 9, 40])('gives each of %i edges that lead to a type a place of its own, on its card', (count) => {
    const leading = Array.from({ length: count }, (_, i) =>
      contentType(`t${i}`, [relation('article', 'api::article.article', 'manyToOne', null)]),
    );
    const types = [article, author, ...leading];
    const offsets = offsetsAt(types, article.uid).toSorted((a, b) => a - b);
    // theirs, both ends of `related`, and `author`
    expect(offsets).toHaveLength(count + 3);
    const gaps = offsets.slice(1).map((it, i) => it - offsets[i]!);
    // a mark is 8 high
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(10);
    const { height } = cardsOf(graphOf(modelOf(types), shown), new Set()).get(article.uid)!;
    expect(offsets.at(-1)).toBeLessThan(height);
    expect(offsets).toContain(HEAD_HEIGHT + 1.5 * ROW_HEIGHT);
  });

  it('draws edges between the sides that face each other, and loops and stacks on one side', () => {
    const at = (x: number, y: number) => ({ x, y, width: 100, height: 100 });
    const sides = (from: Rect, to: Rect) => {
      const { path } = drawEdge({ rect: from, offset: 10, count: 'many' }, { rect: to, offset: 30, count: 'one' });
      const [, startX, endX] = /^M (\S+) .* L (\S+) /.exec(path) ?? [];
      return [Number(startX) - from.x, Number(endX) - to.x].map((it) => (it === 0 ? 'left' : 'right'));
    };
    const left = at(0, 0);
    const right = at(400, 0);
    expect(sides(left, right)).toEqual(['right', 'left']);
    expect(sides(right, left)).toEqual(['left', 'right']);
    expect(sides(left, left)).toEqual(['right', 'right']);
    expect(sides(left, at(10, 300))).toEqual(['right', 'right']);
  });

  it('marks an end of many by a crow’s foot that opens towards the card, and an end of one by a bar', () => {
    const at = (x: number) => ({ x, y: 0, width: 100, height: 100 });
    const { marks } = drawEdge({ rect: at(0), offset: 10, count: 'many' }, { rect: at(400), offset: 30, count: 'one' });
    expect(marks).toEqual(['M 100 6 L 110 10 L 100 14', 'M 393 26 v 8']);
  });

  it('knows how large the whole is', () => {
    const rects = [
      { x: 0, y: 0, width: 100, height: 50 },
      { x: 300, y: -20, width: 100, height: 50 },
    ];
    expect(around(rects, 10)).toEqual({ x: -10, y: -30, width: 420, height: 90 });
    expect(around([], 10)).toEqual({ x: 0, y: 0, width: 0, height: 0 });
  });
});
