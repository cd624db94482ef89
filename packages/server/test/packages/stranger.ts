/**
 * What somebody does who finds the packages: installs them into an empty folder, makes a project, starts it and reads it
 * with the client. Nothing on the way may warn, and there is no compiler. For `installed.test.ts` and `runtimes.ts`.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Packed } from './packed.ts';
import { newRegistry } from './registry.ts';

export interface Tools {
  /** The executable. */
  readonly node: string;
  /** The folder of the package `npm`. */
  readonly npm: string;
}

export interface Found {
  /** Of `node_modules` with the three packages and what they depend on. */
  readonly megabytes: number;
}

export const beStranger = async (packages: readonly Packed[], tools: Tools): Promise<Found> => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-stranger-'));
  try {
    const shell = newShell(dir, tools);
    const megabytes = await install(dir, packages, shell);
    await makeProject(dir, shell);
    await useProject(dir, shell);
    await develop(dir, shell);
    await missPackages(dir, shell);
    await shell.run(dir, ['npx', 'create-dovetail', 'made', '--yes', '--no-install', '--template', 'empty']);
    return { megabytes };
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
};

/** `npm create dovetail` as it works once the packages are published; it takes a minute, since little of it is cached. */
export const createFromRegistry = async (packages: readonly Packed[], tools: Tools): Promise<void> => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-stranger-'));
  const registry = await newRegistry(packages, realRegistry);
  try {
    const { run } = newShell(dir, tools);
    // npm would look for a project in the folders above
    fs.writeFileSync(path.join(dir, 'package.json'), '{}');
    const command = ['npm', 'create', '--yes', 'dovetail', 'made', '--', '--yes', '--no-install'];
    await run(dir, command, { npm_config_registry: registry.url });
    const manifest = JSON.parse(fs.readFileSync(path.join(dir, 'made/package.json'), 'utf8'));
    assert.deepEqual(manifest.dependencies, { dovetail: `^${packages[0]!.version}` });
  } finally {
    await registry.close();
    fs.rmSync(dir, { recursive: true, force: true });
  }
};

// ---- a machine with Node.js, and nothing to compile with

interface Shell {
  readonly env: NodeJS.ProcessEnv;
  /** Runs a command that must succeed and warn of nothing. Returns what it printed. */
  run(cwd: string, command: readonly string[], env?: NodeJS.ProcessEnv): Promise<string>;
}

const newShell = (dir: string, { node, npm }: Tools): Shell => {
  const bin = path.join(dir, 'bin');
  const cache = path.join(dir, 'cache');
  for (const it of [bin, cache]) fs.mkdirSync(it);
  const programs = {
    node,
    npm: path.join(npm, 'bin/npm-cli.js'),
    npx: path.join(npm, 'bin/npx-cli.js'),
    sh: '/bin/sh',
  };
  for (const [name, target] of Object.entries(programs)) fs.symlinkSync(target, path.join(bin, name));
  // what npm has downloaded before, but not what npx has installed
  const downloads = path.join(os.homedir(), '.npm/_cacache');
  if (fs.existsSync(downloads)) fs.symlinkSync(downloads, path.join(cache, '_cacache'));
  const env = {
    ...Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(npm_|node_|vitest|dovetail|database)/i.test(name)),
    ),
    PATH: bin,
    npm_config_cache: cache,
    npm_config_userconfig: path.join(dir, 'npmrc'),
    ...wayToRegistry(dir),
    npm_config_prefer_offline: 'true',
    npm_config_update_notifier: 'false',
    NO_COLOR: '1',
  };
  const run: Shell['run'] = async (cwd, [program = '', ...args], more = {}) => {
    const child = spawn(program, args, { cwd, env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = outputOf(child);
    const [code] = await once(child, 'close');
    const said = `${[program, ...args].join(' ')}:\n${output()}`;
    assert.equal(code, 0, said);
    assert.doesNotMatch(output(), /\bwarn|deprecat|experimental/i, said);
    return output();
  };
  return { env, run };
};

/** Proxies and certificates belong to the machine, not to the stranger. */
const wayToRegistry = (dir: string): NodeJS.ProcessEnv => {
  const config: Readonly<Record<string, unknown>> = JSON.parse(
    execFileSync('npm', ['config', 'list', '--json'], {
      cwd: dir,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  );
  const given = ['cafile', 'proxy', 'https-proxy', 'noproxy'].filter((it) => config[it]);
  const { NODE_EXTRA_CA_CERTS } = process.env;
  return {
    npm_config_registry: realRegistry,
    ...Object.fromEntries(given.map((it) => [`npm_config_${it.replaceAll('-', '_')}`, String(config[it])])),
    ...(NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS }),
  };
};

const realRegistry = process.env['npm_config_registry'] ?? 'https://registry.npmjs.org/';

const outputOf = ({ stdout, stderr }: ChildProcess): (() => string) => {
  let output = '';
  for (const it of [stdout, stderr])
    it?.on('data', (chunk) => {
      output += String(chunk);
    });
  return () => output;
};

// ---- what the stranger does

const install = async (dir: string, packages: readonly Packed[], { run }: Shell): Promise<number> => {
  await run(dir, ['npm', 'install', ...packages.map((it) => it.tarball)]);
  const bytes = fs
    .readdirSync(path.join(dir, 'node_modules'), { recursive: true, withFileTypes: true })
    .filter((it) => it.isFile())
    .reduce((sum, it) => sum + fs.statSync(path.join(it.parentPath, it.name)).size, 0);
  return Math.round(bytes / 1e6);
};

const makeProject = async (dir: string, { run }: Shell): Promise<void> => {
  const said = await run(dir, ['npx', 'dovetail', 'init', 'blog', '--yes']);
  assert.match(said, /http:\/\/127\.0\.0\.1:1337\/api\/reference/);
};

const useProject = async (dir: string, shell: Shell): Promise<void> => {
  const project = path.join(dir, 'blog');
  for (const [file, source] of Object.entries(ownCode)) {
    fs.mkdirSync(path.dirname(path.join(project, file)), { recursive: true });
    fs.writeFileSync(path.join(project, file), source);
  }
  const served = await serve(project, ['start'], shell);
  try {
    const { url } = served;
    for (const it of ['/api/posts', '/api/posts/1?populate=*', '/api/reference', '/api/openapi.json', '/api/greeting'])
      assert.equal((await fetch(`${url}${it}`)).status, 200, it);
    const { run } = shell;
    assert.match(await run(project, ['npm', 'run', 'check']), /Model and database agree/);
    const token = /^[0-9a-f]{20,}$/m.exec(
      await run(project, ['npx', 'dovetail', 'token', 'create', '--type', 'full-access']),
    )?.[0];
    const created = await fetch(`${url}/api/posts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ data: { title: 'Written by a Stranger' } }),
    });
    assert.match(await created.text(), /"slug" ?: ?"written-by-a-stranger"/);
    await readWithClient(dir, url, shell);
  } finally {
    await served.stop();
  }
};

/** As a project of v4 may have it. */
const ownCode: Readonly<Record<string, string>> = {
  'src/api/greeting/routes/greeting.js': `module.exports = { routes: [
  { method: 'GET', path: '/greeting', handler: 'greeting.greet', config: { auth: false, policies: ['is-kind'] } },
] };`,
  'src/api/greeting/controllers/greeting.js': `module.exports = ({ strapi: app }) => ({
  async greet() { return { posts: await app.db.query('api::post.post').count() }; },
});`,
  'src/api/greeting/policies/is-kind.js': 'module.exports = async (ctx) => ctx.request.method === "GET";',
};

/** An attribute that is added to a schema file is served without a new start. */
const develop = async (dir: string, shell: Shell): Promise<void> => {
  const project = path.join(dir, 'blog');
  const served = await serve(project, ['run', 'dev'], shell);
  try {
    const file = path.join(project, 'src/api/author/content-types/author/schema.json');
    const schema = JSON.parse(fs.readFileSync(file, 'utf8'));
    schema.attributes.town = { type: 'string' };
    fs.writeFileSync(file, JSON.stringify(schema, null, 2));
    const asked = async (): Promise<number> => (await fetch(`${served.url}/api/authors?fields=town`)).status;
    const lateAt = performance.now() + LATE_MS;
    for (let status = await asked(); status !== 200; status = await asked()) {
      assert.equal(status, 400);
      assert.ok(performance.now() < lateAt, 'a change is not served');
      await setTimeout(50);
    }
  } finally {
    await served.stop();
  }
};

/** What few projects need is installed by them: a start without it says so. */
const missPackages = async (dir: string, { env }: Shell): Promise<void> => {
  const project = path.join(dir, 'blog');
  fs.writeFileSync(
    path.join(project, 'dovetail.config.ts'),
    "export default { upload: { s3: { bucket: 'pictures' } } };",
  );
  const child = spawn('node', ['node_modules/dovetail/bin/dovetail.js', 'start'], {
    cwd: project,
    env: { ...env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LATE_MS,
  });
  const output = outputOf(child);
  const [code] = await once(child, 'close');
  assert.equal(code, 1, output());
  assert.match(output(), /uploads in S3 need the AWS client: npm install @aws-sdk\/client-s3 /);
  assert.doesNotMatch(output(), /"level":[456]0|\n {4}at /);
};

/** The client is installed in the folder above the project. */
const readWithClient = async (dir: string, url: string, { run }: Shell): Promise<void> => {
  const project = path.join(dir, 'blog');
  await run(project, ['npm', 'run', 'types']);
  fs.writeFileSync(path.join(project, 'src/front.ts'), typedReader);
  await run(project, ['npm', 'run', 'typecheck']);
  fs.writeFileSync(path.join(dir, 'front.mjs'), reader);
  assert.equal(await run(dir, ['node', 'front.mjs', url]), 'Tom Okafor\n');
};

const reader = `import { createClient } from 'dovetail-client';

const api = createClient({ url: process.argv[2] });
const { data } = await api.collection('posts').findOne(2, { fields: ['title'], populate: { author: { fields: ['name'] } } });
console.log(data.attributes.author.data.attributes.name);
`;

const typedReader = `import { createClient } from 'dovetail-client';
import type { Schema } from './schema.js';

const api = createClient<Schema>({ url: 'http://127.0.0.1:1337' });
const { data } = await api.collection('posts').findOne(2, { fields: ['title'], populate: { author: { fields: ['name'] } } });
export const name: string | undefined = data.attributes.author.data?.attributes.name;
`;

/** Something hangs that takes so long. */
const LATE_MS = 60_000;

/** @param args what npm runs. */
const serve = async (project: string, args: readonly string[], { env }: Shell) => {
  const port = await freePort();
  const child = spawn('npm', args, {
    cwd: project,
    env: { ...env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
    // npm's signals do not reach what its shell runs
    detached: true,
  });
  const output = outputOf(child);
  const stop = async (): Promise<void> => {
    const ended = once(child, 'exit');
    process.kill(-child.pid!, 'SIGTERM');
    await ended;
    assert.doesNotMatch(output(), /\bwarn|deprecat|experimental|"level":[456]0/i, output());
  };
  const ended = once(child, 'exit').then(() => {
    throw new Error(`the server ended:\n${output()}`);
  });
  const serving = new Promise<void>((resolve) => {
    child.stdout.on('data', () => output().includes('"serving ') && resolve());
  });
  let isServing = false;
  const late = setTimeout(LATE_MS, null, { ref: false }).then(() => {
    if (isServing) return;
    process.kill(-child.pid!, 'SIGKILL');
    throw new Error(`npm ${args.join(' ')} does not serve:\n${output()}`);
  });
  await Promise.race([serving, ended, late]);
  isServing = true;
  for (const it of [ended, late]) it.catch(() => undefined);
  return { url: `http://127.0.0.1:${port}`, stop };
};

const freePort = async (): Promise<number> => {
  const probe = net.createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
};
