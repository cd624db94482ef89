/** What the text of code shows of guards that it puts over the requests and reads of others. */

/** Any spelling of one member of an object, or of a call: `.auth`, `['auth']`, `?.auth`, `('auth')`. */
const member = String.raw`(?:\s*\??\.\s*[\w$]+|\s*(?:\?\.)?\[[^\]]*\]|\([^()]*\))`;
const assigned = String.raw`\s*(?:\?\?|\|\|)?=(?![=>])`;

/** Middlewares on the whole server see every request. */
const addsMiddlewares = /\bserver\s*\??\.\s*(?:(?:app|router|api\s*\([^()]*\))\s*\??\.\s*)?use\b/;

/** Policies and middlewares for routes of others; the own list of a route that is declared is no such thing. */
const changesRouteGuards = new RegExp(
  [
    String.raw`(?:\.\s*policies|\bconfig\s*\??\.\s*middlewares)\)?\s*\??\.\s*(?:push|unshift|splice)\b`,
    String.raw`\bconfig\s*\??\.\s*(?:policies|middlewares)${assigned}`,
    String.raw`\b(?:policies|middlewares)['"]?\s*:\s*\[\s*\.\.\.[^\]]*\.\s*(?:policies|middlewares)\b`,
    String.raw`['"\x60]config\.(?:policies|middlewares)['"\x60]`,
  ].join('|'),
);

/** `controllers.user.find = …` of whatever is called so. */
const replacesAny = new RegExp(String.raw`\bcontrollers?\b${member}+${assigned}`);
export const replacesControllers = (text: string): boolean => replacesAny.test(text);

/** `strapi.controller(uid).find = …`, `plugin.controllers.auth.callback = …`: of others, as what is one's own has one name less. */
const replacesActions = new RegExp(
  String.raw`\bcontrollers${member}{2,}${assigned}|\bcontroller\s*\([^()]*\)${member}+${assigned}`,
);

/** The same of services; those of a plugin's own have one name less. */
const replacesServices = new RegExp(
  String.raw`\bservices${member}{2,}${assigned}|\bservice\s*\([^()]*\)${member}+${assigned}`,
);

/** `Object.assign(strapi.controllers[uid], …)`. */
const mergesInto = /\bObject\s*\.\s*assign\s*\(\s*[\w$.?()'"`:\s[\]-]{0,200}\.\s*(?:controllers?|services?|config)\b/;
/** `route.config = { …, policies }`; what a plugin exports as `config` is its own. */
const replacesRouteConfig = new RegExp(
  String.raw`(?<!\bexports)\.\s*config${assigned}\s*\{[^;]{0,300}\b(?:policies|middlewares|auth)\b`,
);

/** Koa's application and its middlewares, by whatever name they are used afterwards; `app.keys` and the like are settings. */
const reachesApp = new RegExp(
  [
    String.raw`\bserver\s*\??\.\s*(?:app|router)\b(?!\s*\??\.\s*(?:keys|proxy|env|on|emit)\b)`,
    String.raw`\.\s*middleware\s*\??\.\s*(?:push|unshift|splice)\b`,
    String.raw`\bhttpServer\b[^;]{0,300}[Ll]isteners?\b`,
  ].join('|'),
);

/** What responses show of attributes. */
const hidesAttributes = new RegExp(
  String.raw`(?:\.\s*|\[\s*['"\x60])private(?:Attributes)?(?:['"\x60]\s*\])?${assigned}|\bset\s*\(\s*['"\x60]api\.responses\b`,
);

/** Where a variable for a controller or service is declared, and how far behind it what is done with it is looked for. */
const holder = new RegExp(
  String.raw`\b(?:const|let|var)\s+([\w$]+)\s*=\s*[\w$.?\s()'\x22\x60-]{0,300}\b(?:controllers?|services?)\b${member}*\s*(?:;|,|\n|\b(?:const|let|var)\b|$)`,
  'g',
);
const reachOfHolder = 2000;
const replacesByVariable = (text: string): boolean =>
  [...text.matchAll(holder)].some(({ 0: { length }, 1: name = '', index }) => {
    const behind = text.slice(index + length, index + length + reachOfHolder);
    return new RegExp(String.raw`(?<![\w$.])${name.replaceAll('$', '\\$')}${member}+${assigned}`).test(behind);
  });

/** What stands behind every request, whoever declares its route. */
const changesRegistries =
  /\bcontainer\s*\??\.\s*get\s*\(\s*['"`](?:auth|controllers|services|policies)['"`]|\bsanitizers\s*\??\.\s*(?:get|add|set)\b|\bget\s*\(\s*['"`]sanitizers['"`]/;

/** Decorations of the entity service come between every query. */
const decorates = /\bentityService\s*\??\.\s*decorate\b/;
const assignsService = new RegExp(String.raw`\.\s*entityService\s*\??\.\s*[\w$]+${assigned}`);

const readHooks = /\b(?:before|after)(?:FindOne|FindMany|Count)\b/;

/** Lifecycles of reads, and decorations of the entity service, may narrow every query, or empty its results. */
export const changesReads = (text: string): boolean => readHooks.test(text) || changesAllReads(text);

const changesAllReads = (text: string): boolean => decorates.test(text) || assignsService.test(text);

/** Whether code reaches for requests that are not its own: of all routes, of the routes of others, or of controllers. */
export const guardsOthers = (text: string): boolean =>
  addsMiddlewares.test(text) ||
  changesRouteGuards.test(text) ||
  replacesActions.test(text) ||
  replacesServices.test(text) ||
  replacesByVariable(text) ||
  mergesInto.test(text) ||
  replacesRouteConfig.test(text) ||
  reachesApp.test(text) ||
  hidesAttributes.test(text) ||
  changesRegistries.test(text);

/** The same of the server of a plugin: hooks of its own content types guard nothing of others, those that it subscribes may. */
export const pluginGuards = (text: string): boolean =>
  guardsOthers(text) ||
  changesAllReads(text) ||
  (/\blifecycles\s*\??\.\s*subscribe\b/.test(text) && readHooks.test(text));
