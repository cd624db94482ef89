/** Files of v4's plugins that projects import whose extensions repeat whole controllers: the services, and checks of bodies. */
import { type Callable, isMembers, type Members } from '../loading/parts.js';
import { ValidationError } from '../strapi-utils/errors.js';

/** By the names under which they are imported. */
export const pluginPackages = (): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries({
      '@strapi/plugin-users-permissions/server/utils': utilsOf('users-permissions'),
      '@strapi/plugin-users-permissions/server/controllers/validation/auth': bodyChecks,
      '@strapi/plugin-upload/server/utils': utilsOf('upload'),
    }).flatMap(([name, exported]) => [
      [name, exported],
      [`${name}.js`, exported],
      [`${name}/index`, exported],
      [`${name}/index.js`, exported],
    ]),
  );

/** As v4's, they ask the global `strapi`. */
const utilsOf = (plugin: string): Members => ({
  getService: (name: string): unknown => {
    const { strapi } = globalThis as unknown as {
      readonly strapi: { plugin(name: string): { service(name: string): unknown } };
    };
    return strapi.plugin(plugin).service(name);
  },
});

/** Why a value of a body is not right; null if it is. */
type Check = (value: unknown, body: Members) => string | null;

const text: Check = (value) => {
  if (value === undefined || value === null || value === '') return 'is missing';
  return typeof value === 'string' ? null : 'must be a text';
};

const email: Check = (value, body) =>
  text(value, body) ?? (/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value as string) ? null : 'is not an e-mail address');

/** Throws a `ValidationError` with all that is wrong. @returns the body, in a promise. */
const checking =
  (checks: Readonly<Record<string, Check>>): Callable =>
  async (body: unknown) => {
    const given = isMembers(body) ? body : {};
    const errors = Object.entries(checks).flatMap(([name, check]) => {
      const wrong = check(given[name], given);
      return wrong === null ? [] : [{ path: [name], message: `${name} ${wrong}`, name: 'ValidationError' }];
    });
    const [first] = errors;
    if (first)
      throw new ValidationError(errors.length === 1 ? first.message : `${errors.length} errors occurred`, { errors });
    return body;
  };

const bodyChecks: Members = {
  validateCallbackBody: checking({ identifier: text, password: text }),
  validateRegisterBody: checking({ email, username: text, password: text }),
  validateSendEmailConfirmationBody: checking({ email }),
  validateEmailConfirmationBody: checking({ confirmation: text }),
  validateForgotPasswordBody: checking({ email }),
  validateResetPasswordBody: checking({ password: text, passwordConfirmation: text, code: text }),
  validateChangePasswordBody: checking({
    currentPassword: text,
    password: (value, body) =>
      text(value, body) ?? (value === body['currentPassword'] ? 'is the one that it was' : null),
    passwordConfirmation: (value, body) =>
      text(value, body) ?? (value === body['password'] ? null : 'is not the same as the password'),
  }),
};
