/** What hooks leave of `event.result` of the server's own writes, which is what v4 responds with. */
import { isDeepStrictEqual } from 'node:util';
import cloneDeep from 'lodash/cloneDeep.js';
import type { EntryType, Model } from '../../model/model.js';
import type { HooksOf, SeenEntry } from '../../write/request.js';
import { isMembers } from '../loading/parts.js';
import { sanitizeOutput } from '../strapi-utils/sanitize.js';
import type { Entities } from './entities.js';
import { hooksOf } from './hooks.js';
import type { Lifecycles, Operation } from './lifecycles.js';

/** The hooks of the write line, which tell what they have left. @param model that of clients: code's own hides nothing. */
export const hooksWithResults =
  (lifecycles: Lifecycles, entities: () => Entities, model: Model): HooksOf =>
  (request) => {
    let ended: Result | null = null;
    // operations of code are begun by code, and it gets their results
    const begin: Lifecycles['begin'] = (...given) =>
      noting(lifecycles.begin(...given), (it) => {
        ended = it;
      });
    const hooks = hooksOf({ ...lifecycles, begin }, entities)(request);
    return hooks && { ...hooks, seen: () => ended && seenOf(ended, request.type, model) };
  };

/** A result before the hooks that hear of it, and after them: they change it in place. */
interface Result {
  readonly found: unknown;
  readonly left: unknown;
}

const noting = (operation: Operation, note: (result: Result) => void): Operation => {
  const { after } = operation;
  return Object.assign(operation, {
    after: async (result: unknown) => {
      const found = cloneDeep(result);
      await after(result);
      note({ found, left: result });
    },
  });
};

const seenOf = (result: Result, type: EntryType, model: Model): SeenEntry => ({
  show: (caller, asked) => {
    const shown = sanitizeOutput(model, result.left, type, caller);
    return JSON.stringify(asked === null ? shown : selected(JSON.parse(asked), shown, result, type));
  },
});

/**
 * What a client has selected by a query, of which the hooks have not heard, as far as they have left it.
 * @param shown what of the result the client may see.
 */
const selected = (asked: unknown, shown: unknown, { found, left }: Result, { attributes }: EntryType): unknown => {
  if (!isMembers(asked)) return asked;
  if (!isMembers(shown) || !isMembers(found) || !isMembers(left)) return shown;
  const seen: Record<string, unknown> = { ...asked };
  for (const name of new Set([...Object.keys(found), ...Object.keys(left)])) {
    const isScalar = attributes.get(name)?.kind === 'scalar';
    if (isScalar ? !Object.hasOwn(asked, name) : isDeepStrictEqual(found[name], left[name])) continue;
    if (Object.hasOwn(shown, name)) seen[name] = shown[name];
    else delete seen[name];
  }
  return seen;
};
