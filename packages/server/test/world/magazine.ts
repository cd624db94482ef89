/** The example magazine as `npm start` serves it, in a database of its own; `token` may do everything. */
import path from 'node:path';
import { pino } from 'pino';
import { hashToken } from '../../src/access/tokens.js';
import { prepareData } from '../../src/cli/bootstrap.js';
import { openProject } from '../../src/cli/project.js';
import { loadHandlers } from '../../src/handlers/load.js';
import type { DialectName } from '../../src/sql/dialect.js';
import { copiedDatabase, createTables, insertRows } from './databases.js';
import { newTestServer, secrets, type TestServer } from './server.js';

export const magazineDir = path.join(import.meta.dirname, '../../../../examples/magazine');
export const token = 'full-access-token';

export const newMagazine = async (dialect: DialectName): Promise<TestServer> => {
  const project = await openProject(magazineDir);
  const database = await copiedDatabase(dialect, 'magazine', async (db) => {
    const tables = await createTables(db, project.model);
    await prepareData(project, db, pino({ level: 'silent' }));
    await insertRows(db, tables.find((it) => it.name === 'strapi_api_tokens')!, [
      { name: token, type: 'full-access', access_key: hashToken(token, secrets.apiTokenSalt) },
    ]);
  });
  const handlers = await loadHandlers(magazineDir, project.model);
  const server = await newTestServer(database.db, project.model, {}, undefined, { handlers });
  return {
    ...server,
    close: async () => {
      await server.close();
      await database.drop();
    },
  };
};
