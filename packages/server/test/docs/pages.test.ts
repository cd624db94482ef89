/**
 * Runs every example of the documentation, page by page, on a fresh copy of the example magazine: requests, commands, scripts;
 * their answers must be those on the page. With DOVETAIL_WRITE_DOCS=1 the answers are written into the pages instead: review
 * the diff before you commit it. docs/README.md says how pages are written.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { dialects } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { guideNames, type Page, readPage, root, type Step } from './pages.js';
import { isWriting, play } from './play.js';
import { modulesOf } from './session.js';

const pages = guideNames.map(readPage);
const stepsOf = ({ sections }: Page): readonly Step[] => sections.flatMap((it) => it.steps);

/** Where a page's commands run: README's in the repository, those of most pages in the example's folder. */
const folders: Readonly<Record<string, string>> = { 'README.md': '.', 'docs/moving-from-v4.md': 'examples/bistro' };
const folderOf = ({ name }: Page): string => folders[name] ?? 'examples/magazine';

for (const page of pages) {
  const steps = stepsOf(page);
  // commands and scripts take longer, and are the same on both databases
  const isHttp = steps.every((it) => it.kind !== 'command' && it.kind !== 'script');
  if (steps.length > 0)
    describe.each(isHttp ? dialects : dialects.slice(0, 1))(`${page.name} on %s`, (dialect) =>
      play(page, dialect, steps, folderOf(page)),
    );
}

describe('the pages', () => {
  it('every block that no test runs is known, with its reason', () => {
    const file = path.join(import.meta.dirname, 'not-run.txt');
    const found = pages.flatMap((page) =>
      page.notRun.map(({ reason, text }) => `${page.name}: ${text.split('\n')[0]} (${reason})`),
    );
    if (isWriting) fs.writeFileSync(file, `${found.sort().join('\n')}\n`);
    expect(found.sort()).toEqual(fs.readFileSync(file, 'utf8').trim().split('\n').sort());
  });

  it('the page of the command line has a section for every command', () => {
    const command = path.join(root, 'packages/server/bin/dovetail.js');
    const { stdout } = spawnSync(process.execPath, [command, '--help'], { encoding: 'utf8' });
    const [, list = ''] = stdout.split('Commands:\n');
    const commands = [...list.matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name!).filter((it) => it !== 'help');
    const headings = readPage('docs/command-line.md').sections.flatMap(({ title }) => title.split(' and '));
    expect(commands.filter((it) => !headings.includes(it))).toEqual([]);
    expect(commands.length).toBeGreaterThan(10);
  });

  it('TypeScript on the pages compiles', () => {
    const dir = newFolder();
    afterAll(() => fs.rmSync(dir, { recursive: true }));
    fs.symlinkSync(path.join(root, 'node_modules'), path.join(dir, 'node_modules'));
    fs.copyFileSync(path.join(root, 'packages/client/test/magazine/schema.ts'), path.join(dir, 'schema.ts'));
    for (const page of pages) {
      const steps = stepsOf(page);
      const files = steps.flatMap((it) => (it.kind === 'file' && it.path.endsWith('.ts') ? [it.text] : []));
      const modules = [...modulesOf(steps).values()].filter(({ blocks }) => blocks[0]!.language === 'ts');
      const texts = [...modules.map((it) => it.text), ...files];
      for (const [i, text] of texts.entries())
        fs.writeFileSync(path.join(dir, `${page.name.replaceAll('/', '-')}-${i}.ts`), `${text}\nexport {};\n`);
    }
    const options = {
      target: 'ES2023',
      lib: ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
      module: 'NodeNext',
      strict: true,
      noUncheckedIndexedAccess: true,
      allowImportingTsExtensions: true,
      noEmit: true,
      skipLibCheck: true,
      types: ['node'],
    };
    fs.writeFileSync(path.join(dir, 'package.json'), '{ "type": "module" }');
    fs.writeFileSync(path.join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts'] }));
    const tsc = path.join(root, 'node_modules/.bin/tsc');
    const { stdout } = spawnSync(tsc, ['-p', dir, '--pretty', 'false'], { encoding: 'utf8' });
    expect(stdout).toBe('');
  });
});
