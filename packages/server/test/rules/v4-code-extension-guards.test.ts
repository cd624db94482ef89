/** Guards that extensions of v4's plugins put into members that the server does not ask: they run, or refuse the start. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, serveCode, userSchema, userSchemaFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const users = 'src/extensions/users-permissions/strapi-server.js';

const extending = (source: string): string => `module.exports = (plugin) => {\n${source}\nreturn plugin; };`;

describe('options of content types that extensions change', () => {
  const starting = async (source: string, own: Readonly<Record<string, string>> = {}): Promise<void> => {
    const served = await serveCode('sqlite', { [users]: extending(source), ...own });
    await served.close();
  };
  const schema = userSchema({ phone: { type: 'string' } });
  const options = { ...schema.options, privateAttributes: ['email', 'phone'] };
  const given = { [userSchemaFile]: JSON.stringify({ ...schema, options }) };
  const path = 'plugin.contentTypes.user.schema.options';

  it('refuse the start if the model would have to follow them', async () => {
    await expect(starting(`${path}.privateAttributes = ['email'];`)).rejects.toThrow(
      `${users}: plugin.contentTypes.user changes its options.privateAttributes, and content types are not changed by code here: write the whole schema, with that, into ${userSchemaFile}`,
    );
    await expect(starting(`${path} = { draftAndPublish: true };`)).rejects.toThrow('options.draftAndPublish');
    await expect(starting(`${path}.populateCreatorFields = true;`)).rejects.toThrow('options.populateCreatorFields');
    await expect(starting(`${path}.privateAttributes = ['email'];`, given)).rejects.toThrow(
      `options.privateAttributes, and content types are not changed by code here: do that in ${userSchemaFile}`,
    );
  });

  it('may repeat what the schema file says, or leave it out', async () => {
    await starting(`${path}.privateAttributes = ['phone', 'email'];`, given);
    await starting(`plugin.contentTypes.user = { schema: require('./content-types/user/schema.json') };`, given);
    await starting(`${path} = { ...${path}, comment: 'ours' };`, given);
    await starting(`${path} = { draftAndPublish: false };`);
  });
});

describe.each(dialects)('the middleware rateLimit of an extension on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, {
      [users]: extending(
        `plugin.middlewares.rateLimit = () => async (ctx, next) => {
          if (ctx.get('x-captcha') !== 'seen') return ctx.badRequest('No captcha');
          return next();
        };`,
      ),
      'src/index.js': `module.exports = { async bootstrap({ strapi }) { ${allowing}
        await allow('public', ['auth.callback', 'auth.register', 'auth.forgotPassword', 'user.find'].map((it) => 'plugin::users-permissions.' + it));
        await allow('authenticated', []);
      } };`,
    });
  });
  afterAll(() => served.close());

  it('runs on the routes that name it, and on no other', async () => {
    const mia = { username: 'mia', email: 'mia@example.org', password: 'Passw0rd!' };
    const refused = await served.json('POST', '/api/auth/local/register', mia);
    expect([refused.status, refused.body]).toMatchObject([400, { error: { message: 'No captcha' } }]);
    const seen = { 'x-captcha': 'seen' };
    expect((await served.json('POST', '/api/auth/local/register', mia, seen)).status).toBe(200);
    const login = { identifier: 'mia', password: 'Passw0rd!' };
    expect((await served.json('POST', '/api/auth/local', login)).status).toBe(400);
    expect((await served.json('POST', '/api/auth/local', login, seen)).status).toBe(200);
    expect((await served.json('POST', '/api/auth/forgot-password', { email: mia.email })).status).toBe(400);
    expect((await served.json('GET', '/api/users')).status).toBe(200);
  });
});
