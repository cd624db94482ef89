/** `config/*` of a v4 project: files of objects or functions of `{ env }`, and those of `config/env/NAME` over them. */
import path from 'node:path';
import get from 'lodash/get.js';
import has from 'lodash/has.js';
import merge from 'lodash/merge.js';
import set from 'lodash/set.js';
import { type Env, withoutExit } from './env.js';
import { CodeFault, describeFault, type LoadModule, modulesIn, nameIn, newFaults } from './load.js';
import { placeInDist } from './tsconfig.js';

/** The configuration as a tree; its members can be read as plain properties too. */
export interface CodeConfig {
  readonly tree: Record<string, unknown>;
  get(path: string | readonly string[], otherwise?: unknown): unknown;
  has(path: string | readonly string[]): boolean;
  set(path: string | readonly string[], value: unknown): void;
}

export interface ConfigOptions {
  readonly dir: string;
  readonly env: Env;
  /** Names the folder below `config/env`: `production`. */
  readonly environment: string;
  readonly load: LoadModule;
  /** Files that are left out, relative to the folder, with forward slashes. */
  readonly ignored: ReadonlySet<string>;
}

export const readCodeConfig = async ({ dir, env, environment, load, ignored }: ConfigOptions): Promise<CodeConfig> => {
  const evaluated = async (loaded: unknown, file: string): Promise<unknown> => {
    if (typeof loaded !== 'function') return loaded;
    try {
      return await (loaded as (given: object) => unknown)({ env });
    } catch (fault) {
      throw new CodeFault(describeFault(fault, dir, { file, what: 'cannot be evaluated' }), { cause: fault });
    }
  };
  const faults = newFaults();
  const readFolder = async (folder: string): Promise<Record<string, unknown>> => {
    const found: Record<string, unknown> = {};
    for (const { name, file } of modulesIn(folder, { withJson: true })) {
      if (ignored.has(nameIn(dir, file))) continue;
      // v4 runs what tsc has written to `dist`, and files look around themselves by `__dirname`
      const place = placeInDist(dir, file);
      found[name] = await faults.keepAsync(() =>
        withoutExit(async () => evaluated(await load(file, place), nameIn(dir, file))),
      );
    }
    return found;
  };
  const own = await readFolder(path.join(dir, 'config'));
  const tree: Record<string, unknown> = merge({}, own, await readFolder(path.join(dir, 'config/env', environment)));
  faults.throwAll();
  // functions of a module are kept by `merge`, lists are not merged but replaced
  tree['environment'] = environment;
  // `config/plugins` as `config.get` names it: `plugin.upload.sizeLimit`
  tree['plugin'] = Object.fromEntries(
    Object.entries((tree['plugins'] ?? {}) as Record<string, { readonly config?: unknown } | boolean>).map(
      ([name, it]) => [name, (typeof it === 'object' ? it.config : undefined) ?? {}],
    ),
  );
  return newCodeConfig(tree);
};

const newCodeConfig = (tree: Record<string, unknown>): CodeConfig => ({
  tree,
  get: (at, otherwise) => get(tree, at as string, otherwise),
  has: (at) => has(tree, at as string),
  set: (at, value) => {
    set(tree, at as string, value);
  },
});
