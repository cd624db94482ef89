/** Reads what the routers, controllers and services of v4's factories change about the content API, from their text. */

/** The actions of v4's content API. */
export const coreActions = ['find', 'findOne', 'create', 'update', 'delete'] as const;
export type CoreAction = (typeof coreActions)[number];

/** A core router, as `createCoreRouter(uid, { only, except })` makes it. */
export interface CoreRouter {
  readonly uid: string;
  /** Actions without a route. */
  readonly unserved: readonly CoreAction[];
}

const list = String.raw`\[ ?(?:['"]\w+['"] ?,? ?)*\]`;
const option = String.raw`(?<quote>['"]?)(?:(?:only|except)\k<quote> ?: ?${list}|prefix\k<quote> ?: ?(?:''|"")|config\k<quote> ?: ?\{ ?\})`;

/** The call with its options: literal lists only; `prefix` and `config` must be empty. */
export const routerCall = String.raw`(?:factories ?\. ?)?createCoreRouter\( ?['"](?<uid>[\w:.-]+)['"](?: as any)? ?, ?\{ ?(?<options>(?:${option} ?,? ?)+)\} ?,? ?\) ?;?`;

/** @param match of an expression that contains `routerCall`. */
export const readRouter = ({ groups }: RegExpExecArray): CoreRouter => {
  const { uid = '', options = '' } = groups ?? {};
  const named = (name: string): readonly string[] | null => {
    const [, names] = new RegExp(String.raw`\b${name}['"]? ?: ?\[([^\]]*)\]`).exec(options) ?? [];
    return names === undefined ? null : [...names.matchAll(/\w+/g)].map(([it]) => it);
  };
  const [only, except] = [named('only'), named('except')];
  const isServed = (action: CoreAction): boolean =>
    (only === null || only.includes(action)) && except?.includes(action) !== true;
  return { uid, unserved: coreActions.filter((it) => !isServed(it)) };
};

/** A route that a project declares itself. */
export interface DeclaredRoute {
  /** In capitals. */
  readonly method: string;
  /** As declared, without the prefix: `/articles/:id/publish`. */
  readonly path: string;
  /** `article.publish`; null for a function. */
  readonly handler: string | null;
  /** What guards it: `policies`, `middlewares`, `auth`. */
  readonly guards: readonly string[];
  /** `auth: false`: nobody is asked for a permission. */
  readonly isOpen: boolean;
}

/** Objects with a method and a path, in any order of their keys. */
export const readRoutes = (text: string): readonly DeclaredRoute[] =>
  objectsIn(text).flatMap(({ own, whole }) => {
    const [method, path] = [textAt('method', own), textAt('path', own)];
    if (method === null || path === null) return [];
    const isOpen = opens.test(whole);
    const guards = ['policies', 'middlewares', 'auth'].filter(
      (it) => !(it === 'auth' && isOpen) && new RegExp(String.raw`\b${it}['"]? ?:(?! ?\[ ?\])`).test(whole),
    );
    return [{ method: method.toUpperCase(), path, handler: textAt('handler', own), guards, isOpen }];
  });

const opens = /\bauth['"]? ?: ?false\b/;

/** Permissions that nobody is asked for, because core routers give their actions `auth: false`. */
export const readOpenActions = (text: string): readonly string[] =>
  text.split(/(?=\bcreateCoreRouter\()/).flatMap((call) => {
    const [, uid] = /^createCoreRouter\( ?['"]([\w:.-]+)['"]/.exec(call) ?? [];
    if (uid === undefined) return [];
    const open = objectsIn(call).filter(({ key, own }) => coreActions.some((it) => it === key) && opens.test(own));
    return open.map(({ key }) => `${uid}.${key}`);
  });

interface ObjectText {
  /** The key before it; null if it is no value of one. */
  readonly key: string | null;
  /** What is between its braces, without the objects inside. */
  readonly own: string;
  readonly whole: string;
}

/** Whatever is between braces, in the order of their beginnings. */
const objectsIn = (text: string): readonly ObjectText[] => {
  const open: { readonly at: number; readonly key: string | null; own: string }[] = [];
  const found: (ObjectText & { readonly at: number })[] = [];
  let last = 0;
  for (const { 0: token, index } of text.matchAll(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|[{}]/g)) {
    if (token !== '{' && token !== '}') continue;
    const before = text.slice(last, index);
    const inner = open.at(-1);
    if (inner) inner.own += before;
    last = index + 1;
    if (token === '{') {
      const [, key = null] = /([\w$-]+)['"]? ?: ?$/.exec(before) ?? [];
      open.push({ at: last, key, own: '' });
    } else {
      const it = open.pop();
      if (it) found.push({ ...it, whole: text.slice(it.at, index) });
    }
  }
  return found.sort((a, b) => a.at - b.at);
};

const textAt = (key: string, text: string): string | null =>
  new RegExp(String.raw`(?<![\w$.-])['"]?${key}['"]? ?: ?(['"\`])(.*?)\1`).exec(text)?.[2]?.replace(/\\(.)/g, '$1') ??
  null;

const action = `(?:${coreActions.join('|')})`;
/** Ways to define a member with the name of a core action, or members that the text does not show. */
const replacements: readonly RegExp[] = [
  // find(ctx) { }
  new RegExp(String.raw`(?<![\w$.])${action} ?\([^()]*\) ?(?::[^={]+)?\{`),
  // find: async (ctx) => …, 'find': find
  new RegExp(String.raw`(?<![\w$.?])(['"]?)${action}\1 ?: ?(?:\(|(?!(?:true|false|null|undefined)\b)[A-Za-z_$])`),
  // ['find'](ctx) { }, controller.find = …, controller['find'] = …
  new RegExp(String.raw`\[ ?['"]${action}['"] ?\] ?(?:\(|:|=(?!=))|\.${action} ?=(?![=>])`),
  // { find, findOne }
  new RegExp(`[{,] ?${action} ?(?=[,}])`),
  // createCoreController(uid, base), … => ({ ...base }), module.exports = require('../base')
  /createCore(?:Controller|Service)\([^,)]*, ?(?!async\b|function\b|[\w$]+ ?=>)[A-Za-z_$]/,
  /(?:=> ?\(|createCore(?:Controller|Service)\([^,)]*,) ?\{ ?\.\.\./,
  /(?:module\.exports ?=|export default) ?require\b/,
];

/** Whether a controller or service may replace an action. Errs on the side of yes. */
export const replacesAction = (text: string): boolean => replacements.some((it) => it.test(text));
