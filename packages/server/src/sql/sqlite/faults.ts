/** What a fault of SQLite means for a transaction and its connection. */
import Database from 'better-sqlite3';
import { ConstraintFault } from '../dialect.js';

export type FaultKind =
  /** Another connection holds a lock; the transaction may begin anew. */
  | 'locked'
  /** No room on the disk of the database or of its temporary files. SQLite may have rolled back. */
  | 'full'
  /** The file cannot be opened, read or written now, or memory ran out. SQLite may have rolled back. */
  | 'failing'
  /** The file is not a database, or no longer a sound one. */
  | 'damaged'
  /** The statement itself is wrong. */
  | 'statement';

/** Null for what SQLite has not thrown. */
export const kindOf = (fault: unknown): FaultKind | null => {
  if (!(fault instanceof Database.SqliteError)) return null;
  // extended codes begin with the primary one: SQLITE_IOERR_WRITE
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
  if (fault.code === 'SQLITE_CONSTRAINT_UNIQUE')
    return new ConstraintFault('unique', fault.message.replace(/^.*: /, ''));
  return fault.code === 'SQLITE_CONSTRAINT_FOREIGNKEY' ? new ConstraintFault('reference', '') : null;
};
