/** Which plans a database has been through: a row of the settings table. */
import { sql } from 'kysely';
import { type Dialect, type ReadProgram, readRows, type Tx } from '../sql/dialect.js';
import { digestOf, type Plan } from './file.js';

const APPLIED_KEY = 'dovetail_migrations';

interface AppliedPlan {
  readonly digest: string;
  readonly made: string;
  readonly applied: string;
}

const select = (dialect: Dialect) =>
  dialect.compile(sql`select value from strapi_core_store_settings where ${sql.ref('key')} = ${APPLIED_KEY}`);

const listIn = (text: unknown): readonly AppliedPlan[] =>
  typeof text === 'string' ? (JSON.parse(text) as readonly AppliedPlan[]) : [];

/** The settings table must exist. */
export function* readApplied(dialect: Dialect): ReadProgram<readonly AppliedPlan[]> {
  const [row] = yield* readRows(select(dialect));
  return listIn(row?.[0]);
}

export const isApplied = async (plan: Plan, dialect: Dialect, tx: Tx): Promise<boolean> => {
  const [row] = await tx.run(select(dialect));
  return listIn(row?.[0]).some((it) => it.digest === digestOf(plan));
};

export const noteApplied = async (plan: Plan, dialect: Dialect, tx: Tx): Promise<void> => {
  const [row] = await tx.run(select(dialect));
  const list = [...listIn(row?.[0]), { digest: digestOf(plan), made: plan.made, applied: new Date().toISOString() }];
  const value = JSON.stringify(list);
  await tx.run(
    dialect.compile(
      row
        ? sql`update strapi_core_store_settings set value = ${value} where ${sql.ref('key')} = ${APPLIED_KEY}`
        : sql`insert into strapi_core_store_settings (${sql.ref('key')}, value, type) values (${APPLIED_KEY}, ${value}, 'object')`,
    ),
  );
};
