/**
 * Writes on PostgreSQL whose commit travels with the read of the response (`Tx.finish`): it happens only if all statements
 * before it succeed and the response may be sent.
 */
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { ConstraintFault, type Rows, readRows, type Sql, type Statement, type Tx } from '../../src/sql/dialect.js';
import { dialects, newDatabase, type TestDatabase } from '../world/databases.js';

describe.runIf(dialects.includes('postgres'))('a write that says which statements are its last', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await newDatabase('postgres');
    await database.db.write(async (tx) => {
      await run(tx, sql`create table things (id serial primary key, name text unique)`);
      // what is inserted as `hidden` is not stored
      await run(
        tx,
        sql`create function hide() returns trigger language plpgsql as ${sql.raw(`'begin if new.name = ''hidden'' then return null; end if; return new; end'`)}`,
      );
      await run(tx, sql`create trigger hiding before insert on things for each row execute function hide()`);
    });
  });
  afterAll(() => database.drop());
  beforeEach(() => database.db.write((tx) => run(tx, sql`delete from things`)));

  const compiled = (query: Sql): Statement => database.db.dialect.compile(query);
  const run = (tx: Tx, query: Sql): Promise<Rows> => tx.run(compiled(query));
  const names = async () =>
    (await database.db.read(() => readRows(compiled(sql`select name from things order by id`)))).flat();
  const insert = (name: string): Sql => sql`insert into things (name) values (${name})`;

  /** A read whose rows have their texts in the second of two columns. */
  const texts = (query: Sql) => ({
    plan: { ...compiled(query), onlyTexts: { column: 2, columns: 2 } },
    values: null,
    begin: function* (plan: Statement): Generator<readonly Statement[], Rows, readonly Rows[]> {
      const [rows = []] = yield [plan];
      return rows;
    },
  });
  const named = (name: string): Sql => sql`select id, name from things where name = ${name}`;

  /** Asks, then writes and reads in a last turn; tells what the read has found, what others saw then, and how often it ran. */
  const finishing = async (query: Sql, read: Sql) => {
    const seen: unknown[] = [];
    let attempts = 0;
    const found = await database.db.write(async (tx) => {
      attempts += 1;
      await run(tx, sql`select count(*) from things`);
      tx.finish();
      const [, rows] = await Promise.all([run(tx, query), tx.readPlanned(texts(read))]);
      seen.push(await names());
      if (rows.length === 0) throw new Error('nothing to show');
      return rows.map(([, text]) => String(text).length);
    });
    return { found, seen, attempts };
  };

  it('is committed once its response is there', async () => {
    expect(await finishing(insert('one'), named('one'))).toEqual({ found: [3], seen: [['one']], attempts: 1 });
    expect(await names()).toEqual(['one']);
  });

  it('is in the log of changes', async () => {
    const { changes } = database.db;
    await changes.catchUp();
    const before = changes.moment();
    await finishing(insert('one'), named('one'));
    await changes.catchUp();
    expect(changes.isUnchanged(['things'], before)).toBe(false);
  });

  it('is rolled back if one of them fails', async () => {
    await finishing(insert('one'), named('one'));
    const twice = sql`insert into things (name) values ('two'), ('one')`;
    await expect(finishing(twice, named('one'))).rejects.toThrow(ConstraintFault);
    await expect(finishing(insert('three'), sql`select id, (1 / (id - id))::text from things`)).rejects.toThrow(
      'division by zero',
    );
    expect(await names()).toEqual(['one']);
  });

  it('is rolled back if nothing is found', async () => {
    const hidden = sql`insert into things (name) values ('other'), ('hidden')`;
    await expect(finishing(hidden, named('hidden'))).rejects.toThrow('nothing to show');
    expect(await names()).toEqual([]);
  });

  it('is committed after its response is read if that is too long to be certain', async () => {
    const long = sql`select id, repeat('x', ${limits.responseCharactersMax}::int4) from things`;
    expect(await finishing(insert('one'), long)).toEqual({
      found: [limits.responseCharactersMax],
      seen: [[]],
      attempts: 2,
    });
    expect(await names()).toEqual(['one']);
  });

  it('takes no statement after that', async () => {
    const work = database.db.write(async (tx) => {
      await run(tx, sql`select count(*) from things`);
      tx.finish();
      await Promise.all([run(tx, insert('one')), tx.readPlanned(texts(named('one')))]);
      await run(tx, insert('two'));
    });
    await expect(work).rejects.toThrow('statement-after-commit');
    expect(await names()).toEqual(['one']);
  });

  it('is committed when its work ends if it asked nothing before, since it may not have begun', async () => {
    const seen = await database.db.write(async (tx) => {
      tx.finish();
      await Promise.all([run(tx, insert('one')), tx.readPlanned(texts(named('one')))]);
      return names();
    });
    expect([seen, await names()]).toEqual([[], ['one']]);
  });
});
