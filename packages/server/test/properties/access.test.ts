/**
 * A caller with fewer permissions never sees more: whatever it gets, a caller with more permissions gets too, with the
 * same entries and at least the same keys (AC5; AC1).
 */
import { describe, expect, test } from 'vitest';
import { newGate } from '../../src/access/access.js';
import { findAction } from '../../src/access/actions.js';
import { textQuery } from '../../src/query/brackets.js';
import { newReader } from '../../src/read/find.js';
import { newRandom, seedOfRun } from '../oracle/random.js';
import { anyRequest } from '../oracle/request.js';
import { newScene, newStage } from '../oracle/scene.js';
import { spell } from '../oracle/spelling.js';
import { dialects } from '../world/databases.js';

const seed = seedOfRun();
const sceneCount = 3;
const requestCount = 120;

/** The path of something in `less` that `more` lacks; null if there is none. */
const surplus = (less: unknown, more: unknown, at = 'body'): string | null => {
  if (Array.isArray(less)) {
    if (Array.isArray(more) && more.some(isOfSeveralTypes)) return isPartOf(less, more) ? null : `${at}: not a part`;
    if (!Array.isArray(more) || more.length !== less.length) return `${at}: lists differ`;
    return first(less.map((it, i) => surplus(it, more[i], `${at}.${i}`)));
  }
  if (less !== null && typeof less === 'object') {
    if (more === null || typeof more !== 'object') return `${at}: not there for the fuller caller`;
    return first(
      Object.entries(less).map(([key, value]) =>
        Object.hasOwn(more, key)
          ? surplus(value, (more as Record<string, unknown>)[key], `${at}.${key}`)
          : `${at}.${key}: not there for the fuller caller`,
      ),
    );
  }
  // a polymorphic relation to one entry, of a type that is not granted
  if (less === null && isEntry(more) && !at.endsWith('.data')) return null;
  return Object.is(less, more) ? null : `${at}: ${JSON.stringify(less)} instead of ${JSON.stringify(more)}`;
};

const isEntry = (value: unknown): boolean => value !== null && typeof value === 'object' && 'id' in value;
/** Such lists leave out the types that are not granted; all others are granted as a whole. */
const isOfSeveralTypes = (value: unknown): boolean => isEntry(value) && '__type' in (value as object);

/** Whether each element is found in the other list, in the same order. */
const isPartOf = (less: readonly unknown[], more: readonly unknown[]): boolean => {
  const left = [...more];
  return less.every((it) => {
    while (left.length > 0) if (surplus(it, left.shift()) === null) return true;
    return false;
  });
};

const first = (found: readonly (string | null)[]): string | null => found.find((it) => it !== null) ?? null;

/** All keys in a body. */
const keysIn = (value: unknown): number => {
  if (value === null || typeof value !== 'object') return 0;
  const members = Object.values(value);
  return members.length + members.reduce((sum: number, it) => sum + keysIn(it), 0);
};

describe.each(dialects)(`access on %s, seed ${seed}`, (dialect) => {
  test('a caller with fewer permissions receives nothing that the fuller caller does not', async () => {
    let [answered, narrowed, refused] = [0, 0, 0];
    for (let i = 0; i < sceneCount; i++) {
      const scene = newScene(seed + i);
      const stage = await newStage(scene, dialect);
      const random = newRandom(scene.seed).fork('access');
      const reader = newReader(stage.db);
      const actions = [...scene.model.types.keys()].map(findAction);
      for (let n = 0; n < requestCount; n++) {
        const granted = new Set(random.sample(actions, random.below(actions.length)));
        const fuller = { version: 'all', may: (action: string) => actions.includes(action) };
        const lesser = { version: [...granted].sort().join(), may: (action: string) => granted.has(action) };
        const request = anyRequest(scene.project, scene.world, random);
        const type = scene.model.types.get(request.uid)!;
        const asked = { action: request.action, type, id: request.id, query: textQuery(spell(request)) };
        const [much, little] = await Promise.all(
          [fuller, lesser].map((caller) =>
            reader.read(asked, { ...stage.context, gate: newGate(caller, scene.model) }),
          ),
        );
        const told = `seed ${scene.seed}, granted ${lesser.version}: ${decodeURIComponent(spell(request))}`;
        if (!little!.ok) {
          refused += 1;
          continue;
        }
        if (!much!.ok) throw new Error(`${told}: answered, but the fuller caller is refused`);
        const [less, more] = [little!, much!].map((it) =>
          it.ok ? (JSON.parse(it.value.body.toString()) as unknown) : null,
        );
        expect(surplus(less, more), told).toBeNull();
        answered += 1;
        if (keysIn(less) < keysIn(more)) narrowed += 1;
      }
      await stage.drop();
    }
    // the property would also hold if nothing were returned
    expect(answered).toBeGreaterThan(sceneCount * requestCount * 0.3);
    expect(narrowed).toBeGreaterThan(10);
    expect(refused).toBeGreaterThan(10);
  });
});
