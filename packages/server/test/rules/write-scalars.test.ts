/** BO5: what each scalar type accepts, how it is returned, and what it refuses, the same on both databases. */
import bcrypt from '@node-rs/bcrypt';
import { describe, expect, it } from 'vitest';
import { dialects, said, useRelationsWorld } from '../world/relations/world.js';

/** Attribute, value written, value returned; undefined if it is returned unchanged. */
const accepted: readonly (readonly [attribute: string, given: unknown, shown?: unknown])[] = [
  ['label', 'plain'],
  ['label', ''],
  ['label', '  not trimmed  '],
  ['label', "'); drop table sheets; --"],
  ['label', 'x'.repeat(255)],
  ['label', '😀'.repeat(127)],
  ['label', 'é\t\n"\\\u0001'],
  ['label', 'null'],
  ['label', null],
  ['remark', 'two\nlines'],
  ['remark', 'y'.repeat(5000)],
  ['report', '# Title\n\n*text* <b>'],
  ['condition', 'mint'],
  ['condition', null],
  ['contact', 'a.b+c@example.org'],
  ['contact', 'Ä@bücher.example'],
  ['contact', 'anon@x.y'],
  ['contact', 'a@x_y.de'],
  ['contact', '"a b"@x.de'],
  ['barcode', 'a-Z_9.~'],
  ['barcode', ''],
  ['day', '2024-02-29'],
  ['day', '0001-01-01'],
  ['day', '9999-12-31'],
  ['day', '2024-01-02T10:20:30.000Z', '2024-01-02'],
  ['hour', '10:20:30', '10:20:30.000'],
  ['hour', '10:20:30.1', '10:20:30.100'],
  ['hour', '10:20:30.12', '10:20:30.120'],
  ['hour', '23:59:59.999'],
  ['hour', '00:00:00.000'],
  ['moment', '2024-02-01T10:00:00.000Z'],
  ['moment', '2024-02-01T10:00:00+02:00', '2024-02-01T08:00:00.000Z'],
  ['moment', '2024-02-01T10:00:00.1239Z', '2024-02-01T10:00:00.123Z'],
  ['moment', 0, '1970-01-01T00:00:00.000Z'],
  ['moment', -1, '1969-12-31T23:59:59.999Z'],
  ['moment', '1709251200000', '2024-03-01T00:00:00.000Z'],
  ['moment', '+012345-01-01T00:00:00.000Z'],
  ['moment', '+275760-09-13T00:00:00.000Z'],
  ['moment', '0000-06-01T00:00:00.000Z'],
  ['moment', '-000001-12-31T23:59:59.999Z'],
  ['stamp', 1709251200000, '1709251200000'],
  ['stamp', '2024-03-01T00:00:00Z', '1709251200000'],
  ['count', 5],
  ['count', 0],
  ['count', -2147483647],
  ['count', 2147483647],
  ['count', '7', 7],
  ['count', ' 7 ', 7],
  ['count', '1e1', 10],
  ['count', '0x10', 16],
  ['count', [5], 5],
  ['count', 2.0, 2],
  ['big', 5, '5'],
  ['big', '9223372036854775807'],
  ['big', '-9223372036854775808'],
  ['big', '9007199254740993'],
  ['big', '+12', '12'],
  ['big', '007', '7'],
  ['ratio', 1.5],
  ['ratio', '2.25', 2.25],
  ['ratio', [0.5], 0.5],
  ['ratio', 1e300],
  ['price', 12.34],
  ['price', '99999999.99', 99999999.99],
  ['price', -0.01],
  ['open', true],
  ['open', false],
  ['open', 'TRUE', true],
  ['open', 'False', false],
  ['open', 1, true],
  ['open', 0, false],
  ['open', '1', true],
  ['open', '0', false],
  ['meta', { b: [1, 'é', null, { c: true }] }],
  ['meta', []],
  ['meta', 'text'],
  ['meta', ''],
  ['meta', '5'],
  ['meta', 5],
  ['meta', 1.5],
  ['meta', false],
  ['meta', null],
  ['words', ['a', 1, null, { x: [] }]],
  ['words', []],
  ['story', [{ type: 'paragraph', children: [{ type: 'text', text: 'x', bold: true }] }]],
  ['story', [{ type: 'heading', level: 2, children: [{ type: 'text', text: 'x' }] }]],
  [
    'story',
    [{ type: 'list', format: 'ordered', children: [{ type: 'list-item', children: [{ type: 'text', text: 'x' }] }] }],
  ],
  [
    'story',
    [{ type: 'quote', children: [{ type: 'link', url: '/x', children: [{ type: 'text', text: 'x' }] }], extra: 1 }],
  ],
  ['story', []],
];

/** Attribute, refused value, part of the message. */
const refused: readonly (readonly [attribute: string, given: unknown, message: string])[] = [
  ...['label', 'remark', 'report', 'condition', 'contact', 'barcode', 'secret'].flatMap((attribute) =>
    [5, true, ['x'], { x: 1 }].map((given) => [attribute, given, '`string` type'] as const),
  ),
  ...['label', 'remark', 'secret'].flatMap((attribute) =>
    ['a\0b', '\ud800', 'x\udc00y'].map((given) => [attribute, given, 'NUL'] as const),
  ),
  ['label', 'x'.repeat(256), 'at most 255 characters'],
  ['label', '😀'.repeat(128), 'at most 255 characters'],
  ['contact', `${'a'.repeat(250)}@example.org`, 'at most 255 characters'],
  ['barcode', 'x'.repeat(256), 'at most 255 characters'],
  ['condition', 'other', 'one of the following values: mint, worn, '],
  ['condition', 'Mint', 'one of the following values: mint, worn, '],
  ['condition', '', 'one of the following values: mint, worn, '],
  ['contact', 'nobody', 'must be a valid email'],
  ['contact', 'a@b', 'must be a valid email'],
  ['contact', 'a b@example.org', 'must be a valid email'],
  ...[
    'a..b@x.de',
    '.a@x.de',
    'a.@x.de',
    'a@x.d1',
    'a@-x.de',
    'a@x-.de',
    'a@x..de',
    '@x.de',
    '"\\\nBcc: a@b.c"@a.bb',
    '"\\\r"@a.bb',
  ].map((given) => ['contact', given, 'must be a valid email'] as const),
  ['contact', '', 'cannot be empty'],
  ['barcode', 'with blank', 'must match the following: "/^[A-Za-z0-9-_.~]*$/"'],
  ['barcode', 'ä', 'must match the following: "/^[A-Za-z0-9-_.~]*$/"'],
  ['day', '2024-1-2', 'expected yyyy-MM-dd'],
  ['day', '20240102', 'expected yyyy-MM-dd'],
  ['day', '', 'expected yyyy-MM-dd'],
  ['day', 20240102, 'expected yyyy-MM-dd'],
  ['day', true, 'expected yyyy-MM-dd'],
  ['day', ['2024-01-02'], 'expected yyyy-MM-dd'],
  ['day', '2024-01-02garbage', 'expected yyyy-MM-dd'],
  ['day', '2024-02-30', 'Invalid date'],
  ['day', '2023-02-29', 'Invalid date'],
  ['day', '2024-13-01', 'Invalid date'],
  ['day', '0000-01-01', ''],
  ['hour', '10:20', 'expected HH:mm:ss.SSS'],
  ['hour', '24:00:00', 'expected HH:mm:ss.SSS'],
  ['hour', '10:60:00', 'expected HH:mm:ss.SSS'],
  ['hour', '10:20:30.1234', 'expected HH:mm:ss.SSS'],
  ['hour', '10:20:30Z', 'expected HH:mm:ss.SSS'],
  ['hour', '10:20:30x1', 'expected HH:mm:ss.SSS'],
  ['hour', 102030, ''],
  ['hour', '', 'expected HH:mm:ss.SSS'],
  ...['moment', 'stamp'].flatMap((attribute) =>
    ['zz', '', true, {}, [], '2024-02-30', '2024-02-01T25:00:00Z', 1.5, '1e400', 8.64e15 + 1].map(
      (given) => [attribute, given, 'expected a timestamp or an ISO date'] as const,
    ),
  ),
  ['count', 1.5, 'must be an integer'],
  ['count', '1.5', 'must be an integer'],
  ...['count', 'ratio', 'price'].flatMap((attribute) =>
    ['', ' ', 'abc', true, {}, [], [1, 2], '1e400', 'NaN', 'Infinity', [[1]]].map(
      (given) => [attribute, given, '`number` type'] as const,
    ),
  ),
  ['count', 2147483648, 'less than or equal to 2147483647'],
  ['count', -2147483649, ''],
  ['count', 1e300, ''],
  ['big', 'abc', '`number` type'],
  ['big', '', '`number` type'],
  ['big', true, '`number` type'],
  ['big', { $gt: 1 }, '`number` type'],
  ['big', [1], '`number` type'],
  ['big', 1.5, '`number` type'],
  ['big', '1.5', '`number` type'],
  ['big', '0x10', '`number` type'],
  ['big', '9223372036854775808', ''],
  ['big', '-9223372036854775809', ''],
  // a number that JSON cannot represent exactly
  ['big', 2 ** 53, '`number` type'],
  ['big', '9'.repeat(40), ''],
  ['price', 100000000, ''],
  ['price', -1e9, ''],
  // rounds to 10^8, which a decimal column cannot hold
  ['price', 99999999.999, ''],
  ['price', -99999999.995, ''],
  // before PostgreSQL's earliest date
  ['moment', -8.64e15, ''],
  ['stamp', '-271821-04-20T00:00:00.000Z', ''],
  ...['t', 'f', 'yes', 2, '', [], {}, [true], '2', 'on'].map((given) => ['open', given, '`boolean` type'] as const),
  ['meta', { a: 'x\0y' }, 'NUL'],
  ['meta', ['\ud800'], 'NUL'],
  ['meta', { 'a\0': 1 }, 'NUL'],
  ['words', 'x', '`array` type'],
  ['words', { 0: 'x' }, '`array` type'],
  ['story', 'x', '`array` type'],
  ['story', {}, '`array` type'],
  ['story', [null], 'Block node is of invalid type'],
  ['story', ['x'], 'Block node is of invalid type'],
  ['story', [{ type: 'nope', children: [] }], 'Block node is of invalid type'],
  ['story', [{ type: 'paragraph' }], 'children'],
  ['story', [{ type: 'heading', level: 9, children: [] }], 'level'],
  ['story', [{ type: 'text', text: 'x' }], 'Block node is of invalid type'],
];

describe.each(dialects)('scalar values on %s', (dialect) => {
  const world = useRelationsWorld(dialect);

  it.each(accepted.map((row) => [row[0], row[1], row[2] === undefined ? row[1] : row[2]] as const))(
    'BO5: %s accepts %j',
    async (attribute, given, shown) => {
      const created = await world.send('POST', '/api/sheets', { data: { [attribute]: given } });
      expect(created.status, created.text).toBe(200);
      const { data } = created.body as { data: { id: number; attributes: Record<string, unknown> } };
      expect(data.attributes[attribute]).toEqual(shown);
      expect((await world.read(`/api/sheets/${data.id}`)).attributes[attribute]).toEqual(shown);
      await world.update('sheets', data.id, { [attribute]: null });
      expect((await world.update('sheets', data.id, { [attribute]: given })).attributes[attribute]).toEqual(shown);
      // uid values must be unique
      await world.send('DELETE', `/api/sheets/${data.id}`);
    },
  );

  it('BO5: the message names the path of a refused value, and nothing changes', async () => {
    const id = await world.create('sheets');
    await world.unchanged(async () => {
      for (const [attribute, given, message] of refused) {
        const body = { data: { [attribute]: given } };
        const what = `${attribute} ${JSON.stringify(given).slice(0, 80)}`;
        for (const answer of [
          await world.send('POST', '/api/sheets', body),
          await world.send('PUT', `/api/sheets/${id}`, body),
        ]) {
          if (answer.status !== 400) {
            expect.soft(answer.status, `${what}: ${answer.text.slice(0, 200)}`).toBe(400);
            continue;
          }
          const { name, paths, messages } = said(answer);
          expect.soft(name, what).toBe('ValidationError');
          expect.soft(paths[0], what).toMatch(new RegExp(`^${attribute}(\\.|$)`));
          expect.soft(messages[0], what).toContain(message);
        }
      }
    });
  });

  it('BO9, ER2: every fault of a body is reported in one response', async () => {
    const data = { label: 5, count: 'abc', open: 'yes', day: 'x', big: 'abc', story: 'x', contact: '' };
    const { status, message, paths } = await world.refused('POST', '/api/sheets', { data });
    expect(status).toBe(400);
    expect([...paths].sort()).toEqual(Object.keys(data).sort());
    expect(message).toBe(`${paths.length} errors occurred`);
  });

  it('BO5: a number that is too great is refused inside of JSON, too, where it would become null', async () => {
    for (const [name, value] of [
      ['meta', '1e400'],
      ['meta', '-1e400'],
      ['meta', '{"a":[1,{"b":1e400}]}'],
      ['words', '["a",1e400]'],
      ['count', '1e400'],
      ['big', '1e400'],
      ['ratio', '1e400'],
      ['moment', '1e400'],
    ] as const) {
      const { status, paths } = await world.refused('POST', '/api/sheets', `{"data":{"${name}":${value}}}`, {
        'content-type': 'application/json',
      });
      expect([status, paths], `${name} ${value}`).toEqual([400, [name]]);
    }
  });

  it('BO15: JSON nested too deep is refused, JSON within the limit is stored', async () => {
    const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);
    const id = await world.create('sheets', { meta: nested(400) });
    expect((await world.read(`/api/sheets/${id}`)).attributes['meta']).toEqual(nested(400));
    for (const attribute of ['meta', 'words', 'story']) {
      const { status, paths } = await world.refused(
        'POST',
        '/api/sheets',
        `{"data":{"${attribute}":${'['.repeat(6000)}${']'.repeat(6000)}}}`,
        { 'content-type': 'application/json' },
      );
      expect([status, paths]).toEqual([400, [attribute]]);
    }
    const objects = `${'{"a":'.repeat(6000)}1${'}'.repeat(6000)}`;
    expect(
      (
        await world.refused('POST', '/api/sheets', `{"data":{"meta":${objects}}}`, {
          'content-type': 'application/json',
        })
      ).status,
    ).toBe(400);
  });

  it.each(['label', 'count', 'big', 'open', 'day', 'moment', 'contact'])(
    'BO15: JSON nested too deep is refused where %s is expected',
    async (attribute) => {
      const objects = `${'{"a":'.repeat(6000)}1${'}'.repeat(6000)}`;
      const { status, paths } = await world.refused('POST', '/api/sheets', `{"data":{"${attribute}":${objects}}}`, {
        'content-type': 'application/json',
      });
      expect([status, paths]).toEqual([400, [attribute]]);
    },
  );

  it('BO15: JSON nested too deep is refused in place of data, relations, components and media', async () => {
    const json = { 'content-type': 'application/json' };
    const objects = `${'{"a":'.repeat(6000)}1${'}'.repeat(6000)}`;
    const lists = `${'['.repeat(6000)}${']'.repeat(6000)}`;
    await world.unchanged(async () => {
      for (const deep of [objects, lists]) {
        for (const [plural, body] of [
          ['sheets', `{"data":${deep}}`],
          ['sheets', deep],
          ['shelves', `{"data":{"manyMany":${deep}}}`],
          ['shelves', `{"data":{"oneOne":${deep}}}`],
          ['shelves', `{"data":{"manyMany":{"connect":[{"id":${deep}}]}}}`],
          ['shelves', `{"data":{"manyMany":{"connect":[{"id":1,"position":${deep}}]}}}`],
          ['holders', `{"data":{"card":${deep}}}`],
          ['holders', `{"data":{"card":{"id":${deep}}}}`],
          ['holders', `{"data":{"cards":${deep}}}`],
          ['holders', `{"data":{"zone":${deep}}}`],
          ['holders', `{"data":{"zone":[{"__component":${deep}}]}}`],
          ['holders', `{"data":{"cover":${deep}}}`],
          ['forms', `{"data":{"publishedAt":${deep}}}`],
        ] as const) {
          const { status } = await world.send('POST', `/api/${plural}`, body, json);
          expect.soft(status, `${plural} ${body.slice(0, 60)}`).toBe(400);
        }
      }
    });
  });

  it('BO16: a password is stored as a bcrypt hash and never shown', async () => {
    const created = await world.send('POST', '/api/sheets', { data: { secret: 'correct horse' } });
    const { id } = (created.body as { data: { id: number } }).data;
    expect(created.text).not.toContain('secret');
    const stored = (): Promise<string> =>
      world.rows('sheets').then((rows) => String(rows.find((it) => it['id'] === id)?.['secret']));
    const hash = await stored();
    expect(hash).toMatch(/^\$2[aby]\$10\$.{53}$/);
    expect(await bcrypt.verify('correct horse', hash)).toBe(true);
    await world.update('sheets', id, { label: 'x' });
    expect(await stored()).toBe(hash);
    await world.update('sheets', id, { secret: null });
    expect(await stored()).toBe('null');
  });

  it('BO5: json null is stored as SQL NULL', async () => {
    const id = await world.create('sheets', { meta: { a: 1 }, words: [1] });
    await world.update('sheets', id, { meta: null, words: null });
    const row = (await world.rows('sheets')).find((it) => it['id'] === id);
    expect([row?.['meta'], row?.['words']]).toEqual([null, null]);
  });

  it('BO7: missing attributes get their defaults on POST only; null stays null', async () => {
    const created = await world.create('sheets', {});
    const defaults = { starts: 7, greeting: 'hello', ready: false };
    expect((await world.read(`/api/sheets/${created}`)).attributes).toMatchObject({ ...defaults, label: null });
    const cleared = await world.create('sheets', { starts: null, greeting: '', ready: null });
    expect((await world.read(`/api/sheets/${cleared}`)).attributes).toMatchObject({
      starts: null,
      greeting: '',
      ready: null,
    });
    await world.update('sheets', created, { starts: null, label: 'x' });
    expect((await world.update('sheets', created, { label: 'y' })).attributes).toMatchObject({
      starts: null,
      greeting: 'hello',
      label: 'y',
    });
  });

  it('BO4: attributes with writable false are ignored, private ones are written and not shown', async () => {
    const id = await world.create('sheets', { frozen: 'x', quiet: 'hush' });
    const entry = await world.update('sheets', id, { frozen: 'y', quiet: 'hush' });
    expect(entry.attributes).not.toHaveProperty('quiet');
    const row = (await world.rows('sheets')).find((it) => it['id'] === id);
    expect([row?.['frozen'], row?.['quiet']]).toEqual([null, 'hush']);
  });
});
