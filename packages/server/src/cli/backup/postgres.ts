/** PostgreSQL is backed up and restored by tools of its own: their commands. */
import { type Environment, postgresUrl } from '../config.js';

export const dumpCommand = (env: Environment, file: string): string => {
  const { url, schema } = libpqUrl(env);
  return `PostgreSQL is backed up by its own tool; it asks for the password, or takes it from PGPASSWORD:

  pg_dump --format=custom --no-owner --schema=${quoted(schema)} --file=${quoted(file)} ${quoted(url)}`;
};

export const restoreCommand = (env: Environment, file: string): string => {
  const { url } = libpqUrl(env);
  return `PostgreSQL is restored by its own tool, while no server runs; it asks for the password, or takes it from PGPASSWORD:

  pg_restore --clean --if-exists --no-owner --single-transaction --dbname=${quoted(url)} ${quoted(file)}`;
};

/** As PostgreSQL's own tools take it: without the password, which they would show to other users of the machine, and `search_path`. */
const libpqUrl = (env: Environment): { readonly url: string; readonly schema: string } => {
  const [address = '', search = ''] = postgresUrl(env).split(/\?(.*)/s);
  const parameters = new URLSearchParams(search);
  const schema = parameters.get('search_path') ?? 'public';
  parameters.delete('search_path');
  const open = address.replace(/^(\w+:\/\/[^:@/]*):[^@]*@/, '$1@');
  return { url: parameters.size === 0 ? open : `${open}?${parameters}`, schema };
};

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
