/** What a test run prints beside the failures: a line for each file in logs, and a plain line at the end that says how it went. */
import type { Reporter, TestModule } from 'vitest/node';

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** A line for each file that passed; for logs, where nothing can be drawn over. The failed ones are told in full anyway. */
const fileLines: Reporter = {
  onTestModuleEnd: (file) => {
    if (!file.ok()) return;
    const seconds = (file.diagnostic().duration / 1000).toFixed(1).padStart(6);
    say(`${seconds} s  ${file.relativeModuleId} (${[...file.children.allTests()].length})`);
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

/** Files and blocks that failed without one of their tests: they did not load, or a hook threw. */
const brokenParts = (file: TestModule): readonly unknown[] =>
  [file, ...file.children.allSuites()].filter((it) => it.errors().length > 0);

export const reporters: ('default' | 'minimal' | Reporter)[] = process.stdout.isTTY
  ? ['default', closingLine]
  : ['minimal', fileLines, closingLine];
