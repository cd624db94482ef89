/** Which transactions are repeated after a fault, and what requests get of it otherwise. */
import { setImmediate } from 'node:timers/promises';
import { busy, issue, never, Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import { type FaultKind, PostgresFault, tooSlow } from './faults.js';
import type { Connections } from './pool.js';

export interface Retries {
  /** Throws what `refusalOf` makes of the last fault. @param mayRepeat asked after each fault that may be repeated. */
  repeated<T>(attempt: () => Promise<T>, mayRepeat: (kind: FaultKind) => boolean): Promise<T>;
  /** The error that a request gets: a `Refusal` if the database is unavailable, or the request takes too much. */
  refusalOf(fault: PostgresFault): Error;
}

/** @param onUnavailable as `PostgresOptions` say. */
export const newRetries = (
  connections: Pick<Connections, 'stopPreparing' | 'useNextHost'>,
  onUnavailable: (fault: Error) => void,
): Retries => {
  let reportedAt = Number.NEGATIVE_INFINITY;

  const repeated: Retries['repeated'] = async (attempt, mayRepeat) => {
    const failed: Partial<Record<FaultKind, number>> = {};
    for (;;) {
      try {
        return await attempt();
      } catch (fault) {
        if (!(fault instanceof PostgresFault)) throw fault;
        if (fault.kind === 'unprepared') connections.stopPreparing();
        if (fault.kind === 'standby') connections.useNextHost();
        const attempts = (failed[fault.kind] ?? 0) + 1;
        failed[fault.kind] = attempts;
        if (attempts >= attemptsMax[fault.kind] || !mayRepeat(fault.kind)) throw refusalOf(fault);
        // let the pool notice other connections that broke at the same time
        await setImmediate();
      }
    }
  };

  const refusalOf = (fault: PostgresFault): Error => {
    switch (fault.kind) {
      case 'slow':
        return tooSlow();
      case 'large':
        return new Refusal(issue('read.too-large', [], { max: limits.responseCharactersMax }));
      case 'conflict':
      case 'stale':
      case 'unprepared':
      case 'lost':
      case 'standby':
      case 'busy':
      case 'full':
        if (performance.now() - reportedAt > 1000) {
          reportedAt = performance.now();
          onUnavailable(fault);
        }
        return fault.kind === 'full'
          ? Object.assign(new Refusal(issue('database.full', [])), { cause: fault })
          : busy(fault);
      case 'unsure':
      case 'aborted':
      case 'statement':
        return fault;
      default:
        return never(fault.kind);
    }
  };

  return { repeated, refusalOf };
};

/** Attempts per transaction that may end in a failure, by its kind. */
const attemptsMax: Readonly<Record<FaultKind, number>> = {
  conflict: 3,
  stale: 3,
  unprepared: 2,
  unsure: 2,
  lost: 2,
  standby: 1,
  busy: 1,
  full: 1,
  slow: 1,
  large: 1,
  aborted: 1,
  statement: 1,
};
