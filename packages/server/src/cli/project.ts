/** Opens a project: configuration, model and database. Every command begins here. */
import fs from 'node:fs';
import path from 'node:path';
import { Refusal } from '../errors.js';
import { makeFolder } from '../folders.js';
import { HandlerFault, type HandlersByType, loadHandlers, misnamedHandlers } from '../handlers/load.js';
import { withIndexes } from '../model/indexes.js';
import { formatNote, loadModel, type SchemaNote } from '../model/load.js';
import type { Model } from '../model/model.js';
import { dependsOnStrapi, isProjectFolder } from '../model/project-folder.js';
import { configuredPrefix, foreignTables, isOwn, tablesOf } from '../model/storage.js';
import { etagsReady } from '../read/etag.js';
import { type Db, type ReadableDb, readInside, type Tx } from '../sql/dialect.js';
import { type Catalog, catalogProgram, diffTables, readCatalog, sameNames, type TableDiff } from '../sql/schema.js';
import type { SqliteDb } from '../sql/sqlite/open.js';
import { type Config, type Environment, outsideVariables, postgresUrl, readVariables, tlsOf } from './config.js';
import { isDiskFull, StartFault } from './start-fault.js';
import { type CodeFile, findHandlers, needsCode } from './v4project/code.js';
import { readSetup, type V4Side } from './v4project/config.js';
import { MOVE_DATABASE } from './v4project/database.js';
import { CLIENT_SETTING, clientOf } from './v4project/settings.js';

export interface Project {
  readonly dir: string;
  readonly env: Environment;
  readonly config: Config;
  readonly model: Model;
  /** The model of the schema files, if `model` follows what the database stores instead. */
  readonly declared?: Model;
  /** Faults in schema files that v4 tolerates, and files that are not read because of their names. */
  readonly warnings: readonly SchemaNote[];
  /** Files of v4's code and configuration. */
  readonly code: readonly CodeFile[];
  readonly v4: V4Side;
}

/** Faults in schema files, which prevent the start. */
export class SchemaFault extends StartFault {
  readonly faults: readonly SchemaNote[];
  readonly warnings: readonly SchemaNote[];
  constructor(faults: readonly SchemaNote[], warnings: readonly SchemaNote[]) {
    super(formatFaults(faults, warnings), {
      notes: faults.map((it) => ({ ...it, message: it.place === '' ? it.message : `${it.place}: ${it.message}` })),
    });
    this.faults = faults;
    this.warnings = warnings;
  }
}

export const openProject = async (dir: string): Promise<Project> => {
  const absolute = path.resolve(dir);
  if (!fs.statSync(absolute, { throwIfNoEntry: false })?.isDirectory())
    throw new StartFault(`There is no folder ${absolute}. Set the project folder with --project.`);
  if (!isProjectFolder(absolute))
    throw new StartFault(
      `${absolute} is not a project: it has no src/api/*/content-types/*/schema.json. Name the folder of a project with --project, or create one with dovetail init.`,
    );
  const { config, env, code, v4 } = await readSetup(absolute);
  refuseOwnPrefix(config);
  const loaded = loadModel(absolute, { ...config.api.responses, customFields: config.customFields });
  if (!loaded.ok) throw new SchemaFault(loaded.faults, loaded.warnings);
  const indexed = withIndexes(loaded.model, config.indexes);
  if (!indexed.ok) throw new StartFault(indexed.faults.map((it) => `configuration: ${it}`).join('\n'));
  const warnings = [...loaded.warnings, ...misnamedHandlers(absolute)];
  return { dir: absolute, env, config, model: indexed.model, warnings, code, v4 };
};

export const loadProjectHandlers = async ({ dir, model }: Project): Promise<HandlersByType> => {
  try {
    return await loadHandlers(dir, model);
  } catch (fault) {
    if (!(fault instanceof HandlerFault)) throw fault;
    const { message, cause, place, what } = fault;
    throw new StartFault(message, {
      cause,
      notes: [{ file: path.relative(dir, fault.file), place, message: what }],
    });
  }
};

/** Refuses a prefix below which the server has paths of its own. The Studio gives way. */
const refuseOwnPrefix = ({ api: { rest } }: Config): void => {
  if (/^\/(?:admin|uploads|_health|_dovetail)(?:\/|$)/i.test(rest.prefix))
    throw new StartFault(
      `api.rest.prefix (rest.prefix in config/api): "${rest.prefix}" is a path of the server itself. Set another one, such as "/api".`,
    );
};

/** All faults and warnings of the schema files in one message. */
const formatFaults = (faults: readonly SchemaNote[], warnings: readonly SchemaNote[]): string => {
  const list = (notes: readonly SchemaNote[]): string => notes.map((it) => `\n  ${formatNote(it)}`).join('');
  const head = faults.length === 1 ? 'A schema file has an error' : `The schema files have ${faults.length} errors`;
  return `${head}:${list(faults)}${warnings.length === 0 ? '' : `\nWarnings:${list(warnings)}`}`;
};

/** Counts what the project declares: `6 content types, 11 components`. */
export const typesInWords = ({ types }: Model): string => {
  const own = [...types.values()].filter((it) => it.origin === 'project');
  const components = own.filter((it) => it.kind === 'component').length;
  return `${countOf(own.length - components, 'content type')}, ${countOf(components, 'component')}`;
};

/** `1 statement`, `2 statements`. */
export const countOf = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;

export interface OpenOptions {
  /** Creates and changes no file. */
  readonly readOnly?: boolean;
  /** Called with each database error that turns a request into a 503. */
  readonly onUnavailable?: (fault: Error) => void;
}

/** SQLite can move its statements to threads. */
export type OpenedDatabase = Db & Partial<Pick<SqliteDb, 'startThreads'>>;

/** Refuses a database that Dovetail does not serve, unless the environment names another one. */
export const refuseOtherClient = ({ dir, v4 }: Pick<Project, 'dir' | 'v4'>): void => {
  const other = v4.settings.find((it) => it.v4Name === CLIENT_SETTING && it.verdict === 'not supported');
  if (other && clientOf(readVariables(dir, outsideVariables())) === null)
    throw new StartFault(`${other.note} ${MOVE_DATABASE}`);
};

/** Loads only the driver that is needed. */
export const openDatabase = async (
  project: Project,
  { readOnly = false, onUnavailable = () => undefined }: OpenOptions = {},
): Promise<OpenedDatabase> => {
  refuseOtherClient(project);
  await etagsReady;
  const { dir, env, v4 } = project;
  if (env.DATABASE_CLIENT === 'sqlite') {
    const file = path.resolve(dir, env.DATABASE_FILENAME);
    const { openSqlite } = await import('../sql/sqlite/open.js');
    if (v4.opened === null && dependsOnStrapi(dir) && !fs.existsSync(file))
      await (await import('./v4project/other-database.js')).refuseOtherDatabase(dir, env);
    if (readOnly && !fs.existsSync(file)) {
      process.stderr.write(`There is no file ${file} yet; treating the database as empty.\n`);
      return { ...(await openSqlite(':memory:', { readOnly })), place: file };
    }
    try {
      if (!readOnly) {
        makeFolder(path.dirname(file));
        // SQLite opens it all the same, and refuses each write later
        if (fs.existsSync(file)) fs.accessSync(file, fs.constants.W_OK);
      }
      return await openSqlite(file, { readOnly, onUnavailable });
    } catch (fault) {
      if (fault instanceof Refusal) throw fault;
      const cure = isDiskFull(fault) ? 'Free some space on its disk.' : 'Check DATABASE_FILENAME.';
      throw new StartFault(`SQLite cannot open ${file}: ${(fault as Error).message}\n${cure}`);
    }
  }
  const { openPostgres } = await import('../sql/postgres/open.js');
  try {
    return await openPostgres(postgresUrl(env), {
      prepared: env.DATABASE_PREPARED,
      tls: tlsOf(env),
      connectionsMax: env.DATABASE_POOL_MAX,
      runsHooks: needsCode(project.code) || findHandlers(dir).length > 0,
      onUnavailable,
    });
  } catch (fault) {
    const { message } = fault as Error;
    throw new StartFault(`${message}\n${waysToConnect(message)}`);
  }
};

/** What to change where PostgreSQL cannot be connected to. */
const waysToConnect = (message: string): string => {
  if (/certificate/.test(message))
    return 'Name the certificate that signed that of the server: DATABASE_SSL_CA, or ssl.ca in config/database. With DATABASE_SSL_REJECT_UNAUTHORIZED=false any certificate is accepted.';
  if (/no encryption|SSL off/.test(message))
    return 'The server may take encrypted connections only: set DATABASE_SSL=true, or ssl in config/database.';
  if (/client password must be a string/.test(message))
    return 'The server asks for a password: set DATABASE_PASSWORD, or put it into DATABASE_URL.';
  if (/database ".*" does not exist/.test(message))
    return 'Create it first, with createdb --locale=C --template=template0 NAME. Dovetail creates tables, not databases.';
  return 'Check DATABASE_URL, or DATABASE_HOST, DATABASE_PORT, DATABASE_NAME, DATABASE_USERNAME and DATABASE_PASSWORD.';
};

/**
 * Whether Strapi 5 has changed the database: published entries are stored twice there, and what is written here would be half of a
 * document. A project may have had such a column in one of these tables itself.
 */
export const hasDocuments = ({ tables }: Catalog, { surplusColumns }: TableDiff): boolean =>
  tables.has('files') &&
  ['files', 'up_users']
    .filter((table) => tables.has(table))
    .every((table) => surplusColumns.some((it) => it.table === table && it.column === 'document_id'));

/** Whether Strapi 3 has made the database, and v4 was never started on it: the tables of both would stand side by side. */
const isOfVersion3 = ({ tables }: Catalog, { surplusTables }: TableDiff): boolean =>
  surplusTables.includes('core_store') && !tables.has('up_users');

/** Compares model and database. Throws `StartFault` for what cannot be served. @param tx the transaction to read in. */
export const compareDatabase = async (project: Pick<Project, 'model'>, db: ReadableDb, tx?: Tx): Promise<TableDiff> => {
  const found = tx ? await readInside(catalogProgram(db.dialect), tx) : await readCatalog(db);
  const tables = tablesOf(project.model);
  const diff = diffTables(tables, found, db, configuredPrefix);
  if (hasDocuments(found, diff))
    throw new StartFault(
      'The database was upgraded to Strapi 5: its tables have documents. Name a backup from before the upgrade, by DATABASE_FILENAME, DATABASE_URL or DATABASE_NAME.',
    );
  if (isOfVersion3(found, diff))
    throw new StartFault(
      'The database is of Strapi 3. Migrate it to Strapi 4 first, into a database of its own, and name that one by DATABASE_FILENAME, DATABASE_URL or DATABASE_NAME.',
    );
  const same = sameNames(tables, diff, db);
  if (same.length > 0)
    throw new StartFault(
      `PostgreSQL cuts names to 63 bytes, and could not tell apart:\n  ${same.join('\n  ')}\nUse shorter names in the schema files, for attributes or "collectionName".`,
    );
  return {
    ...diff,
    surplusTables: diff.surplusTables.filter((it) => !foreignTables.includes(it) && !isOwn(it)),
    surplusIndexes: diff.surplusIndexes.filter((it) => !isOwn(it)),
  };
};
