/** What a database may hold that it would not hold had it been written by this server alone. */
import type { ColumnKind, ReadableDb, Sql, Statement } from './dialect.js';

export interface Inspection {
  /** A condition that values which a column of the kind should not hold meet; null if the engine refuses them. */
  isInvalid(kind: ColumnKind, column: Sql): Sql | null;
  /** A condition that instants meet which somebody wrote as text; null if the engine refuses them. */
  isTextInstant(column: Sql): Sql | null;
  /** A condition for texts of more characters than the column's type says; null if the engine refuses them. */
  isLonger(column: Sql, max: number): Sql | null;
  /** Rows of a table and the first column of one of its indexes. */
  readonly indexedColumns: Statement;
  /** Rows of a table with triggers of its own. */
  readonly triggers: Statement;
  /** Rows of a table, its sequence of ids (null: none, so that no row can be inserted) and the last id that it gave; null on engines without. */
  readonly sequences: Statement | null;
  /** One row: whether tables and indexes can be created; the role or file that cannot. */
  readonly rights: Statement | null;
}

/** A database that is only looked at, and that nothing here can change. Its reads have no time limit. */
export interface FrozenDb extends ReadableDb {
  /** Of a SQLite file; null on PostgreSQL. */
  readonly journalMode: 'wal' | 'delete' | null;
  readonly inspection: Inspection;
  close(): Promise<void>;
}
