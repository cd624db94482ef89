/**
 * The templates of new projects: folders of the package, `templates/base` for all and one for each template. They are
 * copied as they are, except that `{{name}}`, `{{ext}}` and `{{types}}` in them are replaced, and that of each pair
 * `x.ts` and `x.js` the project gets the one in its language.
 */
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { makeFolder } from '../../folders.js';
import { secretNames } from '../config.js';
import { newSecret } from '../secrets.js';
import { StartFault } from '../start-fault.js';
import { manifestOf, sourceOf } from './packages.js';

export const templates = ['blog', 'empty'] as const;
export type Template = (typeof templates)[number];

export const languages = ['typescript', 'javascript'] as const;
export type Language = (typeof languages)[number];

export interface Choices {
  /** The folder of the project, made if it does not exist. */
  readonly dir: string;
  readonly template: Template;
  readonly language: Language;
  /** Whether its dependencies are installed. */
  readonly install: boolean;
}

/** What is chosen without being asked. */
export const defaults: Choices = { dir: 'my-project', template: 'blog', language: 'typescript', install: true };

const studio = [
  'http://127.0.0.1:1337/studio',
  'content in the browser; the server prints the link that creates your account',
] as const;

/** What is worth opening first, and what it shows. */
export const openWith: Readonly<Record<Template, readonly (readonly [url: string, what: string])[]>> = {
  blog: [
    ['http://127.0.0.1:1337/api/posts?sort=publishedOn:desc', 'the posts, newest first'],
    ['http://127.0.0.1:1337/api/posts/1?populate=*', 'one of them, with its author and body'],
    studio,
    ['http://127.0.0.1:1337/api/reference', 'every path, parameter and type'],
  ],
  empty: [
    ['README.md', 'how to add the first content type'],
    studio,
    ['http://127.0.0.1:1337/api/reference', 'every path, parameter and type'],
  ],
};

/** The compiler that TypeScript projects ask for. */
export const typescriptSpec = '^7.0.2';

/** Types of Node for it: `process.env` and the like, as in the oldest Node that is supported. */
export const nodeTypesSpec = '^22.18.0';

/** The package's own folder: this module is part of a bundle. */
const packageDir = path.dirname(createRequire(import.meta.url).resolve('dovetail/package.json'));

/** Names in the package, where npm would heed or rename the real ones. */
const renamed: Readonly<Record<string, readonly string[]>> = {
  gitignore: ['.gitignore'],
  env: ['.env', '.env.example'],
};

/** Why a project cannot be made in a folder; null if it can. A repository without files is empty. */
export const folderFault = (dir: string): string | null => {
  let names: readonly string[];
  try {
    names = fs.readdirSync(dir).filter((it) => it !== '.git');
  } catch (fault) {
    const { code, message } = fault as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    return code === 'ENOTDIR' ? `${dir} is not a folder.` : `${dir} cannot be read: ${message}.`;
  }
  const [first, ...others] = names;
  if (first === undefined) return null;
  return `${dir} is not empty: it contains ${first}${others.length === 0 ? '' : ` and ${others.length} more`}.`;
};

/** Writes the files of a project and returns their number. Throws a `StartFault` if the folder cannot be written. */
export const writeProject = ({ dir, template, language }: Choices): number => {
  const files = filesOf(path.resolve(dir), template, language);
  try {
    for (const [name, text] of files) {
      const file = path.join(dir, name);
      makeFolder(path.dirname(file));
      // secrets are for their owner only
      fs.writeFileSync(file, text, name === '.env' ? { mode: 0o600 } : {});
    }
  } catch (fault) {
    throw new StartFault(`${dir} cannot be written: ${(fault as Error).message}`);
  }
  return files.size;
};

/** The texts of the files, by name. */
const filesOf = (dir: string, template: Template, language: Language): ReadonlyMap<string, string> => {
  const isTypescript = language === 'typescript';
  const values = { name: packageName(dir), ext: isTypescript ? 'ts' : 'js', types: isTypescript ? 'ts' : 'd.ts' };
  const isWanted = (name: string): boolean =>
    isTypescript ? !name.endsWith('.js') : !name.endsWith('.ts') && name !== 'tsconfig.json';
  const { spec, settings } = sourceOf(dir, packageDir);
  const files = new Map([['package.json', manifest(values, spec)], ...settings]);
  for (const folder of ['base', template].map((it) => path.join(packageDir, 'templates', it))) {
    for (const entry of fs.readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath, entry.name);
      const name = path.relative(folder, file);
      if (!entry.isFile() || !isWanted(name)) continue;
      const text = fs
        .readFileSync(file, 'utf8')
        .replace(/\{\{(name|ext|types)\}\}/g, (_, key: keyof typeof values) => values[key]);
      for (const to of renamed[name] ?? [name]) files.set(to, to === '.env' ? withSecrets(text) : text);
    }
  }
  return files;
};

const withSecrets = (text: string): string =>
  secretNames.reduce((all, name) => all.replace(`\n${name}=\n`, `\n${name}=${newSecret()}\n`), text);

/** The folder's name as npm allows it. */
const packageName = (dir: string): string =>
  path
    .basename(dir)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '') || 'project';

const manifest = ({ name, ext, types }: Readonly<Record<'name' | 'ext' | 'types', string>>, spec: string): string => {
  const isTypescript = ext === 'ts';
  const { engines } = manifestOf(packageDir);
  const text = {
    name,
    private: true,
    type: 'module',
    engines,
    scripts: {
      dev: 'dovetail dev',
      start: 'dovetail start',
      check: 'dovetail check',
      types: `dovetail types --out src/schema.${types}`,
      ...(isTypescript ? { typecheck: 'tsc' } : {}),
    },
    dependencies: { dovetail: spec },
    ...(isTypescript ? { devDependencies: { '@types/node': nodeTypesSpec, typescript: typescriptSpec } } : {}),
  };
  return `${JSON.stringify(text, null, 2)}\n`;
};
