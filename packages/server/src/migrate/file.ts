/** Plans as files: JSON that people read, that is kept in git, and that says all that applying it takes. */
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../folders.js';
import { isJsonObject } from '../model/schema.js';
import type { Change, Step } from './changes.js';
import { MigrationFault } from './faults.js';

export interface Plan {
  /** Version of the format. */
  readonly dovetailPlan: 1;
  /** When it was made: two plans with the same changes are two plans. */
  readonly made: string;
  readonly changes: readonly Change[];
  /** What the steps expect of the database: `table posts`, `articles.titel: string`. */
  readonly needs: readonly string[];
  readonly steps: readonly Step[];
}

/** Where plans are kept, below the project: v4 has its own folder for its own migrations. */
export const plansFolder = 'database/plans';

/** `20261122-093000-rename-article-titel.json`: in the order in which they were made. */
export const planName = ({ made, changes }: Plan): string => {
  const [first] = changes;
  const what = first === undefined ? '' : JSON.stringify(Object.values(first).filter((it) => typeof it === 'string'));
  const words = what
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 60)
    .replace(/-$/, '');
  return `${made.replace(/[-:]/g, '').replace('T', '-').slice(0, 15)}-${words}.json`;
};

export const writePlan = (file: string, plan: Plan): void => {
  makeFolder(path.dirname(file));
  fs.writeFileSync(file, textOf(plan));
};

const textOf = (plan: Plan): string => {
  const lines = (list: readonly unknown[]): string =>
    list.length === 0 ? '[]' : `[\n${list.map((it) => `    ${JSON.stringify(it)}`).join(',\n')}\n  ]`;
  return `{\n  "dovetailPlan": ${plan.dovetailPlan},\n  "made": ${JSON.stringify(plan.made)},\n  "changes": ${lines(plan.changes)},\n  "needs": ${lines(plan.needs)},\n  "steps": ${lines(plan.steps)}\n}\n`;
};

export const readPlan = (file: string): Plan => {
  let json: unknown;
  try {
    json = JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch (fault) {
    throw new MigrationFault(`${file} cannot be read: ${(fault as Error).message}`);
  }
  const isPlan =
    isJsonObject(json) &&
    json['dovetailPlan'] === 1 &&
    typeof json['made'] === 'string' &&
    areStrings(json['needs']) &&
    areTagged(json['changes'], 'change', changeNames) &&
    areTagged(json['steps'], 'do', stepNames);
  if (!isPlan) throw new MigrationFault(`${file} is not a plan that this version of Dovetail has made.`);
  return json as unknown as Plan;
};

/** All plans of a project, in the order in which they were made. */
export const plansIn = (dir: string): readonly { readonly file: string; readonly plan: Plan }[] => {
  const folder = path.join(dir, plansFolder);
  if (!fs.existsSync(folder)) return [];
  return fs
    .readdirSync(folder)
    .filter((it) => it.endsWith('.json'))
    .sort()
    .map((it) => path.join(folder, it))
    .map((file) => ({ file, plan: readPlan(file) }));
};

/** What the database notes of a plan that was applied. */
export const digestOf = (plan: Plan): string => crypto.hash('sha256', JSON.stringify(plan)).slice(0, 32);

const areStrings = (value: unknown): boolean => Array.isArray(value) && value.every((it) => typeof it === 'string');
const areTagged = (value: unknown, tag: string, names: Readonly<Record<string, true>>): boolean =>
  Array.isArray(value) && value.every((it) => isJsonObject(it) && Object.hasOwn(names, String(it[tag])));

const changeNames: Readonly<Record<Change['change'], true>> = {
  'rename type': true,
  'rename table': true,
  'rename attribute': true,
  'move links': true,
  'convert attribute': true,
  'keep the first': true,
  'require unique values': true,
  'allow repeated values': true,
  'drop attribute': true,
  'drop type': true,
  'drop table': true,
};
const stepNames: Readonly<Record<Step['do'], true>> = {
  'rename table': true,
  'rename column': true,
  'rename index': true,
  'rename foreign key': true,
  'rename uid': true,
  'rename field': true,
  'rename in settings': true,
  'convert column': true,
  'keep the first': true,
  'add unique index': true,
  'drop unique index': true,
  'delete rows': true,
  'drop column': true,
  'drop table': true,
  'forget type': true,
};
