/** Calls of `strapi.db` that this server refuses for what they are given. */
import type { Node } from 'estree';
import { GROUPING, MANUAL_TRANSACTION } from './described-uses.js';
import { type Path, pathOf } from './paths.js';
import { bareNode, keyOf, type Syntax, valueOfName } from './syntax.js';

interface Refused {
  readonly what: string;
  readonly node: Node;
}

export const refusedCall = (call: Node, syntax: Syntax): readonly Refused[] => {
  if (call.type !== 'CallExpression') return [];
  const callee = pathOf(call.callee, syntax);
  if (callee === null) return [];
  if (callee === 'strapi.db.transaction' && call.arguments.length === 0)
    return [{ what: MANUAL_TRANSACTION, node: call }];
  return isMethodOfQuery(callee) ? call.arguments.flatMap((it) => groupingIn(it, syntax)) : [];
};

const isMethodOfQuery = (path: Path): boolean => /^strapi(?:\.db)?\.query\([^()]*\)\.\w+$/.test(path);

/** Keys of the objects that are given, also by their names or through functions that merge them; those deeper inside are attributes. */
const groupingIn = (given: Node, syntax: Syntax, seen = new Set<Node>()): readonly Refused[] => {
  const node = bareNode(given);
  // names may be given by each other: `query = { ...query, limit }`
  if (seen.has(node)) return [];
  seen.add(node);
  switch (node.type) {
    case 'ObjectExpression':
      return node.properties.flatMap((it) => {
        if (it.type === 'SpreadElement') return groupingIn(it.argument, syntax, seen);
        return keyOf(it.key, it.computed, syntax) === 'groupBy' ? [{ what: GROUPING, node: it }] : [];
      });
    case 'CallExpression':
      return node.arguments.flatMap((it) => groupingIn(it, syntax, seen));
    case 'Identifier': {
      const value = valueOfName(node, syntax);
      return value?.type === 'ObjectExpression' ? groupingIn(value, syntax, seen) : [];
    }
    default:
      return [];
  }
};
