import { defineConfig } from 'vitest/config';
import { reporters } from './test/reporter.ts';

/** What `npm run test:quick` plays: everything that needs no luck to find a fault, on SQLite, and a taste of the rest. */
const quick = {
  include: ['structure', 'docs', 'rules', 'oracle', 'properties'].map((it) => `test/${it}/**/*.test.ts`),
  recorded: ['test/conformance/reads.test.ts', 'test/conformance/contract.test.ts'],
  exclude: ['test/rules/auth-attributes-sweep.test.ts'],
  env: {
    DOVETAIL_DATABASES: 'sqlite',
    DOVETAIL_ORACLE_MODELS: '4',
    DOVETAIL_RELATION_STEPS: '200',
    DOVETAIL_LONG_LIST_STEPS: '40',
  },
};

export default defineConfig(({ mode }) => ({
  test: {
    ...(mode === 'quick'
      ? { include: [...quick.include, ...quick.recorded], exclude: quick.exclude, env: quick.env }
      : { include: ['test/**/*.test.ts'] }),
    globalSetup: ['test/world/postgres.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // two cores: more workers only make each other wait
    maxWorkers: 2,
    reporters,
    // passing tests have nothing to say
    silent: 'passed-only',
  },
}));
