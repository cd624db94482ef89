/** Request targets (RFC 9112, 3.2): the path to route by and the query string. */
import type http from 'node:http';

/** Routed like any other path; otherwise the framework would answer before any hook. */
export const MALFORMED_PATH = '/_malformed-path';

/** The target to route by: without the host if absolute; `MALFORMED_PATH` if it cannot be decoded. */
export const targetOf = (given: string): string => {
  const url = given.startsWith('/') ? given : given.replace(/^https?:\/\/[^/?#]*/i, '').replace(/^(?!\/|\*$)/, '/');
  return isDecodable(url) ? url : MALFORMED_PATH;
};

const isDecodable = (url: string): boolean => {
  const [path = ''] = url.split('?', 1);
  if (!path.includes('%')) return true;
  try {
    return !decodeURIComponent(path).includes('\0');
  } catch {
    return false;
  }
};

/** The query string, without `?`. */
export const searchOf = (url: string): string => {
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
};

/** `Host` lines of a request: exactly one is right. `headers` keeps only the first. */
export const countHosts = ({ rawHeaders }: http.IncomingMessage): number => {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
};
