/** A transaction that writes entries, and the events it produced. */
import type { EntryType } from '../model/model.js';
import type { Tx } from '../sql/dialect.js';
import { savepoint } from '../sql/savepoint.js';

export type WriteAction = 'create' | 'update' | 'delete';

/** An entry was written. The first update of a single type creates its entry. */
export interface WriteEvent {
  readonly action: WriteAction;
  readonly type: EntryType;
  readonly id: number;
  /** Given if an update makes an entry of a draft, or a draft of an entry. */
  readonly publication?: 'publish' | 'unpublish';
}

export interface Session {
  readonly tx: Tx;
  /** All writes so far, in order, including those of hooks. */
  readonly events: WriteEvent[];
  /** Settles once the transaction is committed or rolled back. */
  readonly ended: Promise<void>;
  hasEnded(): boolean;
  /** To be called after the transaction. */
  end(): void;
}

export const newSession = (tx: Tx): Session => {
  let isOver = false;
  let tell = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const end = (): void => {
    isOver = true;
    tell();
  };
  return { tx, events: [], ended, hasEnded: () => isOver, end };
};

/** Runs work in a savepoint: if it throws, its writes are rolled back and the session continues. Parts never overlap. */
export const inPart = async <T>(session: Session, work: () => Promise<T>): Promise<T> => {
  const before = session.events.length;
  try {
    return await savepoint(session.tx, work);
  } catch (fault) {
    session.events.length = before;
    throw fault;
  }
};
