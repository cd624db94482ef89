/** A v4 project of a few files on a fresh database, served in this process. */
import fs from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { vi } from 'vitest';
import type { Db, DialectName } from '../../src/sql/dialect.js';
import { type Answered, type Asked, type CodeServer, serveProject } from './code-server.js';
import { newDatabase, type TestDatabase } from './databases.js';
import { newFolder } from './folders.js';
import { writeFiles } from './schemas.js';

export interface CodeProject extends Pick<CodeServer, 'ask' | 'base' | 'site'> {
  readonly dir: string;
  readonly db: Db;
  /** Names its database, for commands. */
  readonly env: TestDatabase['env'];
  /** Lines of the log, warnings and errors. */
  readonly logged: string[];
  /** Sends JSON and parses the response. */
  json(method: string, path: string, body?: unknown, headers?: Asked['headers']): Promise<JsonAnswer>;
  /** Sends a form. A file is `[name, type, content]`. */
  form(method: string, path: string, parts: FormParts, headers?: Asked['headers']): Promise<JsonAnswer>;
  /** Files of uploads on their way that are on the disk. */
  leftovers(): readonly string[];
  close(): Promise<void>;
}

export type FormParts = Readonly<Record<string, string | readonly [name: string, type: string, content: string]>>;

export interface JsonAnswer extends Pick<Answered, 'status' | 'headers'> {
  readonly body: unknown;
}

type MakeTypeFile = (
  name: string,
  attributes: Readonly<Record<string, unknown>>,
  options?: { readonly draftAndPublish?: boolean; readonly populateCreatorFields?: boolean },
  pluginOptions?: object,
) => Readonly<Record<string, string>>;

const typeFileOf =
  (kind: 'collectionType' | 'singleType'): MakeTypeFile =>
  (name, attributes, options = {}, pluginOptions = {}) => ({
    [`src/api/${name}/content-types/${name}/schema.json`]: JSON.stringify({
      kind,
      collectionName: `${name}s`,
      info: { singularName: name, pluralName: `${name}s`, displayName: name },
      options: { draftAndPublish: false, ...options },
      pluginOptions,
      attributes,
    }),
  });

/** A content type: `src/api/NAME/content-types/NAME/schema.json`, the plural adds an s. */
export const typeFile = typeFileOf('collectionType');
export const singleTypeFile = typeFileOf('singleType');

const role = 'plugin::users-permissions.role';

/** The schema of users as v4 ships it, which extensions repeat, with own attributes. */
export const userSchema = (own: Readonly<Record<string, unknown>> = {}) => ({
  kind: 'collectionType',
  collectionName: 'up_users',
  info: { name: 'user', singularName: 'user', pluralName: 'users', displayName: 'User' },
  options: { draftAndPublish: false },
  attributes: {
    username: { type: 'string', minLength: 3, unique: true, configurable: false, required: true },
    email: { type: 'email', minLength: 6, configurable: false, required: true },
    provider: { type: 'string', configurable: false },
    password: { type: 'password', minLength: 6, configurable: false, private: true },
    resetPasswordToken: { type: 'string', private: true },
    confirmationToken: { type: 'string', private: true },
    confirmed: { type: 'boolean', default: false },
    blocked: { type: 'boolean', default: false },
    role: { type: 'relation', relation: 'manyToOne', target: role, inversedBy: 'users', configurable: false },
    ...own,
  },
});
/** Where extensions have it. */
export const userSchemaFile = 'src/extensions/users-permissions/content-types/user/schema.json';

/** `createCoreRouter('api::NAME.NAME', OWN)` and the like. */
export const coreFile = (
  kind: 'Controller' | 'Router' | 'Service',
  name: string,
  own = '',
): Readonly<Record<string, string>> => ({
  [`src/api/${name}/${{ Controller: 'controllers', Router: 'routes', Service: 'services' }[kind]}/${name}.js`]: `module.exports = require('@strapi/strapi').factories.createCore${kind}('api::${name}.${name}'${own === '' ? '' : `, ${own}`});`,
});

/** Code for `bootstrap` that gives roles permissions: `allow('public', ['api::book.book.find'])`. */
export const allowing = `const allow = async (type, actions) => {
  const roles = strapi.query('plugin::users-permissions.role');
  const role = (await roles.findOne({ where: { type } })) ?? (await roles.create({ data: { name: type, type } }));
  for (const action of actions) await strapi.query('plugin::users-permissions.permission').create({ data: { action, role: role.id } });
};`;

export const serveCode = async (
  dialect: DialectName,
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Promise<CodeProject> => {
  const database = await newDatabase(dialect);
  const dir = newFolder();
  writeFiles(dir, {
    'package.json': '{}',
    'dovetail.config.json': JSON.stringify({ users: { attemptsMax: 0 } }),
    '.env': 'JWT_SECRET=a-secret-that-is-long-enough-for-tests\nAPI_TOKEN_SALT=salt\nADMIN_JWT_SECRET=another\n',
    ...files,
  });
  const logged: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) });
  for (const name of ['DATABASE_CLIENT', 'DATABASE_FILENAME', 'DATABASE_URL']) vi.stubEnv(name, database.env[name]);
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  try {
    const { ask, base, site, close } = await serveProject(dir, { logger });
    const asJson = ({ status, text, headers }: Answered): JsonAnswer => ({
      status,
      headers,
      body: /^[[{]/.test(text) ? JSON.parse(text) : text,
    });
    return {
      ask,
      base,
      site,
      dir,
      db: database.db,
      env: database.env,
      logged,
      json: async (method, at, body, headers = {}) =>
        asJson(await ask(at, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })),
      form: async (method, at, parts, headers = {}) => {
        const body = Object.entries(parts)
          .map(([name, part]) =>
            typeof part === 'string'
              ? `--xyz\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${part}\r\n`
              : `--xyz\r\nContent-Disposition: form-data; name="${name.replace(/#.*/, '')}"; filename="${part[0]}"\r\nContent-Type: ${part[1]}\r\n\r\n${part[2]}\r\n`,
          )
          .join('');
        const type = { 'content-type': 'multipart/form-data; boundary=xyz' };
        return asJson(await ask(at, { method, headers: { ...type, ...headers }, body: `${body}--xyz--\r\n` }));
      },
      leftovers: () => {
        const work = path.join(dir, '.tmp/uploads');
        if (!fs.existsSync(work)) return [];
        return fs
          .readdirSync(work, { recursive: true, withFileTypes: true })
          .filter((it) => it.isFile() && !it.name.endsWith('-serving'))
          .map((it) => path.join(it.parentPath, it.name));
      },
      close: async () => {
        await close();
        await database.drop();
        fs.rmSync(dir, { recursive: true, force: true });
      },
    };
  } catch (fault) {
    await database.drop();
    throw fault;
  } finally {
    vi.unstubAllEnvs();
  }
};
