/** Creates the site of a project, and the settings of its server, from configuration and environment. */
import { createRequire } from 'node:module';
import path from 'node:path';
import type { FastifyBaseLogger } from 'fastify';
import type { IsServed } from '../access/permissions.js';
import { MailFault } from '../accounts/mail.js';
import { errorEnvelope, never, Refusal } from '../errors.js';
import type { Outcome } from '../events/outbox.js';
import { urlWithoutSecrets, type Webhook } from '../events/webhooks.js';
import type { HandlersByType } from '../handlers/load.js';
import type { ServerSettings } from '../http/server.js';
import { STUDIO_PATH, type StudioSettings } from '../http/studio-files.js';
import { limits } from '../limits.js';
import { newLocalStore } from '../media/local-store.js';
import { MissingPackage, newS3Store } from '../media/s3-store.js';
import type { Store } from '../media/store.js';
import { newSite, type Secrets, type Site } from '../site/site.js';
import type { Db } from '../sql/dialect.js';
import type { BoundCode } from '../v4code/code.js';
import type { Config, Environment } from './config.js';
import { healthOf } from './health.js';
import { mailFor } from './mail.js';
import type { Project } from './project.js';
import { StartFault } from './start-fault.js';
import { unservedActions } from './v4project/code.js';

const { version } = createRequire(import.meta.url)('dovetail/package.json') as { readonly version: string };

export interface ProjectSiteOptions {
  readonly project: Project;
  readonly db: Db;
  readonly secrets: Secrets;
  readonly handlers: HandlersByType;
  /** Of a v4 project. */
  readonly code?: BoundCode | undefined;
  readonly logger: FastifyBaseLogger;
  /** Bytes of cached responses. */
  readonly responseCacheBytesMax: number;
  /** Bytes of kept entries. */
  readonly entriesBytesMax: number;
}

/** The site of a project as a server serves it, with as much memory for responses and entries as is configured. */
export const siteToServe = (
  given: Omit<ProjectSiteOptions, 'responseCacheBytesMax' | 'entriesBytesMax'>,
): Promise<Site> => {
  const { answersMb, entriesMb } = given.project.config.memory;
  return siteOf({
    ...given,
    responseCacheBytesMax: Math.round(answersMb * 1024 * 1024 * (1 - limits.compressedShare)),
    entriesBytesMax: Math.round(entriesMb * 1024 * 1024),
  });
};

/** Where the package keeps the built Studio, seen from the bundle and from the sources. */
const studioDir = path.join(
  path.dirname(createRequire(import.meta.url).resolve('dovetail/package.json')),
  'dist/studio',
);

/** Whether the Studio is on: in production only if the configuration says so (SU6). */
export const hasStudio = ({ config, env }: Pick<Project, 'config' | 'env'>): boolean =>
  config.studio ?? env.NODE_ENV !== 'production';

/** Null if it is off, or if the content API has its path. */
const studioSettingsOf = ({ config, env }: Pick<Project, 'config' | 'env'>): StudioSettings | null => {
  const { url } = config.server;
  const { bucket, publicUrl, endpoint } = config.upload.s3;
  if (!hasStudio({ config, env }) || takesStudioPath(config)) return null;
  const stores = bucket === null ? [] : [publicUrl, endpoint].filter((it) => it !== null);
  return {
    dir: studioDir,
    basePath: url === null ? '' : new URL(url).pathname.replace(/\/+$/, ''),
    mediaOrigins: [...new Set(stores.map((it) => new URL(it).origin))].filter((it) => !it.startsWith('https:')),
  };
};

/** The URL of the server, as clients see it. @param port that it listens at. */
export const addressOf = ({ config, env }: Pick<Project, 'config' | 'env'>, port: number): string =>
  config.server.url?.replace(/\/+$/, '') ?? `http://${env.HOST}:${port}`;

/**
 * Where to open the Studio: at this machine, as the public address may lead nowhere yet, and there. One with a path is alone: the pages
 * know no other.
 */
export const studioAddressesOf = (
  { config, env }: { readonly config: Pick<Config, 'server'>; readonly env: Pick<Environment, 'HOST'> },
  port: number,
): readonly string[] => {
  const isEverywhere = ['0.0.0.0', '::'].includes(env.HOST);
  const local = `http://${isEverywhere ? 'localhost' : env.HOST}:${port}`;
  const { url } = config.server;
  if (url === null) return [local];
  const given = url.replace(/\/+$/, '');
  return new URL(url).pathname === '/' && given !== local ? [local, given] : [given];
};

export const takesStudioPath = ({ api }: Project['config']): boolean =>
  `${api.rest.prefix.toLowerCase()}/`.startsWith(`${STUDIO_PATH}/`);

/** What the server serves under `/uploads`, and where v4 keeps its files. */
export const uploadsDirOf = (dir: string): string => path.join(dir, 'public/uploads');

/** Whether a router of a project whose code does not run leads to an action; undefined if they leave out none. */
export const isServedBy = ({ code }: Pick<Project, 'code'>): IsServed | undefined => {
  const left = new Set([...unservedActions(code)].flatMap(([uid, actions]) => actions.map((it) => `${uid}.${it}`)));
  return left.size === 0 ? undefined : (action) => !left.has(action);
};

export const serverSettingsOf = (project: Project, code?: BoundCode): ServerSettings => {
  const { dir, config, env, code: files, v4 } = project;
  const { origin } = config.cors;
  return {
    prefix: config.api.rest.prefix,
    corsOrigin: code && v4.asksOrigin ? 'asked' : origin === '*' || origin,
    cors: config.cors,
    securityHeaders: config.server.securityHeaders,
    bodyBytesMax: config.server.bodyBytesMax,
    uploadsDir: uploadsDirOf(dir),
    publicUrl: config.server.url?.replace(/\/+$/, '') ?? null,
    studio: studioSettingsOf({ config, env }),
    isModelOpen: env.NODE_ENV !== 'production' && hasStudio({ config, env }),
    version,
    health: healthOf(project),
    trustProxy: config.server.trustProxy,
    attemptsMax: config.users.attemptsMax,
    attemptsMs: Math.round(config.users.attemptsMinutes * 60_000),
    unserved: code ? code.table.unserved : unservedActions(files),
    cookieKeys: code?.cookieKeys ?? [],
    compressedBytesMax: Math.round(config.memory.answersMb * 1024 * 1024 * limits.compressedShare),
  };
};

export const siteOf = async ({ project, logger, code, ...given }: ProjectSiteOptions): Promise<Site> => {
  const { config, env, model } = project;
  const { rest, strict } = config.api;
  return newSite({
    ...given,
    hooks: code?.hooks,
    listeners: code?.listeners,
    userReads: code?.userReads,
    rawCodes: code?.rawCodes,
    isServed: code ? code.table.isServed : isServedBy(project),
    ownActions: code?.table.actions,
    model,
    settings: { rest, strict },
    jwtLifetimeMs: Math.round(config.users.jwtDays * 24 * 60 * 60 * 1000),
    registerFields: config.users.registerFields,
    mode: config.permissions.enabled ? 'roles' : 'open',
    environment: env.NODE_ENV === 'production' ? 'production' : 'development',
    mail: mailFor(project, logger),
    media: {
      store: await storeFor(project),
      workDir: path.join(project.dir, '.tmp/uploads'),
      bounds: {
        fileBytesMax: config.upload.sizeLimit,
        msMax: limits.formMsMax,
        stalledMsMax: limits.formStalledMsMax,
      },
      onKept: (file) => logger.warn(file, 'the content of a deleted or replaced file remains with its provider'),
    },
    webhooks: {
      defaultHeaders: config.webhooks.defaultHeaders,
      signingKey: signingKeyOf(env),
      onOutcome: (outcome, webhook) => logOutcome(outcome, webhook, logger),
    },
    apiUrl: `${(config.server.url ?? `http://${env.HOST}:${env.PORT}`).replace(/\/$/, '')}${rest.prefix}`,
    onFault: (fault) => logBackgroundFault(fault, logger),
  });
};

/** Errors of work that no request waits for. */
const logBackgroundFault = (fault: unknown, logger: FastifyBaseLogger): void => {
  // no fault of the server: the database is away, or a disk is full
  if (fault instanceof Refusal && errorEnvelope(fault.issues).status === 503)
    logger.warn(`background work failed: ${(fault.cause as Partial<Error> | undefined)?.message ?? fault.message}`);
  else logger.error({ err: fault }, fault instanceof MailFault ? fault.message : 'background error');
};

/** The form of Standard Webhooks. */
const signingKeyOf = ({ WEBHOOK_SECRET: secret }: Project['env']): Buffer | null => {
  if (secret === undefined) return null;
  const [, text] = /^whsec_([A-Za-z0-9+/]{32,}={0,2})$/.exec(secret) ?? [];
  if (text === undefined)
    throw new StartFault(
      'environment: WEBHOOK_SECRET: expected whsec_ and at least 24 bytes in base64, as `echo whsec_$(openssl rand -base64 32)` prints',
    );
  return Buffer.from(text, 'base64');
};

const logOutcome = (outcome: Outcome, { id, name, url }: Webhook, logger: FastifyBaseLogger): void => {
  const { event, message, attempt } = outcome.delivery;
  const facts = { webhook: { id, name, url: urlWithoutSecrets(url) }, event, message, attempt };
  switch (outcome.kind) {
    case 'delivered':
      logger.debug(facts, 'webhook: delivered');
      return;
    case 'again': {
      const dueAt = new Date(outcome.dueAt).toISOString();
      logger.warn({ ...facts, fault: outcome.fault, dueAt }, 'webhook: not delivered, tried again later');
      return;
    }
    case 'given up':
      logger.error({ ...facts, fault: outcome.fault }, 'webhook: given up; see webhook deliveries, and webhook retry');
      return;
    default:
      never(outcome);
  }
};

const storeFor = async ({ dir, config, env }: Project): Promise<Store> => {
  const { bucket, ...s3 } = config.upload.s3;
  if (bucket === null) return newLocalStore(uploadsDirOf(dir));
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: token } = env;
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined))
    throw new StartFault(
      'environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together, and one is missing',
    );
  const credentials =
    accessKeyId === undefined || secretAccessKey === undefined
      ? null
      : { accessKeyId, secretAccessKey, ...(token === undefined ? {} : { sessionToken: token }) };
  try {
    return await newS3Store({ bucket, ...s3, credentials });
  } catch (fault) {
    throw fault instanceof MissingPackage ? new StartFault(fault.message) : fault;
  }
};
