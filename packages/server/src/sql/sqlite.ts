/** All that is SQLite: the driver, its functions, its way to write JSON, dates and lists. */
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { issue, Refusal } from '../errors.js';
import { limits } from '../limits.js';
import { compileWith, fixedStatement, idsParameter, sqliteBuilder } from './compile.js';
import {
  type Cell,
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

/** Milliseconds of the years 0 to 9999, which strftime can write. */
const [instantMin, instantMax] = [-62_167_219_200_000, 253_402_300_799_999];

const jsonValue = (form: JsonForm, column: Sql): Sql => {
  switch (form) {
    case 'text':
    case 'number':
    case 'date':
      return column;
    case 'digits':
      return sql`cast(${column} as text)`;
    case 'epoch':
      return sql`cast(iif(typeof(${column}) = 'text', dovetail_epoch(${column}), ${column}) as text)`;
    case 'boolean':
      return sql`json(case ${column} when 1 then 'true' when 0 then 'false' else 'null' end)`;
    case 'time':
      return sql`iif(length(${column}) = 12, ${column}, coalesce(strftime('%H:%M:%f', ${column}), ${column}))`;
    case 'instant':
      // integers are the rule; text is what people write by hand, and strftime ends with the year 9999
      return sql`case when ${column} is null then null when typeof(${column}) = 'integer' and ${column} between ${sql.lit(instantMin)} and ${sql.lit(instantMax)} then strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / 1000.0, 'unixepoch') else dovetail_instant(${column}) end`;
    case 'json':
      // a number or text that is no JSON stands for itself: nothing stored may break an answer
      return sql`iif(json_valid(${column}), json(${column}), ${column})`;
  }
};

const comparable = (kind: ColumnKind, column: Sql): Sql => {
  if (kind === 'datetime')
    return sql`iif(typeof(${column}) = 'text', cast(dovetail_epoch(${column}) as integer), ${column})`;
  return kind === 'time' ? jsonValue('time', column) : column;
};

const bind = (kind: string, value: DbValue): Sql => {
  if (typeof value === 'boolean') return sql`${value ? 1 : 0}`;
  if (kind === 'bigint' && value !== null) {
    const number = BigInt(value);
    // what the column cannot hold is beyond all that it holds
    if (BigInt.asIntN(64, number) !== number) return number > 0n ? sql`9e999` : sql`-9e999`;
    return sql`cast(${value} as integer)`;
  }
  return sql`${value}`;
};

/** A statement for each row: it has no way to go. */
const insertRow = ({ table, cells }: NewRow): Statement => {
  const key = JSON.stringify([table, ...cells.map((it) => [it.column, it.kind])]);
  const text = insertTexts.get(key) ?? insertText(table, cells);
  insertTexts.set(key, text);
  const params = cells.map(({ value }) => (typeof value === 'boolean' ? Number(value) : value));
  return { sql: text, params, ids: [] };
};

const insertTexts = new LRUCache<string, string>({ max: limits.statementsMax });

const insertText = (table: string, cells: readonly Cell[]): string => {
  const columns = sql.join(cells.map((it) => sql.ref(it.column)));
  const values = sql.join(cells.map(({ kind }) => bind(kind, '0')));
  return compile(sql`insert into ${sql.table(table)} (${columns}) values (${values})`).sql;
};

/** A sigma at the end of a word is the same letter. */
const folded = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ');

/** The sequence table is behind when rows came with ids of their own. */
const lastId = (table: string): Sql =>
  sql`max(coalesce((select seq from sqlite_sequence where name = ${table}), 0), coalesce((select max(id) from ${sql.table(table)}), 0))`;

const compile: Dialect['compile'] = (query) => compileWith(sqliteBuilder, query);

export const sqliteDialect: Dialect = {
  name: 'sqlite',
  columnTypes: {
    id: 'integer primary key autoincrement not null',
    reference: 'integer',
    rank: 'float',
    string: 'varchar(255)',
    text: 'text',
    integer: 'integer',
    bigint: 'bigint',
    float: 'float',
    decimal: 'float',
    boolean: 'boolean',
    date: 'date',
    time: 'time',
    datetime: 'datetime',
    json: 'json',
    jsonText: 'json',
  },
  schema: {
    builder: sqliteBuilder.schema,
    columns: fixedStatement(
      `select m.name, c.name, lower(c.type) from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table' and m.name not like 'sqlite\\_%' escape '\\' order by m.name, c.cid`,
    ),
    indexes: fixedStatement(`select name from sqlite_master where type = 'index'`),
    storedName: (name) => name,
    foreignKeys: 'with the table',
    uniqueAs: 'index',
  },
  jsonPairsMax: 400,
  compile,
  inIds: (column) => sql`${column} in (select value from json_each(${idsParameter()}))`,
  idsTable: sql`(select value as id from json_each(${idsParameter()}))`,
  jsonObject: (pairs) => sql`json_object(${sql.join(pairs.flatMap(([key, value]) => [sql.lit(key), value]))})`,
  jsonValue,
  bind,
  insertRows: (rows) => rows.map(insertRow),
  comparable,
  // SQLite's own text of a float is 10.0 where answers show 10
  numberText: (column, kind) =>
    kind === 'float' || kind === 'decimal' ? sql`dovetail_number(${column})` : sql`cast(${column} as text)`,
  fold: (text) => sql`dovetail_fold(${text})`,
  position: (text, part) => sql`instr(${text}, ${part})`,
  unindexed: (column) => sql`+${column}`,
  stillRunning: (column) => sql`dovetail_still_running(${column})`,
  reserveIds: (wanted) => {
    const selects = wanted.map(
      ({ table, count }, place) =>
        sql`select ${sql.lit(place)}, ${lastId(table)} + value from json_each(${`[${Array.from({ length: count }, (_, i) => i + 1).join(',')}]`})`,
    );
    return compile(sql.join(selects, sql` union all `));
  },
  lock: () => null,
  forUpdate: sql``,
  idsText: (ids) => `[${ids.join(',')}]`,
};

/** ISO text of stored milliseconds or of a date text written by hand; null when it is neither. */
const instantText = (stored: unknown): string | null => {
  const epoch = epochOf(stored);
  return epoch === null ? null : new Date(epoch).toISOString();
};

const epochOf = (stored: unknown): number | null => {
  const epoch =
    typeof stored === 'number'
      ? stored
      : typeof stored === 'string'
        ? Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(stored) ? stored : `${stored}Z`)
        : Number.NaN;
  return Number.isFinite(new Date(epoch).getTime()) ? epoch : null;
};

interface Connection {
  readonly rows: (statement: Statement) => Rows;
  readonly exec: (text: string) => void;
  readonly close: () => void;
  /** Milliseconds of `performance.now()` after which statements end themselves. */
  deadline: number;
}

const connect = (file: string): Connection => {
  const raw = new Database(file);
  raw.pragma('foreign_keys = on');
  raw.pragma('busy_timeout = 5000');
  raw.pragma(`cache_size = -${limits.sqliteCacheKibMax}`);
  const connection = { deadline: Number.POSITIVE_INFINITY };
  let calls = 0;
  const pure = { deterministic: true, directOnly: true } as const;
  raw.function('dovetail_fold', pure, (text) => (typeof text === 'string' ? folded(text) : text));
  raw.function('dovetail_number', pure, (stored) => (stored === null ? null : String(stored)));
  raw.function('dovetail_instant', pure, instantText);
  raw.function('dovetail_epoch', pure, (stored) => {
    const epoch = epochOf(stored);
    return epoch === null ? null : String(epoch);
  });
  raw.function('dovetail_still_running', { directOnly: true }, (_row) => {
    calls = (calls + 1) % 1024;
    if (calls === 0 && performance.now() > connection.deadline) throw tooSlow();
    return 1;
  });
  const prepared = new LRUCache<string, Database.Statement>({ max: limits.statementsMax });
  const prepare = (text: string): Database.Statement => {
    const known = prepared.get(text);
    if (known) return known;
    const made = raw.prepare(text);
    if (made.reader) made.raw();
    prepared.set(text, made);
    return made;
  };
  return Object.assign(connection, {
    rows: (statement: Statement): Rows => {
      const it = prepare(statement.sql);
      if (it.reader) return it.all(...statement.params) as Rows;
      it.run(...statement.params);
      return [];
    },
    exec: (text: string) => {
      prepare(text).run();
    },
    close: () => {
      raw.close();
    },
  });
};

const tooSlow = (): Refusal => new Refusal(issue('read.too-slow', [], { max: limits.sqliteStatementMsMax }));

const constraintFault = (fault: unknown): ConstraintFault | null => {
  if (!(fault instanceof Database.SqliteError)) return null;
  if (fault.code === 'SQLITE_CONSTRAINT_UNIQUE')
    return new ConstraintFault('unique', fault.message.replace(/^.*: /, ''));
  return fault.code === 'SQLITE_CONSTRAINT_FOREIGNKEY' ? new ConstraintFault('reference', '') : null;
};

/**
 * Opens a file; the file is created if it is missing. Journal mode becomes WAL, so that readers and the writer do not
 * wait for each other. With `readOnly` nothing is created or changed. Throws when the file is no database.
 */
export const openSqlite = (file: string, { readOnly = false }: { readonly readOnly?: boolean } = {}): Db => {
  const writer = connect(file);
  // not opened as read-only: such a connection to a file in WAL mode would leave its `-shm` file behind
  writer.rows(fixedStatement(readOnly ? 'pragma query_only = on' : 'pragma journal_mode = wal'));
  writer.rows(fixedStatement('pragma schema_version'));
  // counts what other connections have committed; so it never writes, and never stands in a transaction
  const watch = connect(file);
  const dataVersion = fixedStatement('pragma data_version');
  const idle: Connection[] = [];
  const waiting: ((connection: Connection) => void)[] = [];
  let opened = 0;
  const take = (): Connection | Promise<Connection> => {
    const free = idle.pop();
    if (free) return free;
    if (opened < limits.sqliteReadersMax) {
      opened += 1;
      return connect(file);
    }
    return new Promise((resolve) => waiting.push(resolve));
  };
  const give = (connection: Connection): void => {
    const next = waiting.shift();
    if (next) next(connection);
    else idle.push(connection);
  };

  const read = async <T>(begin: () => ReadProgram<T>): Promise<T> => {
    const connection = await take();
    const deadline = performance.now() + limits.readMsMax;
    connection.exec('begin');
    try {
      let sliceEnd = performance.now() + limits.readSliceMsMax;
      const program = begin();
      let step = program.next();
      while (!step.done) {
        connection.deadline = performance.now() + limits.sqliteStatementMsMax;
        const rows = step.value.map(connection.rows);
        const now = performance.now();
        if (now > deadline) throw tooSlow();
        if (now > sliceEnd) {
          await new Promise(setImmediate);
          sliceEnd = performance.now() + limits.readSliceMsMax;
        }
        step = program.next(rows);
      }
      return step.value;
    } finally {
      connection.exec('commit');
      give(connection);
    }
  };

  // one writer at a time: the file has one write lock anyway, and a queue is fair where busy-waiting is not
  let last: Promise<unknown> = Promise.resolve();
  const guarded = (statement: Statement): Rows => {
    try {
      return writer.rows(statement);
    } catch (fault) {
      throw constraintFault(fault) ?? fault;
    }
  };
  const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    const turn = last.then(async () => {
      writer.exec('begin immediate');
      try {
        const result = await work({
          run: async (statement) => guarded(statement),
          runAll: async (statements) => statements.map(guarded),
        });
        writer.exec('commit');
        return result;
      } catch (fault) {
        writer.exec('rollback');
        throw fault;
      }
    });
    last = turn.catch(() => undefined);
    return turn;
  };

  return {
    dialect: sqliteDialect,
    place: file,
    version: async () => String(watch.rows(dataVersion)[0]?.[0]),
    read,
    write,
    // the file has one writer anyway
    writeAlone: write,
    close: async () => {
      await last;
      for (const connection of [...idle, watch, writer]) connection.close();
    },
  };
};
