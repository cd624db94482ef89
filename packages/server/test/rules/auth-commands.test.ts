/** Secrets, and permissions from the command line (AC17, ST12, ST11). */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  blockUserCommand,
  changeRoleCommand,
  createTokenCommand,
  createUserCommand,
  listRolesCommand,
  listTokensCommand,
  listUsersCommand,
  revokeTokenCommand,
} from '../../src/cli/commands/accounts.js';
import { configSchema, environmentSchema, readEnvironment } from '../../src/cli/config.js';
import { warnOfOpenSite } from '../../src/cli/notices.js';
import type { Project } from '../../src/cli/project.js';
import { readSecrets, requireSecret } from '../../src/cli/secrets.js';
import { readSeedFiles } from '../../src/cli/seed.js';
import { StartFault } from '../../src/cli/start-fault.js';
import { loadModel } from '../../src/model/load.js';
import { allOfAccounts, bearer, newPeopleWorld, type PeopleWorld } from '../world/people.js';
import { secrets } from '../world/server.js';
import { dialects, projectDir } from '../world/world.js';

/** What a command prints on stdout; stderr is for messages. */
const printed = async (work: () => Promise<void>): Promise<string> => {
  let text = '';
  const out = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  const said = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
  try {
    await work();
  } finally {
    out.mockRestore();
    said.mockRestore();
  }
  return text.trim();
};

describe('secrets', () => {
  let dir = '';
  beforeEach(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-secrets-'));
  });
  afterEach(() => fs.rmSync(dir, { recursive: true }));
  const read = async (env: Record<string, string> = {}) => {
    const said: string[] = [];
    const found = await readSecrets(dir, environmentSchema.parse(env), (text) => said.push(text));
    return { found, said };
  };
  const file = () => fs.readFileSync(path.join(dir, '.env'), 'utf8');

  it('are generated once in development, stored in .env, and not printed', async () => {
    fs.writeFileSync(path.join(dir, '.env'), 'PORT=1');
    const { found, said } = await read();
    expect(file()).toBe(`PORT=1\nJWT_SECRET=${found.jwtSecret}\nAPI_TOKEN_SALT=${found.apiTokenSalt}\n`);
    expect(found.jwtSecret).toMatch(/^[\w+/]{43}=$/);
    expect(found.jwtSecret).not.toBe(found.apiTokenSalt);
    expect(said.join()).toContain('JWT_SECRET');
    expect(said.join()).not.toContain(found.jwtSecret);
    const again = await read({ JWT_SECRET: found.jwtSecret, API_TOKEN_SALT: found.apiTokenSalt });
    expect(again).toEqual({ found, said: [] });
  });

  it('an existing one is left alone, and a new file is readable only by its owner', async () => {
    const { found } = await read({ JWT_SECRET: 'given' });
    expect(found.jwtSecret).toBe('given');
    expect(file()).toBe(`API_TOKEN_SALT=${found.apiTokenSalt}\n`);
    expect(fs.statSync(path.join(dir, '.env')).mode & 0o077).toBe(0);
  });

  it('those that another first start has written in the meantime are used, and nothing is written', async () => {
    const others = 'JWT_SECRET=of the other\nAPI_TOKEN_SALT=too\n';
    fs.writeFileSync(path.join(dir, '.env'), others);
    const found = { jwtSecret: 'of the other', apiTokenSalt: 'too', adminJwtSecret: null };
    expect(await read({})).toEqual({ found, said: [] });
    expect(fs.readdirSync(dir)).toEqual(['.env']);
    expect(file()).toBe(others);
  });

  it('they are written to the file that ENV_PATH names', async () => {
    vi.stubEnv('ENV_PATH', path.join(dir, 'own.env'));
    onTestFinished(() => void vi.unstubAllEnvs());
    const { found } = await read();
    expect(fs.readFileSync(path.join(dir, 'own.env'), 'utf8')).toContain(`JWT_SECRET=${found.jwtSecret}\n`);
    expect(fs.existsSync(path.join(dir, '.env'))).toBe(false);
  });

  it('in production a missing one refuses the start, and nothing is written', async () => {
    const production = { NODE_ENV: 'production' };
    await expect(read(production)).rejects.toThrow(/JWT_SECRET and API_TOKEN_SALT are missing/);
    await expect(read({ ...production, JWT_SECRET: 'x' })).rejects.toThrow(/API_TOKEN_SALT is missing/);
    await expect(read({ ...production, JWT_SECRET: 'tobemodified', API_TOKEN_SALT: 'x' })).rejects.toThrow(
      /^JWT_SECRET is a placeholder that everybody knows/,
    );
    await expect(
      read({ ...production, JWT_SECRET: 'toBeModified1', API_TOKEN_SALT: '"tobemodified"' }),
    ).rejects.toThrow(/^JWT_SECRET and API_TOKEN_SALT are placeholders/);
    await expect(read({ ...production, JWT_SECRET: 'short' })).rejects.toThrow(
      /^JWT_SECRET is too easy to guess[^\n]*\nAPI_TOKEN_SALT is missing/,
    );
    await expect(read({ ...production, JWT_SECRET: ' ', API_TOKEN_SALT: '\t' })).rejects.toThrow(/are missing/);
    expect(fs.existsSync(path.join(dir, '.env'))).toBe(false);
    expect((await read({ ...production, JWT_SECRET: '16 characters at', API_TOKEN_SALT: 'y' })).found).toEqual({
      jwtSecret: '16 characters at',
      apiTokenSalt: 'y',
      adminJwtSecret: null,
    });
  });

  it.each(['development', 'production'])(
    'those that are empty in the environment are those of .env in %s',
    async (mode) => {
      fs.writeFileSync(path.join(dir, '.env'), 'JWT_SECRET=16 characters at\nAPI_TOKEN_SALT=y\n');
      const env = readEnvironment(dir, { NODE_ENV: mode, JWT_SECRET: '', API_TOKEN_SALT: '' });
      const found = await readSecrets(dir, env, (text) => expect.fail(text));
      expect(found).toEqual({ jwtSecret: '16 characters at', apiTokenSalt: 'y', adminJwtSecret: null });
      expect(requireSecret('API_TOKEN_SALT', dir, env)).toBe('y');
    },
  );

  it('in production a JWT_SECRET that is easy to guess refuses the start', async () => {
    const weak = { NODE_ENV: 'production', JWT_SECRET: 'aaaa', API_TOKEN_SALT: 'y' };
    await expect(read(weak)).rejects.toThrow(/JWT_SECRET is too easy to guess/);
    await expect(read({ ...weak, JWT_SECRET: 'a'.repeat(40) })).rejects.toThrow(/too easy to guess/);
    expect((await read({ ...weak, NODE_ENV: 'development' })).found.jwtSecret).toBe('aaaa');
  });

  it('AD3: that of administrators is needed where they sign in, and only there', async () => {
    const production = { NODE_ENV: 'production', JWT_SECRET: '16 characters at', API_TOKEN_SALT: 'y' };
    const withAdmins = (env: Record<string, string>) =>
      readSecrets(dir, environmentSchema.parse(env), () => undefined, { withAdmins: true });
    await expect(withAdmins(production)).rejects.toThrow(/ADMIN_JWT_SECRET is missing/);
    await expect(withAdmins({ ...production, ADMIN_JWT_SECRET: 'short' })).rejects.toThrow(
      /ADMIN_JWT_SECRET is too easy/,
    );
    expect((await read({ ...production, ADMIN_JWT_SECRET: 'short' })).found.adminJwtSecret).toBeNull();
    const { adminJwtSecret } = await withAdmins({});
    expect(adminJwtSecret).toMatch(/^[\w+/]{43}=$/);
    expect(file()).toContain(`ADMIN_JWT_SECRET=${adminJwtSecret}\n`);
  });

  it('generated ones are kept out of git, unless the project has a .gitignore', async () => {
    await read();
    const ignored = path.join(dir, '.gitignore');
    const lines = fs.readFileSync(ignored, 'utf8').split('\n');
    expect(lines).toEqual(expect.arrayContaining(['.env', 'backup-*.db*', 'backup-*.dump', '*.before-restore-*']));
    const ofInit = fs
      .readFileSync(path.join(import.meta.dirname, '../../templates/base/gitignore'), 'utf8')
      .split('\n');
    expect(ofInit).toEqual(expect.arrayContaining(lines));
    fs.writeFileSync(ignored, 'mine\n');
    fs.rmSync(path.join(dir, '.env'));
    await read();
    expect(fs.readFileSync(ignored, 'utf8')).toBe('mine\n');
  });
});

describe('permissions.json of the seeds', () => {
  const loaded = loadModel(projectDir);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const read = (json: unknown) => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-seed-'));
    fs.mkdirSync(path.join(dir, 'database/seed'), { recursive: true });
    fs.writeFileSync(path.join(dir, 'database/seed/permissions.json'), JSON.stringify(json));
    try {
      return readSeedFiles(dir, loaded.model, ['authenticated', 'public']);
    } finally {
      fs.rmSync(dir, { recursive: true });
    }
  };

  it('grants the listed actions', () => {
    expect(read({ public: ['api::donor.donor.find'] })).toEqual({
      seeds: [],
      locales: null,
      granted: { public: ['api::donor.donor.find'] },
      faults: [],
      unread: new Set(),
    });
  });

  it.each([
    [[], /permissions\.json: expected an object of lists/],
    [{ publik: [] }, /permissions\.json: there is no role "publik" on first start; did you mean "public"\?/],
    [{ editors: [] }, /there is no role "editors" on first start; roles: authenticated, public/],
    [{ public: 'api::donor.donor.find' }, /permissions\.json: public: expected a list/],
    [{ public: ['api::donor.donor.find', 5] }, /permissions\.json: public\[1\]: expected the name of an action/],
    [
      { public: ['api::donor.donor.fnd'] },
      /public\[0\]: there is no action .*; did you mean "api::donor.donor.find"\?/,
    ],
    [{ constructor: [] }, /there is no role "constructor"/],
  ])('%j is reported as a fault', (json, message) => {
    expect(read(json)).toMatchObject({ granted: {}, faults: [expect.stringMatching(message)] });
  });
});

describe('commands without a database', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('say what to do, and create no file', async () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-none-'));
    vi.stubEnv('DATABASE_CLIENT', 'sqlite');
    vi.stubEnv('DATABASE_FILENAME', path.join(dir, 'deep', 'data.db'));
    const project = projectDir;
    const token = { type: 'read-only', expires: 'never', name: 'x', description: '', allow: [] };
    const user = { username: 'cli', email: 'cli@example.com', role: 'public' };
    for (const command of [
      () => listRolesCommand(project, undefined),
      () => changeRoleCommand('allow', project, 'public', []),
      () => createTokenCommand({ project, ...token }),
      () => createUserCommand({ project, ...user }),
    ]) {
      const fault = await command().catch((it: unknown) => it);
      expect(fault).toBeInstanceOf(StartFault);
      expect((fault as Error).message).toMatch(/^There is no file .*data\.db yet\. Run start or sync first\.$/);
    }
    expect(fs.readdirSync(dir)).toEqual([]);
    fs.rmSync(dir, { recursive: true });
  });
});

describe('permissions that are switched off', () => {
  it('are announced prominently, whatever the log level', () => {
    const text: string[] = [];
    const said = vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => text.push(String(chunk)) > 0);
    const tell = (enabled: boolean) =>
      warnOfOpenSite(
        { config: configSchema.parse({ permissions: { enabled } }) } as Project,
        pino({ level: 'silent' }),
      );
    tell(true);
    const quiet = text.length;
    tell(false);
    said.mockRestore();
    expect(quiet).toBe(0);
    expect(text.join()).toContain('PERMISSIONS ARE SWITCHED OFF');
  });
});

describe.each(dialects)('commands on %s', (dialect) => {
  let people: PeopleWorld;
  beforeEach(async () => {
    people = await newPeopleWorld(dialect, { grants: { editor: allOfAccounts } });
    const env = { ...people.world.env, API_TOKEN_SALT: secrets.apiTokenSalt, JWT_SECRET: secrets.jwtSecret };
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await people.close();
  });
  const token = (given: object = {}) =>
    printed(() =>
      createTokenCommand({
        project: projectDir,
        type: 'read-only',
        expires: 'never',
        name: 'test',
        description: '',
        allow: [],
        ...given,
      }),
    );
  const get = (url: string, text: string) => people.server.get(url, bearer(text));

  it('AC17, ST12: token create: every type and lifetime', async () => {
    const reading = await token({ expires: '7d' });
    expect(reading).toMatch(/^[0-9a-f]{256}$/);
    expect((await get('/api/donors', reading)).status).toBe(200);
    expect((await get('/api/users/count', reading)).status).toBe(403);
    const full = await token({ type: 'full-access' });
    expect((await get('/api/users/count', full)).status).toBe(200);
    const custom = await token({
      type: 'custom',
      allow: ['api::donor.donor.find', 'plugin::users-permissions.user.count'],
    });
    expect((await get('/api/donors', custom)).status).toBe(200);
    expect((await get('/api/users/count', custom)).status).toBe(200);
    expect((await get('/api/donors/1', custom)).status).toBe(403);
    await expect(token({ type: 'nope' })).rejects.toThrow(/--type/);
    await expect(token({ expires: '8d' })).rejects.toThrow(/--expires/);
    await expect(token({ type: 'custom' })).rejects.toThrow(/--allow/);
    await expect(token({ allow: ['api::donor.donor.find'] })).rejects.toThrow(/--allow/);
    await expect(token({ type: 'custom', allow: ['api::donor.donor.fnd'] })).rejects.toThrow(
      /Did you mean api::donor.donor.find/,
    );
  });

  it('AC17: token create without the salt of the server makes no token, and writes no salt', async () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-no-salt-'));
    onTestFinished(() => fs.rmSync(dir, { recursive: true }));
    fs.cpSync(path.join(projectDir, 'src'), path.join(dir, 'src'), { recursive: true });
    vi.stubEnv('API_TOKEN_SALT', '');
    const before = await printed(() => listTokensCommand(dir));
    await expect(token({ project: dir })).rejects.toThrow(/^API_TOKEN_SALT is missing: .*\.env/s);
    expect(fs.existsSync(path.join(dir, '.env'))).toBe(false);
    expect(await printed(() => listTokensCommand(dir))).toBe(before);
    // nor is the salt of the file hidden by an empty variable
    fs.writeFileSync(path.join(dir, '.env'), 'API_TOKEN_SALT=of the server\n');
    expect(await token({ project: dir })).toMatch(/^[0-9a-f]{256}$/);
  });

  it('user create: with a given password or a generated one', async () => {
    const create = (given: object) =>
      printed(() =>
        createUserCommand({ project: projectDir, username: 'cli', email: 'CLI@example.com', role: 'editor', ...given }),
      );
    expect(await create({ password: 'secret-1' })).toBe('');
    await people.login('cli@example.com', 'secret-1');
    const made = await create({ username: 'other', email: 'other@example.com' });
    await people.login('other', made);
    const shown = await people.ask('GET', '/api/users?filters[username]=other&populate=role', { as: 'full' });
    expect(shown.body).toMatchObject([
      { confirmed: true, blocked: false, provider: 'local', role: { type: 'editor' } },
    ]);
    await expect(create({})).rejects.toThrow(/already/);
    // it would identify another user at the login
    await expect(create({ username: 'CLI@example.com', email: 'third@example.com' })).rejects.toThrow(/already/);
    await expect(create({ username: 'third', email: 'third@example.com', role: 'nope' })).rejects.toThrow(
      /no role "nope"/,
    );
    await expect(create({ username: 'ab', email: 'ab@example.com' })).rejects.toThrow(/at least 3/);
  });

  it('token list and revoke: by name or id; a revoked key is refused', async () => {
    const key = await token({ name: 'to be revoked', type: 'custom', allow: ['api::donor.donor.find'] });
    const line = (await printed(() => listTokensCommand(projectDir)))
      .split('\n')
      .find((it) => it.includes('to be rev'));
    expect(line).toMatch(/^\d+ {2}custom {2}never expires {2}never used {2}to be revoked$/);
    expect(line).not.toContain(key);
    await token({ name: 'twin' });
    await token({ name: 'twin' });
    await expect(printed(() => revokeTokenCommand(projectDir, 'twin'))).rejects.toThrow(/give the id/);
    await expect(printed(() => revokeTokenCommand(projectDir, 'nobody'))).rejects.toThrow(/no token "nobody"/);
    await printed(() => revokeTokenCommand(projectDir, 'to be revoked'));
    expect(await printed(() => listTokensCommand(projectDir))).not.toContain('to be revoked');
    expect((await get('/api/donors', key)).status).toBe(401);
  });

  it('user list, block and unblock', async () => {
    const create = { project: projectDir, username: 'blocked-one', email: 'blocked-one@example.com', role: 'editor' };
    await printed(() => createUserCommand({ ...create, password: 'secret-1' }));
    const line = async () =>
      (await printed(() => listUsersCommand(projectDir))).split('\n').find((it) => it.includes('blocked-one'));
    expect(await line()).toMatch(/^\d+ {2}editor {2}confirmed {2}blocked-one@example.com {2}blocked-one$/);
    await printed(() => blockUserCommand(projectDir, 'Blocked-One@example.com', true));
    expect(await line()).toContain('  blocked  ');
    const login = { identifier: 'blocked-one', password: 'secret-1' };
    expect((await people.ask('POST', '/api/auth/local', { body: login })).status).toBe(400);
    await printed(() => blockUserCommand(projectDir, 'blocked-one', false));
    await people.login('blocked-one', 'secret-1');
    await expect(printed(() => blockUserCommand(projectDir, 'nobody', true))).rejects.toThrow(/no user "nobody"/);
  });

  it('AC1, ST11: role allow, deny and list', async () => {
    const list = (role?: string) => printed(() => listRolesCommand(projectDir, role));
    const change = (how: 'allow' | 'deny', ...actions: readonly string[]) =>
      printed(() => changeRoleCommand(how, projectDir, 'public', actions));
    expect(await list('editor')).toBe(
      ['editor (Editor, id 3, 1 user)', ...[...allOfAccounts].sort().map((it) => `  ${it}`)].join('\n'),
    );
    expect(await list()).toMatch(/authenticated \(.*public \(.*editor \(/s);
    await change('allow', 'api::donor.donor.find', 'api::donor.donor.findOne');
    expect((await people.ask('GET', '/api/donors')).status).toBe(200);
    await change('deny', 'api::donor.donor.findOne', 'api::genre.genre.find');
    const public_ = await list('public');
    expect(public_).toContain('api::donor.donor.find');
    expect(public_).not.toMatch(/api::donor.donor.findOne|api::genre.genre.find$/m);
    await expect(change('allow', 'api::donor.donor.fnd')).rejects.toThrow(/Did you mean/);
    await expect(printed(() => changeRoleCommand('allow', projectDir, 'nope', []))).rejects.toThrow(/no role/);
  });
});
