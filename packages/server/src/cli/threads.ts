/** The threads of a server on SQLite. */
import os from 'node:os';
import { limits } from '../limits.js';
import { execute } from '../read/execute.js';
import type { Begin } from '../sql/sqlite/thread.js';
import type { Config } from './config.js';
import type { OpenedDatabase } from './project.js';

/** A file of its own, also in a bundle. */
const module = new URL('../read/thread.js', import.meta.url);

/** Moves the statements of SQLite out of this thread, unless the project says otherwise. */
export const startThreads = async (db: OpenedDatabase, { threads }: Config): Promise<void> => {
  const count = threads ?? Math.min(limits.sqliteThreads, os.availableParallelism());
  if (count > 0) await db.startThreads?.({ count, module, begin: execute as Begin });
};
