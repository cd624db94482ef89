/** Refuses to begin an empty database where the configuration of a v4 project names one that is there already. */
import fs from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { findAddress } from '../adopt/settings.js';
import { readV4Config } from '../adopt/v4-config.js';
import type { Environment } from '../config.js';
import { StartFault } from '../start-fault.js';

/** For a SQLite file that does not exist, unless a variable names it. */
export const refuseOtherDatabase = async (dir: string, env: Environment): Promise<void> => {
  if (isNamed(dir)) return;
  const config = await readV4Config(dir, {
    environment: env.NODE_ENV,
    outside: process.env,
    isTypeScript: fs.existsSync(path.join(dir, 'tsconfig.json')),
  });
  const found = findAddress(dir, config, { database: null });
  if (!found.ok) {
    const { code, message, cure } = found.obstacle;
    if (code === 'database.unsupported') throw new StartFault(`${message} ${cure}`);
    return;
  }
  const { client, given, from } = found.address;
  const file = path.resolve(dir, given.DATABASE_FILENAME ?? '');
  const isHere = client === 'sqlite' && file === path.resolve(dir, env.DATABASE_FILENAME);
  if (isHere || (client === 'sqlite' && !fs.existsSync(file))) return;
  // a password is not for a terminal
  const settings = Object.entries(given)
    .filter(([name]) => name !== 'DATABASE_PASSWORD' && name !== 'DATABASE_URL')
    .map(([name, value]) => `  ${name}=${value}`);
  const secret = client === 'postgres' ? ['  and DATABASE_URL or DATABASE_PASSWORD'] : [];
  throw new StartFault(
    `The database of this project is another one: ${from} names it, and Dovetail takes it from the environment or .env, where nothing is said of it. Set:\n${[...settings, ...secret].join('\n')}\nFor a new and empty database set DATABASE_FILENAME=${env.DATABASE_FILENAME}.`,
  );
};

const isNamed = (dir: string): boolean => {
  const file = path.join(dir, '.env');
  const inside = fs.existsSync(file) ? parseEnv(fs.readFileSync(file, 'utf8')) : {};
  return ['DATABASE_FILENAME', 'DATABASE_CLIENT', 'DATABASE_URL'].some(
    (name) => (process.env[name] ?? inside[name] ?? '') !== '',
  );
};
