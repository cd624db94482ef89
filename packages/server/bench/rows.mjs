/** The rows that writes have left in a database, read with the driver alone. */
import Database from 'better-sqlite3';
import postgres from 'postgres';

/** Greatest id of each table. @returns {Promise<Record<string, number>>} */
export const lastIds = async (world, tables) => {
  const rows = await ask(
    world,
    tables.map((it) => `select coalesce(max(id), 0) as id from "${it}"`),
  );
  return Object.fromEntries(tables.map((it, i) => [it, Number(rows[i][0].id)]));
};

/**
 * Rows with greater ids than these, by table, but for their times; those of link tables without their ids and in an order
 * of their own, because nothing depends on which of them came first.
 */
export const rowsAfter = async (world, ids) => {
  const tables = Object.keys(ids);
  const rows = await ask(
    world,
    tables.map((it) => `select * from "${it}" where id > ${ids[it]} order by id`),
  );
  return Object.fromEntries(
    tables.map((table, i) => {
      const isLinks = /_(links|components|morphs)$/.test(table);
      const texts = rows[i].map(({ created_at, updated_at, published_at, id, ...row }) =>
        JSON.stringify(isLinks ? row : { id, ...row }, (_, value) =>
          typeof value === 'bigint' ? String(value) : value,
        ),
      );
      return [table, isLinks ? texts.toSorted() : texts];
    }),
  );
};

/** Number of rows of each table. */
export const countRows = async (world, tables) => {
  const rows = await ask(
    world,
    tables.map((it) => `select count(*) as count from "${it}"`),
  );
  return Object.fromEntries(tables.map((it, i) => [it, Number(rows[i][0].count)]));
};

const ask = async ({ name, place }, statements) => {
  if (name === 'sqlite') {
    const db = new Database(place, { readonly: true });
    const rows = statements.map((it) => db.prepare(it).safeIntegers().all());
    db.close();
    return rows;
  }
  const sql = postgres(place, { max: 1, onnotice: () => undefined });
  const rows = [];
  for (const it of statements) rows.push(await sql.unsafe(it));
  await sql.end();
  return rows;
};
