/**
 * Writes of a file, one after the other: it has one write lock anyway, and unlike busy-waiting a queue is fair. Between two of them the
 * journal is kept short.
 */
import { limits } from '../../limits.js';
import type { Tx } from '../dialect.js';
import type { Commits } from './commits.js';
import type { BeginOptions, DataVersion, Engine } from './engine.js';
import { type Journal, newJournalKeeper } from './journal.js';
import { lockedUntil, type RequestErrors, tryUntil } from './retries.js';
import type { SmallWrites } from './small-writes.js';

export interface Writes {
  /** @param kind as `Db.write` says. @param isBounded whether its statements have a bound. */
  write<T>(work: (tx: Tx) => Promise<T>, isBounded: boolean, kind?: object): Promise<T>;
  /** Moves the next writes to another engine. @param small does the small ones; null if nobody does. */
  moveTo(engine: Engine, small: SmallWrites | null): void;
  /** The writing connection's `data_version`. */
  dataVersion(): DataVersion | Promise<DataVersion>;
  /** Leaves the journal to whoever closes the file. Resolves once all writes so far have ended. */
  stop(): Promise<unknown>;
  /** Closes the connections of writes, which must have stopped. */
  close(): Promise<void>;
}

export interface WritesOptions {
  /** What writes at first. */
  readonly inline: Engine;
  readonly commits: Pick<Commits, 'recorded' | 'replaced'>;
  /** Looks at the journal. */
  readonly look: () => Journal;
  /** Throws if the file is not the one that was opened. */
  readonly requireIntact: () => void;
  readonly withRequestErrors: RequestErrors['withRequestErrors'];
}

export const newWrites = ({ inline, commits, look, requireIntact, withRequestErrors }: WritesOptions): Writes => {
  let writing: Engine = inline;
  /** What the next transaction writes with. */
  let nextWriting: Engine = inline;
  /** Null without threads. */
  let smallWrites: SmallWrites | null = null;
  let isStopped = false;

  /** Another engine writes from now on. Others that commit meanwhile are noticed with the next transaction. */
  const moveWriting = async (to: Engine): Promise<void> => {
    const former = writing;
    const before = await former.dataVersion();
    const after = await to.dataVersion();
    if ((await former.dataVersion()) === before) commits.replaced(before, after);
    writing = to;
    if (former === inline) await former.closeWriter();
  };

  /** @param onFinishing called once the next transaction may be made, if that is before the end of this one. */
  const writeOnce = async <T>(
    work: (tx: Tx) => Promise<T>,
    isBounded: boolean,
    until: number,
    onFinishing: () => void,
  ): Promise<T> => {
    const options: Omit<BeginOptions, 'onBegun'> = {
      isBounded,
      retry: (attempt) => tryUntil(until, attempt, limits.sqliteWriterPauseMs),
      requireIntact,
    };
    const { tx, finish, commit, abandon } = commits.recorded((onBegun) => writing.begin({ ...options, onBegun }));
    try {
      const result = await work({
        ...tx,
        finish: () => {
          if (finish()) onFinishing();
        },
      });
      // throws if the work has swallowed an error that ended the transaction
      await tryUntil(lockedUntil(), commit, limits.sqliteWriterPauseMs);
      return result;
    } catch (fault) {
      await abandon();
      throw fault;
    }
  };

  const journal = newJournalKeeper(look);
  const boundJournal = async (): Promise<void> => {
    if (isStopped || !journal.isRestartDue()) return;
    journal.onRestart(await writing.restartJournal(journal.isUrgent()).catch(() => false));
  };

  /** Resolves once the next write may begin. */
  let last: Promise<unknown> = Promise.resolve();
  /** Resolves once all writes so far have ended. */
  let ended: Promise<unknown> = last;

  const write: Writes['write'] = <T>(work: (tx: Tx) => Promise<T>, isBounded: boolean, kind?: object): Promise<T> => {
    const until = lockedUntil();
    let isFollowed = false;
    let follow = (): void => undefined;
    const followed = new Promise<void>((resolve) => {
      follow = resolve;
    });
    const onFinishing = (): void => {
      if (journal.isRestartDue()) return;
      isFollowed = true;
      follow();
    };
    const writeWith = async (engine: Engine): Promise<T> => {
      if (writing !== engine) await tryUntil(until, () => moveWriting(engine), limits.sqliteWriterPauseMs);
      return writeOnce(work, isBounded, until, onFinishing);
    };
    const attempt = async (): Promise<T> => {
      if (kind && smallWrites && !smallWrites.isPaused(kind)) {
        const { engine } = smallWrites;
        const done = await smallWrites.attempt(kind, () => writeWith(engine));
        if (done) return done.result;
      }
      return writeWith(nextWriting);
    };
    const turn = last.then(() => withRequestErrors(attempt()));
    turn.then(() => journal.onCommit(writing.checkpoint)).catch(() => undefined);
    const end = turn.then(() => (isFollowed ? undefined : boundJournal())).catch(() => undefined);
    last = Promise.race([followed, end]);
    const before = ended;
    // not `Promise.all`, whose result would hold those of all writes before
    ended = end.then(() => before);
    return turn;
  };

  return {
    write,
    moveTo: (engine, small) => {
      nextWriting = engine;
      smallWrites = small;
    },
    dataVersion: () => writing.dataVersion(),
    stop: () => {
      isStopped = true;
      return ended;
    },
    close: async () => {
      await writing.closeWriter();
      for (const it of [inline, smallWrites?.engine, nextWriting]) if (it !== writing) await it?.closeWriter();
    },
  };
};
