/** Parses a PostgreSQL URL as libpq and v4 do. */
import type { ClientConfig } from 'pg';
import { type ConnectionOptions, parse, toClientConfig } from 'pg-connection-string';

export interface Address {
  /** Connection settings to try, in order of preference: each host of the URL, with and without TLS where the URL leaves it open. */
  readonly candidates: readonly ClientConfig[];
  /** The schema search path; null uses the server's default. */
  readonly searchPath: string | null;
  /** For messages: hosts and database, without user and password. */
  readonly place: string;
}

/** How the server's certificate is looked at; certificates and keys are texts. */
export interface Tls {
  readonly rejectUnauthorized: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/**
 * Throws if the URL is invalid; the message does not quote it, because it holds a password.
 * @param tls replaces what the URL says of TLS.
 */
export const readAddress = (url: string, tls: Tls | null = null): Address => {
  const hosts = hostsOf(url).map(readHost);
  const [first] = hosts as [ConnectionOptions];
  const names = hosts.map(({ host, port }) => `${host || 'localhost'}${port ? `:${port}` : ''}`);
  return {
    candidates: hosts.flatMap((it) => (tls ? [{ ...baseOf(it), ssl: { ...tls } }] : candidatesOf(it))),
    searchPath: textOf(first['search_path']),
    place: `postgres://${names.join(',')}/${first.database ?? ''}`,
  };
};

/** `postgres://user@a:1,b:2/name` as one URL for each host. */
const hostsOf = (url: string): readonly string[] => {
  const [, scheme = '', authority = '', path = '', query = ''] =
    /^(postgres(?:ql)?:\/\/|socket:)([^/?#]*)([^?#]*)(.*)$/s.exec(url) ?? [];
  if (scheme === '') throw new Error('The PostgreSQL URL does not begin with postgres://');
  // the rest of a password with an unescaped slash would be taken for host and database
  if (path.includes('@')) throw unreadable();
  const hostAt = authority.lastIndexOf('@') + 1;
  const hosts = authority.slice(hostAt).split(',');
  return hosts.map((host) => `${scheme}${authority.slice(0, hostAt)}${host}${path}${query}`);
};

const readHost = (url: string): ConnectionOptions => {
  // `ssl` is accepted as an alias of `sslmode`
  const text = url.replace(/([?&])ssl=(?=disable|allow|prefer|require|verify|no-verify)/, '$1sslmode=');
  try {
    // modes as in libpq: `require` encrypts without verifying the certificate
    return parse(text, { useLibpqCompat: !/[?&]uselibpqcompat=/.test(text) });
  } catch (fault) {
    throw fault instanceof TypeError || fault instanceof URIError ? unreadable() : fault;
  }
};

const unreadable = (): Error =>
  new Error('The PostgreSQL URL is invalid; special characters in the password must be percent-encoded');

const baseOf = (options: ConnectionOptions): ClientConfig => ({
  ...toClientConfig(options),
  fallback_application_name: 'dovetail',
});

const candidatesOf = (options: ConnectionOptions): readonly ClientConfig[] => {
  const base = baseOf(options);
  const plain = { ...base, ssl: false };
  const encrypted = { ...base, ssl: { rejectUnauthorized: false } };
  switch (options['sslmode']) {
    case 'prefer':
      return [encrypted, plain];
    case 'allow':
      return [plain, encrypted];
    case 'no-verify':
      return [encrypted];
    default:
      return [base];
  }
};

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
