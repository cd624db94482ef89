/** Which files of a v4 project are found under which names, and what they may take for granted. */
import { describe, expect, it } from 'vitest';
import { type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const open = { auth: false };

const files = {
  ...typeFile('note', { title: { type: 'string' } }),
  'src/api/note/routes/customThing.js': `module.exports = { routes: [
    { method: 'GET', path: '/kebab', handler: 'custom-thing.hi', config: ${JSON.stringify({ ...open, policies: ['is-open'] })} },
    { method: 'GET', path: '/own', handler: 'customThing.hi', config: ${JSON.stringify({ ...open, policies: ['isOpen'] })} },
    { method: 'GET', path: '/compiled', handler: 'compiled.hi', config: ${JSON.stringify(open)} },
  ] };`,
  'src/api/note/controllers/customThing.js': `module.exports = { hi: () => strapi.service('api::note.my-words').hello() };`,
  'src/api/note/services/myWords.js': `module.exports = { hello: () => 'hello' };`,
  'src/api/note/policies/isOpen.js': 'module.exports = () => true;',
  // as compilers write `export default`
  'src/api/note/controllers/compiled.js': `Object.defineProperty(exports, '__esModule', { value: true });
    exports.default = { hi: () => 'compiled' };`,
  ...coreFile('Router', 'note', JSON.stringify({ config: { find: open } })),
  'config/middlewares.js': `module.exports = ['strapi::errors', 'strapi::cors', { name: 'global::mark', enabled: false }];`,
  'src/middlewares/mark.js': `module.exports = () => async (ctx, next) => { await next(); ctx.set('x-mark', 'seen'); };`,
};

describe.each(dialects)('files of a project on %s', (dialect) => {
  const using = async (work: (served: CodeProject) => Promise<void>): Promise<void> => {
    const served = await serveCode(dialect, files);
    try {
      await work(served);
    } finally {
      await served.close();
    }
  };

  it('are known by their names and in kebab case; modules that a compiler has written by their default', () =>
    using(async ({ ask }) => {
      for (const path of ['kebab', 'own']) expect((await ask(`/api/${path}`)).text).toBe('hello');
      expect((await ask('/api/compiled')).text).toBe('compiled');
    }));

  it('run as middlewares if they are listed, whatever `enabled` says: v4 does not read it', () =>
    using(async ({ ask }) => {
      const { status, headers } = await ask('/api/notes');
      expect([status, headers['x-mark']]).toEqual([200, 'seen']);
    }));
});
