/**
 * Bodies as deep or wide as the body limit allows, in every place where a body takes a value (R6 to 9): refused with a
 * status below 500 and a short message, without any change.
 */
import { describe, expect, it } from 'vitest';
import { formatIssue, issue } from '../../src/errors.js';
import { limits } from '../../src/limits.js';
import { allOfAccounts, usePeople } from '../world/people.js';
import { dialects, useRelationsWorld } from '../world/relations/world.js';

const json = { 'content-type': 'application/json' };
/** Room for what surrounds a value. */
const bytesMax = limits.bodyBytesMax - 1000;

const lists = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
const objects = (depth: number, key = 'a'): string => `${`{"${key}":`.repeat(depth)}1${'}'.repeat(depth)}`;
const wide = (element: string): string =>
  `[${Array.from({ length: Math.floor(bytesMax / (element.length + 1)) - 1 }, () => element).join(',')}]`;
const manyKeys = `{${Array.from({ length: 20_000 }, (_none, i) => `"k${i}":1`).join(',')}}`;

const hostile: readonly (readonly [name: string, value: string])[] = [
  ['lists 300 deep', lists(300)],
  ['lists 6,000 deep', lists(6_000)],
  ['lists 100,000 deep', lists(100_000)],
  ['objects 6,000 deep', objects(6_000)],
  ['objects with ids 6,000 deep', objects(6_000, 'id')],
  ['objects 100,000 deep', objects(100_000)],
  ['a list of many zeros', wide('0')],
  ['a list of many lists', wide('[]')],
  ['a list of many objects', wide('{}')],
  ['a list of many elements with an empty position', wide('{"id":1,"position":{}}')],
  ['20,000 elements with an empty position', `[${'{"id":1,"position":{}},'.repeat(19_999)}0]`],
  ['many keys', manyKeys],
  ['one long key', `{"${'k'.repeat(bytesMax - 10)}":1}`],
  ['one long text', `"${'x'.repeat(bytesMax)}"`],
  ['NUL characters', `"${'\\u0000'.repeat(bytesMax / 6)}"`],
];

/** Attribute and what surrounds the value. */
const places: readonly (readonly [plural: string, before: string, after: string])[] = [
  ['sheets', '', ''],
  ['sheets', '{"data":', '}'],
  ...['label', 'condition', 'contact', 'secret', 'day', 'moment', 'count', 'big', 'open', 'story'].map(
    (name) => ['sheets', `{"data":{"${name}":`, '}}'] as const,
  ),
  ['forms', '{"data":{"publishedAt":', '}}'],
  ...['oneOne', 'manyMany'].flatMap((name) =>
    [
      ['', ''],
      ['{"set":', '}'],
      ['{"connect":', '}'],
      ['{"disconnect":', '}'],
      ['{"connect":[{"id":', '}]}'],
      ['{"connect":[{"id":1,"position":', '}]}'],
      ['{"connect":[{"id":1,"position":{"before":', '}}]}'],
    ].map(([before, after]) => ['shelves', `{"data":{"${name}":${before}`, `${after}}}`] as const),
  ),
  ...['cover', 'gallery', 'card', 'cards', 'zone', 'tree'].map(
    (name) => ['holders', `{"data":{"${name}":`, '}}'] as const,
  ),
  ['holders', '{"data":{"card":{"id":', '}}}'],
  ['holders', '{"data":{"card":{"list":', '}}}'],
  ['holders', '{"data":{"zone":[{"__component":', '}]}}'],
  ['holders', '{"data":{"zone":[{"__component":"parts.note","text":', '}]}}'],
];

/** Values of which parts reach the database: the others are refused before, which one database shows. */
const reaching = hostile.filter(([name]) => /text|ids|NUL|zeros/.test(name));

describe.each(dialects)('deep and wide bodies on %s', (dialect) => {
  const world = useRelationsWorld(dialect);

  it.each(dialect === dialects[0] ? hostile : reaching)(
    'R6, CO3, BO15: %s in place of any value is a 4xx',
    { timeout: 120_000 },
    async (name, value) => {
      // long texts are valid texts, and an id in a body is ignored
      const isHarmless = /text|ids/.test(name);
      const [shelf] = await world.createMany('shelves', 1);
      const before = await world.dump();
      for (const [i, [plural, opening, closing]] of places.entries()) {
        const body = `${opening}${value}${closing}`;
        const where = `${plural} ${opening}…${closing} with ${name}`;
        // a new shelf, or the one that is there
        const [method, url] =
          plural === 'shelves' && i % 2 === 0 ? ['PUT', `/api/shelves/${shelf}`] : ['POST', `/api/${plural}`];
        const answer = await world.send(method, url, body, json);
        if (answer.status === 200 && isHarmless) continue;
        expect
          .soft(answer.status, `${where}: ${answer.text.slice(0, 300)}`)
          .toSatisfy((it: number) => it >= 400 && it < 500);
        if (answer.status !== 400) continue;
        const { error } = answer.body as {
          error: { message: string; details: { errors: readonly { message: string }[] } };
        };
        const longest = Math.max(...[error, ...error.details.errors].map((it) => it.message.length));
        expect.soft(longest, where).toBeLessThan(2000);
        expect.soft(error.details.errors.length, where).toBeLessThanOrEqual(limits.issuesMax);
      }
      if (!isHarmless) expect((await world.dump()) === before, `${name} changes rows`).toBe(true);
    },
  );

  it('BO5: json accepts wide values and refuses deep ones', async () => {
    for (const value of [wide('0'), wide('{}'), manyKeys])
      expect((await world.send('POST', '/api/sheets', `{"data":{"meta":${value}}}`, json)).status).toBe(200);
    for (const value of [lists(6_000), objects(6_000), lists(bytesMax / 2)])
      expect((await world.refused('POST', '/api/sheets', `{"data":{"meta":${value}}}`, json)).codes).toEqual([
        'body.too-deep',
      ]);
  });

  const nested = (depth: number, word: string): unknown => {
    let tree: Record<string, unknown> = { word };
    for (let i = 1; i < depth; i++) tree = i % 2 === 0 ? { branch: tree } : { branches: [tree] };
    return tree;
  };

  it('limits: a recursive component is written and read up to the limit', { timeout: 60_000 }, async () => {
    const depth = limits.componentDepthMax;
    const trees = async () => (await world.rows('components_parts_trees')).length;
    const before = await trees();
    const id = await world.create('holders', { tree: nested(depth, 'deepest') });
    expect(await trees()).toBe(before + depth);
    const rows = await world.rows('components_parts_trees');
    expect(rows.filter((it) => it['word'] === 'deepest').length).toBe(1);
    await world.update('holders', id, { tree: nested(depth, 'again') });
    expect(await trees()).toBe(before + depth);
    expect((await world.send('DELETE', `/api/holders/${id}`)).status).toBe(200);
    expect(await trees()).toBe(before);
    await world.expectNoOrphans();
  });

  it.each([
    ['one more than the bound', limits.componentDepthMax + 1],
    ['1,000', 1_000],
    ['15,000', 15_000],
  ])('limits: a recursive component nested %s deep is a 400 that names the limit', async (_name, depth) => {
    const body = `{"data":{"tree":${'{"branch":'.repeat(depth - 1)}{"word":"x"}${'}'.repeat(depth - 1)}}}`;
    const holder = await world.create('holders');
    for (const [method, url] of [
      ['POST', '/api/holders'],
      ['PUT', `/api/holders/${holder}`],
    ] as const) {
      const { status, codes, messages } = await world.refused(method, url, body, json);
      expect([status, codes]).toEqual([400, ['body.too-deep']]);
      expect(messages[0]).toContain(`more than ${limits.componentDepthMax} levels`);
    }
  });

  it('limits: a body with more faults than are listed says so', async () => {
    const data = Object.fromEntries(Array.from({ length: limits.issuesMax + 1 }, (_none, i) => [`k${i}`, 1]));
    const { message, paths } = await world.refused('POST', '/api/books', { data });
    expect(message).toBe(`More than ${limits.issuesMax} errors occurred; these are the first`);
    expect(paths.length).toBe(limits.issuesMax);
    const { [`k${limits.issuesMax}`]: _last, ...fewer } = data;
    const all = await world.refused('POST', '/api/books', { data: fewer });
    expect([all.message, all.paths.length]).toEqual([`${limits.issuesMax} errors occurred`, limits.issuesMax]);
  });
});

describe.each(dialects)('deep and wide bodies of accounts on %s', (dialect) => {
  const people = usePeople(dialect, { grants: { editor: allOfAccounts } });

  it.each(hostile)('AC1: %s in place of any value is a 4xx', { timeout: 120_000 }, async (name, value) => {
    const roles = '/api/users-permissions/roles';
    for (const [method, url, before, after] of [
      ['POST', '/api/auth/local', '', ''],
      ['POST', '/api/auth/local', '{"identifier":', ',"password":"x"}'],
      ['POST', '/api/auth/local', '{"identifier":"reader","password":', '}'],
      ['POST', '/api/auth/local/register', '', ''],
      ['POST', '/api/auth/local/register', '{"username":"somebody","password":"123456","email":', '}'],
      ['POST', '/api/auth/local/register', '{"email":"a@example.org","password":"123456","username":', '}'],
      ['POST', '/api/auth/forgot-password', '{"email":', '}'],
      ['POST', '/api/auth/reset-password', '{"password":"123456","passwordConfirmation":"123456","code":', '}'],
      [
        'POST',
        '/api/auth/change-password',
        '{"password":"123456","passwordConfirmation":"123456","currentPassword":',
        '}',
      ],
      ['POST', '/api/users', '', ''],
      ['POST', '/api/users', '{"username":"somebody","email":"a@example.org","password":"123456","role":', '}'],
      ['PUT', '/api/users/1', '{"username":', '}'],
      ['PUT', '/api/users/1', '{"role":', '}'],
      ['POST', roles, '', ''],
      ['POST', roles, '{"name":', '}'],
      ['POST', roles, '{"name":"somebody","permissions":', '}'],
      ['POST', roles, '{"name":"somebody","permissions":{"api::film":', '}}'],
      ['POST', roles, '{"name":"somebody","permissions":{"api::film":{"controllers":', '}}}'],
      ['PUT', `${roles}/1`, '{"permissions":{"api::film":{"controllers":{"film":', '}}}}'],
      ['PUT', `${roles}/1`, '{"permissions":{"api::film":{"controllers":{"film":{"find":{"enabled":', '}}}}}}'],
    ] as const) {
      const answer = await people().ask(method, url, { as: 'editor', body: `${before}${value}${after}` });
      const where = `${method} ${url} ${before}…${after} with ${name}`;
      expect.soft(answer.status, `${where}: ${answer.text.slice(0, 300)}`).toBeLessThan(500);
    }
  });
});

describe('printing a refused value', () => {
  /** A value that counts how many of its members are read. */
  const counted = (make: (i: number) => unknown): { value: unknown; reads: () => number } => {
    let reads = 0;
    const list = new Proxy(Array.from({ length: 100_000 }), {
      get: (target, key) => {
        if (key === 'length') return target.length;
        if (typeof key === 'string' && /^\d+$/.test(key)) {
          reads += 1;
          return make(Number(key));
        }
        return Reflect.get(target, key) as unknown;
      },
    });
    return { value: list, reads: () => reads };
  };
  const said = (value: unknown): string => formatIssue(issue('relation.invalid', ['books'], { value }));

  it.each([
    ['numbers', (i: number) => i],
    ['lists', () => [[[[]]]]],
    ['objects', (i: number) => ({ id: i })],
  ])('reads no more of a long list of %s than it prints', (_name, make) => {
    const { value, reads } = counted(make);
    expect(said(value).length).toBeLessThan(300);
    expect(reads()).toBeLessThan(100);
  });

  it.each<readonly [value: unknown, text: string]>([
    [null, 'null'],
    [1.5, '1.5'],
    ['a "b"\n', '"a \\"b\\"\\n"'],
    [[], '[]'],
    [{}, '{}'],
    [[[], {}], '[\n  [],\n  {}\n]'],
    [
      { a: 1, 'b c': [true, null], d: { e: 'f' } },
      JSON.stringify({ a: 1, 'b c': [true, null], d: { e: 'f' } }, null, 2),
    ],
  ])('prints %j as indented JSON, as v4 does', (value, text) => {
    expect(said(value)).toContain(`\`${text}\``);
  });

  it('truncates long texts and deep nesting', () => {
    expect(said('x'.repeat(1000))).toContain(`\`"${'x'.repeat(199)}…\``);
    const circle: unknown[] = [];
    circle.push(circle);
    expect(said(circle)).toContain('…');
    expect(said(10n)).toContain('`10`');
  });
});
