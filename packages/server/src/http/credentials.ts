/** Who makes a request, or with whose rights an administrator looks at what others see (AD15). */
import type http from 'node:http';
import { isOfAdministrators } from '../access/admin-tokens.js';
import { bearerOf, type Callers, type KnownCaller } from '../access/caller.js';
import { issue, type Result, refused } from '../errors.js';
import type { Ready } from '../ready.js';

/** `role:TYPE` or `token:ID`, from administrators. */
export const asOf = (headers: http.IncomingHttpHeaders): string | undefined => {
  const given = headers['dovetail-as'];
  return given === undefined ? undefined : String(given);
};

/** @param isRead whether the request changes nothing: with the rights of others nothing is written. */
export const identifyCaller = (
  headers: http.IncomingHttpHeaders,
  isRead: boolean,
  callers: Callers,
): Ready<Result<KnownCaller>> => {
  const as = asOf(headers);
  if (as !== undefined && !isRead) return refused(issue('admin.as-write', []));
  return callers.identify(headers.authorization, as);
};

/** Whether a request claims to be an administrator's, with rights of their own. Anybody can: nothing is verified. */
export const claimsAdministrator = (headers: http.IncomingHttpHeaders): boolean => {
  const { authorization } = headers;
  if (authorization === undefined || asOf(headers) !== undefined) return false;
  const bearer = bearerOf(authorization);
  return bearer !== null && isOfAdministrators(bearer);
};

export const isReading = (method: string | undefined): boolean => method === 'GET' || method === 'HEAD';
