/** What a fault of the server, or of the connection to it, means for a transaction. */
import { DatabaseError } from 'pg';
import { ConstraintFault } from '../dialect.js';

export type FaultKind =
  /** Another transaction was in the way; this one may begin anew. */
  | 'conflict'
  /** A prepared statement no longer fits its tables; the transaction may begin anew on another connection. */
  | 'stale'
  /** The server does not know what was prepared on this connection: there is a pooler in between. */
  | 'unprepared'
  /** The connection is gone, or could not be made. */
  | 'lost'
  /** The server has become a standby and takes no writes. */
  | 'standby'
  /** The server cannot do it now, whoever asks: it lacks locks, memory or connections. */
  | 'busy'
  /** The statement took too long. */
  | 'slow'
  /** An earlier fault has ended the transaction; that one tells why. */
  | 'aborted'
  /** The statement itself is wrong. */
  | 'statement';

/** A fault that the server or the driver has told. */
export class PostgresFault extends Error {
  readonly kind: FaultKind;
  constructor(kind: FaultKind, cause: Error) {
    super(sayCause(cause), { cause });
    this.name = 'PostgresFault';
    this.kind = kind;
  }
}

/** @param fault what the driver has thrown: an error of the server with its SQLSTATE, or one of its own about the connection. */
export const faultOf = (fault: unknown): PostgresFault | ConstraintFault => {
  if (!(fault instanceof DatabaseError)) return new PostgresFault('lost', asError(fault));
  if (fault.code === '23505') return new ConstraintFault('unique', fault.constraint ?? '');
  if (fault.code === '23503') return new ConstraintFault('reference', fault.constraint ?? '');
  return new PostgresFault(kindOf(fault), fault);
};

/** Whether the connection must not be used again. */
export const endsConnection = (fault: PostgresFault | ConstraintFault): fault is PostgresFault =>
  fault instanceof PostgresFault && ending.has(fault.kind);

const ending: ReadonlySet<FaultKind> = new Set(['lost', 'stale', 'unprepared', 'standby']);

const kindOf = ({ code = '', routine }: DatabaseError): FaultKind => {
  // feature_not_supported is also what a kept plan says when its table has changed
  if (routine === 'RevalidateCachedQuery') return 'stale';
  return kinds[code] ?? kinds[code.slice(0, 2)] ?? 'statement';
};

/** By SQLSTATE, or by its class. */
const kinds: Readonly<Record<string, FaultKind>> = {
  // serialization_failure, deadlock_detected
  40001: 'conflict',
  '40P01': 'conflict',
  // invalid_sql_statement_name, duplicate_prepared_statement
  26000: 'unprepared',
  '42P05': 'unprepared',
  // connection_exception; PgBouncer's own refusals are protocol violations
  '08': 'lost',
  // admin_shutdown, crash_shutdown, database_dropped, idle_session_timeout, idle_in_transaction_session_timeout
  '57P01': 'lost',
  '57P02': 'lost',
  '57P04': 'lost',
  '57P05': 'lost',
  '25P03': 'lost',
  // cannot_connect_now
  '57P03': 'busy',
  // insufficient_resources: memory, disk, connections
  '53': 'busy',
  // lock_not_available
  '55P03': 'busy',
  // read_only_sql_transaction
  25006: 'standby',
  // invalid_authorization_specification, invalid_catalog_name: the server no longer lets anybody in
  '28': 'busy',
  '3D': 'busy',
  // query_canceled
  57014: 'slow',
  // in_failed_sql_transaction
  '25P02': 'aborted',
};

/** Several addresses that refuse are told as one fault without words. */
const sayCause = (cause: Error): string => {
  if (cause.message !== '') return cause.message;
  return cause instanceof AggregateError ? asError(cause.errors[0]).message : cause.name;
};

const asError = (fault: unknown): Error => (fault instanceof Error ? fault : new Error(String(fault)));
