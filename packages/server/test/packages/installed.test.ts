/** The packages as npm installs them, under the Node.js of the tests; `npm run runtimes` does the same under all supported ones. */
import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { newFolder } from '../world/folders.js';
import { pack, workspaces } from './packed.js';
import { beStranger } from './stranger.js';

const whereIs = (program: string): string =>
  (process.env['PATH'] ?? '')
    .split(path.delimiter)
    .map((it) => path.join(it, program))
    .find((it) => fs.existsSync(it)) ?? program;

it('a stranger installs them, makes a project, starts it and reads it, without a warning', async () => {
  const dir = newFolder();
  // bin/npm-cli.js in the package's folder
  const npm = path.join(fs.realpathSync(whereIs('npm')), '../..');
  const packages = workspaces.map((it) => pack(it, dir));
  try {
    const { megabytes } = await beStranger(packages, { node: process.execPath, npm });
    // mostly the binaries of SQLite for all platforms and of an image library; npm 10 installs one more of the latter
    expect(megabytes).toBeLessThan(75);
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
  // as long as the registry takes
}, 400_000);
