/** Limits of the server that are others for the tests of a file. Threads and processes keep their own. */
import { afterAll, beforeAll } from 'vitest';
import { limits } from '../../src/limits.js';

type Limits = Readonly<Partial<Record<keyof typeof limits, number>>>;

export interface OwnLimits {
  /** Changes these, beside what has been changed before. */
  set(changed: Limits): void;
  /** Back to the usual ones of the file. */
  reset(): void;
}

/** @param usual those that differ from the server's in all tests of the file. */
export const useLimits = (usual: Limits = {}): OwnLimits => {
  const servers = { ...limits };
  const set: OwnLimits['set'] = (changed) => {
    Object.assign(limits, changed);
  };
  const reset = (): void => set({ ...servers, ...usual });
  beforeAll(reset);
  // other files may follow in the same process
  afterAll(() => set(servers));
  return { set, reset };
};
