/** Targets of requests (RFC 9112, 3.2): the path to route and the query string. */

/** A route of ours answers it after all layers; the framework would answer before any. */
export const MALFORMED_PATH = '/_malformed-path';

/** The target to route by: what cannot be decoded goes to a route of its own, and of an absolute one the host is left out. */
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

/** For logs: tokens of mails come in query strings. */
export const withoutSecrets = (url: string): string =>
  url.replaceAll(/([?&](?:confirmation|code|token|password)=)[^&]*/gi, '$1…');
