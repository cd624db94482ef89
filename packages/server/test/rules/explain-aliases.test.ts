/** `explain` on SQLite names the table that each part of a statement reads, although nested statements use aliases again. */

import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { compileWith, sqliteBuilder } from '../../src/sql/compile.js';
import { explainOnSqlite } from '../../src/sql/sqlite/explain.js';
import { newDatabase } from '../world/databases.js';

it('an alias that nested statements use for several tables stands for each in its own', async () => {
  const database = await newDatabase('sqlite');
  const { db } = database;
  const text = (it: string) => compileWith(sqliteBuilder, sql`${sql.raw(it)}`);
  await db.write(async (tx) => {
    for (const it of ['posts', 'authors', 'tags'])
      await tx.run(text(`create table "${it}" (id integer primary key, of integer)`));
  });
  const statement = text(
    `select "e1"."id", (select max("e1"."of") from "authors" as "e1" where "e1"."id" = "p"."id"), (select ')"e1".' || "e1"."of" from "tags" as "e1" where "e1"."id" = "p"."id") from "posts" as "e1", "posts" as "p" where "e1"."id" = 1 union all select "e1"."id", 1, 2 from "authors" as "e1" where "e1"."id" = 1`,
  );
  const reads = await db.read(() => explainOnSqlite(statement));
  expect(reads.map((it) => it.table).sort()).toEqual(['authors', 'authors', 'posts', 'posts', 'tags']);
  await database.drop();
});
