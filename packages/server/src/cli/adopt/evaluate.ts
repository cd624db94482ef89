/**
 * A process of its own that evaluates the configuration files of a v4 project, with Node's permission to read files and none to
 * write, to start programs or to load native code. `v4-config.ts` starts it. It imports nothing of Dovetail's, so that it needs no
 * bundle.
 */
import fs from 'node:fs';
import path from 'node:path';
import { createJiti } from 'jiti';

export interface EvaluateRequest {
  /** The project's folder. */
  readonly dir: string;
  /** Files below it, such as `config/database.ts`. */
  readonly files: readonly string[];
  /** Whether v4 runs what tsc has written to `dist`, so that `__dirname` is there. */
  readonly isCompiled: boolean;
}

export interface EvaluatedFile {
  readonly file: string;
  /** Plain JSON; functions are left out. */
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

type Env = Record<string, unknown> & ((name: string, fallback?: unknown) => unknown);

/** v4's `env`, with its casts. */
const newEnv = (read: (name: string) => string | undefined): Env => {
  const cast =
    (convert: (text: string) => unknown) =>
    (name: string, fallback?: unknown): unknown => {
      const text = read(name);
      return text === undefined ? fallback : convert(text);
    };
  const list = (text: string): readonly string[] =>
    text
      .replace(/^\[(.*)\]$/, '$1')
      .split(',')
      .map((it) => it.trim().replace(/^(['"])(.*)\1$/, '$2'));
  return Object.assign(
    cast((text) => text),
    {
      int: cast((text) => Number.parseInt(text, 10)),
      float: cast((text) => Number.parseFloat(text)),
      bool: cast((text) => text === 'true'),
      json: (name: string, fallback?: unknown) => {
        const text = read(name);
        return text === undefined ? fallback : parseJson(text, `the variable ${name}`);
      },
      array: cast(list),
      date: cast((text) => new Date(text)),
      oneOf: (name: string, expected: readonly unknown[], fallback?: unknown) => {
        const text = read(name);
        return text !== undefined && expected.includes(text) ? text : fallback;
      },
    },
  ) as unknown as Env;
};

/** @param tell called with each file once it is evaluated: the next one may never end. */
const evaluateAll = async (
  { dir, files, isCompiled }: EvaluateRequest,
  tell: (evaluated: EvaluatedFile) => void,
): Promise<void> => {
  const own = process.env;
  process.exit = (code) => {
    throw new Error(`calls process.exit(${code ?? ''})`);
  };
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
  for (const file of files) {
    variables = new Map();
    let value: unknown = null;
    let error: string | null = null;
    try {
      const made = await load(dir, file, isCompiled);
      value = plain(typeof made === 'function' ? await (made as (given: { env: Env }) => unknown)({ env }) : made);
    } catch (fault) {
      error = fault instanceof Error ? (fault.message.split('\n')[0] ?? '') : String(fault);
    }
    tell({
      file,
      value,
      error,
      variables: [...variables].map(([name, text]) => ({ name, value: text })),
    });
  }
};

const load = async (dir: string, file: string, isCompiled: boolean): Promise<unknown> => {
  const source = fs.readFileSync(path.join(dir, file), 'utf8');
  if (file.endsWith('.json')) return parseJson(source, 'it');
  const evaluate = async (place: string): Promise<unknown> => {
    const jiti = createJiti(place, { fsCache: false, moduleCache: false, interopDefault: true });
    const module = jiti.evalModule(source, { filename: place, id: place, ext: path.extname(file), async: false }) as {
      readonly default?: unknown;
    } | null;
    return module !== null && typeof module === 'object' && 'default' in module ? module.default : module;
  };
  if (!isCompiled) return evaluate(path.join(dir, file));
  try {
    return await evaluate(path.join(dir, 'dist', file));
  } catch (fault) {
    // what it imports may not have been compiled yet
    if (!/Cannot find module/.test(String(fault))) throw fault;
    return evaluate(path.join(dir, file));
  }
};

/** Node's own message would quote the text, which may hold secrets. */
const parseJson = (text: string, what: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${what} is not JSON`);
  }
};

/** Without what JSON cannot say: functions, classes, cycles. */
const plain = (value: unknown): unknown => {
  const path: object[] = [];
  return JSON.parse(
    JSON.stringify(value, function (this: object, _key, member: unknown) {
      if (typeof member === 'bigint') return String(member);
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
