/** What crosses between the server's thread and those that run its statements, and how errors do. */
import Database from 'better-sqlite3';
import { Bug, type Issue, Refusal } from '../../errors.js';
import { ConstraintFault, type ConstraintKind, type Rows, type Statement } from '../dialect.js';
import type { ReadBounds } from './connections.js';
import type { DataVersion } from './engine.js';
import { type FileIdentity, LostFile } from './file.js';

/** What a thread is given at its start. */
export interface ThreadData {
  readonly role: 'reader' | 'writer';
  readonly file: string;
  readonly identity: FileIdentity;
  readonly readOnly: boolean;
  /** Int32: see `Progress`. */
  readonly progress: SharedArrayBuffer;
}

/** Indexes of what a thread shares of its progress. */
export const progress = {
  /** Counts the statements that it has begun. */
  statements: 0,
  /** 1 while it is inside one. */
  isRunning: 1,
} as const;

/** What a thread sends first, once it is loaded. */
export type Ready = 'ready';

/** A thread runs its calls in order (but see `WriteCall`), and replies to each but `endRead` and `close`. */
export type Call =
  /** The next statements of a read; `bounds` come with the first ones, which begin the snapshot. */
  | { readonly kind: 'read'; readonly statements: readonly Statement[]; readonly bounds: ReadBounds | null }
  | { readonly kind: 'endRead' }
  | PlannedCall
  /** Outside of a read. */
  | { readonly kind: 'checkpoint' }
  | { readonly kind: 'open' }
  | WriteCall
  | { readonly kind: 'commit' }
  | { readonly kind: 'abandon' }
  | { readonly kind: 'dataVersion' }
  | { readonly kind: 'restartJournal' }
  /** Closes the connection, and ends the thread. */
  | { readonly kind: 'close' };

/** A planned read by its plan's number. */
export interface NumberedRead {
  /** Names the plan in this and later calls. */
  readonly number: number;
  /** The plan as JSON; null if the thread has it. */
  readonly plan: string | null;
  /** Plans that will not be named any more. */
  readonly forgotten: readonly number[];
  readonly values: unknown;
  readonly bounds: ReadBounds;
}

/** A whole read. */
export interface PlannedCall extends NumberedRead {
  readonly kind: 'planned';
}

/** The next batch of a transaction. */
export interface WriteCall {
  readonly kind: 'write';
  /** Whether the transaction begins with it. It waits until the one before has ended. */
  readonly begins: boolean;
  readonly statements: readonly Statement[];
  readonly statementMs: number;
  readonly read: NumberedRead | null;
  readonly commits: boolean;
}

/** Fails as a call only if the transaction has not begun. */
export interface WriteReply {
  /** The version in the transaction that begins. */
  readonly begun: DataVersion | null;
  readonly rows: readonly Rows[];
  readonly result: unknown;
  /** The version after the commit; null if the transaction is still open. */
  readonly committed: DataVersion | null;
  readonly fault: SentFault | null;
}

/** What a call returns. */
export interface Replies {
  /** `ms` is the CPU time that it took. */
  readonly read: { readonly rows: readonly Rows[]; readonly ms: number };
  readonly endRead: never;
  readonly checkpoint: null;
  readonly planned: { readonly result: unknown; readonly ms: number };
  readonly open: null;
  readonly write: WriteReply;
  readonly commit: DataVersion;
  readonly abandon: null;
  readonly dataVersion: DataVersion;
  readonly restartJournal: boolean;
  readonly close: never;
}

/** `id` is the call's: one that begins a transaction may be replied to later than those behind it. */
export type Reply = { readonly id: number } & (
  | { readonly isOk: true; readonly value: Replies[keyof Replies] }
  | { readonly isOk: false; readonly fault: SentFault }
);

export interface Sent {
  readonly id: number;
  readonly call: Call;
}

/** An error as plain data. */
export type SentFault = { readonly message: string; readonly stack: string | undefined } & (
  | { readonly kind: 'sqlite'; readonly code: string }
  | { readonly kind: 'refusal'; readonly issues: readonly Issue[] }
  | { readonly kind: 'constraint'; readonly of: ConstraintKind; readonly names: string }
  | { readonly kind: 'lost-file'; readonly file: string }
  | { readonly kind: 'bug'; readonly id: string; readonly facts: unknown }
  | { readonly kind: 'other' }
);

export const sendableFault = (fault: unknown): SentFault => {
  const { message, stack } = fault instanceof Error ? fault : new Error(String(fault));
  const base = { message, stack };
  if (fault instanceof Database.SqliteError) return { ...base, kind: 'sqlite', code: fault.code };
  if (fault instanceof Refusal) return { ...base, kind: 'refusal', issues: fault.issues };
  if (fault instanceof ConstraintFault) return { ...base, kind: 'constraint', of: fault.kind, names: fault.names };
  if (fault instanceof LostFile) return { ...base, kind: 'lost-file', file: fault.file };
  if (fault instanceof Bug) return { ...base, kind: 'bug', id: fault.id, facts: fault.facts };
  return { ...base, kind: 'other' };
};

/** The error again, with the stack that it has in the thread. */
export const receivedFault = (sent: SentFault): Error => {
  const fault = faultFrom(sent);
  if (sent.stack !== undefined) fault.stack = sent.stack;
  return fault;
};

const faultFrom = (sent: SentFault): Error => {
  switch (sent.kind) {
    case 'sqlite':
      return new Database.SqliteError(sent.message, sent.code);
    case 'refusal':
      return new Refusal(...sent.issues);
    case 'constraint':
      return new ConstraintFault(sent.of, sent.names);
    case 'lost-file':
      return new LostFile(sent.file);
    case 'bug':
      return new Bug(sent.id, sent.facts);
    case 'other':
      return new Error(sent.message);
  }
};
