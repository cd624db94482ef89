/**
 * `adopt`: looks at a v4 project and its database, without writing a byte to either, and reports what serving it would
 * mean.
 */
import fs from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { isSameMemory, readMemory, withModel } from '../../migrate/memory.js';
import { withIndexes } from '../../model/indexes.js';
import { formatNote, type LoadedModel, loadModel } from '../../model/load.js';
import type { Model } from '../../model/model.js';
import { configuredPrefix, tablesOf } from '../../model/storage.js';
import { asStored } from '../../model/stored.js';
import { readRows } from '../../sql/dialect.js';
import type { FrozenDb } from '../../sql/inspection.js';
import { diffTables, readCatalog } from '../../sql/schema.js';
import {
  type Config,
  defaultConfig,
  type FoundConfig,
  postgresUrl,
  readConfig,
  readVariables,
  tlsOf,
  withV4Settings,
} from '../config.js';
import { faultOfFile } from '../given-file.js';
import { readStored, readUnlocalized, storedColumns } from '../layout.js';
import { compareDatabase, hasDocuments } from '../project.js';
import { describeUnfit } from '../secrets.js';
import { StartFault, UsageFault } from '../start-fault.js';
import { type CodeFile, findHandlers, isUnwatched, verdictOf } from '../v4project/code.js';
import { declaredRoutes, type FindOptions, findCode, openActions, writtenRouters } from '../v4project/find-code.js';
import { findPackages, findPlugins } from '../v4project/plugins.js';
import { countSettings, cureOfGuards, settingGuards, withPackages } from '../v4project/settings.js';
import { instantOf, readContents, readPublicActions } from './contents.js';
import { findHazards } from './hazards.js';
import { printReport } from './print.js';
import { findProject, type V4Project } from './project.js';
import type { AdoptReport, CodeFact, DatabaseFacts, Obstacle, ProjectFacts } from './report.js';
import { judgeRequests } from './requests.js';
import type { Hide } from './secrets.js';
import { describeServed, differencesOf, ownRoutesOf, readProviders } from './served.js';
import { planServing, planStart } from './serving.js';
import {
  compareSettings,
  type DatabaseAddress,
  environmentOf,
  findAddress,
  settingsOf,
  unfitSecretsOf,
} from './settings.js';
import { newTables, type Tables } from './tables.js';
import { readV4Config, type V4Config } from './v4-config.js';

export interface ConnectionFlags {
  /** A SQLite file or a PostgreSQL URL, instead of what the project's configuration says. */
  readonly database: string | null;
}

export interface AdoptOptions extends ConnectionFlags {
  /** `NODE_ENV` of v4; null for that of this process or of `.env`, or `development`. */
  readonly environment: string | null;
  /** A file of request lines to judge; `-` for stdin. */
  readonly urls: string | null;
  readonly json: boolean;
}

/** Exit code 1 if something stands in the way of serving the project. */
export const adopt = async (dir: string, options: AdoptOptions): Promise<void> => {
  const fault = options.urls === null || options.urls === '-' ? null : faultOfFile(options.urls);
  if (fault !== null) throw new UsageFault(`--urls: ${fault}`);
  const report = await inspect(dir, options);
  process.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : printReport(report, process.stdout));
  if (!report.ok) process.exitCode = 1;
};

/** Everything that `adopt` reports. */
export const inspect = async (dir: string, options: AdoptOptions): Promise<AdoptReport> => {
  const environment = options.environment ?? readVariables(dir, process.env).NODE_ENV;
  const found = findProject(dir, environment);
  const { dependencies, ...project } = found.project;
  if (!found.ok)
    return { ...nothingOf(project), obstacles: [found.obstacle], plugins: findPlugins(project.dir, dependencies) };
  const obstacles: Obstacle[] = [];
  const isTypeScript = project.language === 'TypeScript';
  const v4 = await readV4Config(project.dir, { environment, outside: process.env, isTypeScript });
  const given = await ownConfig(project.dir, obstacles);
  const { runCode: isRead, ignoreCode } = given.config.project;
  const v4Settings = settingsOf(project.dir, v4, ignoreCode);
  const config = isRead ? withV4Settings(given, v4Settings) : given.config;
  const faults = v4.faults.filter((it) => !/has been restricted/.test(it));
  if (isRead && faults.length > 0)
    obstacles.push({
      code: 'config.invalid',
      message: `The start reads config/, and it cannot be evaluated: ${faults.join('; ')}`,
      cure: 'Mend the files, or set the variables that they need.',
    });
  const configured = isRead ? v4.part('plugins').value : {};
  const packages = findPackages(project.dir, configured);
  const withPlugins = withPackages(isRead ? v4Settings : [], configured, packages, new Set(ignoreCode));
  const guards = settingGuards(withPlugins, given);
  if (guards.length > 0)
    obstacles.push({
      code: 'settings.guards',
      message: `${countSettings(guards)} may restrict access and ${guards.length === 1 ? 'is' : 'are'} not supported, so the start is refused: ${guards.map((it) => `${it.v4Name}: ${it.note}`).join('; ')}`,
      cure: cureOfGuards(guards),
    });
  const unfit = environment === 'production' ? unfitSecretsOf(v4) : [];
  if (unfit.length > 0)
    obstacles.push({
      code: 'secrets.unfit',
      message: `The start in production is refused: ${describeUnfit(unfit).join('; ')}`,
      cure: 'Give v4 and Dovetail the same new secrets. With another JWT_SECRET everyone has to log in again, with another API_TOKEN_SALT tokens have to be made anew.',
    });
  const code = codeOf(project.dir, { ...config.project, environment }, obstacles);
  const loaded = loadModel(project.dir, { ...config.api.responses, customFields: config.customFields });
  const model = modelOf(loaded, config, obstacles);
  const settings = compareSettings(v4Settings, config).map((it) => ({
    ...it,
    v4: v4.hide.setting(it.v4Name, it.v4),
    dovetail: v4.hide.setting(it.v4Name, it.dovetail),
  }));
  const exposed = settings.find((it) => it.name === 'api.responses.privateAttributes' && it.state === 'set');
  if (exposed && Array.isArray(exposed.v4) && exposed.v4.length > 0)
    obstacles.push({
      code: 'settings.exposed',
      message: `v4 leaves ${exposed.v4.join(', ')} out of every response (config/api), and dovetail.config does not say so: they would be shown.`,
      cure: 'Take over api.responses.privateAttributes, as in the configuration below.',
    });
  const plugins = findPlugins(project.dir, dependencies);
  const address = findAddress(project.dir, v4, options);
  if (!address.ok) obstacles.push(address.obstacle);
  const known = {
    ...nothingOf(project),
    code: code.facts,
    plugins,
    settings,
    schemaWarnings: loaded.warnings,
    configFaults: v4.faults,
  };
  const db = address.ok ? await open(address.address, v4.hide, obstacles) : null;
  if (!db || !address.ok) return { ...known, obstacles, ok: false };
  try {
    const database = await describeDatabase(db, address.address);
    if (!model) return { ...known, database, obstacles, ok: false };
    const seen: Seen = { ...code, project: found.project, v4, config, model, db, database, address: address.address };
    return await inspectDatabase({ ...known, obstacles, database }, seen, options);
  } catch (fault) {
    // of the database: a table that the role may not read, a damaged file
    if (!(fault instanceof Error && 'code' in fault && typeof fault.code === 'string')) throw fault;
    const obstacle: Obstacle = {
      code: 'database.unreachable',
      message: `The database cannot be read whole: ${v4.hide.text(fault.message)}`,
      cure: 'Give a role that may read every table, or a sound copy: --database.',
    };
    return { ...known, obstacles: [...obstacles, obstacle] };
  } finally {
    await db.close();
  }
};

/** A report before anything was looked at. */
const nothingOf = (project: ProjectFacts): AdoptReport => ({
  ok: false,
  obstacles: [],
  project,
  database: null,
  content: null,
  served: null,
  configFaults: [],
  schemaWarnings: [],
  code: [],
  plugins: [],
  settings: [],
  hazards: [],
  differences: [],
  requests: null,
  start: null,
  serve: null,
});

interface Code {
  readonly files: readonly CodeFile[];
  readonly facts: readonly CodeFact[];
}

interface Seen extends Code {
  readonly project: V4Project;
  readonly v4: V4Config;
  readonly config: Config;
  readonly model: Model;
  readonly db: FrozenDb;
  readonly database: DatabaseFacts;
  readonly address: DatabaseAddress;
}

const inspectDatabase = async (
  known: AdoptReport,
  { project, v4, config, model, db, database, address, files, facts }: Seen,
  { urls }: AdoptOptions,
): Promise<AdoptReport> => {
  const obstacles = [...known.obstacles];
  const found = await readCatalog(db);
  const tables = newTables(db, found);
  const isVersion5 = hasDocuments(found, diffTables(tablesOf(model), found, db, configuredPrefix));
  const foreign = foreignLayout(isVersion5, tables.has('up_users') || tables.has('files'));
  if (foreign) return { ...known, obstacles: [...obstacles, foreign] };
  const diff = await compareDatabase({ model }, db);
  const stored = await readStored(model, diff, db);
  const content = await readContents(project.dir, model, tables);
  const publicActions = await readPublicActions(tables);
  const routers = writtenRouters(project.dir, files);
  const hazards = await findHazards({
    model,
    tables,
    diff,
    otherTypes: storedColumns(diff.otherTypes, asStored(model, stored), db),
    drafts: stored.drafts,
    unlocalized: await readUnlocalized(model, db, diff),
    content,
    ownActions: ownRoutesOf(facts).flatMap((it) => it.action ?? []),
  });
  const serving = {
    dir: project.dir,
    config: v4,
    address,
    settings: known.settings,
    isRead: config.project.runCode,
    code: facts,
    guards: guardsIn(files),
  };
  const isNew = content.roles.length === 0;
  const start = planStart(serving, model, diff, db, {
    isNew,
    hasLocales: (content.locales?.codes.length ?? 0) > 0,
    hasWebhooks:
      tables.has('strapi_webhooks', 'enabled') &&
      (await tables.count(sql`select count(*) from strapi_webhooks where enabled`)) > 0,
    isRemembered: await isRemembered(model, tables),
  });
  const obstacle = await withoutRights(db, address, start.tables.length + start.columns.length > 0);
  if (obstacle) obstacles.push(obstacle);
  const providers = await readProviders(tables);
  const served = {
    model,
    config,
    v4,
    routers,
    publicActions,
    openActions: new Set(openActions(project.dir, files)),
    code: facts,
    plugins: known.plugins,
    content,
    database,
    settings: known.settings,
    providers,
  };
  return {
    ...known,
    ok: obstacles.length === 0,
    obstacles,
    content,
    served: describeServed(served),
    hazards,
    differences: differencesOf(served),
    requests:
      urls === null
        ? null
        : await judgeRequests({
            model: asStored(model, stored),
            config,
            file: urls,
            ownRoutes: facts.flatMap(({ routes, verdict }) =>
              routes.map((it) => ({ ...it, runs: verdict === 'runs' })),
            ),
            hasCode: facts.some((it) => it.verdict === 'runs'),
            routers,
            defaultLocale: content.locales?.default ?? 'en',
          }),
    start,
    serve: planServing(serving),
  };
};

/** Whether the database holds what the start would store for `migrate`. */
const isRemembered = async (model: Model, tables: Tables): Promise<boolean> => {
  if (!tables.has('strapi_core_store_settings', 'key', 'value')) return false;
  const memory = await tables.db.read(() => readMemory(tables.db.dialect));
  return isSameMemory(memory, withModel(memory, model));
};

// ---- the project

const ownConfig = async (dir: string, obstacles: Obstacle[]): Promise<FoundConfig> => {
  try {
    return await readConfig(dir);
  } catch (fault) {
    if (!(fault instanceof StartFault)) throw fault;
    obstacles.push({ code: 'config.invalid', message: fault.message, cure: 'Mend the configuration file.' });
    return { config: defaultConfig(dir), given: {} };
  }
};

const codeOf = (dir: string, options: FindOptions, obstacles: Obstacle[]): Code => {
  let files: readonly CodeFile[];
  try {
    files = findCode(dir, options);
  } catch (fault) {
    if (!(fault instanceof StartFault)) throw fault;
    obstacles.push({ code: 'config.invalid', message: fault.message, cure: 'Mend the configuration file.' });
    files = findCode(dir, { ...options, ignoreCode: [], acceptCode: [] });
  }
  const routes = declaredRoutes(dir, files);
  const facts = files.map(
    (it): CodeFact => ({
      file: it.file,
      ...verdictOf(it),
      ignored: it.ignored,
      routes: routes.filter(({ file }) => file === it.file).map(({ file: _, ...route }) => route),
    }),
  );
  const handlers = findHandlers(dir).map(
    (file): CodeFact => ({
      file,
      verdict: 'runs',
      isGuard: false,
      why: 'handlers and hooks of Dovetail',
      ignored: false,
      routes: [],
    }),
  );
  const guards = guardsIn(files).map((it) => it.file);
  if (guards.length > 0)
    obstacles.push({
      code: 'code.guards',
      message: `${guards.length === 1 ? 'A file may restrict access, and is not run' : `${guards.length} files may restrict access, and are not run`}, so the start is refused: ${guards.slice(0, 3).join(', ')}${guards.length > 3 ? ` and ${guards.length - 3} more, below` : ''}`,
      cure: `${options.runCode ? 'Do' : 'Remove project.runCode from dovetail.config, so that the code runs. Or do'} what they do with permissions, or with handlers (src/api/<name>/handlers.ts), and list them in dovetail.config: project.ignoreCode. Those that catch errors can be mended, or listed in project.acceptCode.`,
    });
  return { files, facts: [...facts, ...handlers] };
};

const guardsIn = (files: readonly CodeFile[]): readonly CodeFile[] => files.filter(isUnwatched);

const modelOf = (loaded: LoadedModel, config: Config, obstacles: Obstacle[]): Model | null => {
  if (!loaded.ok) {
    obstacles.push({
      code: 'schema.invalid',
      message: `Schema files have faults: ${loaded.faults.map(formatNote).join('; ')}`,
      cure: 'Mend the files; v4 does not start with these either, or reads them in a way that Dovetail does not.',
    });
    return null;
  }
  const indexed = withIndexes(loaded.model, config.indexes);
  if (indexed.ok) return indexed.model;
  obstacles.push({ code: 'config.invalid', message: indexed.faults.join('; '), cure: 'Mend the configuration file.' });
  return loaded.model;
};

// ---- the database

const open = async (address: DatabaseAddress, hide: Hide, obstacles: Obstacle[]): Promise<FrozenDb | null> => {
  const where = `as ${address.from} ${address.from === '--database' ? 'says' : 'has it'}`;
  try {
    if (address.client === 'postgres') {
      const { openFrozenPostgres } = await import('../../sql/postgres/frozen.js');
      const env = environmentOf(address);
      return await openFrozenPostgres(postgresUrl(env), tlsOf(env));
    }
    const file = address.given.DATABASE_FILENAME ?? '';
    if (!fs.existsSync(file)) {
      obstacles.push({
        code: 'database.missing',
        message: `There is no file ${file}, ${where}.`,
        cure: 'Name the file: --database FILE. If the settings are those of production, add --env production.',
      });
      return null;
    }
    const { openFrozenSqlite } = await import('../../sql/sqlite/frozen.js');
    return await openFrozenSqlite(file);
  } catch (fault) {
    obstacles.push({
      code: 'database.unreachable',
      message: `The database cannot be read, ${where}: ${hide.text((fault as Error).message)}`,
      cure:
        address.client === 'postgres'
          ? 'Is the server up, and can it be reached from here? Another one is named by --database postgres://USER:PASSWORD@HOST:PORT/NAME.'
          : 'Name another file: --database FILE.',
    });
    return null;
  }
};

const describeDatabase = async (db: FrozenDb, address: DatabaseAddress): Promise<DatabaseFacts> => {
  const catalog = await readCatalog(db);
  const tables = newTables(db, catalog);
  const [[version, bytes] = []] = await tables.run(db.dialect.engine);
  const [[sync] = []] = tables.has('strapi_database_schema', 'time')
    ? await tables.rows(sql`select time from strapi_database_schema order by id desc limit 1`)
    : [];
  return {
    client: address.client,
    place: db.place,
    from: address.from,
    variables: address.variables,
    version: String(version),
    journalMode: db.journalMode,
    bytes: Number(bytes),
    tables: catalog.tables.size,
    lastSync: instantOf(sync),
  };
};

const foreignLayout = (isVersion5: boolean, isV4: boolean): Obstacle | null => {
  if (isVersion5)
    return {
      code: 'project.v5',
      message: 'The database was upgraded to Strapi 5: its tables have documents.',
      cure: 'Give the database backup from before the upgrade: --database.',
    };
  if (isV4) return null;
  return {
    code: 'database.not-v4',
    message: 'The database has none of the tables that v4 makes when it is first started.',
    cure: 'Is it the right one? Another is named by --database, and another environment by --env. For an empty database no adopt is needed: `dovetail start` makes the tables.',
  };
};

/** What the role or the file system does not allow. */
const withoutRights = async (db: FrozenDb, address: DatabaseAddress, mustAdd: boolean): Promise<Obstacle | null> => {
  const { rights } = db.inspection;
  if (rights === null) {
    const file = address.given.DATABASE_FILENAME ?? '';
    const closed = [file, path.dirname(file)].find((it) => !isWritable(it));
    return closed === undefined
      ? null
      : {
          code: 'database.not-writable',
          message: `${closed} cannot be written by this user.`,
          cure: 'Dovetail keeps a journal beside the file. Run it as a user who may write there, or serve a copy.',
        };
  }
  const [[mayAlter, role, isStandby] = []] = await db.read(() => readRows(rights));
  if (isStandby === true)
    return {
      code: 'database.not-writable',
      message: 'The server is a standby, which takes no writes.',
      cure: 'Name the primary: --database.',
    };
  return mayAlter === true || !mustAdd
    ? null
    : {
        code: 'database.not-writable',
        message: `The role ${String(role)} may not create or alter tables, and the start has some to add.`,
        cure: 'Start Dovetail with the role that v4 uses, or run `dovetail sync` once with that role.',
      };
};

const isWritable = (place: string): boolean => {
  try {
    fs.accessSync(place, fs.constants.W_OK);
    return true;
  } catch {
    return false;
  }
};
