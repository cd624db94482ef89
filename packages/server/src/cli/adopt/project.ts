/** What a folder is: which Strapi, in which language, and what stands in the way if it is another. */
import fs from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { foldersIn } from '../../model/files.js';
import type { Obstacle, ProjectFacts } from './report.js';

export interface V4Project extends ProjectFacts {
  /** Dependencies by name. */
  readonly dependencies: ReadonlyMap<string, string>;
}

export type FoundProject =
  | { readonly ok: true; readonly project: V4Project }
  | { readonly ok: false; readonly project: V4Project; readonly obstacle: Obstacle };

const manifestSchema = z.object({
  name: z.string().optional().catch(undefined),
  dependencies: z.record(z.string(), z.unknown()).catch({}).default({}),
  devDependencies: z.record(z.string(), z.unknown()).catch({}).default({}),
});

export const findProject = (given: string, environment: string): FoundProject => {
  const dir = path.resolve(given);
  const manifest = readManifest(dir);
  const dependencies = new Map(
    Object.entries({ ...manifest?.devDependencies, ...manifest?.dependencies }).map(([name, it]) => [name, String(it)]),
  );
  const strapi = versionOf(dir, dependencies);
  const project: V4Project = {
    dir,
    name: manifest?.name ?? null,
    strapi,
    language: fs.existsSync(path.join(dir, 'tsconfig.json')) ? 'TypeScript' : 'JavaScript',
    environment,
    environments: foldersIn(path.join(dir, 'config/env')),
    dependencies,
  };
  const obstacle = obstacleOf(project, manifest !== null);
  return obstacle ? { ok: false, project, obstacle } : { ok: true, project };
};

const obstacleOf = ({ dir, strapi, dependencies }: V4Project, hasManifest: boolean): Obstacle | null => {
  if (!fs.statSync(dir, { throwIfNoEntry: false })?.isDirectory())
    return { code: 'project.missing', message: `There is no folder ${dir}.`, cure: 'Give the folder of the project.' };
  // `latest` and `workspace:*` have none
  const [digits] = /\d+/.exec(strapi?.version ?? '') ?? [];
  const major = digits === undefined ? null : Number(digits);
  if (major === 4 || (major === null && hasSchemas(dir))) return null;
  if (major !== null && major >= 5)
    return {
      code: 'project.v5',
      message: `This is a Strapi ${strapi?.version} project. Version 5 keeps documents, with a row for each version and locale, in tables of another form.`,
      cure: 'Dovetail serves projects of version 4. If the project was upgraded, adopt the commit and the database backup from before.',
    };
  if (major === 3 || dependencies.has('strapi'))
    return {
      code: 'project.v3',
      message: `This is a Strapi ${dependencies.get('strapi') ?? strapi?.version ?? 3} project. Version 3 has other tables, other files and another API.`,
      cure: 'Upgrade it to version 4 with the migration guide of Strapi first (its code mods change the files, its migration scripts the database), then adopt the result.',
    };
  const inside = projectsBelow(dir);
  return {
    code: 'project.not-v4',
    message: hasManifest
      ? `${dir}/package.json does not depend on @strapi/strapi, and there are no schema files in src/api.`
      : `${dir} has no package.json and no schema files in src/api.`,
    cure:
      inside.length > 0
        ? `Did you mean ${inside.map((it) => path.join(dir, it)).join(' or ')}?`
        : 'Give the folder that holds package.json, src and config of the project.',
  };
};

const readManifest = (dir: string): z.infer<typeof manifestSchema> | null => {
  try {
    return manifestSchema.parse(JSON.parse(fs.readFileSync(path.join(dir, 'package.json'), 'utf8')));
  } catch {
    return null;
  }
};

const STRAPI = '@strapi/strapi';

const versionOf = (dir: string, dependencies: ReadonlyMap<string, string>): ProjectFacts['strapi'] => {
  const range = dependencies.get(STRAPI);
  const installed = installedVersion(dir);
  if (installed !== null) return { version: installed, from: 'installed' };
  const locked = lockedVersion(dir);
  if (locked !== null) return { version: locked, from: 'lock file' };
  return range === undefined ? null : { version: range, from: 'package.json' };
};

const installedVersion = (dir: string): string | null => {
  const file = path.join(dir, 'node_modules', STRAPI, 'package.json');
  try {
    return String((JSON.parse(fs.readFileSync(file, 'utf8')) as { readonly version: unknown }).version);
  } catch {
    return null;
  }
};

/** In the lock files of npm, yarn and pnpm, each as text. */
const lockForms: readonly (readonly [string, RegExp])[] = [
  ['package-lock.json', /"node_modules\/@strapi\/strapi": \{\s*"version": "([^"]+)"/],
  ['yarn.lock', /^"?@strapi\/strapi@[^\n]*:\n\s+"?version"?:? "?([^"\n]+)"?/m],
  ['pnpm-lock.yaml', /@strapi\/strapi['"]?:\s*(?:specifier: \S+\s*)?version: '?(\d[^\s('"]*)/],
];

const lockedVersion = (dir: string): string | null => {
  for (const [name, form] of lockForms) {
    const file = path.join(dir, name);
    const found = fs.existsSync(file) ? form.exec(fs.readFileSync(file, 'utf8'))?.[1] : undefined;
    if (found !== undefined) return found;
  }
  return null;
};

const hasSchemas = (dir: string): boolean => {
  const api = path.join(dir, 'src/api');
  return foldersIn(api).some((it) => fs.existsSync(path.join(api, it, 'content-types')));
};

/** Folders of a repository with several packages, at most two levels deep, that are projects. */
const projectsBelow = (dir: string): readonly string[] =>
  packagesIn(dir)
    .flatMap((it) => [it, ...packagesIn(path.join(dir, it)).map((inner) => `${it}/${inner}`)])
    .filter((it) => dependsOnStrapi(path.join(dir, it)));

const packagesIn = (dir: string): readonly string[] => foldersIn(dir).filter((it) => it !== 'node_modules');

const dependsOnStrapi = (dir: string): boolean => Object.hasOwn(readManifest(dir)?.dependencies ?? {}, STRAPI);
