/** Writes that wait for each other in a circle: each of two stores two unique codes, whose locks are those of the other in the other order. */
import { uniqueLock } from '../../src/write/plan.js';

/** Of the attribute `code` of a type `ticket`. */
const lockOf = (code: string): string => uniqueLock({ table: 'tickets' }, { column: 'code', type: 'string' }, code);

/** Another value with the same lock. */
const besides = (value: string, prefix: string): string => {
  for (let i = 0; ; i++) if (lockOf(`${prefix}${i}`) === lockOf(value)) return `${prefix}${i}`;
};

/** What the two store, which are called `one` and `other`. @param name begins each code. */
export const crossingCodes = (name: string) => ({
  one: [`${name}-1`, `${name}-2`],
  other: [besides(`${name}-2`, `${name}-x`), besides(`${name}-1`, `${name}-y`)],
});

/** `await meet(place, name)` in code of a project: waits for the other one at the place, the first time. */
export const meeting = `const waiting = new Map();
  const meet = (place, name) => new Promise((resolve) => {
    const known = waiting.get(place) ?? new Map();
    waiting.set(place, known);
    if (known.has(name)) return resolve();
    known.set(name, resolve);
    if (known.size === 2) for (const it of known.values()) it();
  });`;
