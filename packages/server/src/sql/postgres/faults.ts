/** Classifies errors of the server and of the connection by what they mean for a transaction. */
import { DatabaseError } from 'pg';
import { issue, Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import { ConstraintFault } from '../dialect.js';

export type FaultKind =
  /** Conflict with another transaction; this one can be retried. */
  | 'conflict'
  /** A prepared statement no longer matches its tables; the transaction can be retried on another connection. */
  | 'stale'
  /** The server does not know a statement prepared on this connection: there is a pooler in between. */
  | 'unprepared'
  /** The connection was lost or could not be established. */
  | 'lost'
  /** The server has become a read-only standby. */
  | 'standby'
  /** The disk of the server is full. */
  | 'full'
  /** Unavailable until somebody or something changes that: out of locks, memory or connections, closed to us, or failing itself. */
  | 'busy'
  /** The statement took too long. */
  | 'slow'
  /** A read received more than any response may contain. */
  | 'large'
  /** What was to be committed with the read of its response, which must not be sent. */
  | 'unsure'
  /** The transaction has already failed with an earlier error. */
  | 'aborted'
  /** An error in the statement itself. */
  | 'statement';

/** An error reported by the server or the driver. */
export class PostgresFault extends Error {
  readonly kind: FaultKind;
  constructor(kind: FaultKind, cause: Error) {
    super(describeCause(cause), { cause });
    this.name = 'PostgresFault';
    this.kind = kind;
  }
}

/** @param fault thrown by the driver: a server error with its SQLSTATE, or a connection error. */
export const faultOf = (fault: unknown): PostgresFault | ConstraintFault => {
  if (!(fault instanceof DatabaseError)) return new PostgresFault('lost', asError(fault));
  if (fault.code === '23505') return new ConstraintFault('unique', fault.constraint ?? '');
  if (fault.code === '23503') return new ConstraintFault('reference', fault.constraint ?? '');
  if (fault.code === '23502') return new ConstraintFault('not-null', `${fault.table}.${fault.column}`);
  if (fault.code === '23514') return new ConstraintFault('check', fault.constraint ?? '');
  return new PostgresFault(kindOf(fault), fault);
};

/** What a read gets that has taken too long. */
export const tooSlow = (): Refusal => new Refusal(issue('read.too-slow', [], { max: limits.readMsMax }));

/** Whether the connection must not be used again. */
export const endsConnection = (fault: PostgresFault | ConstraintFault): fault is PostgresFault =>
  fault instanceof PostgresFault && ending.has(fault.kind);

const ending: ReadonlySet<FaultKind> = new Set(['lost', 'stale', 'unprepared', 'standby']);

const kindOf = ({ code = '', routine }: DatabaseError): FaultKind => {
  // a cached plan whose table has changed fails with feature_not_supported too
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
  // disk_full
  53100: 'full',
  // insufficient_resources: memory, connections
  '53': 'busy',
  // lock_not_available
  '55P03': 'busy',
  // read_only_sql_transaction
  25006: 'standby',
  // invalid_authorization_specification, invalid_catalog_name: the server no longer accepts our logins
  '28': 'busy',
  '3D': 'busy',
  // insufficient_privilege, system_error: what the server took from us, or has lost itself
  42501: 'busy',
  '58': 'busy',
  // query_canceled
  57014: 'slow',
  // in_failed_sql_transaction
  '25P02': 'aborted',
};

/** When all addresses of a host refuse, Node throws an AggregateError with an empty message. */
const describeCause = (cause: Error): string => {
  if (cause.message !== '') return cause.message;
  return cause instanceof AggregateError ? asError(cause.errors[0]).message : cause.name;
};

const asError = (fault: unknown): Error => (fault instanceof Error ? fault : new Error(String(fault)));
