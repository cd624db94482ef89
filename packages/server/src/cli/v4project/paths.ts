/** By what path an expression of a file leads to something of Strapi, whatever the file calls that. */
import type { Variable } from 'eslint-scope';
import type { AssignmentProperty, Identifier, Node, Pattern, RestElement } from 'estree';
import { UTILS } from '../../v4code/strapi-utils/missing.js';
import { bareNode, isNamed, keyOf, type Syntax, textOfNode, valueOfName } from './syntax.js';

/**
 * `strapi.db.query('api::book.book').findMany()`: members behind dots however the file spells them, and of what a call is given the
 * first text.
 */
export type Path = string;

/** Null for what leads to nothing of Strapi, or in a way that the file does not tell. @param depth of the names that have led here. */
export const pathOf = (given: Node, syntax: Syntax, depth = 0): Path | null => {
  const node = bareNode(given);
  switch (node.type) {
    case 'Identifier':
      return pathOfName(node, syntax, depth);
    case 'MemberExpression': {
      const name = keyOf(node.property, node.computed, syntax);
      return name === null ? null : memberAt(pathOf(node.object, syntax, depth), name);
    }
    case 'CallExpression': {
      const [first] = node.arguments;
      const text = first ? textOfNode(first, syntax) : null;
      if (isNamed(node.callee, 'require')) return text === '@strapi/utils' ? UTILS : null;
      const callee = pathOf(node.callee, syntax, depth);
      return callee === null ? null : `${callee}(${text === null ? '' : `'${text}'`})`;
    }
    case 'AwaitExpression':
      return pathOf(node.argument, syntax, depth);
    case 'LogicalExpression':
      return pathOf(node.left, syntax, depth) ?? pathOf(node.right, syntax, depth);
    default:
      return null;
  }
};

/** Whatever is called `strapi` is taken for it, wherever it comes from. */
export const memberAt = (object: Path | null, name: string): Path | null => {
  if (name === ROOT) return ROOT;
  return object === null ? null : `${object}.${name}`;
};

const ROOT = 'strapi';

/** Names that are declared by more names than this lead nowhere. */
const NAMES_MAX = 50;

const pathOfName = (name: Identifier, syntax: Syntax, depth: number): Path | null => {
  if (name.name === ROOT) return ROOT;
  const variable = syntax.variableOf(name);
  if (!variable || depth === NAMES_MAX) return null;
  const known = pathsOfVariables.get(variable);
  if (known !== undefined) return known;
  // names may be declared by each other
  pathsOfVariables.set(variable, null);
  const path = pathOfVariable(variable, name, syntax, depth + 1);
  pathsOfVariables.set(variable, path);
  return path;
};

const pathsOfVariables = new WeakMap<Variable, Path | null>();

const pathOfVariable = ({ defs }: Variable, name: Identifier, syntax: Syntax, depth: number): Path | null => {
  const [definition] = defs;
  switch (definition?.type) {
    case 'Variable': {
      const value = valueOfName(name, syntax);
      if (value !== null) return pathOf(value, syntax, depth);
      const { id, init } = definition.node;
      return init ? pathIn(id, pathOf(init, syntax, depth), definition.name, syntax) : null;
    }
    case 'Parameter': {
      const parameters = definition.node.params as readonly Pattern[];
      return parameters.map((it) => pathIn(it, null, definition.name, syntax)).find((it) => it !== null) ?? null;
    }
    case 'ImportBinding': {
      const { node, parent } = definition;
      if (parent.source.value !== '@strapi/utils') return null;
      return node.type === 'ImportSpecifier' ? memberAt(UTILS, nameOfImport(node.imported)) : UTILS;
    }
    default:
      return null;
  }
};

export const nameOfImport = (imported: Node): string =>
  imported.type === 'Identifier' ? imported.name : String((imported as { readonly value?: unknown }).value);

const pathIn = (pattern: Pattern, object: Path | null, name: Identifier, syntax: Syntax): Path | null =>
  takenBy(pattern, object, syntax).find(({ target }) => target === name)?.path ?? null;

/** What a pattern takes out of an object. */
export interface Taken {
  readonly path: Path | null;
  /** Where the member is named. */
  readonly node: Node;
  /** What it is given to. */
  readonly target: Node;
}

/** `{ db: { query }, ...others } = strapi`: the members, those inside of others too. @param object null for one that is not of Strapi. */
export const takenBy = (pattern: Pattern, object: Path | null, syntax: Syntax): readonly Taken[] => {
  switch (pattern.type) {
    case 'ObjectPattern':
      return pattern.properties.flatMap((it) => takenByProperty(it, object, syntax));
    case 'AssignmentPattern':
      return takenBy(pattern.left, object, syntax);
    case 'Identifier':
      return [{ path: object, node: pattern, target: pattern }];
    default:
      return [];
  }
};

const takenByProperty = (
  property: AssignmentProperty | RestElement,
  object: Path | null,
  syntax: Syntax,
): readonly Taken[] => {
  // what is left of an object is of the same names
  if (property.type === 'RestElement') return takenBy(property.argument, object, syntax);
  const name = keyOf(property.key, property.computed, syntax);
  if (name === null) return [];
  const path = memberAt(object, name);
  const taken = takenBy(property.value, path, syntax);
  return taken.some((it) => it.path === path) ? taken : [{ path, node: property, target: property.value }, ...taken];
};
