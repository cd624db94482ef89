/** Which actions of a v4 project's code roles and tokens can be granted, and where (AC16, AC17, ST11). */
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { prepareData } from '../../src/cli/bootstrap.js';
import { changeRoleCommand, createTokenCommand } from '../../src/cli/commands/accounts.js';
import { bringUp } from '../../src/cli/layout.js';
import { openDatabase, openProject } from '../../src/cli/project.js';
import { StartFault } from '../../src/cli/start-fault.js';
import { exportContent } from '../../src/cli/transfer/export.js';
import { importContent } from '../../src/cli/transfer/import.js';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects, newDatabase, type TestDatabase } from '../world/databases.js';
import { startDev } from '../world/dev.js';
import { newFolder } from '../world/folders.js';
import { printed } from '../world/printed.js';
import { secretsGiven, serveInProcess } from '../world/process.js';
import { codeRunner, runningController } from '../world/running.js';
import { writeFiles } from '../world/schemas.js';

const own = ['api::item.item.stats', 'api::search.search.query', 'plugin::users-permissions.user.articles'];
const added = 'api::search.search.later';

const files = {
  'package.json': '{}',
  ...typeFile('item', { title: { type: 'string' } }),
  ...coreFile('Router', 'item'),
  ...coreFile('Controller', 'item', `() => ({ stats: () => ({ count: 3 }), unrouted: () => 'no route' })`),
  'src/api/item/routes/00-own.js': `module.exports = { routes: [{ method: 'GET', path: '/items/stats', handler: 'item.stats' }] };`,
  // an API without a type
  'src/api/search/routes/search.js': `module.exports = { routes: [{ method: 'GET', path: '/search', handler: 'search.query' }] };`,
  'src/api/search/controllers/search.js': `module.exports = { query: () => 'found', later: () => 'later' };`,
  'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => {
    plugin.controllers.user.articles = () => 'articles';
    plugin.routes['content-api'].routes.unshift({ method: 'GET', path: '/users/articles', handler: 'user.articles', config: { prefix: '' } });
    return plugin;
  };`,
};
const paths = ['/items/stats', '/search', '/users/articles'];

const administrator = { email: 'ada@example.org', password: 'Passw0rd!' };
const served = {
  ...files,
  'src/api/run/routes/run.js': `module.exports = { routes: [{ method: 'POST', path: '/run', handler: 'run.run', config: { auth: false } }] };`,
  'src/api/run/controllers/run.js': runningController,
  'src/index.js': `module.exports = {
    register({ strapi }) {
      strapi.server.routes({ type: 'content-api', routes: [{ method: 'GET', path: '/later', handler: '${added}' }] });
    },
    async bootstrap({ strapi }) { ${allowing}
      const rights = ['role.find', 'role.findOne', 'role.updateRole', 'permissions.getPermissions'];
      await allow('authenticated', []);
      await allow('public', rights.map((it) => 'plugin::users-permissions.' + it));
      const { id } = await strapi.service('admin::role').getSuperAdmin();
      await strapi.service('admin::user').create({ ...${JSON.stringify(administrator)}, firstname: 'Ada', isActive: true, roles: [id] });
    },
  };`,
};

type Tree = Record<string, { controllers: Record<string, Record<string, { enabled: boolean }>> }>;
const namesIn = (tree: Tree, isWanted = (_: { enabled: boolean }) => true): readonly string[] =>
  Object.entries(tree).flatMap(([owner, { controllers }]) =>
    Object.entries(controllers).flatMap(([controller, actions]) =>
      Object.entries(actions).flatMap(([name, it]) => (isWanted(it) ? [`${owner}.${controller}.${name}`] : [])),
    ),
  );
const treeOf = (actions: readonly string[]): Tree => {
  const tree: Tree = {};
  for (const [owner = '', controller = '', name = ''] of actions.map((it) => it.split('.'))) {
    tree[owner] ??= { controllers: {} };
    tree[owner].controllers[controller] = { ...tree[owner].controllers[controller], [name]: { enabled: true } };
  }
  return tree;
};

describe.each(dialects)('actions that routes of code name, on %s', (dialect) => {
  let project: CodeProject;
  beforeAll(async () => {
    project = await serveCode(dialect, served);
  });
  afterAll(() => project.close());
  afterEach(() => vi.unstubAllEnvs());
  const { run } = codeRunner(() => project);

  const roles = '/api/users-permissions/roles';
  const roleId = async (type: string): Promise<number> => {
    const { body } = await project.json('GET', roles);
    return (body as { roles: { id: number; type: string }[] }).roles.find((it) => it.type === type)!.id;
  };
  const treeOfRole = async (type: string): Promise<Tree> => {
    const { body } = await project.json('GET', `${roles}/${await roleId(type)}`);
    return (body as { role: { permissions: Tree } }).role.permissions;
  };
  const statuses = (headers = {}) =>
    Promise.all(paths.map(async (it) => (await project.json('GET', `/api${it}`, undefined, headers)).status));
  const inProject = () => {
    for (const [name, value] of Object.entries(project.env)) vi.stubEnv(name, value);
    return project.dir;
  };

  it('AC16: they are offered, with those of routes that register adds, and without those that no route names', async () => {
    const { body } = await project.json('GET', '/api/users-permissions/permissions');
    const offered = namesIn((body as { permissions: Tree }).permissions);
    expect(offered).toEqual(expect.arrayContaining([...own, added, 'api::item.item.find']));
    expect(offered.filter((it) => it.startsWith('api::item.'))).toHaveLength(6);
    // those of the project first, as the Studio shows them
    expect(offered.findLastIndex((it) => it.startsWith('api::'))).toBeLessThan(
      offered.findIndex((it) => it.startsWith('plugin::')),
    );
    expect(namesIn(await treeOfRole('authenticated'))).toEqual(offered);
    expect(
      namesIn(
        (await run(
          `return (await strapi.plugin('users-permissions').service('role').findOne(${await roleId('authenticated')})).permissions`,
        )) as Tree,
      ),
    ).toEqual(offered);
  });

  it('AC16: a role is granted them, and an unknown one is refused', async () => {
    expect(await statuses()).toEqual([403, 403, 403]);
    const before = namesIn(await treeOfRole('public'), (it) => it.enabled);
    const at = `${roles}/${await roleId('public')}`;
    const put = (actions: readonly string[]) => project.json('PUT', at, { permissions: treeOf(actions) });
    expect(await put([...before, ...own, added])).toMatchObject({ status: 200 });
    expect(await statuses()).toEqual([200, 200, 200]);
    expect((await project.ask('/api/later')).text).toBe('later');
    const { status, body } = await put([...before, 'api::item.item.stat']);
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toMatch(/no action .*api::item\.item\.stat.*Did you mean .*api::item\.item\.stats/);
    expect((await put([...before, 'api::item.item.unrouted'])).status).toBe(400);
    expect((await put(before)).status).toBe(200);
    expect(await statuses()).toEqual([403, 403, 403]);
  });

  it('AC17: a token of an administrator is granted them', async () => {
    const { body } = await project.json('POST', '/admin/login', administrator);
    const authorization = `Bearer ${(body as { data: { token: string } }).data.token}`;
    const create = (permissions: readonly string[]) =>
      project.json('POST', '/admin/api-tokens', { name: 'own', type: 'custom', permissions }, { authorization });
    expect((await create(['api::item.item.unrouted'])).status).toBe(400);
    const made = await create(own);
    expect(made).toMatchObject({ status: 201 });
    const { accessKey } = (made.body as { data: { accessKey: string } }).data;
    expect(await statuses({ authorization: `Bearer ${accessKey}` })).toEqual([200, 200, 200]);
  });

  it('AC17, ST11: commands grant them', async () => {
    const dir = inProject();
    const change = (how: 'allow' | 'deny', ...actions: readonly string[]) =>
      printed(() => changeRoleCommand(how, dir, 'authenticated', actions));
    expect((await change('allow', ...own)).said).toBe(`authenticated: may ${own.join(', ')}\n`);
    const granted = async () => namesIn(await treeOfRole('authenticated'), (it) => it.enabled);
    expect(new Set(await granted())).toEqual(new Set(own));
    await change('deny', own[0]!);
    expect(await granted()).not.toContain(own[0]);
    await change('allow', own[0]!);
    expect(await granted()).toContain(own[0]);
    await change('deny', ...own);
    const options = { project: dir, type: 'custom', expires: 'never', name: 'command', description: '' };
    const { out } = await printed(() => createTokenCommand({ ...options, allow: own }));
    expect(await statuses({ authorization: `Bearer ${out.trim()}` })).toEqual([200, 200, 200]);
    await expect(change('allow', 'api::item.item.stat')).rejects.toThrow(
      'There is no action "api::item.item.stat". Did you mean api::item.item.stats? Only the running server knows the actions of routes that src/index adds: grant them in the Studio.',
    );
    await expect(change('allow', 'api::item.item.unrouted')).rejects.toThrow(StartFault);
  });
});

describe.each(dialects)('commands and seeds of a project with code, on %s', (dialect) => {
  let database: TestDatabase;
  let dir = '';
  const seed = 'database/seed/permissions.json';
  const begin = async (more: Readonly<Record<string, string>> = {}) => {
    database = await newDatabase(dialect);
    dir = newFolder();
    writeFiles(dir, { ...files, [seed]: JSON.stringify({ public: [own[0]] }), ...more });
    for (const [name, value] of Object.entries({ ...secretsGiven, ...database.env })) vi.stubEnv(name, value);
  };
  afterEach(async () => {
    vi.unstubAllEnvs();
    await database.drop();
  });
  const prepare = async () => {
    const opened = await openProject(dir);
    const db = await openDatabase(opened);
    const logger = pino({ level: 'silent' });
    await prepareData(await bringUp(opened, db, logger), db, logger, { ownActions: () => own });
    await db.close();
  };
  const asked = async (url: string, paths: readonly string[]) =>
    Promise.all(paths.map(async (it) => (await fetch(url + it)).status));

  it('AC1: the start grants what seeds name', async () => {
    await begin();
    const { url, child } = await serveInProcess(dir, database.env);
    expect(await asked(url, paths)).toEqual([200, 403, 403]);
    child.kill('SIGKILL');
  });

  it('AC1: dev grants what seeds name, and what is added', async () => {
    await begin();
    const dev = await startDev(dir, database.env);
    expect(await asked(`${dev.url}/api`, paths)).toEqual([200, 403, 403]);
    writeFiles(dir, { [seed]: JSON.stringify({ public: own }) });
    await dev.said(`permissions.json: public ${own[2]}`);
    expect(await asked(`${dev.url}/api`, paths)).toEqual([200, 200, 200]);
    await dev.stop();
  });

  it('AC1: seeds that name an unknown action are refused with the nearest', async () => {
    await begin({ [seed]: JSON.stringify({ public: ['api::search.search.qury'] }) });
    await expect(serveInProcess(dir, database.env)).rejects.toThrow(/did you mean "api::search\.search\.query"\?/);
  });

  it('AC1: an import into a new database grants what seeds name', async () => {
    await begin();
    const file = path.join(dir, 'content.ndjson');
    await prepare();
    await printed(() => exportContent(dir, file, { scope: 'content' }));
    await database.drop();
    database = await newDatabase(dialect);
    for (const [name, value] of Object.entries(database.env)) vi.stubEnv(name, value);
    await printed(() => importContent(dir, file, { replace: false }));
    const { url, child } = await serveInProcess(dir, database.env);
    expect(await asked(url, paths)).toEqual([200, 403, 403]);
    child.kill('SIGKILL');
  });

  it('AC17: what modules print as they are loaded is not taken for the key of a token', async () => {
    await begin({ 'src/api/item/services/item.js': `console.log('loaded'); module.exports = {};` });
    await prepare();
    const options = { project: dir, type: 'custom', expires: 'never', name: 'own', description: '', allow: own };
    const { out, said } = await printed(() => createTokenCommand(options));
    expect(out).toMatch(/^\w+\n$/);
    expect(said).toMatch(/^loaded\n/);
  });

  it('ST11: a command that needs to know the code names what the start would refuse of it', async () => {
    await begin({ 'src/api/search/controllers/search.js': 'module.exports = {};' });
    await prepare();
    const allow = (action: string) => printed(() => changeRoleCommand('allow', dir, 'public', [action]));
    expect((await allow('api::item.item.find')).said).toBe('public: may api::item.item.find\n');
    await expect(allow('api::item.item.unknown')).rejects.toThrow(
      /GET \/search: there is no action "api::search\.search\.query"/,
    );
  });
});
