/** A server of a v4 project in this process, made as `start` makes it. */
import http from 'node:http';
import { type Logger, pino } from 'pino';
import { bringUp, storedProject } from '../../src/cli/layout.js';
import { loadProjectHandlers, openDatabase, openProject, type Project } from '../../src/cli/project.js';
import { readSecrets } from '../../src/cli/secrets.js';
import { hasStudio, serverSettingsOf, siteToServe } from '../../src/cli/site.js';
import { refuseGuards } from '../../src/cli/v4project/code.js';
import { bindCode, loadProjectCode } from '../../src/cli/v4project/running-code.js';
import { newServer } from '../../src/http/server.js';
import type { Site } from '../../src/site/site.js';

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: http.IncomingHttpHeaders;
}

export interface CodeServer {
  readonly project: Project;
  readonly site: Site;
  readonly base: string;
  /** The path is sent as it is written; a body is JSON unless the headers say otherwise. */
  ask(path: string, asked?: Asked): Promise<Answered>;
  close(): Promise<void>;
}

/** The environment is that of the process. */
export const serveProject = async (
  dir: string,
  { logger = pino({ level: 'silent' }) }: { readonly logger?: Logger } = {},
): Promise<CodeServer> => {
  const opened = await openProject(dir);
  refuseGuards(opened.code, opened.config.project);
  const loaded = await loadProjectCode(opened);
  const secrets = await readSecrets(dir, opened.env, () => undefined, { withAdmins: hasStudio(opened) });
  const db = await openDatabase(opened);
  const bound = await bindCode(await storedProject(opened, db), loaded, { secrets, db, logger });
  await bringUp(opened, db, logger);
  const { project } = bound;
  const { code } = bound;
  const handlers = await loadProjectHandlers(project);
  const site = await siteToServe({ project, db, secrets, handlers, code, logger });
  const settings = serverSettingsOf(project, bound.code);
  const app = await newServer({ site, code: bound.code, settings, logger, isHealthy: async () => true });
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  bound.code?.runTasks();
  const agent = new http.Agent({ keepAlive: true });
  return {
    project,
    site,
    base,
    ask: (path, { method = 'GET', headers = {}, body } = {}) =>
      new Promise((resolve, reject) => {
        const own = body === undefined ? headers : { 'content-type': 'application/json', ...headers };
        const request = http.request(base, { method, path, agent, headers: own }, (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () =>
            resolve({
              status: response.statusCode!,
              text: Buffer.concat(chunks).toString(),
              headers: response.headers,
            }),
          );
          response.on('error', reject);
        });
        request.on('error', reject);
        request.end(body);
      }),
    close: async () => {
      agent.destroy();
      await app.close();
      await bound.code?.stop();
      await db.close();
    },
  };
};
