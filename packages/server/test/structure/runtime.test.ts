/** The Node.js versions that the package requires, and the message for others. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isSupported } from '../../src/cli/runtime.js';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '../..');
const read = (file: string): string => fs.readFileSync(path.join(root, file), 'utf8');

describe('the runtime', () => {
  it.each([
    ['20.20.2', false],
    ['22.17.1', false],
    ['22.18.0', true],
    ['23.11.0', false],
    ['24.0.0', true],
    ['25.9.0', false],
    ['26.10.0', true],
    ['28.0.0', true],
  ])('%s is supported: %s', (version, supported) => {
    expect(isSupported(version)).toBe(supported);
  });

  it('package.json names the same versions', () => {
    const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
    expect(engines.node).toBe('^22.18.0 || ^24.0.0 || >=26.0.0');
  });

  it('is checked before anything else is loaded', () => {
    const imports = [...read('src/cli/main.ts').matchAll(/^import .*from '([^']+)'/gm)].map(([, from]) => from);
    expect(imports).toEqual(['./runtime.js']);
    const inner = [...read('src/cli/runtime.ts').matchAll(/^import .*from '([^']+)'/gm)].map(([, from]) => from);
    expect(inner).toEqual(['node:v8']);
  });

  it('bounds the young generation of a thread by its own limit, whatever that of the main thread is', () => {
    const program = `
      import { Worker } from 'node:worker_threads';
      import { boundHeap } from ${JSON.stringify(path.join(root, 'src/cli/runtime.ts'))};
      boundHeap();
      const module = "data:text/javascript,import v8 from 'node:v8'; console.log(v8.getHeapStatistics().heap_size_limit / 2 ** 20)";
      const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 3 };
      new Worker(new URL(module), { resourceLimits });
    `;
    const args = ['--max-semi-space-size=32', '--no-warnings', '--input-type=module', '--eval', program];
    expect(Number(execFileSync(process.execPath, args, { encoding: 'utf8' }))).toBeLessThan(64 + 10);
  });
});
