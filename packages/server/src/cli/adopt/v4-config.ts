/** The configuration of a v4 project, evaluated as v4 would, by a process that cannot write. */
import { fork } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import merge from 'lodash/merge.js';
import { aliasesOf, placeInDist } from '../../v4code/loading/tsconfig.js';
import { type PartName, partNames } from '../v4project/settings.js';
import type { ConfigFile, EvaluatedFile, EvaluateRequest, ReadVariable } from './evaluate.js';
import { type Hide, hideSecrets } from './secrets.js';

/** One key of v4's configuration: `database`, `server`, `plugins`. */
export interface ConfigPart {
  /** Files that it comes from, that of the environment last. */
  readonly files: readonly string[];
  /** Merged; an empty object if there are no files. */
  readonly value: unknown;
  /** `config/database.ts: Cannot find module 'x'`. */
  readonly errors: readonly string[];
  readonly variables: readonly ReadVariable[];
}

export interface V4Config {
  /** `NODE_ENV`, which selects `config/env/…`. */
  readonly environment: string;
  readonly part: (name: PartName) => ConfigPart;
  /** Variables of the process and of the project's `.env`, as v4 sees them. */
  readonly variables: Readonly<Record<string, string>>;
  /** What cannot be evaluated, of all parts; without secrets. */
  readonly faults: readonly string[];
  /** Of whatever is printed. */
  readonly hide: Hide;
}

export interface ReadV4ConfigOptions {
  readonly environment: string;
  readonly outside: NodeJS.ProcessEnv;
  readonly isTypeScript: boolean;
}

export const readV4Config = async (
  dir: string,
  { environment, outside, isTypeScript }: ReadV4ConfigOptions,
): Promise<V4Config> => {
  const envFile = path.join(dir, outside['ENV_PATH'] ?? '.env');
  const inside = fs.existsSync(envFile) ? parseEnv(fs.readFileSync(envFile, 'utf8')) : {};
  const variables = Object.fromEntries(
    Object.entries({ ...inside, ...outside }).filter((it): it is [string, string] => it[1] !== undefined),
  );
  const found = partNames.map((name) => ({ name, files: filesOf(dir, name, environment) }));
  const placed = (file: string): ConfigFile => {
    const full = path.join(dir, file);
    return { file, place: isTypeScript ? placeInDist(dir, full) : full };
  };
  const evaluated = await evaluate(
    { dir, files: found.flatMap((it) => it.files).map(placed), aliases: aliasesOf(dir) },
    { ...variables, NODE_ENV: environment },
  );
  const hide = hideSecrets(variables, ...evaluated.map((it) => it.value));
  const parts = new Map(
    found.map(({ name, files }) => {
      const own = evaluated.filter((it) => files.includes(it.file));
      const part: ConfigPart = {
        files,
        value: merge({}, { it: {} }, ...own.map((it) => ({ it: it.value ?? undefined }))).it,
        errors: own.flatMap((it) => (it.error === null ? [] : [hide.text(`${it.file}: ${it.error}`)])),
        variables: own.flatMap((it) => it.variables),
      };
      return [name, part] as const;
    }),
  );
  return {
    environment,
    variables,
    hide,
    faults: [...parts.values()].flatMap((it) => it.errors),
    part: (name) => parts.get(name) ?? nothing,
  };
};

const nothing: ConfigPart = { files: [], value: {}, errors: [], variables: [] };

const extensions = ['.ts', '.js', '.cjs', '.mjs', '.json'];

const filesOf = (dir: string, name: PartName, environment: string): readonly string[] =>
  ['config', `config/env/${environment}`].flatMap((folder) => {
    const file = extensions.map((it) => `${folder}/${name}${it}`).find((it) => fs.existsSync(path.join(dir, it)));
    return file === undefined ? [] : [file];
  });

const EVALUATE_MS = 10_000;

const script = new URL(`../../cli/adopt/evaluate.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

/** A file that ends the process, or hangs, does not hide those after it. */
const evaluate = async (request: EvaluateRequest, env: NodeJS.ProcessEnv): Promise<readonly EvaluatedFile[]> => {
  const evaluated: EvaluatedFile[] = [];
  while (evaluated.length < request.files.length)
    evaluated.push(...(await evaluateTogether({ ...request, files: request.files.slice(evaluated.length) }, env)));
  return evaluated;
};

/** The files up to the first at which the process ends. */
const evaluateTogether = (
  request: EvaluateRequest,
  { NODE_OPTIONS: _, ...env }: NodeJS.ProcessEnv,
): Promise<readonly EvaluatedFile[]> =>
  new Promise((resolve) => {
    const child = fork(fileURLToPath(script), [JSON.stringify(request)], {
      cwd: request.dir,
      env,
      execArgv: ['--permission', '--allow-fs-read=*', '--no-warnings'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const evaluated: EvaluatedFile[] = [];
    let said = '';
    const end = (why: string): void => {
      clearTimeout(timer);
      const [ending] = request.files.slice(evaluated.length);
      resolve(
        ending === undefined
          ? evaluated
          : [...evaluated, { file: ending.file, value: null, error: why, variables: [] }],
      );
    };
    child.stderr?.on('data', (text: Buffer) => {
      said += String(text);
    });
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill('SIGKILL');
    }, EVALUATE_MS);
    child.on('message', (message) => {
      if (message !== 'end') evaluated.push(message as EvaluatedFile);
    });
    child.once('error', (fault) => end(fault.message));
    child.once('close', (code, signal) => {
      const how = isLate ? `did not end within ${EVALUATE_MS / 1000} s` : `ended with ${signal ?? code}`;
      end(`its evaluation ${how}${said === '' ? '' : `: ${said.trim().split('\n')[0]}`}`);
    });
  });
