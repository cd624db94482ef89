/** Statements on PostgreSQL run under the same settings whether or not they have a transaction, and behind a pooler too. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixedStatement } from '../../src/sql/compile.js';
import { type Db, type ReadProgram, type Rows, readRows } from '../../src/sql/dialect.js';
import { openPostgres } from '../../src/sql/postgres/open.js';
import { newDatabase, ownPostgres, type TestDatabase } from '../world/databases.js';
import { type Pooler, type PoolMode, startPgBouncer } from '../world/pgbouncer.js';

const names = ['statement_timeout', 'lock_timeout', 'jit', 'search_path', 'plan_cache_mode'];
const settings = fixedStatement(`select ${names.map((it) => `current_setting('${it}')`).join(', ')}`);
const withPath = (url: string): string => `${url}${url.includes('?') ? '&' : '?'}search_path=other,public`;

/** A read that needs a transaction. */
function* inTwoRounds(): ReadProgram<Rows> {
  yield [fixedStatement('select 1')];
  const [rows = []] = yield [settings];
  return rows;
}

describe('settings of a direct connection', () => {
  let database: TestDatabase;
  let db: Db;
  beforeAll(async () => {
    database = await newDatabase('postgres');
    db = await openPostgres(withPath(database.env['DATABASE_URL']!));
  });
  afterAll(async () => {
    await db.close();
    await database.drop();
  });

  const usual = [['5s', '3s', 'off', 'other,public', 'force_generic_plan']];

  it('reads of one statement and of several, and writes', async () => {
    expect(await db.read(() => readRows(settings))).toEqual(usual);
    expect(await db.read(inTwoRounds)).toEqual(usual);
    expect(await db.write((tx) => tx.run(settings))).toEqual(usual);
  });

  it('what is done alone has no timeout, and leaves none changed', async () => {
    expect(await db.writeAlone((tx) => tx.run(settings))).toEqual([['0', '1min', ...usual[0]!.slice(2)]]);
    expect(await db.read(() => readRows(settings))).toEqual(usual);
    await db.runAlone(fixedStatement('select 1'));
    // on the same connection: requests one after the other share one
    expect(await db.read(() => readRows(settings))).toEqual(usual);
  });
});

describe('settings where code of the project runs in transactions', () => {
  it.each([
    ['a direct connection', null],
    ['a pooler', 'transaction' as const],
  ])('writes are patient with each other on %s, and nothing else is', async (_what, mode) => {
    const database = await newDatabase('postgres');
    const pooler = mode && (await startPgBouncer(ownPostgres(), mode));
    const given = database.env['DATABASE_URL']!;
    const url = withPath(pooler ? pooler.through(given) : given);
    const db = await openPostgres(url, { runsHooks: true });
    const rest = ['off', 'other,public', pooler ? 'auto' : 'force_generic_plan'];
    try {
      expect(await db.write((tx) => tx.run(settings))).toEqual([['35s', '30s', ...rest]]);
      expect(await db.read(() => readRows(settings))).toEqual([['5s', '3s', ...rest]]);
      expect(await db.read(inTwoRounds)).toEqual([['5s', '3s', ...rest]]);
      expect(await db.writeAlone((tx) => tx.run(settings))).toEqual([['0', '1min', ...rest]]);
    } finally {
      await db.close();
      await pooler?.stop();
      await database.drop();
    }
  });
});

describe.each<PoolMode>(['session', 'transaction'])('settings behind PgBouncer in %s mode', (mode) => {
  let database: TestDatabase;
  let pooler: Pooler;
  let db: Db;
  beforeAll(async () => {
    database = await newDatabase('postgres');
    pooler = await startPgBouncer(ownPostgres(), mode);
    db = await openPostgres(withPath(pooler.through(database.env['DATABASE_URL']!)));
  });
  afterAll(async () => {
    await db.close();
    await pooler.stop();
    await database.drop();
  });

  it('are those of each transaction, also of a read of one statement', async () => {
    const usual = [['5s', '3s', 'off', 'other,public', 'auto']];
    expect(await db.read(() => readRows(settings))).toEqual(usual);
    expect(await db.read(inTwoRounds)).toEqual(usual);
    expect(await db.write((tx) => tx.run(settings))).toEqual(usual);
  });
});
