/** `migrate`: attributes that get another type, with what their values become, and what of several links and components stays. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applyPlan } from '../../src/migrate/apply.js';
import { nothingAsked } from '../../src/migrate/asked.js';
import type { ConvertChange } from '../../src/migrate/changes.js';
import { type Changing, newChanging } from '../world/changed.js';
import { dialects } from '../world/databases.js';
import { migrateIn, planFrom, planIn, silent } from '../world/migrating.js';
import { component, contentType, type Json, typeFile } from '../world/schemas.js';

interface Case {
  readonly from: Json;
  readonly to: Json;
  /** What each entry's value becomes; what is not itself exactly is `lost` or `altered`. */
  readonly values: readonly (readonly [before: unknown, after: unknown, loss?: 'lost' | 'altered'])[];
}
const type = (name: string, more: Json = {}): Json => ({ type: name, ...more });
const long = 'x'.repeat(300);

/** Attribute by attribute. */
const cases: Readonly<Record<string, Case>> = {
  textInteger: {
    from: type('string'),
    to: type('integer'),
    values: [
      ['12', 12],
      [' -7 ', -7],
      ['2.5', 3, 'altered'],
      ['twelve', null, 'lost'],
      ['', null, 'lost'],
      ['3000000000', null, 'lost'],
    ],
  },
  textBiginteger: {
    from: type('string'),
    to: type('biginteger'),
    values: [
      ['9007199254740993', '9007199254740993'],
      ['1e3', '1000'],
      ['9223372036854775808', null, 'lost'],
    ],
  },
  textFloat: {
    from: type('text'),
    to: type('float'),
    values: [
      ['1.5', 1.5],
      ['-1e-3', -0.001],
      ['1,5', null, 'lost'],
    ],
  },
  textDecimal: {
    from: type('string'),
    to: type('decimal'),
    values: [
      ['12.34', 12.34],
      ['12.345', 12.35, 'altered'],
    ],
  },
  textBoolean: {
    from: type('string'),
    to: type('boolean'),
    values: [
      ['true', true],
      ['0', false],
      ['yes', null, 'lost'],
    ],
  },
  textDate: {
    from: type('string'),
    to: type('date'),
    values: [
      ['2024-02-29', '2024-02-29'],
      ['2024-02-29T10:00:00Z', '2024-02-29', 'altered'],
      ['2023-02-29', null, 'lost'],
    ],
  },
  textTime: {
    from: type('string'),
    to: type('time'),
    values: [
      ['10:20:30', '10:20:30'],
      ['10:20', null, 'lost'],
    ],
  },
  textDatetime: {
    from: type('string'),
    to: type('datetime'),
    values: [
      ['2024-02-29', '2024-02-29T00:00:00.000Z'],
      ['2024-02-29T10:00:00+01:00', '2024-02-29T09:00:00.000Z'],
      ['2024', '2024-01-01T00:00:00.000Z', 'lost'],
      ['today', null, 'lost'],
    ],
  },
  textJson: {
    from: type('text'),
    to: type('json'),
    values: [
      ['{"a":[1]}', { a: [1] }],
      ['plain', 'plain'],
      ['5', 5],
    ],
  },
  textBlocks: {
    from: type('richtext'),
    to: type('blocks'),
    values: [['one\n\ntwo', ['one', 'two'].map((text) => ({ type: 'paragraph', children: [{ type: 'text', text }] }))]],
  },
  textString: {
    from: type('text'),
    to: type('enumeration', { enum: ['a', 'b'] }),
    values: [
      ['a', 'a'],
      ['c', null, 'lost'],
    ],
  },
  enumerationFewer: {
    from: type('enumeration', { enum: ['a', 'b', 'c'] }),
    to: type('enumeration', { enum: ['a', 'd'] }),
    values: [
      ['a', 'a'],
      ['b', null, 'lost'],
    ],
  },
  stringEnumeration: {
    from: type('string'),
    to: type('enumeration', { enum: ['a'] }),
    values: [
      ['a', 'a'],
      ['z', null, 'lost'],
    ],
  },
  integerString: { from: type('integer'), to: type('string'), values: [[12, '12']] },
  integerBoolean: {
    from: type('integer'),
    to: type('boolean'),
    values: [
      [1, true],
      [0, false],
      [2, null, 'lost'],
    ],
  },
  floatInteger: {
    from: type('float'),
    to: type('integer'),
    values: [
      [3, 3],
      [2.5, 3, 'altered'],
    ],
  },
  bigintegerInteger: {
    from: type('biginteger'),
    to: type('integer'),
    values: [
      ['12', 12],
      ['3000000000', null, 'lost'],
    ],
  },
  bigintegerText: { from: type('biginteger'), to: type('text'), values: [['9007199254740993', '9007199254740993']] },
  integerBiginteger: { from: type('integer'), to: type('biginteger'), values: [[-5, '-5']] },
  booleanString: {
    from: type('boolean'),
    to: type('string'),
    values: [
      [true, 'true'],
      [false, 'false'],
    ],
  },
  booleanInteger: {
    from: type('boolean'),
    to: type('integer'),
    values: [
      [true, 1],
      [false, 0],
    ],
  },
  datetimeDate: {
    from: type('datetime'),
    to: type('date'),
    values: [
      ['2024-02-29T00:00:00.000Z', '2024-02-29'],
      ['2024-02-29T10:00:00.000Z', '2024-02-29', 'altered'],
    ],
  },
  datetimeTime: {
    from: type('datetime'),
    to: type('time'),
    values: [['2024-02-29T10:20:30.000Z', '10:20:30', 'altered']],
  },
  datetimeString: {
    from: type('datetime'),
    to: type('string'),
    values: [['2024-02-29T10:00:00.000Z', '2024-02-29T10:00:00.000Z']],
  },
  datetimeInteger: {
    from: type('datetime'),
    to: type('integer'),
    values: [['2024-02-29T10:00:00.000Z', null, 'lost']],
  },
  dateDatetime: { from: type('date'), to: type('datetime'), values: [['2024-02-29', '2024-02-29T00:00:00.000Z']] },
  integerDatetime: { from: type('integer'), to: type('datetime'), values: [[1720000800, null, 'lost']] },
  jsonText: {
    from: type('json'),
    to: type('text'),
    values: [
      [{ a: 1 }, '{"a":1}'],
      ['word', 'word'],
    ],
  },
  jsonBlocks: { from: type('json'), to: type('blocks'), values: [[{ a: 1 }, null, 'lost']] },
  passwordString: { from: type('password'), to: type('string'), values: [['secret', null, 'lost']] },
  timeString: { from: type('time'), to: type('string'), values: [['10:20:30.000', '10:20:30']] },
};

const attributes = (side: 'from' | 'to'): Json =>
  Object.fromEntries(Object.entries(cases).map(([name, it]) => [name, it[side]]));
const rows = Math.max(...Object.values(cases).map((it) => it.values.length));
/** Times are shown with the decimals that the database has. */
const shortTime = (value: unknown): unknown =>
  typeof value === 'string' ? value.replace(/^(\d\d:\d\d:\d\d)\.000$/, '$1') : value;

describe.each(dialects)('on %s', (dialect) => {
  describe('values', () => {
    let changing: Changing;
    beforeAll(async () => {
      changing = await newChanging(dialect, { [typeFile('thing')]: contentType('thing', attributes('from')) });
      for (let i = 0; i < rows; i++) {
        const data = Object.fromEntries(
          Object.entries(cases).map(([name, { values }]) => [name, values[i]?.[0] ?? null]),
        );
        const { status, text } = await changing.server.send('POST', '/api/things', { body: { data } });
        expect(status, text).toBe(200);
      }
      changing.write({ [typeFile('thing')]: contentType('thing', attributes('to')) });
    });
    afterAll(() => changing.close());

    it('what would be lost is counted, and nothing that loses something is done unasked', async () => {
      const { changes, undecided } = await planIn(changing.dir, changing.database.db);
      const found = new Map(
        [...changes, ...undecided].map((it) => [(it as ConvertChange).attribute, it as ConvertChange]),
      );
      for (const [name, { values }] of Object.entries(cases)) {
        const [lost, altered] = (['lost', 'altered'] as const).map(
          (loss) => values.filter((it) => it[2] === loss).length,
        );
        // what the column can hold as it is needs no conversion
        const change = found.get(name) ?? { values: values.length, lost: 0, altered: 0 };
        expect([name, change.values, change.lost, change.altered]).toEqual([name, values.length, lost, altered]);
      }
      expect(changes.every((it) => (it as ConvertChange).lost + (it as ConvertChange).altered === 0)).toBe(true);
    });

    it('each value becomes the one that means the same, and what has none is null', async () => {
      const convert = Object.keys(cases).map((it) => `thing.${it}`);
      await migrateIn(changing.dir, changing.database.db, { convert });
      expect(await planIn(changing.dir, changing.database.db)).toMatchObject({
        changes: [],
        undecided: [],
        tolerated: [],
      });
      await changing.start({});
      expect(changing.warnings).toEqual([]);
      const { body } = await changing.server.get('/api/things?sort=id');
      const entries = (body as { data: { attributes: Record<string, unknown> }[] }).data;
      for (const [name, { values }] of Object.entries(cases)) {
        const shown = entries.map((it) => shortTime(it.attributes[name]));
        const expected = Array.from({ length: rows }, (_, i) =>
          values[i]?.[2] === 'lost' ? null : (values[i]?.[1] ?? null),
        );
        expect([name, shown]).toEqual([name, expected]);
      }
    });
  });

  it('a longer text than its column holds is kept on SQLite, and cut on PostgreSQL if asked for', async () => {
    const changing = await newChanging(dialect, { [typeFile('thing')]: contentType('thing', { note: type('text') }) });
    try {
      await changing.server.send('POST', '/api/things', { body: { data: { note: long } } });
      changing.write({ [typeFile('thing')]: contentType('thing', { note: type('string') }) });
      const { changes, tolerated } = await planIn(changing.dir, changing.database.db);
      expect(changes).toEqual([]);
      expect(tolerated.map((it) => it.altered)).toEqual(dialect === 'sqlite' ? [] : [1]);
      await migrateIn(changing.dir, changing.database.db, { convert: ['thing.note'] });
      await changing.start({});
      const { body } = await changing.server.get('/api/things/1');
      const shown = (body as { data: { attributes: { note: string } } }).data.attributes.note;
      expect(shown).toBe(dialect === 'sqlite' ? long : long.slice(0, 255));
    } finally {
      await changing.close();
    }
  });

  it('C1: a column changed by hand is named, and converted if asked for', async () => {
    const changing = await newChanging(dialect, {
      [typeFile('thing')]: contentType('thing', { n: type('integer'), s: type('string') }),
    });
    try {
      await changing.server.send('POST', '/api/things', { body: { data: { n: 7, s: 'seven' } } });
      await changing.run(
        ...(dialect === 'sqlite'
          ? [
              'alter table things rename column n to m',
              'alter table things add column n text',
              'update things set n = m',
              'alter table things drop column m',
            ]
          : [
              'alter table things alter column n type text',
              'alter table things alter column s type character varying(100)',
            ]),
      );
      const { changes, tolerated } = await planIn(changing.dir, changing.database.db);
      expect(changes).toMatchObject([
        { change: 'convert attribute', attribute: 'n', from: 'text', to: 'integer', values: 1, lost: 0 },
      ]);
      expect(tolerated.map((it) => it.attribute)).toEqual(dialect === 'sqlite' ? [] : ['s']);
      await migrateIn(changing.dir, changing.database.db, { convert: ['thing.s'] });
      await changing.start({});
      expect(changing.warnings).toEqual([]);
      expect((await changing.server.get('/api/things/1?fields[0]=n&fields[1]=s')).body).toMatchObject({
        data: { attributes: { n: 7, s: 'seven' } },
      });
    } finally {
      await changing.close();
    }
  });

  it('indexes of a converted column survive, and triggers of its table', async () => {
    const changing = await newChanging(dialect, {
      [typeFile('thing')]: contentType('thing', { n: type('string'), m: type('string') }),
    });
    try {
      await changing.server.send('POST', '/api/things', { body: { data: { n: '7' } } });
      await changing.run(
        'create index things_of_others on things (m, n)',
        'create unique index things_n_of_others on things (n)',
      );
      await changing.run(
        ...(dialect === 'sqlite'
          ? [
              "create trigger of_others after insert on things begin update things set m = 'seen' where id = new.id; end",
            ]
          : [
              "create function see() returns trigger language plpgsql as 'begin new.m = ''seen''; return new; end'",
              'create trigger of_others before insert on things for each row execute function see()',
            ]),
      );
      changing.write({ [typeFile('thing')]: contentType('thing', { n: type('integer'), m: type('string') }) });
      await migrateIn(changing.dir, changing.database.db);
      const indexes = await changing.rows(
        dialect === 'sqlite'
          ? "select name from sqlite_master where type = 'index' and name like 'things_%of_others' order by name"
          : "select indexname from pg_indexes where indexname like 'things_%of_others' order by 1",
      );
      expect(indexes.flat()).toEqual(['things_n_of_others', 'things_of_others']);
      await changing.run('insert into things (n) values (8)');
      expect(await changing.rows('select n, m from things order by n')).toEqual([
        [7, null],
        [8, 'seen'],
      ]);
    } finally {
      await changing.close();
    }
  });

  it('of several links or components the first stays, and the plan says how many do not', async () => {
    const many = {
      [typeFile('tag')]: contentType('tag', { name: type('string') }),
      'src/components/parts/line.json': component('components_parts_lines', {
        text: type('string'),
        deep: type('component', { component: 'parts.deep', repeatable: true }),
      }),
      'src/components/parts/deep.json': component('components_parts_deeps', { text: type('string') }),
      [typeFile('post')]: contentType('post', {
        tags: type('relation', { relation: 'manyToMany', target: 'api::tag.tag' }),
        lines: type('component', { component: 'parts.line', repeatable: true }),
      }),
    };
    const changing = await newChanging(dialect, many);
    try {
      for (const name of ['a', 'b', 'c']) await changing.server.send('POST', '/api/tags', { body: { data: { name } } });
      const line = (text: string): Json => ({ text, deep: [{ text: `${text}1` }, { text: `${text}2` }] });
      for (const data of [
        { tags: [3, 1, 2], lines: ['x', 'y', 'z'].map(line) },
        { tags: [2], lines: [line('u')] },
      ])
        expect((await changing.server.send('POST', '/api/posts', { body: { data } })).status).toBe(200);
      changing.write({
        [typeFile('post')]: contentType('post', {
          tags: type('relation', { relation: 'manyToOne', target: 'api::tag.tag' }),
          lines: type('component', { component: 'parts.line', repeatable: false }),
        }),
      });
      const { changes, undecided } = await planIn(changing.dir, changing.database.db);
      expect(changes).toEqual([]);
      expect(undecided).toEqual([
        { change: 'keep the first', type: 'api::post.post', attribute: 'tags', lost: 2 },
        { change: 'keep the first', type: 'api::post.post', attribute: 'lines', lost: 2 },
      ]);
      await migrateIn(changing.dir, changing.database.db, { convert: ['post.tags', 'post.lines'] });
      await changing.start({});
      const { body } = await changing.server.get(
        '/api/posts?sort=id&populate[tags][fields]=name&populate[lines][populate]=deep',
      );
      expect(body).toMatchObject({
        data: [
          { attributes: { tags: { data: { id: 3 } }, lines: { text: 'x', deep: [{ text: 'x1' }, { text: 'x2' }] } } },
          { attributes: { tags: { data: { id: 2 } }, lines: { text: 'u' } } },
        ],
      });
      // components of components go too
      const texts = await changing.rows('select text from components_parts_deeps order by text');
      expect(texts.flat()).toEqual(['u1', 'u2', 'x1', 'x2']);
    } finally {
      await changing.close();
    }
  });

  it('what becomes a uid keeps its values apart, and what is one no longer does not', async () => {
    const changing = await newChanging(dialect, {
      [typeFile('thing')]: contentType('thing', { a: type('uid'), b: type('string'), c: type('string') }),
    });
    const post = async (data: Json): Promise<number> =>
      (await changing.server.send('POST', '/api/things', { body: { data } })).status;
    try {
      for (const data of [
        { a: 'a1', b: 'b1', c: 'same' },
        { a: 'a2', b: 'b2', c: 'same' },
      ])
        expect(await post(data)).toBe(200);
      // what a column does not tell is remembered, also after a start
      await changing.start({
        [typeFile('thing')]: contentType('thing', { a: type('string'), b: type('uid'), c: type('uid') }),
      });
      const { changes, undecided } = await planIn(changing.dir, changing.database.db);
      expect(changes).toEqual([
        { change: 'allow repeated values', type: 'api::thing.thing', attribute: 'a', to: 'string', repeated: 0 },
        { change: 'require unique values', type: 'api::thing.thing', attribute: 'b', to: 'uid', repeated: 0 },
      ]);
      expect(undecided).toMatchObject([{ change: 'require unique values', attribute: 'c', repeated: 1 }]);
      await migrateIn(changing.dir, changing.database.db);
      await changing.start({});
      expect(await planIn(changing.dir, changing.database.db)).toMatchObject({
        changes: [],
        undecided: [{ attribute: 'c' }],
      });
      await expect(changing.run("insert into things (b) values ('b1')")).rejects.toThrow();
      await changing.run("insert into things (a) values ('a1')");
    } finally {
      await changing.close();
    }
  });

  it('a plan that would lose more than it says changes nothing', async () => {
    const changing = await newChanging(dialect, { [typeFile('thing')]: contentType('thing', { n: type('string') }) });
    try {
      await changing.server.send('POST', '/api/things', { body: { data: { n: '7' } } });
      changing.write({ [typeFile('thing')]: contentType('thing', { n: type('integer') }) });
      const plan = planFrom(await planIn(changing.dir, changing.database.db, nothingAsked));
      await changing.server.send('POST', '/api/things', { body: { data: { n: 'many' } } });
      await expect(applyPlan(plan, changing.database.db, silent)).rejects.toThrow(
        /Converting things\.n to integer would lose something of 1 values, and the plan says 0\. .* nothing was changed/,
      );
      expect((await changing.rows('select n from things order by id')).flat()).toEqual(['7', 'many']);
    } finally {
      await changing.close();
    }
  });
});
