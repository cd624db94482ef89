/** A server over a database, asked in-process: the whole HTTP stack, no port. */
import { pino } from 'pino';
import { newPermissionStore } from '../../src/access/permissions.js';
import { newServer, type ServerSettings } from '../../src/http/server.js';
import type { Model } from '../../src/model/model.js';
import { newReader } from '../../src/read/find.js';
import type { Db } from '../../src/sql/dialect.js';
import { newWriter } from '../../src/write/apply.js';

export interface TestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  /** Parsed JSON; the text where it is none; null for an empty body. */
  readonly body: unknown;
  readonly text: string;
}

export interface TestServer {
  get(url: string, headers?: Record<string, string>): Promise<TestAnswer>;
  send(
    method: string,
    url: string,
    options?: { body?: unknown; headers?: Record<string, string> },
  ): Promise<TestAnswer>;
  close(): Promise<void>;
}

export const defaultSettings: ServerSettings = {
  prefix: '/api',
  rest: { defaultLimit: 25, maxLimit: 100, withCount: true },
  strict: true,
  defaultLocale: 'en',
  corsOrigin: true,
  uploadsDir: null,
  trustProxy: false,
};

export const newTestServer = async (
  db: Db,
  model: Model,
  settings: Partial<ServerSettings> = {},
  answersBytesMax?: number,
): Promise<TestServer> => {
  const reader = newReader(db, answersBytesMax === undefined ? {} : { answersBytesMax });
  const app = await newServer({
    model,
    reader,
    writer: newWriter(db, reader, Date.now),
    permissions: newPermissionStore(db, () => performance.now()),
    handlers: new Map(),
    logger: pino({ level: 'silent' }),
    settings: { ...defaultSettings, ...settings },
  });
  await app.ready();
  const send: TestServer['send'] = async (method, url, { body, headers } = {}) => {
    const answer = await app.inject({
      method: method as 'GET',
      url,
      ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    });
    let parsed: unknown = answer.payload === '' ? null : answer.payload;
    try {
      parsed = answer.payload === '' ? null : JSON.parse(answer.payload);
    } catch {
      // plain text stays text
    }
    return { status: answer.statusCode, headers: answer.headers, body: parsed, text: answer.payload };
  };
  return { get: (url, headers) => send('GET', url, headers ? { headers } : {}), send, close: () => app.close() };
};
