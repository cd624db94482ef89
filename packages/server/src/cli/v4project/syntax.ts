/** What a file of a v4 project says, as its syntax tree shows it, and what the names in it are declared as. */
import { type ParserOptions, parse } from '@babel/parser';
import { analyze, type Variable } from 'eslint-scope';
import type { Identifier, Node, ObjectExpression, Program, Property } from 'estree';
import { walk } from 'estree-walker';

export interface Syntax {
  readonly program: Program;
  /** The source without comments. */
  readonly text: string;
  /** What a name is declared as in its scope; null if the file does not declare it. */
  readonly variableOf: (name: Identifier) => Variable | null;
}

/** Null for a file that is no JavaScript or TypeScript: nothing of it can run. @param file its name, which tells the language. */
export const syntaxOf = (file: string, source: string): Syntax | null => {
  const read = parsed(file, source);
  if (read === null || isTooDeep(read.program)) return null;
  const { program, text } = read;
  const variables = new Map<Identifier, Variable>();
  // the parser's trees have nodes of TypeScript, too
  const { scopes } = analyze(program, { ecmaVersion: 2024, sourceType: program.sourceType, fallback: 'iteration' });
  for (const { references } of scopes)
    for (const { identifier, resolved } of references) if (resolved) variables.set(identifier as Identifier, resolved);
  return { program, text, variableOf: (name) => variables.get(name) ?? null };
};

/** By the parser of what runs the code, which takes types in files of JavaScript, too; in those of TypeScript `<b>x` is an assertion. */
const parsed = (file: string, given: string): Pick<Syntax, 'program' | 'text'> | null => {
  // an object alone would be a block
  const source = file.endsWith('.json') ? `(${given})` : given;
  const options: ParserOptions = {
    sourceType: 'unambiguous',
    plugins: [
      'estree',
      'typescript',
      'decorators-legacy',
      'decoratorAutoAccessors',
      ...(/\.[cm]?ts$/.test(file) ? [] : (['jsx'] as const)),
    ],
    errorRecovery: true,
    allowReturnOutsideFunction: true,
    attachComment: false,
    ranges: true,
  };
  try {
    const { program, comments } = parse(source, options);
    return { program: program as unknown as Program, text: withoutRanges(source, comments ?? []) };
  } catch {
    return null;
  }
};

/** Whether nodes stand deeper in each other than the stack would allow to follow: chains of thousands of calls or texts. */
const isTooDeep = (program: Node): boolean => {
  let level: readonly unknown[] = [program];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX) return true;
    level = level.flatMap((it) => (it !== null && typeof it === 'object' ? Object.values(it) : []));
  }
  return false;
};

/** Of lists and nodes alike. */
const DEPTH_MAX = 1000;

const withoutRanges = (
  source: string,
  ranges: readonly { readonly start?: number; readonly end?: number }[],
): string => {
  const kept = ranges.map(({ start = 0, end = 0 }, i) => {
    const before = source.slice(ranges[i - 1]?.end ?? 0, start);
    return before + source.slice(start, end).replaceAll(/[^\n]/g, ' ');
  });
  return kept.join('') + source.slice(ranges.at(-1)?.end ?? 0);
};

/** All nodes, in the order of the source. @param parent null for the first one. */
export const eachNode = (root: Node, visit: (node: Node, parent: Node | null) => void): void => {
  walk(root, { enter: (node, parent) => visit(node, parent) });
};

/** Without what stands around it and changes nothing: `(x as any)!`, `x?.y`. */
export const bareNode = (node: Node): Node => {
  const { type, expression } = node as { readonly type: string; readonly expression?: Node };
  return transparent.has(type) && expression ? bareNode(expression) : node;
};

const transparent: ReadonlySet<string> = new Set([
  ...['ChainExpression', 'TSAsExpression', 'TSInstantiationExpression', 'TSNonNullExpression'],
  ...['TSSatisfiesExpression', 'TSTypeAssertion'],
]);

/** Counted from 1. */
export const lineOf = (node: Node): number => node.loc?.start.line ?? 1;

/** The text that an expression is, itself or by a name of the file; null if it is none. */
export const textOfNode = (given: Node, syntax: Syntax): string | null => {
  const node = bareNode(given);
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : null;
  if (node.type === 'TemplateLiteral') return node.expressions.length === 0 ? node.quasis[0]!.value.cooked! : null;
  if (node.type !== 'Identifier') return null;
  const value = valueOfName(node, syntax);
  return value === null || value.type === 'Identifier' ? null : textOfNode(value, syntax);
};

/** What the file gives to a name where it declares it, or in one other place; null if that is not the whole value, or not told. */
export const valueOfName = (name: Identifier, { variableOf }: Syntax): Node | null => {
  const variable = variableOf(name);
  if (variable?.defs.length !== 1 || variable.defs[0]!.type !== 'Variable') return null;
  const known = valuesOfVariables.get(variable);
  if (known !== undefined) return known;
  const [write, ...others] = variable.references.filter((it) => it.isWrite());
  const value =
    write && others.length === 0 && !write.partial && write.writeExpr ? bareNode(write.writeExpr as Node) : null;
  valuesOfVariables.set(variable, value);
  return value;
};

const valuesOfVariables = new WeakMap<Variable, Node | null>();

/** The name of a member or of a key: `a.b`, `a['b']`, `{ b: 1 }`; null if it is computed of anything else than a text. */
export const keyOf = (key: Node, computed: boolean, syntax: Syntax): string | null => {
  if (!computed && key.type === 'Identifier') return key.name;
  return textOfNode(key, syntax);
};

/** What a file exports as a whole, with `module.exports =` or `export default`; null if it does not. */
export const exportedBy = (syntax: Syntax): Node | null => {
  const given = syntax.program.body.map((it) => exportedIn(it, syntax)).find((it) => it !== null);
  if (!given) return null;
  const node = bareNode(given);
  return node.type === 'Identifier' ? (valueOfName(node, syntax) ?? node) : node;
};

const exportedIn = (statement: Node, syntax: Syntax): Node | null => {
  const { type, expression } = statement as { readonly type: string; readonly expression?: Node };
  if (type === 'TSExportAssignment') return expression ?? null;
  if (statement.type === 'ExportDefaultDeclaration') return statement.declaration as Node;
  return statement.type === 'ExpressionStatement' ? exportedByAssignment(statement.expression, syntax) : null;
};

/** `module.exports = x`, `exports = module.exports = x`, and `exports.default = x`, as compilers write it. */
const exportedByAssignment = (node: Node, syntax: Syntax): Node | null => {
  if (node.type !== 'AssignmentExpression') return null;
  const { left, right } = node;
  const isWhole =
    left.type === 'MemberExpression' &&
    left.object.type === 'Identifier' &&
    ['module.exports', 'exports.default'].includes(`${left.object.name}.${lastNameOf(left, syntax)}`);
  if (isWhole) return right.type === 'AssignmentExpression' ? right.right : right;
  return isNamed(left as Node, 'exports') ? exportedByAssignment(right, syntax) : null;
};

/** The module that a node imports or requires, `import('x')` too; null for any other node. */
export const importedIn = (node: Node, syntax: Syntax): string | null => {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ImportExpression':
    case 'ExportAllDeclaration':
      return textOfNode(node.source, syntax);
    case 'ExportNamedDeclaration':
      return node.source ? textOfNode(node.source, syntax) : null;
    case 'CallExpression': {
      const [first] = node.arguments;
      return isNamed(node.callee, 'require') && first ? textOfNode(first, syntax) : null;
    }
    default:
      return requiredByType(node, syntax);
  }
};

/** `import x = require('y')` */
const requiredByType = (node: Node, syntax: Syntax): string | null => {
  const { type, expression } = node as { readonly type: string; readonly expression?: Node };
  return type === 'TSExternalModuleReference' && expression ? textOfNode(expression, syntax) : null;
};

export const isNamed = (node: Node, name: string): boolean => node.type === 'Identifier' && node.name === name;

/** The last name of an expression: `f` of `f` and of `a.f`; null for one that does not end in a name. */
export const lastNameOf = (given: Node, syntax: Syntax): string | null => {
  const node = bareNode(given);
  if (node.type === 'Identifier') return node.name;
  return node.type === 'MemberExpression' ? keyOf(node.property, node.computed, syntax) : null;
};

/** A member of an object that is written down; null for one that is computed. */
export const memberIn = (object: ObjectExpression, name: string, syntax: Syntax): Property | null =>
  object.properties.find(
    (it): it is Property => it.type === 'Property' && keyOf(it.key, it.computed, syntax) === name,
  ) ?? null;

/** Whether a test holds for a node, or one inside of it. */
export const someNode = (root: Node, test: (node: Node, parent: Node | null) => boolean): boolean => {
  let isFound = false;
  walk(root, {
    enter(node, parent) {
      if (isFound) this.skip();
      else isFound = test(node, parent);
    },
  });
  return isFound;
};
