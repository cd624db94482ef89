/**
 * What a SQL engine must provide. This folder is about SQL only and knows nothing of content types.
 * SQL text comes from Kysely's `sql` tag and schema builder alone; values are bound, identifiers are quoted by it.
 */
import type { Kysely, RawBuilder } from 'kysely';
import { issue, Refusal } from '../errors.js';
import { limits } from '../limits.js';
import type { Ready } from '../ready.js';
import type { Changes } from './changes.js';

export type Sql = RawBuilder<unknown>;
/** Kysely used as a compiler, without a schema or a connection. */
export type Builder = Kysely<Record<string, Record<string, unknown>>>;
export type DialectName = 'sqlite' | 'postgres';

/** How a column stores its values (ST2). Each dialect maps every kind to a column type. */
export type ColumnKind =
  | 'id'
  | 'reference'
  | 'rank'
  | 'string'
  | 'text'
  | 'integer'
  | 'bigint'
  | 'float'
  | 'decimal'
  | 'boolean'
  | 'date'
  | 'time'
  | 'datetime'
  | 'json'
  /** JSON text kept byte for byte (settings tables). */
  | 'jsonText';

/** How a stored value is written in a response (F8). */
export type JsonForm = 'text' | 'number' | 'digits' | 'boolean' | 'date' | 'time' | 'instant' | 'epoch' | 'json';

/**
 * A value on its way to a column, the same for every database and safe in JSON: bigint as its digits, instants as
 * milliseconds since 1970 UTC, dates and times as text, JSON as its text.
 */
export type DbValue = string | number | boolean | null;

/** A value for one column of a row. */
export interface Cell {
  readonly column: string;
  readonly kind: ColumnKind;
  readonly value: DbValue;
}

export interface NewRow {
  readonly table: string;
  readonly cells: readonly Cell[];
  /** A further column. Only for a database to which others write meanwhile: elsewhere the value is known. */
  readonly last?: LastRank;
}

/** A rank behind those of the rows that have the same value in another column of the new row, as the statement finds them. */
export interface LastRank {
  readonly column: string;
  readonly of: string;
  /** What only those rows have. */
  readonly fixed: readonly { readonly column: string; readonly value: string }[];
}

/** Values that drivers bind. */
export type Param = string | number | bigint | null;

/** One SQL text with its values; plain data. */
export interface Statement {
  readonly sql: string;
  readonly params: readonly Param[];
  /** Positions of parameters that take a list of ids at run time. */
  readonly ids: readonly number[];
  /** Parameters that take values at run time. */
  readonly slots?: readonly Slot[];
  /** The only statement of its read, so that the read needs no transaction to see one snapshot. */
  readonly isWhole?: boolean;
  /** It fails if something has changed, and then the work of the transaction is repeated. */
  readonly isGuard?: boolean;
  /** Given if a response consists of nothing but the texts in one of its columns, counted from 1, and shows each once. */
  readonly onlyTexts?: { readonly column: number; readonly columns: number };
  /** The result may be long, so its time and size are checked row by row. */
  readonly isLong?: boolean;
}

/** A parameter by its position, and which of the values it takes at run time. */
export interface Slot {
  readonly position: number;
  readonly kind: ColumnKind;
  readonly slot: number;
}

/** Rows as arrays in the order of the selected columns. */
export type Rows = readonly (readonly unknown[])[];

/** A read as a series of batches: it yields statements that do not depend on each other and gets their rows back. */
export type ReadProgram<T> = Generator<readonly Statement[], T, readonly Rows[]>;

/** A read as plain data and the function that makes its program, so that another thread can run all of it. */
export interface PlannedRead<Plan extends object, Values, T> {
  /** Compiled once for many reads: the same object each time. */
  readonly plan: Plan;
  readonly values: Values;
  /** The thread's own copy of this function makes the program there. */
  readonly begin: (plan: Plan, values: Values, binding: Binding) => ReadProgram<T>;
  /** Whether its plan says that it looks at few rows, so that it may be run at once where others wait for it. */
  readonly isSmall?: boolean;
}

/** One write transaction. */
export interface Tx {
  /** Rows of a statement; none for one that returns nothing. */
  run(statement: Statement): Promise<Rows>;
  /** Rows of each statement, in order; pipelined where the driver supports it. */
  runAll(statements: readonly Statement[]): Promise<readonly Rows[]>;
  /** Reads what the transaction has written so far. Throws `Refusal` past `limits.readMsMax`, as `Db.readPlanned` does. */
  readPlanned<Plan extends object, Values, T>(read: PlannedRead<Plan, Values, T>): Promise<T>;
  /**
   * Says that the work ends with what it sends in this turn, so that the commit may travel with it. It is committed if all of
   * that succeeds and what is read is an object; otherwise the transaction goes on as if nothing had been said.
   */
  finish(): void;
  /**
   * Whether the work may ask its questions before it takes its locks. Then it sends `Dialect.unchanged` behind them; if that fails, the
   * work is run again, and this is false. Always false where there is one writer.
   */
  readonly mayLockLate: boolean;
}

/** A query, and how many rows it has found. */
export interface Counted {
  readonly query: Statement;
  readonly rows: number;
}

export type ConstraintKind = 'unique' | 'reference' | 'not-null' | 'check';

/** A constraint that a statement violated; the transaction has failed. */
export class ConstraintFault extends Error {
  readonly kind: ConstraintKind;
  /** What the database names: the constraint, or columns as `table.column`, separated by `, `. */
  readonly names: string;
  constructor(kind: ConstraintKind, names: string) {
    super(`${kind} constraint: ${names}`);
    this.name = 'ConstraintFault';
    this.kind = kind;
    this.names = names;
  }
}

/** How to read an engine's catalog and how to create tables in it. */
export interface SchemaDialect {
  /** Builds DDL in the engine's syntax. */
  readonly builder: Builder['schema'];
  /** Rows of table, column and declared type in lower case, in the order of the columns. */
  readonly columns: Statement;
  /** Rows of an index's name and 1, or 0 for one whose creation was interrupted. */
  readonly indexes: Statement;
  /** Creates or drops an index without locking out writers, in `create index … name`; empty where writers wait anyway. */
  readonly unlocked: Sql;
  /** A name as the engine stores it. */
  storedName(name: string): string;
  /** Whether foreign keys are declared with their table, or added once the target exists. */
  readonly foreignKeys: 'with the table' | 'afterwards';
  /** Whether rows are stored in the order of their ids, without an index of these: skipping ids reads the rows. */
  readonly hasRowsById: boolean;
  /** v4 creates unique indexes as constraints where the engine distinguishes them (ST7). */
  readonly uniqueAs: 'index' | 'constraint';
  /** How a declared type stores its values; null for types that we never create. */
  kindOf(declared: string): StoredKind | null;
  /** Whether a column of the declared type stores values of the kind just as a column created for it would. */
  holds(declared: string, kind: ColumnKind): boolean;
  /** Statements that change a column to the type of the kind and convert its values; they fail if a value does not fit. */
  changeType(change: {
    readonly table: string;
    readonly column: string;
    readonly kind: ColumnKind;
    readonly found: string;
  }): readonly string[];
  /** Renames a table with what the engine has named after it. */
  renameTable(from: string, to: string): readonly string[];
  /** Renames the foreign key of a table; nothing where foreign keys have no names. */
  renameForeignKey(table: string, from: string, to: string): readonly string[];
  /** Whether an index can be renamed, or is dropped and created again. */
  readonly renamesIndexes: boolean;
  /** Whether indexes and foreign keys go with their column; otherwise one with a key cannot be dropped. */
  readonly dropsWithColumn: boolean;
  /** Rows of a table, its indexed column, the index, and the statement that creates it; without primary keys. */
  readonly indexedColumns: Statement;
  /**
   * Rows of a table, its foreign key's name, column and target, and the statement that adds the key to the table: null where
   * keys cannot be added.
   */
  readonly keys: Statement;
  /** How many sessions of other Dovetail processes there are, older than the given seconds; null if only files tell. */
  otherSessions(seconds: number): Statement | null;
}

export interface StoredKind {
  readonly kind: ColumnKind;
  /** Most characters of a text; null for no bound. */
  readonly lengthMax: number | null;
}

/**
 * Conditions that are always true, and throw past the statement's deadline. They are evaluated for rows of the table
 * that the id belongs to, before the conditions that follow them: every loop of a statement that may run long needs
 * one.
 */
export interface StillRunning {
  /** For loops that may visit a row many times, and for rows that are expensive. */
  everyRow(id: Sql): Sql;
  /** Almost free: for loops that visit each row once, cheaply. */
  someRows(id: Sql): Sql;
  /**
   * For rows that a statement changes, or reads to change them: it ends a write that was expected to be small before it changes many.
   * Not by the time, which is spent once the rows are found.
   */
  changedRows(id: Sql): Sql;
}

/** How a statement reads a table, by the engine's plan. */
export interface TableRead {
  readonly table: string;
  /** Null: the rows themselves, in the order of their ids or as they are stored. */
  readonly index: string | null;
  /**
   * `some`: rows with given values; `range`: of values; `ordered`: one row after the other until enough are found; `locale`: all
   * rows of a locale; `all`.
   */
  readonly extent: 'some' | 'range' | 'ordered' | 'locale' | 'all';
  /** Rows that the engine expects to find, or those of the table; null if unknown. */
  readonly rows: number | null;
}

/** How values that are known only when a statement runs are bound. */
export interface Binding {
  /** A list of ids. */
  idsText(ids: readonly number[]): string;
  /** A value in the form that the driver binds. */
  param(kind: ColumnKind, value: DbValue): Param;
}

export interface JsonField {
  readonly name: string;
  readonly form: JsonForm;
  readonly column: Sql;
}

/**
 * JSON by concatenation, for statements that render entries inside those that show them. A null among the parts of a text is
 * nothing.
 */
export interface JsonTexts {
  /** A column as the text that `jsonObject` writes for it; never null. */
  value(form: JsonForm, column: Sql): Sql;
  /** Parts in order as one text; strings are literal. */
  concat(parts: readonly (string | Sql)[]): Sql;
  /** Aggregates the texts of all rows, in the order of the rows, separated by commas; null texts are left out. */
  joined(text: Sql): Sql;
  /** Bytes of a text. */
  size(text: Sql): Sql;
  /** A text as the bytes that are stored. */
  bytes(text: Sql): Sql;
  /** The character U+0000, which JSON never contains. */
  readonly nul: Sql;
}

export interface Dialect extends Binding {
  readonly name: DialectName;
  readonly columnTypes: Readonly<Record<ColumnKind, string>>;
  readonly schema: SchemaDialect;
  /** Whether statements are a round trip away. */
  readonly isRemote: boolean;
  /** Key-value pairs that one call of the JSON object function takes. */
  readonly jsonPairsMax: number;
  compile(query: Sql): Statement;
  /** `column in (the ids given at run time)`; the SQL text does not depend on their number. */
  inIds(column: Sql): Sql;
  /** The same where one id is given. */
  isId(column: Sql): Sql;
  /** The ids that a query of one column, `id`, selects, in its order: a text, joined by commas; null or empty without any. */
  joinedIds(query: Sql): Sql;
  /** `column in (query)`, with the plan that ids given at run time have. */
  inQuery(column: Sql, query: Sql): Sql;
  /** A table with the ids given at run time in its only column, `id`. */
  readonly idsTable: Sql;
  /** A table with the pairs that a slot holds (`pairsText`) in its columns `id` and `value`. */
  pairsTable(slot: number): Sql;
  /** The value of a slot of pairs. */
  pairsText(pairs: readonly (readonly [id: number, value: number])[]): string;
  /** Columns as a JSON object, as text; in the given order. */
  jsonObject(fields: readonly JsonField[]): Sql;
  /** A column as responses show it, outside of JSON. */
  jsonValue(form: JsonForm, column: Sql): Sql;
  /** Null where a statement for each node is faster than nested ones. */
  readonly jsonTexts: JsonTexts | null;
  /** A bound value, cast so that comparison with a column of that kind is exact. */
  bind(kind: ColumnKind, value: DbValue): Sql;
  /**
   * The same for a value that is known only when the statement runs, by its slot. Values of kinds that hold small
   * integers must be in range.
   */
  bindSlot(kind: ColumnKind, slot: number): Sql;
  /** The value as a column of that kind holds it: PostgreSQL rounds decimals. */
  held(kind: ColumnKind, value: DbValue): DbValue;
  /**
   * Statements that insert the rows, those of one table in order. A row without an id may refer to any with one; rows with
   * ids refer to none of the others. The SQL texts depend on the columns, and on few numbers of rows.
   */
  insertRows(rows: readonly NewRow[]): readonly Statement[];
  /** The column normalised to the form of `bind`: rows edited by hand may hold another (ST2). */
  comparable(kind: ColumnKind, column: Sql): Sql;
  /**
   * The condition for rows whose place in an index of the column differs from that of their comparable value; null where
   * there are none.
   */
  isOdd(kind: ColumnKind, column: Sql): Sql | null;
  /** Whether orders have nulls below all values, or above them. */
  readonly nullsAreLow: boolean;
  /** A numeric column as text, with the digits that responses show. */
  numberText(column: Sql, kind: ColumnKind): Sql;
  /** Case-folded text (Unicode). */
  fold(text: Sql): Sql;
  /** The 1-based position of a substring, 0 if absent; case-sensitive. */
  position(text: Sql, part: Sql): Sql;
  /**
   * The greatest of some numbers, 0 without any; null if two of them are equal, one is null, or one is excluded.
   * @param values a query of a column `value` in descending order.
   */
  maxOfDistinct(values: Sql, isExcluded: (value: Sql) => Sql): Sql;
  /** A column for which the planner must not use an index, or a value that it must not look at; the engine may lack statistics. */
  unindexed(column: Sql): Sql;
  /** A condition that most rows meet, for planners that do not see bound values and would take it for a selective one. */
  likely(condition: Sql): Sql;
  /**
   * A suffix for a query of at most `max` rows, where a planner that does not see bound values would otherwise estimate from
   * the size of the table.
   */
  rowsBelow(max: number): Sql;
  /** Ends statements that run too long; null where the engine has a timeout. */
  readonly stillRunning: StillRunning | null;
  /**
   * A table with ids that no other row of the given one has or will get, in its only column, `id`: as many as there are ids
   * at run time, which must be 1, 2, 3 ….
   */
  newIds(table: string): Sql;
  /** After rows were inserted with ids: makes the next id of the table greater than all; null where the engine does so itself. */
  continueIds(table: string): Statement | null;
  /**
   * Acquires a lock on each name until the end of the transaction; null for an engine with a single writer.
   * @param shared names of locks that others may share.
   */
  lock(names: readonly string[], shared?: readonly string[]): Statement | null;
  /** Fails unless each query finds as many rows as before (`Tx.mayLockLate`); null for an engine with a single writer. */
  unchanged(counted: readonly Counted[]): Statement | null;
  /** Row-locking suffix of a `select`; empty for an engine with a single writer. */
  readonly forUpdate: Sql;
  /** The same for rows that are going to be deleted. */
  readonly forDeletion: Sql;
  /** The same for rows of a table that others are going to lead to, as a foreign key locks them: they can be changed, but not deleted. */
  forReference(table: string): Sql;
  /** `forDeletion` of rows of a queue, without those that another process has locked. */
  readonly skipLocked: Sql;
  /**
   * Makes the rest of a transaction read tables by indexes: for a queue, whose size changes faster than what the planner knows of it.
   * Null where the planner does so by itself.
   */
  readonly preferIndexes: Statement | null;
  /** One row: name and version of the engine, and the size of the database in bytes. */
  readonly engine: Statement;
  /** How a statement with its values would be run. */
  explain(statement: Statement): ReadProgram<readonly TableRead[]>;
  /**
   * Queries with columns of the same types as one, each of whose rows begins with the place of its query; null where
   * nothing is saved by that.
   */
  unite(queries: readonly Statement[]): Statement | null;
}

/** What a database does in this process, for metrics. */
export interface DbLoad {
  /** Connections or threads: how many there are, and how many are in use. */
  readonly open: number;
  readonly inUse: number;
  /** Requests that wait for one. */
  readonly waiting: number;
  /** Begun so far. */
  readonly statements: number;
}

export interface Db {
  readonly dialect: Dialect;
  /** Location of the database, for messages; without passwords. */
  readonly place: string;
  /** What has changed since something was read. */
  readonly changes: Changes;
  /**
   * Runs a program in one snapshot of the database. Throws `Refusal` past `limits.readMsMax`.
   * @param begin creates the program; called again to retry a read whose connection was lost.
   */
  read<T>(begin: () => ReadProgram<T>): Promise<T>;
  /**
   * The same; where the database has threads, all of it runs in one of them, and only plain data cross over. A small read may be
   * run at once.
   */
  readPlanned<Plan extends object, Values, T>(read: PlannedRead<Plan, Values, T>): Promise<T>;
  /**
   * `readPlanned`; afterwards `changes` knows every commit that the result may show, and this takes no further round trip.
   * If none of the tables concerned has changed since before the call, the result fits what was read from them earlier.
   */
  readThenCatchUp<Plan extends object, Values, T>(read: PlannedRead<Plan, Values, T>): Ready<T>;
  /** The same as `read` for a few rows that are found by an index, whose cost no client decides: never behind longer reads. */
  readSmall<T>(begin: () => ReadProgram<T>): Promise<T>;
  /**
   * Runs the work in one transaction; an exception rolls it back, once the statements that it has sent have ended.
   * @param kind the same object for all work that costs about the same; work that has one may be run again from the beginning.
   */
  write<T>(work: (tx: Tx) => Promise<T>, kind?: object): Promise<T>;
  /**
   * A write that excludes those of all other processes: schema changes and initial data. Its statements have no
   * timeout.
   */
  writeAlone<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Runs a statement that needs no transaction, or must not be in one; without a timeout, and alone like `writeAlone`. */
  runAlone(statement: Statement): Promise<void>;
  load(): DbLoad;
  /** Whether the database can be read now. */
  isHealthy(): Promise<boolean>;
  close(): Promise<void>;
}

/** What comparing and counting need of a database. */
export type ReadableDb = Pick<Db, 'dialect' | 'place' | 'read'>;

/** One state of the database, apart from `Db` and its bounds, for commands that read all of it. */
export interface Snapshot {
  rows(statement: Pick<Statement, 'sql' | 'params'>): Promise<Rows>;
  close(): Promise<void>;
}

/** Binds the run-time values of a statement. */
export const withValues = (statement: Statement, values: readonly DbValue[], binding: Binding): Statement => {
  const { slots, ...rest } = statement;
  if (!slots) return statement;
  const params = statement.params.slice();
  for (const { position, kind, slot } of slots) params[position] = binding.param(kind, values[slot] ?? null);
  return { ...rest, params };
};

/** Binds the run-time ids of a statement. */
export const withIds = (statement: Statement, ids: readonly number[], binding: Binding): Statement => {
  const params = statement.params.slice();
  const text = binding.idsText(ids);
  for (const position of statement.ids) params[position] = text;
  return { sql: statement.sql, params, ids: [], isLong: ids.length > limits.shortRowsMax };
};

/** Rows of queries with columns of the same types. */
export const runTogether = async (
  queries: readonly Statement[],
  tx: Tx,
  dialect: Dialect,
): Promise<readonly Rows[]> => {
  const united = queries.length > 1 ? dialect.unite(queries) : null;
  if (!united) return tx.runAll(queries);
  const results: (readonly unknown[])[][] = queries.map(() => []);
  for (const [place, ...row] of await tx.run(united)) results[place as number]!.push(row);
  return results;
};

/** Runs a read program inside a write transaction. Throws `Refusal` past `limits.readMsMax`, as `Db.read` does. */
export const readInside = async <T>(program: ReadProgram<T>, tx: Pick<Tx, 'runAll'>): Promise<T> => {
  const deadline = performance.now() + limits.readMsMax;
  let step = program.next();
  while (!step.done) {
    step = program.next(await tx.runAll(step.value));
    // one that is done may have been committed
    if (!step.done && performance.now() > deadline)
      throw new Refusal(issue('read.too-slow', [], { max: limits.readMsMax }));
  }
  return step.value;
};

/** A read of one statement. */
export function* readRows(statement: Statement): ReadProgram<Rows> {
  const [rows] = yield [{ ...statement, isWhole: true }];
  return rows ?? [];
}

/** The value of a column with JSON, which drivers give as text or parsed; null for a text that is none, as v4's plugins may leave it. */
export const jsonIn = (stored: unknown): unknown => {
  if (typeof stored !== 'string') return stored;
  try {
    return JSON.parse(stored);
  } catch {
    return null;
  }
};
