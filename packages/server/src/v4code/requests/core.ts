/** The core controllers and services of `factories`, which project code wraps (`super.find(ctx)`) or leaves as they are. */
import pickBy from 'lodash/pickBy.js';
import { issue, Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import type { EntryType, Model, Uid } from '../../model/model.js';
import { type Precondition, readPrecondition } from '../../read/etag.js';
import { type CoreRequest, inCoreRequest, isListed, readsPublished, writesPublished } from '../data/core-requests.js';
import type { PageFacts } from '../data/db.js';
import type { Entities, Entity } from '../data/entities.js';
import { type EntityParams, type EntityService, idOf } from '../data/entity-service.js';
import { entryBodyOf } from '../data/files.js';
import { ONLY_ENTRY, POPULATES_PUBLISHED, withPlainLists } from '../data/queries.js';
import { type Populating, withPermittedPopulate } from '../data/query-changes.js';
import { currentSession } from '../data/scope.js';
import { type Callable, type CoreAction, isCallable, isMembers, type Members } from '../loading/parts.js';
import type { CodeContext, Native } from '../native.js';
import { forCode, NotFoundError, ValidationError } from '../strapi-utils/errors.js';
import { sanitizeInput, sanitizeOutput, transformResponse } from '../strapi-utils/sanitize.js';
import { gateOf, sanitizeQuery } from './allowed.js';

export interface CoreDeps {
  readonly model: Model;
  readonly entityService: EntityService;
  readonly rest: RestLimits;
  /** The server's own way to run an action of the content API. */
  readonly native: () => Native;
  /** The service of a content type, as the project has made it. */
  readonly serviceOf: (uid: Uid) => Members | undefined;
  /** The number of entries, of which no hook hears. */
  readonly count: Entities['count'];
  /** Whether the core's own service does all that an action asks of it. */
  readonly isCoreService: (uid: Uid, action: CoreAction) => boolean;
  /** Whether the server may run an action itself: no service and no hook of the project takes part. */
  readonly isPlain: (uid: Uid, action: CoreAction) => boolean;
}

export interface RestLimits {
  readonly defaultLimit: number;
  readonly maxLimit: number | null;
  readonly withCount: boolean;
}

type Params = EntityParams & { readonly pagination?: unknown };

type ServiceMember = 'find' | 'findOne' | 'create' | 'update' | 'delete' | 'createOrUpdate';

// ---- services

/** `find` and the like of a core service, on the entity service. No rights are asked for. */
export const newCoreService = (type: EntryType, { entityService, rest, count }: CoreDeps): Members => {
  const { uid } = type;
  const publishedNow = (data: unknown): unknown =>
    type.draftAndPublish && isMembers(data) && data['publishedAt'] === undefined
      ? { ...data, publishedAt: new Date() }
      : data;
  const getFetchParams = (params: Params = {}): EntityParams => ({ publicationState: 'live', ...params });
  /** The project's service may have another. */
  const fetchedBy = (service: unknown, params: Params): EntityParams => {
    const given = isMembers(service) ? service['getFetchParams'] : undefined;
    return isCallable(given) ? (given.call(service, params) as EntityParams) : getFetchParams(params);
  };
  const published = (params: Params): Params => ({ ...params, [POPULATES_PUBLISHED]: true });
  /** What the response to a write may contain, whatever parameters a service of the project makes of those that it is given. */
  const asked = (id: unknown, params: Params): Params => (writesPublished(uid, idOf(id)) ? published(params) : params);
  const isDraft = async (id: unknown): Promise<boolean> =>
    type.draftAndPublish &&
    idOf(id) !== null &&
    (await count(uid, { filters: { id: Number(id) }, publicationState: 'live', locale: 'all' })) === 0;
  const collection = {
    async find(params: Params = {}) {
      const fetched = fetchedBy(this, params);
      // v4 refuses pages beside start and limit, which are of `pagination` here; those of a client would have no effect
      for (const name of isListed(uid) ? ['page', 'pageSize', 'start', 'limit'] : ['page', 'pageSize'])
        if (fetched[name] !== undefined) throw forCode(new Refusal(issue('pagination.top-level', [name], { name })));
      const page = pageOf(fetched.pagination, rest);
      const results = await entityService.findMany(uid, { ...fetched, start: page.start, limit: page.limit });
      const total = page.withCount ? await entityService.count(uid, fetched) : undefined;
      return { results, pagination: page.facts(total) };
    },
    async findOne(id: unknown, params: Params = {}) {
      const fetched = fetchedBy(this, params);
      if (!readsPublished(uid)) return entityService.findOne(uid, id, fetched);
      // a draft is shown on request only (DR3), whether or not code hears of the read
      if (fetched.publicationState !== 'preview' && (await isDraft(id))) {
        // an override may not expect an entry to be missing that v4 finds
        if (isMembers(this) && this['findOne'] !== collection.findOne) throw new NotFoundError('Not Found');
        return null;
      }
      return entityService.findOne(uid, id, published(fetched));
    },
    create: (params: Params = {}) =>
      entityService.create(uid, { ...asked(null, params), data: publishedNow(params['data']) }),
    update: (id: unknown, params: Params = {}) => entityService.update(uid, id, asked(id, params)),
    delete: (id: unknown, params: Params = {}) => entityService.delete(uid, id, asked(id, params)),
  };
  /** Whether the project's service finds the entry in its own way. Writes ask it too, as in v4: it may be a guard. */
  const hasOwnFind = (service: unknown): service is typeof single =>
    isMembers(service) && (service['find'] !== single.find || service['getFetchParams'] !== getFetchParams);
  /** Its only entry, in the locale that is asked for: `all` is none (LO6). */
  const storedFor = async (
    service: unknown,
    { data: _data, files: _files, ...params }: Params,
  ): Promise<Entity | null> => {
    const { locale, publicationState = 'live' } = params;
    if (locale === 'all') return null;
    const found = hasOwnFind(service)
      ? await service.find(params)
      : await entityService.findMany(uid, { locale, publicationState });
    return found as Entity | null;
  };
  const single = {
    // parameters of lists have no effect
    find({ _q, start: _start, limit: _limit, ...params }: Params = {}) {
      return entityService.findMany(uid, fetchedBy(this, params));
    },
    async createOrUpdate(params: Params = {}) {
      const stored = await storedFor(this, { ...params, publicationState: 'preview' });
      const shown = asked(null, params);
      if (stored) return entityService.update(uid, stored.id, shown);
      // other locales are made of one that exists, and what the project does not find may be there
      if ((type.localized || hasOwnFind(this)) && (await count(uid, { locale: 'all' })) > 0)
        throw new ValidationError('singleType.alreadyExists');
      const { locale } = params;
      const data = publishedNow(params['data']);
      const located = type.localized && locale !== undefined && isMembers(data) ? { ...data, locale } : data;
      return entityService.create(uid, { ...shown, data: located, [ONLY_ENTRY]: true });
    },
    async delete(params: Params = {}) {
      const stored = await storedFor(this, params);
      return stored && entityService.delete(uid, stored.id, asked(null, params));
    },
  };
  return { getFetchParams, ...(type.kind === 'single' ? single : collection) };
};

interface AskedPage {
  readonly start: number;
  readonly limit: number;
  readonly withCount: boolean;
  facts(total: number | undefined): Partial<PageFacts> | object;
}

/** @param given `pagination` of a query. */
export const pageOf = (given: unknown, { defaultLimit, maxLimit, withCount }: RestLimits): AskedPage => {
  withPlainLists(given, 'pagination');
  const asked = isMembers(given) ? given : {};
  const number = (name: string): number | undefined => (asked[name] === undefined ? undefined : Number(asked[name]));
  const largest = maxLimit ?? limits.rowsMax;
  const clamp = (wanted: number): number => Math.max(1, Math.min(wanted, largest));
  const counts =
    asked['withCount'] === undefined ? withCount : !['false', 'f', '0', false].includes(asked['withCount'] as string);
  if (asked['start'] !== undefined || asked['limit'] !== undefined) {
    const start = Math.max(0, number('start') ?? 0);
    const wanted = number('limit') ?? defaultLimit;
    // -1 means the maximum
    const limit = wanted === -1 ? largest : clamp(wanted);
    return {
      start,
      limit,
      withCount: counts,
      facts: (total) => ({ start, limit, ...(total === undefined ? {} : { total }) }),
    };
  }
  const page = Math.max(1, number('page') ?? 1);
  const pageSize = clamp(number('pageSize') ?? defaultLimit);
  return {
    start: (page - 1) * pageSize,
    limit: pageSize,
    withCount: counts,
    facts: (total) => ({
      page,
      pageSize,
      ...(total === undefined ? {} : { pageCount: Math.ceil(total / pageSize), total }),
    }),
  };
};

// ---- controllers

/** The prototype of a content type's controller: `this` and `super` in the project's actions find these. */
export const newCoreController = (type: EntryType, deps: CoreDeps): Members => {
  const { model, native, serviceOf, isCoreService, isPlain } = deps;
  const { uid } = type;
  const service = (): Readonly<Record<string, Callable>> => serviceOf(uid) as Readonly<Record<string, Callable>>;

  /** Creators are those that code adds, if the schema file says that they may be shown (Q9). */
  const populating = (ctx: CodeContext): Populating => ({
    model,
    gate: gateOf(native().callerOf(ctx), model),
    keepsCreators: type.populateCreatorFields && native().addsCreators(ctx),
  });
  const sanitized = (ctx: CodeContext): Members =>
    sanitizeQuery(queryIn(ctx), type, { native: native(), caller: native().callerOf(ctx), ...populating(ctx) });

  const shared = {
    validateQuery: async (ctx: CodeContext) => void native().validateQuery(ctx, type),
    sanitizeQuery: async (ctx: CodeContext) => sanitized(ctx),
    sanitizeInput: async (data: unknown, ctx?: CodeContext) => sanitizeInput(model, data, type, native().callerOf(ctx)),
    /** Refuses what `sanitizeInput` would take out. In v4 such a refusal reaches nobody, and ends the process. */
    validateInput: async (data: unknown, ctx?: CodeContext): Promise<void> => {
      const kept = sanitizeInput(model, data, type, native().callerOf(ctx));
      if (!isMembers(data) || !isMembers(kept)) return;
      const lost = Object.keys(data).find((it) => !Object.hasOwn(kept, it));
      if (lost !== undefined) throw new ValidationError(`Invalid parameter ${lost}`);
    },
    sanitizeOutput: async (data: unknown, ctx?: CodeContext) =>
      sanitizeOutput(model, data, type, native().callerOf(ctx)),
    transformResponse: (data: unknown, meta?: unknown) => transformResponse(model, data, meta, type),
  };

  /** Validates, asks the service, and shows what the caller may see. */
  const respond = async (
    ctx: CodeContext,
    name: ServiceMember,
    run: (query: Params, service: Callable) => Promise<Shown>,
  ): Promise<unknown> => {
    const members = service();
    const asked = isCoreService(uid, 'find') ? 'find' : 'own find';
    const isIgnoredInPart = native().validateQuery(ctx, type, name === 'find' ? asked : undefined);
    // what the server ignores may mean something to the service
    const query = isIgnoredInPart ? sanitized(ctx) : withPermittedPopulate(queryIn(ctx), type, populating(ctx));
    const { data, meta } = await run(query, (...args) => members[name]!(...args));
    return transformResponse(model, sanitizeOutput(model, data, type, native().callerOf(ctx)), meta, type);
  };

  /** The same for one entry: it populates what is published unless the client asks for drafts. */
  const respondOne = (
    ctx: CodeContext,
    name: ServiceMember,
    requestOf: (showsPublished: boolean) => CoreRequest,
    run: (query: Params, service: Callable) => unknown,
  ): Promise<unknown> =>
    respond(ctx, name, async (query, member) => {
      const shown = query['publicationState'] !== 'preview';
      const asking = shown ? { ...query, [POPULATES_PUBLISHED]: true } : query;
      return { data: await inCoreRequest(requestOf(shown), async () => run(asking, member)) };
    });
  const reading = (showsPublished: boolean): CoreRequest => ({ uid, kind: 'read', showsPublished });
  const writing =
    (ctx: CodeContext, entry: number | 'new' | 'only' | null) =>
    (showsPublished: boolean): CoreRequest => ({ uid, kind: 'write', entry, match: matchOf(ctx), showsPublished });

  /** Both, so that no parameter of the query takes the place of one. */
  const inputOf = (ctx: CodeContext): { readonly data: unknown; readonly files: Members | undefined } => {
    const { data, files } = entryBodyOf(ctx.request);
    if (!isMembers(data)) return native().refuse('body.missing');
    const input = sanitizeInput(model, data, type, native().callerOf(ctx));
    return { data: input, files: Object.keys(files).length > 0 ? files : undefined };
  };

  // in a transaction of code, the server's own way would begin another, which waits for the first on SQLite and for a connection
  const runs = (ctx: CodeContext, action: CoreAction): boolean =>
    currentSession() !== null || !isPlain(uid, action) || native().limitsPopulate(ctx);
  const collection = {
    async find(ctx: CodeContext) {
      if (!runs(ctx, 'find')) return native().perform(ctx, type, 'find');
      return respond(ctx, 'find', async (query, member) => {
        const found = (await inCoreRequest({ uid, kind: 'list' }, async () => member(query))) as {
          readonly results: unknown;
          readonly pagination: unknown;
        };
        return { data: found.results, meta: { pagination: found.pagination } };
      });
    },
    async findOne(ctx: CodeContext) {
      if (!runs(ctx, 'findOne')) return native().perform(ctx, type, 'findOne');
      const { id } = ctx.params;
      return respondOne(ctx, 'findOne', reading, (query, member) => member(id, query));
    },
    async create(ctx: CodeContext) {
      if (!runs(ctx, 'create')) return native().perform(ctx, type, 'create');
      const input = inputOf(ctx);
      return respondOne(ctx, 'create', writing(ctx, 'new'), (query, member) => member({ ...query, ...input }));
    },
    async update(ctx: CodeContext) {
      if (!runs(ctx, 'update')) return native().perform(ctx, type, 'update');
      const input = inputOf(ctx);
      const { id } = ctx.params;
      return respondOne(ctx, 'update', writing(ctx, idOf(id)), (query, member) => member(id, { ...query, ...input }));
    },
    async delete(ctx: CodeContext) {
      if (!runs(ctx, 'delete')) return native().perform(ctx, type, 'delete');
      const { id } = ctx.params;
      return respondOne(ctx, 'delete', writing(ctx, idOf(id)), (query, member) => member(id, query));
    },
  };
  const single = {
    async find(ctx: CodeContext) {
      if (!runs(ctx, 'find')) return native().perform(ctx, type, 'find');
      return respond(ctx, 'find', async (query, member) => ({ data: await member(query) }));
    },
    async update(ctx: CodeContext) {
      if (!runs(ctx, 'update')) return native().perform(ctx, type, 'update');
      const input = inputOf(ctx);
      return respondOne(ctx, 'createOrUpdate', writing(ctx, 'only'), (query, member) => member({ ...query, ...input }));
    },
    async delete(ctx: CodeContext) {
      if (!runs(ctx, 'delete')) return native().perform(ctx, type, 'delete');
      return respondOne(ctx, 'delete', writing(ctx, 'only'), (query, member) => member(query));
    },
  };
  // only actions are listed
  return Object.assign(Object.create(shared) as Members, type.kind === 'single' ? single : collection);
};

/** As in the server's own writes; what code gives in place of a context may have no headers. */
const matchOf = ({ request }: Partial<Pick<CodeContext, 'request'>>): Precondition | null =>
  readPrecondition((request?.header ?? {}) as Parameters<typeof readPrecondition>[0]);

/** The whole query, with parameters that only the project knows, in the forms that the entity service knows. */
const queryIn = ({ query }: Pick<CodeContext, 'query'>): Members => {
  const given = pickBy(query, (it) => it !== undefined);
  return given['locale'] === null ? { ...given, locale: '' } : given;
};

interface Shown {
  readonly data: unknown;
  readonly meta?: unknown;
}

// ---- factories

/** What `createCoreController(uid, own)` and `createCoreService` give: made once there is a core to build on. */
export class CoreDefinition {
  readonly kind: 'controller' | 'service';
  readonly uid: Uid;
  /** Undefined if the project adds nothing. */
  readonly own: unknown;
  constructor(kind: CoreDefinition['kind'], uid: Uid, own: unknown) {
    this.kind = kind;
    this.uid = uid;
    this.own = own;
  }
}

/** `createCoreRouter(uid, options)`: its routes are made when they are read, because only then the types are known. */
export interface CoreRouterOptions {
  readonly prefix?: string;
  readonly only?: readonly string[];
  readonly except?: readonly string[];
  readonly config?: Readonly<Record<string, Members>>;
}

/** The project's members with the core as their prototype, which `super` and `this` reach. */
export const overCore = (core: Members, own: Members): Members => Object.setPrototypeOf(own, core) as Members;

/** A controller or service may be the object itself or a function of `{ strapi }`. */
export const definedBy = (definition: unknown, strapi: unknown): Members => {
  const made = isCallable(definition) ? definition({ strapi }) : (definition ?? {});
  if (!isMembers(made)) throw new TypeError('export an object of functions, or a function that returns one');
  return made;
};
