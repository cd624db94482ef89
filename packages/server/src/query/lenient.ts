/** v4's leniency (`api.strict: false`): what is ignored in a query instead of being refused. */
import type { IssueCode, issue } from '../errors.js';
import { type Resolving, refuse } from './resolving.js';

/**
 * The whole list: unknown names, scalars, unknown options and unknown components of a zone in `populate`, `on` outside
 * zones, any flag text but the falsy words, and near misses of parameters. Unknown keys of bodies are ignored too (see
 * `write/change.ts`).
 */
const lenient: ReadonlySet<IssueCode> = new Set([
  'query.unknown-parameter',
  'query.unknown-name',
  'query.not-populatable',
  'query.unknown-option',
  'query.unknown-component',
  'query.fragments-outside-zone',
  'query.flag',
]);

/** Refuses what v4 ignores, unless the project asks for v4's leniency. */
export const refuseStrictly = <Code extends IssueCode>(
  resolving: Resolving,
  ...given: Parameters<typeof issue<Code>>
): void => {
  if (resolving.strict || !lenient.has(given[0])) refuse(resolving, ...given);
};
