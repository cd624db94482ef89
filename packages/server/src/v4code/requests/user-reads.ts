/** The server's own reads of users, with lifecycles around them. */
import type { SeenUser, UserQuery, UserReads } from '../../accounts/account.js';
import type { UserKey } from '../../accounts/rows.js';
import { unwrap } from '../../errors.js';
import { type Model, typeOf, USER_UID } from '../../model/model.js';
import { plainQuery } from '../../query/plain.js';
import type { Reader } from '../../read/find.js';
import { newQueryEngine } from '../data/db.js';
import type { Entities } from '../data/entities.js';
import type { EntityService } from '../data/entity-service.js';
import type { Lifecycles } from '../data/lifecycles.js';
import { POPULATES_PUBLISHED } from '../data/queries.js';
import { withPermittedPopulate } from '../data/query-changes.js';
import { inScope } from '../data/scope.js';
import type { Members } from '../loading/parts.js';
import { sanitizeOutput } from '../strapi-utils/sanitize.js';
import { allowedQuery } from './allowed.js';
import { pageOf, type RestLimits } from './core.js';

export interface UserReadDeps {
  readonly model: Model;
  readonly entities: Entities;
  readonly entityService: EntityService;
  readonly lifecycles: Lifecycles;
  readonly rest: RestLimits;
  readonly reader: () => Reader;
}

export const newUserReads = (deps: UserReadDeps): UserReads => {
  const { model, entities, entityService, lifecycles, rest, reader } = deps;
  const type = typeOf(model, USER_UID);
  const rows = newQueryEngine(USER_UID, { entities, lifecycles });

  const shown = (found: unknown, caller: UserQuery['caller']): string =>
    JSON.stringify(sanitizeOutput(model, found, type, caller));

  /** The part of the query that the caller may ask for; refuses what the server itself would refuse. */
  const askedBy = ({ query, context }: Pick<UserQuery, 'query' | 'context'>, action: 'find' | 'findOne'): Members => {
    unwrap(reader().check({ action, type, id: null, query, form: 'plain' }, context));
    const given = plainQuery(unwrap(query.read()), context);
    const allowed = allowedQuery(given, type, { reader: reader(), context, action, isClients: () => true });
    return withPermittedPopulate(allowed, type, { model, gate: context.gate });
  };

  const lookUp = async (key: UserKey): Promise<SeenUser | null> => {
    const params = { where: whereOf(key), orderBy: 'id' };
    const found = key.by === 'confirmationToken' ? (await rows.findMany(params))[0] : await rows.findOne(params);
    return found ? { id: found.id, show: (caller) => shown(found, caller) } : null;
  };

  return {
    lookUp: (key, inside) => {
      if (!lifecycles.hears(USER_UID, key.by === 'confirmationToken' ? 'FindMany' : 'FindOne')) return undefined;
      if (!inside) return lookUp(key);
      const { session, lock } = inside;
      return lock().then(() => inScope(session, () => lookUp(key), { title }));
    },
    read: (asked, session) => {
      const { id, caller } = asked;
      if (!lifecycles.hears(USER_UID, id === null ? 'FindMany' : 'FindOne')) return undefined;
      const find = async (): Promise<string | null> => {
        const { pagination, ...given } = askedBy(asked, id === null ? 'find' : 'findOne');
        const params = { publicationState: 'live', ...given, [POPULATES_PUBLISHED]: true };
        if (id === null) {
          const { start, limit } = pageOf(pagination, rest);
          return shown(await entityService.findMany(USER_UID, { ...params, start, limit }), caller);
        }
        const found = await entityService.findOne(USER_UID, id, params);
        return found && shown(found, caller);
      };
      return session ? inScope(session, find, { title }) : find();
    },
    count: (asked) => {
      if (!lifecycles.hears(USER_UID, 'Count')) return undefined;
      return (async () => entityService.count(USER_UID, { ...askedBy(asked, 'find'), publicationState: 'live' }))();
    },
  };
};

/** What holds a transaction if a hook does not end. */
const title = (): string => `a read of ${USER_UID}`;

/** The condition under which v4 looks for a user. */
const whereOf = (key: UserKey): Members => {
  switch (key.by) {
    case 'id':
      return { id: key.id };
    case 'email':
      return { email: key.text.toLowerCase() };
    case 'resetPasswordToken':
      return { resetPasswordToken: { $in: key.texts } };
    case 'confirmationToken':
      return { confirmationToken: { $in: key.texts } };
    case 'identifier':
      return { provider: 'local', $or: [{ email: key.text.toLowerCase() }, { username: key.text }] };
    case 'names':
      return { $or: [{ username: key.username }, { email: key.email }] };
  }
};
