/** Compares texts with the patterns of schema files (BO6). For many a pattern there are texts that would take it for ever. */
import vm from 'node:vm';
import once from 'lodash/once.js';
import { type Issue, issue } from '../errors.js';
import { limits } from '../limits.js';

/** A text of a body that a pattern must match. */
export interface Comparison {
  readonly regex: string;
  readonly text: string;
  readonly path: readonly string[];
}

/** The issues of all texts of a body; one that cannot be compared in time ends the list. */
export const compareAll = (comparisons: readonly Comparison[]): readonly Issue[] => {
  const issues: Issue[] = [];
  let compared = 0;
  const compare = (): void => {
    for (const { regex, text, path } of comparisons) {
      if (!new RegExp(regex).test(text)) issues.push(issue('body.regex', path, { regex }));
      compared += 1;
    }
  };
  if (comparisons.every((it) => isLinear.test(it.regex))) compare();
  else if (!endsInTime(compare)) {
    const { path, regex } = comparisons[compared]!;
    issues.push(issue('body.regex-slow', path, { regex }));
  }
  return issues;
};

/** Begins at the start of the text, and repeats no more than one character: such a pattern needs no watch, which takes some tenths of a millisecond. */
const isLinear = /^\^[^(|*+?{]*[*+?{]?[^(|*+?{]*$/;

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
