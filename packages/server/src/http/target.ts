/** Request targets (RFC 9112, 3.2): the path to route by and the query string. */
import type http from 'node:http';

/** Routed like any other path; otherwise the framework would answer before any hook. */
export const MALFORMED_PATH = '/_malformed-path';

/**
 * The target to route by: without the host if absolute, without a fragment, which a target must not have, and with characters
 * that need no escape written as themselves (RFC 3986, 6.2.2.2), so that everything that compares paths sees one spelling.
 * `MALFORMED_PATH` if it cannot be decoded.
 */
export const targetOf = (sent: string): string => {
  const mark = sent.indexOf('#');
  const given = mark === -1 ? sent : sent.slice(0, mark);
  if (given.startsWith('/') && !given.includes('%')) return given;
  const url = given.startsWith('/') ? given : given.replace(/^https?:\/\/[^/?#]*/i, '').replace(/^(?!\/|\*$)/, '/');
  return isDecodable(url) ? withoutNeedlessEscapes(url) : MALFORMED_PATH;
};

const withoutNeedlessEscapes = (url: string): string => {
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  if (!path.includes('%')) return url;
  const usual = path.replace(/%[2-7][\da-f]/gi, (escaped) => {
    const character = decodeURIComponent(escaped);
    return /[\w.~-]/.test(character) ? character : escaped;
  });
  return usual + url.slice(path.length);
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
