/** All that is PostgreSQL: the driver, prepared statements, its way to write JSON, dates and lists. */
import { sql } from 'kysely';
import postgres from 'postgres';
import { issue, Refusal } from '../errors.js';
import { limits } from '../limits.js';
import { compileWith, fixedStatement, idsParameter, postgresBuilder } from './compile.js';
import {
  type ColumnKind,
  ConstraintFault,
  type Db,
  type DbValue,
  type Dialect,
  type JsonForm,
  type NewRow,
  type ReadProgram,
  type Rows,
  type Sql,
  type Statement,
  type Tx,
} from './dialect.js';

/** The zone of this process: v4 stores wall clocks in it (storage-layout 2). */
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const isUtc = /^(Etc\/)?(UTC|UCT|GMT|Zulu|Universal)$/.test(zone);
const toUtc = (column: Sql): Sql =>
  isUtc ? column : sql`((${column} at time zone ${sql.lit(zone)}) at time zone 'UTC')`;

const jsonValue = (form: JsonForm, column: Sql): Sql => {
  switch (form) {
    case 'text':
    case 'number':
    case 'boolean':
    case 'json':
      return column;
    case 'digits':
      return sql`${column}::text`;
    case 'epoch':
      return sql`case when isfinite(${column}) then (extract(epoch from ${toUtc(column)}) * 1000)::bigint::text end`;
    case 'date':
      return sql`to_char(${column}, 'YYYY-MM-DD')`;
    case 'time':
      return sql`to_char(${column}, 'HH24:MI:SS.MS')`;
    case 'instant': {
      const utc = toUtc(column);
      const rest = sql`to_char(${utc}, '-MM-DD"T"HH24:MI:SS.MS"Z"')`;
      const year = sql`extract(year from ${utc})::int`;
      // ISO counts years without an era, and writes those of more than four digits with a sign and six
      const odd = sql`case when ${utc} > '0001-01-01' then '+' || lpad(${year}::text, 6, '0') when ${year} = -1 then '0000' else '-' || lpad((-1 - ${year})::text, 6, '0') end || ${rest}`;
      return sql`case when ${utc} between '0001-01-01' and '9999-12-31 23:59:59.9999' then to_char(${utc}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') when isfinite(${utc}) then ${odd} end`;
    }
  }
};

/** PostgreSQL's spelling of an instant: no sign before the year, and an era after it instead of a negative one. */
const instantLiteral = (epochMs: number): string => {
  const text = new Date(epochMs).toISOString();
  if (text.startsWith('+')) return text.replace(/^\+0*/, '');
  if (!text.startsWith('-') && !text.startsWith('0000')) return text;
  const [, year = '', rest = ''] = /^-?(\d+)(.*)$/.exec(text) ?? [];
  return `${String(Number(year) + 1).padStart(4, '0')}${rest} BC`;
};

const columnTypes: Dialect['columnTypes'] = {
  id: 'serial primary key',
  reference: 'integer',
  rank: 'double precision',
  string: 'character varying(255)',
  text: 'text',
  integer: 'integer',
  bigint: 'bigint',
  float: 'double precision',
  decimal: 'numeric(10,2)',
  boolean: 'boolean',
  date: 'date',
  time: 'time without time zone',
  datetime: 'timestamp(6) without time zone',
  json: 'jsonb',
  jsonText: 'json',
};

/** A value's text, as `fromText` reads it. */
const textOf = (kind: ColumnKind, value: DbValue): string | null => {
  if (value === null) return null;
  if (kind === 'datetime') return instantLiteral(Number(value));
  return typeof value === 'string' ? value : String(value);
};

/** A column's value from an expression of type text. */
const fromText = (kind: ColumnKind, text: Sql): Sql => {
  switch (kind) {
    case 'id':
    case 'reference':
    case 'integer':
      return sql`${text}::int4`;
    case 'bigint':
    case 'decimal':
      return sql`${text}::numeric`;
    case 'float':
    case 'rank':
      return sql`${text}::float8`;
    case 'boolean':
      return sql`${text}::boolean`;
    case 'date':
      return sql`${text}::date`;
    case 'time':
      return sql`${text}::time`;
    case 'datetime':
      return sql`(${text}::timestamptz at time zone ${sql.lit(zone)})`;
    case 'json':
      return sql`${text}::jsonb`;
    case 'jsonText':
      return sql`${text}::json`;
    case 'string':
    case 'text':
      return text;
  }
};

const isInteger = (kind: ColumnKind): boolean => kind === 'id' || kind === 'reference' || kind === 'integer';

const bind = (kind: ColumnKind, value: DbValue): Sql => {
  const text = textOf(kind, value);
  if (text === null) return sql`null`;
  // a number that the column cannot hold is compared as a number, not refused by the cast
  const isHeld = !isInteger(kind) || (Number.isInteger(value) && Math.abs(Number(value)) <= limits.integerMax);
  return fromText(isHeld ? kind : 'float', sql`${text}::text`);
};

/**
 * One statement for all rows, each table's as one JSON parameter: a statement costs more than a row. References between
 * the rows are looked at when all are there.
 */
const insertAll = (rows: readonly NewRow[]): readonly Statement[] => {
  if (rows.length === 0) return [];
  const groups = new Map<string, NewRow[]>();
  for (const row of rows) {
    const key = JSON.stringify([row.table, ...row.cells.map((it) => it.column)]);
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  const inserts = [...groups.values()].map((group, i) => {
    const [{ table, cells }] = group as [NewRow];
    const names = cells.map((it) => sql.ref(it.column));
    const values = cells.map(({ kind, column }) => fromText(kind, sql.ref(`r.${column}`)));
    const types = names.map((name) => sql`${name} text`);
    const json = JSON.stringify(
      group.map((row) => Object.fromEntries(row.cells.map((it) => [it.column, textOf(it.kind, it.value)]))),
    );
    return sql`${sql.id(`i${i}`)} as (insert into ${sql.table(table)} (${sql.join(names)}) select ${sql.join(values)} from json_to_recordset((${json}::text)::json) as r(${sql.join(types)}))`;
  });
  return [compile(sql`with ${sql.join(inserts)} select 1`)];
};

const compile: Dialect['compile'] = (query) => compileWith(postgresBuilder, query);

/** @param collation a Unicode-aware one for `lower`, because the database's own may be C; null: the database's own. */
export const postgresDialect = (collation: string | null): Dialect => ({
  name: 'postgres',
  columnTypes,
  schema: {
    builder: postgresBuilder.schema,
    columns: fixedStatement(
      `select c.relname, a.attname, format_type(a.atttypid, a.atttypmod) from pg_class c join pg_attribute a on a.attrelid = c.oid where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace and a.attnum > 0 and not a.attisdropped order by c.relname, a.attnum`,
    ),
    indexes: fixedStatement(
      `select c.relname from pg_class c where c.relkind = 'i' and c.relnamespace = current_schema()::regnamespace`,
    ),
    // identifiers are cut at 63 bytes (storage-layout 1.6): a name that is there in its cut form is there
    storedName: (name) => Buffer.from(name).subarray(0, 63).toString(),
    foreignKeys: 'afterwards',
    uniqueAs: 'constraint',
  },
  // a function call takes 100 arguments at the most
  jsonPairsMax: 50,
  compile,
  inIds: (column) => sql`${column} = any(${idsParameter()}::int4[])`,
  idsTable: sql`(select unnest(${idsParameter()}::int4[]) as id)`,
  jsonObject: (pairs) =>
    sql`json_build_object(${sql.join(pairs.flatMap(([key, value]) => [sql.lit(key), value]))})::text`,
  jsonValue,
  bind,
  insertRows: insertAll,
  comparable: (_kind, column) => column,
  // a float has no trailing zeros, and a numeric no exponent
  numberText: (column, kind) =>
    kind === 'float' || kind === 'decimal' ? sql`${column}::float8::text::numeric::text` : sql`${column}::text`,
  // a sigma at the end of a word is the same letter
  fold: (text) =>
    sql`translate(lower(${text}${collation === null ? sql`` : sql` collate ${sql.id(collation)}`}), 'ς', 'σ')`,
  position: (text, part) => sql`strpos(${text}, ${part})`,
  unindexed: (column) => column,
  stillRunning: null,
  reserveIds: (wanted) => {
    const selects = wanted.map(
      ({ table, count }, place) =>
        sql`select ${sql.lit(place)}, nextval(pg_get_serial_sequence(${`"${table}"`}::text, 'id'))::int4 from generate_series(1, ${bind('integer', count)})`,
    );
    return compile(sql.join(selects, sql` union all `));
  },
  lock: (names) => {
    // in one order everywhere, or two writers could wait for each other
    const ordered = [...new Set(names)].sort();
    return ordered.length === 0
      ? null
      : compile(sql`select ${sql.join(ordered.map((name) => sql`pg_advisory_xact_lock(hashtext(${name}::text))`))}`);
  },
  forUpdate: sql` for no key update`,
  idsText: (ids) => `{${ids.join(',')}}`,
});

const snapshotStatement: Statement = { sql: 'select pg_current_snapshot()::text', params: [], ids: [] };

/** Who asks while a question is under way shares the next one: no answer is older than its asking. */
const shared = <T>(ask: () => Promise<T>): (() => Promise<T>) => {
  let running: Promise<T> | null = null;
  let next: Promise<T> | null = null;
  const start = (): Promise<T> => {
    const asked = ask();
    running = asked;
    const done = (): void => {
      if (running === asked) running = null;
    };
    asked.then(done, done);
    return asked;
  };
  return () => {
    if (!running) return start();
    const begin = (): Promise<T> => {
      next = null;
      return start();
    };
    next ??= running.then(begin, begin);
    return next;
  };
};

/** Deadlocks with other programs end one of the two; it begins anew, with nothing done. */
const retried = async <T>(work: () => Promise<T>, attemptsLeft = 3): Promise<T> => {
  try {
    return await work();
  } catch (fault) {
    const mayRetry = fault instanceof postgres.PostgresError && (fault.code === '40P01' || fault.code === '40001');
    if (!mayRetry || attemptsLeft <= 1) throw fault;
    return retried(work, attemptsLeft - 1);
  }
};

const timedOut = (fault: unknown): boolean => fault instanceof postgres.PostgresError && fault.code === '57014';

/** Opens a server by URL; connections are made when they are needed. Throws when the server cannot be reached. */
export const openPostgres = async (url: string): Promise<Db> => {
  const pool = postgres(url, {
    max: 10,
    fetch_types: false,
    // hostile clients could make new statement texts for ever: a fresh connection forgets them
    max_lifetime: 30 * 60,
    onnotice: () => undefined,
    connection: {
      statement_timeout: limits.readMsMax,
      application_name: 'dovetail',
      // statements are run often: planning one takes longer than running it
      plan_cache_mode: 'force_generic_plan',
      jit: 'off',
    },
  });
  const collations = await pool
    .unsafe(
      `select collname from pg_collation where collname in ('und-x-icu', 'C.utf8', 'C.UTF-8') order by collname = 'und-x-icu' desc limit 1`,
    )
    .values();
  const [[collation] = []] = collations as unknown as string[][];
  const dialect = postgresDialect(collation ?? null);
  const prepared = new Set<string>();
  const mayPrepare = (text: string): boolean =>
    prepared.has(text) || (prepared.size < limits.statementsMax && prepared.add(text).size > 0);

  type Session = Pick<postgres.TransactionSql, 'unsafe'>;
  const send = async (session: Session, statement: Statement): Promise<Rows> => {
    const params = statement.params.map((value) => (value === null ? null : String(value)));
    return (await session
      .unsafe(statement.sql, params, { prepare: mayPrepare(statement.sql) })
      .values()) as unknown as Rows;
  };

  /**
   * The driver's own `begin` holds one connection and notices when it breaks. (Its `reserve` looks lighter, but gives
   * everybody the same connection in turn, and a broken one would be replaced in the middle of a transaction.)
   * `onDone` hears the result before the transaction has ended.
   */
  const inTransaction = async <T>(
    mode: string,
    work: (session: Session) => Promise<T>,
    onDone: (result: T) => void,
  ): Promise<T> => {
    try {
      const done = await pool.begin(mode, async (session) => {
        const result = await work(session);
        onDone(result);
        return { result };
      });
      return done.result as T;
    } catch (fault) {
      if (fault instanceof postgres.PostgresError && fault.code === '23505')
        throw new ConstraintFault('unique', fault.constraint_name ?? '');
      if (fault instanceof postgres.PostgresError && fault.code === '23503')
        throw new ConstraintFault('reference', fault.constraint_name ?? '');
      throw timedOut(fault) ? new Refusal(issue('read.too-slow', [], { max: limits.readMsMax })) : fault;
    }
  };

  const runProgram = async <T>(program: ReadProgram<T>, session: Session): Promise<T> => {
    const deadline = performance.now() + limits.readMsMax;
    let step = program.next();
    while (!step.done) {
      const rows = await Promise.all(step.value.map((statement) => send(session, statement)));
      if (performance.now() > deadline) throw new Refusal(issue('read.too-slow', [], { max: limits.readMsMax }));
      step = program.next(rows);
    }
    return step.value;
  };

  const version = shared(async () => {
    const [[text] = []] = await send(pool, snapshotStatement);
    return String(text);
  });

  return {
    dialect,
    version,
    place: url.replace(/\/\/[^@/]*@/, '//'),
    // what was read is known before the transaction has ended: nobody needs to wait for that
    read: <T>(begin: () => ReadProgram<T>) =>
      new Promise<T>((resolve, reject) => {
        inTransaction(
          'isolation level repeatable read read only',
          (session) => runProgram(begin(), session),
          resolve,
        ).catch(reject);
      }),
    write: <T>(work: (tx: Tx) => Promise<T>) =>
      retried(() =>
        inTransaction(
          '',
          (session) =>
            work({
              run: (statement) => send(session, statement),
              runAll: (statements) => Promise.all(statements.map((it) => send(session, it))),
            }),
          () => undefined,
        ),
      ),
    close: () => pool.end({ timeout: 5 }),
  };
};
