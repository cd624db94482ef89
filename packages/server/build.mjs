/**
 * Bundles the command line after tsc has compiled the modules: `dist/bundle` is what `dovetail` runs. A few files load in a third of
 * the time of some four hundred, and take a third less memory. Our code and that of packages go to separate files: ours
 * have source maps, by which logged stack traces name the sources.
 */
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { rolldown } from 'rolldown';
import { licencesOf } from './licences.mjs';

const dir = 'dist/bundle';
/** What cannot be bundled: native code, and what is installed only by some. jiti loads files of its own. */
const installed = /^(better-sqlite3|sharp|@node-rs\/bcrypt|@aws-sdk\/.*|jiti|pg-native)$/;
/** Required by the framework only where a route has a schema, or a test injects a request. */
const unused = /^(@fastify\/ajv-compiler|@fastify\/fast-json-stringify-compiler|light-my-request)$/;
/** What plugins and the bundler make stands beside packages. */
const isPackage = (id) => id.includes('/node_modules/') || id.startsWith('\0');
/**
 * What a start loads lies in two files for each of these layers, of ours and of packages: the modules that its roots import and no
 * layer before it has. So a command loads little that it does not need, and a start few files: finding and linking them takes time.
 */
const layers = [
  { name: 'base', roots: ['src/cli/program.ts'] },
  { name: 'supervisor', roots: ['src/cli/supervisor.ts'] },
  { name: 'secrets', roots: ['src/cli/init/init.ts'] },
  { name: 'project', roots: ['src/cli/commands/check.ts', 'src/sql/sqlite/open.ts', 'src/sql/postgres/open.ts'] },
  { name: 'content', roots: ['src/cli/transfer/export.ts'] },
  { name: 'adopt', roots: ['src/cli/adopt/adopt.ts'] },
  { name: 'server', roots: ['src/cli/start.ts'] },
];
/** The name of the layer, by the module's id. */
const layerOf = new Map();
const layering = {
  name: 'layering',
  buildEnd(fault) {
    if (fault) return;
    const reach = (id, seen = new Set()) => {
      if (seen.has(id)) return seen;
      seen.add(id);
      for (const it of this.getModuleInfo(id)?.importedIds ?? []) reach(it, seen);
      return seen;
    };
    const [, ...started] = reach(path.resolve('src/cli/start.ts'));
    for (const { name, roots } of layers) {
      const needed = new Set(roots.flatMap((it) => [...reach(path.resolve(it))]));
      for (const id of started) if (needed.has(id) && !layerOf.has(id)) layerOf.set(id, name);
    }
  },
};
/** Modules of Node that packages import and never use here: TLS, HTTP/2, commands that are programs of their own. */
const idle = [
  { packages: /\/node_modules\/fastify\//, modules: /^node:https?2?$/ },
  { packages: /\/node_modules\/commander\//, modules: /^node:child_process$/ },
];
const resolve = createRequire(import.meta.url).resolve;
/** Of which several would be loaded, which Node has itself, or whose main file requires modules where no bundler finds them. */
const shared = {
  'mime-db': resolve('mime-db'),
  'readable-stream': 'node:stream',
  'jsonc-parser': resolve('jsonc-parser').replace('/umd/', '/esm/'),
};
/** Tables of media types, made on their first use: a start needs none. By name: who imports them. */
const onFirstUse = {
  'mime-db': /\/node_modules\/@fastify\/compress\//,
  'mime-types': /^(?!.*\/node_modules\/)/,
  mime: /\/node_modules\/@fastify\/send\//,
};
const ON_FIRST_USE = '\0on-first-use:';
const madeOnFirstUse = (file) =>
  `module.exports = new Proxy({}, { get: (_, name) => require(${JSON.stringify(file)})[name] });`;
/** In place of semver, with which fastify compares versions of plugins: a bundle has those with which the tests ran. */
const ANY_VERSION = '\0any-version';
const EMPTY = '\0empty';
const NO_RESPONSE = '\0no-response';
const lean = {
  name: 'lean',
  resolveId: (id, importer = '') => {
    if (id.startsWith('\0')) return id;
    if (idle.some(({ packages, modules }) => packages.test(importer) && modules.test(id))) return EMPTY;
    if (id === 'semver' && importer.includes('/node_modules/fastify/')) return ANY_VERSION;
    if (onFirstUse[id]?.test(importer)) return ON_FIRST_USE + createRequire(importer).resolve(id);
    return shared[id] ?? null;
  },
  load: (id) => {
    if (id === ANY_VERSION) return 'export const satisfies = () => true;';
    if (id.startsWith(ON_FIRST_USE)) return madeOnFirstUse(id.slice(ON_FIRST_USE.length));
    if (id === EMPTY) return 'export default {};';
    // to look whether a body is a `Response` loads Node's fetch, which is larger than all of this
    return id === NO_RESPONSE ? 'export class Response {}' : null;
  },
};

/**
 * @param name of the entry, below src.
 * @param format scripts (`cjs`) can be kept with all that V8 compiles of them, see src/cli/compiled.ts.
 * @returns the files.
 */
const bundle = async (name, { format, plugins, groups }) => {
  const extension = format === 'cjs' ? 'cjs' : 'js';
  const bundled = await rolldown({
    plugins,
    transform: { inject: { Response: [NO_RESPONSE, 'Response'] } },
    input: { [name]: `src/${name}.ts` },
    platform: 'node',
    // depd, of koa, makes functions with a given number of parameters; what one module imports late, another may import at once
    checks: { eval: false, ineffectiveDynamicImport: false },
    external: [installed, unused],
  });
  const { output } = await bundled.write({
    dir,
    format,
    strict: true,
    // a script cannot import
    dynamicImportInCjs: false,
    entryFileNames: `[name].${extension}`,
    chunkFileNames: ({ moduleIds }) =>
      moduleIds.length > 0 && moduleIds.every(isPackage) ? `packages/[name].${extension}` : `cli/[name].${extension}`,
    codeSplitting: { groups: [...groups, { name: 'packages', test: isPackage, entriesAware: true }] },
    // V8 keeps the sources in memory, with two bytes per character if one of them is not Latin-1
    charset: 'ascii',
    comments: false,
    sourcemap: true,
    sourcemapExcludeSources: true,
  });
  await bundled.close();
  return output;
};

fs.rmSync(dir, { recursive: true, force: true });
const output = [
  ...(await bundle('cli/program', {
    format: 'cjs',
    plugins: [lean, layering],
    groups: layers.flatMap(({ name }) =>
      [true, false].map((ofPackages) => ({
        name,
        test: (id) => layerOf.get(id) === name && isPackage(id) === ofPackages,
      })),
    ),
  })),
  // what runs in threads: a module, because it awaits at its top level
  ...(await bundle('read/thread', { format: 'es', plugins: [lean], groups: [] })),
];

const modules = output.flatMap((it) => Object.keys(it.modules ?? {}));
for (const { fileName, modules = {} } of output) {
  if (!/\.c?js$/.test(fileName) || !Object.keys(modules).every(isPackage)) continue;
  const file = path.join(dir, fileName);
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace(/\n\/\/# sourceMappingURL=.*\n?$/, '\n'));
  fs.rmSync(`${file}.map`, { force: true });
}

fs.writeFileSync(
  path.join(dir, 'LICENCES.txt'),
  licencesOf(modules.filter((id) => isPackage(id) && !id.startsWith(ON_FIRST_USE))),
);

/** The Studio as packages/studio has built it, each file once, without what only its tests read. */
fs.rmSync('dist/studio', { recursive: true, force: true });
fs.cpSync('../studio/dist', 'dist/studio', {
  recursive: true,
  filter: (file) => !path.basename(file).startsWith('.') && !fs.existsSync(`${file}.br`),
});

/** The declarations that the package's exports name, with all that they lead to; nobody needs the others. */
const { exports: exported } = JSON.parse(fs.readFileSync('package.json', 'utf8'));
const declarations = new Set(
  Object.values(exported).flatMap(({ types }) => (types ? [path.relative('dist/types', types)] : [])),
);
fs.rmSync('dist/types', { recursive: true, force: true });
for (const file of declarations) {
  const text = fs.readFileSync(path.join('dist', file), 'utf8');
  for (const [, from] of text.matchAll(/(?:\bfrom |\bimport\()['"](\.[^'"]*)\.js['"]/g))
    declarations.add(path.join(path.dirname(file), `${from}.d.ts`));
  fs.mkdirSync(path.join('dist/types', path.dirname(file)), { recursive: true });
  fs.writeFileSync(path.join('dist/types', file), text);
}
