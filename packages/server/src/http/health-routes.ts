/** `GET /_dovetail/health`: the state of the server, for people who look after it (SU4). */
import fs from 'node:fs';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { KnownCaller } from '../access/caller.js';
import { issue } from '../errors.js';
import type { LastAttempt } from '../events/notifier.js';
import { countDeliveries } from '../events/outbox.js';
import { readWebhooks, urlWithoutSecrets } from '../events/webhooks.js';
import type { EntryCounts } from '../read/entries.js';
import type { KeptCounts } from '../read/kept.js';
import type { Site } from '../site/site.js';
import { type Db, readRows } from '../sql/dialect.js';
import { whoKnows } from './looking.js';
import { addPath } from './paths.js';
import { JSON_TYPE, sendIssues } from './respond.js';

export interface HealthCheck {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'fault';
  readonly message: string;
}

/** Something in a file of the project that has no effect. */
export interface IgnoredNote {
  /** Relative to the project folder. */
  readonly file: string;
  /** Place in the file; null for all of it. */
  readonly place: string | null;
  readonly message: string;
}

/** What is known of the project before anyone asks. */
export interface ProjectHealth {
  readonly mode: 'development' | 'production';
  readonly checks: readonly HealthCheck[];
  readonly ignored: readonly IgnoredNote[];
  /** Whether uploads are files of this machine. */
  readonly keepsUploads: boolean;
  /** Which of several processes this is; null or absent if it is the only one. */
  readonly worker?: { readonly number: number; readonly of: number } | null;
  /** Compares model and database; remembers for a while what it found. */
  readonly inspect?: (db: Db) => Promise<readonly HealthCheck[]>;
}

export interface HealthRouteDeps {
  readonly site: Site;
  readonly project: ProjectHealth;
  readonly version: string;
  readonly uploadsDir: string | null;
  readonly isHealthy: () => Promise<boolean>;
  /** Whether anybody may ask. */
  readonly isOpen: boolean;
}

export const HEALTH_PATH = '/_dovetail/health';

export const addHealthPath = (app: FastifyInstance, deps: HealthRouteDeps): void => {
  addPath(app, HEALTH_PATH, {
    GET: async (request, reply) => {
      const known = await whoKnows(request.headers, deps);
      if (!known.ok) return sendIssues(reply, known.issues);
      if (!mayLook(known.value, deps)) return sendIssues(reply, [issue('http.forbidden', [])]);
      const seesWebhooks = deps.isOpen || isAllowed(known.value, 'admin::webhooks.read');
      return reply
        .header('cache-control', 'no-store')
        .header('content-type', JSON_TYPE)
        .send(JSON.stringify({ data: await healthNow(deps, seesWebhooks) }));
    },
  });
};

/** The permission of v4 that is nearest: what concerns the project as a whole. */
const mayLook = (caller: KnownCaller, { isOpen }: HealthRouteDeps): boolean =>
  isOpen || isAllowed(caller, 'admin::project-settings.read');

const isAllowed = ({ rights }: KnownCaller, action: string): boolean =>
  rights !== undefined && rights.rulesOfAction(action).length > 0;

const healthNow = async ({ site, project, version, uploadsDir, isHealthy }: HealthRouteDeps, seesWebhooks: boolean) => {
  const { db, reader, notifier } = site;
  const [isReadable, engine, webhooks, inspected] = await Promise.all([
    isHealthy(),
    engineOf(db),
    seesWebhooks ? webhooksOf(db, notifier.lastAttempts) : null,
    project.inspect?.(db) ?? [],
  ]);
  const failed = webhooks?.reduce((sum, it) => sum + it.failed, 0) ?? 0;
  const checks: readonly HealthCheck[] = [
    isReadable
      ? { name: 'database', status: 'ok', message: 'it answers' }
      : { name: 'database', status: 'fault', message: 'it does not answer' },
    ...(project.keepsUploads && uploadsDir !== null ? [await uploadsCheck(uploadsDir)] : []),
    ...inspected,
    ...project.checks,
    ...(webhooks && webhooks.length > 0 ? [webhooksCheck(failed)] : []),
  ];
  const { open } = db.load();
  return {
    version,
    node: process.versions.node,
    startedAt: new Date(Date.now() - process.uptime() * 1000).toISOString(),
    mode: project.mode,
    database: {
      client: db.dialect.name,
      version: engine.version,
      name: db.place,
      bytes: engine.bytes,
      // of SQLite: what is committed and not yet in the file
      walBytes: db.dialect.name === 'sqlite' ? await journalBytesOf(db.place) : null,
    },
    process: {
      uptimeSeconds: Math.round(process.uptime()),
      memoryBytes: await ownMemory(),
      ...(db.dialect.name === 'sqlite' ? { threads: open } : { connections: open }),
      worker: project.worker ?? null,
    },
    // of this process, since it started
    kept: { responses: sharesOf(reader.keptCounts), entries: keptEntries(reader.entryCounts) },
    checks,
    webhooks,
    ignored: project.ignored,
  };
};

const sharesOf = ({ found, joined, computed }: KeptCounts) => ({ found: found + joined, made: computed });
const keptEntries = ({ found, missed }: EntryCounts) => ({ found, made: missed });

/**
 * Bytes that the process itself holds: on Linux without the pages of files that it maps, which the system takes back whenever they are needed
 * elsewhere.
 */
const ownMemory = async (): Promise<number> => {
  const status = await fs.promises.readFile('/proc/self/status', 'utf8').catch(() => '');
  const [, kib] = /^RssAnon:\s+(\d+) kB$/m.exec(status) ?? [];
  return kib === undefined ? process.memoryUsage.rss() : Number(kib) * 1024;
};

/** 0 if there is none. SQLite keeps the journal beside what a link leads to. */
const journalBytesOf = async (file: string): Promise<number> => {
  const opened = await fs.promises.realpath(file).catch(() => file);
  const { size } = await fs.promises.stat(`${opened}-wal`).catch(() => ({ size: 0 }));
  return size;
};

/** The version without the name of the engine. */
const engineOf = async (db: Db): Promise<{ readonly version: string; readonly bytes: number | null }> => {
  const [[name, bytes] = []] = await db.read(() => readRows(db.dialect.engine));
  return { version: String(name).replace(/^\S+ /, ''), bytes: bytes == null ? null : Number(bytes) };
};

const webhooksOf = async (db: Db, lastAttempts: ReadonlyMap<number, LastAttempt>) => {
  const [webhooks, counts] = await Promise.all([
    db.read(() => readWebhooks(db)),
    db.read(() => countDeliveries(db.dialect)),
  ]);
  return webhooks.map(({ id, name, url, events, enabled }) => {
    const { waiting = 0, failed = 0, lastFailure = null } = counts.get(id) ?? {};
    // deliveries that succeeded are not kept, so of those only this process knows
    const [last = null] = [lastAttempts.get(id), lastFailure].filter((it) => it != null).sort((a, b) => b.at - a.at);
    return {
      id,
      name,
      url: urlWithoutSecrets(url),
      isEnabled: enabled,
      events,
      waiting,
      failed,
      last: last && { ...last, at: new Date(last.at).toISOString() },
    };
  });
};

const webhooksCheck = (failed: number): HealthCheck =>
  failed === 0
    ? { name: 'webhooks', status: 'ok', message: 'nothing was given up' }
    : { name: 'webhooks', status: 'warning', message: `${failed} deliveries were given up: see webhook deliveries` };

/** Whether files can be written where uploads are kept, or where that folder would be made. */
const uploadsCheck = async (dir: string): Promise<HealthCheck> => {
  let existing = dir;
  while (!fs.existsSync(existing) && path.dirname(existing) !== existing) existing = path.dirname(existing);
  try {
    await fs.promises.access(existing, fs.constants.W_OK);
    return { name: 'uploads', status: 'ok', message: 'files can be written' };
  } catch {
    return { name: 'uploads', status: 'fault', message: `nothing can be written to ${existing}` };
  }
};
