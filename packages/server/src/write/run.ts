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
      const update = sql`update ${table} set ${cells} where ${idIn(operation.column, operation.ids, dialect)}`;
      return withIds(dialect.compile(update), operation.ids, dialect);
    }
    case 'delete': {
      const fixed = operation.fixed.map((it) => sql` and ${sql.ref(it.column)} = ${it.value}`);
      const removal = sql`delete from ${table} where ${idIn(operation.column, operation.ids, dialect)}${sql.join(fixed, sql``)}`;
      return withIds(dialect.compile(removal), operation.ids, dialect);
    }
  }
};

const idIn = (column: string, ids: readonly number[], dialect: Dialect): Sql => {
  const [id] = ids;
  return ids.length === 1
    ? sql`${sql.ref(column)} = ${dialect.bind('id', id!)}`
    : dialect.inIds(sql`${sql.ref(column)}`);
};
