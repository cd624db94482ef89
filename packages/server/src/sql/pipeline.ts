/** Steps of a transaction that do not wait for each other. */

/**
 * Starts the steps one after the other and waits for all. A transaction runs its statements in the order in which they
 * were sent, so what a step sends at once runs behind what the steps before it have sent at once. A fault is thrown
 * when all steps have ended: a transaction must not end under one that still runs.
 */
export const pipeline = async <const Steps extends readonly (() => Promise<unknown>)[]>(
  ...steps: Steps
): Promise<{ -readonly [K in keyof Steps]: Awaited<ReturnType<Steps[K]>> }> => {
  const running = steps.map((step) => step());
  await Promise.allSettled(running);
  return Promise.all(running) as Promise<{ -readonly [K in keyof Steps]: Awaited<ReturnType<Steps[K]>> }>;
};
