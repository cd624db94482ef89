/**
 * Content goes to the other kind of database and back: the export of the copy is that of the original, byte for byte, and the API
 * answers the same. Data recorded with v4, and random ones.
 */
import fs from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { exportContent } from '../../src/cli/transfer/export.js';
import { importContent } from '../../src/cli/transfer/import.js';
import type { Scope } from '../../src/cli/transfer/tables.js';
import type { Model } from '../../src/model/model.js';
import { type Kit, kitFiles } from '../conformance/cases.js';
import { loadProject } from '../conformance/recorded.js';
import { newRandom, seedOfRun } from '../oracle/random.js';
import { anyRequest, pathOf } from '../oracle/request.js';
import { newScene, newStage } from '../oracle/scene.js';
import { writeProject } from '../oracle/schema.js';
import { spell } from '../oracle/spelling.js';
import { copiedDatabase, createTables, newDatabase, type TestDatabase } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { printed } from '../world/printed.js';
import { newTestServer } from '../world/server.js';

const kinds = ['sqlite', 'postgres'] as const;
const other = { sqlite: 'postgres', postgres: 'sqlite' } as const;
const variables = ['DATABASE_CLIENT', 'DATABASE_FILENAME', 'DATABASE_URL'];

let folder: string;
beforeEach(() => {
  folder = newFolder();
});
afterEach(() => {
  vi.unstubAllEnvs();
  fs.rmSync(folder, { recursive: true });
});

const using = ({ env }: Pick<TestDatabase, 'env'>): void => {
  for (const name of variables) vi.stubEnv(name, env[name]);
};
const exported = async (project: string, database: Pick<TestDatabase, 'env'>, name: string, scope: Scope) => {
  using(database);
  const file = path.join(folder, name);
  const { said } = await printed(() => exportContent(project, file, { scope }));
  return { file, said, text: fs.readFileSync(file, 'utf8') };
};
const importInto = async (project: string, database: TestDatabase, file: string): Promise<void> => {
  using(database);
  await printed(() => importContent(project, file, { replace: false }));
};
describe.each(kinds)('from %s to the other database', (dialect) => {
  it.each([
    ['core', 'content'],
    ['museum', 'content'],
    ['museum', 'users'],
    ['core', 'all'],
  ] as const)('the recorded %s, %s', { timeout: 120_000 }, async (kit: Kit, scope) => {
    const { project, data } = kitFiles(kit);
    const { model } = await loadProject(kit);
    const addMissing = async (db: TestDatabase['db']): Promise<void> => {
      await createTables(db, model);
    };
    const source = await copiedDatabase(dialect, `recorded_${kit}`, addMissing, { given: data });
    const target = await newDatabase(other[dialect]);
    try {
      const first = await exported(project, source, 'a.ndjson', scope);
      await importInto(project, target, first.file);
      const second = await exported(project, target, 'b.ndjson', scope);
      expect(second.text === first.text, firstDifference(first.text, second.text)).toBe(true);
      expect(first.text.split('\n').length).toBeGreaterThan(50);
      // content may lead to users, who are not in an export of content
      if (scope === 'content') return;
      const urls = [...model.types.values()]
        .filter((type) => type.origin === 'project' && type.kind !== 'component')
        .map(({ kind: type, singular, plural }) => `/api/${type === 'single' ? singular : plural}`)
        .flatMap((it) => [`${it}?populate=*&publicationState=preview&pagination[pageSize]=100`, `${it}?sort=id:desc`]);
      await expectEqual(source, target, model, urls);
    } finally {
      await source.drop();
      await target.drop();
    }
  });

  it.each([0, 1, 2])('random content %i', { timeout: 120_000 }, async (i) => {
    const seed = seedOfRun() + i;
    const scene = newScene(seed);
    const stage = await newStage(scene, dialect);
    const target = await newDatabase(other[dialect]);
    const back = await newDatabase(dialect);
    const project = path.join(folder, 'project');
    writeProject(scene.project, project);
    try {
      const first = await exported(project, stage, 'a.ndjson', 'all');
      await importInto(project, target, first.file);
      const second = await exported(project, target, 'b.ndjson', 'all');
      expect(second.text === first.text, firstDifference(first.text, second.text)).toBe(true);
      const random = newRandom(seed).fork('transfer');
      const requests = Array.from({ length: 40 }, () => anyRequest(scene.project, scene.world, random));
      const urls = requests
        .map((it) => `/api${pathOf(it, scene.project)}?${spell(it)}`)
        .filter((it) => it.length < 15_000);
      // the other database has empty values and ranks at the other end
      await importInto(project, back, second.file);
      await expectEqual(stage, back, scene.model, urls);
    } finally {
      await stage.drop();
      await target.drop();
      await back.drop();
    }
  });
});

const expectEqual = async (
  source: Pick<TestDatabase, 'db'>,
  target: TestDatabase,
  model: Model,
  urls: readonly string[],
): Promise<void> => {
  const servers = await Promise.all(
    [source, target].map(({ db }) => newTestServer(db, model, {}, 0, { mode: 'open' })),
  );
  try {
    for (const url of urls) {
      const [one, another] = await Promise.all(servers.map((it) => it.get(url)));
      expect(
        isDeepStrictEqual(another, { ...one, headers: another!.headers, text: another!.text }),
        `${url}\n${one!.text.slice(0, 2000)}\n${another!.text.slice(0, 2000)}`,
      ).toBe(true);
    }
  } finally {
    for (const it of servers) await it.close();
  }
};

const firstDifference = (one: string, another: string): string => {
  const [a, b] = [one.split('\n'), another.split('\n')];
  const at = a.findIndex((line, i) => line !== b[i]);
  return `line ${at + 1}:\n${a[at]?.slice(0, 600)}\n${b[at]?.slice(0, 600)}`;
};
