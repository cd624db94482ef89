/** The same request for many entries, a few at a time. */

export interface BulkProgress {
  readonly done: number;
  readonly total: number;
  readonly faults: readonly { readonly id: number; readonly fault: unknown }[];
}

const AT_ONCE = 3;

/** @param onProgress after each; those that have not begun when the signal aborts are left. */
export const runForAll = async (
  ids: readonly number[],
  run: (id: number) => Promise<unknown>,
  onProgress: (progress: BulkProgress) => void,
  signal?: AbortSignal,
): Promise<BulkProgress> => {
  let progress: BulkProgress = { done: 0, total: ids.length, faults: [] };
  const waiting = [...ids];
  const work = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined && !signal?.aborted; id = waiting.shift()) {
      const own = id;
      const fault = await run(own).then(
        () => null,
        (it: unknown) => ({ id: own, fault: it }),
      );
      progress = {
        ...progress,
        done: progress.done + 1,
        faults: fault === null ? progress.faults : [...progress.faults, fault],
      };
      onProgress(progress);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return progress;
};
