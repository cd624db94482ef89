/**
 * The query of a request in plain values, for code of the project: it sees what the server reads, in one form. What the server
 * refuses is refused again if code has changed another part, but for names of `Object.prototype`, which are dropped.
 */
import { issue, Refusal } from '../errors.js';
import { limits } from '../limits.js';
import { lenientFlag } from './lenient.js';
import { parameterName } from './parameters.js';
import { mergedMembers } from './populate.js';
import type { BracketNode, RawNode, RawQuery } from './raw.js';
import { shapeIn } from './resolving.js';

/** What a value is: that of a `populate`, one of what is populated, options by type, or anything else. */
type Place = 'populate' | 'populated' | 'on' | 'value';

interface Reading {
  readonly strict: boolean;
}

interface ReadingOne extends Reading {
  /** The parameter, for refusals. */
  readonly parameter: string;
}

/** The parameters that the server knows. Throws `Refusal` if one is nested too deep for code. */
export const plainQuery = (query: RawQuery, reading: Reading): Record<string, unknown> => {
  const known = [...query].filter(([name]) => parameterName(name).kind === 'known');
  const values = known.map(
    ([name, it]) =>
      [name, plain(it, name === 'populate' ? name : 'value', { ...reading, parameter: name }, 0)] as const,
  );
  return Object.fromEntries(values.filter(([, it]) => it !== undefined));
};

/** Undefined if nothing is left: `filters[$or][0][constructor]=x` is no condition. */
const plain = (node: RawNode, place: Place, reading: ReadingOne, depth: number): unknown => {
  if (depth > limits.codeQueryDepthMax)
    throw new Refusal(issue('query.too-deep', [reading.parameter], { max: limits.codeQueryDepthMax }));
  const inner = (it: RawNode, its: Place): unknown => plain(it, its, reading, depth + 1);
  const items = (nodes: readonly RawNode[]): readonly unknown[] =>
    nodes.map((it) => inner(it, 'value')).filter((it) => it !== undefined);
  const list = (nodes: readonly RawNode[]): readonly unknown[] | undefined => {
    const left = items(nodes);
    return left.length === 0 ? undefined : left;
  };
  const tree = (members: ReadonlyMap<string, RawNode>): object | undefined => {
    const left = [...members]
      // v4's parser drops them: they would be the prototype or the methods of what code handles
      .filter(([name]) => !Object.hasOwn(Object.prototype, name))
      .map(([name, it]) => [name, inner(it, placeOf(name, place))] as const)
      .filter(([, it]) => it !== undefined);
    return left.length === 0 && place === 'value' ? undefined : Object.fromEntries(left);
  };
  const shape = shapeIn(reading, node);
  switch (shape.kind) {
    case 'null':
      return null;
    case 'text':
      return shape.text;
    case 'list':
      return list(shape.items);
    case 'tree':
      return tree(shape.members);
    case 'mixed': {
      const { written } = shape;
      const members = reading.strict ? null : membersOf(written, place);
      if (members) return tree(members);
      // a list of all of it, which is refused as well
      const { values, appended } = written;
      return [...values, tree(written.members), ...items(appended)].filter((it) => it !== undefined);
    }
  }
};

/** A value and members in one, where lenient mode reads them so. */
const membersOf = (written: BracketNode, place: Place): ReadonlyMap<string, RawNode> | null => {
  if (place === 'populate') return mergedMembers(written);
  const isFlag = written.values.every((it) => lenientFlag(it ?? ''));
  return place === 'populated' && isFlag ? mergedMembers({ ...written, values: [] }) : null;
};

/** @param holder where the member is. */
const placeOf = (name: string, holder: Place): Place => {
  if (holder === 'populate' || holder === 'on') return 'populated';
  return holder === 'populated' && (name === 'populate' || name === 'on') ? name : 'value';
};
