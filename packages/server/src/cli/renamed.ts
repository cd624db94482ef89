/** Warns of what looks renamed, before a start adds the new names without any values. */
import { type Memory, readMemory } from '../migrate/memory.js';
import type { Versions } from '../migrate/plan.js';
import { loadModel } from '../model/load.js';
import type { Model } from '../model/model.js';
import type { Db } from '../sql/dialect.js';
import { type Project, SchemaFault } from './project.js';

/** The settings table must exist. @param warn called with each sentence. */
export const warnOfRenames = async (project: Project, db: Db, warn: (text: string) => void): Promise<void> => {
  const memory = await db.read(() => readMemory(db.dialect));
  if (!mayBeRenamed(memory, project.model)) return;
  const { compare } = await import('../migrate/plan.js');
  const { nothingAsked } = await import('../migrate/asked.js');
  const { describeCandidate, optionOf } = await import('../migrate/words.js');
  const { candidates } = await compare(db, versionsOf(project), nothingAsked);
  for (const it of candidates)
    if (it.isNew)
      warn(
        `${describeCandidate(it)}. If it was renamed, stop the server and run: dovetail migrate plan ${optionOf(it)} --out`,
      );
};

/** Whether both something is gone and something is new. */
const mayBeRenamed = (memory: Memory, { types }: Model): boolean => {
  const isGone = (uid: string): boolean => !types.has(uid);
  const areNew = [...types.values()].some((it) => it.origin === 'project' && memory[it.uid] === undefined);
  return (
    (areNew && Object.keys(memory).some(isGone)) ||
    Object.entries(memory).some(([uid, { attributes }]) => {
      const type = types.get(uid);
      if (!type) return false;
      return (
        Object.keys(attributes).some((it) => !type.attributes.has(it)) &&
        [...type.attributes.keys()].some((it) => attributes[it] === undefined)
      );
    })
  );
};

export const versionsOf = (project: Project): Versions => {
  const loaded = loadModel(project.dir, { ...project.config.api.responses, customFields: project.config.customFields });
  if (!loaded.ok) throw new SchemaFault(loaded.faults, loaded.warnings);
  return loaded;
};
