/** Who may look into the server: see all of its model, explain reads, and see its state (SU1, SU3, SU4). */
import type http from 'node:http';
import { type KnownCaller, nobody } from '../access/caller.js';
import { issue, ok, type Result, refused } from '../errors.js';
import type { Site } from '../site/site.js';
import { asOf, identifyCaller } from './credentials.js';

export interface Looking {
  readonly caller: KnownCaller;
  /** Whether they may see all of it: administrators may, and in development everybody. */
  readonly knowing: boolean;
}

/** @param isOpen whether everybody may. Issues are the 401 of AC3. */
export const whoLooks = async (
  headers: http.IncomingHttpHeaders,
  { site, isOpen: isOpenHere }: { readonly site: Site; readonly isOpen: boolean },
): Promise<Result<Looking>> => {
  const isOpen = isOpenHere && !isOfOtherSite(headers);
  const { authorization } = headers;
  const caller = await site.callers.identify(authorization);
  if (caller.ok) {
    const knowing = isOpen || caller.value.who.kind === 'admin';
    // what others may do is told to whoever looks for them (AD15)
    const seen = asOf(headers) === undefined ? caller : await identifyCaller(headers, true, site.callers);
    return seen.ok ? ok({ caller: seen.value, knowing }) : seen;
  }
  // the public role may have no permission at all
  return isOpen && authorization === undefined ? ok({ caller: nobody, knowing: true }) : caller;
};

/** Whether a page of another site asks, through the browser of somebody who can reach the server: CORS may let it. */
const isOfOtherSite = ({ 'sec-fetch-site': site, origin, host }: http.IncomingHttpHeaders): boolean =>
  site === undefined ? origin !== undefined && origin.replace(/^\w+:\/\//, '') !== host : site === 'cross-site';

/** The same, for what nobody else may see at all. */
export const whoKnows = async (...given: Parameters<typeof whoLooks>): Promise<Result<KnownCaller>> => {
  const looking = await whoLooks(...given);
  if (!looking.ok) return looking;
  return looking.value.knowing ? ok(looking.value.caller) : refused(issue('http.forbidden', []));
};
