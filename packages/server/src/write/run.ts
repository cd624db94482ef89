/** Runs planned operations. */
import { sql } from 'kysely';
import type { FixedValue } from '../model/model.js';
import { type Dialect, type NewRow, type Sql, type Statement, type Tx, withIds, withValues } from '../sql/dialect.js';
import { keptStatement } from '../sql/kept.js';
import { whileFew } from './lists.js';
import type { Operation } from './operations.js';

/** Sends all statements in one batch. @param before those that the operations rely on. */
export const runOperations = async (
  operations: readonly Operation[],
  dialect: Dialect,
  tx: Tx,
  before: readonly Statement[] = [],
): Promise<void> => {
  await tx.runAll([...before, ...statementsOf(operations, dialect)]);
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
    const statement =
      operation.kind === 'continue' ? dialect.continueIds(operation.table) : statementOf(operation, dialect);
    if (statement) statements.push(statement);
  }
  flush();
  return statements;
};

/** One operation as one statement. */
const statementOf = (operation: Exclude<Operation, { kind: 'insert' | 'continue' }>, dialect: Dialect): Statement => {
  const { kind, table } = operation;
  const kept = (what: string, query: () => Sql): Statement => keptStatement(dialect, `${kind} ${table} ${what}`, query);
  switch (operation.kind) {
    case 'rank': {
      const { column, ranks } = operation;
      const rank = sql.ref(column);
      const [first] = ranks;
      // most changes of an order move one row
      if (first && ranks.length === 1) {
        const move = kept(
          `${column} of one`,
          () =>
            sql`update ${sql.table(table)} set ${rank} = ${dialect.bindSlot('rank', 1)} where id = ${dialect.bindSlot('id', 0)}`,
        );
        return withValues(move, first, dialect);
      }
      const update = kept(
        column,
        () =>
          sql`update ${sql.table(table)} as l set ${rank} = n.value from ${dialect.pairsTable(0)} n where l.id = n.id${whileFew(sql.ref('l.id'), dialect)}`,
      );
      return withValues(update, [dialect.pairsText(ranks)], dialect);
    }
    case 'update': {
      const { cells, column, ids, fixed, still } = operation;
      const columns = cells.map((it) => `${it.column} ${it.kind}`).join();
      const update = kept(`${columns} ${column} ${ids.length === 1} ${fixedKey(fixed)} ${still?.column ?? ''}`, () => {
        const set = cells.map((it, i) => sql`${sql.ref(it.column)} = ${dialect.bindSlot(it.kind, i + 1)}`);
        const stillHas = still
          ? sql` and ${sql.ref(still.column)} = ${dialect.bindSlot(still.kind, cells.length + 1)}`
          : sql``;
        return sql`update ${sql.table(table)} set ${sql.join(set)} where ${idIn(column, ids, dialect)}${fixedOf(fixed)}${stillHas}${whileFew(sql.ref('id'), dialect)}`;
      });
      const values = [ids[0]!, ...cells.map((it) => it.value), ...(still ? [still.value] : [])];
      return withIds(withValues(update, values, dialect), ids, dialect);
    }
    case 'delete': {
      const { column, ids, fixed } = operation;
      const removal = kept(
        `${column} ${ids.length === 1} ${fixedKey(fixed)}`,
        () =>
          sql`delete from ${sql.table(table)} where ${idIn(column, ids, dialect)}${fixedOf(fixed)}${whileFew(sql.ref('id'), dialect)}`,
      );
      return withIds(withValues(removal, [ids[0]!], dialect), ids, dialect);
    }
    case 'clone': {
      const { column, columns, fixed, pairs } = operation;
      const copy = kept(`${column} ${columns.join()} ${fixedKey(fixed)}`, () => {
        const names = sql.join([column, ...columns].map((it) => sql.ref(it)));
        const values = sql.join([sql`cast(p.value as integer)`, ...columns.map((it) => sql.ref(`l.${it}`))]);
        const where = fixed.map((it) => sql` and ${sql.ref(`l.${it.column}`)} = ${it.value}`);
        return sql`insert into ${sql.table(table)} (${names}) select ${values} from ${dialect.pairsTable(0)} p join ${sql.table(table)} l on ${sql.ref(`l.${column}`)} = p.id${sql.join(where, sql``)}${whileFew(sql.ref('l.id'), dialect)} order by p.value, l.id`;
      });
      return withValues(copy, [dialect.pairsText(pairs)], dialect);
    }
    case 'assign': {
      const { columns, pairs } = operation;
      const copy = kept(columns.join(), () => {
        const cells = sql.join(columns.map((it) => sql`${sql.ref(it)} = ${sql.ref(`s.${it}`)}`));
        return sql`update ${sql.table(table)} as t set ${cells} from ${dialect.pairsTable(0)} p join ${sql.table(table)} s on s.id = p.id where t.id = cast(p.value as integer)${whileFew(sql.ref('t.id'), dialect)}`;
      });
      return withValues(copy, [dialect.pairsText(pairs)], dialect);
    }
  }
};

const fixedKey = (fixed: readonly FixedValue[] = []): string => fixed.map((it) => `${it.column}=${it.value}`).join();

const fixedOf = (fixed: readonly FixedValue[] = []): Sql =>
  sql.join(
    fixed.map((it) => sql` and ${sql.ref(it.column)} = ${it.value}`),
    sql``,
  );

/** The first slot is the only id. */
const idIn = (column: string, ids: readonly number[], dialect: Dialect): Sql =>
  ids.length === 1 ? sql`${sql.ref(column)} = ${dialect.bindSlot('id', 0)}` : dialect.inIds(sql`${sql.ref(column)}`);
