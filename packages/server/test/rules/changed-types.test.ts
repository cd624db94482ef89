/**
 * Attributes whose type was changed after their column was created: the server never alters columns (ST9), so the
 * column takes precedence, `check` prints how to change it, and no request is a 500.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type CheckReport, check } from '../../src/cli/commands/check.js';
import { type ScalarTypeName, scalarTypes } from '../../src/model/attributes.js';
import { type Changing, newChanging } from '../world/changed.js';
import { migrateIn } from '../world/migrating.js';
import { printed } from '../world/printed.js';
import { contentType, type Json, typeFile } from '../world/schemas.js';
import { dialects } from '../world/world.js';

const thing = (attributes: Json) => ({ [typeFile('thing')]: contentType('thing', attributes) });
const data = (body: unknown): { id: number; attributes: Json } =>
  (body as { data: { id: number; attributes: Json } }).data;

describe.each(dialects)('a changed attribute type on %s', (dialect) => {
  let changing: Changing;
  beforeAll(async () => {
    changing = await newChanging(
      dialect,
      thing({
        name: { type: 'string' },
        grade: { type: 'enumeration', enum: ['low', 'high'] },
        count: { type: 'integer' },
        day: { type: 'date' },
        notes: { type: 'json' },
      }),
    );
    const body = { data: { name: 'short', grade: 'low', count: 10, day: '2024-02-29', notes: { a: 1 } } };
    await changing.server.send('POST', '/api/things', { body });
    await changing.start(
      thing({
        name: { type: 'text' },
        grade: { type: 'integer', default: 5 },
        count: { type: 'string', maxLength: 3 },
        day: { type: 'datetime' },
        notes: { type: 'richtext' },
      }),
    );
  });
  afterAll(() => changing.close());
  afterEach(() => {
    vi.unstubAllEnvs();
    process.exitCode = undefined;
  });

  const post = (values: Json) => changing.server.send('POST', '/api/things', { body: { data: values } });

  it('the start warns of each column, and says what it is served as', () => {
    const columns =
      dialect === 'sqlite' ? ['grade', 'count', 'day', 'notes'] : ['name', 'grade', 'count', 'day', 'notes'];
    expect(changing.warnings.map((it) => /column things\.(\w+) is/.exec(it)?.[1])).toEqual(columns);
    expect(changing.warnings[columns.indexOf('grade')]).toContain(
      dialect === 'sqlite'
        ? 'column things.grade is varchar(255), but its schema file declares integer; it is served as string until it is changed. dovetail migrate plan says what converting it would lose, and plans it. As SQL: alter table "things" rename column "grade" to "grade_before"; alter table "things" add column "grade" integer; update "things" set "grade" = case when "grade_before" glob \'*[0-9]*\' and "grade_before" not glob \'*[^-+.eE0-9]*\' then cast("grade_before" as integer) end;'
        : 'column things.grade is character varying(255), but its schema file declares integer; it is served as string until it is changed. dovetail migrate plan says what converting it would lose, and plans it. As SQL: alter table "things" alter column "grade" type integer using "grade"::text::integer;',
    );
  });

  it('a text that the column cannot hold is refused, naming the attribute', async () => {
    const { status, body } = await post({ name: 'x'.repeat(300) });
    if (dialect === 'sqlite') expect(status).toBe(200);
    else {
      expect(status).toBe(400);
      expect(body).toMatchObject({ error: { message: 'name must be at most 255 characters' } });
    }
    expect((await post({ name: 'x'.repeat(255) })).status).toBe(200);
  });

  it('values are read, filtered, sorted and written according to the column type', async () => {
    const { body } = await changing.server.get('/api/things/1');
    expect(data(body).attributes).toMatchObject({ grade: 'low', count: 10, day: '2024-02-29', notes: { a: 1 } });
    for (const query of ['[grade][$gt]=a&filters[grade][$lt]=z', '[count][$gt]=9', '[day][$lt]=2024-03-01'])
      expect((await changing.server.get(`/api/things?filters${query}&fields=id`)).body).toMatchObject({
        data: [{ id: 1 }],
      });
    expect((await changing.server.get('/api/things?sort=grade:desc,day')).status).toBe(200);
    expect((await post({ grade: 7 })).status).toBe(400);
    expect((await post({ count: 'many' })).status).toBe(400);
    const made = await post({ grade: 'high', count: 12345, day: '2024-01-01' });
    expect(data(made.body).attributes).toMatchObject({ grade: 'high', count: 12345, day: '2024-01-01' });
  });

  it('a default that the column cannot hold is not applied', async () => {
    const { status, body } = await post({});
    expect([status, data(body).attributes['grade']]).toEqual([200, null]);
  });

  it('check --json contains the same statements as the text', async () => {
    for (const [name, value] of Object.entries(changing.database.env)) vi.stubEnv(name, value);
    const { out } = await printed(() => check(changing.dir, { json: false }));
    const report = JSON.parse((await printed(() => check(changing.dir, { json: true }))).out) as CheckReport;
    expect(report).toMatchObject({ ok: false, missing: { tables: [], columns: [], indexes: [] } });
    expect(report.otherTypes.map((it) => it.column)).toContain('grade');
    for (const { table, column, found, wanted, servedAs, statements } of report.otherTypes)
      expect(out).toContain(
        `column ${table}.${column} is ${found}, but its schema file declares ${wanted}; it is served as ${servedAs} until it is changed. dovetail migrate plan says what converting it would lose, and plans it. As SQL: ${statements.join('; ')};`,
      );
  });

  it('check fails and prints statements that change the columns and keep the values', async () => {
    for (const [name, value] of Object.entries(changing.database.env)) vi.stubEnv(name, value);
    const { out } = await printed(() => check(changing.dir, { json: false }));
    expect(process.exitCode).toBe(1);
    // a value that cannot be converted would make PostgreSQL's statement fail
    await changing.run("update things set grade = '7'", 'delete from things where id > 1');
    const statements = [...out.matchAll(/As SQL: (.*)/g)].flatMap(([, it = '']) => it.split('; '));
    await changing.run(...statements.map((it) => it.replace(/;$/, '')));
    process.exitCode = undefined;
    const again = await printed(() => check(changing.dir, { json: false }));
    expect(again.out).not.toContain('Stored in another way');
    expect(process.exitCode).toBeUndefined();
    await changing.start({});
    expect(changing.warnings).toEqual([]);
    const { body } = await changing.server.get('/api/things/1');
    expect(data(body).attributes).toMatchObject({
      name: 'short',
      grade: 7,
      count: '10',
      day: '2024-02-29T00:00:00.000Z',
      notes: dialect === 'sqlite' ? '{"a":1}' : '{"a": 1}',
    });
    expect((await changing.server.get('/api/things?filters[grade][$gt]=6&fields=id')).body).toMatchObject({
      data: [{ id: 1 }],
    });
    expect((await post({ name: 'x'.repeat(300), grade: 3 })).status).toBe(200);
  });
});

describe.each(dialects)('F2: a password that becomes another type on %s', (dialect) => {
  it.each(['string', 'text', 'integer', 'json'])('%s: no hash is shown until it was converted', async (type) => {
    const changing = await newChanging(dialect, thing({ pin: { type: 'password' }, name: { type: 'string' } }));
    const send = async (method: string, body?: Json, query = '') =>
      changing.server.send(method, `/api/things${query}`, body ? { body: { data: body } } : {});
    try {
      await send('POST', { pin: 'hunter2', name: 'a' });
      // the second start must know it as well as the first
      for (let i = 0; i < 2; i++) {
        await changing.start(thing({ pin: { type }, name: { type: 'string' } }));
        expect(changing.warnings.join('\n')).toContain('dovetail migrate plan --convert api::thing.thing.pin --out');
        expect((await send('GET')).text).not.toContain('$2');
        expect((await send('POST', { name: 'b', pin: type === 'integer' ? 1 : 'x' })).text).not.toContain('pin');
        expect((await send('GET', undefined, '?filters[pin][$startsWith]=$2')).status).toBe(400);
        expect((await send('GET', undefined, '?sort=pin')).status).toBe(400);
      }
      await migrateIn(changing.dir, changing.database.db, { convert: ['thing.pin'] });
      await changing.start({});
      expect(changing.warnings).toEqual([]);
      const value = type === 'integer' ? 1 : 'x';
      expect((await send('POST', { pin: value })).body).toMatchObject({ data: { attributes: { pin: value } } });
    } finally {
      await changing.close();
    }
  });

  it('one that was a string before is known to have been a password', async () => {
    const changing = await newChanging(dialect, thing({ pin: { type: 'string' } }));
    const post = (pin: string) => changing.server.send('POST', '/api/things', { body: { data: { pin } } });
    try {
      await post('plain');
      await changing.start(thing({ pin: { type: 'password' } }));
      await post('hunter2');
      await changing.start(thing({ pin: { type: 'string' } }));
      expect((await changing.server.send('GET', '/api/things')).text).not.toContain('$2');
      const { undecided } = await migrateIn(changing.dir, changing.database.db);
      expect(undecided).toMatchObject([{ attribute: 'pin', from: 'password', to: 'string' }]);
      await migrateIn(changing.dir, changing.database.db, { convert: ['thing.pin'] });
      await changing.start({});
      expect(changing.warnings).toEqual([]);
      // what was never hashed stays
      expect((await changing.server.send('GET', '/api/things?sort=id')).body).toMatchObject({
        data: [{ attributes: { pin: 'plain' } }, { attributes: { pin: null } }],
      });
      expect((await post('x')).body).toMatchObject({ data: { attributes: { pin: 'x' } } });
    } finally {
      await changing.close();
    }
  });

  it('one that holds no value is used as declared at once', async () => {
    const changing = await newChanging(dialect, thing({ pin: { type: 'password' } }));
    try {
      await changing.start(thing({ pin: { type: 'string' } }));
      const body = { data: { pin: 'x' } };
      expect((await changing.server.send('POST', '/api/things', { body })).body).toMatchObject({
        data: { attributes: { pin: 'x' } },
      });
      await changing.start({});
      expect(changing.warnings).toEqual([]);
      expect((await changing.server.send('GET', '/api/things')).body).toMatchObject({
        data: [{ attributes: { pin: 'x' } }],
      });
    } finally {
      await changing.close();
    }
  });
});

const typeNames = Object.keys(scalarTypes) as readonly ScalarTypeName[];
/** One type for each column type. */
const storedApart = [...new Map(typeNames.map((it) => [scalarTypes[it].column, it])).values()];
const samples: Readonly<Record<ScalarTypeName, unknown>> = {
  string: 'text',
  text: 'text',
  richtext: 'text',
  enumeration: 'a',
  email: 'a@example.org',
  password: 'secret',
  uid: 'slug',
  date: '2024-02-29',
  time: '12:30:00.000',
  datetime: '2024-02-29T12:30:00.000Z',
  timestamp: '1709209800000',
  integer: 5,
  biginteger: '9007199254740993',
  float: 1.5,
  decimal: 2.25,
  boolean: true,
  json: { a: [1] },
  array: [1],
  blocks: [],
};

describe.each(dialects)('every change from one type to another on %s', (dialect) => {
  let changing: Changing;
  const pairs = storedApart.flatMap((from) => typeNames.map((to) => ({ from, to, name: `${from}_to_${to}` })));
  const attributes = (pick: 'from' | 'to'): Json =>
    Object.fromEntries(
      pairs.map((it) => [
        it.name,
        // unique columns would need distinct values
        { type: it[pick] === 'uid' ? 'string' : it[pick], enum: ['a', 'b'], private: false },
      ]),
    );
  beforeAll(async () => {
    changing = await newChanging(dialect, thing(attributes('from')));
    const values = Object.fromEntries(pairs.map((it) => [it.name, samples[it.from]]));
    expect((await changing.server.send('POST', '/api/things', { body: { data: values } })).status).toBe(200);
    await changing.start(thing(attributes('to')));
  });
  afterAll(() => changing.close());

  it('reads, filters, sorts and writes without a 5xx', async () => {
    const bad: string[] = [];
    const ask = async (url: string): Promise<void> => {
      const { status } = await changing.server.get(url);
      if (status >= 500) bad.push(`${status} ${url}`);
    };
    await ask('/api/things');
    for (const { name, from, to } of pairs) {
      for (const sample of [samples[from], samples[to]]) {
        const text = typeof sample === 'object' ? JSON.stringify(sample) : String(sample);
        for (const operator of ['$eq', '$gt', '$containsi'])
          await ask(`/api/things?fields=id&filters[${name}][${operator}]=${encodeURIComponent(text)}`);
        const { status } = await changing.server.send('PUT', '/api/things/1', { body: { data: { [name]: sample } } });
        if (status >= 500) bad.push(`${status} PUT ${name} ${text}`);
      }
      await ask(`/api/things?fields=${name}&sort=${name}`);
    }
    await ask('/api/things');
    expect(bad).toEqual([]);
  }, 120_000);
});
