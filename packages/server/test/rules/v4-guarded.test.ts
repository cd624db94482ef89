/** The server's own answers behind a v4 project's policies and controllers: what code may say of them, look at and change. */
import fs from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Answered, type CodeServer, serveProject } from '../world/code-server.js';
import { dialects, newDatabase } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { writeFiles } from '../world/schemas.js';

const schema = JSON.stringify({
  kind: 'collectionType',
  collectionName: 'books',
  info: { singularName: 'book', pluralName: 'books', displayName: 'Book' },
  options: { draftAndPublish: false },
  attributes: { title: { type: 'string' } },
});

const bootstrap = `module.exports = { async bootstrap({ strapi }) {
  const roles = strapi.query('plugin::users-permissions.role');
  const role = (await roles.findOne({ where: { type: 'public' } })) ?? (await roles.create({ data: { name: 'Public', type: 'public' } }));
  await strapi.query('plugin::users-permissions.permission').create({ data: { action: 'api::book.book.find', role: role.id } });
  for (const title of ['Emma', 'Persuasion']) await strapi.entityService.create('api::book.book', { data: { title } });
} };`;

/** `/api/books` has the policy; `/api/looked/:how` shows what `super.find` gives. */
const files = {
  'package.json': '{}',
  '.env': 'JWT_SECRET=a-secret-that-is-long-enough-for-tests\nAPI_TOKEN_SALT=salt\nADMIN_JWT_SECRET=another\n',
  'src/index.js': bootstrap,
  'src/api/book/content-types/book/schema.json': schema,
  'src/api/book/routes/01-looked.js': `module.exports = { routes: [
    { method: 'GET', path: '/looked/:how', handler: 'book.looked', config: { auth: false } },
  ] };`,
  'src/api/book/routes/book.js': `module.exports = require('@strapi/strapi').factories.createCoreRouter('api::book.book', {
    config: { find: { policies: ['asked'] } },
  });`,
  'src/api/book/policies/asked.js': `let asked = 0;
module.exports = ({ request, response, state }, config, { strapi }) => {
  asked += 1;
  switch (request.query.policy) {
    case 'counts': response.set('x-asked', String(asked)); return true;
    case 'created': response.status = 201; return true;
    case 'said': response.body = { said: true }; return true;
    case 'refuses': return false;
    case 'throws': throw new (require('@strapi/utils').errors.ApplicationError)('not now', { why: 'tea' });
    case 'later': return new Promise((resolve) => setImmediate(() => resolve(strapi.requestContext.get().state === state)));
    case 'told': return new Promise((resolve) => {
      strapi.eventHub.once('entry.update', () => resolve(strapi.requestContext.get().state === state));
      strapi.entityService.update('api::book.book', 1, { data: {} });
    });
    case 'hides': return request.query.sort === undefined && !JSON.stringify(request.query).includes('"title"');
    case 'narrows': request.query = { filters: { title: 'Emma' } }; return true;
    default: return strapi.requestContext.get().state === state;
  }
};`,
  'src/api/book/controllers/book.js': `const util = require('node:util');
module.exports = require('@strapi/strapi').factories.createCoreController('api::book.book', () => ({
  async looked(ctx) {
    const found = await super.find(ctx);
    switch (ctx.params.how) {
      case 'as-it-is': return found;
      case 'keys': return { keys: Object.keys(found), own: Object.hasOwn(found, 'data'), in: 'meta' in found };
      case 'printed': return { text: util.inspect(found, { depth: 0 }) };
      case 'plain': return { is: Object.getPrototypeOf(found) === Object.prototype, text: String(found), waits: typeof found.then };
      case 'text': return JSON.stringify(found);
      case 'spread': return { ...found };
      case 'without': delete found.meta; return found;
      case 'frozen': return Object.freeze(found);
      case 'defined': Object.defineProperty(found, 'more', { value: 1, enumerable: true }); return found;
    }
  },
}));`,
};

const serve = async (dialect: (typeof dialects)[number]): Promise<CodeServer> => {
  const database = await newDatabase(dialect);
  const dir = newFolder();
  writeFiles(dir, files);
  for (const name of ['DATABASE_CLIENT', 'DATABASE_FILENAME', 'DATABASE_URL']) vi.stubEnv(name, database.env[name]);
  try {
    const served = await serveProject(dir);
    return {
      ...served,
      close: async () => {
        await served.close();
        await database.drop();
        fs.rmSync(dir, { recursive: true, force: true });
      },
    };
  } finally {
    vi.unstubAllEnvs();
  }
};

const titles = ({ text }: Answered): readonly string[] =>
  (JSON.parse(text) as { data: { attributes: { title: string } }[] }).data.map((it) => it.attributes.title);

describe.each(dialects)('on %s', (dialect) => {
  let served: CodeServer;
  beforeAll(async () => {
    served = await serve(dialect);
  });
  afterAll(() => served.close());
  const ask = (path: string): Promise<Answered> => served.ask(encodeURI(path));

  describe('a policy before an action of the server', () => {
    const list = (policy: string): Promise<Answered> => ask(`/api/books?sort=title&policy=${policy}`);

    it('is asked for every request, of kept answers too, and its headers are sent', async () => {
      const asked = await Promise.all([1, 2, 3].map(() => list('counts')));
      expect(new Set(asked.map(({ headers }) => headers['x-asked'])).size).toBe(3);
      expect(asked.map(titles)).toEqual(Array(3).fill(['Emma', 'Persuasion']));
    });

    it.each([
      ['many parameters', `${'&'.repeat(1_000)}sort=title`],
      ['deep ones', `filters${Array.from({ length: 22 }, () => '[$and][0]').join('')}[title]=Emma`],
    ])('sees all that the server reads of the query: %s', async (_title, hidden) => {
      expect((await ask(`/api/books?policy=hides&${hidden}`)).status).toBe(403);
      expect((await ask('/api/books?policy=hides')).status).toBe(200);
    });

    it('sees as little of a fragment as the server does', async () => {
      for (const at of ['?policy=hides#&sort=title:desc', '#?policy=hides&sort=title:desc'])
        expect(titles(await ask(`/api/books${at}`))).toEqual(['Emma', 'Persuasion']);
    });

    it('knows the request by requestContext, at once, after waiting, and where it is told of its own write', async () => {
      for (const policy of ['now', 'later', 'told']) expect((await list(policy)).status).toBe(200);
    });

    it('may refuse, and throw', async () => {
      expect((await list('refuses')).status).toBe(403);
      const { status, text } = await list('throws');
      expect([status, JSON.parse(text)]).toEqual([
        400,
        { data: null, error: { status: 400, name: 'ApplicationError', message: 'not now', details: { why: 'tea' } } },
      ]);
    });

    it('may change the query', async () => {
      expect(titles(await list('narrows'))).toEqual(['Emma']);
    });

    it('may set the status; a body it sets is the answer', async () => {
      const created = await list('created');
      expect([created.status, titles(created)]).toEqual([201, ['Emma', 'Persuasion']]);
      const said = await list('said');
      expect([said.status, said.text]).toEqual([200, '{"said":true}']);
    });
  });

  describe('what super.find gives', () => {
    const look = async (how: string): Promise<unknown> => JSON.parse((await ask(`/api/looked/${how}?sort=title`)).text);

    it('is an object of data and meta, however it is looked at', async () => {
      const whole = JSON.parse((await ask('/api/books?sort=title&policy=now')).text) as {
        data: unknown;
        meta: unknown;
      };
      expect(await look('as-it-is')).toEqual(whole);
      expect(await look('keys')).toEqual({ keys: ['data', 'meta'], own: true, in: true });
      expect(await look('printed')).toEqual({ text: '{ data: [Array], meta: [Object] }' });
      expect(await look('plain')).toEqual({ is: true, text: '[object Object]', waits: 'undefined' });
      for (const how of ['text', 'spread', 'frozen']) expect(await look(how)).toEqual(whole);
      expect(await look('without')).toEqual({ data: whole.data });
      expect(await look('defined')).toEqual({ ...whole, more: 1 });
    });
  });
});
