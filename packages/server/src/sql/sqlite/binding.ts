/** What binding values to compiled statements takes: all that a thread needs of the dialect. */
import type { Binding } from '../dialect.js';

export const sqliteBinding: Binding = {
  idsText: (ids) => `[${ids.join(',')}]`,
  param: (kind, value) => {
    if (typeof value === 'boolean') return value ? 1 : 0;
    if (kind !== 'bigint' || value === null) return value;
    const number = BigInt(value);
    // a number out of the column's range is larger or smaller than every stored one
    return BigInt.asIntN(64, number) === number ? number : Number(number) * Number.POSITIVE_INFINITY;
  },
};
