/** The configuration of a v4 project, `config/`, evaluated as v4 does. */
import { dependsOnStrapi } from '../../model/project-folder.js';
import type { OpenedCode } from '../../v4code/code.js';
import {
  type Config,
  type Environment,
  type FoundConfig,
  outsideVariables,
  readConfig,
  readEnvironment,
  readVariables,
  type Variables,
  withV4Settings,
  withVariables,
} from '../config.js';
import { StartFault } from '../start-fault.js';
import { type CodeFile, ignoredFiles, needsCode } from './code.js';
import type { FindOptions } from './find-code.js';
import { holdsCode } from './places.js';
import { findPackages } from './plugins.js';
import {
  asksOrigin,
  countSettings,
  cureOfGuards,
  describeSetting,
  readV4Settings,
  settingGuards,
  type V4Setting,
  withPackages,
} from './settings.js';

/** What a v4 project says by its `config/`. */
export interface V4Side {
  /** Null if there is nothing to evaluate, or the configuration switches it off. */
  readonly opened: OpenedCode | null;
  readonly settings: readonly V4Setting[];
  /** Those that may restrict access, are not supported, and for which dovetail.config says nothing else. */
  readonly guards: readonly V4Setting[];
  /** Whether its code says which origins may read responses. */
  readonly asksOrigin: boolean;
}

const noV4: V4Side = { opened: null, settings: [], guards: [], asksOrigin: false };

/** Evaluates `config/` if the project has one, or code that runs. Where it does not, the packages of plugins are looked at all the same. */
const openV4 = async (
  dir: string,
  found: FoundConfig,
  files: readonly CodeFile[],
  variables: Variables,
): Promise<V4Side> => {
  const { project } = found.config;
  const hasSome = needsCode(files) || files.some((it) => it.kind === 'config');
  if (!project.runCode || !hasSome) return files.length > 0 || dependsOnStrapi(dir) ? packagesOnly(dir, found) : noV4;
  const { openCode } = await import('../../v4code/code.js');
  const ignored = new Set([...ignoredFiles(files), ...project.ignoreCode]);
  const opened = await withVariables(dir, () =>
    withStartFaults(() => openCode({ dir, variables, environment: variables.NODE_ENV, ignored })),
  );
  const { tree } = opened.config;
  const read = readV4Settings({ dir, ignored, part: (name) => tree[name] });
  const settings = withPackages(read, tree['plugins'], findPackages(dir, tree['plugins']), ignored);
  const { given } = found;
  return { opened, settings, guards: settingGuards(settings, { given }), asksOrigin: asksOrigin(settings, { given }) };
};

/** Packages run in v4 without any file of the project. */
const packagesOnly = (dir: string, { config: { project }, given }: FoundConfig): V4Side => {
  const { plugins, unknown } = findPackages(dir);
  // packages that only the project's code imports are not missed where it does not run
  const missed = project.runCode ? unknown : unknown.filter((it) => it.importedBy === null);
  const settings = withPackages([], {}, { plugins, unknown: missed }, new Set(project.ignoreCode));
  return { ...noV4, settings, guards: settingGuards(settings, { given }) };
};

/** What a project is set up with, before its model is looked at. */
export interface Setup {
  readonly config: Config;
  readonly env: Environment;
  readonly code: readonly CodeFile[];
  readonly v4: V4Side;
}

/** Reads dovetail.config, the environment and `config/` of v4. */
export const readSetup = async (dir: string): Promise<Setup> => {
  const found = await readConfig(dir);
  const variables = readVariables(dir, outsideVariables());
  const code = await codeOf(dir, { ...found.config.project, environment: variables.NODE_ENV });
  const v4 = await openV4(dir, found, code, variables);
  const env = readEnvironment(dir, outsideVariables(), v4.settings);
  return { config: withV4Settings(found, v4.settings), env, code, v4 };
};

/** The parser is loaded for projects that have code. */
const codeOf = async (dir: string, options: FindOptions): Promise<readonly CodeFile[]> => {
  const isNamed = options.ignoreCode.length + options.acceptCode.length > 0;
  if (!isNamed && !holdsCode(dir)) return [];
  const { findCode } = await import('./find-code.js');
  return findCode(dir, options);
};

/** Refuses the start if a setting that is not supported would be missed as a guard. */
export const refuseSettings = (guards: readonly V4Setting[]): void => {
  if (guards.length === 0) return;
  const lines = guards.map((it) => `  ${describeSetting(it)}`).join('\n');
  throw new StartFault(
    `${countSettings(guards)} may restrict access and ${guards.length === 1 ? 'is' : 'are'} not supported:\n${lines}\n${cureOfGuards(guards)}`,
  );
};

/** A fault of the project's code is one for whoever starts it. */
export const withStartFaults = async <T>(work: () => Promise<T>): Promise<T> => {
  const { CodeFault } = await import('../../v4code/loading/load.js');
  try {
    return await work();
  } catch (fault) {
    throw fault instanceof CodeFault ? new StartFault(fault.message, { cause: fault.cause }) : fault;
  }
};
