/** What people type in a form, and what becomes of it. */
import { describe, expect, it } from 'vitest';
import { scalarTypeNames } from '../../server/src/model/attributes.js';
import { blocksOf, namedBlocks, safeUrl, valueOfBlocks } from '../src/rooms/content/fields/block-nodes.js';
import { controlKindOf, controlTypes } from '../src/rooms/content/fields/control-kinds.js';
import {
  clockOf,
  clockOfTime,
  instantOf,
  stepOf,
  storedInstant,
  timeOf,
  valueOfInstant,
  zoneName,
} from '../src/rooms/content/fields/instants.js';
import { fieldOfText, repeatedNames, textOfJson } from '../src/rooms/content/fields/json-text.js';
import { editMarkdown } from '../src/rooms/content/fields/markdown-edits.js';
import { numberOfText, textOfNumber } from '../src/rooms/content/fields/number-text.js';
import { titleOfPart } from '../src/rooms/content/fields/part-titles.js';
import { freeSlug, slugOf } from '../src/rooms/content/fields/slug.js';
import { exactText, inexactNumber, isSameNumber, withMarks } from '../src/rooms/content/form/digits.js';
import type { Json } from '../src/rooms/content/form/fields.js';
import { newPart } from '../src/rooms/content/form/parts.js';
import { attribute, type } from './made-model.js';

describe('controls', () => {
  it('there is one for every scalar type of the server', () => {
    expect([...controlTypes].sort()).toEqual([...scalarTypeNames].sort());
  });

  it('a type of tomorrow is edited as JSON, which loses nothing', () => {
    expect(controlKindOf(attribute('x', { type: 'hologram' }))).toBe('json');
  });
});

describe('numbers', () => {
  it('keep every digit: what a number cannot hold is sent as it was typed', () => {
    expect(numberOfText('12', false)).toBe(12);
    expect(numberOfText('-0.5', false)).toBe(-0.5);
    expect(numberOfText('1.50', false)).toBe('1.50');
    expect(numberOfText('12345678901234567890.12', false)).toBe('12345678901234567890.12');
    expect(numberOfText('9223372036854775807', true)).toBe('9223372036854775807');
    expect(numberOfText('four', false)).toBe('four');
    expect(numberOfText(' ', true)).toBeNull();
    expect(textOfNumber('9223372036854775807')).toBe('9223372036854775807');
  });
});

describe('instants', () => {
  const instant = new Date('2026-03-29T00:30:00.123Z');

  it('are shown by the clock of a zone and come back exact', () => {
    expect(clockOf(instant, 'utc')).toBe('2026-03-29T00:30:00.123');
    for (const zone of ['utc', 'local'] as const)
      expect(instantOf(clockOf(instant, zone) ?? '', zone)?.getTime()).toBe(instant.getTime());
    expect(instantOf('2026-03-29T00:30', 'utc')?.toISOString()).toBe('2026-03-29T00:30:00.000Z');
  });

  it('of years that no clock shows are left as text', () => {
    expect(clockOf(new Date('-000100-01-01T00:00:00Z'), 'utc')).toBeNull();
    expect(clockOf(new Date('+012026-01-01T00:00:00Z'), 'utc')).toBeNull();
  });

  it('are written as the server writes each type', () => {
    expect(storedInstant('1774744200123')?.getTime()).toBe(1774744200123);
    expect(valueOfInstant(instant, 'timestamp')).toBe(String(instant.getTime()));
    expect(valueOfInstant(instant, 'datetime')).toBe('2026-03-29T00:30:00.123Z');
    expect(zoneName(instant, 'utc')).toBe('UTC');
  });

  it('are shown as short as browsers write them, so that nothing is set anew while somebody types', () => {
    const clock = (text: string) => clockOf(new Date(text), 'utc');
    expect(clock('2026-01-01T09:05:00Z')).toBe('2026-01-01T09:05');
    expect(clock('2026-01-01T09:05:07Z')).toBe('2026-01-01T09:05:07');
    expect(clockOfTime('09:05:00.000')).toBe('09:05');
    expect(clockOfTime('09:05:00.500')).toBe('09:05:00.500');
    expect(clockOfTime('')).toBe('');
    expect([stepOf('09:05', 60), stepOf('09:05:07', 60), stepOf('09:05:07.5', 60), stepOf('', 1)]).toEqual([
      60, 1, 0.001, 1,
    ]);
  });

  it('times of day have three decimals', () => {
    expect(timeOf('09:05')).toBe('09:05:00.000');
    expect(timeOf('09:05:07.5')).toBe('09:05:07.500');
    expect(timeOf('')).toBeNull();
  });
});

describe('uids', () => {
  it('are made of Latin letters and digits', () => {
    expect(slugOf("Ødegård's Straße & Łódź")).toBe('odegards-strasse-and-lodz');
    expect(slugOf('  Crème brûlée, 3×! ')).toBe('creme-brulee-3');
    expect(slugOf('東京')).toBe('');
  });

  it('are the first that is free', () => {
    expect(freeSlug('a', [])).toBe('a');
    expect(freeSlug('a', ['a', 'a-1', 'a-3'])).toBe('a-2');
  });
});

describe('JSON', () => {
  it('is sent when it is JSON, and kept as text until then', () => {
    expect(fieldOfText('{"a": [1, null]}', null)).toEqual({ kind: 'scalar', value: { a: [1, null] } });
    expect(fieldOfText('{"a":', { b: 1 })).toEqual({ kind: 'scalar', value: { b: 1 }, unread: '{"a":' });
    expect(fieldOfText('  ', { b: 1 })).toEqual({ kind: 'scalar', value: null });
    expect(textOfJson(null)).toBe('');
    expect(fieldOfText(textOfJson({ a: 'ü' }), null).value).toEqual({ a: 'ü' });
  });

  it.each([
    ['{"a": 1, "b": {"a": 2}, "c": [{"a": "a"}, {"a": ":"}]}', []],
    ['{"a": 1, "b": {"x": 1}, "\\u0061" : 2}', ['a']],
    ['[{"\\"": 1, "b": {"c": "}", "c": 2}, "\\"": 3}]', ['c', '"']],
    ['["a", "a", ":"]', []],
  ])('%s has names twice in an object: %j', (text, names) => {
    expect(repeatedNames(text)).toEqual(names);
  });

  it.each([
    ['{"a": [1, 9007199254740991, 0.1, 1.50, -0, 1e3, 12e-1, 1e21]}', null],
    ['"12345678901234567890"', null],
    ['{"a \\"12345678901234567890": 1}', null],
    ['{"a": 9007199254740993}', '9007199254740993'],
    ['[0.1, 0.12345678901234567890]', '0.12345678901234567890'],
    ['1e400', '1e400'],
    ['1e-400', '1e-400'],
  ])('%s would be stored as it is written, but for %s', (text, number) => {
    expect(inexactNumber(text)).toBe(number);
    const field = fieldOfText(text, 'before');
    expect(field).toEqual({
      kind: 'scalar',
      ...(number === null ? { value: JSON.parse(text) } : { value: 'before', unread: text }),
    });
  });

  it('is the same however it is written', () => {
    for (const [a, b] of [
      ['+5', '5'],
      ['.5', '0.5'],
      ['5.', '5'],
      ['0x10', '16'],
      ['007', '7'],
      ['1e3', '1000'],
      ['-0', '0'],
    ] as const)
      expect([a, isSameNumber(a, b)]).toEqual([a, true]);
    for (const [a, b] of [
      ['-5', '5'],
      ['.05', '0.5'],
      ['1.234', '1.23'],
      ['0x10', '10'],
    ] as const)
      expect([a, isSameNumber(a, b)]).toEqual([a, false]);
  });

  it('that is read keeps the digits that the server shows', () => {
    const read = withMarks('{"data":{"a":12345678901234567890.5,"b":"12345678901234567890","c":1}}') as { data: Json };
    expect(exactText(read.data)).toBe('{\n  "a": 12345678901234567890.5,\n  "b": "12345678901234567890",\n  "c": 1\n}');
    expect(withMarks('{"data":{"a":1}}')).toBeNull();
    expect(exactText({ a: 1 })).toBeNull();
  });
});

describe('markdown', () => {
  it('is marked around the selection, and unmarked again', () => {
    const bold = editMarkdown({ text: 'one two', start: 4, end: 7 }, 'bold');
    expect(bold).toEqual({ text: 'one **two**', start: 6, end: 9 });
    expect(editMarkdown(bold, 'bold')).toEqual({ text: 'one two', start: 4, end: 7 });
  });

  it('marks whole lines as lists, quotes and headings', () => {
    const lines = editMarkdown({ text: 'a\nb\nc', start: 0, end: 3 }, 'numbers');
    expect(lines.text).toBe('1. a\n2. b\nc');
    expect(editMarkdown(lines, 'numbers').text).toBe('a\nb\nc');
    expect(editMarkdown({ text: 'a', start: 1, end: 1 }, 'heading').text).toBe('## a');
  });
});

describe('blocks', () => {
  const paragraph = (text: string): Json => ({ type: 'paragraph', children: [{ type: 'text', text }] });

  it('are edited if the editor knows every node, with what it does not know of each', () => {
    const document: Json = [
      { ...(paragraph('a') as object), colour: 'red' },
      { type: 'list', format: 'ordered', children: [{ type: 'list-item', children: [{ type: 'text', text: 'x' }] }] },
    ];
    expect(blocksOf(document)).toBe(document);
    expect(blocksOf(null)).toEqual([paragraph('')]);
  });

  it.each([
    ['an unknown node', [{ type: 'table', children: [] }]],
    ['an unknown node inside', [{ type: 'paragraph', children: [{ type: 'mention', children: [] }] }]],
    ['no children', [{ type: 'paragraph', children: [] }]],
    ['not a list', { type: 'paragraph' }],
    ['text at the top', [{ type: 'text', text: 'a' }]],
  ])('are edited as JSON if there is %s', (_, document) => {
    expect(blocksOf(document as Json)).toBeNull();
  });

  it('become null when nothing was there and nothing was written; texts are named as v4 names them', () => {
    expect(valueOfBlocks(blocksOf(null) ?? [], null)).toBeNull();
    const bare = [{ type: 'paragraph', children: [{ text: 'a', bold: true }] }];
    expect(namedBlocks(bare as never)).toEqual([
      { type: 'paragraph', children: [{ type: 'text', text: 'a', bold: true }] },
    ]);
  });

  it('links that would run code are not followed', () => {
    expect(safeUrl('https://example.org')).toBe('https://example.org');
    expect(safeUrl('/about')).toBe('/about');
    expect(safeUrl('javascript:alert(1)')).toBeUndefined();
    expect(safeUrl(' JaVaScript:alert(1)')).toBeUndefined();
  });
});

describe('components', () => {
  it('are named by their main field, else by the first text', () => {
    const link = type('shared.link', { label: { type: 'string' }, href: { type: 'string' } });
    const part = newPart(link, 'new:1');
    expect(titleOfPart(link, part)).toBeNull();
    const named = { ...part, fields: { ...part.fields, href: { kind: 'scalar' as const, value: ' /a \n b' } } };
    expect(titleOfPart(link, named)).toBe('/a b');
  });
});
