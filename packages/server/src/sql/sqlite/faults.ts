/** Classifies SQLite errors by what they mean for a transaction and its connection. */
import Database from 'better-sqlite3';
import { ConstraintFault, type ConstraintKind } from '../dialect.js';

export type FaultKind =
  /** Another connection holds a lock; the transaction can be retried. */
  | 'locked'
  /** The disk of the database or of its temporary files is full. SQLite may have rolled back. */
  | 'full'
  /** The file cannot be opened, read or written at the moment, or memory ran out. SQLite may have rolled back. */
  | 'failing'
  /** The file is not a database, or a corrupt one. */
  | 'damaged'
  /** An error in the statement itself. */
  | 'statement';

export class FullDisk extends Error {
  constructor(file: string, cause: Error) {
    super(
      `${cause.message}. No space is left for ${file}, its journal or temporary files: writes are refused, and nothing of them is stored, until space is freed. Logged at most once a minute.`,
      { cause },
    );
    this.name = 'FullDisk';
  }
}

/** Null for an error that does not come from SQLite. */
export const kindOf = (fault: unknown): FaultKind | null => {
  if (!(fault instanceof Database.SqliteError)) return null;
  // extended codes begin with the primary code: SQLITE_IOERR_WRITE
  const [, code = ''] = fault.code.split('_');
  return kinds[code] ?? 'statement';
};

const kinds: Readonly<Record<string, FaultKind>> = {
  BUSY: 'locked',
  LOCKED: 'locked',
  FULL: 'full',
  IOERR: 'failing',
  NOMEM: 'failing',
  CANTOPEN: 'failing',
  PROTOCOL: 'failing',
  READONLY: 'failing',
  PERM: 'failing',
  CORRUPT: 'damaged',
  NOTADB: 'damaged',
};

export const constraintFault = (fault: unknown): ConstraintFault | null => {
  if (!(fault instanceof Database.SqliteError)) return null;
  const kind = constraintKinds[fault.code];
  // "UNIQUE constraint failed: notes.title, notes.place"; a foreign key is not named
  return kind ? new ConstraintFault(kind, fault.message.replace(/^.*: /, '')) : null;
};

const constraintKinds: Readonly<Record<string, ConstraintKind>> = {
  SQLITE_CONSTRAINT_UNIQUE: 'unique',
  SQLITE_CONSTRAINT_PRIMARYKEY: 'unique',
  SQLITE_CONSTRAINT_ROWID: 'unique',
  SQLITE_CONSTRAINT_CHECK: 'check',
  SQLITE_CONSTRAINT_FOREIGNKEY: 'reference',
  SQLITE_CONSTRAINT_NOTNULL: 'not-null',
};
