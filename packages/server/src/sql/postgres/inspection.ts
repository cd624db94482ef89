/** PostgreSQL refuses most of what does not fit a column. */
import { sql } from 'kysely';
import { fixedStatement } from '../compile.js';
import type { ColumnKind, Sql } from '../dialect.js';
import type { Inspection } from '../inspection.js';

const isInvalid = (kind: ColumnKind, column: Sql): Sql | null => {
  switch (kind) {
    case 'date':
    case 'datetime':
      return sql`(not isfinite(${column}) or extract(year from ${column}) not between 1 and 9999)`;
    case 'float':
    case 'decimal':
      return sql`${column}::text in ('NaN', 'Infinity', '-Infinity')`;
    default:
      return null;
  }
};

export const postgresInspection: Inspection = {
  isInvalid,
  isTextInstant: () => null,
  isLonger: () => null,
  indexedColumns: fixedStatement(
    `select t.relname, a.attname from pg_index i join pg_class t on t.oid = i.indrelid join pg_attribute a on a.attrelid = t.oid and a.attnum = i.indkey[0] where t.relnamespace = quote_ident(current_schema())::regnamespace and i.indisvalid`,
  ),
  triggers: fixedStatement(
    `select distinct t.relname from pg_trigger g join pg_class t on t.oid = g.tgrelid where not g.tgisinternal and t.relnamespace = quote_ident(current_schema())::regnamespace order by t.relname`,
  ),
  // what the role may not read has no last value either, and is left out
  sequences: fixedStatement(
    `select t.relname, s.oid::regclass::text, p.last_value from pg_class t join pg_attribute a on a.attrelid = t.oid and a.attname = 'id' and not a.attisdropped left join pg_depend d on d.refobjid = t.oid and d.refobjsubid = a.attnum and d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i') left join pg_class s on s.oid = d.objid and s.relkind = 'S' left join pg_namespace n on n.oid = s.relnamespace left join pg_sequences p on p.schemaname = n.nspname and p.sequencename = s.relname where t.relkind in ('r', 'p') and t.relnamespace = quote_ident(current_schema())::regnamespace and (s.oid is null or has_sequence_privilege(s.oid, 'SELECT') or has_sequence_privilege(s.oid, 'USAGE')) and (s.oid is not null or not a.atthasdef) order by t.relname`,
  ),
  // an index is created by the owner of its table, or by a member of the role that is
  rights: fixedStatement(
    `select has_schema_privilege(current_schema(), 'CREATE') and not exists (select 1 from pg_class t where t.relkind in ('r', 'p') and t.relnamespace = quote_ident(current_schema())::regnamespace and not pg_has_role(t.relowner, 'USAGE')), current_user, pg_is_in_recovery()`,
  ),
};
