/** What can be asked of a write, what it returns, and the hooks around it. */
import type { Caller } from '../access/access.js';
import { issue, refuse } from '../errors.js';
import type { EntryType } from '../model/model.js';
import type { LeftOut } from '../query/lenient.js';
import type { Precondition, UndecidedTags } from '../read/etag.js';
import type { PasswordHashes } from './passwords.js';
import type { Session, WriteAction, WriteEvent } from './session.js';

/** Attributes of an entry by name, in the form of request bodies (BO5). */
export type Data = Readonly<Record<string, unknown>>;

/** Epoch milliseconds. */
export interface Times {
  readonly createdAt?: number;
  /** Undefined keeps it. */
  readonly updatedAt?: number | undefined;
}

/** Where a write is in its transaction: `last` if it is the only one that the transaction was made for. */
export type Place = 'inside' | 'last';

/** Ids of administrators; null for nobody. */
export interface Creators {
  readonly createdBy?: number | null;
  readonly updatedBy?: number | null;
}

export type WriteRequest = {
  readonly type: EntryType;
  /** Conditions on the entry, if any. */
  readonly match?: Precondition | null;
  /** The administrator on whose behalf the caller writes; creator fields keep the id. */
  readonly adminId?: number | null;
  /** What creator fields get instead. */
  readonly creators?: Creators;
  /** An upload adds files to an entry (UP11): `updatedAt` and `updatedBy` stay, and code of a v4 project is not told, as in v4. */
  readonly isOfUpload?: boolean;
  /**
   * Given for a component that is written by itself, because it has hooks, before its entry gives it a place: whether that is a draft,
   * which may lack what is required.
   */
  readonly isPartOfDraft?: boolean;
  /** Code of a v4 project writes by `db.query`, of which v4 tells nobody. */
  readonly isUntold?: boolean;
  /** Attributes of the data that the server itself has added, whoever writes. */
  readonly ownNames?: ReadonlySet<string>;
  /** Code names components by their ids that it has made by themselves. */
  readonly mayAdopt?: boolean;
  /** Which entry of a localized single type to write; the one in the default locale otherwise. */
  readonly locale?: string | null;
} & (
  | {
      readonly action: 'create';
      readonly data: Data;
      readonly hashes?: PasswordHashes;
      /** What the entry gets instead of the time of its creation. */
      readonly times?: Times;
      /** The id that the entry gets, instead of the next one. */
      readonly newId?: number;
      /** Of a single type: a row beside the entry that it may have, which stays the one that is served. */
      readonly isAnother?: boolean;
      /** The entry of which the new one is another locale; the id is null for a single type. */
      readonly source?: { readonly id: number | null };
    }
  | {
      readonly action: 'update';
      /** Null for a single type, whose first update creates the entry. */
      readonly id: number | null;
      readonly data: Data;
      /** What the entry gets instead of the times that it would have. */
      readonly times?: Times;
      /** Hashes of the passwords in the data, computed before the transaction; missing ones are computed inside it. */
      readonly hashes?: PasswordHashes;
    }
  | {
      readonly action: 'delete';
      /** Null for a single type. */
      readonly id: number | null;
      /** Whether the entry of a single type is not found if it is a draft (DR3). */
      readonly isPublished?: boolean;
    }
);

/** The result of a write. */
export interface Written {
  readonly id: number;
  /** The entry's `updatedAt` in epoch milliseconds, which never repeats; for a deletion, the last one. */
  readonly version: number;
  /** All writes in order, including those of hooks. */
  readonly events: readonly WriteEvent[];
  /** Keys of the data that had no effect. */
  readonly leftOut: readonly LeftOut[];
  /** Null if no hooks of a v4 project have heard of the write, or if code has made it, which gets the result itself. */
  readonly seen: SeenEntry | null;
}

/** An entry that was written, or is deleted, as hooks of a v4 project have left it for the response. */
export interface SeenEntry {
  /** JSON of what the caller may see. @param asked JSON of what a query has selected of the entry; null for all of it. */
  readonly show: (caller: Caller, asked: string | null) => string;
}

/** A write that is checked and planned, but not run; only its hooks may have changed anything. */
export interface PreparedWrite {
  readonly id: number;
  /** Tags to compare with the entry's response, if the entry has no version; null if decided. */
  readonly undecided: UndecidedTags | null;
  /** Whether more is done after the operations than reading the response: a hook runs, or the write is recorded. */
  readonly goesOn: boolean;
  /** Whether the hook before a deletion has deleted the entry itself, which can be read no more. */
  readonly isGone: boolean;
  run(): Promise<Written>;
}

/**
 * A project's hooks around the writes of a type, inside the transaction: throwing rolls it back, and a `Refusal` becomes
 * the response.
 */
export interface Hooks {
  /** The hook that runs before anything is checked; undefined if there is none. It may change `data`. */
  before(action: WriteAction): RunHook | undefined;
  /** The one that runs after the operations, before the answer is read. */
  after(action: WriteAction): RunHook | undefined;
  /** What those that have run after the operations have left for the response; null if none have. */
  seen?(): SeenEntry | null;
}

export type RunHook = (event: HookEvent) => Promise<void>;

export interface HookEvent {
  /** Null before the entry is created. */
  readonly id: number | null;
  /** Null for a delete. */
  readonly data: Record<string, unknown> | null;
  readonly session: Session;
  /** Given before a create or update: the data as it is about to be stored. */
  readonly preview?: Preview;
  /** Given before an update or deletion: another entry is written instead. */
  readonly turnTo?: (id: number) => void;
}

/** The data of a create or update as hooks of v4 projects see it. */
export interface Preview {
  /**
   * Completes a copy of the data in place. False if the data breaks a rule, as it is without what hooks would add: the write is going to
   * be refused, so hooks need not see it, as in v4. Throws a `Refusal` for unique values that others have, and
   * for a locale that does not exist.
   */
  complete(copy: Record<string, unknown>): Promise<boolean>;
  /**
   * Writes the components of the data, and puts what v4 shows of them into the copy. False if they are invalid, as above. Throws a
   * `Refusal` for what only the database knows.
   */
  writeParts(copy: Record<string, unknown>): Promise<boolean>;
  /** Adds only what no data says, for writes without rules: times, and what a new locale has of the entry in others. */
  addOwn(copy: Record<string, unknown>): Promise<void>;
  /** What hooks have left of the copy becomes the data. Throws a `Refusal` for components of others, and for other siblings. */
  take(left: Data, set?: SetBeside): Promise<void>;
}

/** What hooks have set beside the attributes. */
export interface SetBeside {
  /** Null if they have set none. */
  creators: Creators | null;
  /** The id of a new entry: null for the next one, undefined if they have left it as it was. */
  newId: number | null | undefined;
}

/** The hooks of a write, if its type has any. */
export type HooksOf = (request: WriteRequest) => Hooks | undefined;

/** Puts writes on record inside their transaction, for those who are told of them after the commit. */
export interface Recorder {
  /** Whether somebody is told of any of these events. */
  wants(events: readonly WriteEvent[]): boolean;
  /** Records events with the entries as they are now; to be called before a deletion, and after any other write. */
  record(events: readonly WriteEvent[], session: Session): Promise<void>;
  /** To be called after the commit of each session. */
  committed(session: Session): void;
}

export const refuseChanged = (): never => refuse(issue('http.changed-meanwhile', []));
export const refuseExcluded = (): never => refuse(issue('http.excluded', []));
