/** Worlds that are open while the tests of a file or block run. */
import { afterAll, beforeAll } from 'vitest';

/** Opens one before the tests and closes it after them. */
export const openForTests = <T extends { close(): Promise<void> }>(open: () => Promise<T>): (() => T) => {
  let opened: T | null = null;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened?.close());
  return () => {
    if (!opened) throw new Error('the world opens before the first test');
    return opened;
  };
};

/** The same as an object, whose members can be used from the first test on. */
export const openedForTests = <T extends { close(): Promise<void> }>(open: () => Promise<T>): T => {
  const it = openForTests(open);
  return new Proxy({} as T, { get: (_none, member) => it()[member as keyof T] });
};
