/** The packages as npm packs them. They must be built. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

export const root = path.join(import.meta.dirname, '../../../..');

/** Folders in `packages`, which are the names of what is published but for `server`. */
export const workspaces = ['server', 'client', 'create-dovetail'] as const;
export type Workspace = (typeof workspaces)[number];

export interface Packed {
  readonly name: string;
  readonly version: string;
  /** Its path. */
  readonly tarball: string;
  /** Paths in the package. */
  readonly files: readonly string[];
  readonly manifest: Readonly<Record<string, unknown>>;
}

/** What `npm pack` would publish. Scripts are not run: they would build anew what others may be using. */
export const pack = (workspace: Workspace, into: string): Packed => {
  const dir = path.join(root, 'packages', workspace);
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', into];
  const printed: unknown = JSON.parse(
    execFileSync('npm', args, { cwd: dir, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  // npm 12 prints an object by name
  const [report] = Object.values(printed as Readonly<Record<string, Report>>);
  const { name, version, filename, files } = report!;
  const manifest = JSON.parse(fs.readFileSync(path.join(dir, 'package.json'), 'utf8'));
  return { name, version, tarball: path.join(into, filename), files: files.map((it) => it.path).sort(), manifest };
};

interface Report {
  readonly name: string;
  readonly version: string;
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}
