/** Stored entries as writes need them: state, version and locale. */
import { sql } from 'kysely';
import type { EntryType } from '../model/model.js';
import type { Dialect, Sql, Tx } from '../sql/dialect.js';

export interface StoredEntry {
  readonly id: number;
  /** Epoch milliseconds as text; null for a draft. */
  readonly publishedAt: string | null;
  /** Epoch milliseconds; null in rows that were written by hand. */
  readonly version: number | null;
  /** Null on types without locales, and in rows from before the type had them. */
  readonly locale: string | null;
}

/** @param which the rest of a `select` from the table as `e`. */
export const readEntries = async (
  type: EntryType,
  which: Sql,
  lock: 'plain' | 'locked',
  { dialect, tx }: { readonly dialect: Dialect; readonly tx: Tx },
): Promise<readonly StoredEntry[]> => {
  const column = (name: string): Sql => sql`${sql.ref(`e.${name}`)}`;
  const publishedAt = type.draftAndPublish ? dialect.jsonValue('epoch', column('published_at')) : sql`''`;
  const updatedAt = dialect.jsonValue('epoch', column('updated_at'));
  const locale = type.localized ? column('locale') : sql`null`;
  const query = sql`select ${column('id')}, ${publishedAt}, ${updatedAt}, ${locale} from ${sql.table(type.table)} e ${which}${lock === 'locked' ? dialect.forUpdate : sql``}`;
  const rows = (await tx.run(dialect.compile(query))) as readonly (readonly [
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
