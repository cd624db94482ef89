/** One transaction in which entries are written, and what happened in it. */
import type { EntryType } from '../model/model.js';
import type { Tx } from '../sql/dialect.js';
import { savepoint } from '../sql/savepoint.js';

export type WriteAction = 'create' | 'update' | 'delete';

/** One entry was written. The first update of a single type creates its entry. */
export interface WriteEvent {
  readonly action: WriteAction;
  readonly type: EntryType;
  readonly id: number;
}

export interface Session {
  readonly tx: Tx;
  /** What was written so far, hooks included, in order. */
  readonly events: WriteEvent[];
}

export const newSession = (tx: Tx): Session => ({ tx, events: [] });

/** A part of the session: what it throws undoes what it wrote, and the session goes on. Parts never overlap. */
export const inPart = async <T>(session: Session, work: () => Promise<T>): Promise<T> => {
  const before = session.events.length;
  try {
    return await savepoint(session.tx, work);
  } catch (fault) {
    session.events.length = before;
    throw fault;
  }
};
