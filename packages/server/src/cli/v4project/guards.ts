/**
 * Whether a file of a v4 project restricts what its routes, or those of others, serve. Where its syntax does not tell, it is taken for a guard; what
 * files put over the requests and reads of others is looked for in their text, as that of packages is (`guard-texts.ts`).
 */
import type { Node } from 'estree';
import { guardNames, isEmptyList } from './core-code.js';
import {
  bareNode,
  importedIn,
  isNamed,
  keyOf,
  lastNameOf,
  type Syntax,
  someNode,
  textOfNode,
  valueOfName,
} from './syntax.js';

/** Of a file of routes: empty lists are no guards, but any other mention is one, as is what comes from elsewhere. */
export const guardsRoutes = (syntax: Syntax): boolean =>
  someNode(
    syntax.program,
    (node, parent) => mentionsGuard(node, parent, syntax) || comesFromElsewhere(node, parent, syntax),
  );

const decisive: ReadonlySet<string> = new Set([...guardNames, 'only', 'except']);

const mentionsGuard = (node: Node, parent: Node | null, syntax: Syntax): boolean => {
  if (node.type === 'Property') {
    const name = keyOf(node.key, node.computed, syntax);
    return name !== null && decisive.has(name) && !(isGuardList(name) && isEmptyList(node.value));
  }
  // `config['policies'] = …`
  if (node.type === 'Literal' && parent?.type !== 'Property') return isGuardName(node.value);
  const isKey = parent?.type === 'Property' && parent.key === node;
  return node.type === 'Identifier' && !isKey && isGuardName(node.name);
};

const isGuardList = (name: string): boolean => name === 'policies' || name === 'middlewares';

/** Spread, loaded, listed by name, or options by name. */
const comesFromElsewhere = (node: Node, parent: Node | null, syntax: Syntax): boolean => {
  switch (node.type) {
    case 'SpreadElement':
      return true;
    case 'Property':
      return keyOf(node.key, node.computed, syntax) === null;
    case 'ArrayExpression':
      return node.elements.some((it) => it != null && !shown.has(bareNode(it).type));
    case 'CallExpression':
      if (lastNameOf(node.callee, syntax) === 'createCoreRouter' && node.arguments.length > 1)
        return node.arguments[1]!.type !== 'ObjectExpression';
      return isForeign(importedIn(node, syntax));
    case 'ImportExpression':
      return true;
    case 'Identifier':
      return node.name === 'require' && !isRequireOfStrapi(parent, syntax);
    default:
      return isForeign(importedIn(node, syntax));
  }
};

/** Elements of a list that say all themselves. */
const shown: ReadonlySet<string> = new Set(['ObjectExpression', 'ArrayExpression', 'Literal', 'TemplateLiteral']);

const isRequireOfStrapi = (parent: Node | null, syntax: Syntax): boolean =>
  parent !== null && importedIn(parent, syntax) === '@strapi/strapi';

const isForeign = (name: string | null): boolean => name !== null && name !== '@strapi/strapi';

/** Of extensions, plugins and the index of the project: they may add routes with guards, or guards to the routes of others. */
export const changesRoutes = (file: string, syntaxes: readonly Syntax[]): boolean => {
  const holds = (test: (node: Node, syntax: Syntax, parent: Node | null) => boolean): boolean =>
    syntaxes.some((it) => someNode(it.program, (node, parent) => test(node, it, parent)));
  return (/\broutes?\b/.test(file) || holds(namesRoutes)) && holds(addsGuard);
};

const namesRoutes = (node: Node, syntax: Syntax): boolean =>
  (node.type === 'Identifier' && /^routes?$/.test(node.name)) ||
  /\broutes?\b/.test(importedIn(node, syntax) ?? textOfNode(node, syntax) ?? '');

const addsGuard = (node: Node, syntax: Syntax, parent: Node | null): boolean => {
  switch (node.type) {
    case 'Property': {
      // `const { auth } = …`
      if (parent?.type === 'ObjectPattern') return false;
      const name = keyOf(node.key, node.computed, syntax);
      if (name === 'auth') return !(node.value.type === 'Literal' && node.value.value === false);
      return name !== null && isGuardList(name) && !isOwnPart(node.value, syntax);
    }
    // `route.config.policies.push(…)`, `route.config.auth = …`
    case 'MemberExpression': {
      const of = bareNode(node.object);
      return (of.type === 'Identifier' || of.type === 'MemberExpression') && isGuardName(lastNameOf(of, syntax));
    }
    case 'AssignmentExpression':
      return (
        node.left.type === 'MemberExpression' &&
        isGuardName(lastNameOf(node.left, syntax)) &&
        !isOwnPart(node.right, syntax)
      );
    default:
      return false;
  }
};

const isGuardName = (name: unknown): boolean => guardNames.some((it) => it === name);

/** As v4 generates them: empty, or parts of a plugin from files of its own, which its own routes alone ask. */
const isOwnPart = (given: Node, syntax: Syntax): boolean => {
  const node = bareNode(given);
  if (isEmptyList(node) || (node.type === 'ObjectExpression' && node.properties.length === 0)) return true;
  if (importedIn(node, syntax)?.startsWith('./')) return true;
  if (node.type !== 'Identifier' || !isGuardList(node.name)) return false;
  // of a list by its name nothing tells what is put into it afterwards
  const value = valueOfName(node, syntax);
  if (value) return importedIn(value, syntax)?.startsWith('./') === true;
  const [definition] = syntax.variableOf(node)?.defs ?? [];
  return definition?.type === 'ImportBinding' && String(definition.parent.source.value).startsWith('./');
};

/** Of `config/middlewares`: middlewares of a project see every request, and may refuse it. */
export const addsMiddlewares = (syntax: Syntax): boolean =>
  someNode(
    syntax.program,
    (node) =>
      importedIn(node, syntax) !== null ||
      node.type === 'ImportExpression' ||
      isNamed(node, 'resolve') ||
      isNamed(node, 'require') ||
      (node.type === 'Literal' && /^(?!strapi::)[\w-]+::|^resolve$/.test(String(node.value))),
  );
