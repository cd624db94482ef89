/** `check` and `sync`: model and database side by side, and the statements that lead from one to the other. */
import { sayNote } from '../model/load.js';
import { applyAdditions, planAdditions, type TableDiff } from '../sql/schema.js';
import { compareDatabase, openDatabase, openProject, type Project, typesInWords } from './project.js';

/** Reports schema files, and what is missing, what is there besides, and which types differ. Exit code 1 when something is missing. */
export const check = async (dir: string): Promise<void> => {
  const project = await openProject(dir);
  const db = await openDatabase(project, { readOnly: true });
  try {
    const diff = await compareDatabase(project, db);
    process.stdout.write(`${report(project, diff, db.place)}\n`);
    if (isMissing(diff)) process.exitCode = 1;
  } finally {
    await db.close();
  }
};

/** Adds what is missing; with `dryRun` prints the statements instead. */
export const sync = async (dir: string, { dryRun }: { readonly dryRun: boolean }): Promise<void> => {
  const project = await openProject(dir);
  const db = await openDatabase(project, { readOnly: dryRun });
  try {
    const statements = planAdditions(await compareDatabase(project, db), db);
    if (dryRun) {
      process.stdout.write(
        statements.length === 0
          ? `-- nothing to do: ${db.place} has all that the model needs\n`
          : statements.map((it) => `${it.sql};\n`).join(''),
      );
      return;
    }
    await applyAdditions(statements, db);
    process.stdout.write(`${statements.length} statements run on ${db.place}\n`);
  } finally {
    await db.close();
  }
};

const isMissing = ({ missingTables, missingColumns, missingIndexes }: TableDiff): boolean =>
  missingTables.length + missingColumns.length + missingIndexes.length > 0;

const report = (project: Project, diff: TableDiff, place: string): string => {
  const section = (title: string, lines: readonly string[]): string =>
    lines.length === 0 ? '' : `\n${title}\n${lines.map((it) => `  ${it}`).join('\n')}\n`;
  const schema = section('In schema files, read as v4 reads them:', project.warnings.map(sayNote));
  const body = [
    section('Missing, added by sync or the next start:', [
      ...diff.missingTables.map((it) => `table  ${it.name} (${it.columns.length} columns)`),
      ...diff.missingColumns.map((it) => `column ${it.table}.${it.column.name}`),
      ...diff.missingIndexes.map((it) => `index  ${it.index.name} on ${it.table}`),
    ]),
    section('In the database only, left alone:', [
      ...diff.surplusTables.map((it) => `table  ${it}`),
      ...diff.surplusColumns.map((it) => `column ${it.table}.${it.column}`),
    ]),
    section(
      'Of another type than the schema files say, left alone:',
      diff.otherTypes.map((it) => `column ${it.table}.${it.column}: ${it.found} instead of ${it.wanted}`),
    ),
  ].join('');
  const agreed = body === '' ? '\nModel and database agree.' : body;
  return `${typesInWords(project.model)}, ${place}\n${schema}${agreed.trimEnd()}`;
};
