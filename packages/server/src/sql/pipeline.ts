/** Pipelines independent steps of a transaction. */

/**
 * Starts the steps in order, without waiting in between, and waits for all. A transaction runs statements in the order they
 * are sent, so the first statements of a step run after the first statements of the steps before it. An error is thrown
 * only once all steps have settled: the transaction must not end while one is still running.
 */
export const pipeline = async <const Steps extends readonly (() => Promise<unknown>)[]>(
  ...steps: Steps
): Promise<{ -readonly [K in keyof Steps]: Awaited<ReturnType<Steps[K]>> }> => {
  // async: a step that throws before it waits must not end the others
  const running = steps.map(async (step) => step());
  await Promise.allSettled(running);
  return Promise.all(running) as Promise<{ -readonly [K in keyof Steps]: Awaited<ReturnType<Steps[K]>> }>;
};
