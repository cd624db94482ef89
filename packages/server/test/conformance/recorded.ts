/** Recorded cases as tests: a server in this process, over a copy of the recorded data. */
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HandlersByType, loadHandlers } from '../../src/handlers/load.js';
import { newServer } from '../../src/http/server.js';
import { formatNote, loadModel } from '../../src/model/load.js';
import type { Model } from '../../src/model/model.js';
import type { Db, DialectName } from '../../src/sql/dialect.js';
import { copiedDatabase, createTables, dialects } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { newTestDeps } from '../world/server.js';
import { type Case, isRead, type Kit, kitFiles, play, readCases, type Suite, secrets, type Target } from './cases.js';
import { newDocuments } from './described.js';
import { send } from './send.js';

interface RecordedServer extends Target {
  /** `http://127.0.0.1:1234` */
  readonly base: string;
  close(): Promise<void>;
}

interface RecordedProject {
  readonly kit: Kit;
  readonly model: Model;
  readonly handlers: HandlersByType;
}

export const loadProject = async (kit: Kit): Promise<RecordedProject> => {
  const { project, overlay } = kitFiles(kit);
  const loaded = loadModel(project);
  if (!loaded.ok) throw new Error(loaded.faults.map(formatNote).join('\n'));
  return { kit, model: loaded.model, handlers: await loadHandlers(overlay, loaded.model) };
};

/** On a port, because the in-process injector normalises URLs. */
export const newRecordedServer = async (
  dialect: DialectName,
  { kit, model, handlers }: RecordedProject,
  logins = new Map<string, string>(),
): Promise<RecordedServer> => {
  const addMissing = async (db: Db): Promise<void> => {
    await createTables(db, model);
  };
  const { dir, data, copyUploads } = kitFiles(kit);
  const database = await copiedDatabase(dialect, `recorded_${kit}`, addMissing, { given: data });
  const project = newFolder();
  copyUploads(project);
  const settings = { uploadsDir: path.join(project, 'public', 'uploads') };
  const app = await newServer(newTestDeps(database.db, model, settings, undefined, { handlers, secrets }));
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const agent = new http.Agent({ keepAlive: true });
  return {
    base,
    logins,
    send: (request) => send({ base, files: dir, agent }, request),
    close: async () => {
      agent.destroy();
      await app.close();
      await database.drop();
      fs.rmSync(project, { recursive: true, force: true });
    },
  };
};

/** Every case of a kit's suite on the databases. Cases share a server until one of them may have changed its data. */
export const testSuite = (kit: Kit, suite: Suite, databases: readonly DialectName[] = dialects): void => {
  const cases = readCases(kitFiles(kit).suite(suite));
  describe.each(databases)(`recorded ${suite} of ${kit} on %s`, (dialect) => {
    const logins = new Map<string, string>();
    const documents = newDocuments();
    let project: RecordedProject;
    let server: RecordedServer | null = null;
    beforeAll(async () => {
      project = await loadProject(kit);
    });
    afterAll(() => server?.close());

    // responses are the same on both, and describing them takes as long as reading them
    const isDescribed = dialect === 'sqlite';
    const wanted = cases.filter((it) => it.databases?.includes(dialect) ?? true);
    // reads first: their results must not depend on the writes before them
    for (const it of [...wanted.filter(isRead), ...wanted.filter((one) => !isRead(one))]) {
      test(titleOf(it), async () => {
        server ??= await newRecordedServer(dialect, project, logins);
        const { send: sendTo } = server;
        const otherwise: string[] = [];
        const { fault, changed } = await play(it, {
          logins,
          send: async (request) => {
            const answer = await sendTo(request);
            const described = isDescribed ? await documents.fault({ send: sendTo }, request, answer) : null;
            if (described !== null) otherwise.push(`${request.method} ${request.path}: ${described}`);
            return answer;
          },
        });
        if (changed) {
          await server.close();
          server = null;
        }
        if (fault) expect.fail(`${it.id}: ${fault.where}: ${fault.text}`);
        expect(otherwise, 'as the OpenAPI document of the caller says').toEqual([]);
      });
    }
    if (isDescribed)
      test('the OpenAPI documents know the paths of most cases', () => {
        expect(documents.compared()).toBeGreaterThan(wanted.length / 4);
      });
  });
};

const titleOf = (it: Case): string => `${it.rule} ${it.id}: ${it.note ?? it.request?.path ?? ''}`.slice(0, 160);
