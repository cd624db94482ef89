/**
 * Entries that several others may show are read in batches, each once. While nothing is shown twice, what reads return is a tree,
 * and one statement that renders all of it where it is shown costs less. Which of the two it is depends on the data, so batches tell,
 * and tell again from time to time. The responses are the same.
 */
import { isDeepStrictEqual } from 'node:util';
import { type IssueCode, Refusal } from '../errors.js';
import { limits } from '../limits.js';
import { type Ready, whenReady } from '../ready.js';
import type { Executed, Outcome } from './execute.js';
import type { ReadShape } from './plan.js';
import type { CompiledRead } from './statements.js';

/** A compiled shape, and how its reads went. */
export interface AdaptiveRead {
  readonly compiled: CompiledRead;
  /** How many reads in a row were trees; less than 0 after nesting has failed. */
  trees: number;
  /** What reads instead of `compiled`, until a time of `performance.now()`. Null if it has not been compiled. */
  nested: { readonly compiled: CompiledRead; until: number } | null;
}

export const newAdaptiveRead = (compiled: CompiledRead): AdaptiveRead => ({ compiled, trees: 0, nested: null });

/**
 * Runs the read in the way that costs less. `unrendered` as `Outcome` says.
 * @param nest compiles the shape with all that its entries show inside them, for the same values; null if that changes nothing.
 */
export const readAdaptively = (
  read: AdaptiveRead,
  run: (compiled: CompiledRead) => Ready<Outcome>,
  nest: () => CompiledRead | null,
): Ready<Outcome> => {
  const { nested } = read;
  if (!nested || performance.now() > nested.until) return readInBatches(read, run, nest);
  return whenReady(unlessTooMuch(run(nested.compiled), read), (outcome) => {
    if (outcome !== 'unrendered') return outcome;
    nested.until = 0;
    read.trees -= limits.treesAfterFailure;
    return readInBatches(read, run, nest);
  });
};

const readInBatches = (
  read: AdaptiveRead,
  run: (compiled: CompiledRead) => Ready<Outcome>,
  nest: () => CompiledRead | null,
): Ready<Outcome> =>
  whenReady(run(read.compiled), (outcome) => {
    if (outcome !== null && outcome !== 'unrendered') noteTree(read, outcome, nest);
    return outcome;
  });

const noteTree = (read: AdaptiveRead, { isTree }: Executed, nest: () => CompiledRead | null): void => {
  read.trees = isTree ? read.trees + 1 : Math.min(read.trees, 0);
  if (read.trees < limits.treesUntilNested) return;
  read.trees = 0;
  const until = performance.now() + limits.nestedMs;
  if (read.nested) {
    read.nested.until = until;
    return;
  }
  const compiled = nest();
  if (compiled) read.nested = { compiled, until };
  else read.trees = NEVER;
};

/** What batches read within their bounds may be too much where entries are rendered as often as they are shown. */
const unlessTooMuch = (outcome: Ready<Outcome>, read: AdaptiveRead): Ready<Outcome> =>
  outcome instanceof Promise
    ? outcome.catch((fault: unknown) => {
        if (!isTooMuch(fault)) throw fault;
        read.trees = NEVER;
        return 'unrendered';
      })
    : outcome;

const NEVER = Number.NEGATIVE_INFINITY;

const tooMuch: ReadonlySet<IssueCode> = new Set(['read.too-slow', 'read.too-large']);

/** Whether a read was refused for what it takes, however often it is tried. */
export const isTooMuch = (fault: unknown): boolean =>
  fault instanceof Refusal && fault.issues.some((it) => tooMuch.has(it.code));

/** Whether the shapes differ in what is inline and in nothing else, so that plans of both have the same values in the same slots. */
export const differInInlineOnly = (one: ReadShape, other: ReadShape): boolean =>
  !isDeepStrictEqual(one.nodes, other.nodes) && isDeepStrictEqual(nodesOf(one), nodesOf(other));

const nodesOf = ({ nodes }: ReadShape) =>
  nodes.map(({ edges, links: _links, ...node }) => ({
    ...node,
    edges: edges.map(({ inline: _inline, ...edge }) => edge),
  }));
