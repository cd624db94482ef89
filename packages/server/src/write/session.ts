/** A transaction that writes entries, and the events it produced. */
import type { EntryType } from '../model/model.js';
import type { Tx } from '../sql/dialect.js';
import { savepoint } from '../sql/savepoint.js';
import type { OwnerKey } from './keys.js';

export const writeActions = ['create', 'update', 'delete'] as const;
export type WriteAction = (typeof writeActions)[number];

/** An entry was written. The first update of a single type creates its entry. */
export interface WriteEvent {
  readonly action: WriteAction;
  readonly type: EntryType;
  readonly id: number;
  /** Given if an update makes an entry of a draft, or a draft of an entry. */
  readonly publication?: 'publish' | 'unpublish';
  /** Given if an upload has added files to the entry. */
  readonly isOfUpload?: true;
  /** Given if nobody is to be told. */
  readonly isUntold?: true;
}

/** What is to be done once the transaction is committed, or the part of it that asks for this is undone. It may not throw. */
export interface Ending {
  readonly when: 'committed' | 'undone';
  readonly run: () => void;
}

export interface Session {
  readonly tx: Tx;
  /** All writes so far, in order, including those of hooks. */
  readonly events: WriteEvent[];
  /** In order, without those of parts that were undone. */
  readonly endings: Ending[];
  /** Components that writes have written before hooks, and will give a place to. */
  readonly pendingParts: Set<OwnerKey>;
  /** Whether code of the project runs in it, so that its locks may be kept for long. */
  isHeldByCode: boolean;
  /** Settles once the transaction is committed or rolled back. */
  readonly ended: Promise<void>;
  hasEnded(): boolean;
  /** To be called after the transaction. */
  end(how: Ending['when']): void;
}

export const newSession = (tx: Tx): Session => {
  let isOver = false;
  let tell = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const endings: Ending[] = [];
  const end: Session['end'] = (how) => {
    if (isOver) return;
    isOver = true;
    runEndings(endings, how);
    tell();
  };
  return {
    tx,
    events: [],
    endings,
    pendingParts: new Set(),
    isHeldByCode: false,
    ended,
    hasEnded: () => isOver,
    end,
  };
};

const runEndings = (endings: readonly Ending[], how: Ending['when']): void => {
  for (const { when, run } of endings) if (when === how) run();
};

/** Runs work in a savepoint: if it throws, its writes are rolled back and the session continues. Parts never overlap. */
export const inPart = async <T>(session: Session, work: () => Promise<T>): Promise<T> => {
  const { events, endings } = session;
  const [eventsBefore, endingsBefore] = [events.length, endings.length];
  try {
    return await savepoint(session.tx, work);
  } catch (fault) {
    events.length = eventsBefore;
    runEndings(endings.splice(endingsBefore), 'undone');
    throw fault;
  }
};
