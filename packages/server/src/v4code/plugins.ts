/** The plugins of v4 that the server stands for, as project code and extensions see them. */
import crypto from 'node:crypto';
import { hashPassword, isPassword } from '../access/passwords.js';
import { accountEndpoints } from '../accounts/endpoints.js';
import type { MailSender } from '../accounts/mail.js';
import { USER_UID } from '../model/model.js';
import type { CodeConfig } from './config.js';
import type { Entity } from './entities.js';
import type { EntityParams, EntityService } from './entity-service.js';
import { CodeFault } from './load.js';
import type { CodeContext } from './native.js';
import { type DeclaredRoute, isCallable, isMembers, type Members, type PlacedRoute } from './parts.js';

export interface PluginObject {
  controllers: Record<string, Record<string, unknown>>;
  services: Record<string, unknown>;
  routes: Record<string, { type: string; prefix?: string; routes: DeclaredRoute[] }>;
  policies: Record<string, unknown>;
  middlewares: Record<string, unknown>;
  contentTypes: Record<string, unknown>;
  config: (path: string, otherwise?: unknown) => unknown;
  service: (name: string) => unknown;
  controller: (name: string) => unknown;
}

export interface Plugins {
  readonly byName: Readonly<Record<string, PluginObject>>;
  controller(plugin: string, name: string): Members | undefined;
  service(plugin: string, name: string): Members | undefined;
  policies(plugin: string, name: string): unknown;
  middlewares(plugin: string, name: string): unknown;
  /** In their order, with those that extensions have added. One that they have removed answers a 404. */
  readonly routes: readonly PlacedRoute[];
  /** Lets the project's extensions change the plugins. */
  extend(extensions: ReadonlyMap<string, unknown>): Promise<void>;
}

export interface PluginDeps {
  readonly config: CodeConfig;
  readonly entityService: EntityService;
  readonly findUser: (id: number) => Promise<Entity | null>;
  readonly jwtSecret: string;
  readonly jwtSeconds: number;
  readonly mail: MailSender;
  /** Answers a request by the server's own endpoint for its URL. */
  readonly answerNatively: (ctx: CodeContext) => Promise<void>;
  /** What services that are functions are given. */
  readonly strapi: () => unknown;
}

export const newPlugins = (deps: PluginDeps): Plugins => {
  const { config } = deps;
  const plugin = (name: string, services: Record<string, unknown>): PluginObject => {
    const made: PluginObject = {
      controllers: {},
      services,
      routes: { 'content-api': { type: 'content-api', routes: [] } },
      policies: {},
      middlewares: {},
      contentTypes: {},
      config: (path, otherwise) => config.get(`plugin.${name}.${path}`, otherwise),
      service: (it) => {
        const service = made.services[it];
        return isCallable(service) ? service({ strapi: deps.strapi() }) : service;
      },
      controller: (it) => made.controllers[it],
    };
    return made;
  };
  const byName: Record<string, PluginObject> = {
    'users-permissions': plugin('users-permissions', { user: userService(deps), jwt: jwtService(deps) }),
    email: plugin('email', { email: emailService(deps) }),
    upload: plugin('upload', {}),
    i18n: plugin('i18n', {}),
  };
  const users = byName['users-permissions']!;
  const stubs = new Set<unknown>();
  for (const { method, path, permission: action } of accountEndpoints) {
    const [controller = '', name = ''] = action.split('.');
    const stub = (ctx: CodeContext) => deps.answerNatively(ctx);
    stubs.add(stub);
    users.controllers[controller] = { ...users.controllers[controller], [name]: stub };
    users.routes['content-api']!.routes.push({
      method,
      path: path.replace(/\*$/, '(.*)'),
      handler: action,
      config: { prefix: '' },
    });
  }
  const given = [...users.routes['content-api']!.routes];

  return {
    byName,
    controller: (name, of) => byName[name]?.controllers[of],
    service: (name, of) => byName[name]?.service(of) as Members | undefined,
    policies: (name, of) => byName[name]?.policies[of],
    middlewares: (name, of) => byName[name]?.middlewares[of],
    get routes() {
      const isUntouched = (
        { handler, config: own = {} }: DeclaredRoute,
        controllers: PluginObject['controllers'],
      ): boolean => {
        const [controller = '', action = ''] = typeof handler === 'string' ? handler.split('.').slice(-2) : [];
        const guards = [...(own.policies ?? []), ...(own.middlewares ?? [])];
        return stubs.has(controllers[controller]?.[action]) && guards.length === 0 && own.auth === undefined;
      };
      const placed = Object.entries(byName).flatMap(([name, { routes, controllers }]) =>
        Object.values(routes).flatMap(({ routes: listed, type, prefix = '' }) =>
          listed.map((declared) => ({
            declared,
            prefix,
            namespace: `plugin::${name}`,
            info: { pluginName: name, type: type ?? 'content-api' },
            isNative: isUntouched(declared, controllers),
          })),
        ),
      );
      const isStill = (route: DeclaredRoute): boolean =>
        placed.some(({ declared: it }) => it.method === route.method && it.path === route.path);
      const removed = given
        .filter((it) => !isStill(it))
        .map(({ method, path }) => ({
          declared: { method, path, handler: notFound, config: { auth: false as const } },
          prefix: '',
          namespace: 'plugin::users-permissions',
          info: {},
          isNative: false,
        }));
      return [...placed, ...removed];
    },
    extend: async (extensions) => {
      for (const [name, extension] of extensions) {
        const known = byName[name];
        if (!known)
          throw new CodeFault(`src/extensions/${name}: the plugin ${name} is not one that this server stands for`);
        const changed = isCallable(extension) ? await extension(known) : extension;
        if (isMembers(changed) && changed !== (known as unknown)) Object.assign(known, changed);
      }
    },
  };
};

const notFound = (ctx: unknown): void => (ctx as { notFound(): void }).notFound();

/** `strapi.plugin('users-permissions').service('user')`. */
const userService = ({ entityService, findUser }: PluginDeps): Record<string, unknown> => ({
  count: (params?: EntityParams) => entityService.count(USER_UID, { filters: params }),
  add: (values: Members) => entityService.create(USER_UID, { data: values, populate: ['role'] }),
  edit: (id: number, values: Members = {}) => entityService.update(USER_UID, id, { data: values, populate: ['role'] }),
  fetch: (id: number, params?: EntityParams) => entityService.findOne(USER_UID, id, params),
  fetchAll: (params?: EntityParams) => entityService.findMany(USER_UID, params),
  fetchAuthenticatedUser: findUser,
  remove: ({ id }: { readonly id: number }) => entityService.delete(USER_UID, id),
  validatePassword: (password: string, hash: string) => isPassword(password, hash),
  hashPassword: (password: string) => hashPassword(password, 10),
});

/** `strapi.plugin('users-permissions').service('jwt')`: the tokens of v4, HS256. */
const jwtService = ({ jwtSecret, jwtSeconds }: PluginDeps): Record<string, unknown> => {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const sign = (text: string): string => crypto.createHmac('sha256', jwtSecret).update(text).digest('base64url');
  const verify = async (token: string): Promise<Members> => {
    const { createSecretKey } = crypto;
    const { jwtVerify } = await import('jose/jwt/verify');
    const { payload } = await jwtVerify(token, createSecretKey(jwtSecret, 'utf8'), { algorithms: ['HS256'] });
    return payload;
  };
  return {
    issue: (payload: Members, { expiresIn }: { readonly expiresIn?: number } = {}) => {
      const iat = Math.floor(Date.now() / 1000);
      const exp = iat + (typeof expiresIn === 'number' ? expiresIn : jwtSeconds);
      const text = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ ...payload, iat, exp })}`;
      return `${text}.${sign(text)}`;
    },
    verify,
    getToken: async (ctx: CodeContext) => {
      const header = ctx.request.header['authorization'];
      const [, token] = /^bearer +(\S+)$/i.exec(String(header ?? '')) ?? [];
      return token === undefined ? null : verify(token);
    },
  };
};

const emailService = ({ mail }: PluginDeps): Record<string, unknown> => ({
  send: ({ to, subject, text, html, from, replyTo }: Readonly<Record<string, string | undefined>>) =>
    mail.send({
      to: String(to ?? ''),
      subject: String(subject ?? ''),
      text: String(text ?? html ?? ''),
      html: String(html ?? text ?? ''),
      from: from ?? null,
      replyTo: replyTo ?? null,
    }),
});
