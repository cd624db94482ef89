/** `config/*` of a v4 project: files of objects or functions of `{ env }`, and those of `config/env/NAME` over them. */
import path from 'node:path';
import get from 'lodash/get.js';
import has from 'lodash/has.js';
import merge from 'lodash/merge.js';
import set from 'lodash/set.js';
import { type LoadModule, modulesIn } from './load.js';

/** Reads variables of the environment, with casts: `env('HOST', '0.0.0.0')`, `env.int('PORT', 1337)`. */
export interface Env {
  (name: string, otherwise?: unknown): unknown;
  int(name: string, otherwise?: unknown): unknown;
  float(name: string, otherwise?: unknown): unknown;
  bool(name: string, otherwise?: unknown): unknown;
  json(name: string, otherwise?: unknown): unknown;
  array(name: string, otherwise?: unknown): unknown;
  date(name: string, otherwise?: unknown): unknown;
  oneOf(name: string, expected: readonly string[], otherwise?: unknown): unknown;
}

/** @param variables without those that are not set. */
export const newEnv = (variables: Readonly<Record<string, string | undefined>>): Env => {
  const read =
    (cast: (text: string) => unknown) =>
    (name: string, otherwise?: unknown): unknown => {
      const text = variables[name];
      return text === undefined ? otherwise : cast(text);
    };
  return Object.assign(
    read((text) => text),
    {
      int: read((text) => Number.parseInt(text, 10)),
      float: read((text) => Number.parseFloat(text)),
      bool: read((text) => text === 'true'),
      json: (name: string, otherwise?: unknown): unknown =>
        read((text) => {
          try {
            return JSON.parse(text) as unknown;
          } catch (fault) {
            throw new Error(`The variable ${name} is not JSON: ${(fault as Error).message}`);
          }
        })(name, otherwise),
      array: read((text) => {
        const inner = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
        return inner.split(',').map((it) => it.trim().replace(/^"(.*)"$/, '$1'));
      }),
      date: read((text) => new Date(text)),
      oneOf: (name: string, expected: readonly string[], otherwise?: unknown): unknown => {
        const text = variables[name];
        return text !== undefined && expected.includes(text) ? text : otherwise;
      },
    },
  );
};

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
}

export const readCodeConfig = async ({ dir, env, environment, load }: ConfigOptions): Promise<CodeConfig> => {
  const readFolder = async (folder: string): Promise<Record<string, unknown>> => {
    const found: Record<string, unknown> = {};
    for (const { name, file } of modulesIn(folder, { withJson: true })) {
      const loaded = await load(file);
      found[name] = typeof loaded === 'function' ? await (loaded as (given: object) => unknown)({ env }) : loaded;
    }
    return found;
  };
  const own = await readFolder(path.join(dir, 'config'));
  const tree: Record<string, unknown> = merge({}, own, await readFolder(path.join(dir, 'config/env', environment)));
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

export const newCodeConfig = (tree: Record<string, unknown>): CodeConfig => ({
  tree,
  get: (at, otherwise) => get(tree, at as string, otherwise),
  has: (at) => has(tree, at as string),
  set: (at, value) => {
    set(tree, at as string, value);
  },
});
