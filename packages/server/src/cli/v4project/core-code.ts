/** What the routers, controllers and services of v4's factories change about the content API. */
import type {
  ArrowFunctionExpression,
  CallExpression,
  FunctionExpression,
  Node,
  ObjectExpression,
  Property,
} from 'estree';
import { nameOfImport } from './paths.js';
import {
  bareNode,
  eachNode,
  exportedBy,
  importedIn,
  keyOf,
  lastNameOf,
  memberIn,
  type Syntax,
  someNode,
  textOfNode,
  valueOfName,
} from './syntax.js';

/** The actions of v4's content API. */
export const coreActions = ['find', 'findOne', 'create', 'update', 'delete'] as const;
export type CoreAction = (typeof coreActions)[number];

const isAction = (name: string | null): boolean => coreActions.some((it) => it === name);

/** A core router, as `createCoreRouter(uid, { only, except })` makes it. */
export interface CoreRouter {
  readonly uid: string;
  /** Actions without a route. */
  readonly unserved: readonly CoreAction[];
  /** Below which its paths are; empty for none, or for one that the text does not tell. */
  readonly prefix: string;
}

/** What a file exports, if it does nothing else but import v4's factories. */
const soleExport = (syntax: Syntax): Node | null => {
  const others = syntax.program.body.filter((it) => !importsFactories(it, syntax));
  return others.length === 1 ? exportedBy(syntax) : null;
};

/** `'use strict'` is of no effect either. */
const importsFactories = (statement: Node, syntax: Syntax): boolean => {
  if (statement.type === 'ImportDeclaration') return statement.source.value === '@strapi/strapi';
  if (statement.type === 'ExpressionStatement') return 'directive' in statement && statement.directive !== undefined;
  return (
    statement.type === 'VariableDeclaration' &&
    statement.declarations.every(({ init }) => {
      const from = init?.type === 'MemberExpression' ? init.object : init;
      return from != null && importedIn(from, syntax) === '@strapi/strapi';
    })
  );
};

/** A call of v4's factories. */
const factoryCall = (node: Node | null, syntax: Syntax): CallExpression | null =>
  node?.type === 'CallExpression' &&
  /^createCore(?:Controller|Router|Service)$/.test(lastNameOf(node.callee, syntax) ?? '')
    ? node
    : null;

// ---- as v4's generator writes it

/** Nothing is lost without such a file. @param file its place in the project. */
export const isAsGenerated = (file: string, syntax: Syntax): boolean =>
  generated.find(([place]) => place.test(file))?.[1](syntax) ?? false;

const generated: readonly (readonly [RegExp, (syntax: Syntax) => boolean])[] = [
  [
    /^src\/api\/[^/]+\/(?:controllers|routes|services)\//,
    (syntax) => {
      const given = factoryCall(soleExport(syntax), syntax)?.arguments;
      return given?.length === 1 && textOfNode(given[0]!, syntax) !== null;
    },
  ],
  [
    /^src\/index\./,
    (syntax) => {
      const exported = soleExport(syntax);
      return exported?.type === 'ObjectExpression' && exported.properties.every((it) => isEmptyStep(it, syntax));
    },
  ],
  // belongs to the admin panel
  [/^config\/(?:env\/[^/]+\/)?admin\./, () => true],
  // only v4's built-in middlewares
  [
    /^config\/(?:env\/[^/]+\/)?middlewares\./,
    (syntax) => {
      const exported = soleExport(syntax);
      return (
        exported?.type === 'ArrayExpression' &&
        exported.elements.every((it) => it !== null && /^strapi::[\w-]+$/.test(textOfNode(it, syntax) ?? ''))
      );
    },
  ],
  [
    /^config\/(?:env\/[^/]+\/)?plugins\./,
    (syntax) => {
      const exported = soleExport(syntax);
      const made = exported?.type === 'ArrowFunctionExpression' ? exported.body : exported;
      return made?.type === 'ObjectExpression' && made.properties.length === 0;
    },
  ],
];

/** `register() {}` */
const isEmptyStep = (member: ObjectExpression['properties'][number], syntax: Syntax): boolean => {
  if (member.type !== 'Property') return false;
  const { key, computed, value } = member;
  const body = isFunction(value) ? value.body : null;
  return (
    ['register', 'bootstrap'].includes(keyOf(key, computed, syntax) ?? '') &&
    body?.type === 'BlockStatement' &&
    body.body.length === 0
  );
};

const isFunction = (node: Node): node is FunctionExpression | ArrowFunctionExpression =>
  node.type === 'FunctionExpression' || node.type === 'ArrowFunctionExpression';

// ---- routers

/** Of a file that is a core router and nothing else, with lists of names alone; `prefix` and `config` are empty. */
export const coreRouterOf = (syntax: Syntax): CoreRouter | null => {
  const [first, options, ...others] = factoryCall(soleExport(syntax), syntax)?.arguments ?? [];
  const uid = first ? textOfNode(first, syntax) : null;
  if (uid === null || options?.type !== 'ObjectExpression' || others.length > 0) return null;
  const named = new Map<string, readonly string[]>();
  for (const it of options.properties) {
    const names = it.type === 'Property' ? namesOfOption(it, syntax) : null;
    if (names === null) return null;
    named.set(...names);
  }
  return named.size === 0 ? null : { uid, unserved: unservedBy(named), prefix: '' };
};

/** @param options `only` and `except`, with the actions that they name. */
const unservedBy = (options: ReadonlyMap<string, readonly string[]>): readonly CoreAction[] => {
  const isServed = (action: CoreAction): boolean =>
    (options.get('only')?.includes(action) ?? true) && options.get('except')?.includes(action) !== true;
  return coreActions.filter((it) => !isServed(it));
};

/** Those that a file makes, wherever in it. Lists that its text does not tell leave out nothing. */
export const coreRoutersIn = (syntax: Syntax): readonly CoreRouter[] => {
  const found: CoreRouter[] = [];
  eachRouterCall(syntax, (uid, options) => {
    const properties = options?.type === 'ObjectExpression' ? options.properties : [];
    const lists = properties.flatMap((it) => (it.type === 'Property' ? [namesOfOption(it, syntax)] : []));
    const named = new Map(lists.filter((it) => it !== null));
    found.push({ uid, unserved: unservedBy(named), prefix: prefixIn(options, syntax) });
  });
  return found;
};

const eachRouterCall = (syntax: Syntax, visit: (uid: string, options: Node | undefined) => void): void =>
  eachNode(syntax.program, (call) => {
    if (call.type !== 'CallExpression' || lastNameOf(call.callee, syntax) !== 'createCoreRouter') return;
    const [first, options] = call.arguments;
    const uid = first ? textOfNode(first, syntax) : null;
    if (uid !== null) visit(uid, options);
  });

/** Empty for none, or for one that the text does not tell. @param router its options, or what its file exports. */
const prefixIn = (router: Node | null | undefined, syntax: Syntax): string => {
  const given = router?.type === 'ObjectExpression' ? memberIn(router, 'prefix', syntax)?.value : null;
  return (given && textOfNode(given, syntax)) ?? '';
};

/** Null for what is none, or has a value that decides about requests. */
const namesOfOption = ({ key, computed, value }: Property, syntax: Syntax): [string, readonly string[]] | null => {
  const name = keyOf(key, computed, syntax) ?? '';
  if (name === 'prefix') return textOfNode(value, syntax) === '' ? [name, []] : null;
  if (name === 'config') return value.type === 'ObjectExpression' && value.properties.length === 0 ? [name, []] : null;
  if ((name !== 'only' && name !== 'except') || value.type !== 'ArrayExpression') return null;
  const names = value.elements.map((it) => (it?.type === 'Literal' ? textOfNode(it, syntax) : null));
  return names.includes(null) ? null : [name, names as string[]];
};

/** A route that a project declares itself. */
export interface DeclaredRoute {
  /** In capitals. */
  readonly method: string;
  /** Below the prefix of its router, without that of the API: `/articles/:id/publish`. */
  readonly path: string;
  /** `article.publish`; null for a function. */
  readonly handler: string | null;
  /** What guards it: `policies`, `middlewares`, `auth`. */
  readonly guards: readonly string[];
  /** `auth: false`: nobody is asked for a permission. */
  readonly isOpen: boolean;
}

/** Objects with a method and a path. */
export const routesIn = (syntax: Syntax): readonly DeclaredRoute[] => {
  const routes: DeclaredRoute[] = [];
  const prefix = prefixIn(exportedBy(syntax), syntax);
  eachNode(syntax.program, (node) => {
    if (node.type !== 'ObjectExpression') return;
    const textAt = (name: string): string | null => {
      const value = memberIn(node, name, syntax)?.value;
      return value ? textOfNode(value, syntax) : null;
    };
    const [method, path] = [textAt('method'), textAt('path')];
    if (method === null || path === null) return;
    const isOpen = someNode(node, (it) => opens(it, syntax));
    const guards = guardNames.filter(
      (name) =>
        !(name === 'auth' && isOpen) &&
        someNode(
          node,
          (it) => it.type === 'Property' && keyOf(it.key, it.computed, syntax) === name && !isEmptyList(it.value),
        ),
    );
    routes.push({ method: method.toUpperCase(), path: `${prefix}${path}`, handler: textAt('handler'), guards, isOpen });
  });
  return routes;
};

/** What guards a route. */
export const guardNames = ['policies', 'middlewares', 'auth'] as const;

export const isEmptyList = (node: Node): boolean => node.type === 'ArrayExpression' && node.elements.length === 0;

/** `auth: false` */
const opens = (node: Node, syntax: Syntax): boolean =>
  node.type === 'Property' &&
  keyOf(node.key, node.computed, syntax) === 'auth' &&
  node.value.type === 'Literal' &&
  node.value.value === false;

/** Permissions that nobody is asked for, because core routers give their actions `auth: false`. */
export const openActionsIn = (syntax: Syntax): readonly string[] => {
  const found: string[] = [];
  eachRouterCall(syntax, (uid, options) => {
    if (!options) return;
    eachNode(options, (it) => {
      if (it.type !== 'Property' || it.value.type !== 'ObjectExpression') return;
      const name = keyOf(it.key, it.computed, syntax);
      if (isAction(name) && it.value.properties.some((option) => opens(option, syntax))) found.push(`${uid}.${name}`);
    });
  });
  return found;
};

// ---- controllers and services

/** Whether a file makes a core controller or service, or names what does. */
export const usesFactory = (syntax: Syntax): boolean =>
  someNode(syntax.program, (it) => it.type === 'Identifier' && /^createCore(?:Controller|Service)$/.test(it.name));

/** Whether a controller or service may replace an action. Errs on the side of yes. */
export const replacesAction = (syntax: Syntax): boolean =>
  someNode(syntax.program, (it) => definesAction(it, syntax)) || hasUnknownMembers(syntax);

/** A member with the name of a core action that may be a function. */
const definesAction = (node: Node, syntax: Syntax): boolean => {
  switch (node.type) {
    case 'Property':
      return isAction(keyOf(node.key, node.computed, syntax)) && mayBeFunction(node.value);
    case 'MethodDefinition':
    case 'PropertyDefinition':
      return isAction(keyOf(node.key, node.computed, syntax));
    case 'FunctionDeclaration':
      return isAction(node.id?.name ?? null);
    case 'ExportSpecifier':
      return isAction(nameOfImport(node.exported));
    case 'AssignmentExpression':
      return node.left.type === 'MemberExpression' && isAction(lastNameOf(node.left, syntax));
    default:
      return false;
  }
};

const mayBeFunction = (given: Node): boolean => {
  const { type } = bareNode(given);
  return !['Literal', 'TemplateLiteral', 'ObjectExpression', 'ArrayExpression', 'ObjectPattern'].includes(type);
};

/** `createCoreController(uid, base)`, `() => ({ ...base })`, `module.exports = require('../base')` */
const hasUnknownMembers = (syntax: Syntax): boolean => {
  const exported = exportedBy(syntax);
  if (exported !== null && factoryCall(exported, syntax) === null && mayHoldMembers(exported, syntax)) return true;
  // wherever the call stands, and however it is exported
  return someNode(syntax.program, (it) => {
    const given = factoryCall(it, syntax)?.arguments[1];
    return given !== undefined && mayHoldMembers(given, syntax);
  });
};

const mayHoldMembers = (given: Node, syntax: Syntax): boolean => {
  const node = bareNode(given);
  const value = node.type === 'Identifier' ? valueOfName(node, syntax) : node;
  if (value === null) return true;
  if (isFunction(value)) return returnedBy(value).some((it) => isUnknown(it, syntax));
  return isUnknown(value, syntax);
};

const returnedBy = ({ body }: FunctionExpression | ArrowFunctionExpression): readonly Node[] =>
  body.type === 'BlockStatement'
    ? body.body.flatMap((it) => (it.type === 'ReturnStatement' && it.argument ? [it.argument] : []))
    : [body];

const isUnknown = (given: Node, syntax: Syntax): boolean => {
  const node = bareNode(given);
  const value = node.type === 'Identifier' ? valueOfName(node, syntax) : node;
  if (value?.type !== 'ObjectExpression')
    return value === null || !/^(?:Class|Function|Arrow|Literal)/.test(value.type);
  return value.properties.some(
    (it) => it.type === 'SpreadElement' || (it.computed && keyOf(it.key, true, syntax) === null),
  );
};
