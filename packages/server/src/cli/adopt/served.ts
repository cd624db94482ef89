/** What of a project's API is served, to whom, and what clients will find different. */
import { sql } from 'kysely';
import { permissionFor } from '../../http/routes.js';
import { limits } from '../../limits.js';
import { kebabName } from '../../model/files.js';
import type { EntryType, Model } from '../../model/model.js';
import type { Config } from '../config.js';
import { describeUnfit } from '../secrets.js';
import { unservedByAll } from '../v4project/code.js';
import type { CoreRouter } from '../v4project/core-code.js';
import type { PluginVerdict } from '../v4project/plugins.js';
import { objectAt, valueAt } from '../v4project/values.js';
import { routesAsWritten } from '../v4project/written-routes.js';
import type { CodeFact, ContentFacts, DatabaseFacts, Difference, ServedFacts, Setting } from './report.js';
import { secretsOf, unfitSecretsOf } from './settings.js';
import type { Tables } from './tables.js';
import type { V4Config } from './v4-config.js';
import { counted } from './words.js';

export interface ServedOptions {
  readonly model: Model;
  readonly config: Config;
  readonly v4: V4Config;
  /** Those that have an effect. */
  readonly routers: readonly CoreRouter[];
  readonly publicActions: ReadonlySet<string>;
  /** Those that routers of the project open to everybody. */
  readonly openActions: ReadonlySet<string>;
  readonly code: readonly CodeFact[];
  readonly plugins: readonly PluginVerdict[];
  readonly content: ContentFacts;
  readonly database: DatabaseFacts;
  readonly settings: readonly Setting[];
  /** Login providers that are switched on, such as `google`. */
  readonly providers: readonly string[];
}

export const describeServed = ({
  model,
  config,
  routers,
  publicActions,
  openActions,
  code,
  plugins,
  providers,
}: ServedOptions): ServedFacts => {
  const { prefix } = config.api.rest;
  const isPublic = (permission: string | null): boolean =>
    permission !== null && (!config.permissions.enabled || publicActions.has(permission));
  const routes = routesAsWritten(model, prefix, routers).flatMap(({ path, type, actions }) => {
    const methods = Object.entries(actions).map(([method, action]) => ({
      method,
      action: permissionFor(type, action),
      isPublic: isPublic(permissionFor(type, action)) || openActions.has(permissionFor(type, action)),
    }));
    return methods.length === 0 ? [] : [{ path, type: type.uid, methods }];
  });
  const own = ownRoutesOf(code).map(({ method, path, file, action, isOpen }) => ({
    method,
    path: `${prefix}${path}`,
    file,
    action,
    isPublic: isOpen || isPublic(action),
  }));
  const notServed = [
    { what: '/admin', why: "v4's admin panel, which the Studio at /studio replaces" },
    ...code.flatMap(({ file, routes: declared, verdict }) =>
      (verdict === 'runs' ? [] : declared).map(({ method, path }) => ({
        what: `${method} ${prefix}${path}`,
        why: `routes of the project, in ${file}`,
      })),
    ),
    ...[...unservedByAll(routers)].flatMap(([uid, actions]) =>
      actions.map((it) => ({ what: `${uid}.${it}`, why: 'left out by only or except of their routers, as in v4' })),
    ),
    ...plugins
      .filter((it) => it.name === '@strapi/plugin-graphql')
      .map(() => ({ what: '/graphql', why: 'there is no GraphQL' })),
    ...providers.map((what) => ({ what, why: 'login providers other than e-mail are reported as disabled' })),
    ...['email', 'content-type-builder'].map((it) => ({
      what: `${prefix}/${it}`,
      why: 'a 404, and their permissions are kept',
    })),
  ];
  return { prefix, routes, own, notServed };
};

/** Routes of files that run, with the permission that each needs. */
export const ownRoutesOf = (
  code: readonly CodeFact[],
): readonly {
  readonly method: string;
  readonly path: string;
  readonly file: string;
  readonly action: string | null;
  readonly isOpen: boolean;
}[] =>
  code.flatMap(({ file, verdict, routes }) => {
    const [, api = ''] = /^src\/api\/([^/]+)\//.exec(file) ?? [];
    return (verdict === 'runs' ? routes : []).map(({ method, path, handler, isOpen }) => ({
      method,
      path,
      file,
      isOpen,
      action: handler === null || handler.includes('::') ? handler : `api::${api}.${handler}`,
    }));
  });

/** Login providers besides e-mail that the project has switched on. */
export const readProviders = async (tables: Tables): Promise<readonly string[]> => {
  if (!tables.has('strapi_core_store_settings', 'key', 'value')) return [];
  const [[stored] = []] = await tables.rows(
    sql`select value from strapi_core_store_settings where ${sql.ref('key')} = 'plugin_users-permissions_grant' order by id limit 1`,
  );
  try {
    const grant = JSON.parse(String(stored)) as Record<string, { enabled?: unknown }>;
    return Object.entries(grant).flatMap(([name, it]) => (name !== 'email' && it?.enabled === true ? [name] : []));
  } catch {
    return [];
  }
};

/** Only those that concern this project. */
export const differencesOf = (options: ServedOptions): readonly Difference[] =>
  looks.flatMap((look) => {
    const found = look(options);
    return found ? [found] : [];
  });

type Look = (options: ServedOptions) => Difference | null;

const LISTED_MAX = 5;

const list = (names: readonly string[]): string =>
  names.length <= LISTED_MAX
    ? names.join(', ')
    : `${names.slice(0, LISTED_MAX).join(', ')} and ${names.length - LISTED_MAX} more`;

const typesWith = (model: Model, isMeant: (type: Parameters<typeof permissionFor>[0]) => boolean): readonly string[] =>
  [...model.types.values()].filter((it) => it.origin === 'project' && isMeant(it)).map((it) => it.uid);

const looks: readonly Look[] = [
  ({ content }) => {
    const drafts = content.types.filter((it) => (it.drafts ?? 0) > 0);
    const count = drafts.reduce((sum, it) => sum + (it.drafts ?? 0), 0);
    return drafts.length === 0
      ? null
      : {
          code: 'drafts',
          because: `${counted(count, 'draft')} in ${list(drafts.map((it) => it.uid))}`,
          message:
            'v4 serves a draft to whoever asks for its id, and inside populated relations. Here it is a 404, or left out, unless the request says publicationState=preview. A preview that fetches /:id needs that parameter.',
        };
  },
  ({ config }) =>
    config.api.strict
      ? {
          code: 'strict',
          because: 'api.strict is true',
          message:
            'A request with an unknown name is a 400 that names it, where v4 ignores it. `adopt --urls access.log` says which of yours.',
        }
      : {
          code: 'lenient',
          because: 'package.json depends on @strapi/strapi, or api.strict is false',
          message:
            'What v4 ignores in a request is ignored here too, and named in the header Dovetail-Ignored and in the log. Test a front end by looking for that header, then set api.strict: true. `adopt --urls access.log` judges an access log now.',
        },
  ({ database }) => ({
    code: 'contains',
    because: database.client === 'sqlite' ? 'SQLite' : 'PostgreSQL',
    message:
      database.client === 'sqlite'
        ? "v4's $contains, $startsWith and $endsWith ignore the case of A to Z on SQLite, and take % and _ for wildcards. Here they are exact; $containsi ignores case."
        : "v4's $contains takes % and _ for wildcards. Here they are literal.",
  }),
  ({ database }) =>
    database.client === 'sqlite'
      ? null
      : {
          code: 'order',
          because: 'PostgreSQL',
          message:
            'Without sort, v4 lists entries in no fixed order (an update moves an entry to the end). Here the order is that of the ids.',
        },
  ({ database, v4 }) =>
    database.client === 'sqlite'
      ? null
      : {
          code: 'time-zone',
          because: `PostgreSQL; TZ is ${v4.variables['TZ'] ?? 'not set'} here`,
          message:
            'v4 stores local times. Start Dovetail with the TZ that v4 runs in, usually UTC, or every datetime is off by the difference.',
        },
  ({ model }) => {
    const types = typesWith(model, (it) => it.localized);
    return types.length === 0
      ? null
      : {
          code: 'locales',
          because: list(types),
          message:
            'A value that all locales share is written to all of them by every write, where v4 copies only what a request populates.',
        };
  },
  ({ model }) => {
    const types = typesWith(model, (it) => [...it.attributes.values()].some((one) => one.kind === 'morph'));
    return types.length === 0
      ? null
      : {
          code: 'polymorphic',
          because: list(types),
          message:
            'A populated morphToOne shows what the caller may find, with `__type`; v4 shows private attributes too.',
        };
  },
  ({ model }) => {
    const types = typesWith(model, (it) => it.populateCreatorFields);
    return types.length === 0
      ? null
      : {
          code: 'creator-fields',
          because: list(types),
          message:
            'createdBy and updatedBy are shown only if the code of the project populates them, or a handler says so: find: ({ next }) => next({ creatorFields: true }).',
        };
  },
  ({ model, code }) => {
    const routed = new Set(
      code.flatMap(({ file }) => (/^src\/api\/([^/]+)\/routes\//.exec(file)?.slice(1) ?? []).map(kebabName)),
    );
    const isUnrouted = ({ uid, kind }: EntryType): boolean => {
      const [, api = ''] = /^api::([^.]+)/.exec(uid) ?? [];
      return kind !== 'component' && !routed.has(api);
    };
    const types = typesWith(model, isUnrouted);
    return routed.size === 0 || types.length === 0
      ? null
      : {
          code: 'unrouted',
          because: list(types),
          message:
            'No file in the routes of their API serves these, so v4 does not. Here whoever has a permission for them may ask for them, such as tokens with full access. A router with only: [] closes a type.',
        };
  },
  ({ publicActions }) => {
    const writes = [...publicActions].filter((it) => it === 'plugin::upload.content-api.upload');
    return writes.length === 0
      ? null
      : {
          code: 'upload',
          because: 'the role public may upload',
          message:
            'An upload with ref, refId and field needs the permission to update that entry, and allowedTypes is enforced.',
        };
  },
  ({ v4, config }) => {
    const body = v4.part('middlewares').value;
    const found = Array.isArray(body) ? body.find((it) => valueAt(it, 'name') === 'strapi::body') : undefined;
    const limit = valueAt(objectAt(found, 'config'), 'jsonLimit');
    return limit === undefined || config.project.runCode
      ? null
      : {
          code: 'body-size',
          because: `strapi::body has jsonLimit ${JSON.stringify(limit)}`,
          message: `A JSON body may have ${limits.bodyBytesMax.toLocaleString('en')} bytes; larger ones are a 413.`,
        };
  },
  ({ v4, content }) => {
    const unset = secretsOf(v4).filter((it) => it.value === null);
    const affected = { JWT_SECRET: content.users, API_TOKEN_SALT: content.tokens.length };
    const lost = unset.filter((it) => affected[it.name] > 0).map((it) => it.name);
    return lost.length === 0
      ? null
      : {
          code: 'secrets',
          because: `${lost.join(' and ')} ${lost.length === 1 ? 'is' : 'are'} neither in .env nor in the environment of this command`,
          message:
            'Set the values that v4 runs with. Otherwise new ones are generated: with another JWT_SECRET everyone has to log in again, with another API_TOKEN_SALT no API token is known.',
        };
  },
  ({ v4 }) => {
    const unfit = unfitSecretsOf(v4);
    return unfit.length === 0 || v4.environment === 'production'
      ? null
      : {
          code: 'unfit-secrets',
          because: describeUnfit(unfit).join('; '),
          message:
            'A start with NODE_ENV=production is refused until they are replaced. With another JWT_SECRET everyone has to log in again.',
        };
  },
  ({ content, config }) =>
    content.users === 0 || config.users.attemptsMax === 0
      ? null
      : {
          code: 'attempts',
          because: counted(content.users, 'user'),
          message: `Passwords, roles and JWTs stay valid if JWT_SECRET is the same. Attempts to log in are limited to ${config.users.attemptsMax} in ${counted(config.users.attemptsMinutes, 'minute')} for each account and address.`,
        },
  ({ v4, config }) => {
    const { allowedFields } = objectAt(v4.part('plugins').value, 'users-permissions', 'config', 'register');
    return Array.isArray(allowedFields) && config.users.registerFields === null
      ? {
          code: 'registration',
          because: `users-permissions has register.allowedFields ${JSON.stringify(allowedFields)}`,
          message:
            'A registration may give any attribute of users but private ones and id, role, confirmed, blocked and provider. What nobody may choose for themselves has to be private.',
        }
      : null;
  },
  ({ content }) =>
    content.webhooks === 0
      ? null
      : {
          code: 'webhooks',
          because: counted(content.webhooks, 'webhook'),
          message:
            "Those that are enabled are told of what is written through Dovetail, in v4's form; v4 tells them of its own writes.",
        },
  ({ content }) =>
    content.types.every((it) => (it.entries ?? 0) === 0)
      ? null
      : {
          code: 'writes',
          because: 'writes over the API',
          message:
            'A write is one transaction. Connecting an entry twice, set beside connect, and connect on media are a 400, where v4 accepts them.',
        },
];
