/** The file behind the connections: whoever replaces or removes it leaves them with one that has no name. */
import fs from 'node:fs';

/** The path no longer leads to the file that was opened. */
export class LostFile extends Error {
  constructor(file: string) {
    super(
      `${file}, or its journal, was replaced or removed while it was open. Writes are refused, because they would be lost: put the file back, or restart the server.`,
    );
    this.name = 'LostFile';
  }
}

export interface OpenedFile {
  /** Throws `LostFile`. */
  require(): void;
  isThere(): boolean;
}

/** @param onLost hears of it once, when it is noticed. */
export const rememberFile = (file: string, onLost: (fault: LostFile) => void): OpenedFile => {
  const opened = identityOf(file);
  const journal = `${file}-wal`;
  // SQLite creates it with the first write, and never removes it while a connection is open
  let openedJournal = identityOf(journal);
  let wasThere = true;
  const isThere = (): boolean => {
    const current = identityOf(journal);
    openedJournal ??= current;
    const isSame = identityOf(file) === opened && current === openedJournal;
    if (wasThere && !isSame) onLost(new LostFile(file));
    wasThere = isSame;
    return isSame;
  };
  return {
    isThere,
    require: () => {
      if (!isThere()) throw new LostFile(file);
    },
  };
};

/** Null when nothing can be found at the path. */
const identityOf = (file: string): string | null => {
  try {
    const { dev, ino } = fs.statSync(file, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return null;
  }
};

/** Bytes; 0 when there is no such file. */
export const sizeOf = (file: string): number => fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
