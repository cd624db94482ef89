/** How far a command is: one line of a terminal that changes. Nothing where no one watches. */

export interface Progress {
  /** @param share from 0 to 1. */
  share(share: number): void;
  /** @param count of what is done, where the whole is unknown. */
  count(count: number): void;
  end(): void;
}

const REDRAWN_MS = 100;

export const newProgress = (what: string): Progress => {
  const { stderr } = process;
  let drawnAt = Number.NEGATIVE_INFINITY;
  const draw = (state: string): void => {
    const now = performance.now();
    if (!stderr.isTTY || now - drawnAt < REDRAWN_MS) return;
    drawnAt = now;
    stderr.write(`\r${what}: ${state}`);
  };
  return {
    share: (share) => draw(`${Math.floor(share * 100)} %`),
    count: (count) => draw(String(count)),
    end: () => {
      if (stderr.isTTY && drawnAt > 0) stderr.write('\r\u001b[K');
    },
  };
};
