import { describe, expect, it } from 'vitest';
import { type TableRead, wholeOf } from '../../src/rooms/ask/explanation.js';
import { answerRows, cellText } from '../../src/rooms/ask/readable.js';
import { attribute, contentType, modelOf } from '../made-model.js';

const author = contentType('author', [attribute('name'), attribute('slug')], { mainField: 'name' });
const article = contentType(
  'article',
  [
    attribute('title'),
    attribute('author', {
      kind: 'relation',
      type: 'relation',
      relation: { kind: 'manyToOne', target: author.uid, inverse: null, list: false, ordered: false },
    }),
  ],
  { mainField: 'title' },
);
const model = modelOf([article, author]);
const rows = (data: unknown) =>
  answerRows({ data }, article, model, new Set()).map((it) => `${it.level} ${it.label} ${it.text}`.trimEnd());

describe('the answer as people read it', () => {
  it('names entries by their main field, and those without by type and id', () => {
    const named = { id: 7, attributes: { title: 'Slack Water' } };
    const nameless = {
      id: 8,
      attributes: { title: null, author: { data: { id: 3, attributes: { name: '', slug: 'x' } } } },
    };
    expect(rows([named, nameless])).toEqual([
      '1 #7 Slack Water',
      '2 title Slack Water',
      '1 #8 Article 8',
      '2 title —',
      '2 author',
      '3 #3 Author 3',
      '4 name',
      '4 slug x',
    ]);
    expect(cellText({ data: [{ id: 3, attributes: {} }] }, 'author', article, model)).toBe('Author 3');
  });

  it('names entries whose main field was not asked for by their first text, which is no time', () => {
    const entry = { id: 3, attributes: { createdAt: '2026-01-31T12:00:00.000Z', slug: 'leonie' } };
    expect(cellText({ data: entry }, 'author', article, model)).toBe('leonie');
  });

  it('has a row for what is open only, however large the answer is', () => {
    const many = Array.from({ length: 5000 }, (_, i) => ({ id: i + 1, attributes: { title: `t${i}` } }));
    expect(rows(many)).toHaveLength(10_000);
  });
});

describe('a plan', () => {
  it('is marked where it reads a whole table, or all of one locale of it', () => {
    const read = (extent: TableRead['extent'], index: string | null = null): TableRead => ({
      table: 'pages',
      index,
      extent,
      rows: null,
    });
    expect(wholeOf([read('some', 'pages_pk'), read('all')])).toBe('table');
    expect(wholeOf([read('locale', 'pages_locale'), read('some')])).toBe('locale');
    // an index is read in place of the table
    expect(wholeOf([read('all', 'pages_slug'), read('ordered'), read('range', 'pages_slug')])).toBeNull();
  });
});
