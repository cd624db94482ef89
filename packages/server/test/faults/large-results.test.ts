/** What a read receives is bounded while it arrives: PostgreSQL's driver keeps all rows of a statement until it ends. */
import { describe, expect, it } from 'vitest';
import { Refusal } from '../../src/errors.js';
import { fixedStatement } from '../../src/sql/compile.js';
import { readRows } from '../../src/sql/dialect.js';
import { newDatabase } from '../world/databases.js';

describe('large results of PostgreSQL', () => {
  it('a read that receives more than any response may contain is ended, and the next one is answered', async () => {
    const { db, drop } = await newDatabase('postgres');
    try {
      const large = fixedStatement(`select repeat('x', 1000000) from generate_series(1, 100)`);
      const refusal = await db.read(() => readRows(large)).catch((fault: unknown) => fault);
      expect(refusal).toBeInstanceOf(Refusal);
      expect((refusal as Refusal).issues).toMatchObject([{ code: 'read.too-large' }]);
      expect(await db.read(() => readRows(fixedStatement('select 1')))).toEqual([[1]]);
    } finally {
      await drop();
    }
  });
});
