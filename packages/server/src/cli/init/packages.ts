/** The package manager of a new project, and the Dovetail that its package.json asks for. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';

const packageManagers = ['npm', 'pnpm', 'yarn'] as const;
export type PackageManager = (typeof packageManagers)[number];

/** @param userAgent as package managers set it for what they run: `pnpm/10.4.0 npm/? node/v24.1.0 linux x64`. */
export const packageManagerOf = (userAgent = ''): PackageManager =>
  packageManagers.find((it) => userAgent.startsWith(`${it}/`)) ?? 'npm';

/** How it runs a script of package.json. */
export const runsScript = (manager: PackageManager, script: string): string =>
  manager === 'npm' ? `npm run ${script}` : `${manager} ${script}`;

/** Installs the dependencies of a project; its output goes to the terminal. Returns whether that worked. */
export const installWith = async (manager: PackageManager, dir: string): Promise<boolean> => {
  // package managers are scripts on Windows, which only a shell runs
  const child = spawn(manager, ['install'], { cwd: dir, stdio: 'inherit', shell: process.platform === 'win32' });
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code === 0;
  } catch (fault) {
    process.stderr.write(`${manager} cannot be run: ${(fault as Error).message}\n`);
    return false;
  }
};

interface Source {
  /** What package.json says of `dovetail`. */
  readonly spec: string;
  /** Files that the package manager needs for it, by name. */
  readonly settings: readonly (readonly [name: string, text: string])[];
}

/**
 * The version that runs, or the place it came from if that was not a registry: a tarball, a repository, a checkout.
 * @param packageDir the folder of the package that runs.
 */
export const sourceOf = (projectDir: string, packageDir: string): Source => {
  const place = (dir: string): string => `file:${path.relative(projectDir, dir).replaceAll(path.sep, '/')}`;
  const [top = '', inside] = packageDir.split(`${path.sep}node_modules${path.sep}`, 2);
  // npm would link the folder, and install there what only its developers need
  if (inside === undefined) return { spec: place(packageDir), settings: [['.npmrc', 'install-links=true\n']] };
  const asked = askedFor(top);
  const [, file] = /^(?:file:|(?=\.{0,2}\/))(.*)$/.exec(asked) ?? [];
  if (file !== undefined) return { spec: place(path.resolve(top, file)), settings: [] };
  const isElsewhere = /^(git|https?:|[\w-]+\/)/.test(asked);
  return { spec: isElsewhere ? asked : `^${versionOf(packageDir)}`, settings: [] };
};

/** Of package.json. */
export interface Manifest {
  readonly version?: string;
  readonly engines?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** Empty if there is no package.json. */
export const manifestOf = (dir: string): Manifest => {
  const file = path.join(dir, 'package.json');
  return fs.existsSync(file) ? (JSON.parse(fs.readFileSync(file, 'utf8')) as Manifest) : {};
};

const versionOf = (dir: string): string => manifestOf(dir).version ?? '';

/** What the folder in which the package is installed says of it; empty if it says nothing. */
const askedFor = (dir: string): string => {
  const { dependencies, devDependencies } = manifestOf(dir);
  return dependencies?.['dovetail'] ?? devDependencies?.['dovetail'] ?? '';
};
