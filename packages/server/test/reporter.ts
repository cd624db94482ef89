/** What a test run prints besides failures: one line per file in logs, and a plain summary line at the end. */
import type { Reporter, TestModule } from 'vitest/node';

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** One line per file that passed, for logs, where lines cannot be redrawn. Failed ones are reported in full anyway. */
const fileLines: Reporter = {
  onTestModuleEnd: (file) => {
    if (!file.ok()) return;
    const seconds = (file.diagnostic().duration / 1000).toFixed(1).padStart(6);
    say(`${seconds} s  ${file.relativeModuleId} (${[...file.children.allTests()].length})`);
  },
};

/** Tests that passed only when they were run again: they want to be looked at, although the run is green. */
const secondTries: Reporter = {
  onTestRunEnd: (files) => {
    const again = files.flatMap((it) => [...it.children.allTests()]).filter((it) => it.diagnostic()?.flaky);
    for (const test of again) {
      say(`\npassed only when it was run again: ${test.module.relativeModuleId} > ${test.fullName}`);
      for (const { message } of test.result().errors ?? []) say(message);
    }
  },
};

/** `123 passed, 0 failed` as the last line of a run. */
const closingLine: Reporter = {
  onTestRunEnd: (files, unhandled) => {
    const tests = files.flatMap((it) => [...it.children.allTests()]);
    const count = (state: string): number => tests.filter((it) => it.result().state === state).length;
    const failed = count('failed') + files.flatMap(brokenParts).length + unhandled.length;
    const skipped = count('skipped');
    say(`\n${count('passed')} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  },
};

/** Files and blocks that failed outside of a test: they did not load, or a hook threw. */
const brokenParts = (file: TestModule): readonly unknown[] =>
  [file, ...file.children.allSuites()].filter((it) => it.errors().length > 0);

export const reporters: ('default' | 'minimal' | Reporter)[] = process.stdout.isTTY
  ? ['default', secondTries, closingLine]
  : ['minimal', fileLines, secondTries, closingLine];
