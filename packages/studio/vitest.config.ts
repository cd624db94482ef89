import { defineConfig } from 'vitest/config';
import { LongestFirst } from '../server/test/longest-first.ts';
import { reporters } from '../server/test/reporter.ts';

export default defineConfig(({ mode }) => ({
  test: {
    include: mode === 'quick' ? ['test/*.test.ts'] : ['test/**/*.test.ts'],
    // PostgreSQL and the folder of pictures are for the tests with a browser
    globalSetup: mode === 'quick' ? [] : ['../server/test/world/postgres.ts', 'test/browser/screenshots.ts'],
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // a browser on a busy machine; what passes only then is named at the end of the run
    retry: mode === 'quick' ? 0 : 1,
    expect: { poll: { timeout: 60_000 } },
    // for two cores: each has a browser, a server and its database, and waits for them a third of its time
    maxWorkers: 3,
    // the files of a worker share its browser
    isolate: false,
    sequence: { sequencer: LongestFirst },
    reporters,
    silent: 'passed-only',
  },
}));
