/** Files run one after the other in a process: what one has changed of it is as before for the next. */
import process from 'node:process';
import { afterAll, vi } from 'vitest';

afterAll(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
  process.exitCode = undefined;
});
