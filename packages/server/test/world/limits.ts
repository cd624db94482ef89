/** Other limits of the server for the tests of one file. Worker threads and other processes keep the usual ones. */
import { afterAll, beforeAll } from 'vitest';
import { limits } from '../../src/limits.js';

type Limits = Readonly<Partial<Record<keyof typeof limits, number>>>;

export interface OwnLimits {
  /** Changes these, in addition to earlier changes. */
  set(changed: Limits): void;
  /** Undoes all changes but those of the whole file. */
  reset(): void;
}

/** @param usual limits that apply to all tests of the file. */
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
