/** Recorded scenarios of writes with threads on SQLite, where each takes too long in the server's thread and is repeated in another. */
import { vi } from 'vitest';
import { testSuite } from './recorded.js';

vi.mock(import('../../src/limits.js'), async (importOriginal) => {
  const { limits } = await importOriginal();
  return { limits: Object.assign({}, limits, { smallWriteMsMax: -1, smallReadPauseMsMax: 0 } as object) };
});

testSuite('core', 'writes', ['sqlite']);
