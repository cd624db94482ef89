/**
 * v4's leniency (`api.strict: false`): the only place that lists what is ignored in a request instead of rejected.
 * docs/lenient.md documents it, and a test compares the two. Ignored names are reported in the response and in the log
 * (Q16). Whether v4 ignores a fault also depends on where it is: an unknown name
 * is ignored in `populate` and refused in `fields`, so each place that is lenient says so by calling `leaveOut`.
 */
import type { Issue, IssueCode } from '../errors.js';
import { limits } from '../limits.js';

/** Faults that v4 ignores somewhere. Any other is rejected in every mode. */
export const lenient: ReadonlySet<IssueCode> = new Set<IssueCode>([
  'query.malformed-key',
  'query.unknown-parameter',
  'query.unknown-name',
  'query.not-populatable',
  'query.unknown-option',
  'query.populate-with-pagination',
  'query.unknown-component',
  'query.unknown-target',
  'query.fragments-outside-zone',
  'query.unknown-operator',
  'query.expected-object',
  'query.expected-text',
  'query.unknown-pagination',
  'body.unknown-key',
]);

/** Something of a request that had no effect. Plain data. */
export interface LeftOut {
  /** Its dotted path: `populate.metadata.shareImage`, `data.titel`. */
  readonly name: string;
  /** The issue that strict mode would have returned, or the reason why it never has an effect. */
  readonly issue: Issue;
}

interface Listener {
  readonly strict: boolean;
  readonly issues: Issue[];
  readonly leftOut: LeftOut[];
  /** Whether every fault is noted, for whoever takes them out; by default the first `limits.leftOutMax` are, each name once. */
  readonly notesAll?: boolean;
}

/** Notes a fault that v4 ignores; in strict mode it refuses the request. */
export const leaveOut = (
  { strict, issues, leftOut, notesAll = false }: Listener,
  fault: Issue,
  path: readonly string[] = fault.path,
): void => {
  if (strict || !lenient.has(fault.code)) {
    issues.push(fault);
    return;
  }
  const name = path.join('.');
  if (notesAll || (leftOut.length < limits.leftOutMax && !leftOut.some((it) => it.name === name)))
    leftOut.push({ name, issue: fault });
};

/** Notes a parameter that never has an effect where it stands, in every mode. */
export const noteIgnored = ({ leftOut }: Pick<Listener, 'leftOut'>, reason: Issue): void => {
  leftOut.push({ name: reason.path.join('.'), issue: reason });
};

/**
 * Names of `Object.prototype`, which v4's parser drops from a query with all that is below them, so that
 * `filters[constructor]=x` filters nothing there. To strict mode they are unknown names.
 */
export const isDropped = ({ strict }: Pick<Listener, 'strict'>, name: string): boolean =>
  !strict && Object.hasOwn(Object.prototype, name);

/** v4 reads a few words as false and any other text as true. */
export const lenientFlag = (text: string): boolean => !['false', 'f', '0', ''].includes(text);
