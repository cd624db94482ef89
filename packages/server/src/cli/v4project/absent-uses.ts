/** What files of a v4 project use of Strapi that is not here, as far as their syntax shows it. Code that gets there fails. */
import type { CallExpression, Literal, MemberExpression, Node, TemplateElement } from 'estree';
import { absentMembers, UTILS } from '../../v4code/strapi-utils/missing.js';
import { absentServiceAt } from './absent-services.js';
import { refusedCall } from './db-calls.js';
import type { AbsentUse } from './described-uses.js';
import { memberAt, nameOfImport, type Path, pathOf, takenBy } from './paths.js';
import {
  bareNode,
  eachNode,
  importedIn,
  keyOf,
  lastNameOf,
  lineOf,
  type Syntax,
  someNode,
  syntaxOf,
  textOfNode,
} from './syntax.js';

interface Project {
  /** Whether code of the project makes `ctx.session`, so that it is there. */
  readonly keepsSessions: boolean;
  /** Names of plugins that v4 has, or may have, and that do not run here. */
  readonly plugins: ReadonlySet<string>;
}

/** Each once, in order. Comments and texts do not count, unless the file makes code of texts. */
export const absentUses = (file: string, syntax: Syntax, project: Project): readonly AbsentUse[] => {
  const found = new Map<string, AbsentUse>();
  const uses = [...usesIn(file, syntax, project), ...usesInTexts(file, syntax, project)];
  for (const it of uses.sort((a, b) => a.line - b.line)) if (!found.has(it.what)) found.set(it.what, it);
  return [...found.values()];
};

const usesIn = (file: string, syntax: Syntax, { keepsSessions, plugins }: Project): readonly AbsentUse[] => {
  const uses: AbsentUse[] = [];
  const policies: AbsentUse[] = [];
  // v4's panel asks its own policies on routes of its own, which nobody serves here; an API has none, whatever their type
  let isOfPanel = false;
  // what policies are given has no session in v4 either
  const meansSessions = !keepsSessions && !/^src\/(?:api\/[^/]+\/)?policies\//.test(file);
  const note = (what: string | null, node: Node): void => {
    if (what !== null) uses.push({ what, line: lineOf(node) });
  };
  const noteText = (text: string, node: Node, parent: Node | null): void => {
    if (policyOfPanel.test(text)) policies.push({ what: text, line: lineOf(node) });
    const [, plugin = ''] = uidOfPlugin.exec(text) ?? [];
    if (plugins.has(plugin) && isUsed(node, parent)) note(text, node);
  };
  eachNode(syntax.program, (node, parent) => {
    // `import x = require('y')`
    if ((node as { readonly type: string }).type === 'TSExternalModuleReference') note(deepImport(node, syntax), node);
    switch (node.type) {
      case 'MemberExpression':
        note(absentMember(node, parent, syntax, plugins), node);
        if (meansSessions && isSession(node, syntax)) note('ctx.session', node);
        isOfPanel ||= leadsToPanel(node, syntax);
        break;
      case 'CallExpression':
        note(absentAt(pathOf(node, syntax), plugins) ?? absentModel(node, syntax), node);
        for (const it of refusedCall(node, syntax)) note(it.what, it.node);
        note(deepImport(node, syntax), node);
        break;
      case 'VariableDeclarator':
      case 'AssignmentExpression': {
        const [pattern, value] = node.type === 'VariableDeclarator' ? [node.id, node.init] : [node.left, node.right];
        if (pattern.type !== 'ObjectPattern' || !value) break;
        for (const it of takenBy(pattern, pathOf(value, syntax), syntax)) note(absentAt(it.path, plugins), it.node);
        const names = pattern.properties.map((it) => it.type === 'Property' && keyOf(it.key, it.computed, syntax));
        if (meansSessions && isContext(bareNode(value), syntax) && names.includes('session')) note('ctx.session', node);
        break;
      }
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        for (const it of node.params.flatMap((parameter) => takenBy(parameter, null, syntax)))
          note(absentAt(it.path, plugins), it.node);
        break;
      case 'ImportDeclaration':
        note(deepImport(node, syntax), node);
        if (node.source.value !== '@strapi/utils') break;
        for (const it of node.specifiers)
          if (it.type === 'ImportSpecifier') note(absentAt(memberAt(UTILS, nameOfImport(it.imported)), plugins), it);
        break;
      case 'ExportNamedDeclaration':
        note(deepImport(node, syntax), node);
        if (node.source?.value !== '@strapi/utils') break;
        for (const it of node.specifiers) note(absentAt(memberAt(UTILS, nameOfImport(it.local)), plugins), it);
        break;
      case 'ImportExpression':
      case 'ExportAllDeclaration':
        note(deepImport(node, syntax), node);
        break;
      case 'Property':
        isOfPanel ||= keyOf(node.key, node.computed, syntax) === 'type' && textOfNode(node.value, syntax) === 'admin';
        break;
      case 'Literal':
      case 'TemplateElement':
        noteText(textIn(node), node, parent);
        break;
    }
  });
  return isOfPanel && !file.startsWith('src/api/') ? uses : [...uses, ...policies];
};

/** Whether a text may be asked for by the name that it is: neither compared, nor a type, nor the key of an object, nor a further argument. */
const isUsed = (node: Node, parent: Node | null): boolean => {
  switch (parent?.type) {
    case 'BinaryExpression':
    case 'SwitchCase':
    case 'ReturnStatement':
      return false;
    case 'Property':
      return parent.value === node;
    case 'CallExpression':
      return parent.arguments[0] === node;
    default:
      // types are gone where the code runs
      return !/^TS(?:Literal|Property|Module)/.test(parent?.type ?? '');
  }
};

const textIn = (node: Literal | TemplateElement): string =>
  node.type === 'Literal' ? String(node.value) : (node.value.cooked ?? '');

// ---- members

const absentMember = (
  node: MemberExpression,
  parent: Node | null,
  syntax: Syntax,
  plugins: ReadonlySet<string>,
): string | null => {
  const path = pathOf(node, syntax);
  const isSet = parent?.type === 'AssignmentExpression' && parent.left === node;
  const absent = absentAt(path, plugins);
  // code may put a method into a service
  return isSet && path !== null && absentServiceAt(path) === absent ? null : absent;
};

const absentAt = (path: Path | null, plugins: ReadonlySet<string>): string | null => {
  if (path === null) return null;
  if (absentPaths.has(path)) return path;
  return absentPlugin(path, plugins) ?? absentServiceAt(path);
};

/** Those of the panel are services. */
const absentPaths: ReadonlySet<string> = new Set(
  Object.entries(absentMembers)
    .filter(([object]) => object !== 'strapi.admin.services')
    .flatMap(([object, members]) => [...members].map((it) => `${object}.${it}`)),
);

const absentPlugin = (path: Path | null, plugins: ReadonlySet<string>): string | null => {
  const [, called, member] = (path && /^strapi\.plugin(?:\('([^']+)'\)|s\.([^.()]+))$/.exec(path)) || [];
  if (called !== undefined && plugins.has(called)) return `strapi.plugin('${called}')`;
  return member !== undefined && plugins.has(member) ? `strapi.plugins['${member}']` : null;
};

const uidOfPlugin = /^plugin::([\w@/-]+)\.[\w.-]+$/;
const policyOfPanel = /^admin::(?:isAuthenticatedAdmin|hasPermissions|isTelemetryEnabled)$/;

/** `routes.admin` */
const leadsToPanel = (node: MemberExpression, syntax: Syntax): boolean =>
  lastNameOf(node, syntax) === 'admin' && lastNameOf(node.object, syntax) === 'routes';

/** What v4 keeps beside content types, whatever is asked for it: `query('strapi::core-store')`. */
const absentModel = ({ callee, arguments: [first] }: CallExpression, syntax: Syntax): string | null => {
  const uid = first && lastNameOf(callee, syntax) === 'query' ? textOfNode(first, syntax) : null;
  return uid !== null && /^(?:strapi::[\w-]+|webhook)$/.test(uid) ? `query('${uid}')` : null;
};

const deepImport = (node: Node, syntax: Syntax): string | null => {
  const name = importedIn(node, syntax);
  return name?.startsWith('@strapi/strapi/') ? name : null;
};

// ---- sessions

/** `ctx`, `context`, `requestContext.get()` */
const isContext = (given: Node, syntax: Syntax): boolean => {
  const node = bareNode(given);
  if (node.type === 'Identifier') return /^(?:ctx|context)$/.test(node.name);
  return (
    node.type === 'CallExpression' &&
    node.callee.type === 'MemberExpression' &&
    lastNameOf(node.callee, syntax) === 'get' &&
    lastNameOf(node.callee.object, syntax) === 'requestContext'
  );
};

const isSession = (node: MemberExpression, syntax: Syntax): boolean =>
  isContext(node.object, syntax) && lastNameOf(node, syntax) === 'session';

/** Whether code gives requests sessions of its own: by a package of Koa's, or by itself. */
export const makesSessions = (syntax: Syntax): boolean =>
  someNode(syntax.program, (node) => {
    if (node.type === 'Literal') return packageOfSessions.test(String(node.value));
    if (node.type !== 'AssignmentExpression' || node.left.type !== 'MemberExpression') return false;
    // neither reads it first, as `ctx.session = ctx.session || {}` does
    return isSession(node.left, syntax) && !readsSession(node.right, syntax);
  });

const packageOfSessions = /^(?:@koa\/session|koa-[\w-]*session[\w-]*)$/;

const readsSession = (value: Node, syntax: Syntax): boolean =>
  someNode(value, (node) => node.type === 'MemberExpression' && lastNameOf(node, syntax) === 'session');

// ---- code in texts

/** The same of the texts of a file that makes code of some: nothing tells of which. */
const usesInTexts = (file: string, syntax: Syntax, project: Project): readonly AbsentUse[] => {
  if (!someNode(syntax.program, (it) => evaluates(it, syntax))) return [];
  const uses: AbsentUse[] = [];
  eachNode(syntax.program, (node) => {
    if (node.type !== 'Literal' && node.type !== 'TemplateElement') return;
    const line = lineOf(node);
    const code = syntaxOf(file, textIn(node));
    if (code) uses.push(...usesIn(file, code, project).map((it) => ({ ...it, line })));
    // a part of what is put together
    else for (const what of namedIn(textIn(node), project)) uses.push({ what, line });
  });
  return uses;
};

const namedIn = (text: string, { plugins }: Project): readonly string[] =>
  [...text.matchAll(/\bstrapi(?:\.\w+)+/g)].flatMap(([path]) => {
    const steps = path.split('.');
    return steps.flatMap((_step, i) => absentAt(steps.slice(0, i + 1).join('.'), plugins) ?? []);
  });

const evaluates = (node: Node, syntax: Syntax): boolean =>
  node.type === 'CallExpression' || node.type === 'NewExpression'
    ? ['eval', 'Function'].includes(lastNameOf(node.callee, syntax) ?? '') || isVm(importedIn(node, syntax))
    : isVm(importedIn(node, syntax));

const isVm = (name: string | null): boolean => name === 'vm' || name === 'node:vm';
