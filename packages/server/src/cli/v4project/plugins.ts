/** What becomes of the plugins and providers of v4 that a package.json names. */
import fs from 'node:fs';
import path from 'node:path';
import escapeRegExp from 'lodash/escapeRegExp.js';
import { nameByPackage, packageFolder } from '../../v4code/loading/installed.js';
import { nameIn } from '../../v4code/loading/load.js';
import { pluginGuards } from './guard-texts.js';

export interface PluginVerdict {
  readonly name: string;
  readonly range: string;
  readonly verdict: 'built in' | 'replaced' | 'not needed' | 'not run';
  readonly why: string;
}

const ofOthers = 'its routes, hooks and services are not here; its tables are left alone';

const known: readonly (readonly [RegExp, PluginVerdict['verdict'], string])[] = [
  [/^@strapi\/strapi$/, 'built in', 'content types, components, relations, media, drafts and the REST API'],
  [/^@strapi\/plugin-users-permissions$/, 'built in', 'roles, permissions, users, login by name and password'],
  [/^@strapi\/plugin-i18n$/, 'built in', 'locales and localized entries'],
  [/^@strapi\/(plugin-)?upload$/, 'built in', 'the media library over the API'],
  [/^@strapi\/plugin-documentation$/, 'replaced', 'GET /api/openapi.json and /api/reference describe the API'],
  [/^@strapi\/plugin-graphql$/, 'not run', 'there is no GraphQL: its clients need v4'],
  [/^@strapi\/plugin-sentry$/, 'not run', 'errors are in the log'],
  [/^@strapi\/provider-upload-local$/, 'built in', 'files in public/uploads'],
  [/^@strapi\/provider-upload-aws-s3$/, 'replaced', 'upload.s3 in dovetail.config'],
  [/provider-upload/, 'not run', 'files there are shown; new ones go to public/uploads or S3'],
  [/provider-email/, 'replaced', 'mail goes out over SMTP, by SMTP_HOST'],
  [/^@strapi\/plugin-color-picker$/, 'replaced', 'the custom field is known; its editor belongs to the admin panel'],
  [
    /^@strapi\/(plugin-cloud|admin|design-system|icons|helper-plugin|types|typescript-utils|utils|generate.*)$/,
    'not needed',
    'a tool, or of the admin panel',
  ],
  [
    /^@_sh\/strapi-plugin-ckeditor$|^@ckeditor\/strapi-plugin-ckeditor$/,
    'replaced',
    'the custom field is known; its editor belongs to the admin panel',
  ],
  [/^@strapi\//, 'not run', 'no part of it is here'],
  [/(^|\/)strapi-plugin-|^strapi-.*plugin/, 'not run', ofOthers],
  [/strapi-provider-/, 'not run', 'providers of v4 are not loaded'],
];

/** Those of the dependencies that belong to v4, by name, or by what their package says where it is installed. */
export const findPlugins = (dir: string, dependencies: ReadonlyMap<string, string>): readonly PluginVerdict[] =>
  [...dependencies]
    .flatMap(([name, range]): readonly PluginVerdict[] => {
      const found = known.find(([form]) => form.test(name));
      if (found) return [{ name, range, verdict: found[1], why: found[2] }];
      return pluginName(dir, name) === null ? [] : [{ name, range, verdict: 'not run', why: ofOthers }];
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));

/** A package of others that v4 runs as a plugin, unless `config/plugins` switches it off. */
export interface InstalledPlugin {
  /** As `config/plugins` knows it. */
  readonly name: string;
  /** Of one that only `config/plugins` names, its folder, relative to the project's. */
  readonly packageName: string;
  /** Null if it is not found, so that nothing tells what it does; else whether it may refuse requests, or narrow what they find. */
  readonly mayGuard: boolean | null;
}

/** What the packages of the project are, as far as they are installed or their names say it. */
export interface FoundPackages {
  readonly plugins: readonly InstalledPlugin[];
  /** Dependencies that are not installed, and whose names do not tell whether they are plugins; without those that only the panel imports. */
  readonly unknown: readonly AbsentPackage[];
}

interface AbsentPackage {
  readonly packageName: string;
  /** The first file of `src` or `config` that names it as a module; null if none does: v4 loads plugins by package.json alone. */
  readonly importedBy: string | null;
}

/**
 * Those that the project's package.json names, by what their package says, or else by its name, and guards that `config/plugins`
 * places outside of `src/plugins`, whose files are looked at one by one.
 */
export const findPackages = (dir: string, configured: unknown = {}): FoundPackages => {
  const { dependencies = {} } = readPackage(dir);
  const names = Object.keys(dependencies).filter((it) => !it.startsWith('@strapi/'));
  const found = names.map((packageName) => ({ packageName, folder: packageFolder(dir, packageName) }));
  const packaged = found.flatMap(({ packageName, folder }): readonly InstalledPlugin[] => {
    const name = folder === null ? nameByPackage(packageName) : pluginName(dir, packageName);
    return name === null
      ? []
      : [{ name, packageName, mayGuard: folder === null ? null : !noGuards.has(packageName) && mayGuard(folder) }];
  });
  const folders = new Set(found.flatMap(({ folder }) => (folder === null ? [] : [fs.realpathSync(folder)])));
  const unknown = found
    .filter(({ packageName, folder }) => folder === null && nameByPackage(packageName) === null)
    .map(({ packageName }) => packageName)
    .filter((it) => !noPlugin.test(it));
  return {
    plugins: [...packaged, ...placedGuards(dir, configured, folders)],
    unknown: unknown.length === 0 ? [] : withImporters(dir, unknown),
  };
};

const withImporters = (dir: string, names: readonly string[]): readonly AbsentPackage[] => {
  const files = ['config', 'src'].flatMap((place) =>
    filesBelow(path.join(dir, place), /(?<!\.d|\.test)\.[cm]?[jt]sx?$/).map((file) => ({
      file: nameIn(dir, file),
      text: withoutComments(fs.readFileSync(file, 'utf8')),
    })),
  );
  return names.flatMap((packageName): readonly AbsentPackage[] => {
    const importing = new RegExp(
      String.raw`\b(?:from|import|require(?:\.resolve)?)\s*\(?\s*['"\x60]${escapeRegExp(packageName)}(?:/[^'"\x60]*)?['"\x60]`,
    );
    const importers = files.filter(({ text }) => importing.test(text)).map(({ file }) => file);
    if (importers.length === 0) return [{ packageName, importedBy: null }];
    return importers
      .filter((it) => !ofPanel.test(it))
      .slice(0, 1)
      .map((importedBy) => ({ packageName, importedBy }));
  });
};

/** As good as a pattern can tell: a name that it misses, or finds in a comment, is only said. The lines stay. */
const withoutComments = (source: string): string =>
  source.replace(
    /('(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g,
    (comment, text: string | undefined) => text ?? ` ${comment.replaceAll(/[^\n]/g, '')}`,
  );

const ofPanel = /^src\/(?:plugins\/[^/]+\/)?admin\//;

/** @param packaged folders of packages, whose names are in package.json. */
const placedGuards = (dir: string, configured: unknown, packaged: ReadonlySet<string>): readonly InstalledPlugin[] =>
  Object.entries(configured ?? {}).flatMap(([name, it]): readonly InstalledPlugin[] => {
    const { resolve } = (it ?? {}) as { readonly resolve?: unknown };
    if (typeof resolve !== 'string') return [];
    const place = path.resolve(dir, resolve);
    const found = fs.statSync(place, { throwIfNoEntry: false });
    if (!found) return [];
    // `require.resolve('…/package.json')` is a file
    const folder = found.isFile() ? path.dirname(place) : place;
    const packageName = path.relative(dir, folder).split(path.sep).join('/');
    if (packageName.startsWith('src/plugins/') || packaged.has(fs.realpathSync(folder)) || !mayGuard(folder)) return [];
    return [{ name, packageName, mayGuard: true }];
  });

/** Whether a folder, relative to the project's, has the server of a plugin. */
export const isPluginFolder = (dir: string, folder: string): boolean =>
  serverPlaces.some((it) => fs.existsSync(path.resolve(dir, folder, it)));

/** Their text looks like that of guards, but they only reshape responses, or populate more of what the caller may see. */
const noGuards: ReadonlySet<string> = new Set(['strapi-plugin-populate-deep', 'strapi-plugin-transformer']);

/** What v4 itself puts into a package.json, and providers. */
const noPlugin =
  /^(?:better-sqlite3|sqlite3|pg|mysql2?|react|react-dom|react-router-dom|styled-components)$|strapi-provider-/;

interface Package {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly strapi?: { readonly kind?: unknown; readonly name?: unknown };
}

const readPackage = (folder: string): Package => {
  try {
    return (JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')) as Package | null) ?? {};
  } catch {
    // not installed, or not ours to report
    return {};
  }
};

/** Null for a package that is no plugin. */
const pluginName = (dir: string, packageName: string): string | null => {
  const folder = packageFolder(dir, packageName);
  const { strapi } = folder === null ? {} : readPackage(folder);
  return strapi?.kind === 'plugin' ? String(strapi.name ?? packageName) : null;
};

const serverPlaces = ['strapi-server.js', 'server', 'dist/server', 'dist/strapi-server.js'];

/** Whether the text of its server shows guards. Of all its files at once: what one subscribes may be written in another. */
const mayGuard = (folder: string): boolean =>
  pluginGuards(serverPlaces.flatMap((place) => textsBelow(path.join(folder, place))).join('\n'));

const textsBelow = (place: string): readonly string[] => {
  const found = fs.statSync(place, { throwIfNoEntry: false });
  if (!found) return [];
  const files = found.isFile() ? [place] : filesBelow(place, /\.[cm]?js$/);
  return files.map((it) => fs.readFileSync(it, 'utf8'));
};

/** Without those of packages that are installed there. */
const filesBelow = (folder: string, names: RegExp): readonly string[] =>
  fs.existsSync(folder)
    ? fs
        .readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter(
          (it) => it.isFile() && names.test(it.name) && !`${it.parentPath}/`.includes('/node_modules/', folder.length),
        )
        .map((it) => path.join(it.parentPath, it.name))
        .sort()
    : [];
