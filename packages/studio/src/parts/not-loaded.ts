/** Files of the Studio itself that could not be loaded: the server does not respond, or has those of another version. */
const faults = new WeakSet<Error>();

/** Before anything is loaded. */
export const watchLoading = (): void =>
  addEventListener('vite:preloadError', ({ payload }) => {
    faults.add(payload);
  });

export const isNotLoaded = (fault: unknown): boolean => fault instanceof Error && faults.has(fault);
