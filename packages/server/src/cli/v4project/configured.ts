/** What files of `config/` name, of any environment and before they are evaluated: plugins, middlewares, and where they are. */
import path from 'node:path';
import { servedPlugins } from '../../v4code/loading/parts.js';
import { installedPlugins } from '../../v4code/loading/read-extensions.js';
import { harmless, ofCore } from '../../v4code/plugins/absent.js';
import type { SyntaxAt } from './calls.js';
import { filesAt } from './project-files.js';
import { eachNode, keyOf, memberIn, type Syntax, someNode, textOfNode } from './syntax.js';

const syntaxesAt = (projectDir: string, syntaxAt: SyntaxAt, at: readonly string[]): readonly Syntax[] =>
  at.flatMap((place) => filesAt(projectDir, place.split('/'))).flatMap((file) => syntaxAt(file) ?? []);

const ofPlugins = ['config/plugins', 'config/env/*/plugins'];
const ofMiddlewares = ['config/middlewares', 'config/env/*/middlewares'];

export interface LocalPlugins {
  /** Of their files, for `filesAt`. */
  readonly places: readonly string[];
  readonly isEnabled: (file: string) => boolean;
  /** Whether it is a plugin's part of the admin panel. */
  readonly isOfPanel: (file: string) => boolean;
}

/** Plugins in folders of the project run only if `config/plugins` names their folder; where it computes places, it may name all. */
export const localPlugins = (projectDir: string, syntaxAt: SyntaxAt): LocalPlugins => {
  const syntaxes = syntaxesAt(projectDir, syntaxAt, ofPlugins);
  const folders = syntaxes.flatMap(resolvedIn);
  const isAny = syntaxes.some(({ program }) =>
    someNode(
      program,
      (node) =>
        (node.type === 'TemplateLiteral' && node.expressions.length > 0) ||
        (node.type === 'Identifier' && /^(?:readdir\w*|__dirname)$/.test(node.name)),
    ),
  );
  return {
    places: folders.filter((it) => !it.startsWith('..')).map((it) => `${it}/##`),
    isEnabled: (file) => isAny || folders.some((it) => file.startsWith(`${it}/`)),
    isOfPanel: (file) =>
      /^src\/plugins\/[^/]+\/admin\//.test(file) || folders.some((it) => file.startsWith(`${it}/admin/`)),
  };
};

/** Names of plugins that v4 has by the packages of the project or by `config/plugins`, and that do not run here. */
export const absentPlugins = (projectDir: string, syntaxAt: SyntaxAt): ReadonlySet<string> => {
  const [on, off]: [string[], Set<string>] = [[], new Set()];
  for (const syntax of syntaxesAt(projectDir, syntaxAt, ofPlugins))
    eachNode(syntax.program, (node) => {
      const name = node.type === 'Property' ? keyOf(node.key, node.computed, syntax) : null;
      if (node.type !== 'Property' || name === null) return;
      const { value } = node;
      const given = value.type === 'ObjectExpression' ? memberIn(value, 'enabled', syntax)?.value : value;
      if (given?.type === 'Literal' && given.value === false) off.add(name);
      else on.push(name);
    });
  const names = new Set([...[...installedPlugins(projectDir)].filter((it) => !off.has(it)), ...on, ...ofCore]);
  return new Set([...names].filter((it) => !servedPlugins.includes(it) && !harmless.includes(it)));
};

/** What a file names by `resolve`, from the folder of the project. */
const resolvedIn = (syntax: Syntax): readonly string[] => {
  const found: string[] = [];
  eachNode(syntax.program, (node) => {
    const place =
      node.type === 'Property' && keyOf(node.key, node.computed, syntax) === 'resolve'
        ? textOfNode(node.value, syntax)
        : null;
    if (place !== null && /^\.?\/?[\w./-]+$/.test(place))
      found.push(path.posix.normalize(place.replace(/^\.?\//, '')).replace(/\/$/, ''));
  });
  return found;
};

/** Whatever `config/middlewares` of any environment may name: `plugin::rest-cache.recv`, and places of `resolve`. */
export const namesOfMiddlewares = (projectDir: string, syntaxAt: SyntaxAt): readonly string[] =>
  syntaxesAt(projectDir, syntaxAt, ofMiddlewares).flatMap((syntax) => {
    const names: string[] = [];
    eachNode(syntax.program, (node) => {
      const text = node.type === 'Literal' ? String(node.value) : '';
      if (/^[\w-]+::[\w.-]+$/.test(text)) names.push(text);
    });
    return [...names, ...resolvedIn(syntax)];
  });

/** The files of middlewares, global ones and those of routes, that are named by `resolve`: they may be anywhere. */
export const resolvedMiddlewares = (projectDir: string, syntaxAt: SyntaxAt): readonly string[] =>
  syntaxesAt(projectDir, syntaxAt, [...ofMiddlewares, 'src/api/*/routes/#'])
    .flatMap(resolvedIn)
    .map((it) => it.replace(/\.[cm]?[jt]s$/, ''))
    .filter((it) => !it.startsWith('..'))
    .flatMap((it) => [it, `${it}/index`].flatMap((at) => filesAt(projectDir, at.split('/'))));
