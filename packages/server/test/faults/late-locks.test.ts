/**
 * Creations on PostgreSQL ask before they lock (`Tx.mayLockLate`): what others commit while they wait for the lock counts as
 * if they had waited before they asked.
 */
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { linkLock, uniqueLock } from '../../src/write/plan.js';
import { dialects } from '../world/databases.js';
import { newSmallWorld, type SmallProject, type SmallWorld } from '../world/small.js';

const lockOf = (name: string): string => uniqueLock({ table: 'notes' }, { column: 'name', type: 'string' }, name);

const relation = { type: 'relation', relation: 'manyToMany' };
const project: SmallProject = {
  types: {
    note: {
      attributes: {
        name: { type: 'string', unique: true },
        tags: { ...relation, target: 'api::tag.tag', inversedBy: 'notes' },
        first: { type: 'relation', relation: 'oneToOne', target: 'api::tag.tag', inversedBy: 'firstOf' },
        cars: { type: 'relation', relation: 'oneToMany', target: 'api::car.car' },
        main: { type: 'relation', relation: 'morphToOne' },
        things: { type: 'relation', relation: 'morphToMany' },
      },
    },
    car: { attributes: { name: { type: 'string' } } },
    tag: {
      attributes: {
        notes: { ...relation, target: 'api::note.note', mappedBy: 'tags' },
        firstOf: { type: 'relation', relation: 'oneToOne', target: 'api::note.note', mappedBy: 'first' },
      },
    },
  },
};

describe.runIf(dialects.includes('postgres'))('a creation that waits for others', () => {
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
    await other.query('delete from notes; delete from tags; delete from cars');
    await other.query('insert into tags (id) values (1), (2)');
    await other.query(`insert into cars (id, name) values (7, 'x')`);
  });

  const create = (name: string, data: object = {}) => world.send('POST', '/api/notes', { data: { name, ...data } });
  const codes = (body: unknown): readonly string[] =>
    (body as { error: { details: { errors: { code: string }[] } } }).error.details.errors.map((it) => it.code);

  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  /** Resolves once as many sessions wait for locks. */
  const waiters = async (count: number): Promise<void> => {
    while (((await third.query(waiting)).rowCount ?? 0) < count);
  };
  const lockStatement = 'select pg_advisory_xact_lock(hashtext($1))';

  /** Creates a note while another client has the lock, which it releases with a commit once the creation waits. */
  const whileWaiting = async (lock: string, statements: string, name: string, data: object = {}) => {
    await other.query('begin');
    await other.query(lockStatement, [lock]);
    const answer = create(name, data);
    await waiters(1);
    await other.query(statements);
    await other.query('commit');
    return answer;
  };

  const orders = async () =>
    (
      await other.query<{ name: string; note_order: number }>(
        'select n.name, l.note_order from notes_tags_links l join notes n on n.id = l.note_id where l.tag_id = 1 order by l.note_order',
      )
    ).rows.map((it) => [it.name, it.note_order]);

  it('is refused if a unique value has been taken', async () => {
    const { status, body } = await whileWaiting(lockOf('a'), `insert into notes (name) values ('a')`, 'a');
    expect([status, codes(body)]).toEqual([400, ['body.unique']]);
    expect(await world.rows('notes')).toHaveLength(1);
  });

  it('is refused if an entry that it names has been deleted', async () => {
    const { status, body } = await whileWaiting(
      linkLock('notes_tags_links', 'tag_id', 2),
      'delete from tags where id = 2',
      'a',
      {
        tags: [1, 2],
      },
    );
    expect([status, codes(body)]).toEqual([400, ['relation.absent']]);
    expect(await world.rows('notes')).toEqual([]);
  });

  it('is refused if an entry that it names is being deleted, and then is', async () => {
    await other.query('begin; delete from tags where id = 2');
    const answer = create('a', { tags: [1, 2] });
    await waiters(1);
    await other.query('commit');
    const { status, body } = await answer;
    expect([status, codes(body)]).toEqual([400, ['relation.rejected']]);
    expect(await world.rows('notes')).toEqual([]);
  });

  it('leaves no links to an entry that is deleted meanwhile', async () => {
    await other.query(`begin; insert into notes (id, name) values (5, 'a');
      insert into notes_tags_links (note_id, tag_id) values (5, 1), (5, 2)`);
    const answer = world.send('DELETE', '/api/tags/2');
    await waiters(1);
    await other.query('commit');
    expect((await answer).status).toBe(200);
    expect((await other.query('select tag_id from notes_tags_links')).rows).toEqual([{ tag_id: 1 }]);
  });

  it.each([
    ['cars', [7]],
    ['main', { __type: 'api::car.car', id: 7 }],
    ['things', [{ __type: 'api::car.car', id: 7 }]],
  ])('is refused if an entry has been deleted whose deletion waits for no lock: %s', async (attribute, value) => {
    const { status, body } = await whileWaiting(lockOf('a'), 'delete from cars', 'a', { [attribute]: value });
    expect([status, codes(body)]).toEqual([400, ['relation.absent']]);
    expect(await world.rows('notes')).toEqual([]);
  });

  it('is refused also if it had been tried before', async () => {
    // the first attempt waits for the third client, and fails then
    await other.query(`create sequence attempts;
      create function fail_once() returns trigger language plpgsql as $$ begin
        if nextval('attempts') = 1 then
          perform pg_advisory_xact_lock(42);
          raise exception 'serialization' using errcode = '40001';
        end if;
        return new;
      end $$;
      create trigger fail_once before insert on notes for each row when (new.name = 'a') execute function fail_once()`);
    try {
      await third.query('begin');
      await third.query('select pg_advisory_xact_lock(42)');
      const answer = create('a');
      await waiters(1);
      await other.query('begin');
      const locked = other.query(lockStatement, [lockOf('a')]);
      await waiters(2);
      await third.query('commit');
      await locked;
      await waiters(1);
      await other.query(`insert into notes (name) select 'a' where setval('attempts', 2) = 2`);
      await other.query('commit');
      const { status, body } = await answer;
      expect([status, codes(body)]).toEqual([400, ['body.unique']]);
      expect(world.logged).toEqual([]);
    } finally {
      await other.query('drop trigger fail_once on notes; drop function fail_once; drop sequence attempts');
    }
  });

  it('goes behind those that have been added to lists of other entries', async () => {
    expect((await create('a', { tags: [1] })).status).toBe(200);
    const added = `with n as (insert into notes (name) values ('b') returning id)
      insert into notes_tags_links (note_id, tag_id, tag_order, note_order) select id, 1, 1, 2 from n`;
    const { status } = await whileWaiting(linkLock('notes_tags_links', 'tag_id', 1), added, 'c', { tags: [2, 1] });
    expect(status).toBe(200);
    expect(await orders()).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ]);
  });

  it('numbers lists anew whose ranks are unsound', async () => {
    await create('a', { tags: [1] });
    await create('b', { tags: [1] });
    await other.query('update notes_tags_links set note_order = 0.5');
    await create('c', { tags: [1] });
    expect(await orders()).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ]);
  });

  it('takes over an entry that may have one owner', async () => {
    const added = `with n as (insert into notes (name) values ('b') returning id)
      insert into notes_first_links (note_id, tag_id) select id, 1 from n`;
    const { status } = await whileWaiting(linkLock('notes_first_links', 'tag_id', 1), added, 'c', { first: 1 });
    expect(status).toBe(200);
    expect(await world.rows('notes_first_links')).toHaveLength(1);
  });

  it('goes behind others that are created at once', async () => {
    const names = Array.from({ length: 20 }, (_none, i) => `n${i}`);
    const answers = await Promise.all(names.map((name) => create(name, { tags: [1] })));
    expect(answers.map((it) => it.status)).toEqual(names.map(() => 200));
    expect((await orders()).map(([, order]) => order)).toEqual(names.map((_name, i) => i + 1));
  });

  it('that has taken a unique value is the only one of those at once', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => create('same')));
    expect(answers.map((it) => it.status).sort()).toEqual([200, 400, 400, 400, 400, 400, 400, 400]);
    expect(new Set(answers.flatMap(({ status, body }) => (status === 400 ? codes(body) : [])))).toEqual(
      new Set(['body.unique']),
    );
  });
});
