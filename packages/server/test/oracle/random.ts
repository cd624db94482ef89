/** Random choices that are repeatable by seed. */

export interface Random {
  /** An integer from 0 up to, but not including, `end`. */
  below(end: number): number;
  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  shuffle<T>(items: readonly T[]): T[];
  /** Up to `count` different items, in random order. */
  sample<T>(items: readonly T[], count: number): T[];
  /** A stream of its own, so that the draws of one part do not affect the others. */
  fork(label: string): Random;
}

export const newRandom = (seed: number | string): Random => {
  let state = hash(String(seed));
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (end: number): number => Math.floor(next() * end);
  const shuffle = <T>(items: readonly T[]): T[] => {
    const shuffled = [...items];
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = below(i + 1);
      [shuffled[i], shuffled[j]] = [shuffled[j]!, shuffled[i]!];
    }
    return shuffled;
  };
  return {
    below,
    between: (low, high) => low + below(high - low + 1),
    chance: (probability) => next() < probability,
    pick: (items) => {
      if (items.length === 0) throw new Error('nothing to pick from');
      return items[below(items.length)]!;
    },
    shuffle,
    sample: (items, count) => shuffle(items).slice(0, count),
    fork: (label) => newRandom(`${seed}/${label}`),
  };
};

/** FNV-1a, so that similar seeds give unrelated streams. */
const hash = (text: string): number => {
  let value = 0x811c9dc5;
  for (const char of text) value = Math.imul(value ^ char.codePointAt(0)!, 0x01000193);
  return value;
};

/** The seed of a run: `DOVETAIL_SEED`, where `random` draws one; the same each time by default. */
export const seedOfRun = (): number => {
  const given = process.env['DOVETAIL_SEED'];
  if (given === undefined || given === '') return 20_240_229;
  return given === 'random' ? Math.floor(Math.random() * 1_000_000_000) : Number(given);
};
