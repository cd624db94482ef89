/** The content of error responses (ER2): every fault of a request, each with path, message, name and code. */
import { describe, expect, it } from 'vitest';
import { formatIssue, issue, issueKinds, listNames, nearest, statusOf } from '../../src/errors.js';
import { dialects, useRelationsWorld } from '../world/relations/world.js';
import { refusal } from '../world/server.js';

const absentId = 999_999;

describe.each(dialects)('refusals on %s', (dialect) => {
  const world = useRelationsWorld(dialect);

  const completeForm = async () => {
    const [book] = await world.createMany('books', 1);
    const zone = [{ __component: 'parts.note', text: 'x' }];
    return {
      title: 'Title',
      mark: 'abc',
      card: { label: 'c' },
      cards: [{ label: 'd' }],
      zone,
      book,
      books: [book],
      cover: 1,
    };
  };

  it.each([
    ['GET', '/api/books/999999', undefined, 404, 'http.not-found'],
    ['GET', '/api/nothing', undefined, 404, 'http.not-found'],
    ['GET', '/api/closed-rooms', undefined, 403, 'http.forbidden'],
    ['PATCH', '/api/books', {}, 405, 'http.method'],
    ['GET', '/api/books?fields=titel', undefined, 400, 'query.unknown-name'],
    ['POST', '/api/books', {}, 400, 'body.missing'],
    ['POST', '/api/books', { data: [] }, 400, 'body.data-type'],
    ['POST', '/api/books', { data: { title: 5 } }, 400, 'body.type'],
  ])('ER3: %s %s %j is %i with its code in details.errors, even alone', async (method, url, body, status, code) => {
    const answer = await world.send(method, url, body);
    expect(answer.status).toBe(status);
    const { error } = answer.body as { error: { message: string; name: string; details: { errors: unknown[] } } };
    expect(error.name).toBe(issueKinds[code as keyof typeof issueKinds].name);
    expect(error.details.errors[0]).toEqual({
      path: expect.any(Array),
      message: expect.any(String),
      name: error.name,
      code,
    });
  });

  it('ER1: a fault of the whole request has an empty path', async () => {
    expect((await world.send('GET', '/api/books/999999')).body).toEqual(
      refusal(404, 'NotFoundError', 'Not Found', { path: [], code: 'http.not-found' }),
    );
  });

  it.each(['POST', 'PUT'])(
    'ER1: %s reports missing targets and duplicate values together with the faults of the body',
    async (method) => {
      const taken = `taken-${method.toLowerCase()}`;
      const complete = await completeForm();
      await world.create('forms', { ...complete, tag: taken });
      const url = method === 'POST' ? '/api/forms' : `/api/forms/${await world.create('forms', complete)}`;
      const { message, paths, codes } = await world.refused(method, url, {
        data: {
          ...complete,
          title: 5,
          card: { label: null },
          book: absentId,
          books: { connect: [{ id: absentId }] },
          cards: [{ label: 'x', single: absentId }],
          tag: taken,
          nope: 1,
        },
      });
      expect(message).toBe('7 errors occurred');
      const found = paths.map((path, i) => [path, codes[i]!] as const);
      expect(found.sort(([a], [b]) => (a < b ? -1 : 1))).toEqual([
        ['book', 'relation.absent'],
        ['books', 'relation.absent'],
        ['card.label', 'body.type'],
        ['cards.0.single', 'relation.absent'],
        ['nope', 'body.unknown-key'],
        ['tag', 'body.unique'],
        ['title', 'body.type'],
      ]);
    },
  );

  it('ER1: a PUT of a missing entry is 404, whatever its body lacks', async () => {
    const { status, codes } = await world.refused('PUT', '/api/forms/999999', { data: { title: 5, book: absentId } });
    expect([status, codes]).toEqual([404, ['http.not-found']]);
  });

  it.each([
    ['populate=zz', / has no attribute "zz"\. Expected one of (?!.*title)(?=.*card)/],
    ['fields=zz', / has no attribute "zz"\. Expected one of id, title, /],
    ['sort=zz', / has no attribute "zz"\. Expected one of id, title, /],
    ['filters[zz]=1', / has no attribute "zz"\. Expected one of id, title, /],
    ['filters[title][$x]=1', /"\$x" is not a filter operator\. Expected one of \$eq, /],
    ['populate[zone][on][zz]=true', /has no component "zz"\. Expected one of parts\./],
    ['pagination[zz]=1', /"zz" is not a pagination parameter\. Expected one of page, pageSize, /],
  ])('ER1: %s lists the known names, because none is similar', async (query, words) => {
    expect((await world.refused('GET', `/api/forms?${query}`)).message).toMatch(words);
  });

  it('ER1: an unknown key that is similar to none lists the keys that a body accepts', async () => {
    const { message } = await world.refused('POST', '/api/forms', { data: { ...(await completeForm()), zz: 1 } });
    expect(message).toMatch(/^zz: .* has no attribute "zz"\. Expected one of (?!.*createdAt)title, /);
  });

  const typed = (type: string) => (at: string) =>
    `${at} must be a \`${type}\` type, but the final value was: \`null\`.`;
  it.each([
    ['title', typed('string'), typed('string')],
    ['card', typed('object'), typed('object')],
    ['cards', typed('array'), typed('array')],
    ['zone', typed('array'), typed('array')],
    ['book', (at: string) => `${at} must be defined.`, (at: string) => `${at} cannot be null.`],
    ['books', (at: string) => `${at} must be defined.`, (at: string) => `${at} cannot be null.`],
    ['cover', (at: string) => `${at} must be defined.`, (at: string) => `${at} cannot be null.`],
  ])('ER1: null for the required %s', async (name, onCreate, onUpdate) => {
    const complete = await completeForm();
    const created = await world.refused('POST', '/api/forms', { data: { ...complete, [name]: null } });
    expect([created.paths, created.message]).toEqual([[name], onCreate(name)]);
    const id = await world.create('forms', complete);
    const updated = await world.refused('PUT', `/api/forms/${id}`, { data: { [name]: null } });
    expect([updated.paths, updated.message]).toEqual([[name], onUpdate(name)]);
  });

  it.each([
    ['count', -3_000_000_000, 'count must be greater than or equal to -2147483648'],
    ['count', -2_147_483_649, 'count must be greater than or equal to -2147483648'],
    ['count', 2_147_483_648, 'count must be less than or equal to 2147483647'],
    ['big', '-9223372036854775809', 'big must be greater than or equal to -9223372036854775808'],
    ['big', '9223372036854775808', 'big must be less than or equal to 9223372036854775807'],
    ['price', -100_000_000, 'price must be greater than or equal to -99999999.99'],
    ['price', 100_000_000, 'price must be less than or equal to 99999999.99'],
  ])('BO5: %s beyond the range of both databases, %s, names the limit', async (name, value, message) => {
    expect((await world.refused('POST', '/api/sheets', { data: { [name]: value } })).messages).toEqual([message]);
  });

  it.each([
    ['count', -2_147_483_648],
    ['count', 2_147_483_647],
    ['big', '-9223372036854775808'],
    ['big', '9223372036854775807'],
    ['price', -99_999_999.99],
    ['price', 99_999_999.99],
  ])('BO5: %s accepts the limit itself, %s', async (name, value) => {
    const id = await world.create('sheets', { [name]: value });
    expect((await world.read(`/api/sheets/${id}`)).attributes[name]).toBe(value);
    expect((await world.send('GET', `/api/sheets?filters[${name}]=${value}`)).body).toMatchObject({ data: [{ id }] });
  });
});

describe('suggestions', () => {
  it.each([
    ['titel', 'title'],
    ['Title', 'title'],
    ['nme', 'name'],
    ['mn', 'min'],
    ['conten', 'content'],
    ['slgu', 'slug'],
  ])('%s is a typo of %s', (text, meant) => {
    expect(nearest(text, ['id', meant, 'zebra'])).toBe(meant);
  });

  it.each(['zz', 'x', 'ix', 'abc', 'like'])('%s gets no suggestion: too few letters match', (text) => {
    expect(nearest(text, ['id', 'y', 'ab', 'lte', 'name'])).toBe(text === 'abc' ? 'ab' : undefined);
  });

  it('a long list of known names is truncated', () => {
    const names = Array.from({ length: 23 }, (_, i) => `n${i}`);
    expect(listNames(names.slice(0, 20))).toBe(names.slice(0, 20).join(', '));
    expect(listNames(names)).toBe(`${names.slice(0, 20).join(', ')} and 3 more`);
  });
});

describe('the table of codes', () => {
  it('every name has one status, and every code a name', () => {
    for (const [code, { name }] of Object.entries(issueKinds))
      expect(statusOf[name], code).toSatisfy((status: number) => status >= 400 && status < 600);
  });

  it('a code accepts its own facts only', () => {
    expect(formatIssue(issue('body.min', ['n'], { min: 3 }))).toBe('n must be greater than or equal to 3');
    // @ts-expect-error another code's facts
    issue('body.min', ['n'], { max: 3 });
    // @ts-expect-error facts are missing
    issue('body.min', ['n']);
    // @ts-expect-error this code has none
    issue('body.integer', ['n'], { min: 3 });
  });
});
