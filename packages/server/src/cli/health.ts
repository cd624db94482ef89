/** What `GET /_dovetail/health` says of a project, besides what the server finds out when it is asked (SU4). */
import path from 'node:path';
import type { HealthCheck, IgnoredNote, ProjectHealth } from '../http/health-routes.js';
import type { Db } from '../sql/dialect.js';
import { outsideVariables, uselessVariables } from './config.js';
import { countOf, type Project } from './project.js';
import { verdictOf } from './v4project/code.js';
import { describeSetting } from './v4project/settings.js';
import { workerPlace } from './worker.js';

export const healthOf = (project: Project): ProjectHealth => {
  const { config, env } = project;
  const ignored = ignoredOf(project);
  return {
    mode: env.NODE_ENV === 'production' ? 'production' : 'development',
    checks: [...checksOf(project), ...(ignored.length > 0 ? [noteOf(ignored)] : [])],
    ignored,
    keepsUploads: config.upload.s3.bucket === null,
    worker: workerPlace(process.env),
    inspect: newInspection(project),
  };
};

/** Catalogs are large, and somebody who looks asks every few seconds. */
const INSPECTED_MS = 30_000;

/** What `check` says of the database, and whether plans wait to be applied. Both are loaded when somebody asks. */
const newInspection = (project: Project): NonNullable<ProjectHealth['inspect']> => {
  let last: { readonly at: number; readonly checks: Promise<readonly HealthCheck[]> } | null = null;
  return (db) => {
    const now = performance.now();
    if (last === null || now - last.at > INSPECTED_MS) last = { at: now, checks: inspect(project, db) };
    return last.checks;
  };
};

const inspect = async (project: Project, db: Db): Promise<readonly HealthCheck[]> => {
  try {
    const [{ differences }, { pendingPlans }] = await Promise.all([
      import('./commands/check.js'),
      import('./commands/migrate.js'),
    ]);
    const [found, pending] = await Promise.all([differences(project, db), pendingPlans(project.dir, db)]);
    const model = found.map((message): HealthCheck => ({ name: 'model', status: 'warning', message }));
    const plans = pending.map(({ file }) => path.relative(project.dir, file)).join(', ');
    return [
      ...(model.length > 0 ? model : [ok('model', 'model and database agree')]),
      pending.length === 0
        ? ok('migrations', 'no plan waits to be applied')
        : {
            name: 'migrations',
            status: 'warning',
            message: `${plans} ${pending.length === 1 ? 'is' : 'are'} not applied: run dovetail migrate apply`,
          },
    ];
  } catch (fault) {
    return [
      { name: 'model', status: 'fault', message: `it cannot be compared with the database: ${messageOf(fault)}` },
    ];
  }
};

const ok = (name: string, message: string): HealthCheck => ({ name, status: 'ok', message });
const messageOf = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault));

const noteOf = (ignored: readonly IgnoredNote[]): HealthCheck => ({
  name: 'project',
  status: 'warning',
  message: `${countOf(ignored.length, 'thing')} in the project's files ${ignored.length === 1 ? 'has' : 'have'} no effect, or another one than in v4`,
});

const checksOf = ({ config, env }: Project): readonly HealthCheck[] => {
  const isProduction = env.NODE_ENV === 'production';
  const check = (name: string, isRight: boolean, right: string, wrong: string): HealthCheck =>
    isRight ? { name, status: 'ok', message: right } : { name, status: 'warning', message: wrong };
  return [
    check(
      'permissions',
      config.permissions.enabled,
      'roles and tokens decide who may',
      'permissions are switched off: anyone may read, change and delete all content',
    ),
    check(
      'queries',
      config.api.strict,
      'a request that would be answered only in part is refused',
      'api.strict is false: parts of requests that v4 ignores are ignored, and named in the header Dovetail-Ignored',
    ),
    ...(isProduction
      ? [
          check(
            'address',
            config.server.url !== null,
            `clients see the server at ${config.server.url}`,
            `server.url is not set: links in e-mails begin with http://${env.HOST}:${env.PORT}`,
          ),
          check(
            'mail',
            env.SMTP_HOST !== undefined,
            'e-mails are sent',
            'SMTP_HOST is not set: e-mails, such as those for new passwords, are discarded',
          ),
        ]
      : []),
  ];
};

const ignoredOf = ({ dir, env, warnings, code, v4 }: Project): readonly IgnoredNote[] => [
  ...warnings.map(({ file, place, message }) => ({ file, place: place === '' ? null : place, message })),
  ...code
    .map((it) => ({ file: it.file, ...verdictOf(it) }))
    .filter((it) => it.verdict === 'not run')
    .map(({ file, why }) => ({ file, place: null, message: `not run: ${why}` })),
  ...v4.settings
    .filter((it) => it.verdict === 'not supported')
    .map((it) => ({
      file: `config/${it.v4Name.split('.')[0]}`,
      place: it.v4Name.split('.').slice(1).join('.') || null,
      message: `not supported: ${describeSetting(it)}`,
    })),
  ...uselessVariables(dir, outsideVariables(), env).map((it) => ({ ...it, place: null })),
];
