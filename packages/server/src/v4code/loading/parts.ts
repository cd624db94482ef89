/** What a v4 project's code consists of, as it was loaded: before anything of it runs. Values of its own are unknown. */

/** What project code defines may be anything; it is called with what v4 gives and checked afterwards. */
export type Callable = (...given: readonly unknown[]) => unknown;

export const isCallable = (value: unknown): value is Callable => typeof value === 'function';

/** The key under which code finds the text of a body: `includeUnparsed` of `strapi::body`. */
export const UNPARSED = Symbol.for('unparsedBody');

export type Members = Readonly<Record<string, unknown>>;

export const isMembers = (value: unknown): value is Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** The actions of a core controller, in the order of its routes. */
export const coreActions = ['find', 'findOne', 'create', 'update', 'delete'] as const;
export type CoreAction = (typeof coreActions)[number];

/** False: no authentication at all. */
export type RouteAuth =
  | false
  | {
      /** Other permissions than the route's own. */
      readonly scope?: string | readonly string[];
      /** v4's names of the only ways to be known that count there. */
      readonly strategies?: unknown;
    };

/** What a route's `config` may say; unknown members have no effect. */
export interface RouteConfig {
  readonly auth?: RouteAuth;
  readonly policies?: readonly unknown[];
  readonly middlewares?: readonly unknown[];
  /** Whatever it says, the prefix of the file is left off, as in v4. */
  readonly prefix?: unknown;
}

/** A route as a file of the project declares it. */
export interface DeclaredRoute {
  readonly method: string;
  /** Below the prefix, with parameters as `path-to-regexp` 6 reads them. */
  readonly path: string;
  readonly handler: unknown;
  readonly config?: RouteConfig;
  readonly info?: Members;
}

/** What stands before a route's path: one that has a prefix of its own, whatever it says, is without that of its file. */
export const prefixOf = ({ config = {} }: Pick<DeclaredRoute, 'config'>, ofFile: string): string =>
  Object.hasOwn(config, 'prefix') ? '' : ofFile;

/** A route with what its place in the project says of it. */
export interface PlacedRoute {
  readonly declared: DeclaredRoute;
  /** The file that declares it, relative to the project folder, or else who does. */
  readonly place: string;
  readonly prefix: string;
  /** `api::tool` or `plugin::users-permissions`, what names in the route are relative to. */
  readonly namespace: string;
  readonly info: Members;
  /** An endpoint of a plugin of which the server answers everything by itself. */
  readonly isNative: boolean;
}

/** A folder of `src/api`. */
export interface Api {
  /** As v4 names it: in kebab case. */
  readonly name: string;
  readonly folder: string;
  readonly controllers: ReadonlyMap<string, unknown>;
  readonly services: ReadonlyMap<string, unknown>;
  readonly policies: ReadonlyMap<string, unknown>;
  readonly middlewares: ReadonlyMap<string, unknown>;
  /** Routers by the name of their file. Code may add and change some in `register`. */
  routes: Readonly<Record<string, unknown>>;
  /** Relative to the project folder, by the names of routers. */
  readonly routeFiles: ReadonlyMap<string, string>;
}

/** What a file says of a content type that has to exist. */
export interface NamedType {
  readonly uid: string;
  /** Relative to the project folder. */
  readonly file: string;
  /** `createCoreRouter`, `lifecycles`. */
  readonly what: string;
}

/** Plugins of v4 that the server stands for: their extensions run. */
export const servedPlugins: readonly string[] = ['users-permissions', 'email', 'upload', 'i18n'];

/** `src/extensions/NAME/strapi-server`, loaded. */
export interface Extension {
  /** Relative to the project folder. */
  readonly file: string;
  /** A function of the plugin, or what replaces members of it. */
  readonly given: unknown;
  /** The schema files of the project for content types of the plugin, by type. */
  readonly schemas: Members;
  /** The fault that stops the start, with the place in the project that an error names. */
  failed(fault: unknown, what?: string): Error;
}

/** What a schema file says. */
export interface SchemaFile {
  /** Relative to the project folder. */
  readonly file: string;
  readonly schema: Members;
}

/** What a project has of plugins. */
export interface Extensions {
  readonly byPlugin: ReadonlyMap<string, Extension>;
  /** Files for plugins that the server does not stand for. */
  readonly skipped: readonly string[];
  /** Names of plugins among the dependencies of the project. */
  readonly installed: ReadonlySet<string>;
}

/** `register`, `bootstrap` and `destroy` of `src/index` or `src/api/NAME/index`. */
export interface IndexModule {
  /** Relative to the project folder. */
  readonly file: string;
  readonly members: Members;
}

export interface ProjectCode {
  readonly apis: ReadonlyMap<string, Api>;
  /** `global::NAME`. */
  readonly policies: ReadonlyMap<string, unknown>;
  readonly middlewares: ReadonlyMap<string, unknown>;
  /** Hooks by the uid of their content type, and where they are. */
  readonly lifecycles: ReadonlyMap<string, { readonly hooks: Members; readonly file: string }>;
  /** Types that files name as their own. */
  readonly namedTypes: readonly NamedType[];
  /** Schema files by the uid of their type. */
  readonly schemas: ReadonlyMap<string, SchemaFile>;
  readonly extensions: Extensions;
  /** Those of the APIs, and `src/index` last, as v4 calls them. */
  readonly indexes: readonly IndexModule[];
}
