/** Plugins from npm: where they are found, and which of them may guard what the server serves. */
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openProject } from '../../src/cli/project.js';
import { refuseSettings } from '../../src/cli/v4project/config.js';
import { findCode } from '../../src/cli/v4project/find-code.js';
import { findPackages, findPlugins } from '../../src/cli/v4project/plugins.js';
import { readV4Settings, withPackages } from '../../src/cli/v4project/settings.js';
import { readExtensions } from '../../src/v4code/loading/read-extensions.js';
import { newFolder } from '../world/folders.js';
import { writeFiles } from '../world/schemas.js';
import { writeSmall } from '../world/small.js';

const none: ReadonlySet<string> = new Set();

let dir: string;
beforeEach(() => {
  dir = newFolder();
});
afterEach(() => fs.rmSync(dir, { recursive: true, force: true }));

const plugin = (folder: string, name: string, source: string): Readonly<Record<string, string>> => ({
  [`${folder}/node_modules/${name}/package.json`]: JSON.stringify({ name, strapi: { kind: 'plugin', name } }),
  [`${folder}/node_modules/${name}/dist/server/index.js`]: source,
});

describe('plugins of a workspace', () => {
  const middleware = 'module.exports = { register({ strapi }) { strapi.server.use(() => {}); } };';

  it('refuse the start if they may guard, until ignoreCode lists their packages; some are known not to', () => {
    const populate = `strapi.db.lifecycles.subscribe((event) => { if (event.action === 'beforeFindMany') event.params.populate = f(event); })`;
    const names = ['guard', 'other', 'strapi-plugin-populate-deep'];
    writeFiles(dir, {
      'package.json': JSON.stringify({ dependencies: Object.fromEntries(names.map((it) => [it, '1'])) }),
      ...plugin('.', 'guard', middleware),
      ...plugin('.', 'other', populate),
      ...plugin('.', 'strapi-plugin-populate-deep', populate),
    });
    const guards = (...ignored: string[]): readonly string[] =>
      withPackages([], {}, findPackages(dir), new Set(ignored)).flatMap((it) => (it.isGuard ? [it.v4Name] : []));
    expect(guards()).toEqual(['plugins.guard', 'plugins.other']);
    expect(guards('guard')).toEqual(['plugins.other']);
    expect(guards('guard', 'other')).toEqual([]);
    expect(withPackages([], {}, findPackages(dir), none)[0]!.note).toBe(
      `the package guard does not run: once nothing depends on it, list it in dovetail.config, project: { ignoreCode: ['guard'] }`,
    );
    const found = { runCode: true, acceptCode: [] };
    expect(() => findCode(dir, { ...found, ignoreCode: ['guard', 'other'] })).not.toThrow();
    expect(() => findCode(dir, { ...found, ignoreCode: ['gaurd'] })).toThrow(
      `project.ignoreCode: no code file matches "gaurd"; did you mean "guard"?`,
    );
  });

  it('refuse the start also where the project has neither config/ nor code', async () => {
    const dependencies = { '@strapi/strapi': '4.26.2', guard: '1' };
    writeSmall(dir, { types: { book: { attributes: { title: { type: 'string' } } } } });
    writeFiles(dir, { 'package.json': JSON.stringify({ dependencies }), ...plugin('.', 'guard', middleware) });
    expect((await openProject(dir)).v4.guards.map((it) => it.v4Name)).toEqual(['plugins.guard']);
    writeFiles(dir, { 'dovetail.config.json': JSON.stringify({ project: { ignoreCode: ['guard'] } }) });
    expect((await openProject(dir)).v4.guards).toEqual([]);
  });

  it('refuse the start also where code is switched off, whatever config/plugins says, which is not read', async () => {
    const dependencies = { guard: '1', harmless: '1', gone: '1', tools: '1' };
    const configured = (more: object): void =>
      writeFiles(dir, { 'dovetail.config.json': JSON.stringify({ project: { runCode: false, ...more } }) });
    writeSmall(dir, { types: { book: { attributes: { title: { type: 'string' } } } } });
    writeFiles(dir, {
      'package.json': JSON.stringify({ dependencies }),
      'config/plugins.js': `module.exports = { guard: false };`,
      'src/functions/a.js': `require('tools');`,
      ...plugin('.', 'guard', middleware),
      ...plugin('.', 'harmless', 'module.exports = {};'),
    });
    configured({});
    const { v4, config } = await openProject(dir);
    expect(config.project.runCode).toBe(false);
    expect(v4.settings.map((it) => it.v4Name)).toEqual(['plugins.guard', 'plugins.harmless', 'dependencies']);
    expect(() => refuseSettings(v4.guards)).toThrow(`list it in dovetail.config, project: { ignoreCode: ['guard'] }`);
    configured({ ignoreCode: ['guard'] });
    expect((await openProject(dir)).v4.guards).toEqual([]);
  });

  it('are found where Node finds them, in folders above the project', async () => {
    const project = path.join(dir, 'apps/cms');
    const names = { guard: '1', 'strapi-plugin-hoisted': '1', '@of/strapi-plugin-gone': '1', lodash: '4' };
    writeFiles(dir, {
      'apps/cms/package.json': JSON.stringify({ dependencies: names }),
      ...plugin('apps', 'guard', middleware),
      ...plugin('.', 'strapi-plugin-hoisted', 'module.exports = {};'),
    });
    expect(findPackages(project).plugins).toEqual([
      { name: 'guard', packageName: 'guard', mayGuard: true },
      { name: 'strapi-plugin-hoisted', packageName: 'strapi-plugin-hoisted', mayGuard: false },
      { name: 'gone', packageName: '@of/strapi-plugin-gone', mayGuard: null },
    ]);
    expect(findPlugins(project, new Map(Object.entries(names))).map((it) => it.name)).toContain('guard');
    const { installed } = await readExtensions({ dir: project, load: async () => null, isIgnored: () => false });
    expect([...installed]).toEqual(['guard', 'strapi-plugin-hoisted', 'gone', '@of/strapi-plugin-gone']);
  });

  it('are named if they are not there at all, unless config/plugins switches them off', () => {
    writeFiles(dir, { 'package.json': JSON.stringify({ dependencies: { 'strapi-plugin-gone': '1' } }) });
    expect(withPackages([], {}, findPackages(dir), none)).toEqual([
      expect.objectContaining({
        v4Name: 'plugins.gone',
        isGuard: false,
        note: 'the package strapi-plugin-gone is not installed, so nothing tells whether it restricts access: install it, or remove it from package.json',
      }),
    ]);
    expect(withPackages([], { gone: { enabled: false } }, findPackages(dir), none)).toEqual([]);
  });

  it('are named once, by the name that config/plugins has for them', () => {
    const name = 'strapi-plugin-populate-deep';
    writeFiles(dir, { 'package.json': JSON.stringify({ dependencies: { [name]: '3' } }) });
    const given = { [name]: { config: { defaultDepth: 3 } } };
    const settings = readV4Settings({ dir, ignored: new Set(), part: (it) => (it === 'plugins' ? given : undefined) });
    const found = withPackages(settings, given, findPackages(dir), none).map((it) => it.v4Name);
    expect(found.filter((it) => it.startsWith('plugins.'))).toEqual([`plugins.${name}`]);
  });

  it('are named in one line if their names do not tell whether they are plugins', () => {
    const dependencies = { '@my/access-list': '1', axios: '1', pg: '8', 'strapi-provider-email-x': '1' };
    writeFiles(dir, { 'package.json': JSON.stringify({ dependencies }) });
    expect(withPackages([], {}, findPackages(dir), none)).toEqual([
      expect.objectContaining({
        v4Name: 'dependencies',
        isGuard: false,
        note: '@my/access-list, axios of package.json are not installed, no file imports them, and nothing tells what they do: a plugin of v4 may restrict access. Install them, or remove them from package.json',
      }),
    ]);
  });
});

describe('packages that are not installed', () => {
  it('are named with the file that imports them, and not at all if only the admin panel does', () => {
    const dependencies = { axios: '1', '@my/tools': '1', lodash: '4', 'react-icons': '5', left: '1' };
    writeFiles(dir, {
      'package.json': JSON.stringify({ dependencies }),
      'config/server.js': `const { host } = require('@my/tools/hosts');`,
      'src/api/a/services/a.ts': `import axios from 'axios';`,
      'src/api/b/services/b.js': `// require('left')\nconst axios = require('axios'); const text = 'left'; import('lodash');`,
      'src/admin/app.tsx': `import { Star } from 'react-icons/fa'; import lodash from 'lodash';`,
    });
    expect(withPackages([], {}, findPackages(dir), none).map((it) => `${it.v4Name}: ${it.note}`)).toEqual([
      ...[
        ['axios', 'src/api/a/services/a.ts'],
        ['@my/tools', 'config/server.js'],
        ['lodash', 'src/api/b/services/b.js'],
      ].map(
        ([name, file]) =>
          `dependencies.${name}: ${file} imports it, and it is not installed: install the packages of the project (npm install)`,
      ),
      'dependencies: left of package.json is not installed, no file imports it, and nothing tells what it does: a plugin of v4 may restrict access. Install it, or remove it from package.json',
    ]);
  });
});

describe('a plugin from npm', () => {
  const mayGuard = (source: string): unknown => {
    writeFiles(dir, {
      'package.json': JSON.stringify({ dependencies: { one: '1' } }),
      ...plugin('.', 'one', source),
    });
    return findPackages(dir).plugins[0]?.mayGuard;
  };

  it.each([
    ['middlewares on the whole server', `s.server.use(f)`],
    ['middlewares on its router', `strapi.server.router.use(f)`],
    ['middlewares on the content API', `strapi.server.api('content-api').use(f)`],
    [
      'lifecycles of reads',
      `e.db.lifecycles.subscribe((t)=>{if("beforeFindMany"===t.action)t.params.where={owner:1}})`,
    ],
    ['decorations', `strapi.entityService.decorate((it) => it)`],
    ['a method of the entity service', `strapi.entityService.findMany = mine`],
    ['policies for routes of others', `route.config.policies.push('plugin::one.owner')`],
    ['policies for routes that have none', `(r.config.policies = r.config.policies || []).push("x")`],
    [
      'a copy of their policies',
      `route.config = { ...route.config, policies: [...(route.config.policies || []), 'plugin::one.owner'] }`,
    ],
    ['middlewares for routes of others', `route.config.middlewares.unshift(f)`],
    ['a strategy of authentication', `strapi.container.get('auth').register('content-api', it)`],
    ['controllers of the container', `strapi.container.get("controllers").extend(uid, f)`],
    ['sanitizers', `strapi.sanitizers.add('content-api.output', f)`],
    ['an action of a type', `strapi.controller('api::book.book').find = f`],
    ['an action of another plugin', `strapi.plugins['users-permissions'].controllers.auth.callback=async(c)=>{}`],
    ['an action of another plugin by its name', `strapi.plugin('users-permissions').controller('auth').callback = f`],
  ])('may guard with %s', (_what, source) => {
    expect(mayGuard(`module.exports = { register({ strapi }) { ${source}; } };`)).toBe(true);
  });

  it.each([
    [
      'routes with policies of its own',
      `exports.routes = [{ method: 'GET', path: '/x', handler: 'x.find', config: { policies: ['admin::isAuthenticatedAdmin'], middlewares: [] } }]`,
    ],
    ['a shared list of policies', `const routes = [{ handler: 'a.b', config: { policies: [...shared] } }]`],
    [
      'controllers of its own',
      `const controllers = {}; controllers.item = make(); module.exports.controllers = controllers`,
    ],
    [
      'lifecycles of writes',
      `strapi.db.lifecycles.subscribe({ models: [], afterCreate() {}, async beforeUpdate() {} })`,
    ],
    ['hooks of its own type', `module.exports = { contentTypes: { log: { lifecycles: { beforeFindMany() {} } } } }`],
    ['custom fields', `strapi.customFields.register({ name: 'color', plugin: 'one', type: 'string' })`],
    ['reads of the container', `strapi.container.get('content-types').keys(); strapi.container.get('config')`],
    ['a comparison', `if (strapi.plugin('x').controllers.auth.callback === f) g((x) => x)`],
  ])('does not guard with %s', (_what, source) => {
    expect(mayGuard(source)).toBe(false);
  });
});
