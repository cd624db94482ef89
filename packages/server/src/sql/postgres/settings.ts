/**
 * The settings under which statements run. Those of a direct connection are set once; a pooler may give every transaction
 * another server, and refuses most connection settings, so behind one they are local to each transaction.
 */
import { escapeLiteral } from 'pg';
import { limits } from '../../limits.js';
import type { Connection } from './connection.js';

export type TransactionKind = 'read' | 'write' | 'alone';

const beginnings: Readonly<Record<TransactionKind, string>> = {
  read: 'begin isolation level repeatable read read only',
  write: 'begin',
  alone: 'begin',
};

/** Statement and lock timeout in milliseconds, 0 for none. */
const timeouts = (set: 'set' | 'set local', statementMs: number, lockMs: number): string =>
  `${set} statement_timeout = ${statementMs}; ${set} lock_timeout = ${lockMs}`;

export const sessionTimeouts = timeouts('set', limits.readMsMax, limits.lockMsMax);

const planning = (set: 'set' | 'set local', isNamed: boolean): readonly string[] => [
  `${set} jit = off`,
  // statements run often, and planning one takes longer than running it
  ...(isNamed ? [`${set} plan_cache_mode = force_generic_plan`] : []),
];

const path = (searchPath: string | null, isLocal: boolean): readonly string[] =>
  searchPath === null ? [] : [`select set_config('search_path', ${escapeLiteral(searchPath)}, ${isLocal})`];

/** Of a direct connection, before its first transaction. */
export const sessionSettings = (isNamed: boolean, searchPath: string | null): string =>
  [sessionTimeouts, ...planning('set', isNamed), ...path(searchPath, false)].join('; ');

/** The id is what tells our commits from those of others (`commits.ts`). */
const idQuery = 'select pg_current_xact_id()::text';

/** Begins a transaction with its settings: sent together, they cost no round trip. Ends with the id of one that writes. */
export const beginning = (
  kind: TransactionKind,
  { isDirect, isNamed }: Pick<Connection, 'isDirect' | 'isNamed'>,
  searchPath: string | null,
): string => {
  const isAlone = kind === 'alone';
  const own = isAlone
    ? timeouts('set local', 0, limits.startLockMsMax)
    : timeouts('set local', limits.readMsMax, limits.lockMsMax);
  const settings = isDirect
    ? isAlone
      ? [own]
      : []
    : [own, ...planning('set local', isNamed), ...path(searchPath, true)];
  const lock = isAlone ? [`select pg_advisory_xact_lock(hashtext('dovetail start'))`] : [];
  return [beginnings[kind], ...settings, ...lock, ...(kind === 'read' ? [] : [idQuery])].join('; ');
};
