/** What the packages contain, and what their package.json says of it. */
import fs from 'node:fs';
import path from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder } from '../world/folders.js';
import { type Packed, pack, root, type Workspace, workspaces } from './packed.js';

let dir = '';
const packed = new Map<Workspace, Packed>();
beforeAll(() => {
  dir = newFolder();
  for (const it of workspaces) packed.set(it, pack(it, dir));
});
afterAll(() => fs.rmSync(dir, { recursive: true }));

const filesOf = (workspace: Workspace): readonly string[] => packed.get(workspace)!.files;
const listed = (folder: string): readonly string[] =>
  fs
    .readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
    .filter((it) => it.isFile())
    .map((it) => path.relative(path.join(root, folder), path.join(it.parentPath, it.name)))
    .sort();

/** Relative imports, static and dynamic. */
const imported = /^(?:import|export|\}).*\bfrom ['"](\.[^'"]+)['"]|\bimport\(['"](\.[^'"]+)['"]\)/gm;

describe.each(workspaces)('packages/%s', (workspace) => {
  it('has its licence and a README, and no sources or tests', () => {
    const files = filesOf(workspace);
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
    expect(files.filter((it) => /^(src|test|bench)\/|\.test\.|tsconfig(?!\.json$)|\.tsbuildinfo$/.test(it))).toEqual(
      [],
    );
  });

  it('has every file that one of its files imports', () => {
    const files = filesOf(workspace);
    const missing = files
      .filter((it) => /\.(?:js|d\.ts)$/.test(it) && !it.startsWith('templates/'))
      .flatMap((file) =>
        [...fs.readFileSync(path.join(root, 'packages', workspace, file), 'utf8').matchAll(imported)]
          .map(([, still, late]) => still ?? late ?? '')
          .map((from) => path.join(path.dirname(file), file.endsWith('.d.ts') ? from.replace(/\.js$/, '.d.ts') : from))
          .filter((it) => !files.includes(it))
          .map((it) => `${file} imports ${it}`),
      );
    expect(missing).toEqual([]);
  });

  it('publint finds nothing in its tarball', async () => {
    const { tarball } = packed.get(workspace)!;
    const bytes = fs.readFileSync(tarball);
    const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(bytes).buffer }, strict: true });
    expect(messages.map((it) => formatMessage(it, pkg))).toEqual([]);
  });

  it('is of the same version and licence as the others, and needs the same Node.js', () => {
    const { version, manifest } = packed.get(workspace)!;
    const server = packed.get('server')!;
    expect({ version, license: manifest['license'], engines: manifest['engines'] }).toEqual({
      version: server.version,
      license: 'MIT',
      engines: server.manifest['engines'],
    });
    expect(fs.readFileSync(path.join(root, 'packages', workspace, 'LICENSE'), 'utf8')).toBe(
      fs.readFileSync(path.join(root, 'LICENSE'), 'utf8'),
    );
  });
});

describe('the package dovetail', () => {
  it('has the command, its bundle, the licences of what is bundled, and nothing else of what is built', () => {
    const files = filesOf('server');
    expect(files).toEqual(
      expect.arrayContaining([
        'bin/dovetail.js',
        'dist/cli/main.js',
        'dist/bundle/cli/program.cjs',
        'dist/bundle/LICENCES.txt',
      ]),
    );
    const places = new Set(
      files.map((it) =>
        it
          .split('/')
          .slice(0, it.startsWith('dist/') ? 2 : 1)
          .join('/'),
      ),
    );
    expect([...places].sort()).toEqual([
      'LICENSE',
      'README.md',
      'bin',
      'deploy',
      'dist/bundle',
      'dist/cli',
      'dist/handlers',
      'dist/studio',
      'dist/types',
      'dist/v4code',
      'package.json',
      'templates',
    ]);
  });

  it('has the declarations that its exports lead to, and no others', () => {
    const files = filesOf('server').filter((it) => it.endsWith('.d.ts'));
    expect(files).toContain('dist/types/handlers/handlers.d.ts');
    expect(files.filter((it) => !it.startsWith('dist/types/'))).toEqual([]);
    expect(files.length).toBeLessThan(25);
  });

  it('has every file of the templates', () => {
    const templates = filesOf('server').filter((it) => it.startsWith('templates/'));
    expect(templates).toEqual(listed('packages/server/templates').map((it) => `templates/${it}`));
  });

  it('create-dovetail depends on this version of it', () => {
    const { version } = packed.get('server')!;
    expect(packed.get('create-dovetail')!.manifest['dependencies']).toEqual({ dovetail: version });
  });
});
