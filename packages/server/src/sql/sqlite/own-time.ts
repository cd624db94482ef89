/**
 * The time of the server's thread: what it does with the database itself costs half of what it does in another thread, but others must not
 * wait for it.
 */
import { setImmediate } from 'node:timers/promises';
import { limits } from '../../limits.js';

/** Milliseconds spent since the event loop last looked for what else there is to do. */
export interface OwnTime {
  spent(): number;
  spend(ms: number): void;
  /** Lets the event loop look, if enough was spent. */
  yield(): Promise<void>;
}

export const newOwnTime = (): OwnTime => {
  let spent = 0;
  let isCounting = false;
  return {
    spent: () => spent,
    spend: (ms) => {
      spent += ms;
      if (isCounting) return;
      isCounting = true;
      globalThis.setImmediate(() => {
        spent = 0;
        isCounting = false;
      });
    },
    yield: async () => {
      if (spent > limits.ownTimeMsMax) await setImmediate();
    },
  };
};

/** What has taken too long is not tried again for some time. */
export interface Pauses {
  isPaused(kind: object): boolean;
  /** The next pause is longer. */
  pause(kind: object): void;
  /** It did not take too long: the next pause is shorter. */
  ease(kind: object): void;
}

export const newPauses = (): Pauses => {
  const slow = new WeakMap<object, { pauseMs: number; readonly until: number }>();
  return {
    isPaused: (kind) => performance.now() < (slow.get(kind)?.until ?? 0),
    pause: (kind) => {
      const doubled = 2 * (slow.get(kind)?.pauseMs ?? 0);
      const pauseMs = Math.max(FIRST_PAUSE_MS, Math.min(doubled, limits.ownWorkPauseMsMax));
      slow.set(kind, { pauseMs, until: performance.now() + pauseMs });
    },
    ease: (kind) => {
      const known = slow.get(kind);
      if (known) known.pauseMs *= LESS_AFTER_SUCCESS;
    },
  };
};

const FIRST_PAUSE_MS = 20;
const LESS_AFTER_SUCCESS = 0.8;
