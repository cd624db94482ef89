/** States of a PostgreSQL: which transactions have ended, by their ids. */
import { limits } from '../../limits.js';
import { fixedStatement } from '../compile.js';

/** What is visible to a transaction that begins now. */
export interface State {
  /** As the server sends it. */
  readonly text: string;
  /** Changes when the server is replaced or restarted. */
  readonly server: string;
  /** The first id that no transaction has yet. */
  readonly next: number;
  /** Ids below that of transactions that have not ended. */
  readonly running: ReadonlySet<number>;
}

/**
 * Null on a standby, whose snapshots do not show what runs.
 * @param text of `stateColumn`. @param known returned if nothing has changed.
 */
export const stateOf = (text: string, known: State | null): State | null => {
  if (text === known?.text) return known;
  const [snapshot = '', isStandby = '', server = ''] = text.split(' ', 3);
  if (isStandby !== 'f') return null;
  const [, next = '', running = ''] = snapshot.split(':');
  return { text, server, next: Number(next), running: new Set(running === '' ? [] : running.split(',').map(Number)) };
};

export const hasEnded = ({ next, running }: State, id: number): boolean => id < next && !running.has(id);

/** Whether the state is the other one, or one before it: then all that has ended in it has ended in the other. */
export const isCovered = (state: State, other: State): boolean => {
  if (state === other) return true;
  if (state.server !== other.server || state.next > other.next) return false;
  for (const id of other.running) if (hasEnded(state, id)) return false;
  return true;
};

/** Ids of transactions that have ended between two states, in whatever way; null if that is unknown. */
export const endedBetween = (before: State, after: State): readonly number[] | null => {
  const isNext = after.server === before.server && after.next >= before.next;
  if (!isNext || after.next - before.next > limits.transactionsMax) return null;
  const ids = [...before.running];
  for (let id = before.next; id < after.next; id++) ids.push(id);
  return ids.filter((id) => hasEnded(after, id));
};

/** Ids have 64 bits, but locks show the lower half of them. @param near an id that is not much less. */
export const fullId = (short: number, near: number): number => {
  const id = near - (near % ID_PERIOD) + short;
  return id < near ? id + ID_PERIOD : id;
};
const ID_PERIOD = 2 ** 32;

// ---- texts

/** What the server calls itself. */
export const serverColumn = 'extract(epoch from pg_postmaster_start_time())::text';
/** A state as text. One column, because each costs. */
export const stateColumn = `concat_ws(' ', pg_current_snapshot(), pg_is_in_recovery(), ${serverColumn})`;
/** Asks for the state. */
export const lookStatement = fixedStatement(`select ${stateColumn}`);

/** The same text. @param snapshot of a server that is not a standby. */
export const stateText = (snapshot: string, server: string): string => `${snapshot} f ${server}`;
