/** Tables of our own that no model asks for: each is created when it is first needed. */
import { sql } from 'kysely';
import { type Db, type Dialect, readInside, type Tx } from '../sql/dialect.js';
import { catalogProgram, noDiff, planAdditions, readCatalog, type Table } from '../sql/schema.js';

/** Creates the table if it is missing, and tells v4 to leave it alone when it next changes its tables (ST7). */
export const ensureTable = async (table: Table, db: Db): Promise<void> => {
  if (await hasTable(table, db)) return;
  const missing = { ...noDiff, missingTables: [table] };
  await db.writeAlone(async (tx) => {
    const name = db.dialect.schema.storedName(table.name);
    // another process may have been first
    if ((await readInside(catalogProgram(db.dialect), tx)).tables.has(name)) return;
    for (const statement of planAdditions(missing, db)) await tx.run(statement);
    await persist(name, db.dialect, tx);
  });
};

export const hasTable = async (table: Table, db: Db): Promise<boolean> =>
  (await readCatalog(db)).tables.has(db.dialect.schema.storedName(table.name));

/** Adds a table to v4's list of those that it must not drop. */
const persist = async (name: string, dialect: Dialect, tx: Tx): Promise<void> => {
  const key = dialect.bind('string', 'core_persisted_tables');
  const [row] = await tx.run(
    dialect.compile(
      sql`select id, value from strapi_core_store_settings where ${sql.ref('key')} = ${key} order by id limit 1`,
    ),
  );
  const known = row ? listIn(row[1]) : [];
  const value = JSON.stringify([...known, { name }]);
  await tx.run(
    dialect.compile(
      row
        ? sql`update strapi_core_store_settings set value = ${value} where id = ${dialect.bind('id', row[0] as number)}`
        : sql`insert into strapi_core_store_settings (${sql.ref('key')}, value, type) values (${key}, ${value}, 'object')`,
    ),
  );
};

const listIn = (json: unknown): readonly unknown[] => {
  try {
    const tree: unknown = JSON.parse(String(json));
    return Array.isArray(tree) ? tree : [];
  } catch {
    return [];
  }
};
