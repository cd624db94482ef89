/** Stored entries as writes need them: state, version and locale. */
import { sql } from 'kysely';
import type { EntryType } from '../model/model.js';
import { type DbValue, type Dialect, type Sql, type Tx, withValues } from '../sql/dialect.js';
import { keptStatement } from '../sql/kept.js';

export interface StoredEntry {
  readonly id: number;
  /** Epoch milliseconds as text; null for a draft. */
  readonly publishedAt: string | null;
  /** Epoch milliseconds; null in rows that were written by hand. */
  readonly version: number | null;
  /** Null on types without locales, and in rows from before the type had them. */
  readonly locale: string | null;
}

/** Which entries to read: the rest of a `select` from the table as `e`, whose slots take the values. */
export interface Which {
  /** Distinct for distinct texts. */
  readonly key: string;
  readonly rest: (dialect: Dialect) => Sql;
  readonly values: readonly DbValue[];
}

export const entryWithId = (id: number): Which => ({
  key: 'id',
  rest: (dialect) => sql`where e.id = ${dialect.bindSlot('id', 0)}`,
  values: [id],
});

/** How rows are locked that are read; `deleted` are those that are going to be. */
export type RowLock = 'plain' | 'locked' | 'deleted';

export const readEntries = async (
  type: EntryType,
  { key, rest, values }: Which,
  lock: RowLock,
  { dialect, tx }: { readonly dialect: Dialect; readonly tx: Tx },
): Promise<readonly StoredEntry[]> => {
  const statement = keptStatement(dialect, `entries ${type.table} ${lock} ${key}`, () => {
    const column = (name: string): Sql => sql`${sql.ref(`e.${name}`)}`;
    const publishedAt = type.draftAndPublish ? dialect.jsonValue('epoch', column('published_at')) : sql`''`;
    // rows of components have no times
    const updatedAt = type.kind === 'component' ? sql`null` : dialect.jsonValue('epoch', column('updated_at'));
    const locale = type.localized ? column('locale') : sql`null`;
    const suffix = { plain: sql``, locked: dialect.forUpdate, deleted: dialect.forDeletion }[lock];
    return sql`select ${column('id')}, ${publishedAt}, ${updatedAt}, ${locale} from ${sql.table(type.table)} e ${rest(dialect)}${suffix}`;
  });
  const rows = (await tx.run(withValues(statement, values, dialect))) as readonly (readonly [
    number,
    string | null,
    string | null,
    string | null,
  ])[];
  return rows.map(([id, published, updated, inside]) => ({
    id,
    publishedAt: published,
    version: updated === null ? null : Number(updated),
    locale: inside,
  }));
};

/** A version later than those of the entries: `updatedAt` never repeats. @param now epoch milliseconds. */
export const nextVersion = (now: number, entries: readonly StoredEntry[]): number =>
  Math.max(now, ...entries.map((it) => (it.version ?? 0) + 1));
