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
}

/** Objects with a method and a path, in any order of their keys. */
export const readRoutes = (text: string): readonly DeclaredRoute[] => {
  const parts = text.split(/(?=\bmethod['"]? ?:|\bpath['"]? ?:)/);
  const routes: DeclaredRoute[] = [];
  for (let i = 0; i + 1 < parts.length; i++) {
    const [method, path] = [textAfter('method', parts[i]!), textAfter('path', parts[i]!)];
    const [otherMethod, otherPath] = [textAfter('method', parts[i + 1]!), textAfter('path', parts[i + 1]!)];
    const found = [method ?? otherMethod, path ?? otherPath] as const;
    if (found[0] === null || found[1] === null || (method === null) === (otherMethod === null)) continue;
    const rest = parts[i + 1]!;
    const [, handler = null] = /\bhandler['"]? ?: ?['"]([^'"]+)['"]/.exec(`${parts[i]} ${rest}`) ?? [];
    const guards = ['policies', 'middlewares', 'auth'].filter((it) =>
      new RegExp(String.raw`\b${it}['"]? ?: ?(?!\[ ?\])`).test(rest),
    );
    routes.push({ method: found[0].toUpperCase(), path: found[1], handler, guards });
    i += 1;
  }
  return routes;
};

const textAfter = (key: string, text: string): string | null =>
  new RegExp(String.raw`^${key}['"]? ?: ?(['"\`])(.*?)\1`).exec(text)?.[2] ?? null;

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
