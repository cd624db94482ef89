/** Detects a second process that serves the same SQLite file. */
import Database from 'better-sqlite3';

/**
 * Claims the file until this process exits. The claim is an operating system lock on an empty file next to it, so it is
 * released even after a crash. False if another process holds it.
 */
export const claimFile = (file: string): boolean => {
  try {
    const claim = new Database(`${file}-serving`, { timeout: 0 });
    claim.exec('begin exclusive');
    claims.push(claim);
    return true;
  } catch (fault) {
    // if the file cannot be created, other processes cannot be detected
    return (fault as { readonly code?: unknown }).code !== 'SQLITE_BUSY';
  }
};

/** Referenced here so that the garbage collector does not close them. */
const claims: Database.Database[] = [];
