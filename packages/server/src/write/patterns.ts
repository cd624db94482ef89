/** Compares texts with the patterns of schema files (BO6). For many a pattern there are texts that would take it for ever. */
import vm from 'node:vm';
import once from 'lodash/once.js';
import { type Issue, issue } from '../errors.js';
import { limits } from '../limits.js';
import type { ValueCheck } from '../model/attributes.js';

/** Whether the text, which is at the path, matches the pattern. */
export type Matches = NonNullable<ValueCheck['matches']>;

interface Comparison {
  readonly regex: string;
  readonly text: string;
  readonly path: readonly string[];
}

/** Compares at once what cannot take long; the rest is noted, and counts as matching. */
export const comparingLater = (): { readonly matches: Matches; readonly comparisons: readonly Comparison[] } => {
  const comparisons: Comparison[] = [];
  const matches: Matches = (regex, text, path) =>
    isLinear.test(regex) ? new RegExp(regex).test(text) : comparisons.push({ regex, text, path }) > 0;
  return { matches, comparisons };
};

/**
 * Patterns that begin at the start of the text and repeat no more than one character. They need not be watched, which takes some tenths of a
 * millisecond.
 */
const isLinear = /^\^[^(|*+?{]*[*+?{]?[^(|*+?{]*$/;

interface Compared {
  /** `comparisonKey` of what does not match. */
  readonly mismatched: ReadonlySet<string>;
  /** Where one cannot be compared in time, which ends it. */
  readonly slow: Issue | null;
}

export const comparisonKey = (regex: string, text: string): string => JSON.stringify([regex, text]);

export const compareAll = (comparisons: readonly Comparison[]): Compared => {
  const mismatched = new Set<string>();
  let compared = 0;
  const isWhole = endsInTime(() => {
    for (const { regex, text } of comparisons) {
      if (!new RegExp(regex).test(text)) mismatched.add(comparisonKey(regex, text));
      compared += 1;
    }
  });
  if (isWhole) return { mismatched, slow: null };
  const { path, regex } = comparisons[compared]!;
  return { mismatched, slow: issue('body.regex-slow', path, { regex }) };
};

/** Whether the work has ended by itself; otherwise it is stopped wherever it is. */
const endsInTime = (work: () => void): boolean => {
  try {
    watched()(work);
    return true;
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false;
    throw fault;
  }
};

const watched = once(() => {
  const context: { work: () => void } = { work: () => undefined };
  vm.createContext(context);
  const script = new vm.Script('work()');
  return (work: () => void): void => {
    context.work = work;
    script.runInContext(context, { timeout: limits.regexMsMax });
  };
});
