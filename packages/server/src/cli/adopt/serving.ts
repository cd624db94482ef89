/** What the first start writes, how to take it back, and the commands that serve the project. */
import fs from 'node:fs';
import path from 'node:path';
import type { Model } from '../../model/model.js';
import { deliveriesTable } from '../../model/storage.js';
import type { FrozenDb } from '../../sql/inspection.js';
import { indexColumns, noDiff, planAdditions, planIndexes, type TableDiff } from '../../sql/schema.js';
import { planChanges } from '../layout.js';
import { type CodeFile, failsOpen } from '../v4project/code.js';
import { objectAt, valueAt } from '../v4project/values.js';
import type { CodeFact, ServeFacts, Setting, StartFacts } from './report.js';
import { configFor, type DatabaseAddress, missingVariables, secretsOf } from './settings.js';
import type { V4Config } from './v4-config.js';

export interface ServingOptions {
  readonly dir: string;
  readonly config: V4Config;
  readonly address: DatabaseAddress;
  readonly settings: readonly Setting[];
  /** Whether Dovetail reads `config/` too. */
  readonly isRead: boolean;
  readonly code: readonly CodeFact[];
  /** Guards that `start` waits for. */
  readonly guards: readonly CodeFile[];
}

/** What of the contents decides what the start writes. */
export interface Contents {
  /** There are no roles: the start creates them, and the seeds. */
  readonly isNew: boolean;
  readonly hasLocales: boolean;
  readonly hasWebhooks: boolean;
  /** The settings hold what `migrate` remembers of the model, as the model is now. */
  readonly isRemembered: boolean;
}

export const planStart = (
  { dir, config, address, isRead, code }: ServingOptions,
  model: Model,
  found: TableDiff,
  db: FrozenDb,
  contents: Contents,
): StartFacts => {
  const { storedName } = db.dialect.schema;
  const isDelivering = contents.hasWebhooks && found.surplusTables.every((it) => it !== deliveriesTable.name);
  const outbox = isDelivering ? { ...noDiff, missingTables: [deliveriesTable] } : noDiff;
  const { statements } = planChanges(model, found, db);
  const indexChanges = planIndexes(found, db);
  const own = found.missingIndexes.filter((it) => it.index.own);
  const drop = db.dialect.name === 'postgres' ? 'drop index concurrently if exists' : 'drop index if exists';
  const isChangingMode = db.journalMode === 'delete';
  const newDrafts = [...model.types.values()].filter(
    (type) =>
      type.draftAndPublish &&
      found.missingColumns.some((it) => it.table === type.table && it.column.name === 'published_at'),
  );
  const rows: StartFacts['rows'] = [
    ...newDrafts.map((it) => ({
      table: it.table,
      what: 'every entry is published, as in v4, since it has drafts now',
    })),
    ...(contents.isRemembered ? [] : [{ table: SETTINGS, what: 'dovetail_model, by which `migrate` knows the model' }]),
    ...(isDelivering
      ? [{ table: SETTINGS, what: 'core_persisted_tables, so that v4 keeps the table of deliveries' }]
      : []),
    ...(contents.isNew
      ? [{ table: 'up_roles', what: 'the roles public and authenticated, and the seeds of database/seed' }]
      : []),
    ...(contents.hasLocales ? [] : [{ table: 'i18n_locale', what: 'the default locale' }]),
  ];
  return {
    tables: [...found.missingTables, ...outbox.missingTables].map((it) => it.name),
    columns: found.missingColumns.map((it) => ({ table: it.table, column: it.column.name })),
    indexes: found.missingIndexes.map(({ table, index }) => ({
      name: storedName(index.name),
      table,
      columns: indexColumns(index),
    })),
    rows,
    journalMode: isChangingMode ? 'wal' : null,
    statements: [
      ...statements.map((it) => it.sql),
      ...planAdditions(outbox, db).map((it) => it.sql),
      ...indexChanges.map((it) => it.statement.sql),
    ],
    files: filesOf(dir, config, address),
    code: isRead ? codeAtStart(config, code) : [],
    undo: [
      ...[...found.ownIndexes, ...own].map((it) => `${drop} "${storedName(it.index.name)}"`),
      ...(contents.hasWebhooks ? [`drop table if exists "${deliveriesTable.name}"`] : []),
      ...found.missingColumns.toReversed().map((it) => `alter table "${it.table}" drop column "${it.column.name}"`),
      ...found.missingTables.toReversed().map((it) => `drop table "${storedName(it.name)}"`),
      `delete from ${SETTINGS} where "key" like 'dovetail%'`,
      ...(db.journalMode === null ? [] : ['pragma journal_mode = delete']),
    ],
  };
};

const SETTINGS = 'strapi_core_store_settings';

const codeAtStart = (config: V4Config, code: readonly CodeFact[]): StartFacts['code'] => {
  const server = config.part('server');
  const cron = objectAt(server.value, 'cron');
  const tasks = cron['enabled'] ? Object.keys(objectAt(cron, 'tasks')) : [];
  return [
    ...code
      .filter(({ file, verdict }) => verdict === 'runs' && /^src\/index\.\w+$/.test(file))
      .map(({ file }) => ({ file, what: 'its register and bootstrap run' })),
    ...(tasks.length === 0
      ? []
      : [{ file: server.files[0] ?? 'config/server', what: `its cron tasks run: ${tasks.join(', ')}` }]),
  ];
};

const filesOf = (dir: string, config: V4Config, address: DatabaseAddress): StartFacts['files'] => {
  const files: StartFacts['files'][number][] = [];
  const unset = secretsOf(config).filter((it) => it.value === null);
  if (unset.length > 0) {
    files.push({
      path: path.join(dir, '.env'),
      what: `${unset.map((it) => it.name).join(' and ')}, generated, unless NODE_ENV is production`,
    });
    if (!fs.existsSync(path.join(dir, '.gitignore')))
      files.push({ path: path.join(dir, '.gitignore'), what: 'created' });
  }
  if (address.client === 'sqlite') {
    const file = address.given.DATABASE_FILENAME ?? '';
    files.push({ path: `${file}-wal`, what: 'the journal, while it is open; a copy of the database needs it too' });
    files.push({ path: `${file}-shm`, what: 'the index of the journal, while it is open' });
    files.push({ path: `${file}-serving`, what: 'empty; by it a second server notices the first' });
  }
  files.push({ path: path.join(dir, '.tmp/uploads'), what: 'files on their way, once something is uploaded' });
  files.push({ path: path.join(dir, '.tmp/compiled'), what: 'the compiled server, so that it starts faster' });
  return files;
};

/** How dovetail.config names guards with which the start is refused otherwise. */
const listsOf = (guards: readonly CodeFile[]): Readonly<Record<string, readonly string[]>> => {
  const lists = {
    ignoreCode: guards.filter((it) => !failsOpen(it)).map((it) => it.file),
    acceptCode: guards.filter(failsOpen).map((it) => it.file),
  };
  return Object.fromEntries(Object.entries(lists).filter(([, files]) => files.length > 0));
};

export const planServing = ({ dir, config, address, settings, isRead, guards }: ServingOptions): ServeFacts => {
  const variables = missingVariables(dir, config, address, isRead);
  const wanted = configFor(settings);
  const own = guards.length === 0 ? wanted : { ...wanted, project: listsOf(guards) };
  const project = quoted(dir);
  const server = config.part('server').value;
  const port = Number(valueAt(server, 'port') ?? config.variables['PORT'] ?? 1337) || 1337;
  const host = String(valueAt(server, 'host') ?? config.variables['HOST'] ?? '0.0.0.0');
  const isListening = isRead && valueAt(server, 'port') !== undefined && valueAt(server, 'host') !== undefined;
  const listening = isListening ? [] : [`PORT=${port}`, `HOST=${host}`];
  const given = variables.map((it) => `${it.name}=${assigned(it)}`);
  const start = (...more: readonly string[]): string =>
    [...more, ...given, 'npx dovetail start --project', project].join(' ');
  const environment = config.environment === 'development' ? [] : [`NODE_ENV=${config.environment}`];
  const file = address.given.DATABASE_FILENAME ?? '';
  const copied = '/tmp/dovetail-copy.db';
  const sourceOf = [...(isRead ? environment : []), ...given.filter((it) => /^DATABASE_/.test(it))];
  const onCopy = given.filter((it) => !/^DATABASE_(FILENAME|URL|NAME|CLIENT)=/.test(it));
  const copyStart = (database: readonly string[]): string =>
    [`PORT=${port + 1}`, ...environment, ...database, ...onCopy, 'npx dovetail start --project', project].join(' ');
  return {
    variables,
    config: own,
    copy:
      address.client === 'sqlite'
        ? [
            `${[...sourceOf, 'npx dovetail backup'].join(' ')} --project ${project} --out ${copied}`,
            copyStart(['DATABASE_CLIENT=sqlite', `DATABASE_FILENAME=${copied}`]),
          ]
        : [
            'createdb dovetail_copy && pg_dump "$DATABASE" | psql -q dovetail_copy   # DATABASE: the URL of the database',
            copyStart(['DATABASE_CLIENT=postgres', 'DATABASE_URL=postgres://…/dovetail_copy']),
          ],
    beside: [start(`PORT=${port + 1}`, ...environment)],
    instead: [
      'stop Strapi, so that one program writes',
      address.client === 'sqlite'
        ? `${[...sourceOf, 'npx dovetail backup'].join(' ')} --project ${project} --out ${quoted(`${file}.before-dovetail`)}`
        : 'pg_dump "$DATABASE" -Fc -f before-dovetail.dump   # DATABASE: the URL of the database',
      start(...listening, ...environment),
    ],
    back: ['stop Dovetail', 'start Strapi as before: it reads what was written meanwhile'],
  };
};

/** A secret is never printed: it is named by the variable that holds it, or by the file. */
const assigned = ({ value, variable, from }: ServeFacts['variables'][number]): string => {
  if (variable !== null) return `"$${variable}"`;
  return value === null ? `'…as in ${from}…'` : quoted(value);
};

const quoted = (text: string): string =>
  /^[\w./:@%+=,-]*$/.test(text) && text !== '' ? text : `'${text.replaceAll("'", "'\\''")}'`;
