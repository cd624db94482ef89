/**
 * Detects that the database file was replaced or removed, after which open connections use a file that no path leads
 * to.
 */
import fs from 'node:fs';

/** The path no longer names the file that was opened. */
export class LostFile extends Error {
  readonly file: string;
  constructor(file: string) {
    super(
      `${file}, or its journal, was replaced or removed while it was open. Writes are refused, because they would be lost: put the file back, or restart the server.`,
    );
    this.name = 'LostFile';
    this.file = file;
  }
}

/** What a path led to when it was opened: device and inode of the file and of its journal; null if there was none. */
export interface FileIdentity {
  readonly file: string | null;
  readonly journal: string | null;
}

export interface OpenedFile {
  identity(): FileIdentity;
  /** Throws `LostFile`. */
  requireIntact(): void;
  isIntact(): boolean;
}

/**
 * @param onLost called once, when the loss is noticed.
 * @param known the identity of a file that was opened before.
 */
export const rememberFile = (file: string, onLost: (fault: LostFile) => void, known?: FileIdentity): OpenedFile => {
  const opened = known ? known.file : identityOf(file);
  const journal = `${whereOpened(file)}-wal`;
  // SQLite creates it with the first write, and never removes it while a connection is open
  let openedJournal = known ? known.journal : identityOf(journal);
  let wasIntact = true;
  const isIntact = (): boolean => {
    const current = identityOf(journal);
    openedJournal ??= current;
    const isSame = identityOf(file) === opened && current === openedJournal;
    if (wasIntact && !isSame) onLost(new LostFile(file));
    wasIntact = isSame;
    return isSame;
  };
  return {
    identity: () => ({ file: opened, journal: openedJournal }),
    isIntact,
    requireIntact: () => {
      if (!isIntact()) throw new LostFile(file);
    },
  };
};

/** What SQLite opens for a path that may be a link: the journals are beside that. */
export const whereOpened = (file: string): string => (fs.existsSync(file) ? fs.realpathSync(file) : file);

/** Device and inode; null if there is no file at the path. */
const identityOf = (file: string): string | null => {
  try {
    const { dev, ino } = fs.statSync(file, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return null;
  }
};

/** Size in bytes; 0 if there is no such file. */
export const sizeOf = (file: string): number => fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
