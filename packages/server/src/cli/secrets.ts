/** The secrets of v4's environment that the server needs. Missing ones are generated, but never in production. */
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Secrets } from '../site/site.js';
import { type Environment, StartFault } from './config.js';

export const secretNames = ['JWT_SECRET', 'API_TOKEN_SALT', 'ADMIN_JWT_SECRET'] as const;
type Name = (typeof secretNames)[number];

export const newSecret = (): string => crypto.randomBytes(32).toString('base64');

/** The placeholders in v4's `.env.example`. */
const placeholder = /^"?tobemodified/i;

const SECRET_CHARACTERS_MIN = 16;

/** Short, or the same few characters over and over. */
const isGuessable = (secret: string): boolean => secret.length < SECRET_CHARACTERS_MIN || new Set(secret).size < 6;

/**
 * @param say called with a message about what was written, never with the secrets.
 * @param withAdmins whether administrators sign in; their secret is not asked for otherwise.
 */
export const readSecrets = (
  projectDir: string,
  env: Environment,
  say: (text: string) => void,
  { withAdmins = false } = {},
): Secrets => {
  const needed = secretNames.filter((it) => withAdmins || it !== 'ADMIN_JWT_SECRET');
  const isMissing = (name: Name): boolean =>
    env[name] === undefined ||
    (env.NODE_ENV === 'production' && (env[name].trim() === '' || placeholder.test(env[name])));
  const missing = needed.filter(isMissing);
  const made: Partial<Record<Name, string>> = {};
  if (missing.length > 0) {
    if (env.NODE_ENV === 'production')
      throw new StartFault(
        `${listOf(missing)} ${missing.length === 1 ? 'is' : 'are'} missing. Production needs secrets of its own: set ${missing.length === 1 ? 'it' : 'them'} in the environment, or in .env of the project's folder. If Strapi v4 serves or served this database, use the same values.`,
      );
    for (const name of missing) made[name] = newSecret();
    const file = path.join(projectDir, '.env');
    append(file, missing.map((name) => `${name}=${made[name]}\n`).join(''));
    ignoreFiles(projectDir);
    say(`secrets: generated ${listOf(missing)} in ${file}`);
  }
  const signing = [
    { name: 'JWT_SECRET', who: 'user' },
    ...(withAdmins ? [{ name: 'ADMIN_JWT_SECRET', who: 'administrator' } as const] : []),
  ] as const;
  for (const { name, who } of signing)
    if (env.NODE_ENV === 'production' && isGuessable(env[name] ?? ''))
      throw new StartFault(
        `${name} is too easy to guess: anyone who guesses it can log in as any ${who}. Use ${SECRET_CHARACTERS_MIN} random characters or more, such as: ${newSecret()}`,
      );
  const secret = (name: Name): string => made[name] ?? env[name] ?? '';
  return {
    jwtSecret: secret('JWT_SECRET'),
    apiTokenSalt: secret('API_TOKEN_SALT'),
    adminJwtSecret: withAdmins ? secret('ADMIN_JWT_SECRET') : null,
  };
};

/** `A, B and C`. */
const listOf = (names: readonly string[]): string => names.join(', ').replace(/, ([^,]*)$/, ' and $1');

/** Appends to the file, whose last line may lack a line break. A new file is readable only by its owner. */
const append = (file: string, lines: string): void => {
  const before = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
  try {
    fs.appendFileSync(file, `${before === '' || before.endsWith('\n') ? '' : '\n'}${lines}`, { mode: 0o600 });
  } catch (fault) {
    throw new StartFault(
      `${file} cannot be written: ${(fault as Error).message}\nSet ${listOf(secretNames)} in the environment.`,
    );
  }
};

/** As in the templates of `init`: backups, and what a restore put aside, are content too. */
const ignored = '.env\n.tmp/\nnode_modules/\nbackup-*.db*\nbackup-*.dump\n*.before-restore-*\n';

/** Keeps the secrets, database and backups of a new project out of git. An existing `.gitignore` is left as it is. */
const ignoreFiles = (projectDir: string): void => {
  const file = path.join(projectDir, '.gitignore');
  if (!fs.existsSync(file)) fs.writeFileSync(file, ignored);
};
