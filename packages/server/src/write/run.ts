/** Runs planned operations. */
import { sql } from 'kysely';
import { type Dialect, type NewRow, type Sql, type Statement, type Tx, withIds } from '../sql/dialect.js';
import type { Operation } from './plan.js';

/** Sends all statements in one batch. */
export const runOperations = async (operations: readonly Operation[], dialect: Dialect, tx: Tx): Promise<void> => {
  await tx.runAll(statementsOf(operations, dialect));
};

/** In order; consecutive inserts are combined. */
const statementsOf = (operations: readonly Operation[], dialect: Dialect): readonly Statement[] => {
  const statements: Statement[] = [];
  let rows: NewRow[] = [];
  const flush = (): void => {
    statements.push(...dialect.insertRows(rows));
    rows = [];
  };
  for (const operation of operations) {
    if (operation.kind === 'insert') {
      rows.push(operation);
      continue;
    }
    flush();
    statements.push(statementOf(operation, dialect));
  }
  flush();
  return statements;
};

/** One operation as one statement. Its text depends only on the columns, so it is prepared once. */
const statementOf = (operation: Exclude<Operation, { kind: 'insert' }>, dialect: Dialect): Statement => {
  const table = sql.table(operation.table);
  switch (operation.kind) {
    case 'rank':
      return dialect.compile(
        sql`update ${table} as l set ${sql.ref(operation.column)} = n.value from ${dialect.pairsTable(operation.ranks)} n where l.id = n.id`,
      );
    case 'update': {
      const cells = sql.join(
        operation.cells.map((it) => sql`${sql.ref(it.column)} = ${dialect.bind(it.kind, it.value)}`),
      );
      const update = sql`update ${table} set ${cells} where ${idIn(operation.column, operation.ids, dialect)}${fixedOf(operation)}`;
      return withIds(dialect.compile(update), operation.ids, dialect);
    }
    case 'delete': {
      const removal = sql`delete from ${table} where ${idIn(operation.column, operation.ids, dialect)}${fixedOf(operation)}`;
      return withIds(dialect.compile(removal), operation.ids, dialect);
    }
    case 'clone': {
      const { column, columns, fixed, pairs } = operation;
      const names = sql.join([column, ...columns].map((it) => sql.ref(it)));
      const values = sql.join([sql`cast(p.value as integer)`, ...columns.map((it) => sql.ref(`l.${it}`))]);
      const where = fixed.map((it) => sql` and ${sql.ref(`l.${it.column}`)} = ${it.value}`);
      return dialect.compile(
        sql`insert into ${table} (${names}) select ${values} from ${dialect.pairsTable(pairs)} p join ${table} l on ${sql.ref(`l.${column}`)} = p.id${sql.join(where, sql``)} order by p.value, l.id`,
      );
    }
    case 'assign': {
      const cells = sql.join(operation.columns.map((it) => sql`${sql.ref(it)} = ${sql.ref(`s.${it}`)}`));
      return dialect.compile(
        sql`update ${table} as t set ${cells} from ${dialect.pairsTable(operation.pairs)} p join ${table} s on s.id = p.id where t.id = cast(p.value as integer)`,
      );
    }
  }
};

const fixedOf = ({ fixed = [] }: Extract<Operation, { kind: 'update' | 'delete' }>): Sql =>
  sql.join(
    fixed.map((it) => sql` and ${sql.ref(it.column)} = ${it.value}`),
    sql``,
  );

const idIn = (column: string, ids: readonly number[], dialect: Dialect): Sql => {
  const [id] = ids;
  return ids.length === 1
    ? sql`${sql.ref(column)} = ${dialect.bind('id', id!)}`
    : dialect.inIds(sql`${sql.ref(column)}`);
};
