/** Deletions on PostgreSQL beside other writes: none waits for another in a circle, and no row that is left leads to what was deleted. */
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readRows } from '../../src/sql/dialect.js';
import { linkLock } from '../../src/write/plan.js';
import { type CodeProject, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';
import { codeRunner, runningController } from '../world/running.js';
import { newSmallWorld, relation, type SmallProject, type SmallWorld } from '../world/small.js';

const i18n = (localized: boolean) => ({ i18n: { localized } });
const project: SmallProject = {
  types: {
    note: {
      attributes: {
        name: { type: 'string' },
        tags: relation('manyToMany', 'tag', { inversedBy: 'notes' }),
        things: { type: 'relation', relation: 'morphToMany' },
        main: { type: 'relation', relation: 'morphToOne' },
        parts: { type: 'component', component: 'parts.part', repeatable: true },
      },
    },
    tag: { attributes: { notes: relation('manyToMany', 'note', { mappedBy: 'tags' }) } },
    car: { attributes: { name: { type: 'string' } } },
    page: { attributes: { title: { type: 'string', pluginOptions: i18n(true) } }, pluginOptions: i18n(true) },
  },
  components: { 'parts.part': { cars: relation('oneToMany', 'car') } },
};

const waiting = `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;

describe.runIf(dialects.includes('postgres'))('a deletion without hooks', () => {
  let world: SmallWorld;
  let other: Client;
  let third: Client;
  beforeAll(async () => {
    world = await newSmallWorld('postgres', project);
    [other, third] = [new Client(world.env['DATABASE_URL']!), new Client(world.env['DATABASE_URL']!)];
    await Promise.all([other.connect(), third.connect()]);
  });
  afterAll(async () => {
    await Promise.all([other.end(), third.end()]);
    await world.close();
  });
  beforeEach(async () => {
    await other.query(
      'delete from notes; delete from tags; delete from cars; delete from pages; delete from notes_things_morphs',
    );
    await other.query('insert into tags (id) values (1)');
    await other.query('insert into cars (id) values (7), (8)');
    await other.query(`insert into pages (id, locale) values (1, 'en')`);
  });

  /** Resolves once as many sessions wait for locks. */
  const waiters = async (count: number): Promise<void> => {
    while (((await third.query<{ count: number }>(waiting)).rows[0]?.count ?? 0) < count);
  };
  /** Fails if somebody has locked or changed one of the rows. */
  const expectFree = async (rows: string) => {
    expect((await third.query(`select 1 ${rows} for update nowait`)).rowCount).toBeGreaterThan(0);
  };

  it.each([
    ['its links', linkLock('notes_tags_links', 'tag_id', 1), 'tags'],
    ['siblings', 'locales pages', 'pages'],
  ])('locks no row before it has the lock of %s, which other writes take first', async (_what, lock, table) => {
    await other.query('begin');
    await other.query('select pg_advisory_xact_lock(hashtext($1))', [lock]);
    const answer = world.send('DELETE', `/api/${table}/1`);
    await waiters(1);
    await expectFree(`from ${table} where id = 1`);
    await other.query('commit');
    expect((await answer).status).toBe(200);
  });

  it('locks rows of relations in the order of their tables, as that of the other side', async () => {
    const things = [7, 8].map((id) => ({ __type: 'api::car.car', id }));
    const made = await world.send('POST', '/api/notes', { data: { things, parts: [{ cars: [7, 8] }] } });
    const note = (made.body as { data: { id: number } }).data.id;
    await other.query('begin; select 1 from components_parts_parts_cars_links where car_id = 8 for update');
    const first = world.send('DELETE', `/api/notes/${note}`);
    await waiters(1);
    const second = world.send('DELETE', '/api/cars/7');
    await waiters(2);
    // the first one deletes it next
    await expectFree('from notes_things_morphs where things_id = 7');
    await other.query('commit');
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
  });

  const car = { __type: 'api::car.car', id: 7 };
  const holders = [
    ['things', [car], 'notes_things_morphs'],
    ['main', car, 'notes'],
  ] as const;

  it.each(holders)(
    'waits for a write that puts the entry into a polymorphic relation: %s',
    async (name, value, table) => {
      await other.query(`create function wait_for_lock() returns trigger language plpgsql as $$ begin
        perform pg_advisory_xact_lock(42);
        return new;
      end $$;
      create trigger wait_for_lock before insert on ${table} for each row execute function wait_for_lock()`);
      try {
        await other.query('begin; select pg_advisory_xact_lock(42)');
        const creation = world.send('POST', '/api/notes', { data: { name: 'a', [name]: value } });
        await waiters(1);
        const deletion = world.send('DELETE', '/api/cars/7');
        await waiters(2);
        await other.query('commit');
        expect([(await creation).status, (await deletion).status]).toEqual([200, 200]);
        const { body } = await world.send('GET', `/api/notes?populate=${name}`);
        expect(body).toMatchObject({ data: [{ attributes: { name: 'a' } }] });
        expect(await world.rows('notes_things_morphs')).toEqual([]);
        expect(await world.rows('notes')).toMatchObject([{ target_id: null, target_type: null }]);
      } finally {
        await other.query(`drop trigger wait_for_lock on ${table}; drop function wait_for_lock`);
      }
    },
  );

  it.each(holders)(
    'is waited for by a write that puts the entry into one, which is refused: %s',
    async (name, value) => {
      const made = await world.send('POST', '/api/notes', { data: { name: 'a' } });
      const { id } = (made.body as { data: { id: number } }).data;
      await other.query('begin; delete from cars where id = 7');
      const answers = [
        world.send('POST', '/api/notes', { data: { [name]: value } }),
        world.send('PUT', `/api/notes/${id}`, { data: { [name]: value } }),
      ];
      await waiters(2);
      await other.query('commit');
      for (const { status, body } of await Promise.all(answers))
        expect([status, body]).toMatchObject([400, { error: { details: { errors: [{ code: 'relation.absent' }] } } }]);
      expect(await world.rows('notes_things_morphs')).toEqual([]);
    },
  );
});

const good = 'api::good.good';
const files = {
  ...typeFile('good', { text: { type: 'string' } }),
  'src/api/run/routes/run.js': `module.exports = { routes: [{ method: 'POST', path: '/run', handler: 'run.run', config: { auth: false } }] };`,
  'src/api/run/controllers/run.js': runningController,
};

describe.runIf(dialects.includes('postgres'))('deleteMany and updateMany of code', () => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode('postgres', files);
  });
  afterAll(() => served.close());
  beforeEach(() =>
    run(`const rows = strapi.db.query('${good}');
    await rows.deleteMany();
    for (const id of [1, 2, 3]) await rows.create({ data: { id, text: 'first' } })`),
  );
  const { run } = codeRunner(() => served);
  const statement = (text: string) => served.db.dialect.compile(sql`${sql.raw(text)}`);
  /** Runs code while a transaction has run a statement, until the code waits for it. */
  const whileHeld = async (held: string, code: string, then: string): Promise<unknown> => {
    let answer: Promise<unknown> = Promise.resolve();
    await served.db.write(async (tx) => {
      await tx.run(statement(held));
      answer = run(code);
      while ((await served.db.read(() => readRows(statement(waiting))))[0]![0] === 0);
      await tx.run(statement(then));
    });
    return answer;
  };

  it.each([
    ['deleteMany', '', []],
    ['updateMany', `, data: { text: 'second' }`, ['second', 'second']],
  ])('pass over rows that others have deleted meanwhile, and do not count them: %s', async (method, data, left) => {
    const code = `return strapi.db.query('${good}').${method}({ where: { text: 'first' }${data} })`;
    expect(await whileHeld('delete from goods where id = 2', code, 'select 1')).toEqual({ count: 2 });
    const texts = `return (await strapi.db.query('${good}').findMany()).map((it) => it.text)`;
    expect(await run(texts)).toEqual(left);
  });

  it.each([
    ['deleteMany', ''],
    ['updateMany', `, data: { text: 'second' }`],
  ])('lock rows in the order of their ids, whatever they are sorted by: %s', async (method, data) => {
    const code = `return strapi.db.query('${good}').${method}({ orderBy: { id: 'desc' }${data} })`;
    const free = 'select 1 from goods where id = 3 for update nowait';
    expect(await whileHeld('select 1 from goods where id = 1 for update', code, free)).toEqual({ count: 3 });
  });
});
