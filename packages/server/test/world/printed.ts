/** Captures what a command prints. */
import { vi } from 'vitest';

/** `out` is for programs, `said` for people. */
export const printed = async (work: () => Promise<void>): Promise<{ readonly out: string; readonly said: string }> => {
  const text = { out: '', said: '' };
  const listen = (stream: NodeJS.WriteStream, key: 'out' | 'said') =>
    vi.spyOn(stream, 'write').mockImplementation((chunk) => {
      text[key] += String(chunk);
      return true;
    });
  const spies = [listen(process.stdout, 'out'), listen(process.stderr, 'said')];
  try {
    await work();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return text;
};
