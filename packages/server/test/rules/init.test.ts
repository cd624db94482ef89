/** `dovetail init`: what it writes, what it refuses, and that what it writes does what its README says. Needs the build in dist/. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packageManagerOf, sourceOf } from '../../src/cli/init/packages.js';
import {
  type Language,
  languages,
  nodeTypesSpec,
  openWith,
  type Template,
  templates,
  typescriptSpec,
} from '../../src/cli/init/template.js';
import { dialects, newDatabase } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { freePort } from '../world/process.js';

const server = path.join(import.meta.dirname, '../..');
const root = path.join(server, '../..');
const main = path.join(server, 'dist/cli/main.js');

let dir = '';
beforeEach(() => {
  dir = newFolder();
});
afterEach(() => fs.rmSync(dir, { recursive: true }));

interface Result {
  readonly code: number | null;
  readonly out: string;
  readonly said: string;
}

interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What to type once the output shows something, in this order. */
  readonly typed?: readonly (readonly [shown: string, keys: string])[];
}

/** Runs a program to its end. The Node of the tests comes first in the PATH. */
const run = async (
  program: string,
  args: readonly string[],
  { cwd = dir, env = {}, typed = [] }: RunOptions = {},
): Promise<Result> => {
  const PATH = `${path.dirname(process.execPath)}:${process.env['PATH']}`;
  const child = spawn(program, args, { cwd, env: { ...process.env, PATH, ...env }, timeout: 60_000 });
  const text = { out: '', said: '' };
  const left = [...typed];
  child.stdout.on('data', (chunk) => {
    text.out += stripVTControlCharacters(String(chunk));
    for (const [shown, keys] of left.slice(0, 1)) {
      if (!text.out.includes(shown)) continue;
      left.shift();
      child.stdin.write(keys);
    }
  });
  child.stderr.on('data', (chunk) => {
    text.said += String(chunk);
  });
  if (typed.length === 0) child.stdin.end();
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...text };
};

const init = (...args: readonly string[]): Promise<Result> => run(process.execPath, [main, 'init', ...args]);
/** A terminal of `script` is as wide as it is told. */
const onTerminal = (args: readonly string[], typed: NonNullable<RunOptions['typed']>): Promise<Result> =>
  run(
    'script',
    ['-qec', `stty cols 100 rows 40; "${process.execPath}" "${main}" init ${args.join(' ')}`, '/dev/null'],
    {
      typed,
    },
  );
const read = (file: string): string => fs.readFileSync(path.join(dir, file), 'utf8');
const filesOf = (folder: string): readonly string[] =>
  fs
    .readdirSync(path.join(dir, folder), { recursive: true, withFileTypes: true })
    .filter((it) => it.isFile())
    .map((it) => path.relative(path.join(dir, folder), path.join(it.parentPath, it.name)))
    .sort();
const secretsOf = (folder: string): readonly string[] =>
  [...read(`${folder}/.env`).matchAll(/^(?:JWT_SECRET|API_TOKEN_SALT)=(.*)$/gm)].map(([, secret = '']) => secret);

describe('init', () => {
  it('writes a project, and says what to run and what to open', async () => {
    const { code, out, said } = await init('blog', '--yes', '--no-install');
    expect({ code, said }).toEqual({ code: 0, said: '' });
    expect(out).toContain(`Created ${path.join(dir, 'blog')}`);
    expect(out).toMatch(/^ {2}cd blog\n {2}npm install\n {2}npm run dev$/m);
    expect(out).toMatch(/^ {2}http:\/\/127\.0\.0\.1:1337\/api\/reference +every path/m);
    expect(filesOf('blog')).toEqual([
      '.env',
      '.env.example',
      '.gitignore',
      '.npmrc',
      'README.md',
      'database/seed/authors.json',
      'database/seed/permissions.json',
      'database/seed/posts.json',
      'dovetail.config.ts',
      'package.json',
      'src/api/author/content-types/author/schema.json',
      'src/api/author/handlers.ts',
      'src/api/post/content-types/post/schema.json',
      'src/api/post/handlers.ts',
      'src/components/blocks/quote.json',
      'src/components/blocks/text.json',
      'src/components/shared/seo.json',
      'tsconfig.json',
    ]);
    expect(filesOf('blog').filter((it) => /\{\{/.test(read(`blog/${it}`)))).toEqual([]);
  });

  it('in JavaScript a project has the same files, without those of the compiler', async () => {
    await init('one', '--yes', '--no-install');
    await init('two', '--yes', '--no-install', '--language', 'javascript');
    const inTypescript = filesOf('one').filter((it) => it !== 'tsconfig.json');
    expect(filesOf('two')).toEqual(inTypescript.map((it) => it.replace(/\.ts$/, '.js')).sort());
    expect(read('two/package.json')).not.toContain('tsc');
    expect(read('two/README.md')).not.toMatch(/\.ts`/);
  });

  it('makes fresh secrets, which only their owner may read, and leaves them out of .env.example', async () => {
    await init('one', '--yes', '--no-install');
    await init('two', '--yes', '--no-install');
    const secrets = ['one', 'two'].flatMap(secretsOf);
    expect(new Set(secrets).size).toBe(4);
    expect(Math.min(...secrets.map((it) => it.length))).toBeGreaterThanOrEqual(44);
    expect(fs.statSync(path.join(dir, 'one/.env')).mode & 0o777).toBe(0o600);
    expect(read('one/.env.example')).toMatch(/^JWT_SECRET=\nAPI_TOKEN_SALT=$/m);
    expect(read('one/.gitignore')).toMatch(/^\.env$/m);
  });

  it('keeps backups and what a restore puts aside out of git', async () => {
    await init('one', '--yes', '--no-install');
    expect(await run('git', ['init', '-q'], { cwd: path.join(dir, 'one') })).toMatchObject({ code: 0 });
    const copies = [
      'backup-2026-11-22-093600.db',
      'backup-2026-11-22-093600.db.uploads/cat.png',
      'backup-2026-11-22-093600.dump',
      'public/uploads.before-restore-2026-11-22-093600/cat.png',
      '.tmp/data.db.before-restore-2026-11-22-093600',
      // of a restore that was killed
      'public/uploads.part/cat.png',
    ];
    const { out } = await run('git', ['check-ignore', ...copies, 'README.md'], { cwd: path.join(dir, 'one') });
    expect(out.trim().split('\n')).toEqual(copies);
  });

  it('names the package after the folder, as npm allows it', async () => {
    await init('My Blog (2)', '--yes', '--no-install');
    expect(JSON.parse(read('My Blog (2)/package.json'))).toMatchObject({ name: 'my-blog-2', type: 'module' });
  });

  it('asks for the compiler that Dovetail itself is checked with', () => {
    const { devDependencies } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
    expect(typescriptSpec).toBe(devDependencies.typescript);
    const own = JSON.parse(fs.readFileSync(path.join(server, 'package.json'), 'utf8'));
    expect(nodeTypesSpec).toBe(own.devDependencies['@types/node']);
  });

  it('refuses a folder that is not empty, and a file; a new repository is empty', async () => {
    fs.mkdirSync(path.join(dir, 'full'));
    for (const name of ['a.txt', 'b.txt']) fs.writeFileSync(path.join(dir, 'full', name), '');
    expect(await init('full', '--yes')).toEqual({
      code: 1,
      out: '',
      said: 'full is not empty: it contains a.txt and 1 more. A new project needs an empty folder; nothing was written.\n',
    });
    expect(filesOf('full')).toEqual(['a.txt', 'b.txt']);
    expect((await init('full/a.txt', '--yes')).said).toMatch(/^full\/a\.txt is not a folder\. /);
    expect((await init('x'.repeat(300), '--yes')).said).toMatch(/^x+ cannot be read: ENAMETOOLONG/);
    fs.mkdirSync(path.join(dir, 'cloned/.git'), { recursive: true });
    expect(await init('cloned', '--yes', '--no-install')).toMatchObject({ code: 0 });
    fs.mkdirSync(path.join(dir, 'empty'));
    const here = await run(process.execPath, [main, 'init', '.', '--yes', '--no-install'], {
      cwd: path.join(dir, 'empty'),
    });
    expect(here.out).toMatch(/^Next:\n\n {2}npm install\n/m);
  });

  it('without a terminal it says what to pass', async () => {
    const { code, said } = await init('blog');
    expect(code).toBe(2);
    expect(said).toBe(
      'There is no terminal to ask on. Pass --yes for the defaults: dovetail init blog --yes\nOther choices: --template blog|empty, --language typescript|javascript, --no-install\n',
    );
    expect(fs.existsSync(path.join(dir, 'blog'))).toBe(false);
    expect((await init('blog', '--template', 'shop')).said).toMatch(/Allowed choices are blog, empty\./);
  });

  it('on a terminal it asks for what is not given', async () => {
    const typed = [
      ['Which folder?', '\r'],
      ['Which template?', '\u001b[B\r'],
    ] as const;
    const { code, out } = await onTerminal(['--language', 'javascript', '--no-install'], typed);
    expect(out).toMatch(/Which folder\?.*Which template\?.*template empty, JavaScript/s);
    expect(out).not.toContain('Language for handlers');
    expect(code).toBe(0);
    expect(JSON.parse(read('my-project/package.json'))).toMatchObject({ name: 'my-project' });
  });

  it('cancelled, it writes nothing', async () => {
    const { code, out } = await onTerminal([], [['Which folder?', '\u0003']]);
    expect(out).toContain('Cancelled; nothing was written.');
    expect(code).toBe(1);
    expect(filesOf('.')).toEqual([]);
  });

  it.each([
    ['npm/11.19.1 node/v26.10.0 linux x64 workspaces/false', 'npm'],
    ['pnpm/10.4.0 npm/? node/v24.1.0 linux x64', 'pnpm'],
    ['yarn/1.22.22 npm/? node/v22.18.0 linux x64', 'yarn'],
    [undefined, 'npm'],
  ])('%s installs with %s', (userAgent, manager) => {
    expect(packageManagerOf(userAgent)).toBe(manager);
  });

  it.each([
    ['0.1.0', '^0.1.0'],
    ['file:dovetail-0.1.0.tgz', 'file:../dovetail-0.1.0.tgz'],
    ['../packed/dovetail-0.1.0.tgz', 'file:../../packed/dovetail-0.1.0.tgz'],
    ['https://example.org/dovetail.tgz', 'https://example.org/dovetail.tgz'],
    ['someone/dovetail#main', 'someone/dovetail#main'],
    [undefined, '^0.1.0'],
  ])('installed as %s, a project asks for %s', (asked, spec) => {
    const installed = path.join(dir, 'node_modules/dovetail');
    fs.mkdirSync(installed, { recursive: true });
    fs.writeFileSync(path.join(installed, 'package.json'), '{ "version": "0.1.0" }');
    const dependencies = asked === undefined ? {} : { dovetail: asked };
    fs.writeFileSync(path.join(dir, 'package.json'), JSON.stringify({ dependencies }));
    expect(sourceOf(path.join(dir, 'blog'), installed)).toEqual({ spec, settings: [] });
  });

  it('run from a checkout, a project asks for a copy of it', async () => {
    await init('blog', '--yes', '--no-install');
    const { dependencies } = JSON.parse(read('blog/package.json'));
    const [, place = ''] = /^file:(.*)$/.exec(dependencies.dovetail) ?? [];
    expect(path.resolve(dir, 'blog', place)).toBe(server);
    expect(read('blog/.npmrc')).toBe('install-links=true\n');
  });
});

// ---- what it writes

/** A project as `npm install` would leave it, with this package and the compiler. */
const newProject = async (template: Template, language: Language): Promise<string> => {
  const project = path.join(dir, 'project');
  const made = await init('project', '--yes', '--no-install', '--template', template, '--language', language);
  expect(made).toMatchObject({ code: 0, said: '' });
  const bin = path.join(project, 'node_modules/.bin');
  fs.mkdirSync(bin, { recursive: true });
  fs.symlinkSync(server, path.join(project, 'node_modules/dovetail'), 'dir');
  fs.symlinkSync(path.join(server, 'bin/dovetail.js'), path.join(bin, 'dovetail'));
  fs.symlinkSync(path.join(root, 'node_modules/.bin/tsc'), path.join(bin, 'tsc'));
  fs.symlinkSync(path.join(root, 'node_modules/@types'), path.join(project, 'node_modules/@types'), 'dir');
  // what @types/node itself depends on
  fs.symlinkSync(path.join(root, 'node_modules/undici-types'), path.join(project, 'node_modules/undici-types'), 'dir');
  return project;
};

const ended = async (child: ChildProcess): Promise<never> => {
  const [code] = await once(child, 'exit');
  throw new Error(`the server ended with ${code}`);
};

/** Starts the project, and waits until it serves. */
const serve = async (project: string, env: Readonly<Record<string, string>>) => {
  const port = await freePort();
  const child = spawn(process.execPath, [main, 'start', '--project', project], {
    env: { ...process.env, ...env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let log = '';
  child.stdout.on('data', (chunk) => {
    log += String(chunk);
  });
  while (!log.includes('"serving ')) await Promise.race([once(child.stdout, 'data'), ended(child)]);
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  };
  return { url: `http://127.0.0.1:${port}`, log, stop };
};

const get = async (url: string): Promise<{ readonly status: number; readonly text: string }> => {
  const response = await fetch(url);
  return { status: response.status, text: await response.text() };
};

const kinds = templates.flatMap((template) => languages.map((language) => ({ template, language })));

describe.each(dialects)('a new project on %s', (dialect) => {
  // handlers do not know the database
  it.each(kinds.filter(({ language }) => dialect === 'sqlite' || language === 'typescript'))(
    'does what its README says: $template, $language',
    async ({ template, language }) => {
      const project = await newProject(template, language);
      const database = await newDatabase(dialect);
      const readme = fs.readFileSync(path.join(project, 'README.md'), 'utf8');
      // the first file that it tells its reader to save
      const [, file, text] = /^Save this as `([^`]+)`:\n\n```json\n(.*?)^```$/ms.exec(readme) ?? [];
      if (file !== undefined) {
        fs.mkdirSync(path.dirname(path.join(project, file)), { recursive: true });
        fs.writeFileSync(path.join(project, file), text!);
      }
      const { url, log, stop } = await serve(project, database.env);
      try {
        expect(log.split('\n').filter((it) => /"level":[456]0/.test(it) && !it.includes('role public'))).toEqual([]);
        const here = (it: string): string => it.replaceAll('http://127.0.0.1:1337', url);
        const commands = [...readme.matchAll(/^```sh\n(.*?)^```$/gms)]
          .map(([, block = '']) => here(block))
          .filter((it) => !it.startsWith('npm install'));
        const script = commands.join('\n').replaceAll('npx dovetail', 'node_modules/.bin/dovetail');
        const ran = await run('bash', ['-euc', `${script}`], { cwd: project, env: database.env });
        expect(ran).toMatchObject({ code: 0 });
        expect(ran.out).toMatch(template === 'blog' ? /"slug" ?: ?"creme-brulee-twice"/ : /"title" ?: ?"First"/);
        expect(
          fs.readFileSync(path.join(project, language === 'typescript' ? 'src/schema.ts' : 'src/schema.d.ts'), 'utf8'),
        ).toContain('export interface Schema');

        const urls = [...readme.matchAll(/<(http:[^>]+)>/g)].map(([, it = '']) => here(it));
        const openFirst = openWith[template].flatMap(([place]) => (place.startsWith('http') ? [here(place)] : []));
        expect(urls).toEqual(expect.arrayContaining(openFirst));
        for (const it of urls) {
          const answer = await get(it);
          const isMisspelt = it.endsWith('populate=autor');
          expect([it, answer.status]).toEqual([it, isMisspelt ? 400 : 200]);
          if (isMisspelt) expect(answer.text).toContain('Did you mean \\"author\\"?');
          else if (!/\/(?:reference|studio)$/.test(it)) expect(JSON.parse(answer.text).data).not.toEqual([]);
        }
      } finally {
        await stop();
        await database.drop();
      }
    },
  );
});

describe('the code of a new project', () => {
  it.each(languages)('is right for the compiler: %s', async (language) => {
    const project = await newProject('blog', language);
    if (language === 'javascript') {
      const compilerOptions = {
        allowJs: true,
        checkJs: true,
        strict: true,
        noEmit: true,
        module: 'nodenext',
        types: [],
      };
      fs.writeFileSync(
        path.join(project, 'tsconfig.json'),
        JSON.stringify({ compilerOptions, include: ['src', '*.js'] }),
      );
    }
    expect(await run('node_modules/.bin/tsc', [], { cwd: project })).toEqual({ code: 0, out: '', said: '' });
  });

  it.each(templates)(
    'is right for the compiler before the first change, and with a script that uses Node: %s',
    async (template) => {
      const project = await newProject(template, 'typescript');
      const checked = { code: 0, out: '', said: '' };
      expect(await run('node_modules/.bin/tsc', [], { cwd: project })).toEqual(checked);
      fs.mkdirSync(path.join(project, 'src'), { recursive: true });
      fs.writeFileSync(path.join(project, 'src/script.ts'), "export const port: string = process.env['PORT'] ?? '';\n");
      expect(await run('node_modules/.bin/tsc', [], { cwd: project })).toEqual(checked);
    },
  );

  it('the lists and entries of its types are described with their parameters and responses', async () => {
    const { url, stop } = await serve(await newProject('blog', 'javascript'), {});
    try {
      const { text } = await get(`${url}/api/openapi.json`);
      expect(text).not.toContain('Answered by code of the project');
      const { paths } = JSON.parse(text) as { readonly paths: Record<string, { readonly get: { parameters: [] } }> };
      expect(paths['/api/posts']!.get.parameters).not.toEqual([]);
    } finally {
      await stop();
    }
  });

  it('an author who has posts stays, one without goes', async () => {
    const project = await newProject('blog', 'javascript');
    const { url, stop } = await serve(project, {});
    try {
      const made = await run('node_modules/.bin/dovetail', ['token', 'create', '--type', 'full-access'], {
        cwd: project,
      });
      const [token = ''] = made.out.split('\n');
      const ask = async (method: string, target: string, data?: unknown) => {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
        const response = await fetch(`${url}${target}`, {
          method,
          headers,
          ...(data ? { body: JSON.stringify({ data }) } : {}),
        });
        return { status: response.status, body: await response.json() };
      };
      expect(await ask('DELETE', '/api/authors/1')).toMatchObject({
        status: 409,
        body: { error: { message: 'An author who has posts cannot be deleted' } },
      });
      const { body } = await ask('POST', '/api/authors', { name: 'Somebody' });
      const { id } = (body as { readonly data: { readonly id: number } }).data;
      expect((await ask('DELETE', `/api/authors/${id}`)).status).toBe(200);
      const titles = async (query: string): Promise<readonly string[]> => {
        const list = await ask('GET', `/api/posts?fields=title${query}`);
        const { data } = list.body as { readonly data: readonly { readonly attributes: { readonly title: string } }[] };
        return data.map((it) => it.attributes.title);
      };
      const newest = ['A Shed Is a Calendar', 'The Case for Late Potatoes', 'What the Rain Gauge Said'];
      expect(await titles('&sort=publishedOn:desc')).toEqual(newest);
      expect(await titles('&sort=publishedOn')).toEqual([...newest].reverse());
    } finally {
      await stop();
    }
  });
});
