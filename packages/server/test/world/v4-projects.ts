/** Projects as Strapi 4 leaves them, with their databases: files of several shapes, tables without anything of Dovetail's. */
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import Sqlite from 'better-sqlite3';
import { Client } from 'pg';
import { tablesOf } from '../../src/model/storage.js';
import type { Db, DialectName } from '../../src/sql/dialect.js';
import { applyAdditions, diffTables, planAdditions, readCatalog, type Table } from '../../src/sql/schema.js';
import { openSqlite } from '../../src/sql/sqlite/open.js';
import { insertRows, newDatabase } from './databases.js';
import { newFolder } from './folders.js';
import { component, contentType, type Files, modelIn, typeFile, writeFiles } from './schemas.js';

export interface V4World {
  readonly dir: string;
  readonly dialect: DialectName;
  /** Runs statements as another program would. */
  run(...statements: readonly string[]): Promise<readonly (readonly unknown[])[]>;
  /** Names, contents and times of all files; on PostgreSQL the number of transactions that have written, too. */
  fingerprint(): Promise<unknown>;
  drop(): Promise<void>;
}

type Rows = Readonly<Record<string, readonly Readonly<Record<string, string | number | boolean | null>>[]>>;

/** @param rows by table. @param databaseConfig `config/database`, if the project has one of another form. */
export const newV4World = async (dialect: DialectName, files: Files, rows: Rows = {}): Promise<V4World> => {
  const dir = newFolder();
  const database = dialect === 'postgres' ? await newDatabase(dialect) : null;
  const url = database?.env['DATABASE_URL'];
  const variables = url ? variablesOf(url) : 'DATABASE_CLIENT=sqlite\n';
  writeFiles(dir, { ...files, '.env': `${String(files['.env'] ?? '')}\n${variables}` });
  const file = path.join(dir, '.tmp/data.db');
  if (database) await fill(database.db, dir, rows);
  else {
    fs.mkdirSync(path.dirname(file));
    const db = await openSqlite(file);
    await fill(db, dir, rows);
    await db.close();
    const raw = new Sqlite(file);
    raw.pragma('journal_mode = delete');
    raw.close();
  }
  const run: V4World['run'] = async (...statements) =>
    url ? runOnPostgres(url, statements) : runOnSqlite(file, statements);
  return {
    dir,
    dialect,
    run,
    fingerprint: async () => ({
      files: fingerprintOf(dir),
      written: url ? await run(lastWrites) : null,
    }),
    drop: async () => {
      await database?.drop();
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
};

const variablesOf = (text: string): string => {
  const url = new URL(text);
  return [
    'DATABASE_CLIENT=postgres',
    `DATABASE_HOST=${url.hostname}`,
    `DATABASE_PORT=${url.port}`,
    `DATABASE_NAME=${url.pathname.slice(1)}`,
    `DATABASE_USERNAME=${url.username}`,
    `DATABASE_PASSWORD=${url.password}`,
    '',
  ].join('\n');
};

/** v4's tables, and what every v4 has after its first start. */
const fill = async (db: Db, dir: string, rows: Rows): Promise<void> => {
  const tables = tablesOf(modelIn(dir)).map((it): Table => ({ ...it, indexes: it.indexes.filter(({ own }) => !own) }));
  await applyAdditions(planAdditions(diffTables(tables, await readCatalog(db), db), db), db);
  const all: Rows = { ...firstStart, ...rows };
  for (const table of tables) {
    const own = all[table.name];
    if (own) await insertRows(db, table, own);
  }
};

const firstStart: Rows = {
  up_roles: [
    { id: 1, name: 'Authenticated', type: 'authenticated' },
    { id: 2, name: 'Public', type: 'public' },
  ],
  i18n_locale: [{ id: 1, name: 'English (en)', code: 'en' }],
  strapi_core_store_settings: [{ id: 1, key: 'plugin_i18n_default_locale', value: '"en"', type: 'string' }],
};

/** Rows that let the role public do something. */
export const allowPublic = (...actions: readonly string[]): Rows => ({
  up_permissions: actions.map((action, i) => ({ id: i + 1, action })),
  up_permissions_role_links: actions.map((_, i) => ({
    id: i + 1,
    permission_id: i + 1,
    role_id: 2,
    permission_order: i,
  })),
});

const runOnSqlite = (file: string, statements: readonly string[]): readonly (readonly unknown[])[] => {
  const raw = new Sqlite(file);
  try {
    raw.pragma('foreign_keys = off');
    let rows: readonly (readonly unknown[])[] = [];
    for (const it of statements) {
      const prepared = raw.prepare(it);
      if (prepared.reader) rows = prepared.raw().all() as readonly (readonly unknown[])[];
      else prepared.run();
    }
    return rows;
  } finally {
    raw.close();
  }
};

const runOnPostgres = async (url: string, statements: readonly string[]): Promise<readonly (readonly unknown[])[]> => {
  const client = new Client(url);
  await client.connect();
  try {
    let rows: readonly (readonly unknown[])[] = [];
    // as an import does: no foreign keys are checked
    await client.query('set session_replication_role = replica');
    for (const it of statements) rows = (await client.query({ text: it, rowMode: 'array' })).rows;
    return rows;
  } finally {
    await client.end();
  }
};

/** The rows of each table, those of the catalog included, and the last transaction that wrote one; other databases have transactions too. */
const lastWrites = `select t.oid::regclass::text, query_to_xml(format('select count(*), max(xmin::text::bigint) from %s', t.oid::regclass), false, true, '')::text
  from pg_class t where t.relkind = 'r' and (t.relnamespace = 'public'::regnamespace or t.relname in ('pg_class', 'pg_attribute', 'pg_index', 'pg_sequence')) order by 1`;

/** Names, contents, sizes and times of all files and folders below one. */
export const fingerprintOf = (dir: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    ['.', ...fs.readdirSync(dir, { recursive: true, encoding: 'utf8' })].sort().map((name) => {
      const file = path.join(dir, name);
      const { mtimeNs, ctimeNs, size, mode } = fs.statSync(file, { bigint: true });
      const content = fs.statSync(file).isFile() ? crypto.hash('sha1', fs.readFileSync(file)) : '';
      return [name, [mtimeNs, ctimeNs, size, mode, content].join(' ')];
    }),
  );

// ---- shapes

const manifest = (dependencies: Readonly<Record<string, string>> = {}): object => ({
  name: 'my-project',
  private: true,
  dependencies: {
    '@strapi/strapi': '4.25.9',
    '@strapi/plugin-i18n': '4.25.9',
    '@strapi/plugin-users-permissions': '4.25.9',
    'better-sqlite3': '8.6.0',
    ...dependencies,
  },
  engines: { node: '>=18.0.0 <=20.x.x' },
});

/** As `create-strapi-app` writes it: databases by name, only some of which need variables. */
const databaseConfig = (
  isTypeScript: boolean,
): string => `${isTypeScript ? "import path from 'path';" : "const path = require('path');"}

${isTypeScript ? 'export default' : 'module.exports ='} ({ env }) => {
  const client = env('DATABASE_CLIENT', 'sqlite');
  const connections = {
    postgres: {
      connection: {
        connectionString: env('DATABASE_URL'),
        host: env('DATABASE_HOST', 'localhost'),
        port: env.int('DATABASE_PORT', 5432),
        database: env('DATABASE_NAME', 'strapi'),
        user: env('DATABASE_USERNAME', 'strapi'),
        password: env('DATABASE_PASSWORD', 'strapi'),
        ssl: env.bool('DATABASE_SSL', false) && { key: env('DATABASE_SSL_KEY', undefined) },
        schema: env('DATABASE_SCHEMA', 'public'),
      },
      pool: { min: env.int('DATABASE_POOL_MIN', 2), max: env.int('DATABASE_POOL_MAX', 10) },
    },
    sqlite: {
      connection: {
        filename: path.join(__dirname, ${isTypeScript ? "'..', '..'" : "'..'"}, env('DATABASE_FILENAME', '.tmp/data.db')),
      },
      useNullAsDefault: true,
    },
  };
  return { connection: { client, ...connections[client], acquireConnectionTimeout: env.int('DATABASE_CONNECTION_TIMEOUT', 60000) } };
};
`;

const generated = (name: string): Files => ({
  [`src/api/${name}/controllers/${name}.js`]: `'use strict';\n\n/**\n * ${name} controller\n */\n\nconst { createCoreController } = require('@strapi/strapi').factories;\n\nmodule.exports = createCoreController('api::${name}.${name}');\n`,
  [`src/api/${name}/routes/${name}.js`]: `'use strict';\n\n/**\n * ${name} router\n */\n\nconst { createCoreRouter } = require('@strapi/strapi').factories;\n\nmodule.exports = createCoreRouter('api::${name}.${name}');\n`,
  [`src/api/${name}/services/${name}.js`]: `'use strict';\n\n/**\n * ${name} service\n */\n\nconst { createCoreService } = require('@strapi/strapi').factories;\n\nmodule.exports = createCoreService('api::${name}.${name}');\n`,
});

const configs: Files = {
  'config/admin.js': `module.exports = ({ env }) => ({\n  auth: { secret: env('ADMIN_JWT_SECRET') },\n  apiToken: { salt: env('API_TOKEN_SALT') },\n  transfer: { token: { salt: env('TRANSFER_TOKEN_SALT') } },\n});\n`,
  'config/api.js': `module.exports = {\n  rest: {\n    defaultLimit: 25,\n    maxLimit: 100,\n    withCount: true,\n  },\n};\n`,
  'config/database.js': databaseConfig(false),
  'config/middlewares.js': `module.exports = [\n  'strapi::logger',\n  'strapi::errors',\n  'strapi::security',\n  'strapi::cors',\n  'strapi::poweredBy',\n  'strapi::query',\n  'strapi::body',\n  'strapi::session',\n  'strapi::favicon',\n  'strapi::public',\n];\n`,
  'config/server.js': `module.exports = ({ env }) => ({\n  host: env('HOST', '0.0.0.0'),\n  port: env.int('PORT', 1337),\n  app: { keys: env.array('APP_KEYS') },\n});\n`,
};

/** The default starter, with a type of its own. */
export const starter: Files = {
  'package.json': manifest(),
  '.env':
    'HOST=0.0.0.0\nPORT=1337\nAPP_KEYS=a,b\nAPI_TOKEN_SALT=c2FsdCBvZiB0aGUgdGVzdHM\nJWT_SECRET=c2VjcmV0IG9mIHRoZSB0ZXN0cw\n',
  ...configs,
  'src/index.js': `'use strict';\n\nmodule.exports = {\n  register(/*{ strapi }*/) {},\n  bootstrap(/*{ strapi }*/) {},\n};\n`,
  ...generated('dish'),
  ...generated('menu'),
  [typeFile('dish')]: contentType(
    'dish',
    {
      title: { type: 'string', required: true },
      price: { type: 'decimal' },
      kind: { type: 'enumeration', enum: ['starter', 'main', 'dessert'] },
      picture: { type: 'media', multiple: false, allowedTypes: ['images'] },
      menus: { type: 'relation', relation: 'manyToMany', target: 'api::menu.menu', mappedBy: 'dishes' },
      allergens: { type: 'component', repeatable: true, component: 'food.allergen' },
      blocks: { type: 'dynamiczone', components: ['food.note', 'food.allergen'] },
    },
    {
      collectionName: 'dishes',
      info: { singularName: 'dish', pluralName: 'dishes', displayName: 'Dish' },
      options: { draftAndPublish: true },
    },
  ),
  [typeFile('menu')]: contentType('menu', {
    name: { type: 'string' },
    dishes: { type: 'relation', relation: 'manyToMany', target: 'api::dish.dish', inversedBy: 'menus' },
  }),
  'src/components/food/allergen.json': component('components_food_allergens', { name: { type: 'string' } }),
  'src/components/food/note.json': component('components_food_notes', { text: { type: 'richtext' } }),
};

export const starterRows: Rows = {
  ...allowPublic('api::dish.dish.find', 'api::dish.dish.findOne', 'plugin::users-permissions.auth.callback'),
  dishes: [
    {
      id: 1,
      title: 'Soup',
      price: 4.5,
      kind: 'starter',
      created_at: 1_700_000_000_000,
      published_at: 1_700_000_000_000,
    },
    { id: 2, title: 'Pie', price: 9, kind: 'main', created_at: 1_700_000_000_000, published_at: 1_700_000_000_000 },
    { id: 3, title: 'Fig', price: 5, kind: 'dessert', created_at: 1_700_000_000_000, published_at: null },
  ],
  menus: [{ id: 1, name: 'Monday' }],
  menus_dishes_links: [
    { id: 1, menu_id: 1, dish_id: 1, dish_order: 1, menu_order: 1 },
    { id: 2, menu_id: 1, dish_id: 2, dish_order: 2, menu_order: 1 },
  ],
  components_food_allergens: [{ id: 1, name: 'Celery' }],
  dishes_components: [
    { id: 1, entity_id: 1, component_id: 1, component_type: 'food.allergen', field: 'allergens', order: 1 },
  ],
  up_users: [
    { id: 1, username: 'ann', email: 'ann@example.org', provider: 'local', password: `$2a$10$${'x'.repeat(53)}` },
  ],
  up_users_role_links: [{ id: 1, user_id: 1, role_id: 1, user_order: 1 }],
  strapi_api_tokens: [{ id: 1, name: 'front end', type: 'read-only', access_key: 'x' }],
};

/** TypeScript, names of its own for the database in production, two languages, limits left to v4. */
export const typeScript: Files = {
  'package.json': manifest({ '@strapi/plugin-documentation': '4.25.9' }),
  'tsconfig.json': {
    extends: '@strapi/typescript-utils/tsconfigs/server',
    compilerOptions: { outDir: 'dist', rootDir: '.' },
  },
  '.env': 'JWT_SECRET=c2VjcmV0IG9mIHRoZSB0ZXN0cw\nTOKEN_SALT=c2FsdCBvZiB0aGUgdGVzdHM\n',
  'config/database.ts': databaseConfig(true),
  'config/admin.ts': `export default ({ env }) => ({ apiToken: { salt: env('TOKEN_SALT') } });\n`,
  'config/server.ts': `export default ({ env }) => ({ host: env('HOST', '0.0.0.0'), port: env.int('PORT', 1337), url: 'https://cms.example.org', proxy: true });\n`,
  'config/middlewares.ts': `export default ['strapi::errors', { name: 'strapi::cors', config: { origin: ['https://example.org'] } }, 'strapi::body'];\n`,
  'config/env/production/database.ts': `export default ({ env }) => ({\n  connection: {\n    client: env('DATABASE_CLIENT', 'postgres'),\n    connection: {\n      filename: '.tmp/data.db',\n      host: env('PG_HOST'),\n      port: env.int('PG_PORT'),\n      database: env('PG_NAME'),\n      user: env('PG_USER'),\n      password: env('PG_PASSWORD'),\n    },\n  },\n});\n`,
  'src/index.ts': 'export default {\n  register(/* { strapi } */) {},\n  bootstrap(/* { strapi } */) {},\n};\n',
  'src/api/page/routes/page.ts': `/**\n * page router\n */\nimport { factories } from '@strapi/strapi';\n\nexport default factories.createCoreRouter('api::page.page', { only: ['find', 'findOne'] });\n`,
  [typeFile('page')]: contentType(
    'page',
    {
      title: { type: 'string', pluginOptions: { i18n: { localized: true } } },
      slug: { type: 'uid', targetField: 'title' },
    },
    { pluginOptions: { i18n: { localized: true } } },
  ),
};

export const typeScriptRows: Rows = {
  i18n_locale: [
    { id: 1, name: 'English (en)', code: 'en' },
    { id: 2, name: 'German (de)', code: 'de' },
  ],
  pages: [
    { id: 1, title: 'Home', slug: 'home', locale: 'en' },
    { id: 2, title: 'Start', slug: 'start', locale: 'de' },
  ],
  pages_localizations_links: [
    { id: 1, page_id: 1, inv_page_id: 2, page_order: 1 },
    { id: 2, page_id: 2, inv_page_id: 1, page_order: 1 },
  ],
};

/** Plugins, an extension, policies, lifecycles, routes of its own, uploads in S3, attributes that are hidden everywhere. */
export const withCode: Files = {
  ...starter,
  'package.json': manifest({
    '@strapi/plugin-graphql': '4.25.9',
    '@strapi/provider-upload-aws-s3': '4.25.9',
    'strapi-plugin-populate-deep': '3.0.1',
  }),
  'config/api.js': `module.exports = { rest: { prefix: '/v1' }, responses: { privateAttributes: ['price'] } };\n`,
  'config/plugins.js': `module.exports = ({ env }) => ({
  'users-permissions': { config: { jwtSecret: env('AUTH_SECRET'), jwt: { expiresIn: '7d' }, register: { allowedFields: ['nickname'] } } },
  upload: { config: { provider: 'aws-s3', sizeLimit: 1000000, providerOptions: { baseUrl: 'https://cdn.example.org', rootPath: 'cms', s3Options: { credentials: { accessKeyId: env('KEY'), secretAccessKey: env('SECRET') }, region: 'eu-central-1', params: { Bucket: 'dishes' } } } } },
});\n`,
  '.env': 'AUTH_SECRET=c2VjcmV0IG9mIHRoZSB0ZXN0cw\nAPI_TOKEN_SALT=c2FsdCBvZiB0aGUgdGVzdHM\n',
  'src/api/dish/routes/dish.js': `'use strict';\nconst { createCoreRouter } = require('@strapi/strapi').factories;\nmodule.exports = createCoreRouter('api::dish.dish', { config: { find: { policies: ['is-open'] } } });\n`,
  'src/api/dish/routes/01-today.js': `module.exports = { routes: [{ method: 'GET', path: '/dishes/today', handler: 'dish.today', config: { auth: false } }, { path: '/dishes/:id/cook', method: 'POST', handler: 'dish.cook' }] };\n`,
  'src/api/dish/policies/is-open.js': 'module.exports = () => true;\n',
  'src/api/dish/content-types/dish/lifecycles.js': 'module.exports = { beforeCreate(event) {} };\n',
  'src/extensions/users-permissions/strapi-server.js': 'module.exports = (plugin) => plugin;\n',
  'src/api/menu/handlers.ts': 'export default {};\n',
};
