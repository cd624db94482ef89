/** Where a PostgreSQL is, from a URL as libpq and v4 read it. */
import type { ClientConfig } from 'pg';
import { type ConnectionOptions, parse, toClientConfig } from 'pg-connection-string';

export interface Address {
  /** Ways to connect, the preferred one first: each host of the URL, with and without TLS where the URL leaves it open. */
  readonly ways: readonly ClientConfig[];
  /** Schemas in which unqualified names are looked up; null leaves it to the server. */
  readonly searchPath: string | null;
  /** For messages: hosts and database, without user and password. */
  readonly place: string;
}

/** Throws when the text is no such URL; the message does not repeat it, because it holds a password. */
export const readAddress = (url: string): Address => {
  const hosts = hostsOf(url).map(readHost);
  const [first] = hosts as [ConnectionOptions];
  const names = hosts.map(({ host, port }) => `${host || 'localhost'}${port ? `:${port}` : ''}`);
  return {
    ways: hosts.flatMap(waysOf),
    searchPath: textOf(first['search_path']),
    place: `postgres://${names.join(',')}/${first.database ?? ''}`,
  };
};

/** `postgres://user@a:1,b:2/name` as one URL for each host. */
const hostsOf = (url: string): readonly string[] => {
  const [, scheme = '', authority = '', path = '', query = ''] =
    /^(postgres(?:ql)?:\/\/|socket:)([^/?#]*)([^?#]*)(.*)$/s.exec(url) ?? [];
  if (scheme === '') throw new Error('The URL of PostgreSQL does not begin with postgres://');
  // the end of a password that holds a slash would be taken for the host and the name of the database
  if (path.includes('@')) throw unreadable();
  const hostAt = authority.lastIndexOf('@') + 1;
  const hosts = authority.slice(hostAt).split(',');
  return hosts.map((host) => `${scheme}${authority.slice(0, hostAt)}${host}${path}${query}`);
};

const readHost = (url: string): ConnectionOptions => {
  // a mode may be spelled `ssl` too
  const text = url.replace(/([?&])ssl=(?=disable|allow|prefer|require|verify|no-verify)/, '$1sslmode=');
  try {
    // modes mean what they mean to libpq: `require` encrypts and asks for no certificate
    return parse(text, { useLibpqCompat: !/[?&]uselibpqcompat=/.test(text) });
  } catch (fault) {
    throw fault instanceof TypeError || fault instanceof URIError ? unreadable() : fault;
  }
};

const unreadable = (): Error =>
  new Error('The URL of PostgreSQL cannot be read; special characters in the password must be percent-encoded');

const waysOf = (options: ConnectionOptions): readonly ClientConfig[] => {
  const way: ClientConfig = { ...toClientConfig(options), fallback_application_name: 'dovetail' };
  const plain = { ...way, ssl: false };
  const encrypted = { ...way, ssl: { rejectUnauthorized: false } };
  switch (options['sslmode']) {
    case 'prefer':
      return [encrypted, plain];
    case 'allow':
      return [plain, encrypted];
    case 'no-verify':
      return [encrypted];
    default:
      return [way];
  }
};

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
