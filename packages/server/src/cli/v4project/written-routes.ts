/** The routes of content as the routers of a project are written: for whoever does not run them. */
import { type Route, routesOf } from '../../http/routes.js';
import type { Model } from '../../model/model.js';
import { unservedByAll } from './code.js';
import type { CoreRouter } from './core-code.js';

/** Without what the routers leave out, and below their prefixes. @param prefix of the API. */
export const routesAsWritten = (model: Model, prefix: string, routers: readonly CoreRouter[]): readonly Route[] =>
  routesOf(model, prefix, unservedByAll(routers)).map((route) => {
    const below = commonPrefix(routers.filter((it) => it.uid === route.type.uid));
    return { ...route, path: `${prefix}${below}${route.path.slice(prefix.length)}` };
  });

/** None if several routers of one type differ: then the text does not tell which action is where. */
const commonPrefix = (routers: readonly CoreRouter[]): string => {
  const [first = '', ...others] = new Set(routers.map((it) => it.prefix));
  return others.length === 0 ? first : '';
};
