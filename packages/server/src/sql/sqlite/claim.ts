/** Which process serves a SQLite file. */
import Database from 'better-sqlite3';

/**
 * Claims the file for this process until it ends, however it ends: the claim is a lock that the operating system holds, on
 * an empty file beside it. False when another process has it already.
 */
export const claimFile = (file: string): boolean => {
  try {
    const claim = new Database(`${file}-serving`, { timeout: 0 });
    claim.exec('begin exclusive');
    claims.push(claim);
    return true;
  } catch (fault) {
    // where no such file can be made, nothing is known of other processes
    return (fault as { readonly code?: unknown }).code !== 'SQLITE_BUSY';
  }
};

/** Kept from the garbage collector, which would close them. */
const claims: Database.Database[] = [];
