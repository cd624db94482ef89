/** Hooks after a write run behind its locks: who writes something else does not wait for them, and who writes the same does. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const AT_ONCE = 6;
const text = { type: 'string' };
const toMany = (relation: string, target: string, own: object) => ({
  type: 'relation',
  relation,
  target: `api::${target}.${target}`,
  ...own,
});

/** Each waits until as many are there as `globalThis.expected` says. */
const barrier = `const arrive = () => new Promise((resolve) => {
  const waiting = (globalThis.arrived ??= []);
  waiting.push(resolve);
  if (waiting.length < (globalThis.expected ?? 1)) return;
  globalThis.arrived = [];
  for (const it of waiting) it();
});`;
const expecting = (count: number): void => {
  Object.assign(globalThis, { expected: count, arrived: [] });
};

const files: Readonly<Record<string, string>> = {
  ...typeFile('book', {
    title: { ...text, unique: true },
    slug: { type: 'uid', targetField: 'title' },
    author: toMany('manyToOne', 'author', { inversedBy: 'books' }),
    tags: toMany('manyToMany', 'tag', { inversedBy: 'books' }),
    shelf: toMany('oneToOne', 'shelf', { inversedBy: 'book' }),
  }),
  ...typeFile('author', { name: text, books: toMany('oneToMany', 'book', { mappedBy: 'author' }) }),
  ...typeFile('tag', { name: text, books: toMany('manyToMany', 'book', { mappedBy: 'tags' }) }),
  ...typeFile('shelf', { name: text, book: toMany('oneToOne', 'book', { mappedBy: 'shelf' }) }),
  'src/api/book/content-types/book/lifecycles.js': `${barrier}
    module.exports = { afterCreate: arrive, afterUpdate: arrive };`,
  'src/index.js': `${barrier} module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    await allow('public', ['create', 'update', 'find'].flatMap((it) => ['book', 'author', 'shelf'].map((type) => 'api::' + type + '.' + type + '.' + it)));
    await allow('public', ['plugin::users-permissions.auth.register']);
    await allow('authenticated', []);
    for (const type of ['author', 'tag', 'shelf'])
      for (let i = 0; i < ${AT_ONCE}; i++) await strapi.entityService.create('api::' + type + '.' + type, { data: { name: type + i } });
    strapi.db.lifecycles.subscribe({ models: ['plugin::users-permissions.user'], afterCreate: arrive });
  } };`,
};

describe.runIf(dialects.includes('postgres'))('hooks that run behind locks on PostgreSQL', () => {
  let served: CodeProject;
  beforeAll(async () => {
    expecting(1);
    served = await serveCode('postgres', files);
  });
  afterAll(() => served.close());
  const each = <T>(work: (i: number) => Promise<T>): Promise<readonly T[]> => {
    expecting(AT_ONCE);
    return Promise.all(Array.from({ length: AT_ONCE }, (_none, i) => work(i)));
  };
  const create = async (data: object): Promise<number> => (await served.json('POST', '/api/books', { data })).status;

  it('writes with other unique values, of the same author and tags, do not wait for them', async () => {
    const made = (i: number) =>
      create({ title: `Book ${i}`, slug: `book-${i}`, author: 1, tags: [1, 2], shelf: i + 1 });
    expect(await each(made)).toEqual(Array(AT_ONCE).fill(200));
  });

  it('lists to which several have added at once are in order, and take positions', async () => {
    expecting(1);
    const titles = async (): Promise<readonly string[]> => {
      const { body } = await served.json('GET', '/api/authors?filters[id]=1&populate=books');
      const { data } = body as { data: [{ attributes: { books: { data: { attributes: { title: string } }[] } } }] };
      return data[0].attributes.books.data.map((it) => it.attributes.title);
    };
    const before = await titles();
    expect([...before].sort()).toEqual(Array.from({ length: AT_ONCE }, (_none, i) => `Book ${i}`));
    const [first = '', second = ''] = before;
    const { body } = await served.json('GET', `/api/books?filters[title]=${encodeURIComponent(before.at(-1)!)}`);
    const { data } = body as { data: [{ id: number }] };
    const moved = { books: { connect: [{ id: data[0].id, position: { start: true } }] } };
    expect((await served.json('PUT', '/api/authors/1', { data: moved })).status).toBe(200);
    expect((await titles()).slice(0, 3)).toEqual([before.at(-1), first, second]);
  });

  it('updates of other entries that keep their unique values, and registrations, do not wait either', async () => {
    const kept = (i: number) =>
      served.json('PUT', `/api/books/${i + 1}`, { data: { title: `Renamed ${i}`, author: 2, tags: { connect: [3] } } });
    expect((await each(kept)).map((it) => it.status)).toEqual(Array(AT_ONCE).fill(200));
    const registered = (i: number) =>
      served.json('POST', '/api/auth/local/register', {
        username: `mia${i}`,
        email: `mia${i}@example.org`,
        password: 'Passw0rd!',
      });
    expect((await each(registered)).map((it) => it.status)).toEqual(Array(AT_ONCE).fill(200));
  });

  it('who writes the same waits: one of several has it', async () => {
    expecting(1);
    const same = Array.from({ length: AT_ONCE }, () => create({ title: 'The same', shelf: 1 }));
    expect((await Promise.all(same)).sort()).toEqual([200, ...Array(AT_ONCE - 1).fill(400)]);
    const named = Array.from({ length: AT_ONCE }, (_none, i) =>
      served.json('POST', '/api/auth/local/register', {
        username: i % 2 === 0 ? 'Noor' : 'noor@example.org',
        email: i % 2 === 0 ? `NOOR@example.org` : 'noor@example.org',
        password: 'Passw0rd!',
      }),
    );
    const statuses = (await Promise.all(named)).map((it) => it.status).sort();
    expect(statuses).toEqual([200, ...Array(AT_ONCE - 1).fill(400)]);
  });

  it('an entry that may have one partner has one, however many name it at once', async () => {
    expecting(1);
    const all = Array.from({ length: AT_ONCE }, (_none, i) => create({ title: `On the shelf ${i}`, shelf: 2 }));
    expect(await Promise.all(all)).toEqual(Array(AT_ONCE).fill(200));
    const { body } = await served.json('GET', '/api/books?filters[shelf][id]=2');
    expect((body as { data: unknown[] }).data).toHaveLength(1);
  });
});
