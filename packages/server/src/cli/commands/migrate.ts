/** `migrate plan` and `migrate apply`: what a start does not do by itself when the model has changed. */
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline/promises';
import { limits } from '../../limits.js';
import { readApplied } from '../../migrate/applied.js';
import { applyPlan, describeStep } from '../../migrate/apply.js';
import type { Asked } from '../../migrate/asked.js';
import type { Candidate } from '../../migrate/candidates.js';
import { MigrationFault } from '../../migrate/faults.js';
import { digestOf, type Plan, planName, plansFolder, plansIn, readPlan, writePlan } from '../../migrate/file.js';
import { type Comparison, compare } from '../../migrate/plan.js';
import { describeCandidate, describeChange, inWords } from '../../migrate/words.js';
import { type Db, readRows } from '../../sql/dialect.js';
import { readCatalog } from '../../sql/schema.js';
import { openDatabase, openProject, type Project, refuseOtherClient } from '../project.js';
import { versionsOf } from '../renamed.js';
import { StartFault } from '../start-fault.js';

export interface PlanOptions {
  readonly asked: Asked;
  /** The file to write; an empty text: one below `database/plans`; null: none. */
  readonly out: string | null;
  /** Only says, by exit code 1, whether there is something to do that a start does not. */
  readonly check: boolean;
  /** Prints the comparison as JSON. */
  readonly json: boolean;
}

/** Compares model and database, and says what is to be done; writes a plan if asked to. Changes nothing in the database. */
export const planMigration = async (dir: string, { asked, out, check, json }: PlanOptions): Promise<void> =>
  withDatabase(dir, { readOnly: true }, async (project, db) => {
    const versions = versionsOf(project);
    const first = await compare(db, versions, asked);
    const isTerminal = process.stdin.isTTY && process.stdout.isTTY && !check && !json;
    const answers = isTerminal ? await askRenames(first.candidates) : [];
    const comparison = answers.length === 0 ? first : await compare(db, versions, withAnswers(asked, answers));
    const pending = await pendingPlans(project.dir, db);
    const isToDo = isAnythingToDo(comparison) || pending.length > 0;
    process.stdout.write(json ? `${JSON.stringify({ toDo: isToDo, ...comparison }, null, 2)}\n` : inWords(comparison));
    if (check) {
      for (const { file } of pending) process.stderr.write(`${relative(file)} is not applied yet.\n`);
      if (isToDo) process.exitCode = 1;
      return;
    }
    if (comparison.steps.length === 0) {
      if (out !== null) process.stderr.write('There is nothing to plan; no file was written.\n');
      return;
    }
    if (out === null) {
      if (!json) process.stderr.write('Run it with --out to write this as a plan, for dovetail migrate apply.\n');
      return;
    }
    const plan = planOf(comparison);
    const file = out === '' ? path.join(project.dir, plansFolder, planName(plan)) : path.resolve(out);
    writePlan(file, plan);
    process.stderr.write(`${relative(file)} written: dovetail migrate apply ${relative(file)}\n`);
  });

const relative = (file: string): string => path.relative(process.cwd(), file) || file;

const planOf = ({ changes, needs, steps }: Comparison): Plan => ({
  dovetailPlan: 1,
  made: new Date().toISOString(),
  changes,
  needs,
  steps,
});

/** What serves an attribute as its column is, or might lose what it holds, is something to do; what is merely left over is not. */
const isAnythingToDo = ({ steps, undecided, candidates }: Comparison): boolean =>
  steps.length > 0 || undecided.length > 0 || candidates.some((it) => it.isNew);

const withAnswers = (asked: Asked, answers: readonly Candidate[]): Asked => ({
  ...asked,
  rename: [
    ...asked.rename,
    ...answers.flatMap((it) => (it.kind === 'attribute' ? [`${it.type}.${it.from}=${it.to}`] : [])),
  ],
  renameType: [...asked.renameType, ...answers.flatMap((it) => (it.kind === 'type' ? [`${it.from}=${it.to}`] : []))],
});

/** Those that somebody at the terminal confirms. */
const askRenames = async (candidates: readonly Candidate[]): Promise<readonly Candidate[]> => {
  if (candidates.length === 0) return [];
  const terminal = readline.createInterface({ input: process.stdin, output: process.stdout });
  try {
    const confirmed: Candidate[] = [];
    for (const it of candidates) {
      const answer = await terminal.question(`${describeCandidate(it)}. Was it renamed? [y/N] `);
      if (/^\s*y(es)?\s*$/i.test(answer)) confirmed.push(it);
    }
    return confirmed;
  } finally {
    terminal.close();
  }
};

export interface ApplyOptions {
  /** Also while a server seems to use the database. */
  readonly force: boolean;
}

/** Applies plans: the given ones, or all of the project that the database has not been through yet. */
export const applyMigration = async (dir: string, files: readonly string[], { force }: ApplyOptions): Promise<void> =>
  withDatabase(dir, { readOnly: false }, async (project, db) => {
    const plans =
      files.length > 0
        ? files.map((file) => ({ file: path.resolve(file), plan: readPlan(path.resolve(file)) }))
        : await pendingPlans(project.dir, db);
    if (plans.length === 0) {
      process.stderr.write(`There is no plan in ${plansFolder} that was not applied yet.\n`);
      return;
    }
    if (!force) await refuseWhileServed(db);
    process.stderr.write(`${backupNote(db)}\n`);
    for (const { file, plan } of plans) {
      const began = performance.now();
      process.stdout.write(`${relative(file)}\n${plan.changes.map((it) => `  ${describeChange(it)}\n`).join('')}`);
      const result = await applyPlan(plan, db, newProgress());
      const ms = Math.round(performance.now() - began);
      process.stdout.write(result === 'applied' ? `applied after ${ms} ms\n` : 'applied before: nothing to do\n');
    }
  });

/** Says how far a long step is. */
const newProgress = () => {
  let saidAt = performance.now();
  let step = '';
  return {
    onStep: (it: Parameters<typeof describeStep>[0]) => {
      step = describeStep(it);
      if (performance.now() - saidAt < limits.migrationProgressMs) return;
      saidAt = performance.now();
      process.stderr.write(`${step} …\n`);
    },
    onRows: (table: string, done: number) => {
      if (performance.now() - saidAt < limits.migrationProgressMs) return;
      saidAt = performance.now();
      process.stderr.write(`${step}: ${done} values of ${table} …\n`);
    },
  };
};

const backupNote = ({ dialect, place }: Db): string =>
  dialect.name === 'sqlite'
    ? `Have a backup before this changes ${place}: dovetail backup, or a copy of the file while nothing runs.`
    : `Have a backup before this changes ${place}: pg_dump.`;

/** A server knows the model that it has started with: after a rename it would ask for columns that are gone. */
const refuseWhileServed = async (db: Db): Promise<void> => {
  if (!(await isServed(db))) return;
  throw new StartFault(
    `${db.place} is being served, by a process that knows the old names only. Stop it, apply the plan, and start it again; or apply it with --force, and restart the server at once.`,
  );
};

const isServed = async (db: Db): Promise<boolean> => {
  const statement = db.dialect.schema.otherSessions(process.uptime());
  if (statement) {
    const [row] = await db.read(() => readRows(statement));
    return Number(row?.[0]) > 0;
  }
  const { claimFile } = await import('../../sql/sqlite/claim.js');
  const claim = claimFile(db.place);
  claim?.release();
  return claim === null;
};

/** Plans in the project's folder that the database has not been through. */
export const pendingPlans = async (dir: string, db: Db): Promise<ReturnType<typeof plansIn>> => {
  const { tables } = await readCatalog(db);
  const applied = tables.has('strapi_core_store_settings') ? await db.read(() => readApplied(db.dialect)) : [];
  return plansIn(dir).filter(({ plan }) => !applied.some((it) => it.digest === digestOf(plan)));
};

const withDatabase = async (
  dir: string,
  { readOnly }: { readonly readOnly: boolean },
  work: (project: Project, db: Db) => Promise<void>,
): Promise<void> => {
  const project = await openProject(dir);
  refuseOtherClient(project);
  const file = path.resolve(project.dir, project.env.DATABASE_FILENAME);
  if (project.env.DATABASE_CLIENT === 'sqlite' && !fs.existsSync(file))
    throw new StartFault(`There is no file ${file} yet. Run start or sync first.`);
  const db = await openDatabase(project, { readOnly });
  try {
    await work(project, db);
  } catch (fault) {
    throw fault instanceof MigrationFault ? new StartFault(fault.message) : fault;
  } finally {
    await db.close();
  }
};
