/** What project code imports from Strapi's packages. */
import type { EntryType, Model, Uid } from '../model/model.js';
import { entryBodyOf } from './data/files.js';
import { newEnv } from './loading/env.js';
import { isMembers, type Members, UNPARSED } from './loading/parts.js';
import type { Native } from './native.js';
import { pluginPackages } from './plugins/packages.js';
import { gateOf, sanitizeQuery } from './requests/allowed.js';
import { CoreDefinition, type CoreRouterOptions } from './requests/core.js';
import { CoreRouterDefinition } from './requests/routes.js';
import { newContentTypes } from './strapi-utils/content-types.js';
import { errors, YupValidationError } from './strapi-utils/errors.js';
import { UTILS, withMissing } from './strapi-utils/missing.js';
import { sanitizeInput, sanitizeOutput } from './strapi-utils/sanitize.js';
import { newTraverseEntity } from './strapi-utils/traverse.js';
import { absentUtils, ownUtils, withStrapiId } from './strapi-utils/utils.js';

export interface Packages {
  /** By name, for the loader. */
  readonly modules: Readonly<Record<string, unknown>>;
  /** Every core router made so far, which the types are told to. */
  readonly coreRouters: readonly CoreRouterDefinition[];
  /** It is loaded with the code, not with the configuration. */
  readonly useYup: (loaded: unknown) => void;
}

/** What the packages need of the site, once there is one. */
export interface PackageSite {
  readonly model: Model;
  /** What `strapi.getModel` gives. */
  readonly describe: (uid: string) => unknown;
  readonly native: () => Pick<Native, 'allowedQuery' | 'checkQuery' | 'callerOfAuth'>;
}

export const newPackages = (
  variables: Readonly<Record<string, string | undefined>>,
  site: () => PackageSite,
): Packages => {
  let yup: unknown = null;
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
      const { model, native } = site();
      const type = typeOf(described);
      if (!type) throw new TypeError('sanitize takes the content type: strapi.getModel(uid)');
      return sanitize(model, data, type, auth === undefined ? null : native().callerOfAuth(auth));
    };
  const contentAPI = {
    output: sanitizer(sanitizeOutput),
    input: sanitizer(sanitizeInput),
    query: async (query: unknown, described: unknown, { auth }: { readonly auth?: unknown } = {}): Promise<unknown> => {
      const { model, native } = site();
      const type = typeOf(described);
      if (!type) throw new TypeError('sanitize takes the content type: strapi.getModel(uid)');
      if (!isMembers(query)) return query;
      const caller = auth === undefined ? null : native().callerOfAuth(auth);
      const gate = gateOf(caller, model);
      return sanitizeQuery(query, type, { native: native(), caller, model, gate });
    },
  };

  /** Throws a `ValidationError` for what the caller may not ask; without one for what nobody may. */
  const validateQuery = async (
    query: unknown,
    described: unknown,
    { auth }: { readonly auth?: unknown } = {},
  ): Promise<void> => {
    const { checkQuery, callerOfAuth } = site().native();
    const type = typeOf(described);
    if (!type) throw new TypeError('validate takes the content type: strapi.getModel(uid)');
    if (isMembers(query)) checkQuery(query, type, auth === undefined ? null : callerOfAuth(auth));
  };

  const validateYupSchema =
    (schema: YupSchema, options: Members = {}) =>
    async (body: unknown, message?: string): Promise<unknown> => {
      try {
        return await schema.validate(body, { strict: true, abortEarly: false, ...options });
      } catch (fault) {
        return refuseByYup(fault as YupFault, message);
      }
    };

  const validateYupSchemaSync =
    (schema: YupSchema, options: Members = {}) =>
    (body: unknown, message?: string): unknown => {
      try {
        return schema.validateSync(body, { strict: true, abortEarly: false, ...options });
      } catch (fault) {
        return refuseByYup(fault as YupFault, message);
      }
    };

  const utils = {
    ...absentUtils,
    ...ownUtils,
    errors,
    env: newEnv((name) => variables[name]),
    sanitize: withMissing(`${UTILS}.sanitize`, { contentAPI: withMissing(`${UTILS}.sanitize.contentAPI`, contentAPI) }),
    validate: withMissing(`${UTILS}.validate`, {
      contentAPI: withMissing(`${UTILS}.validate.contentAPI`, { query: validateQuery }),
    }),
    contentTypes: newContentTypes(typeOf),
    traverseEntity: newTraverseEntity((uid) => site().describe(uid)),
    /** `{ data, files }` of a form, as the request has it. */
    parseMultipartData: ({ request }: { readonly request: { readonly body?: unknown; readonly files?: unknown } }) =>
      request.files === undefined ? { data: request.body, files: {} } : entryBodyOf(request),
    validateYupSchema,
    validateYupSchemaSync,
    handleYupError: refuseByYup,
    get yup() {
      return yup;
    },
  };
  const strapi = { factories };
  return {
    modules: {
      '@strapi/strapi': { ...strapi, default: strapi },
      // where code looks for the text of a body (`includeUnparsed`)
      'koa-body/unparsed': UNPARSED,
      'koa-body/unparsed.js': UNPARSED,
      ...pluginPackages(),
      '@strapi/utils': Object.defineProperty(utils, 'default', { get: () => utils, enumerable: false }),
    },
    coreRouters,
    useYup: (loaded) => {
      yup = withStrapiId(loaded as Parameters<typeof withStrapiId>[0]);
    },
  };
};

type YupFault = ConstructorParameters<typeof YupValidationError>[0];

const refuseByYup = (fault: YupFault, message?: string): never => {
  throw new YupValidationError(fault, message);
};

interface YupSchema {
  validate(body: unknown, options: object): Promise<unknown>;
  validateSync(body: unknown, options: object): unknown;
}
