/** The comparison's common ground: the model beside the one with its former names, and what is called how after the renames. */
import type { EntryType, Model, Uid } from '../model/model.js';
import type { Renames } from '../model/renames.js';
import { tablesOf } from '../model/storage.js';
import type { Db } from '../sql/dialect.js';
import type { Asked } from './asked.js';
import type { Change, Step } from './changes.js';
import type { Memory } from './memory.js';
import type { Survey } from './survey.js';

export interface Work {
  readonly survey: Survey;
  readonly db: Db;
  readonly memory: Memory;
  readonly model: Model;
  /** The model under the names that the database has. */
  readonly former: Model;
  readonly renames: Renames;
  readonly asked: Asked;
}

/** A change with its steps, and what these expect. */
export interface Planned {
  readonly change: Change;
  readonly steps: readonly Step[];
  readonly needs: readonly string[];
}

/** Each type under its former names and as it is. */
export const typePairs = ({ former, model }: Work): readonly (readonly [EntryType, EntryType])[] => {
  const types = [...model.types.values()];
  return [...former.types.values()].map((it, i) => [it, types[i]!]);
};

/** What the database will call what it has: removals come after renames. */
export interface NewNames {
  uid(uid: Uid): Uid;
  table(table: string): string;
}

export const newNames = ({ former, model, renames }: Work): NewNames => {
  const present = tablesOf(model);
  const tables = new Map(tablesOf(former).map((it, i) => [it.name, present[i]?.name ?? it.name]));
  return {
    uid: (uid) => renames.types.find((it) => it.from === uid)?.to ?? uid,
    table: (table) => tables.get(table) ?? table,
  };
};

export const withNewNames = (
  components: Readonly<Record<Uid, string>>,
  { uid, table }: NewNames,
): Readonly<Record<Uid, string>> =>
  Object.fromEntries(Object.entries(components).map(([key, name]) => [uid(key), table(name)]));

export const stepWithNewNames = (step: Step, names: NewNames): Step => {
  if (step.do === 'drop column' || step.do === 'drop table') return { ...step, table: names.table(step.table) };
  if (step.do !== 'delete rows') return step;
  return {
    ...step,
    table: names.table(step.table),
    where: step.where.map((it) => ({ ...it, value: names.uid(it.value) })),
    components: step.components && withNewNames(step.components, names),
  };
};
