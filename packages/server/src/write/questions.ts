/** Questions to the database that do not depend on each other: they are collected, and asked in one round trip. */
import { sql } from 'kysely';
import { type Dialect, type Rows, runTogether, type Sql, type Statement, type Tx } from '../sql/dialect.js';

/** The columns that every question selects, in this order; null where it has none of a kind. */
export interface Columns {
  readonly id?: Sql;
  readonly from?: Sql;
  readonly to?: Sql;
  readonly rank?: Sql;
  readonly text?: Sql;
}

export type Row = readonly [
  id: number | null,
  from: number | null,
  to: number | null,
  rank: number | null,
  text: string | null,
];

const noNumber = sql`cast(null as integer)`;
const noRank = sql`cast(null as float)`;
const noText = sql`cast(null as text)`;

export const columnsOf = ({ id, from, to, rank, text }: Columns): Sql =>
  sql.join([id ?? noNumber, from ?? noNumber, to ?? noNumber, rank ?? noRank, text ?? noText]);

export interface Questions {
  /** @param query selects `columnsOf`. @param read gets the rows once all questions are answered, in the order of asking. */
  ask(query: Statement, read: (rows: readonly Row[]) => void): void;
  /** Asks all. */
  answer(tx: Tx, dialect: Dialect): Promise<void>;
}

export const newQuestions = (): Questions => {
  const queries: Statement[] = [];
  const readers: ((rows: readonly Row[]) => void)[] = [];
  return {
    ask: (query, read) => {
      queries.push(query);
      readers.push(read);
    },
    answer: async (tx, dialect) => {
      if (queries.length === 0) return;
      const results: readonly Rows[] = await runTogether(queries, tx, dialect);
      results.forEach((rows, i) => {
        readers[i]!(rows as unknown as readonly Row[]);
      });
    },
  };
};
