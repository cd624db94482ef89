/** A server over a database, called in-process: the complete HTTP stack, without a port. */
import os from 'node:os';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { expect } from 'vitest';
import { type MailSender, noMail } from '../../src/accounts/mail.js';
import type { NotifierOptions } from '../../src/events/notifier.js';
import type { HandlersByType } from '../../src/handlers/load.js';
import { newServer, type ServerDeps, type ServerSettings } from '../../src/http/server.js';
import { limits } from '../../src/limits.js';
import { newLocalStore } from '../../src/media/local-store.js';
import type { MediaOptions } from '../../src/media/media.js';
import type { Model } from '../../src/model/model.js';
import type { EntryCounts } from '../../src/read/entries.js';
import type { KeptCounts } from '../../src/read/kept.js';
import { newSite, type Site, type SiteSettings } from '../../src/site/site.js';
import type { Db } from '../../src/sql/dialect.js';
import type { HooksOf } from '../../src/write/request.js';
import { injectInto } from './inject.js';

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
  /** Waits for background work. */
  idle(): Promise<void>;
  /** How often cached responses were found so far. */
  kept(): KeptCounts;
  /** The same of kept entries. */
  keptEntries(): EntryCounts;
  close(): Promise<void>;
}

export type TestSettings = ServerSettings & SiteSettings;

export const defaultSettings: TestSettings = {
  prefix: '/api',
  rest: { defaultLimit: 25, maxLimit: 100, withCount: true },
  strict: true,
  corsOrigin: true,
  uploadsDir: null,
  trustProxy: false,
  attemptsMax: 0,
};

export interface TestSecrets {
  readonly jwtSecret: string;
  readonly apiTokenSalt: string;
  readonly adminJwtSecret: string | null;
}

/** Secrets of every test server that is given none. */
export const secrets: TestSecrets = {
  jwtSecret: 'secret of the tests',
  apiTokenSalt: 'salt of the tests',
  adminJwtSecret: 'another secret of the tests',
};

export interface TestPeople {
  readonly mail?: MailSender;
  readonly mode?: 'roles' | 'open';
  /** Milliseconds since 1970 UTC. */
  readonly now?: () => number;
  /** Called with background errors; by default they fail the test. */
  readonly onFault?: (fault: unknown) => void;
  /** A project's handlers and hooks by type. */
  readonly handlers?: HandlersByType;
  /** Hooks around writes, beside those of the handlers. */
  readonly hooks?: HooksOf;
  /** Milliseconds that a hook may take. */
  readonly hookMsMax?: number | undefined;
  /** Milliseconds that a handler's own code may take. */
  readonly handlerMsMax?: number | undefined;
  /** Memory for kept entries; 0 keeps none. */
  readonly entriesBytesMax?: number | undefined;
  readonly secrets?: TestSecrets;
  readonly environment?: 'development' | 'production';
  /** How webhooks are sent, once `site.notifier` is started. */
  readonly webhooks?: NotifierOptions;
  /** Where uploads are kept; by default below `uploadsDir`, as in a project. */
  readonly media?: Partial<MediaOptions>;
}

/** As in a project with that folder; without one, nothing is there until something is uploaded. */
const mediaIn = (uploadsDir: string | null): MediaOptions => {
  const dir = uploadsDir ?? path.join(os.tmpdir(), `dovetail-no-uploads-${process.pid}`, 'public/uploads');
  return {
    store: newLocalStore(dir),
    workDir: path.join(dir, '../../.tmp/uploads'),
    bounds: { fileBytesMax: limits.formFileBytesMax, msMax: limits.formMsMax, stalledMsMax: limits.formStalledMsMax },
  };
};

const rethrow = (fault: unknown): void => {
  throw fault;
};

/** Everything that a server needs, over a database; without a log. */
export const newTestDeps = (
  db: Db,
  model: Model,
  given: Partial<TestSettings> = {},
  responseCacheBytesMax?: number,
  {
    mail = noMail,
    mode = 'roles',
    onFault = rethrow,
    handlers = new Map(),
    secrets: own = secrets,
    media,
    ...people
  }: TestPeople = {},
): ServerDeps => {
  const settings = { ...defaultSettings, ...given };
  const site = newSite({
    db,
    model,
    handlers,
    settings,
    secrets: own,
    jwtLifetimeMs: 30 * 24 * 60 * 60 * 1000,
    mode,
    mail,
    media: { ...mediaIn(settings.uploadsDir), ...media },
    apiUrl: `http://localhost${settings.prefix}`,
    responseCacheBytesMax,
    onFault,
    ...people,
  });
  return { site, settings, logger: pino({ level: 'silent' }), isHealthy: db.isHealthy };
};

export const newTestServer = async (
  db: Db,
  model: Model,
  settings: Partial<TestSettings> = {},
  responseCacheBytesMax?: number,
  people: TestPeople = {},
): Promise<TestServer> => {
  const deps = newTestDeps(db, model, settings, responseCacheBytesMax, people);
  return testServerOf(await newServer(deps), deps.site);
};

export const testServerOf = async (app: FastifyInstance, site: Site): Promise<TestServer> => {
  await app.ready();
  const send: TestServer['send'] = async (method, url, { body, headers } = {}) => {
    const answer = await injectInto(app, {
      method: method as 'GET',
      url,
      ...(body === undefined
        ? {}
        : { payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    });
    let parsed: unknown = answer.payload === '' ? null : answer.payload;
    try {
      parsed = answer.payload === '' ? null : JSON.parse(answer.payload);
    } catch {
      // plain text is kept as text
    }
    return { status: answer.statusCode, headers: answer.headers, body: parsed, text: answer.payload };
  };
  return {
    get: (url, headers) => send('GET', url, headers ? { headers } : {}),
    send,
    idle: () => site.accounts.idle(),
    kept: () => ({ ...site.reader.keptCounts }),
    keptEntries: () => ({ ...site.reader.entryCounts }),
    close: () => app.close(),
  };
};

interface ErrorAnswer {
  readonly status: number;
  readonly name: string;
  readonly message: string;
  readonly errors: readonly { readonly path: readonly string[]; readonly message: string; readonly code: string }[];
}

/** The content of a response that must be an error envelope (ER1) with a status below 500. */
export const errorOf = ({ status, body, text }: TestAnswer): ErrorAnswer => {
  const { data, error } = (body ?? {}) as {
    data?: unknown;
    error?: Omit<ErrorAnswer, 'errors'> & { readonly details: { readonly errors?: ErrorAnswer['errors'] } };
  };
  if (status < 400 || status >= 500 || data !== null || error?.status !== status)
    throw new Error(`not a refusal: ${status} ${text.slice(0, 500)}`);
  return { status, name: error.name, message: error.message, errors: error.details.errors ?? [] };
};

/** The error envelope of one fault (ER1); without a path, of the whole request. */
export const refusal = (
  status: number,
  name: string,
  message: unknown,
  { path = [], code = expect.any(String) as unknown }: { path?: readonly string[]; code?: unknown } = {},
): unknown => ({
  data: null,
  error: { status, name, message, details: { errors: [{ path, message, name, code }] } },
});
