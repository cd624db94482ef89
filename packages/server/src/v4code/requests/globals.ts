/** Global middlewares: the project's own among those that `config/middlewares` lists. */
import { inspect } from 'node:util';
import type { Middleware } from 'koa';
import { CodeFault, type Faults, type LoadModule } from '../loading/load.js';
import { isLeftOut, resolvedFile } from '../loading/middlewares.js';
import { isCallable, isMembers, type Members } from '../loading/parts.js';
import type { Strapi } from '../strapi.js';
import { placeKeeper } from '../strapi-utils/guards.js';
import { type MakeMiddleware, orNearName } from './chains.js';
import type { Registry } from './registry.js';

export interface GlobalsDeps {
  readonly dir: string;
  readonly load: LoadModule;
  readonly registry: Registry;
  readonly strapi: Strapi;
  readonly ignored: ReadonlySet<string>;
  readonly faults: Faults;
  readonly makeMiddleware: MakeMiddleware;
}

export interface ListedGlobals {
  readonly globals: readonly Middleware[];
  /** How many of them are listed before `strapi::errors`; null if that is not listed. */
  readonly beforeErrors: number | null;
  /** How many before `strapi::body`; all if that is not listed. */
  readonly beforeBody: number;
}

/** The project's own among `config/middlewares`; Strapi's are the server's work. */
export const globalsOf = async (listed: unknown, deps: GlobalsDeps): Promise<ListedGlobals> => {
  const all: readonly unknown[] = Array.isArray(listed) ? listed : [];
  if (!Array.isArray(listed ?? []))
    deps.faults.add(
      new CodeFault(`config/middlewares: give a list of ${ENTRIES}, unlike ${inspect(listed, inOneLine)}`),
    );
  const globals: Middleware[] = [];
  let beforeErrors: number | null = null;
  let beforeBody: number | null = null;
  for (const [i, given] of all.entries()) {
    // v4 knows no `enabled` here: one that is listed runs
    const { name, resolve, config = {} } = isMembers(given) ? given : { name: given };
    if (![name, resolve].some((it) => typeof it === 'string' && it !== '')) {
      deps.faults.add(new CodeFault(`config/middlewares[${i}]: give ${ENTRY}, unlike ${inspect(given, inOneLine)}`));
      continue;
    }
    const isOfStrapi = typeof name === 'string' && name.startsWith('strapi::');
    if (name === 'strapi::errors') beforeErrors ??= globals.length;
    if (name === 'strapi::body') beforeBody ??= globals.length;
    if (isOfStrapi || isLeftOut(given, deps)) continue;
    try {
      const factory =
        typeof resolve === 'string' ? await loadMiddleware(resolve, deps) : deps.registry.middleware(String(name), '');
      if (!isCallable(factory)) throw noMiddleware({ name, resolve }, deps.registry);
      const about = { ...deps, where: 'config/middlewares', name: name ?? resolve };
      globals.push(deps.makeMiddleware(factory, config, about));
    } catch (fault) {
      deps.faults.add(fault);
    }
  }
  return { globals, beforeErrors, beforeBody: beforeBody ?? globals.length };
};

const ENTRY = 'a name, { name, config } or { resolve, config }';
const ENTRIES = 'names, { name, config } or { resolve, config }';
/** What lies deeper may be a secret. */
const inOneLine = { breakLength: Number.POSITIVE_INFINITY, depth: 0 };

const noMiddleware = ({ name, resolve }: Members, registry: Registry): CodeFault => {
  const text = String(resolve ?? name);
  const why = (): string => {
    if (resolve === undefined)
      return text.startsWith('plugin::')
        ? ', as plugins of others do not run here'
        : orNearName(text, registry.namesOf('middlewares'));
    return /^[./]/.test(text)
      ? ', neither a file nor a folder with an index file, as seen from the folder of the project'
      : ': install the packages of the project (npm install)';
  };
  return new CodeFault(
    `config/middlewares: there is no middleware ${JSON.stringify(text)}${why()}; once all is well without it, list it in dovetail.config: project: { ignoreCode: ['${text}'] }`,
  );
};

/**
 * What a package of the project or a file exports; undefined if there is none.
 * @param given the name of the package, or a place in the folder of the project.
 */
export const loadMiddleware = async (
  given: string,
  { dir, load }: Pick<GlobalsDeps, 'dir' | 'load'>,
): Promise<unknown> => {
  const file = resolvedFile(given, dir);
  if (file === null) return undefined;
  const loaded = await load(file);
  placeKeeper(loaded, file, true);
  return loaded;
};
