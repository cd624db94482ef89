/** Writes on PostgreSQL that cross: from the two sides of a relation, while hooks run, and in circles of locks. */
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { allowing, type CodeProject, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';
import { crossingCodes, meeting } from '../world/lock-circles.js';

const text = { type: 'string' };
const relation = (kind: string, target: string, own: object) => ({
  type: 'relation',
  relation: kind,
  target: `api::${target}.${target}`,
  ...own,
});

const orderTypes = ['order', 'strict-order'] as const;
const codes = Object.fromEntries(orderTypes.map((it) => [it, crossingCodes(it)]));

const types = ['book', 'author', 'shelf', 'page', 'tag', ...orderTypes];
const files: Readonly<Record<string, string>> = {
  ...typeFile('book', {
    title: text,
    writer: relation('manyToOne', 'author', { inversedBy: 'written', useJoinTable: false }),
    shelf: relation('oneToOne', 'shelf', { inversedBy: 'book', useJoinTable: false }),
    author: relation('manyToOne', 'author', { inversedBy: 'books' }),
  }),
  ...typeFile('author', {
    name: text,
    written: relation('oneToMany', 'book', { mappedBy: 'writer' }),
    books: relation('oneToMany', 'book', { mappedBy: 'author' }),
  }),
  ...typeFile('shelf', { name: text, book: relation('oneToOne', 'book', { mappedBy: 'shelf' }) }),
  ...typeFile('page', { name: text, tags: relation('manyToMany', 'tag', { inversedBy: 'pages' }) }),
  ...typeFile('tag', { name: text, pages: relation('manyToMany', 'page', { mappedBy: 'tags' }) }),
  ...typeFile('order', { name: text }),
  ...typeFile('strict-order', { name: text }),
  ...typeFile('ticket', { code: { ...text, unique: true } }),
  'src/index.js': `const { errors } = require('@strapi/utils');
  /** Waits while the gate is closed. */
  const pass = () => globalThis.gate;
  ${meeting}
  const codes = ${JSON.stringify(codes)};
  module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    await allow('public', ['create', 'update', 'find', 'findOne'].flatMap((it) => ${JSON.stringify(types)}.map((type) => 'api::' + type + '.' + type + '.' + it)));
    await allow('public', ['plugin::users-permissions.auth.register', 'plugin::users-permissions.auth.resetPassword']);
    await allow('authenticated', []);
    for (const type of ['author', 'shelf', 'tag', 'page'])
      for (let i = 0; i < 4; i++) await strapi.entityService.create('api::' + type + '.' + type, { data: { name: type + i } });
    for (let i = 0; i < 4; i++) await strapi.entityService.create('api::book.book', { data: { title: 'b' + i, writer: 1, shelf: i + 1, author: 1 } });
    strapi.db.lifecycles.subscribe({ models: ['api::page.page', 'api::tag.tag'], afterUpdate: pass });
    strapi.db.lifecycles.subscribe({ models: ['api::book.book'], afterCreate: pass });
    strapi.db.lifecycles.subscribe({ models: ['plugin::users-permissions.user'], afterFindOne: ({ params }) => params.where?.resetPasswordToken ? pass() : undefined });
    for (const name of Object.keys(codes))
      strapi.db.lifecycles.subscribe({ models: ['api::' + name + '.' + name], async afterCreate({ result }) {
        for (const code of codes[name][result.name]) {
          try { await strapi.entityService.create('api::ticket.ticket', { data: { code } }); }
          catch (fault) { if (name === 'strict-order') throw new errors.ApplicationError('no ticket'); }
          await meet(name, result.name);
        }
      } });
    await strapi.entityService.create('plugin::users-permissions.user', { data: {
      username: 'mia', email: 'mia@example.org', password: 'Passw0rd!', provider: 'local', confirmed: true, resetPasswordToken: 'c'.repeat(128) } });
  } };`,
};

describe.runIf(dialects.includes('postgres'))('crossing writes on PostgreSQL', () => {
  let served: CodeProject;
  /** Holds rows. */
  let holder: Client;
  /** Looks around: what it sees of others stays the same inside of a transaction. */
  let watcher: Client;
  let open = (): void => undefined;
  beforeAll(async () => {
    served = await serveCode('postgres', files);
    [holder, watcher] = [new Client(served.env['DATABASE_URL']), new Client(served.env['DATABASE_URL'])];
    await Promise.all([holder.connect(), watcher.connect()]);
  });
  afterEach(() => open());
  afterAll(async () => {
    await Promise.all([holder.end(), watcher.end()]);
    await served.close();
  });

  /** Hooks wait until it is opened. */
  const closeGate = (): void => {
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    Object.assign(globalThis, { gate });
  };
  const rows = async (query: string): Promise<readonly unknown[]> =>
    (await watcher.query({ text: query, rowMode: 'array' })).rows;
  const until = (count: number, condition: string): Promise<void> =>
    vi.waitFor(
      async () =>
        expect(
          await rows(`select count(*)::int from pg_stat_activity where datname = current_database() and ${condition}`),
        ).toEqual([[count]]),
      { timeout: 20_000 },
    );
  const untilWaiting = (count: number): Promise<void> => until(count, `wait_event_type = 'Lock'`);
  const untilInHook = (): Promise<void> => until(1, `state = 'idle in transaction' and query not like 'begin%'`);
  const put = (path: string, data: object) => served.json('PUT', `/api/${path}`, { data });
  const statuses = async (all: readonly ReturnType<typeof put>[]): Promise<readonly number[]> =>
    (await Promise.all(all)).map((it) => it.status);

  /** The second write begins once the first, which moves a book, waits for that book's row, and has read it as it was. */
  const besideMoved = async (book: number, data: object, second: () => ReturnType<typeof put>) => {
    await holder.query(`begin; select from books where id = ${book} for update`);
    const moved = put(`books/${book}`, data);
    await untilWaiting(1);
    const other = second();
    await untilWaiting(2);
    await holder.query('commit');
    return statuses([moved, other]);
  };

  it('a link in a column that its own entry has moved meanwhile is not cleared by the list that it was in', async () => {
    const listed = () => put('authors/1', { written: [2, 3] });
    expect(await besideMoved(1, { writer: 2 }, listed)).toEqual([200, 200]);
    expect(await rows('select id, writer_id from books where id < 4 order by id')).toEqual([
      [1, 2],
      [2, 1],
      [3, 1],
    ]);
  });

  it('nor is it by whoever takes the partner that it has left', async () => {
    await put('books/4', { shelf: null });
    const taken = () => put('books/3', { shelf: 2 });
    expect(await besideMoved(2, { shelf: 4 }, taken)).toEqual([200, 200]);
    expect(await rows('select id, shelf_id from books where id in (2, 3) order by id')).toEqual([
      [2, 4],
      [3, 2],
    ]);
  });

  it('R17: the same link from both sides is stored once, though hooks run', async () => {
    closeGate();
    const one = put('pages/1', { tags: { connect: [1] } });
    await untilInHook();
    const same = put('tags/1', { pages: { connect: [1] } });
    await untilWaiting(1);
    open();
    expect(await statuses([one, same])).toEqual([200, 200]);
    expect(await rows('select page_id, tag_id from pages_tags_links')).toEqual([[1, 1]]);
  });

  it('R17: an entry whose hook still runs is in the list that another write orders', async () => {
    closeGate();
    const added = served.json('POST', '/api/books', { data: { title: 'new', author: 1 } });
    await untilInHook();
    const ordered = put('authors/1', { books: { connect: [{ id: 3, position: { start: true } }] } });
    await untilWaiting(1);
    open();
    expect(await statuses([added, ordered])).toEqual([200, 200]);
    const titles = await rows(
      'select title from books_author_links l join books b on b.id = l.book_id where author_id = 1 order by book_order',
    );
    expect(titles.flat()).toEqual(['b2', 'b0', 'b1', 'b3', 'new']);
  });

  it.each(orderTypes)(
    'hooks that wait for each other in a circle run again, whatever they do with the error: %s',
    async (type) => {
      const create = (name: string) => served.json('POST', `/api/${type}s`, { data: { name } });
      expect(await statuses(['one', 'other'].map(create))).toEqual([200, 200]);
      const stored = await rows(`select code from tickets where code like '${type}%'`);
      expect(stored.flat().sort()).toEqual(Object.values(crossingCodes(type)).flat().sort());
    },
  );

  it('a code that was mailed is used once, though hooks hear of the look for it', async () => {
    closeGate();
    const reset = (password: string) =>
      served.json('POST', '/api/auth/reset-password', {
        code: 'c'.repeat(128),
        password,
        passwordConfirmation: password,
      });
    const one = reset('Passw0rd!1');
    await untilInHook();
    const another = reset('Passw0rd!2');
    await untilWaiting(1);
    open();
    expect([...(await statuses([one, another]))].sort()).toEqual([200, 400]);
  });
});
