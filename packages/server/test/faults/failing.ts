/** Reads that fail in ways that no statement of ours does. */
import type { Rows, Statement } from '../../src/sql/dialect.js';
import type { Begin } from '../../src/sql/sqlite/thread.js';

export type Failing =
  /** Runs the statement. */
  | { readonly kind: 'statement'; readonly sql: string }
  /** Finds nothing. */
  | { readonly kind: 'nothing' }
  /** Ends the thread. */
  | { readonly kind: 'exit' }
  | { readonly kind: 'throw' }
  /** Uses up the thread's heap. */
  | { readonly kind: 'heap' }
  /** Never returns, outside of any statement. */
  | { readonly kind: 'spin' };

export const failing = function* (plan: Failing): Generator<readonly Statement[], Rows | null, readonly Rows[]> {
  switch (plan.kind) {
    case 'statement': {
      const [rows = []] = yield [{ sql: plan.sql, params: [], ids: [] }];
      return rows;
    }
    case 'nothing':
      return null;
    case 'exit':
      return process.exit(7);
    case 'throw':
      throw new TypeError('thrown in the thread');
    case 'heap':
      for (const kept: unknown[] = []; ; ) kept.push(new Array(1000).fill({}));
    case 'spin':
      for (;;);
  }
} as unknown as Begin;
