/** Attempts that are repeated while other programs lock the file, and what requests get of errors. */
import { setTimeout } from 'node:timers/promises';
import { busy, issue, never, Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import { FullDisk, kindOf } from './faults.js';
import { LostFile } from './file.js';
import { LostThread } from './watched-thread.js';

/** How long to wait for locks of other programs from now on, in milliseconds of `performance.now()`. */
export const lockedUntil = (): number => performance.now() + limits.sqliteLockMsMax;

/**
 * Retries until the attempt meets no lock of another program, or until the given time. Other requests are served in the
 * meantime.
 */
export const tryUntil = async <T>(
  until: number,
  attempt: () => T | Promise<T>,
  pauseMsMax: number = limits.sqliteLockPauseMsMax,
): Promise<T> => {
  for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
    try {
      return await attempt();
    } catch (fault) {
      if (kindOf(fault) !== 'locked' || performance.now() >= until) throw fault;
      await setTimeout(pauseMs);
    }
  }
};

export interface RequestErrors {
  /** The error that a request gets: a `Refusal` if the database is unavailable. */
  toRequestError(fault: unknown): unknown;
  withRequestErrors<T>(work: Promise<T>): Promise<T>;
}

/** @param onUnavailable as `SqliteOptions` say. */
export const newRequestErrors = (file: string, onUnavailable: (fault: Error) => void): RequestErrors => {
  let fullDiskLoggedAt = Number.NEGATIVE_INFINITY;
  /** Every write fails for the same reason until someone frees space. */
  const reportFullDisk = (cause: Error): void => {
    const now = performance.now();
    if (now - fullDiskLoggedAt < limits.fullDiskLogMs) return;
    fullDiskLoggedAt = now;
    onUnavailable(new FullDisk(file, cause));
  };

  const toRequestError = (fault: unknown): unknown => {
    if (fault instanceof LostFile) return busy(fault);
    if (fault instanceof LostThread) {
      onUnavailable(fault);
      return busy(fault);
    }
    const kind = kindOf(fault);
    switch (kind) {
      case 'locked':
      case 'failing':
        onUnavailable(fault as Error);
        return busy(fault);
      case 'full':
        reportFullDisk(fault as Error);
        return Object.assign(new Refusal(issue('database.full', [])), { cause: fault });
      case 'damaged':
      case 'statement':
      case null:
        return fault;
      default:
        return never(kind);
    }
  };

  const withRequestErrors: RequestErrors['withRequestErrors'] = async (work) => {
    try {
      return await work;
    } catch (fault) {
      throw toRequestError(fault);
    }
  };

  return { toRequestError, withRequestErrors };
};
