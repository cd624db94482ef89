/** Faults that end a command with a message. Nothing heavy is imported here: the command line loads it before any command. */
import type { SchemaNote } from '../model/notes.js';

export interface StartFaultOptions extends ErrorOptions {
  readonly notes?: readonly SchemaNote[];
}

/** A fault that prevents the start; the message is for the user. */
export class StartFault extends Error {
  /** The files that are to be mended, with the place in each, as far as they are known. */
  readonly notes: readonly SchemaNote[];
  constructor(message: string, { notes = [], ...options }: StartFaultOptions = {}) {
    super(message, options);
    this.notes = notes;
  }
}

/** An option of the command line that cannot be used. */
export class UsageFault extends StartFault {}

/** Codes of the system and of SQLite. */
const diskFull: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL']);

export const isDiskFull = (fault: unknown): boolean => diskFull.has((fault as NodeJS.ErrnoException).code);
