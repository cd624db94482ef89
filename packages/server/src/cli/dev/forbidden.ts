/** Says in development which permission a request lacked, and the command that gives it. */
import type { Site } from '../../site/site.js';
import type { Notices } from '../log.js';

/** Says it once for each kind of caller and permission. */
export const newForbiddenNotes = (logger: Pick<Notices, 'warn'>): NonNullable<Site['onForbidden']> => {
  const said = new Set<string>();
  return ({ kind }, permission) => {
    const key = `${kind} ${permission}`;
    if (said.has(key)) return;
    said.add(key);
    logger.warn(`403: ${words[kind](permission)}`);
  };
};

const words = {
  public: (it: string) => `the role public may not ${it}; to allow it: dovetail role allow public ${it}`,
  user: (it: string) =>
    `the role of a user may not ${it}; to allow it: dovetail role allow authenticated ${it}, or another role`,
  token: (it: string) =>
    `an API token may not ${it}; one of the type full-access may: dovetail token create --type full-access`,
  admin: (it: string) => `the roles of an administrator may not ${it}`,
} as const;
