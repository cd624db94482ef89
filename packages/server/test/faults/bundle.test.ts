/** What `dovetail` runs is a bundle: its log names the sources, and it needs no package that is not installed with it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { expect, it } from 'vitest';
import { newFolder } from '../world/folders.js';
import { freePort } from '../world/process.js';
import { contentType, typeFile, writeFiles } from '../world/schemas.js';

const root = path.join(import.meta.dirname, '../..');

interface Fault {
  readonly err?: { readonly type: string; readonly message: string; readonly stack: string };
}

it("a fault's stack trace in the log names the lines of the sources, and the project's own files as they are", async () => {
  const dir = newFolder();
  writeFiles(dir, {
    'package.json': { type: 'module' },
    'dovetail.config.json': { permissions: { enabled: false } },
    [typeFile('note')]: contentType('note', { text: { type: 'string' } }),
    'src/api/note/handlers.js': 'export default { find: () => 1n, findOne: async () => { throw new Error("mine"); } };',
    // no uploads can be stored below it
    public: '',
  });
  const port = await freePort();
  const child = spawn(process.execPath, [path.join(root, 'dist/cli/main.js'), 'start', '--project', dir], {
    env: { ...process.env, HOST: '127.0.0.1', PORT: String(port), DATABASE_CLIENT: 'sqlite', LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let log = '';
  child.stdout.on('data', (bytes: Buffer) => {
    log += String(bytes);
  });
  const until = async <T>(find: (line: string) => T | undefined): Promise<T> => {
    for (;;) {
      for (const line of log.split('\n').slice(0, -1)) {
        const found = find(line);
        if (found !== undefined) return found;
      }
      await once(child.stdout, 'data');
    }
  };
  const faultOf = (message: RegExp) =>
    until((line) => {
      const parsed = JSON.parse(line) as Fault;
      if (!parsed.err || !message.test(parsed.err.message)) return undefined;
      expect(parsed.err.type).toMatch(/Error$/);
      return parsed.err.stack;
    });
  try {
    await until((line) => (line.includes('"serving ') ? true : undefined));
    expect((await fetch(`http://127.0.0.1:${port}/api/notes`)).status).toBe(500);
    const [first, ...frames] = (await faultOf(/find/))
      .split('\n')
      .filter((it) => /^\s+at /.test(it) && it.includes(root));
    const [, file, line, column] = /\(?(?:file:\/\/)?(\/[^():]+):(\d+):(\d+)\)?$/.exec(first!)!;
    expect(path.relative(path.join(root, 'src'), file!)).toMatch(/^handlers\/\w+\.ts$/);
    // where the error is made
    expect(
      fs
        .readFileSync(file!, 'utf8')
        .split('\n')
        [Number(line) - 1]!.slice(Number(column) - 1),
    ).toMatch(/^(new )?\w+\(/);
    expect(frames.filter((it) => it.includes('/dist/bundle/cli/'))).toEqual([]);
    expect((await fetch(`http://127.0.0.1:${port}/api/notes/1`)).status).toBe(500);
    expect(await faultOf(/^mine$/)).toMatch(/at .*src\/api\/note\/handlers\.js:1:\d+/);
    const form = new FormData();
    form.set('files', new Blob(['text']), 'note.txt');
    const refused = await fetch(`http://127.0.0.1:${port}/api/upload`, { method: 'POST', body: form });
    expect(refused.status).toBe(503);
    const stack = await faultOf(/mkdir/);
    expect(stack).toContain(`${root}/src/media/`);
    expect(stack).not.toContain('/dist/bundle/cli/');
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
    fs.rmSync(dir, { recursive: true });
  }
});

it('a script that throws while it is loaded throws again when it is loaded again', async () => {
  const { load } = (await import(path.join(root, 'dist/cli/compiled.js'))) as {
    readonly load: (file: string) => unknown;
  };
  const dir = newFolder();
  const file = path.join(dir, 'throws.cjs');
  fs.writeFileSync(file, 'exports.first = 1; throw new Error("native code is missing");');
  const fromBundle = path.relative(path.join(root, 'dist/bundle'), file);
  for (let i = 0; i < 2; i++) expect(() => load(fromBundle)).toThrow('native code is missing');
  fs.rmSync(dir, { recursive: true });
});

it('packages that are not bundled are dependencies', () => {
  const { dependencies, peerDependencies } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: object;
    readonly peerDependencies: object;
  };
  const files = fs.readdirSync(path.join(root, 'dist/bundle'), { recursive: true, encoding: 'utf8' });
  const ours = files.filter((it) => it.startsWith('cli') && it.endsWith('.cjs'));
  expect(ours.length).toBeGreaterThan(0);
  const named = ours.flatMap((it) => [
    ...fs.readFileSync(path.join(root, 'dist/bundle', it), 'utf8').matchAll(/\b(?:import|require)\("([^".][^"]*)"/g),
  ]);
  const packages = new Set(named.map(([, name]) => name!).filter((it) => !isBuiltin(it)));
  const known = new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies)]);
  expect([...packages].filter((it) => !known.has(it))).toEqual([]);
  expect(packages).toContain('better-sqlite3');
});
