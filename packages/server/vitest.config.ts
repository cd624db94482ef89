import { defineConfig } from 'vitest/config';
import { reporters } from './test/reporter.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/world/postgres.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // two cores: more workers only make each other wait
    maxWorkers: 2,
    reporters,
    // passing tests have nothing to say
    silent: 'passed-only',
  },
});
