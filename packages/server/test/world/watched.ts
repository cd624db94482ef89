/** Transactions that a test looks into. */
import { type Dialect, readInside, type Tx } from '../../src/sql/dialect.js';

/** A transaction all of whose statements pass through the given function, those of reads too; its commit stays apart. */
export const txThrough = ({ mayLockLate }: Pick<Tx, 'mayLockLate'>, runAll: Tx['runAll'], dialect: Dialect): Tx => ({
  mayLockLate,
  run: async (statement) => {
    const [rows = []] = await runAll([statement]);
    return rows;
  },
  runAll,
  readPlanned: ({ plan, values, begin }) => readInside(begin(plan, values, dialect), { runAll }),
  finish: () => undefined,
});
