/** Callers and accounts of a project, put together for the server and for the commands. */
import type { FastifyBaseLogger } from 'fastify';
import { type Callers, newCallers } from '../access/caller.js';
import { newJwts } from '../access/jwt.js';
import { newPermissionStore } from '../access/permissions.js';
import type { AccountDeps } from '../accounts/account.js';
import { MailFault, type MailSender, newSmtpMail, newToldMail, noMail } from '../accounts/mail.js';
import type { Reader } from '../read/find.js';
import type { Db } from '../sql/dialect.js';
import type { Writer } from '../write/apply.js';
import type { Project } from './project.js';
import type { Secrets } from './secrets.js';

export interface People {
  readonly callers: Callers;
  readonly deps: AccountDeps;
}

export interface PeopleDeps {
  readonly project: Project;
  readonly secrets: Secrets;
  readonly db: Db;
  readonly reader: Reader;
  readonly writer: Writer;
  readonly settings: AccountDeps['settings'];
  readonly logger: FastifyBaseLogger;
}

export const gatherPeople = ({ project, secrets, db, reader, writer, settings, logger }: PeopleDeps): People => {
  const { config, env, model } = project;
  const now = Date.now;
  const jwts = newJwts({ secret: secrets.jwtSecret, lifetimeMs: config.users.jwtDays * 24 * 60 * 60 * 1000, now });
  const permissions = newPermissionStore(db, () => performance.now());
  const onFault = (fault: unknown): void =>
    logger.error(
      { err: fault },
      fault instanceof MailFault ? fault.message : 'accounts: something beside an answer failed',
    );
  const callers = newCallers({
    db,
    permissions,
    jwts,
    apiTokenSalt: secrets.apiTokenSalt,
    now,
    mode: config.permissions.enabled ? 'roles' : 'open',
    onFault,
  });
  const { rest, strict, defaultLocale } = settings;
  const deps: AccountDeps = {
    db,
    model,
    reader,
    writer,
    callers,
    permissions,
    jwts,
    mail: mailFor(project, logger),
    settings: { rest, strict, defaultLocale },
    apiUrl: `${(config.server.url ?? `http://${env.HOST}:${env.PORT}`).replace(/\/$/, '')}${config.api.rest.prefix}`,
    now,
    onFault,
  };
  return { callers, deps };
};

/** Mails leave when a mail server is named. Without one, development reads them in the log. */
const mailFor = ({ config, env }: Project, logger: FastifyBaseLogger): MailSender => {
  if (env.SMTP_HOST !== undefined)
    return newSmtpMail({
      host: env.SMTP_HOST,
      port: env.SMTP_PORT,
      username: env.SMTP_USERNAME ?? null,
      password: env.SMTP_PASSWORD ?? null,
      from: config.mail.from,
    });
  if (env.NODE_ENV === 'production') return noMail;
  return newToldMail(({ to, subject, text }) =>
    logger.info({ to, subject, text }, 'mail: not sent, because SMTP_HOST is not set'),
  );
};

/** Loud, whatever the log level is. */
export const sayWhoMay = ({ config }: Project, logger: FastifyBaseLogger): void => {
  if (config.permissions.enabled) return;
  const line = '!'.repeat(78);
  process.stderr.write(
    `\n${line}\n!! PERMISSIONS ARE SWITCHED OFF (permissions.enabled: false).\n!! Everybody who reaches this server may read, change and delete all content.\n${line}\n\n`,
  );
  logger.warn('permissions are switched off: everybody may read, change and delete all content');
};
