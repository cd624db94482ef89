/** The two secrets of v4's environment that the content API needs. Missing ones are made for development, never for production. */
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Secrets } from '../site/site.js';
import { type Environment, StartFault } from './config.js';

const names = ['JWT_SECRET', 'API_TOKEN_SALT'] as const;
type Name = (typeof names)[number];

/** What v4's `.env.example` has in their place. */
const placeholder = /^"?tobemodified/i;

const SECRET_CHARACTERS_MIN = 16;

/** @param say told what was written, never the secrets themselves. */
export const readSecrets = (projectDir: string, env: Environment, say: (text: string) => void): Secrets => {
  const isMissing = (name: Name): boolean =>
    env[name] === undefined ||
    (env.NODE_ENV === 'production' && (env[name].trim() === '' || placeholder.test(env[name])));
  const missing = names.filter(isMissing);
  const made: Partial<Record<Name, string>> = {};
  if (missing.length > 0) {
    if (env.NODE_ENV === 'production')
      throw new StartFault(
        `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing. Production needs secrets of its own: set ${missing.join(' and ')} in the environment, or in .env of the project's folder. Served beside or after Strapi v4, use the same values.`,
      );
    for (const name of missing) made[name] = crypto.randomBytes(32).toString('base64');
    const file = path.join(projectDir, '.env');
    append(file, missing.map((name) => `${name}=${made[name]}\n`).join(''));
    ignoreFiles(projectDir);
    say(`secrets: made ${missing.join(' and ')} and wrote them to ${file}`);
  }
  if (env.NODE_ENV === 'production' && (env.JWT_SECRET ?? '').length < SECRET_CHARACTERS_MIN)
    throw new StartFault(
      `JWT_SECRET is too short: whoever guesses it signs in as anybody. Use ${SECRET_CHARACTERS_MIN} characters or more, such as: ${crypto.randomBytes(32).toString('base64')}`,
    );
  const secret = (name: Name): string => made[name] ?? env[name] ?? '';
  return { jwtSecret: secret('JWT_SECRET'), apiTokenSalt: secret('API_TOKEN_SALT') };
};

/** Behind the last line, which may lack its end. A new file is for its owner only. */
const append = (file: string, lines: string): void => {
  const before = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
  try {
    fs.appendFileSync(file, `${before === '' || before.endsWith('\n') ? '' : '\n'}${lines}`, { mode: 0o600 });
  } catch (fault) {
    throw new StartFault(
      `${file} cannot be written: ${(fault as Error).message}\nSet ${names.join(' and ')} in the environment.`,
    );
  }
};

/** A new project's secrets and database stay out of git. A project that has a `.gitignore` has decided. */
const ignoreFiles = (projectDir: string): void => {
  const file = path.join(projectDir, '.gitignore');
  if (!fs.existsSync(file)) fs.writeFileSync(file, '.env\n.tmp/\nnode_modules/\n');
};
