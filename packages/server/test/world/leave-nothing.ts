/** Test files share the process of their worker: what one has changed there is undone before the next one runs. */
import process from 'node:process';
import { afterAll, vi } from 'vitest';

afterAll(() => {
  vi.unstubAllEnvs();
  process.exitCode = undefined;
});
