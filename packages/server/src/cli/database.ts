/** `check` and `sync`: model and database side by side, and the statements that lead from one to the other. */
import { sql } from 'kysely';
import { orNearest } from '../errors.js';
import { sayNote } from '../model/load.js';
import { asStored, type Stored } from '../model/stored.js';
import type { Db, Statement } from '../sql/dialect.js';
import type { TableDiff } from '../sql/schema.js';
import { findCode, isUnwatched } from './code.js';
import { StartFault } from './config.js';
import { applyChanges, planChanges, readStored, sayDrafts, sayOtherTypes } from './layout.js';
import { compareDatabase, openDatabase, openProject, type Project, typesInWords } from './project.js';

/**
 * Reports schema files, what is missing, what is there besides, and what is stored in another way than the schema files
 * say. Exit code 1 when something is missing or stored in another way, or when the start would be refused.
 */
export const check = async (dir: string): Promise<void> => {
  const project = await openProject(dir);
  const db = await openDatabase(project, { readOnly: true });
  try {
    const diff = await compareDatabase(project, db);
    const stored = await readStored(project.model, diff, db);
    process.stdout.write(`${report(project, diff, stored, db)}\n`);
    const isRefused = findCode(project.dir, project.config.project.ignoreCode).some(isUnwatched);
    if (isMissing(diff) || diff.otherTypes.length > 0 || sayDrafts(stored).length > 0 || isRefused)
      process.exitCode = 1;
  } finally {
    await db.close();
  }
};

export interface SyncOptions {
  /** Prints the statements instead of running them. */
  readonly dryRun: boolean;
  /** Types whose drafts are published, now that their schema files have none any more. */
  readonly publishDrafts: readonly string[];
}

/** Adds what is missing, and publishes the drafts of the types that are named. */
export const sync = async (dir: string, { dryRun, publishDrafts }: SyncOptions): Promise<void> => {
  const project = await openProject(dir);
  const db = await openDatabase(project, { readOnly: dryRun });
  try {
    const diff = await compareDatabase(project, db);
    const stored = await readStored(project.model, diff, db);
    const publications = publishDrafts.map((uid) => publication(uid, project, stored, db));
    if (dryRun) {
      const statements = [...planChanges(project.model, diff, db).statements, ...publications];
      process.stdout.write(
        statements.length === 0
          ? `-- nothing to do: ${db.place} has all that the model needs\n`
          : statements.map(printed).join(''),
      );
      return;
    }
    const { statements } = await applyChanges(project, db, publications);
    process.stdout.write(`${statements.length} statements run on ${db.place}\n`);
  } finally {
    await db.close();
  }
};

const printed = ({ sql: text, params }: Statement): string =>
  `${text};${params.length === 0 ? '' : ` -- with ${params.join(', ')}`}\n`;

/** Publishes the drafts of a type that has none any more. */
const publication = (uid: string, { model }: Project, { drafts }: Stored, { dialect }: Db): Statement => {
  const type = model.types.get(uid);
  const withDrafts = [...drafts].filter(([, count]) => count > 0).map(([it]) => it);
  if (!type || !withDrafts.includes(uid)) {
    const known = withDrafts.length === 0 ? 'there is none' : `there are ${withDrafts.join(', ')}`;
    const what = 'is no type whose drafts were switched off while it had some';
    throw new StartFault(`--publish-drafts: "${uid}" ${what}${orNearest(uid, withDrafts)}; ${known}`);
  }
  return dialect.compile(
    sql`update ${sql.table(type.table)} set published_at = ${dialect.bind('datetime', Date.now())} where published_at is null`,
  );
};

const isMissing = ({ missingTables, missingColumns, missingIndexes }: TableDiff): boolean =>
  missingTables.length + missingColumns.length + missingIndexes.length > 0;

const codeLines = ({ dir, config }: Project): readonly string[] =>
  findCode(dir, config.project.ignoreCode).map(({ file, kind, ignored }) => {
    if (kind === 'default') return `${file}: not needed`;
    const what = kind === 'guard' ? 'not run, and it declares policies, middlewares or auth' : 'not run';
    return `${file}: ${what}${ignored ? ' (ignored by the configuration)' : ''}`;
  });

const indexLine = ({ table, index }: TableDiff['ownIndexes'][number]): string =>
  `index  ${index.name} on ${table} (${index.columns.join(', ')})`;

const report = (project: Project, diff: TableDiff, stored: Stored, db: Db): string => {
  const section = (title: string, lines: readonly string[]): string =>
    lines.length === 0 ? '' : `\n${title}\n${lines.map((it) => `  ${it}`).join('\n')}\n`;
  const schema = section('In schema files, read as v4 reads them:', project.warnings.map(sayNote));
  const code = section(
    'Code of the project that is not run (see project.ignoreCode in docs/configuration.md):',
    codeLines(project),
  );
  const body = [
    section('Missing, added by sync or the next start:', [
      ...diff.missingTables.map((it) => `table  ${it.name} (${it.columns.length} columns)`),
      ...diff.missingColumns.map((it) => `column ${it.table}.${it.column.name}`),
      ...diff.missingIndexes.map(indexLine),
    ]),
    section('In the database only, left alone:', [
      ...diff.surplusTables.map((it) => `table  ${it}`),
      ...diff.surplusColumns.map((it) => `column ${it.table}.${it.column}`),
    ]),
    section('Stored in another way than the schema files say:', [
      ...sayOtherTypes(diff.otherTypes, asStored(project.model, stored), db),
      ...sayDrafts(stored),
    ]),
  ].join('');
  const own = section(
    "Of Dovetail's own beside v4's layout (v4 may drop them, the next start adds them again):",
    diff.ownIndexes.map(indexLine),
  );
  const agreed = body === '' ? '\nModel and database agree.\n' : body;
  return `${typesInWords(project.model)}, ${db.place}\n${schema}${code}${agreed}${own}`.trimEnd();
};
