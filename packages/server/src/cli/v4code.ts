/** The code of a v4 project, bound to the database and the settings that it runs with. */
import fs from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import type { FastifyBaseLogger } from 'fastify';
import type { Secrets } from '../site/site.js';
import type { Db } from '../sql/dialect.js';
import type { BoundCode } from '../v4code/code.js';
import type { CodeConfig } from '../v4code/config.js';
import { type Config, StartFault } from './config.js';
import type { Project } from './project.js';
import { mailFor } from './site.js';

interface CodeGiven {
  readonly secrets: Secrets;
  readonly db: Db;
  readonly logger: FastifyBaseLogger;
}

/** Undefined if the configuration does not run it. The project comes back with what `config/` of v4 says. */
export const bindCode = async (
  project: Project,
  { secrets, db, logger }: CodeGiven,
): Promise<{ readonly code: BoundCode | undefined; readonly project: Project }> => {
  const { dir, model, env } = project;
  if (!project.config.project.runCode) return { code: undefined, project };
  const { loadCode } = await import('../v4code/code.js');
  const { CodeFault } = await import('../v4code/load.js');
  const file = path.join(dir, '.env');
  const inside = fs.existsSync(file) ? parseEnv(fs.readFileSync(file, 'utf8')) : {};
  try {
    const loaded = await loadCode({
      dir,
      variables: { ...inside, ...process.env },
      environment: env.NODE_ENV ?? 'development',
    });
    const config = withV4Config(project.config, loaded.config);
    const code = await loaded.bind({
      db,
      model,
      mail: mailFor(project, logger),
      log: logger,
      rest: config.api.rest,
      prefix: config.api.rest.prefix,
      jwtSecret: secrets.jwtSecret,
      jwtSeconds: config.users.jwtDays * 24 * 60 * 60,
    });
    return { code, project: { ...project, config } };
  } catch (fault) {
    throw fault instanceof CodeFault ? new StartFault(fault.message) : fault;
  }
};

/** The settings of `config/` that the server has too. */
const withV4Config = (config: Config, given: CodeConfig): Config => {
  const number = (at: string, otherwise: number): number => {
    const value = given.get(at);
    return typeof value === 'number' ? value : otherwise;
  };
  const { rest } = config.api;
  return {
    ...config,
    api: {
      ...config.api,
      rest: {
        ...rest,
        prefix: prefixOf(given.get('api.rest.prefix')) ?? rest.prefix,
        defaultLimit: number('api.rest.defaultLimit', rest.defaultLimit),
        maxLimit: rest.maxLimit === null ? null : number('api.rest.maxLimit', rest.maxLimit),
        withCount: given.get('api.rest.withCount', rest.withCount) === true,
      },
    },
    users: {
      ...config.users,
      jwtDays: daysOf(given.get('plugin.users-permissions.jwt.expiresIn')) ?? config.users.jwtDays,
    },
  };
};

const prefixOf = (given: unknown): string | null =>
  typeof given === 'string' && /^\/[\w/-]*\w$/.test(given) ? given : null;

const daysOf = (given: unknown): number | null => {
  if (typeof given === 'number') return given / 86_400;
  const [, count, unit] = /^(\d+) ?(s|m|h|d|w|y)?/.exec(String(given ?? '')) ?? [];
  const days = { s: 1 / 86_400, m: 1 / 1440, h: 1 / 24, d: 1, w: 7, y: 365.25 }[unit ?? 's'];
  return count === undefined || days === undefined ? null : Number(count) * days;
};
