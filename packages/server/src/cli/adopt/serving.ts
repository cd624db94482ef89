/** What the first start writes, how to take it back, and the commands that serve the project. */
import fs from 'node:fs';
import path from 'node:path';
import type { Model } from '../../model/model.js';
import type { FrozenDb } from '../../sql/inspection.js';
import { indexColumns, planIndexes, type TableDiff } from '../../sql/schema.js';
import { type Changes, planChanges } from '../layout.js';
import type { ServeFacts, Setting, StartFacts } from './report.js';
import { configFor, type DatabaseAddress, missingVariables, secretsOf, valueAt } from './settings.js';
import type { V4Config } from './v4-config.js';

export interface ServingOptions {
  readonly dir: string;
  readonly config: V4Config;
  readonly address: DatabaseAddress;
  readonly settings: readonly Setting[];
  /** Guards that `start` waits for, as the files to list in `project.ignoreCode`. */
  readonly guards: readonly string[];
}

/** @param isNew whether the database has no roles, so that the start creates them and the seeds. */
export const planStart = (
  { dir, config, address }: ServingOptions,
  model: Model,
  diff: TableDiff,
  db: FrozenDb,
  { isNew, hasLocales }: { readonly isNew: boolean; readonly hasLocales: boolean },
): StartFacts => {
  const changes: Changes = planChanges(model, diff, db);
  const indexChanges = planIndexes(diff, db);
  const own = diff.missingIndexes.filter((it) => it.index.own);
  const indexes = diff.missingIndexes.map(({ table, index }) => ({
    name: index.name,
    table,
    columns: indexColumns(index),
  }));
  const drop = (name: string): string =>
    `drop index ${db.dialect.name === 'postgres' ? 'concurrently ' : ''}if exists "${name}"`;
  return {
    tables: diff.missingTables.map((it) => it.name),
    columns: diff.missingColumns.map((it) => ({ table: it.table, column: it.column.name })),
    indexes,
    statements: [
      ...changes.statements.map((it) => it.sql),
      ...indexChanges.map((it) => it.statement.sql),
      ...(db.journalMode === 'delete' ? ['pragma journal_mode = wal'] : []),
      ...(isNew ? ['inserts the roles public and authenticated, and the seeds of database/seed'] : []),
      ...(hasLocales ? [] : ['inserts the default locale into i18n_locale']),
    ],
    files: filesOf(dir, config, address),
    undo: [
      ...own.map((it) => drop(db.dialect.schema.storedName(it.index.name))),
      ...diff.missingColumns.map((it) => `alter table "${it.table}" drop column "${it.column.name}"`),
      ...diff.missingTables.toReversed().map((it) => `drop table "${it.name}"`),
      ...(db.journalMode === 'delete' ? ['pragma journal_mode = delete'] : []),
    ],
  };
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
  return files;
};

export const planServing = ({ dir, config, address, settings, guards }: ServingOptions): ServeFacts => {
  const variables = missingVariables(dir, config, address);
  const wanted = configFor(settings);
  const own = guards.length === 0 ? wanted : { ...wanted, project: { ignoreCode: guards } };
  const project = quoted(dir);
  const server = config.part('server').value;
  const port = Number(valueAt(server, 'port') ?? config.variables['PORT'] ?? 1337) || 1337;
  const host = String(valueAt(server, 'host') ?? config.variables['HOST'] ?? '0.0.0.0');
  const given = variables.map((it) => `${it.name}=${assigned(it)}`);
  const start = (...more: readonly string[]): string =>
    [...more, ...given, 'npx dovetail start --project', project].join(' ');
  const environment = config.environment === 'development' ? [] : [`NODE_ENV=${config.environment}`];
  const file = address.given.DATABASE_FILENAME ?? '';
  const copied = '/tmp/dovetail-copy.db';
  const onCopy = given.filter((it) => !/^DATABASE_(FILENAME|URL|NAME|CLIENT)=/.test(it));
  const copyStart = (database: readonly string[]): string =>
    [`PORT=${port + 1}`, ...environment, ...database, ...onCopy, 'npx dovetail start --project', project].join(' ');
  return {
    variables,
    config: own,
    copy:
      address.client === 'sqlite'
        ? [
            `sqlite3 ${quoted(file)} ".backup ${copied}"`,
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
        ? `cp ${quoted(file)} ${quoted(`${file}.before-dovetail`)}`
        : 'pg_dump "$DATABASE" -Fc -f before-dovetail.dump   # DATABASE: the URL of the database',
      start(`PORT=${port}`, `HOST=${host}`, ...environment),
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
