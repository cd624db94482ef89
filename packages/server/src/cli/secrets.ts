/** The secrets of v4's environment that the server needs. A start generates missing ones, but never in production. */
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { enumerated } from '../errors.js';
import type { Secrets } from '../site/site.js';
import {
  definedIn,
  type Environment,
  environmentFile,
  outsideVariables,
  secretNames,
  variablesInFile,
} from './config.js';
import { StartFault } from './start-fault.js';

type Name = (typeof secretNames)[number];

export const newSecret = (): string => crypto.randomBytes(32).toString('base64');

/** The placeholders in v4's `.env.example`. */
const placeholder = /^"?tobemodified/i;

const SECRET_CHARACTERS_MIN = 16;

/** Short, or the same few characters over and over. */
const isGuessable = (secret: string): boolean => secret.length < SECRET_CHARACTERS_MIN || new Set(secret).size < 6;

/** A secret with which a start in production is refused. */
export interface UnfitSecret {
  readonly name: Name;
  readonly why: 'missing' | 'a placeholder' | 'too easy to guess';
}

interface SecretsAsked {
  /** Whether administrators sign in; their secret is not asked for otherwise. */
  readonly withAdmins?: boolean;
}

const needed = ({ withAdmins = false }: SecretsAsked): readonly Name[] =>
  secretNames.filter((it) => withAdmins || it !== 'ADMIN_JWT_SECRET');

/** Those of the environment with which a start in production is refused. */
export const unfitSecrets = (
  env: Readonly<Partial<Record<Name, string | undefined>>>,
  asked: SecretsAsked,
): readonly UnfitSecret[] =>
  needed(asked).flatMap((name): readonly UnfitSecret[] => {
    const value = env[name]?.trim() ?? '';
    if (value === '') return [{ name, why: 'missing' }];
    if (placeholder.test(value)) return [{ name, why: 'a placeholder' }];
    // tokens are random themselves: their salt may be anything
    return name !== 'API_TOKEN_SALT' && isGuessable(env[name] ?? '') ? [{ name, why: 'too easy to guess' }] : [];
  });

/** A line for each reason: `JWT_SECRET and API_TOKEN_SALT are missing`. */
export const describeUnfit = (unfit: readonly UnfitSecret[]): readonly string[] =>
  [...new Set(unfit.map((it) => it.why))].map((why) => {
    const names = unfit.filter((it) => it.why === why).map((it) => it.name);
    const [one, several] = words[why];
    return `${enumerated(names)} ${names.length === 1 ? one : several}`;
  });

const words: Readonly<Record<UnfitSecret['why'], readonly [one: string, several: string]>> = {
  missing: ['is missing', 'are missing'],
  'a placeholder': [
    'is a placeholder that everybody knows, from an .env.example',
    'are placeholders that everybody knows, from an .env.example',
  ],
  'too easy to guess': [
    'is too easy to guess: anyone who guesses it can log in as anybody',
    'are too easy to guess: anyone who guesses one can log in as anybody',
  ],
};

/** @param say called with a message about what was written, never with the secrets. */
export const readSecrets = async (
  projectDir: string,
  env: Environment,
  say: (text: string) => void,
  asked: SecretsAsked = {},
): Promise<Secrets> => {
  if (env.NODE_ENV === 'production') refuseUnfit(unfitSecrets(env, asked));
  const missing = needed(asked).filter((it) => env[it] === undefined);
  const found = missing.length > 0 ? await writeMissing(projectDir, missing, say) : {};
  const secret = (name: Name): string => env[name] ?? found[name] ?? '';
  return {
    jwtSecret: secret('JWT_SECRET'),
    apiTokenSalt: secret('API_TOKEN_SALT'),
    adminJwtSecret: asked.withAdmins === true ? secret('ADMIN_JWT_SECRET') : null,
  };
};

/** First starts at the same time take turns: all but the first find what it has written. */
const writeMissing = async (
  projectDir: string,
  missing: readonly Name[],
  say: (text: string) => void,
): Promise<Readonly<Partial<Record<Name, string>>>> => {
  const outside = outsideVariables();
  const file = environmentFile(projectDir, outside);
  const { takeTurn } = await import('../sql/sqlite/claim.js');
  return takeTurn(file, () => {
    const written: Readonly<Partial<Record<Name, string>>> = definedIn(variablesInFile(projectDir, outside));
    const made = missing.filter((it) => written[it] === undefined).map((name) => [name, newSecret()] as const);
    if (made.length === 0) return written;
    // first, because a start that finds secrets does not come here
    ignoreFiles(projectDir);
    append(file, made.map(([name, secret]) => `${name}=${secret}\n`).join(''));
    say(`secrets: generated ${enumerated(made.map(([name]) => name))} in ${file}`);
    return { ...written, ...Object.fromEntries(made) };
  });
};

/** That of the server, for a command whose credentials the server must know; a generated one might not be its own. */
export const requireSecret = (name: Name, projectDir: string, env: Environment): string => {
  const secret = env[name];
  if (secret !== undefined) return secret;
  throw new StartFault(
    `${name} is missing: what this command makes would not be valid.\nRun it with the ${name} of the server, in the environment or in ${environmentFile(projectDir, outsideVariables())}; outside production the first start generates one there.`,
  );
};

const refuseUnfit = (unfit: readonly UnfitSecret[]): void => {
  if (unfit.length === 0) return;
  throw new StartFault(
    `${describeUnfit(unfit).join('\n')}\nProduction needs secrets of its own: set ${unfit.length === 1 ? 'it' : 'them'} in the environment, or in .env of the project's folder, each ${SECRET_CHARACTERS_MIN} random characters or more, such as: ${newSecret()}\nIf Strapi v4 serves or served this database, use the same values; with another JWT_SECRET all users have to log in again.`,
  );
};

/**
 * Appends to the file, whose last line may lack a line break. A new file is readable only by its owner. Of lines that do not fit on
 * the disk nothing stays: the next start would take half a secret for a whole one.
 */
const append = (file: string, lines: string): void => {
  const before = fs.existsSync(file) ? fs.readFileSync(file) : Buffer.alloc(0);
  const isEnded = before.length === 0 || before.at(-1) === 0x0a;
  try {
    fs.appendFileSync(file, `${isEnded ? '' : '\n'}${lines}`, { mode: 0o600 });
  } catch (fault) {
    const after = fs.statSync(file, { throwIfNoEntry: false });
    if (after && after.size > before.length) fs.truncateSync(file, before.length);
    throw new StartFault(
      `${file} cannot be written: ${(fault as Error).message}\nSet ${enumerated(secretNames)} in the environment.`,
    );
  }
};

/** As in the templates of `init`: backups, and what a restore put aside, are content too. */
const ignored = '.env\n.tmp/\nnode_modules/\nbackup-*.db*\nbackup-*.dump\n*.before-restore-*\npublic/uploads.part/\n';

/** Keeps the secrets, database and backups of a new project out of git. An existing `.gitignore` is left as it is. */
const ignoreFiles = (projectDir: string): void => {
  const file = path.join(projectDir, '.gitignore');
  if (fs.existsSync(file)) return;
  try {
    fs.writeFileSync(file, ignored);
  } catch (fault) {
    // half of it would be left as it is by the next start
    fs.rmSync(file, { force: true });
    throw fault;
  }
};
