/** Plans are cached by URL, and clients can make up URLs: whatever they are, the cached plans fit into the heap. */
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { serveInProcess } from '../world/process.js';
import { dialects, projectDir, useWorld } from '../world/world.js';

const HEAP_MB = 512;
// each takes a step through a relation
const CONDITIONS = 140;
const URLS = 1_200;

const conditions = (filters: string, column: string, n: number): string =>
  Array.from({ length: CONDITIONS }, (_none, i) => `${filters}[$or][${i}]${column}=q${n}x${i}`).join('&');

describe.each(dialects)('plans of hostile URLs on %s', (dialect) => {
  const world = useWorld(dialect);

  it(`${URLS} anonymous URLs of ${CONDITIONS} conditions each, all of them 404, leave a heap of ${HEAP_MB} MB in service`, async () => {
    const { url, child } = await serveInProcess(projectDir, world.env, [`--max-old-space-size=${HEAP_MB}`]);
    try {
      const statuses = new Map<number, number>();
      for (let n = 0; n < URLS; n++) {
        const path = `/films/99999?${conditions('populate[director][filters]', '[mentor][name]', n)}`;
        const { status } = await fetch(url + path);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
      expect(Object.fromEntries(statuses)).toEqual({ 404: URLS });
      expect((await fetch(`${url}/films?fields=id`)).status).toBe(200);
      expect(child.exitCode).toBe(null);
    } finally {
      const gone = once(child, 'exit');
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await gone;
      }
    }
  }, 300_000);
});
