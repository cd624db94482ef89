/**
 * Which committed changes a process knows of. What was read at one moment still holds at a later one if none of its
 * tables was touched in between.
 */

/** A point in the history that the process knows; later ones are greater. */
export type Moment = number;

export interface Changes {
  /**
   * Notices every commit that was finished before the call, of whatever client. Returns null if that took no waiting.
   * Throws as `Db.read` does, or rejects.
   */
  catchUp(): Promise<void> | null;
  moment(): Moment;
  /** Whether no commit that is known by now has touched the tables since the moment; null: any table. */
  isUnchanged(tables: readonly string[] | null, since: Moment): boolean;
}

/** The tables that a transaction wrote to itself; null if any table may have changed. */
export type Writes = ReadonlyMap<string, WriteKind> | null;
/** `delete` where it may have done both. */
export type WriteKind = 'update' | 'delete';

/** What writes set off in the database itself, by its declarations. */
export interface Consequences {
  /** Foreign keys that change the rows of `table` when rows of `target` are deleted or get another key. */
  readonly cascades: readonly { readonly table: string; readonly target: string; readonly on: WriteKind }[];
  /** Tables with triggers and the like: a write to one may change any table. Null: that is so for every table. */
  readonly unpredictable: ReadonlySet<string> | null;
}

/** The writes of several statements or transactions together. */
export const joinWrites = (all: readonly Writes[]): Writes => {
  const joined = new Map<string, WriteKind>();
  for (const writes of all) {
    if (!writes) return null;
    for (const [table, kind] of writes) if (joined.get(table) !== 'delete') joined.set(table, kind);
  }
  return joined;
};

/** All tables that the writes may have changed; null for any. */
export const touchedBy = (writes: Writes, { cascades, unpredictable }: Consequences): ReadonlySet<string> | null => {
  if (!writes || (!unpredictable && writes.size > 0)) return null;
  const reached = new Map(writes);
  // grows while it is read
  for (const [table, kind] of reached) {
    if (unpredictable?.has(table)) return null;
    for (const cascade of cascades) {
      if (cascade.target !== table || (cascade.on === 'delete' && kind === 'update')) continue;
      const known = reached.get(cascade.table);
      if (known === 'delete' || known === kind) continue;
      // read again, with what it reaches; a deletion also where only nulls are set: too many tables are never wrong
      reached.delete(cascade.table);
      reached.set(cascade.table, kind);
    }
  }
  return new Set(reached.keys());
};

export interface ChangeLog extends Pick<Changes, 'moment' | 'isUnchanged'> {
  /** Records a change of the tables; null: of any. */
  touch(tables: ReadonlySet<string> | null): void;
}

export const newChangeLog = (): ChangeLog => {
  let moment: Moment = 0;
  /** The last change that may have touched any table. */
  let allAt: Moment = 0;
  /** The last change of each table after that. */
  const touchedAt = new Map<string, Moment>();
  return {
    moment: () => moment,
    touch: (tables) => {
      if (tables?.size === 0) return;
      moment += 1;
      if (tables) {
        for (const table of tables) touchedAt.set(table, moment);
        return;
      }
      allAt = moment;
      touchedAt.clear();
    },
    isUnchanged: (tables, since) => {
      if (since === moment) return true;
      if (since < allAt || !tables) return false;
      for (const table of tables) if ((touchedAt.get(table) ?? 0) > since) return false;
      return true;
    },
  };
};
