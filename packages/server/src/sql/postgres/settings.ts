/**
 * The settings under which statements run. Those of a direct connection are set once; a pooler may give every transaction
 * another server, and refuses most connection settings, so behind one they are local to each transaction.
 */
import { escapeLiteral } from 'pg';
import { limits } from '../../limits.js';
import { fixedStatement } from '../compile.js';
import type { Statement } from '../dialect.js';
import type { Connection } from './connection.js';

/** `patient`: a write that others may wait for as long as code of the project takes. */
export type TransactionKind = 'read' | 'write' | 'patient' | 'alone';

const beginRead = fixedStatement('begin isolation level repeatable read read only');
const beginWrite = fixedStatement('begin');
const beginnings: Readonly<Record<TransactionKind, Statement>> = {
  read: beginRead,
  write: beginWrite,
  patient: beginWrite,
  alone: beginWrite,
};

type Setting = readonly [name: string, value: string | number];

/** Statement and lock timeout in milliseconds, 0 for none. */
const timeouts = (statementMs: number, lockMs: number): readonly Setting[] => [
  ['statement_timeout', statementMs],
  ['lock_timeout', lockMs],
];
const usualTimeouts = () => timeouts(limits.readMsMax, limits.lockMsMax);

/** Those that differ from the usual ones. */
const ownTimeouts: Readonly<Partial<Record<TransactionKind, readonly Setting[]>>> = {
  patient: timeouts(limits.readMsMax + limits.hookLockMsMax, limits.hookLockMsMax),
  alone: timeouts(0, limits.startLockMsMax),
};

const planning = (isNamed: boolean): readonly Setting[] => [
  ['jit', 'off'],
  // statements run often, and planning one takes longer than running it
  ...(isNamed ? [['plan_cache_mode', 'force_generic_plan'] as const] : []),
];

const path = (searchPath: string | null): readonly Setting[] =>
  searchPath === null ? [] : [['search_path', searchPath]];

/** One statement for all, because each costs. */
const setting = (settings: readonly Setting[], isLocal: boolean): string =>
  `select ${settings.map(([name, value]) => `set_config('${name}', ${escapeLiteral(String(value))}, ${isLocal})`).join(', ')}`;

/** Of a direct connection, before its first transaction. */
export const sessionSettings = (isNamed: boolean, searchPath: string | null): string =>
  setting([...usualTimeouts(), ...planning(isNamed), ...path(searchPath)], false);

export const sessionTimeouts = (): string => setting(usualTimeouts(), false);

/** For what takes long by nature. */
export const patientTimeouts = setting(timeouts(0, limits.startLockMsMax), false);

/** The id is what tells our commits from those of others (`commits.ts`). */
const idStatement = fixedStatement('select pg_current_xact_id()::text');

const startLock = fixedStatement(`select pg_advisory_xact_lock(hashtext('dovetail start'))`);

/** Begin a transaction with its settings. The last one returns the id of a transaction that writes. */
export const beginning = (
  kind: TransactionKind,
  { isDirect, isNamed }: Pick<Connection, 'isDirect' | 'isNamed'>,
  searchPath: string | null,
): readonly Statement[] => {
  if (isDirect && kind === 'write') return directWrite;
  const own = ownTimeouts[kind];
  const settings = isDirect ? (own ?? []) : [...(own ?? usualTimeouts()), ...planning(isNamed), ...path(searchPath)];
  return [
    beginnings[kind],
    ...(settings.length > 0 ? [fixedStatement(setting(settings, true))] : []),
    ...(kind === 'alone' ? [startLock] : []),
    ...(kind === 'read' ? [] : [idStatement]),
  ];
};

const directWrite = [beginWrite, idStatement];
