/** Every scalar type with every operator and every unusual text: each is answered, or refused with its path (ER5). */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { newGate } from '../../src/access/access.js';
import { scalarTypes } from '../../src/model/attributes.js';
import { loadModel } from '../../src/model/load.js';
import type { Model } from '../../src/model/model.js';
import { textQuery } from '../../src/query/brackets.js';
import { newReader } from '../../src/read/find.js';
import { createTables, dialects, insertRows, newDatabase } from '../world/databases.js';
import { defaultSettings } from '../world/server.js';
import { operators, values } from './strings.js';

const typeNames = Object.keys(scalarTypes);

/** One content type with an attribute of each scalar type. */
const newModel = (): Model => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-sweep-'));
  const file = path.join(dir, 'src/api/thing/content-types/thing/schema.json');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(
    file,
    JSON.stringify({
      kind: 'collectionType',
      collectionName: 'things',
      info: { singularName: 'thing', pluralName: 'things', displayName: 'Thing' },
      attributes: Object.fromEntries(
        typeNames.map((type) => [
          `a${type}`,
          { type, private: false, ...(type === 'enumeration' ? { enum: ['alpha'] } : {}) },
        ]),
      ),
    }),
  );
  const loaded = loadModel(dir);
  fs.rmSync(dir, { recursive: true });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return loaded.model;
};

/** A stored value of each form: a cast in a condition fails only where there is a row to compare. */
const stored: Readonly<Record<string, string | number | boolean>> = {
  date: '2024-02-29',
  time: '10:20:30.123',
  datetime: 1_709_251_200_123,
  timestamp: 1_709_251_200_123,
  integer: 5,
  biginteger: '9007199254740993',
  float: 1.5,
  decimal: 1.25,
  boolean: true,
  array: '[1]',
  json: '{"a":1}',
  blocks: '[]',
};

describe.each(dialects)('sweep on %s', (dialect) => {
  test('no text with any operator on any type throws', async () => {
    const model = newModel();
    const { db, drop } = await newDatabase(dialect);
    try {
      const tables = await createTables(db, model);
      const row = Object.fromEntries(typeNames.map((type) => [`a_${type}`, stored[type] ?? 'alpha']));
      const table = tables.find((it) => it.name === 'things')!;
      const columns = new Map(
        [...model.types.get('api::thing.thing')!.attributes.values()].map((it) => [
          it.name,
          it.kind === 'scalar' ? it.column : '',
        ]),
      );
      await insertRows(db, table, [
        {
          id: 1,
          ...Object.fromEntries(typeNames.map((type) => [columns.get(`a${type}`)!, row[`a_${type}`]!])),
        },
      ]);
      const reader = newReader(db, { responseCacheBytesMax: 0, entriesBytesMax: 0 });
      const { rest, strict } = defaultSettings;
      const gate = newGate({ version: 'all', may: () => true }, model);
      const context = { model, gate, rest, strict, defaultLocale: 'en' };
      const thrown: string[] = [];
      const ask = async (search: string): Promise<void> => {
        const type = model.types.get('api::thing.thing')!;
        const request = { action: 'find', type, id: null, query: textQuery(search) } as const;
        const read = async () => reader.read(request, context);
        const answer = await read().catch((fault: unknown) => {
          thrown.push(`${search}: ${fault instanceof Error ? fault.message : String(fault)}`);
          return null;
        });
        if (answer && !answer.ok)
          for (const it of answer.issues)
            if (it.path.length === 0) thrown.push(`${search}: ${it.code} names no parameter`);
      };
      // a URL cannot contain lone surrogates
      const texts = [...new Set(values)].filter((it) => it.isWellFormed());
      for (const type of [...typeNames.map((it) => `a${it}`), 'id']) {
        for (const text of texts) {
          for (const operator of operators) {
            // the other operators compare in the same way
            if (['$eq', '$gte', '$contains', '$null'].includes(operator))
              await ask(`filters[${type}][${operator}]=${text}`);
          }
          await ask(`filters[${type}][$between][]=${text}&filters[${type}][$between][]=${text}`);
          await ask(`filters[${type}][$not][$in][]=${text}&filters[${type}][$not][$in][]=1`);
        }
        for (const operator of operators) await ask(`filters[${type}][${operator}]`);
      }
      expect(thrown.join('\n')).toBe('');
    } finally {
      await drop();
    }
  });
});
