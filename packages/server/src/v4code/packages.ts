/** What project code imports from Strapi's packages. */
import type { Caller } from '../access/access.js';
import type { EntryType, Model, Uid } from '../model/model.js';
import { newEnv } from './config.js';
import { CoreDefinition, type CoreRouterOptions } from './core.js';
import { errors, YupValidationError } from './errors.js';
import type { Native } from './native.js';
import { isMembers, type Members } from './parts.js';
import { CoreRouterDefinition } from './routes.js';
import { sanitizeInput, sanitizeOutput } from './sanitize.js';

export interface Packages {
  /** By name, for the loader. */
  readonly modules: Readonly<Record<string, unknown>>;
  /** Every core router made so far, which the types are told to. */
  readonly coreRouters: readonly CoreRouterDefinition[];
}

/** What the packages need of the site, once there is one. */
export interface PackageSite {
  readonly model: Model;
  /** The caller behind `ctx.state.auth`; null where it says nothing. */
  readonly callerOf: (auth: unknown) => Caller | null;
  readonly allowedQuery: Native['allowedQuery'];
}

export const newPackages = (
  variables: Readonly<Record<string, string | undefined>>,
  site: () => PackageSite,
  yup: unknown,
): Packages => {
  const coreRouters: CoreRouterDefinition[] = [];
  const factories = {
    createCoreController: (uid: Uid, own?: unknown) => new CoreDefinition('controller', uid, own),
    createCoreService: (uid: Uid, own?: unknown) => new CoreDefinition('service', uid, own),
    createCoreRouter: (uid: Uid, options: CoreRouterOptions = {}) => {
      const router = new CoreRouterDefinition(uid, options);
      coreRouters.push(router);
      return router;
    },
  };

  const typeOf = (described: unknown): EntryType | undefined =>
    isMembers(described) ? site().model.types.get(String(described['uid'])) : undefined;
  const sanitizer =
    (sanitize: typeof sanitizeOutput) =>
    async (data: unknown, described: unknown, { auth }: { readonly auth?: unknown } = {}): Promise<unknown> => {
      const { model, callerOf } = site();
      const type = typeOf(described);
      if (!type) throw new TypeError('sanitize takes the content type: strapi.getModel(uid)');
      return sanitize(model, data, type, auth === undefined ? null : callerOf(auth));
    };
  const contentAPI = {
    output: sanitizer(sanitizeOutput),
    input: sanitizer(sanitizeInput),
    query: async (query: unknown, described: unknown, { auth }: { readonly auth?: unknown } = {}): Promise<unknown> => {
      const { allowedQuery, callerOf } = site();
      const type = typeOf(described);
      if (!type) throw new TypeError('sanitize takes the content type: strapi.getModel(uid)');
      return isMembers(query) ? allowedQuery(query, type, auth === undefined ? null : callerOf(auth)) : query;
    },
  };

  const validateYupSchema =
    (schema: YupSchema, options: Members = {}) =>
    async (body: unknown, message?: string): Promise<unknown> => {
      try {
        return await schema.validate(body, { strict: true, abortEarly: false, ...options });
      } catch (fault) {
        throw new YupValidationError(fault as ConstructorParameters<typeof YupValidationError>[0], message);
      }
    };

  const utils = {
    errors,
    env: newEnv(variables),
    sanitize: { contentAPI },
    contentTypes: {
      hasDraftAndPublish: (described: unknown) => typeOf(described)?.draftAndPublish === true,
      isVisibleAttribute: (described: unknown, name: string) =>
        typeOf(described)?.attributes.get(name)?.hidden === false,
      isSingleType: (described: unknown) => typeOf(described)?.kind === 'single',
      isCollectionType: (described: unknown) => typeOf(described)?.kind === 'collection',
      constants: {
        ID_ATTRIBUTE: 'id',
        PUBLISHED_AT_ATTRIBUTE: 'publishedAt',
        CREATED_AT_ATTRIBUTE: 'createdAt',
        UPDATED_AT_ATTRIBUTE: 'updatedAt',
      },
    },
    /** `{ data, files }` of a form, as the request has it. */
    parseMultipartData: (ctx: { readonly request: { readonly body?: unknown; readonly files?: unknown } }) => {
      const body = isMembers(ctx.request.body) ? ctx.request.body : {};
      const given = body['data'];
      return {
        data: typeof given === 'string' ? (JSON.parse(given) as unknown) : (given ?? {}),
        files: ctx.request.files ?? {},
      };
    },
    validateYupSchema,
    yup,
  };
  const strapi = { factories };
  return {
    modules: {
      '@strapi/strapi': { ...strapi, default: strapi },
      '@strapi/utils': Object.defineProperty(utils, 'default', { get: () => utils, enumerable: false }),
    },
    coreRouters,
  };
};

interface YupSchema {
  validate(body: unknown, options: object): Promise<unknown>;
}
