/** `check` and `sync`: compare model and database, and add what is missing. */
import { sql } from 'kysely';
import { orNearest } from '../../errors.js';
import { formatNote, type SchemaNote } from '../../model/load.js';
import type { EntryType, Uid } from '../../model/model.js';
import { asStored, type Stored } from '../../model/stored.js';
import type { Db, Statement } from '../../sql/dialect.js';
import { indexColumns, planIndexes, type TableDiff } from '../../sql/schema.js';
import {
  applyChanges,
  changeIndexes,
  describeDrafts,
  describeStoredColumns,
  describeUnlocalized,
  isNewDatabase,
  planChanges,
  readStored,
  readUnlocalized,
  type StoredColumn,
  storedColumns,
  type Unlocalized,
} from '../layout.js';
import {
  compareDatabase,
  countOf,
  loadProjectHandlers,
  openDatabase,
  openProject,
  type Project,
  SchemaFault,
  typesInWords,
} from '../project.js';
import { warnOfRenames } from '../renamed.js';
import { describeUnfit, type UnfitSecret, unfitSecrets } from '../secrets.js';
import { StartFault } from '../start-fault.js';
import {
  type CodeFile,
  type CodeVerdict,
  describeCode,
  guardReason,
  isUnwatched,
  verdictOf,
} from '../v4project/code.js';
import { aside, refusedCode } from '../v4project/running-code.js';
import { describeSetting, type V4Setting } from '../v4project/settings.js';

export interface CheckOptions {
  /** Prints a `CheckReport`, or a `FaultReport`, as JSON. */
  readonly json: boolean;
}

/** What `--json` prints if schema files have faults: without a model there is nothing to compare. */
export interface FaultReport {
  readonly ok: false;
  readonly faults: readonly SchemaNote[];
  readonly warnings: readonly SchemaNote[];
}

/** The findings of `check`, as printed with `--json`. */
export interface CheckReport {
  /** Whether the exit code is 0: nothing is missing or stored differently, and the start is not refused. */
  readonly ok: boolean;
  readonly database: string;
  /** Counts of the project's own types. */
  readonly types: readonly { readonly uid: Uid; readonly kind: EntryType['kind'] }[];
  /** Faults in schema files that prevent the start: none. */
  readonly faults: readonly [];
  /** Faults in schema files that v4 tolerates, and files that are not read because of their names. */
  readonly warnings: readonly SchemaNote[];
  /** Files of v4's code and configuration; a `guard` that is not ignored refuses the start. */
  readonly code: readonly CodeReport[];
  /** What the start would refuse of code: guards that do not run, faults of handlers, and what code that runs lacks, such as a policy that is not there. */
  readonly refused: readonly string[];
  /** Secrets that a start in production refuses; outside of it missing ones are generated, so they are not named. */
  readonly secrets: readonly UnfitSecret[];
  /** Settings of v4's `config/`; those that are not supported and guard access refuse the start. */
  readonly settings: readonly SettingReport[];
  readonly missing: DatabaseParts & { readonly indexes: readonly NamedIndex[] };
  /** In the database only. */
  readonly surplus: DatabaseParts;
  readonly otherTypes: readonly StoredColumn[];
  /** Types whose drafts were switched off while they had some. */
  readonly drafts: readonly { readonly uid: Uid; readonly count: number }[];
  /** Localized types with entries that are in no locale. */
  readonly unlocalized: readonly Unlocalized[];
  /** Dovetail's own additions to v4's layout. */
  readonly ownIndexes: readonly NamedIndex[];
  /** Names of Dovetail's own indexes that the next start drops: no longer configured, or unfinished. */
  readonly surplusIndexes: readonly string[];
}
/** Without what the database has nothing to do with. */
type Compared = Omit<CheckReport, 'refused' | 'secrets'>;
/** A file of v4, and what becomes of it. */
export type CodeReport = CodeFile & CodeVerdict;
/** A setting of v4, without its value, which may be a secret. `name`: that of dovetail.config, or a variable. */
export interface SettingReport extends Pick<V4Setting, 'v4Name' | 'verdict' | 'note' | 'isGuard'> {
  readonly name: string | null;
}
interface DatabaseParts {
  readonly tables: readonly string[];
  readonly columns: readonly { readonly table: string; readonly column: string }[];
}
interface NamedIndex {
  readonly table: string;
  readonly name: string;
  readonly columns: readonly string[];
}

/**
 * Reports schema faults, missing and additional tables and columns, and those stored differently from the schema files.
 * Exit code 1 if something is missing or stored differently, or if the start would be refused.
 */
export const check = async (dir: string, { json }: CheckOptions): Promise<void> => {
  const project = await openToCheck(dir, json);
  if (!project) return;
  const db = await openDatabase(project, { readOnly: true });
  try {
    const diff = await compareDatabase(project, db);
    const stored = await readStored(project.model, diff, db);
    const compared = reportOf(project, diff, stored, await readUnlocalized(project.model, db, diff), db);
    const guards = project.code.filter(isUnwatched).map((it) => `${it.file}: ${guardReason(it)}`);
    const refused = [...guards, ...(await refusedHandlers(project)), ...(await refusedCode(project, db))];
    const isProduction = project.env.NODE_ENV === 'production';
    const unfit = unfitSecrets(project.env, { withAdmins: project.config.studio === true });
    const secrets = unfit.filter(({ why }) => isProduction || why !== 'missing');
    const isRefused = refused.length > 0 || (isProduction && secrets.length > 0);
    const report: CheckReport = { ...compared, ok: compared.ok && !isRefused, refused, secrets };
    process.stdout.write(`${json ? JSON.stringify(report, null, 2) : inWords(report, project, diff, stored)}\n`);
    if (!report.ok) process.exitCode = 1;
  } finally {
    await db.close();
  }
};

/** Null after schema faults reported as JSON. */
const openToCheck = async (dir: string, json: boolean): Promise<Project | null> => {
  try {
    return await openProject(dir);
  } catch (fault) {
    if (!json || !(fault instanceof SchemaFault)) throw fault;
    const report: FaultReport = { ok: false, faults: fault.faults, warnings: fault.warnings };
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    process.exitCode = 1;
    return null;
  }
};

export interface SyncOptions {
  /** Prints the statements without running them. */
  readonly dryRun: boolean;
  /** Types whose drafts to publish, because `draftAndPublish` was switched off. */
  readonly publishDrafts: readonly string[];
}

/** Adds what is missing, and publishes the drafts of the given types. */
export const sync = async (dir: string, { dryRun, publishDrafts }: SyncOptions): Promise<void> => {
  const project = await openProject(dir);
  const db = await openDatabase(project, { readOnly: dryRun });
  try {
    const diff = await compareDatabase(project, db);
    const stored = await readStored(project.model, diff, db);
    const publications = publishDrafts.map((uid) => publication(uid, project, stored, db));
    if (dryRun) {
      const statements = [
        ...planChanges(project.model, diff, db).statements,
        ...publications,
        ...planIndexes(diff, db).map((it) => it.statement),
      ];
      process.stdout.write(
        statements.length === 0
          ? `-- nothing to do: ${db.place} has everything that the model needs\n`
          : statements.map(printed).join(''),
      );
      return;
    }
    if (!isNewDatabase(diff)) await warnOfRenames(project, db, (text) => process.stderr.write(`${text}\n`));
    const applied = await applyChanges(project, db, publications);
    await changeIndexes(applied.diff, db, {
      onBegin: (what) => process.stdout.write(`${what} …`),
      onEnd: (ms) => process.stdout.write(` ${ms} ms\n`),
      onFault: (what, fault) => {
        throw new StartFault(`\n${db.place}: ${what} failed: ${(fault as Error).message}`);
      },
    });
    const count = applied.statements.length + planIndexes(applied.diff, db).length;
    process.stdout.write(`${countOf(count, 'statement')} run on ${db.place}\n`);
  } finally {
    await db.close();
  }
};

const printed = ({ sql: text, params }: Statement): string =>
  `${text};${params.length === 0 ? '' : ` -- with ${params.join(', ')}`}\n`;

/** Publishes the drafts of a type whose `draftAndPublish` was switched off. */
const publication = (uid: string, { model }: Project, { drafts }: Stored, { dialect }: Db): Statement => {
  const type = model.types.get(uid);
  const withDrafts = [...drafts].filter(([, count]) => count > 0).map(([it]) => it);
  if (!type || !withDrafts.includes(uid)) {
    const known = withDrafts.length === 0 ? 'there are none' : `expected one of ${withDrafts.join(', ')}`;
    const what = 'is not a type with drafts left from before draftAndPublish was switched off';
    throw new StartFault(`--publish-drafts: "${uid}" ${what}${orNearest(uid, withDrafts)}; ${known}`);
  }
  return dialect.compile(
    sql`update ${sql.table(type.table)} set published_at = ${dialect.bind('datetime', Date.now())} where published_at is null`,
  );
};

const isMissing = ({ missingTables, missingColumns, missingIndexes }: TableDiff): boolean =>
  missingTables.length + missingColumns.length + missingIndexes.length > 0;

const reportOf = (
  project: Project,
  diff: TableDiff,
  stored: Stored,
  unlocalized: readonly Unlocalized[],
  db: Db,
): Compared => {
  const { code } = project;
  const drafts = [...stored.drafts].filter(([, count]) => count > 0).map(([uid, count]) => ({ uid, count }));
  return {
    ok:
      !isMissing(diff) &&
      diff.otherTypes.length === 0 &&
      drafts.length === 0 &&
      unlocalized.length === 0 &&
      !code.some(isUnwatched) &&
      project.v4.guards.length === 0,
    database: db.place,
    types: [...project.model.types.values()]
      .filter((it) => it.origin === 'project')
      .map(({ uid, kind }) => ({ uid, kind })),
    faults: [],
    warnings: project.warnings,
    code: code.map((it) => ({ ...it, ...verdictOf(it) })),
    settings: project.v4.settings.map(({ v4Name, verdict, note, isGuard, target }) => ({
      v4Name,
      verdict,
      note,
      isGuard,
      name: target?.name ?? null,
    })),
    missing: {
      tables: diff.missingTables.map((it) => it.name),
      columns: diff.missingColumns.map((it) => ({ table: it.table, column: it.column.name })),
      indexes: diff.missingIndexes.map(namedIndex),
    },
    surplus: { tables: diff.surplusTables, columns: diff.surplusColumns },
    otherTypes: storedColumns(diff.otherTypes, asStored(project.model, stored), db),
    drafts,
    unlocalized,
    ownIndexes: diff.ownIndexes.map(namedIndex),
    surplusIndexes: diff.surplusIndexes,
  };
};

/** What `check` refuses, one line each; none if model and database agree. */
export const differences = async (given: Project, db: Db): Promise<readonly string[]> => {
  const { declared: model = given.model } = given;
  const project = { ...given, model };
  const diff = await compareDatabase(project, db);
  const stored = await readStored(model, diff, db);
  const report = reportOf(project, diff, stored, await readUnlocalized(model, db, diff), db);
  const missing = [
    ...report.missing.tables.map((it) => `table ${it} is missing`),
    ...report.missing.columns.map((it) => `column ${it.table}.${it.column} is missing`),
    ...report.missing.indexes.map((it) => `index ${it.name} on ${it.table} is missing`),
  ].map((it) => `${it}: the next start adds it`);
  return [
    ...missing,
    ...describeStoredColumns(report.otherTypes),
    ...describeDrafts(stored),
    ...describeUnlocalized(report.unlocalized),
  ];
};

const namedIndex = ({ table, index }: TableDiff['ownIndexes'][number]): NamedIndex => ({
  table,
  name: index.name,
  columns: indexColumns(index),
});

/** The first fault of handlers that the start would refuse. */
const refusedHandlers = (project: Project): Promise<readonly string[]> =>
  aside(project, async () => {
    try {
      await loadProjectHandlers(project);
      return [];
    } catch (fault) {
      if (!(fault instanceof StartFault)) throw fault;
      return fault.notes.map(({ file, message }) => `${file}: ${message.split('\n')[0]}`);
    }
  });

const indexLine = ({ name, table, columns }: NamedIndex): string =>
  `index  ${name} on ${table} (${columns.join(', ')})`;

const inWords = (report: CheckReport, { model }: Project, diff: TableDiff, stored: Stored): string => {
  const section = (title: string, lines: readonly string[]): string =>
    lines.length === 0 ? '' : `\n${title}\n${lines.map((it) => `  ${it}`).join('\n')}\n`;
  const schema = section('Warnings:', report.warnings.map(formatNote));
  const code = section('Code and configuration of v4 (see docs/project-code.md):', report.code.map(describeCode));
  const refused = section(
    'Of the code the start refuses (as far as it shows before register, which check does not run):',
    report.refused,
  );
  const settings = section(
    "Of v4's config/ and package.json, not supported:",
    report.settings.filter((it) => it.verdict === 'not supported').map(describeSetting),
  );
  const secrets = section('Secrets with which a start in production is refused:', describeUnfit(report.secrets));
  const body = [
    section('Missing, added by sync or the next start:', [
      ...diff.missingTables.map((it) => `table  ${it.name} (${countOf(it.columns.length, 'column')})`),
      ...report.missing.columns.map((it) => `column ${it.table}.${it.column}`),
      ...report.missing.indexes.map(indexLine),
    ]),
    section("Of Dovetail's own and no longer configured, dropped by sync or the next start:", [
      ...report.surplusIndexes.map((it) => `index  ${it}`),
    ]),
    section('In the database only, left alone (dovetail migrate plan says what it was, and drops it if asked):', [
      ...report.surplus.tables.map((it) => `table  ${it}`),
      ...report.surplus.columns.map((it) => `column ${it.table}.${it.column}`),
    ]),
    section('Stored differently than the schema files declare:', [
      ...describeStoredColumns(report.otherTypes),
      ...describeDrafts(stored),
      ...describeUnlocalized(report.unlocalized),
    ]),
  ].join('');
  const own = section(
    "Of Dovetail's own beside v4's layout (v4 may drop them, the next start adds them again):",
    report.ownIndexes.map(indexLine),
  );
  const agreed = body === '' ? '\nModel and database agree.\n' : body;
  return `${typesInWords(model)}, ${report.database}\n${schema}${code}${refused}${settings}${secrets}${agreed}${own}`.trimEnd();
};
