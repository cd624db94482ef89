/** What entries of `config/middlewares` name, and which of them are not to run. */
import path from 'node:path';
import { moduleAt, nameIn } from './load.js';
import { isMembers } from './parts.js';

/** A package of the project, or a place in its folder; null if there is none. */
export const resolvedFile = (given: string, dir: string): string | null => {
  const { createRequire } = process.getBuiltinModule('node:module');
  const require = createRequire(path.join(dir, 'package.json'));
  const find = (name: string): string | null => {
    try {
      return require.resolve(name);
    } catch {
      return null;
    }
  };
  const folder = path.resolve(dir, given);
  return find(given) ?? find(folder) ?? moduleAt(path.dirname(folder), path.basename(folder));
};

/** What is not to run: files relative to the folder of the project, and names. */
export interface LeftOut {
  readonly dir: string;
  readonly ignored: ReadonlySet<string>;
}

/** Whether the configuration names the entry, by its name, by what it resolves to, or by its file. */
export const isLeftOut = (entry: unknown, { dir, ignored }: LeftOut): boolean => {
  const { name, resolve } = isMembers(entry) ? entry : { name: entry };
  if ([name, resolve].some((it) => typeof it === 'string' && ignored.has(it))) return true;
  const file = typeof resolve === 'string' ? resolvedFile(resolve, dir) : null;
  if (file !== null) return ignored.has(nameIn(dir, file));
  const [, api, local] = /^(?:global::|api::([^.]+)\.)(.+)$/.exec(String(name)) ?? [];
  const folder = api === undefined ? 'src/middlewares' : `src/api/${api}/middlewares`;
  return [...ignored].some((it) => it.replace(/\.[cm]?[jt]s$/, '') === `${folder}/${local}`);
};
