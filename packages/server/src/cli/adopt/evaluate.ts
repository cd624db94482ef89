/**
 * A process of its own that evaluates the configuration files of a v4 project, with Node's permission to read files and none to
 * write, to start programs or to load native code. `v4-config.ts` starts it. It imports nothing of Dovetail's but what imports nothing
 * itself, so that it needs no bundle.
 */
import fs from 'node:fs';
import path from 'node:path';
import { createJiti } from 'jiti';

/** From the sources it is TypeScript, for which Node looks under no other name. */
const ownFile = new URL(`../../v4code/loading/env.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);
const { newEnv, placeOf, sourceAt, withoutExit } = (await import(
  ownFile.href
)) as typeof import('../../v4code/loading/env.js');

export interface EvaluateRequest {
  /** The project's folder. */
  readonly dir: string;
  readonly files: readonly ConfigFile[];
  /** What names in imports stand for, for jiti. */
  readonly aliases: Record<string, string>;
}

export interface ConfigFile {
  /** Below the project's folder: `config/database.ts`. */
  readonly file: string;
  /** The whole path at which v4 runs it, which may be what tsc has written to `dist`: `__dirname` is there. */
  readonly place: string;
}

export interface EvaluatedFile {
  readonly file: string;
  /** Plain JSON; functions are `[Function]`. */
  readonly value: unknown;
  /** Why it cannot be evaluated; null if it can. */
  readonly error: string | null;
  /** The environment variables that it has read, in order. */
  readonly variables: readonly ReadVariable[];
}

export interface ReadVariable {
  readonly name: string;
  /** Null if it is not set, so that the file's default is used. */
  readonly value: string | null;
}

/** @param tell called with each file once it is evaluated: the next one may never end. */
const evaluateAll = async (
  { dir, files, aliases }: EvaluateRequest,
  tell: (evaluated: EvaluatedFile) => void,
): Promise<void> => {
  const own = process.env;
  let variables: Map<string, string | null> = new Map();
  const read = (name: string): string | undefined => {
    const value = own[name];
    variables.set(name, value ?? null);
    return value;
  };
  // `process.env.NAME` counts too, but for what tools look up
  process.env = new Proxy(own, {
    get: (_target, name) =>
      typeof name !== 'string' || /^(JITI|BABEL|NODE|npm|TS|FORCE|NO)_|^(PATH|HOME|TMPDIR|DEBUG|CI|TERM|TZ)$/.test(name)
        ? own[String(name)]
        : read(name),
  });
  const env = newEnv(read);
  for (const { file, place } of files) {
    variables = new Map();
    let value: unknown = null;
    let error: string | null = null;
    try {
      const made = await withoutExit(() => load(path.join(dir, file), place, aliases));
      value = plain(
        typeof made === 'function'
          ? await withoutExit(async () => (made as (given: object) => unknown)({ env }))
          : made,
      );
    } catch (fault) {
      error = fault instanceof Error ? (fault.message.split('\n')[0] ?? '') : String(fault);
      const at = placeOf(fault, dir);
      if (at !== null) error += at.file === file ? `, on line ${at.line}` : ` (${at.file}:${at.line})`;
    }
    tell({
      file,
      value,
      error,
      variables: [...variables].map(([name, text]) => ({ name, value: text })),
    });
  }
};

const load = async (file: string, place: string, alias: Record<string, string>): Promise<unknown> => {
  if (file.endsWith('.json')) return parseJson(fs.readFileSync(file, 'utf8'), 'it');
  const jiti = createJiti(file, {
    fsCache: false,
    moduleCache: false,
    interopDefault: true,
    // what the configuration of a project may need of them; the start has them too, whether they are installed or not
    virtualModules: { '@strapi/utils': { env: newEnv((name) => process.env[name]) }, '@strapi/strapi': {} },
    alias,
  });
  const module = (await jiti.evalModule(sourceAt(file, place), {
    filename: file,
    id: file,
    ext: path.extname(file),
    async: true,
    forceTranspile: true,
  })) as { readonly default?: unknown } | null;
  return module !== null && typeof module === 'object' && 'default' in module ? module.default : module;
};

/** Node's own message would quote the text, which may hold secrets. */
const parseJson = (text: string, what: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${what} is not JSON`);
  }
};

/** Without what JSON cannot say: classes, cycles. Functions become a text. */
const plain = (value: unknown): unknown => {
  const path: object[] = [];
  return JSON.parse(
    JSON.stringify(value, function (this: object, _key, member: unknown) {
      if (typeof member === 'bigint') return String(member);
      if (typeof member === 'function') return '[Function]';
      if (member === null || typeof member !== 'object') return member;
      while (path.length > 0 && path.at(-1) !== this) path.pop();
      if (path.includes(member)) return undefined;
      path.push(member);
      return member;
    }) ?? 'null',
  );
};

if (process.send) {
  const { exit } = process;
  const request = JSON.parse(process.argv[2] ?? '') as EvaluateRequest;
  await evaluateAll(request, (evaluated) => process.send?.(evaluated));
  // what was sent has been received by then
  process.send('end', () => exit());
}
