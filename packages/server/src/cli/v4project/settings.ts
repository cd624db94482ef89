/**
 * THE table of v4's settings: what becomes of each that a project's `config/` gives. A setting is obeyed under a name of
 * dovetail.config or of the environment, which both win over it; or it is not needed; or it is not supported, and said.
 */
import path from 'node:path';
import has from 'lodash/has.js';
import { limits } from '../../limits.js';
import { daysOf } from '../../v4code/loading/durations.js';
import { isLeftOut, type LeftOut } from '../../v4code/loading/middlewares.js';
import { databaseOf, unsupportedDatabase } from './database.js';
import { bytesOf, securityHeadersOf } from './headers.js';
import type { FoundPackages } from './plugins.js';
import { isPlain, listOf, nameOfMiddleware, objectAt, type Plain, textAt, textOf, valueAt } from './values.js';

/** Files of `config/` that v4 itself reads. */
export const partNames = ['database', 'admin', 'api', 'server', 'middlewares', 'plugins'] as const;
export type PartName = (typeof partNames)[number];

export interface V4Setting {
  /** `api.rest.maxLimit`, `middlewares.strapi::cors.origin`. */
  readonly v4Name: string;
  readonly v4: unknown;
  /** A plugin need not be named in `config/`, and packages are those of package.json. */
  readonly kind: 'setting' | 'plugin' | 'package';
  readonly verdict: 'obeyed' | 'not needed' | 'not supported';
  /** Why, or what differs; null if there is nothing to say. */
  readonly note: string | null;
  /** What it is here: a path in dovetail.config, or a variable of the environment. */
  readonly target: Target | null;
  /** Without it the server may allow more than v4 does. */
  readonly isGuard: boolean;
}

/** One line, without the value, which may be a secret. */
export const describeSetting = ({ v4Name, note, isGuard }: Pick<V4Setting, 'v4Name' | 'note' | 'isGuard'>): string =>
  `${v4Name}: ${note ?? 'it is not known here'}${isGuard ? '; it may restrict access' : ''}`;

/** `2 settings of config/ and 1 plugin`. */
export const countSettings = (settings: readonly Pick<V4Setting, 'kind'>[]): string =>
  Object.entries({ setting: ' of config/', plugin: '', package: ' of package.json' })
    .map(([kind, place]) => ({ kind, place, count: settings.filter((it) => it.kind === kind).length }))
    .filter(({ count }) => count > 0)
    .map(({ kind, place, count }) => `${count} ${kind}${count === 1 ? '' : 's'}${place}`)
    .join(' and ');

export type Target =
  | { readonly kind: 'config'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'variable'; readonly name: string; readonly value: string };

export interface V4Values extends LeftOut {
  /** What a file of `config/` says; undefined if there is none. */
  part(name: PartName): unknown;
}

/** Every setting that the files give, and defaults of v4 that differ from Dovetail's. */
export const readV4Settings = (values: V4Values): readonly V4Setting[] => {
  const given = partNames.filter((it) => values.part(it) !== undefined);
  if (given.length === 0) return [];
  const found = withoutExcess(given.flatMap((name) => readers[name](values.part(name), values)));
  // v4 has no maximum of its own; one that cannot be read is not none
  return found.some((it) => it.v4Name === 'api.rest.maxLimit')
    ? found
    : [...found, { ...obeyed('api.rest.maxLimit', null, config('api.rest.maxLimit', null)), note: noMaximum }];
};

/** A page without a size has the greatest one at most, as in v4. */
const withoutExcess = (settings: readonly V4Setting[]): readonly V4Setting[] => {
  const given = (name: string): unknown => settings.find(({ target }) => target?.name === name)?.target?.value;
  const [usual, max] = [given('api.rest.defaultLimit'), given('api.rest.maxLimit')];
  if (typeof usual !== 'number' || typeof max !== 'number' || usual <= max) return settings;
  return settings.map((it) =>
    it.target?.name === 'api.rest.defaultLimit'
      ? { ...it, target: config('api.rest.defaultLimit', max), note: 'maxLimit is less' }
      : it,
  );
};

const noMaximum = 'v4 has no maximum unless config/api sets one';

// ---- outcomes

const config = (name: string, value: unknown): Target => ({ kind: 'config', name, value });

const obeyed = (v4Name: string, v4: unknown, target: Target | null, note: string | null = null): V4Setting => ({
  v4Name,
  v4,
  kind: 'setting',
  verdict: 'obeyed',
  note,
  target,
  isGuard: false,
});

const notNeeded = (v4Name: string, v4: unknown, note: string | null = null): V4Setting => ({
  ...obeyed(v4Name, v4, null, note),
  verdict: 'not needed',
});

const notSupported = (
  v4Name: string,
  v4: unknown,
  note: string | null,
  { isGuard = false, kind = 'setting' }: Partial<Pick<V4Setting, 'isGuard' | 'kind'>> = {},
): V4Setting => ({ ...obeyed(v4Name, v4, null, note), kind, verdict: 'not supported', isGuard });

/** JSON says it of what was evaluated by another process. */
const isFunction = (value: unknown): boolean => typeof value === 'function' || value === FUNCTION;
const FUNCTION = '[Function]';

// ---- walking

/** @returns null for a value of which nothing can be made. */
type Rule = (value: unknown, v4Name: string, values: V4Values) => readonly V4Setting[] | V4Setting | null;

/** Settings by their path. A path that ends in `.*` stands for all below it. */
const walk = (
  value: unknown,
  at: string,
  rules: Readonly<Record<string, Rule>>,
  values: V4Values,
): readonly V4Setting[] => {
  const visit = (it: unknown, name: string): readonly V4Setting[] => {
    if (it === undefined) return [];
    const whole = Object.keys(rules).find((rule) => rule.endsWith('.*') && `${name}.`.startsWith(rule.slice(0, -1)));
    const rule = rules[name] ?? (whole === undefined ? undefined : rules[whole]);
    const full = name === '' ? at : `${at}.${name}`;
    if (rule) {
      const made = rule(it, full, values);
      return made === null ? [notSupported(full, it, 'the value has another form than is read')] : [made].flat();
    }
    const hasMore = name === '' || Object.keys(rules).some((one) => one.startsWith(`${name}.`));
    if (isPlain(it) && hasMore)
      return Object.entries(it).flatMap(([key, member]) => visit(member, name === '' ? key : `${name}.${key}`));
    return [notSupported(full, it, 'it is not known here, and code finds it in strapi.config')];
  };
  return visit(value, '');
};

const toConfig =
  (name: string, read: (value: unknown) => unknown): Rule =>
  (value, v4Name) => {
    const known = read(value);
    return known === undefined ? null : obeyed(v4Name, value, config(name, known));
  };

const toVariable =
  (name: string): Rule =>
  (value, v4Name) => {
    const text = textOf(value);
    // v4 has none either
    if (value === null || value === '') return [];
    return text === null ? null : obeyed(v4Name, value, { kind: 'variable', name, value: text });
  };

const ignored =
  (note: string): Rule =>
  (value, v4Name) =>
    notNeeded(v4Name, value, note);

const ignoring = (note: string, names: readonly string[]): Readonly<Record<string, Rule>> =>
  Object.fromEntries(names.map((it) => [it, ignored(note)]));

const refused =
  (note: string): Rule =>
  (value, v4Name) =>
    value === null || value === false ? notNeeded(v4Name, value) : notSupported(v4Name, value, note);

/** Also as text, which `env` gives without a cast: v4 compares it as a number. */
const asCount = (value: unknown): number | undefined => {
  const count = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return typeof count === 'number' && Number.isSafeInteger(count) && count > 0 ? count : undefined;
};
const asBoolean = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined);
const asTexts = (value: unknown): readonly string[] | undefined =>
  typeof value === 'string' || Array.isArray(value) ? listOf(value) : undefined;
const asUrl = (value: unknown): string | undefined =>
  typeof value === 'string' && URL.canParse(value) && /^https?:/.test(value) ? value : undefined;

const panel = 'it belongs to the admin panel';

// ---- config/server

const server: Readonly<Record<string, Rule>> = {
  host: toVariable('HOST'),
  port: toVariable('PORT'),
  url: (value, v4Name) => {
    if (value === '' || value === null) return [];
    const url = asUrl(value);
    return url === undefined
      ? notSupported(v4Name, value, 'only a whole URL, with http or https, is read')
      : obeyed(v4Name, value, config('server.url', url));
  },
  proxy: (value, v4Name) => {
    if (value === true || value === false) return obeyed(v4Name, value, config('server.trustProxy', value));
    if (!isPlain(value)) return null;
    const trusted = value['koa'] === true;
    const others = Object.keys(value).filter((it) => it !== 'koa');
    return [
      obeyed(`${v4Name}.koa`, trusted, config('server.trustProxy', trusted)),
      ...others.map((it) => notSupported(`${v4Name}.${it}`, value[it], 'requests of code go out directly')),
    ];
  },
  'app.keys': (value, v4Name) => obeyed(v4Name, value, null, 'they sign cookies of code'),
  'webhooks.defaultHeaders': toConfig('webhooks.defaultHeaders', (value) =>
    isPlain(value) ? Object.fromEntries(Object.entries(value).map(([name, it]) => [name, String(it)])) : undefined,
  ),
  'webhooks.populateRelations': (value, v4Name) =>
    value === true
      ? notNeeded(v4Name, value)
      : notSupported(v4Name, value, 'webhooks have relations, media and components one level deep, as with true'),
  'cron.*': (value, v4Name) => {
    const enabled = isPlain(value) && Boolean(value['enabled']) && value['tasks'] !== undefined;
    return enabled
      ? obeyed(v4Name, value, null, 'its tasks run')
      : notNeeded(v4Name, value, 'tasks run where enabled is true, as in v4');
  },
  'dirs.public': (value, v4Name, { dir }) =>
    path.resolve(dir, String(value)) === path.join(dir, 'public')
      ? obeyed(v4Name, value, null)
      : notSupported(v4Name, value, 'uploads are in public/uploads of the project'),
  emitErrors: ignored('errors are in the log'),
  'logger.*': ignored('the log follows LOG_LEVEL'),
  'socket.*': ignored('the server listens at HOST and PORT'),
  'http.*': ignored('bounds of requests are in docs/limits.md'),
  'transfer.*': ignored('dovetail export and import move content'),
  'admin.*': ignored(panel),
};

// ---- config/api

const api: Readonly<Record<string, Rule>> = {
  'rest.prefix': (value, v4Name) => {
    const prefix = typeof value === 'string' ? `/${value.replace(/^\/+|\/+$/g, '')}` : '';
    if (prefix === '/')
      return notSupported(v4Name, value, 'routes stay at /api: let the proxy in front put it before paths');
    return /^\/[\w/-]*[\w-]$/.test(prefix) ? obeyed(v4Name, value, config('api.rest.prefix', prefix)) : null;
  },
  'rest.defaultLimit': toConfig('api.rest.defaultLimit', asCount),
  'rest.maxLimit': toConfig('api.rest.maxLimit', (value) => (value === null ? null : asCount(value))),
  // v4 asks whether it is true in JavaScript
  'rest.withCount': toConfig('api.rest.withCount', (value) =>
    value !== null && typeof value === 'object' ? undefined : Boolean(value),
  ),
  'responses.privateAttributes': toConfig('api.responses.privateAttributes', (value) =>
    Array.isArray(value) ? listOf(value) : undefined,
  ),
};

// ---- config/admin

const ofPanel = ['url', 'path', 'host', 'port', 'autoOpen', 'serveAdminPanel', 'watchIgnoreFiles', 'auth.providers'];
const groupsOfPanel = ['rateLimit', 'auth.options', 'auth.events', 'forgotPassword', 'transfer', 'flags', 'auditLogs'];

const admin: Readonly<Record<string, Rule>> = {
  'auth.secret': toVariable('ADMIN_JWT_SECRET'),
  'apiToken.salt': toVariable('API_TOKEN_SALT'),
  ...Object.fromEntries([...ofPanel, ...groupsOfPanel.map((it) => `${it}.*`)].map((it) => [it, ignored(panel)])),
};

// ---- config/database

const database = (value: unknown, values: V4Values): readonly V4Setting[] => {
  const connection = objectAt(value, 'connection');
  const client = textAt(connection, 'client');
  if (value === undefined || !isPlain(value)) return [];
  if (client === null)
    return [
      ...walk(without(value, ['connection']), 'database', databaseRules, values),
      notSupported('database.connection', connection, 'it names no client'),
    ];
  const found = databaseOf(values.dir, client, connection);
  const variables = Object.entries(found.client === null ? {} : found.given).map(([name, it]) =>
    obeyed(`database.connection (${name})`, it, { kind: 'variable', name, value: it }),
  );
  const own =
    found.client === null ? { 'connection.*': said } : connectionRules(found.client, connection['connection']);
  return [
    ...(found.client === null ? [notSupported(CLIENT_SETTING, client, unsupportedDatabase(found))] : variables),
    ...walk(value, 'database', { ...databaseRules, ...own }, values),
  ];
};

/** What another setting stands for. */
const said: Rule = () => [];

const databaseRules: Readonly<Record<string, Rule>> = Object.fromEntries(
  ['forceMigration', 'runMigrations'].map((it) => [`settings.${it}`, ignored('a start adds, and drops nothing')]),
);

const connectionRules = (client: 'sqlite' | 'postgres', given: unknown): Readonly<Record<string, Rule>> => {
  const ofTls = isPlain(valueAt(given, 'ssl')) ? tlsOptions.map((it) => `ssl.${it}`) : ['ssl'];
  const own = client === 'sqlite' ? ['filename'] : [...ofPostgres, ...ofTls];
  return {
    'connection.client': said,
    ...(isPlain(given)
      ? Object.fromEntries(own.map((it) => [`connection.connection.${it}`, said]))
      : { 'connection.connection': said }),
    'connection.useNullAsDefault': ignored('what is not given is null, or the default of the column'),
    'connection.debug': ignored('the log follows LOG_LEVEL'),
    'connection.acquireConnectionTimeout': bounded,
    'connection.pool.max':
      client === 'postgres' ? said : ignored('SQLite has one writer, and as many readers as `threads` says'),
    ...Object.fromEntries(ofPool.map((it) => [`connection.pool.${it}`, bounded])),
  };
};

const ofPostgres = ['connectionString', 'host', 'port', 'database', 'user', 'password', 'schema'];
const tlsOptions = ['rejectUnauthorized', 'ca', 'cert', 'key'];
const ofPool = [
  'min',
  'acquireTimeoutMillis',
  'createTimeoutMillis',
  'destroyTimeoutMillis',
  'idleTimeoutMillis',
  'reapIntervalMillis',
  'createRetryIntervalMillis',
  'propagateCreateError',
];
const bounded = ignored('connections are opened when they are needed, and bounds are in docs/limits.md');

// ---- config/middlewares

const middlewares = (value: unknown, values: V4Values): readonly V4Setting[] => {
  if (!Array.isArray(value)) return [];
  const named = value.map((it: unknown) => ({
    entry: it,
    name: typeof it === 'string' ? it : textAt(it, 'name'),
    config: valueAt(it, 'config'),
  }));
  // as in v4, whatever else they say: one that is listed is on
  const isOn = (name: string): boolean => named.some((it) => it.name === name);
  return [
    ...named.flatMap(({ entry, name, config: own }): readonly V4Setting[] => {
      if (name === null || !name.startsWith('strapi::')) {
        const shown = nameOfMiddleware(entry) || 'a middleware without a name';
        if (isLeftOut(entry, values))
          return [notSupported(`middlewares.${shown}`, shown, 'it does not run: project.ignoreCode lists it')];
        return [obeyed(`middlewares.${shown}`, shown, null, 'it runs')];
      }
      const at = `middlewares.${name}`;
      const rules = builtIn[name];
      if (!rules) return [notSupported(at, own ?? name, 'v4 has no such middleware, and does not start with it')];
      return own === undefined ? [] : walk(own, at, rules, values);
    }),
    // without the middleware v4 answers no other origin
    ...(isOn('strapi::cors') ? [] : [obeyed('middlewares.strapi::cors', 'absent', config('cors.origin', []))]),
  ];
};

const asked = 'the function is asked for every request with an Origin; where code does not run, list the origins';

const cors: Readonly<Record<string, Rule>> = {
  origin: (value, v4Name) => {
    if (isFunction(value)) return obeyed(v4Name, value, config('cors.origin', []), asked);
    const origins = asTexts(value);
    if (origins === undefined)
      return {
        ...notSupported(
          v4Name,
          value,
          'the value has another form than is read: list the origins in dovetail.config, cors.origin',
        ),
        target: config('cors.origin', []),
        isGuard: true,
      };
    return obeyed(v4Name, value, config('cors.origin', origins.includes('*') ? '*' : origins));
  },
  headers: (value, v4Name) => {
    const names = asTexts(value);
    return names === undefined ? null : obeyed(v4Name, value, config('cors.headers', names));
  },
  expose: toConfig('cors.exposedHeaders', asTexts),
  credentials: toConfig('cors.credentials', asBoolean),
  enabled: ignored('v4 does not read it either: leave out strapi::cors instead'),
  keepHeaderOnError: ignored('errors have the headers too'),
  methods: (value, v4Name) => {
    const names = asTexts(value);
    return names === undefined
      ? null
      : obeyed(
          v4Name,
          value,
          config(
            'cors.methods',
            names.map((it) => it.toUpperCase()),
          ),
        );
  },
  maxAge: toConfig('cors.maxAgeSeconds', (value) => (Number(value) === 0 ? 0 : asCount(value))),
};

const bodyBytesOf = (value: unknown): number | undefined => {
  const bytes = bytesOf(value);
  return bytes === undefined || bytes < 1024 ? undefined : Math.min(bytes, 1024 ** 3);
};

/** One bound is that of all bodies: a lower one for some would be one for JSON. */
const toBodyBound: Rule = (value, v4Name) => {
  const bytes = bodyBytesOf(value);
  if (bytes === undefined) return null;
  return bytes > limits.bodyBytesMax
    ? obeyed(v4Name, value, config('server.bodyBytesMax', bytes))
    : notSupported(v4Name, value, 'server.bodyBytesMax is the bound of all bodies');
};

const body: Readonly<Record<string, Rule>> = {
  jsonLimit: toConfig('server.bodyBytesMax', bodyBytesOf),
  formLimit: toBodyBound,
  textLimit: toBodyBound,
  xmlLimit: ignored('code reads XML from the request'),
  multipart: ignored('forms with files are read'),
  includeUnparsed: (value, v4Name) => obeyed(v4Name, value, null, 'code finds the text of a body beside it'),
  patchKoa: ignored('ctx.request.body is there'),
  encoding: ignored('bodies are UTF-8'),
  'formidable.maxFileSize': toConfig('upload.sizeLimit', bytesOf),
  'formidable.maxFieldsSize': ignored('bounds of forms are in docs/limits.md'),
  'formidable.maxFields': ignored('bounds of forms are in docs/limits.md'),
  'formidable.keepExtensions': ignored('files keep their extensions'),
  'formidable.multiples': ignored('forms may have several files'),
};

const security: Readonly<Record<string, Rule>> = {
  '.*': (value, v4Name) => {
    const { headers, unknown } = securityHeadersOf(value);
    return [
      ...Object.entries(headers).map(([name, it]) =>
        obeyed(`${v4Name} (${name})`, it, config(`server.securityHeaders.${name}`, it)),
      ),
      ...unknown.map((it) =>
        notSupported([v4Name, ...it].join('.'), it.reduce(valueAt, value), 'it is not known here'),
      ),
    ];
  },
};

const builtIn: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  'strapi::cors': cors,
  'strapi::body': body,
  'strapi::security': security,
  'strapi::logger': ignoring('the log follows LOG_LEVEL', ['level', 'transports.*', 'format.*', 'requests']),
  'strapi::errors': {},
  'strapi::query': {
    ...ignoring('bounds of queries are in docs/limits.md', ['arrayLimit', 'depth', 'parameterLimit']),
    strictNullHandling: (value, v4Name) =>
      value === true ? notNeeded(v4Name, value) : notSupported(v4Name, value, 'a parameter without `=` is null'),
  },
  'strapi::poweredBy': ignoring('the header is not sent', ['poweredBy']),
  'strapi::responseTime': {},
  'strapi::responses': { '.*': refused('functions for statuses are not called') },
  'strapi::favicon': { '.*': ignored(panel) },
  'strapi::public': ignoring('uploads alone are served from public, and with headers of their own', [
    ...['path', 'maxAge', 'maxage', 'hidden', 'index', 'defaultIndex', 'defer', 'gzip', 'br', 'brotli', 'extensions'],
    ...['format', 'immutable', 'setHeaders', 'root'],
  ]),
  'strapi::compression': ignoring('responses are compressed', [
    ...['threshold', 'filter', 'encodings', 'defaultEncoding'],
    ...['br', 'gzip', 'deflate', 'options'].map((it) => `${it}.*`),
  ]),
  'strapi::session': { '.*': refused('ctx.session is not there') },
  'strapi::ip': {
    '.*': (value, v4Name) => notSupported(v4Name, value, 'every address is answered', { isGuard: true }),
  },
};

// ---- config/plugins

/** Plugins of others that v4 runs because they are installed. @param settings of `config/plugins`, which may name them. */
export const withPackages = (
  settings: readonly V4Setting[],
  given: unknown,
  { plugins: found, unknown }: FoundPackages,
  ignored: ReadonlySet<string>,
): readonly V4Setting[] => {
  // what is not installed may call itself by the name of its package, as config/plugins tells
  const named = found.map((it) =>
    it.mayGuard === null && has(given, [it.packageName]) ? { ...it, name: it.packageName } : it,
  );
  const running = named.filter(({ name }) => {
    const own = valueAt(given, name);
    return own !== false && valueAt(own, 'enabled') !== false;
  });
  const names = new Set(running.map((it) => `plugins.${it.name}`));
  return [
    ...settings.filter((it) => !names.has(it.v4Name)),
    ...running.map(({ name, packageName, mayGuard }) =>
      notSupported(
        `plugins.${name}`,
        packageName,
        mayGuard === null
          ? `the package ${packageName} is not installed, so nothing tells whether it restricts access: install it, or remove it from package.json`
          : `the package ${packageName} does not run${mayGuard ? `: once nothing depends on it, list it in dovetail.config, project: { ignoreCode: ['${packageName}'] }` : ''}`,
        { kind: 'plugin', isGuard: mayGuard === true && !ignored.has(packageName) },
      ),
    ),
    ...unknown.flatMap(({ packageName, importedBy }) =>
      importedBy === null
        ? []
        : notSupported(
            `dependencies.${packageName}`,
            packageName,
            `${importedBy} imports it, and it is not installed: install the packages of the project (npm install)`,
            { kind: 'package' },
          ),
    ),
    ...notImported(unknown.filter((it) => it.importedBy === null).map((it) => it.packageName)),
  ];
};

const notImported = (names: readonly string[]): readonly V4Setting[] => {
  if (names.length === 0) return [];
  const [are, they, them] = names.length === 1 ? ['is', 'it does', 'it'] : ['are', 'they do', 'them'];
  const note = `${names.join(', ')} of package.json ${are} not installed, no file imports ${them}, and nothing tells what ${they}: a plugin of v4 may restrict access. Install ${them}, or remove ${them} from package.json`;
  return [notSupported('dependencies', names, note, { kind: 'package' })];
};

const plugins = (value: unknown, values: V4Values): readonly V4Setting[] => {
  if (!isPlain(value)) return [];
  return Object.entries(value).flatMap(([name, it]): readonly V4Setting[] => {
    const at = `plugins.${name}`;
    const isOff = it === false || valueAt(it, 'enabled') === false;
    const rules = pluginRules[name];
    const whereOff = withoutSwitch[name];
    if (isOff && whereOff !== undefined) return [notSupported(at, it, whereOff)];
    if (isOff) return [notNeeded(at, it, rules ? 'without permissions nobody gets to it' : null)];
    const own = valueAt(it, 'config');
    const others = without(isPlain(it) ? it : {}, ['enabled', 'config', 'resolve']);
    if (rules) return [...(own === undefined ? [] : rules(own, at, values)), ...walk(others, at, {}, values)];
    return [
      notSupported(
        at,
        name,
        valueAt(it, 'resolve') ? 'plugins of the project do not run' : (pluginNotes[name] ?? notHere),
        { kind: 'plugin' },
      ),
    ];
  });
};

/** Those that are on whatever the configuration says. */
const withoutSwitch: Readonly<Record<string, string>> = {
  upload: 'files can be uploaded by who may',
  i18n: 'localized types have their locales, and GET /i18n/locales answers whoever may',
};

const notHere = 'the plugin is not here: its routes, hooks and services are missing';
const pluginNotes: Readonly<Record<string, string>> = {
  documentation: 'GET /api/openapi.json and /api/reference describe the API instead',
  graphql: 'there is no GraphQL',
  sentry: 'errors are in the log',
};

const users: Readonly<Record<string, Rule>> = {
  jwtSecret: toVariable('JWT_SECRET'),
  'jwt.expiresIn': toConfig('users.jwtDays', daysOf),
  'register.allowedFields': toConfig('users.registerFields', (value) =>
    Array.isArray(value) ? listOf(value) : undefined,
  ),
  'ratelimit.*': (value, v4Name) => {
    if (!isPlain(value)) return [];
    if (value['enabled'] === false) return obeyed(v4Name, value, config('users.attemptsMax', 0));
    // of what is not given, v4's own
    const max = value['max'] === undefined ? limits.attemptsMax : asCount(value['max']);
    const minutes = minutesOf(value['interval'] ?? limits.attemptsMs);
    if (max === undefined || minutes === null) return null;
    const others = Object.keys(value).filter((it) => !['enabled', 'max', 'interval'].includes(it));
    return [
      obeyed(v4Name, value, config('users.attemptsMax', max)),
      obeyed(v4Name, value, config('users.attemptsMinutes', minutes)),
      ...others.map((it) => notSupported(`${v4Name}.${it}`, value[it], 'attempts are counted by address and account')),
    ];
  },
  'callback.*': ignored('logins by other providers are not here'),
  'layout.*': ignored(panel),
  'grant.*': refused('logins by other providers are not here'),
};

/** `{ min: 5 }`, or milliseconds; a day at most. */
const minutesOf = (interval: unknown): number | null => {
  if (typeof interval === 'number') return interval > 0 ? Math.min(1440, Math.max(1 / 60, interval / 60_000)) : null;
  if (!isPlain(interval)) return null;
  const units: Readonly<Record<string, number>> = { ms: 1 / 60_000, sec: 1 / 60, min: 1, hour: 60, day: 1440 };
  const all = Object.entries(interval).map(([unit, count]) => (units[unit] ?? Number.NaN) * Number(count));
  const sum = all.reduce((a, b) => a + b, 0);
  return sum > 0 ? minutesOf(sum * 60_000) : null;
};

const upload = (value: unknown, at: string, values: V4Values): readonly V4Setting[] => {
  const provider = textAt(value, 'provider');
  const own = isPlain(value) ? { ...value } : {};
  const rest = walk(
    without(own, ['provider', 'providerOptions', 'actionOptions']),
    `${at}.config`,
    {
      sizeLimit: toConfig('upload.sizeLimit', asCount),
      'breakpoints.*': refused("formats are v4's default ones: large, medium, small"),
    },
    values,
  );
  const options = own['providerOptions'];
  const name = `${at}.config.provider`;
  if (provider === null || provider === 'local')
    return [
      ...rest,
      ...walk(
        options,
        `${at}.config.providerOptions`,
        {
          sizeLimit: toConfig('upload.sizeLimit', asCount),
          'localServer.*': ignored('files are sent with headers of their own'),
        },
        values,
      ),
    ];
  if (/aws-s3$/.test(provider)) return [...rest, ...s3(own, `${at}.config`)];
  return [
    ...rest,
    notSupported(
      name,
      provider,
      'files there are shown; new ones go to public/uploads, or to S3 if upload.s3 names a bucket',
    ),
  ];
};

const without = (value: Plain, names: readonly string[]): Plain =>
  Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));

/** Options of the provider, in each of the places where its versions have them. */
const s3 = (value: Plain, at: string): readonly V4Setting[] => {
  const options = objectAt(value, 'providerOptions');
  const nested = objectAt(options, 's3Options');
  const places = [options, nested, objectAt(options, 'params'), objectAt(nested, 'params')];
  const keys = [...places, objectAt(options, 'credentials'), objectAt(nested, 'credentials')];
  const find = (key: string, from: readonly Plain[] = places): unknown =>
    from.map((it) => it[key]).find((it) => it !== undefined && it !== null && it !== '');
  const bucket = textOf(find('Bucket'));
  const region = textOf(find('region'));
  const endpoint = textOf(find('endpoint'));
  const acl = textOf(find('ACL')) ?? 'public-read';
  const baseUrl = textOf(options['baseUrl']);
  const rootPath = textOf(options['rootPath'])?.replace(/^\/|\/$/g, '') ?? null;
  const pathStyle = find('forcePathStyle') ?? find('s3ForcePathStyle');
  const open =
    baseUrl ??
    (acl === 'private' || endpoint !== null ? null : `https://${bucket}.s3.${region ?? 'us-east-1'}.amazonaws.com`);
  const set = (name: string, v4Name: string, found: unknown): readonly V4Setting[] =>
    found === null || found === undefined ? [] : [obeyed(`${at}.${v4Name}`, found, config(`upload.s3.${name}`, found))];
  const secret = (name: string, key: string): readonly V4Setting[] => {
    const found = textOf(find(key, keys));
    return found === null
      ? []
      : [obeyed(`${at}.providerOptions.${key}`, found, { kind: 'variable', name, value: found })];
  };
  const known = new Set([
    'Bucket',
    'region',
    'endpoint',
    'ACL',
    'baseUrl',
    'rootPath',
    'forcePathStyle',
    's3ForcePathStyle',
    'params',
    's3Options',
    'credentials',
    'accessKeyId',
    'secretAccessKey',
    'sessionToken',
  ]);
  const unknown = [...new Set(keys.flatMap((it) => Object.keys(it)))].filter((it) => !known.has(it));
  if (bucket === null)
    return [notSupported(`${at}.providerOptions`, null, 'it names no bucket, so files go to public/uploads')];
  return [
    ...set('bucket', 'providerOptions.params.Bucket', bucket),
    ...set('region', 'providerOptions.region', region),
    ...set(
      'endpoint',
      'providerOptions.endpoint',
      endpoint === null || asUrl(endpoint) ? endpoint : `https://${endpoint}`,
    ),
    ...set('forcePathStyle', 'providerOptions.forcePathStyle', pathStyle === undefined ? null : pathStyle === true),
    ...set('prefix', 'providerOptions.rootPath', rootPath === null || rootPath === '' ? null : `${rootPath}/`),
    ...set('publicUrl', baseUrl === null ? 'providerOptions.params.ACL' : 'providerOptions.baseUrl', open),
    ...secret('AWS_ACCESS_KEY_ID', 'accessKeyId'),
    ...secret('AWS_SECRET_ACCESS_KEY', 'secretAccessKey'),
    ...secret('AWS_SESSION_TOKEN', 'sessionToken'),
    ...unknown.map((it) => notSupported(`${at}.providerOptions.${it}`, find(it, keys), 'it is not known here')),
    ...(value['actionOptions'] === undefined ||
    Object.keys(objectAt(value, 'actionOptions')).every(
      (it) => Object.keys(objectAt(value, 'actionOptions', it)).length === 0,
    )
      ? []
      : [
          notSupported(
            `${at}.actionOptions`,
            value['actionOptions'],
            'objects get the type of their file, and nothing else',
          ),
        ]),
  ];
};

const email = (value: unknown, at: string, values: V4Values): readonly V4Setting[] => {
  const provider = textAt(value, 'provider') ?? 'sendmail';
  const settings = objectAt(value, 'settings');
  const address = (v4Name: string, name: string): readonly V4Setting[] => {
    const found = textAt(settings, v4Name);
    return found === null ? [] : [obeyed(`${at}.config.settings.${v4Name}`, found, config(name, found))];
  };
  const addresses = [...address('defaultFrom', 'mail.from'), ...address('defaultReplyTo', 'mail.replyTo')];
  const others = walk(
    without(isPlain(value) ? value : {}, ['provider', 'providerOptions']),
    `${at}.config`,
    { 'settings.defaultFrom': said, 'settings.defaultReplyTo': said, 'settings.testAddress': ignored(panel) },
    values,
  );
  if (!/nodemailer$/.test(provider))
    return [
      notSupported(`${at}.config.provider`, provider, 'mail goes out over SMTP: set SMTP_HOST'),
      ...addresses,
      ...others,
    ];
  const options = objectAt(value, 'providerOptions');
  const set = (name: string, v4Name: string, found: string | null): readonly V4Setting[] =>
    found === null
      ? []
      : [obeyed(`${at}.config.providerOptions.${v4Name}`, found, { kind: 'variable', name, value: found })];
  const isTls = textAt(options, 'port') === '465';
  const secure: Rule = (it, v4Name) =>
    Boolean(it) === isTls || options['port'] === undefined
      ? []
      : notSupported(v4Name, it, 'port 465 has TLS from the start, and every other port STARTTLS');
  return [
    ...set('SMTP_HOST', 'host', textAt(options, 'host')),
    ...set('SMTP_PORT', 'port', textAt(options, 'port') ?? (options['secure'] === true ? '465' : null)),
    ...set('SMTP_USERNAME', 'auth.user', textAt(options['auth'], 'user')),
    ...set('SMTP_PASSWORD', 'auth.pass', textAt(options['auth'], 'pass')),
    ...walk(
      options,
      `${at}.config.providerOptions`,
      { host: said, port: said, secure, 'auth.user': said, 'auth.pass': said },
      values,
    ),
    ...addresses,
    ...others,
  ];
};

const pluginRules: Readonly<Record<string, (own: unknown, at: string, values: V4Values) => readonly V4Setting[]>> = {
  'users-permissions': (own, at, values) => walk(own, `${at}.config`, users, values),
  upload,
  email,
  i18n: (own, at) => (isPlain(own) && Object.keys(own).length > 0 ? [notNeeded(`${at}.config`, own)] : []),
};

const readers: Readonly<Record<PartName, (value: unknown, values: V4Values) => readonly V4Setting[]>> = {
  server: (value, values) => walk(value, 'server', server, values),
  api: (value, values) => walk(value, 'api', api, values),
  admin: (value, values) => (isPlain(value) ? walk(value, 'admin', admin, values) : []),
  database,
  middlewares,
  plugins,
};

// ---- what wins over them

/** Whether a function says which origins may read responses: `config/middlewares` has one, and nothing else says it. */
export const asksOrigin = (settings: readonly V4Setting[], { given }: { readonly given: unknown }): boolean => {
  const named = settings.filter(({ target }) => target?.name === 'cors.origin');
  return named.length === 1 && isFunction(named[0]!.v4) && !has(given, 'cors.origin');
};

/** That of another database has a refusal of its own. */
export const CLIENT_SETTING = 'database.connection.client';

/** THE settings that refuse a start: they may restrict access, are not supported, and dovetail.config says nothing else. */
export const settingGuards = (
  settings: readonly V4Setting[],
  { given }: { readonly given: unknown },
): readonly V4Setting[] => settings.filter(({ isGuard, target }) => isGuard && !(target && has(given, target.name)));

/** What to do where they refuse a start. The note of each plugin says the rest. */
export const cureOfGuards = (guards: readonly V4Setting[]): string =>
  guards.every((it) => it.kind === 'plugin')
    ? 'Do what they guard with permissions or handlers first.'
    : 'Say in dovetail.config what is to be, or list the files of config/ there: project.ignoreCode; none of their settings are read then.';

/** Paths in dovetail.config and variables that only count together: who gives one gives all. */
const groups: readonly RegExp[] = [/^upload\.s3\./, /^AWS_/, /^SMTP_/];

const isGiven = (name: string, given: (name: string) => boolean, names: readonly string[]): boolean => {
  const group = groups.find((it) => it.test(name));
  return group ? names.some((it) => group.test(it) && given(it)) : given(name);
};

/** The settings under Dovetail's names that dovetail.config does not give itself. */
export const configTargets = (
  settings: readonly V4Setting[],
  isInConfig: (name: string) => boolean,
): readonly NamedValue[] => {
  const all = settings.flatMap(({ target }) => (target?.kind === 'config' ? [target] : []));
  const names = all.map((it) => it.name);
  const wanted = all.filter(({ name }) => !isGiven(name, isInConfig, names));
  return wanted.map((it) => ({ ...it, value: valueIn(wanted, it) }));
};

interface NamedValue {
  readonly name: string;
  readonly value: unknown;
}

/** What counts under the name of a setting, of which v4 may have several. */
export const valueIn = (all: readonly NamedValue[], { name, value }: NamedValue): unknown => {
  const choose = chosen[name];
  return choose ? choose(...all.flatMap((it) => (it.name === name ? [Number(it.value)] : []))) : value;
};

/** Which of several bounds counts. */
const chosen: Readonly<Record<string, (...bounds: readonly number[]) => number>> = {
  'upload.sizeLimit': Math.min,
  'server.bodyBytesMax': Math.max,
};

/** The variables that the environment does not give itself. */
export const variableTargets = (
  settings: readonly V4Setting[],
  given: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> => {
  const all = settings.flatMap(({ target }) => (target?.kind === 'variable' ? [target] : []));
  const isSet = (name: string): boolean => given[name] !== undefined && given[name] !== '';
  const names = all.map((it) => it.name);
  const wanted = all.filter(({ name }) => !isGiven(name, isSet, names));
  const found = Object.fromEntries(wanted.map(({ name, value }) => [name, value]));
  // another database that the environment names has other settings
  const client = clientOf(given);
  const v4Client = all.find((it) => it.name === 'DATABASE_CLIENT')?.value;
  const isOther = client !== null && client !== v4Client;
  return Object.fromEntries(Object.entries(found).filter(([name]) => !(isOther && name.startsWith('DATABASE_'))));
};

/** The database that the environment names; null if it names none. */
export const clientOf = (given: Readonly<Record<string, string | undefined>>): string | null => {
  const { DATABASE_CLIENT: client, DATABASE_URL: url, DATABASE_FILENAME: file } = given;
  if (client !== undefined && client !== '') return client;
  if (url !== undefined && url !== '') return 'postgres';
  return file !== undefined && file !== '' ? 'sqlite' : null;
};
