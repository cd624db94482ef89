/** The same request for many entries, a few at a time. */

export interface BulkProgress {
  readonly done: number;
  readonly total: number;
  readonly faults: readonly { readonly id: number; readonly fault: unknown }[];
}

const AT_ONCE = 3;

/** @param onProgress after each; those that have not begun when the signal aborts are left. */
export const runForAll = async <Entry extends { readonly id: number }>(
  entries: readonly Entry[],
  run: (entry: Entry) => Promise<unknown>,
  onProgress: (progress: BulkProgress) => void,
  signal?: AbortSignal,
): Promise<BulkProgress> => {
  let progress: BulkProgress = { done: 0, total: entries.length, faults: [] };
  const waiting = [...entries];
  const work = async (): Promise<void> => {
    for (let entry = waiting.shift(); entry !== undefined && !signal?.aborted; entry = waiting.shift()) {
      const { id } = entry;
      const fault = await run(entry).then(
        () => null,
        (it: unknown) => ({ id, fault: it }),
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
