import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.ts';
import { reporters } from './test/reporter.ts';

/** What `npm run test:quick` plays: most tests on SQLite, and a taste of the random ones. */
const quick = {
  include: ['structure', 'docs', 'rules', 'oracle', 'properties'].map((it) => `test/${it}/**/*.test.ts`),
  recorded: ['test/conformance/*-reads.test.ts', 'test/conformance/*-contract.test.ts'],
  // thorough ones, which take half as long as all others together
  exclude: [
    ...[
      'auth-attacks',
      'auth-attributes-sweep',
      'browser',
      'command-line',
      'dev',
      'dev-faults',
      'init',
      'kept-responses',
      'lane',
      'statement-texts',
      'upload-s3',
      'write-passwords',
    ].map((it) => `test/rules/${it}.test.ts`),
    ...['beside-v4', 'brackets', 'kept-responses'].map((it) => `test/properties/${it}.test.ts`),
  ],
  env: {
    DOVETAIL_DATABASES: 'sqlite',
    DOVETAIL_ORACLE_MODELS: '4',
    DOVETAIL_RELATION_STEPS: '200',
    DOVETAIL_KEPT_STEPS: '40',
    DOVETAIL_LONG_LIST_STEPS: '40',
    DOVETAIL_ORDER_RUNS: '500',
  },
};

export default defineConfig(({ mode }) => ({
  test: {
    ...(mode === 'quick'
      ? { include: [...quick.include, ...quick.recorded], exclude: quick.exclude }
      : { include: ['test/**/*.test.ts'] }),
    // recorded times are UTC, and PostgreSQL's columns hold the server's local time
    env: { TZ: 'UTC', ...(mode === 'quick' ? quick.env : {}) },
    globalSetup: ['test/world/postgres.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // for two cores: tests of deadlines, locks and restarts wait most of their time
    maxWorkers: 4,
    // the files of a worker share what it has loaded and compiled, which is a third of the CPU of short ones
    isolate: false,
    setupFiles: ['test/world/leave-nothing.ts'],
    sequence: { sequencer: LongestFirst },
    reporters,
    // passing tests have nothing to say
    silent: 'passed-only',
  },
}));
