/** The bundle (`build.mjs`): what each command and thread loads at once, by the static imports of the built files. */
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const bundle = path.join(import.meta.dirname, '../../dist/bundle');

interface Loaded {
  /** Below `dist/bundle`. */
  readonly files: ReadonlySet<string>;
  /** What is imported from outside of the bundle, without Node's own modules. */
  readonly packages: ReadonlySet<string>;
}

const loadedBy = (...roots: readonly string[]): Loaded => {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    for (const [, name = ''] of textOf(file).matchAll(/^(?:import|export) (?:.* from )?"([^"]+)";$/gm))
      if (name.startsWith('.')) visit(path.join(path.dirname(file), decodeURIComponent(name)));
      else if (!name.startsWith('node:')) packages.add(name);
  };
  roots.forEach(visit);
  return { files, packages };
};

const textOf = (file: string): string => fs.readFileSync(path.join(bundle, file), 'utf8');

const filesWith = (text: string): readonly string[] => {
  const all = fs.readdirSync(path.join(bundle, 'cli')).map((it) => `cli/${it}`);
  return all.filter((it) => it.endsWith('.js') && textOf(it).includes(text));
};

const SERVER = 'cli/server.js';

describe('the bundle', () => {
  it('has the server in one file, which start and dev load', () => {
    for (const command of ['cli/start.js', 'cli/dev.js']) expect(loadedBy(command).files).toContain(SERVER);
    expect(loadedBy('cli/start.js').files.size).toBeLessThan(45);
  });

  it('has no database and no schema in what is loaded before a command is known', () => {
    const { files, packages } = loadedBy('cli/program.js');
    expect([...packages]).toEqual([]);
    expect(files).not.toContain('cli/project.js');
    const bytes = [...files].reduce((sum, it) => sum + textOf(it).length, 0);
    expect(bytes).toBeLessThan(150_000);
  });

  it.each(['supervisor', 'init', 'check', 'migrate', 'types', 'export', 'adopt'])('has no server in %s', (command) => {
    expect(loadedBy(`cli/${command}.js`).files).not.toContain(SERVER);
  });

  it.each(['openSqlite', 'openPostgres'])('has no server in %s, nor the other database', (open) => {
    const files = filesWith(`const ${open} = `);
    expect(files).toHaveLength(1);
    const loaded = loadedBy(...files);
    expect(loaded.files).not.toContain(SERVER);
    expect([...loaded.packages]).toEqual(open === 'openSqlite' ? ['better-sqlite3'] : []);
  });

  it('has little in a thread', () => {
    const { files, packages } = loadedBy('read/thread.js');
    expect([...packages]).toEqual(['better-sqlite3']);
    const bytes = [...files].reduce((sum, it) => sum + textOf(it).length, 0);
    expect(bytes).toBeLessThan(150_000);
  });

  it('has no files that import each other in a circle', () => {
    const circular = [...loadedBy('cli/dev.js', 'cli/program.js').files].filter((file) => {
      const ahead = [...textOf(file).matchAll(/^(?:import|export) (?:.* from )?"(\.[^"]+)";$/gm)].map(([, name = '']) =>
        path.join(path.dirname(file), decodeURIComponent(name)),
      );
      return ahead.some((it) => loadedBy(it).files.has(file));
    });
    expect(circular).toEqual([]);
  });
});
