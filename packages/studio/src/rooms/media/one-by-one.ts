/** Many changes, one request after the other: the server has none for several files at once. */

interface Run<Item> {
  /** Those that were changed, in order; they stay so when a later one is refused. */
  readonly done: readonly Item[];
  /** Why the next one was refused; null if none was. */
  readonly fault: unknown;
}

/** Stops at the first that is refused, and before the next one when the signal says so. @param onProgress told of how many are done */
export const oneByOne = async <Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<unknown>,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (done: number) => void },
): Promise<Run<Item>> => {
  const done: Item[] = [];
  onProgress(0);
  for (const item of items) {
    if (signal.aborted) break;
    try {
      await act(item);
    } catch (fault) {
      return { done, fault };
    }
    done.push(item);
    onProgress(done.length);
  }
  return { done, fault: null };
};
