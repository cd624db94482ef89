/** Bodies of type `application/x-www-form-urlencoded` (BO19). */
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newServer } from '../../src/http/server.js';
import { limits } from '../../src/limits.js';
import { readFields } from '../../src/query/brackets.js';
import { toObject } from '../../src/query/objects.js';
import { createTables, dialects, insertRows, newDatabase, type TestDatabase } from '../world/databases.js';
import { injectInto } from '../world/inject.js';
import { newTestDeps, type TestAnswer, type TestServer, testServerOf } from '../world/server.js';
import { loadSmall } from '../world/small.js';

const project = {
  types: {
    note: {
      attributes: {
        text: { type: 'string' },
        count: { type: 'integer' },
        price: { type: 'decimal' },
        big: { type: 'biginteger' },
        yes: { type: 'boolean' },
        day: { type: 'date' },
        more: { type: 'json' },
        card: { type: 'component', component: 'parts.card' },
        cards: { type: 'component', component: 'parts.card', repeatable: true },
        zone: { type: 'dynamiczone', components: ['parts.card'] },
        notes: { type: 'relation', relation: 'manyToMany', target: 'api::note.note' },
      },
    },
  },
  components: { 'parts.card': { heading: { type: 'string' }, size: { type: 'float' } } },
};

const parsed = (text: string): unknown => {
  const fields = readFields(text);
  const body = fields.ok ? toObject(fields.value) : fields;
  return body.ok ? JSON.parse(JSON.stringify(body.value)) : body.issues.map((it) => it.code);
};

describe('fields of a form', () => {
  it.each([
    ['', {}],
    ['a=1&b[c]=2', { a: '1', b: { c: '2' } }],
    ['a[b][c]=1&a[b][d]=2', { a: { b: { c: '1', d: '2' } } }],
    ['a.b.c=1&a[b].d=2', { a: { b: { c: '1', d: '2' } } }],
    ['a[b.c]=1&a.d[e.f].g=2', { a: { 'b.c': '1', d: { 'e.f': { g: '2' } } } }],
    ['a=1&a=2', { a: ['1', '2'] }],
    ['a[]=1&a[]=2', { a: ['1', '2'] }],
    ['a[1]=1&a[0]=2', { a: ['2', '1'] }],
    ['a[0][b]=1&a[0][c]=2', { a: [{ b: '1', c: '2' }] }],
    ['a+b=c+d&e%5Bf%5D=%C3%BC%26', { 'a b': 'c d', e: { f: 'ü&' } }],
    ['a&b=', { a: '', b: '' }],
    ['a==1', { a: '=1' }],
    ['&&a=1&', { a: '1' }],
    ['__proto__[x]=1&a[__proto__][x]=1&a[b]=2', { a: { b: '2' } }],
    ['a[b=1', ['form.field-name']],
    ['a]b=1', ['form.field-name']],
    ['[a]=1', ['form.field-name']],
    ['a=1&a[b]=2', ['query.mixed-forms']],
  ])('BO19: %s', (text, body) => {
    expect(parsed(text)).toEqual(body);
  });

  it('BO19: names of members of every object are ordinary names', () => {
    expect(parsed('constructor=1&a[toString]=2')).toEqual({ constructor: '1', a: { toString: '2' } });
  });
});

describe.each(dialects)('bodies of fields on %s', (dialect) => {
  let database: TestDatabase;
  let app: FastifyInstance;
  let server: TestServer;
  beforeAll(async () => {
    const model = loadSmall(project);
    database = await newDatabase(dialect);
    const tables = await createTables(database.db, model);
    await insertRows(database.db, tables.find((it) => it.name === 'up_roles')!, [
      { id: 1, name: 'Public', type: 'public' },
      { id: 2, name: 'Authenticated', type: 'authenticated' },
    ]);
    const deps = newTestDeps(database.db, model, {}, undefined, { mode: 'open' });
    app = await newServer(deps);
    server = await testServerOf(app, deps.site);
  });
  afterAll(async () => {
    await server.close();
    await database.drop();
  });

  const send = (
    method: string,
    url: string,
    body: string,
    type = 'application/x-www-form-urlencoded',
  ): Promise<TestAnswer> => server.send(method, url, { body, headers: { 'content-type': type } });

  it('BO19: texts become values of every type, in components, zones and relations too', async () => {
    const target = await send('POST', '/api/notes', 'data[text]=target');
    const { id } = (target.body as { data: { id: number } }).data;
    const answer = await send(
      'POST',
      '/api/notes?populate=*',
      `data[text]=%C3%BC+5&data[count]=5&data[price]=1.25&data[big]=9007199254740995&data[yes]=true&data[day]=2024-02-29&data[more][a][]=1&data[card][heading]=A&data[card][size]=1.5&data[cards][0][heading]=B&data[cards][1][heading]=C&data[zone][0][__component]=parts.card&data[zone][0][heading]=D&data[notes][connect][0][id]=${id}`,
      'Application/X-WWW-Form-Urlencoded; charset=UTF-8',
    );
    expect(answer).toMatchObject({
      status: 200,
      body: {
        data: {
          attributes: {
            text: 'ü 5',
            count: 5,
            price: 1.25,
            big: '9007199254740995',
            yes: true,
            day: '2024-02-29',
            more: { a: ['1'] },
            card: { heading: 'A', size: 1.5 },
            cards: [{ heading: 'B' }, { heading: 'C' }],
            zone: [{ __component: 'parts.card', heading: 'D' }],
            notes: { data: [{ id }] },
          },
        },
      },
    });
    const changed = await send('PUT', `/api/notes/${id}?fields=text`, 'data.text=changed');
    expect(changed.body).toMatchObject({ data: { id, attributes: { text: 'changed' } } });
  });

  it('BO19: what cannot be read is a 400 that names it', async () => {
    for (const [body, message] of [
      ['text=x', 'Missing "data" payload in the request body'],
      ['', 'Missing "data" payload in the request body'],
      ['data=x', 'Missing "data" payload in the request body'],
      ['data[text=x', 'The brackets of the field "data[text" do not match'],
      [
        'data[text]=a&data[text][b]=c',
        'Invalid parameter data[text]: is given both as a value and as an object; use one form',
      ],
      ['data[nope]=x', 'nope: note has no attribute "nope"'],
      ['data[count]=x', 'count must be a `number` type'],
      ['data[text]=a&data[text]=b', 'text must be a `string` type'],
      ['data[text]=%00', 'text'],
    ] as const)
      expect(await send('POST', '/api/notes', body)).toMatchObject({
        status: 400,
        body: { data: null, error: { message: expect.stringContaining(message) } },
      });
  });

  it('BO19: a form is bounded in bytes, fields and depth', async () => {
    const fill = (bytes: number): string => `data[more]=${'x'.repeat(bytes - 11)}`;
    expect((await send('POST', '/api/notes', fill(limits.fieldsBytesMax))).status).toBe(200);
    expect((await send('POST', '/api/notes', fill(limits.fieldsBytesMax + 1))).status).toBe(413);
    const fields = (count: number): string => Array.from({ length: count }, (_, i) => `data[more][k${i}]=1`).join('&');
    expect((await send('POST', '/api/notes', fields(limits.parametersMax))).status).toBe(200);
    expect((await send('POST', '/api/notes', fields(limits.parametersMax + 1))).status).toBe(413);
    const deep = (depth: number): string => `data[more]${'[a]'.repeat(depth)}=1`;
    expect((await send('POST', '/api/notes', deep(limits.jsonDepthMax - 2))).status).toBe(200);
    for (const depth of [limits.jsonDepthMax - 1, 18_000])
      expect(await send('POST', '/api/notes', deep(depth))).toMatchObject({
        status: 400,
        body: { error: { message: `data.more is nested more than ${limits.jsonDepthMax} levels deep` } },
      });
  });

  it('BO19: endpoints of accounts take forms', async () => {
    const answer = await send(
      'POST',
      '/api/auth/local/register',
      'username=nell&email=nell%40example.com&password=longer1',
    );
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('nell@example.com')]);
    const login = await send('POST', '/api/auth/local', 'identifier=nell&password=longer1');
    expect(login.status).toBe(200);
  });

  it('BO19: a form that is not UTF-8 is a 400', async () => {
    const raw = await injectInto(app, {
      method: 'POST',
      url: '/api/notes',
      payload: Buffer.from('data[text]=\xff', 'latin1'),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(raw.json()).toMatchObject({ error: { status: 400, message: 'The form is not UTF-8' } });
  });
});
