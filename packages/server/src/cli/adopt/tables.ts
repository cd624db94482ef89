/** The tables of a database that is only looked at: which there are, and single questions about them. */
import { sql } from 'kysely';
import { type Rows, readRows, type Sql, type Statement } from '../../sql/dialect.js';
import type { FrozenDb } from '../../sql/inspection.js';
import type { Catalog } from '../../sql/schema.js';

export interface Tables {
  readonly db: FrozenDb;
  readonly catalog: Catalog;
  /** Whether the table exists, with these columns. */
  has(table: string, ...columns: readonly string[]): boolean;
  /** The type that the column is declared with; undefined if it does not exist. */
  declared(table: string, column: string): string | undefined;
  rows(query: Sql): Promise<Rows>;
  run(statement: Statement): Promise<Rows>;
  /** The number in the first row. */
  count(query: Sql): Promise<number>;
  /** The rows of a table; null if there is none. */
  size(table: string): Promise<number | null>;
}

export const newTables = (db: FrozenDb, catalog: Catalog): Tables => {
  const { schema } = db.dialect;
  const columnsOf = (table: string) => catalog.tables.get(schema.storedName(table));
  const has: Tables['has'] = (table, ...columns) => {
    const found = columnsOf(table);
    return found !== undefined && columns.every((it) => found.has(schema.storedName(it)));
  };
  const run: Tables['run'] = (statement) => db.read(() => readRows(statement));
  const rows: Tables['rows'] = (query) => run(db.dialect.compile(query));
  const count: Tables['count'] = async (query) => Number((await rows(query))[0]?.[0] ?? 0);
  const sizes = new Map<string, number>();
  return {
    db,
    catalog,
    has,
    declared: (table, column) => columnsOf(table)?.get(schema.storedName(column)),
    rows,
    run,
    count,
    size: async (table) => {
      if (!has(table)) return null;
      const known = sizes.get(table);
      if (known !== undefined) return known;
      const found = await count(sql`select count(*) from ${sql.table(table)}`);
      sizes.set(table, found);
      return found;
    },
  };
};
