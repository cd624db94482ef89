/** SQLite keeps any value in any column. */
import { sql } from 'kysely';
import { fixedStatement } from '../compile.js';
import type { ColumnKind, Sql } from '../dialect.js';
import type { Inspection } from '../inspection.js';

const isInvalid = (kind: ColumnKind, column: Sql): Sql | null => {
  switch (kind) {
    case 'json':
    case 'jsonText':
      return sql`(typeof(${column}) = 'text' and not json_valid(${column}))`;
    case 'date':
      return sql`(${column} is not null and (typeof(${column}) <> 'text' or ${column} not glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]' or date(${column}) is not ${column}))`;
    case 'time':
      return sql`(${column} is not null and (typeof(${column}) <> 'text' or ${column} not glob '[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*'))`;
    case 'datetime':
      return sql`(${column} is not null and dovetail_instant(${column}) is null)`;
    case 'boolean':
      return sql`(${column} is not null and ${column} not in (0, 1))`;
    case 'integer':
      return sql`(${column} is not null and (typeof(${column}) <> 'integer' or abs(${column}) > 2147483647))`;
    case 'bigint':
      return sql`(${column} is not null and typeof(${column}) <> 'integer')`;
    case 'float':
    case 'decimal':
      return sql`(${column} is not null and typeof(${column}) not in ('integer', 'real'))`;
    case 'id':
    case 'reference':
    case 'rank':
    case 'string':
    case 'text':
      return null;
  }
};

export const sqliteInspection: Inspection = {
  isInvalid,
  isTextInstant: (column) => sql`(typeof(${column}) = 'text' and dovetail_instant(${column}) is not null)`,
  isLonger: (column, max) => sql`length(${column}) > ${sql.lit(max)}`,
  indexedColumns: fixedStatement(
    `select m.tbl_name, i.name from sqlite_master m join pragma_index_info(m.name) i where m.type = 'index' and i.seqno = 0`,
  ),
  triggers: fixedStatement(`select distinct tbl_name from sqlite_master where type = 'trigger' order by tbl_name`),
  sequences: null,
  rights: null,
};
