/** Requests that could run forever on densely linked data end in time (`limits.readMsMax`), on both databases. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { newGate } from '../../src/access/access.js';
import { limits } from '../../src/limits.js';
import { loadModel } from '../../src/model/load.js';
import type { Model } from '../../src/model/model.js';
import { textQuery } from '../../src/query/brackets.js';
import { newReader } from '../../src/read/find.js';
import { createTables, dialects, insertRows, newDatabase } from '../world/databases.js';
import { defaultSettings } from '../world/server.js';

const entryCount = 60;
/** Links of each entry: seven steps follow 8^7 paths. */
const linkCount = 8;
/** What a busy machine may add; requests that are not ended take hours. */
const slackMs = 30_000;

const newModel = (): Model => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-clock-'));
  const file = path.join(dir, 'src/api/spot/content-types/spot/schema.json');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const attributes = {
    title: { type: 'string' },
    ways: { type: 'relation', relation: 'manyToMany', target: 'api::spot.spot' },
  };
  const info = { singularName: 'spot', pluralName: 'spots', displayName: 'Spot' };
  fs.writeFileSync(file, JSON.stringify({ kind: 'collectionType', collectionName: 'spots', info, attributes }));
  const loaded = loadModel(dir);
  fs.rmSync(dir, { recursive: true });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return loaded.model;
};

const ways = (steps: number, glue: string): string => Array.from({ length: steps }, () => 'ways').join(glue);

const requests = [
  `sort=${ways(7, '.')}.title`,
  `populate[ways][filters][id][$gt]=0&populate[ways][sort]=${ways(7, '.')}.title`,
  `filters[${ways(15, '][')}][title][$contains]=nowhere`,
  `filters[$or][0][${ways(12, '][')}][title][$null]=true&filters[$or][1][${ways(12, '][')}][id]=-1`,
  `populate=${ways(1000, '.')}`,
  `populate[${ways(100, '][populate][')}]=*`,
];

describe.each(dialects)('clock on %s', (dialect) => {
  test('every request is answered or refused in time', { timeout: 600_000 }, async () => {
    const model = newModel();
    const { db, drop } = await newDatabase(dialect);
    try {
      const tables = await createTables(db, model);
      const table = (name: string) => tables.find((it) => it.name === name)!;
      const ids = Array.from({ length: entryCount }, (_, i) => i + 1);
      await insertRows(
        db,
        table('spots'),
        ids.map((id) => ({ id, title: `spot ${id}` })),
      );
      await insertRows(
        db,
        table('spots_ways_links'),
        ids.flatMap((id) =>
          Array.from({ length: linkCount }, (_, i) => ({
            id: id * linkCount + i,
            spot_id: id,
            inv_spot_id: ((id * 7 + i * i + i) % entryCount) + 1,
            spot_order: i,
          })),
        ),
      );
      const { rest, strict } = defaultSettings;
      const context = {
        model,
        gate: newGate({ version: '', may: () => true }, model),
        rest,
        strict,
        defaultLocale: 'en',
      };
      const reader = newReader(db);
      const late: string[] = [];
      for (const search of requests) {
        const started = performance.now();
        const type = model.types.get('api::spot.spot')!;
        const answer = await reader.read({ action: 'find', type, id: null, query: textQuery(search) }, context);
        const elapsedMs = Math.round(performance.now() - started);
        if (elapsedMs > limits.readMsMax + slackMs)
          late.push(`${search.slice(0, 80)}: ${elapsedMs} ms, ${answer.ok ? 'answered' : answer.issues[0]?.code}`);
      }
      expect(late.join('\n')).toBe('');
    } finally {
      await drop();
    }
  });
});
