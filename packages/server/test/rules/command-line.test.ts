/** The command line: usage, exit codes, the project's folder. Needs the build in dist/. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { environmentSchema, readEnvironment, uselessVariables } from '../../src/cli/config.js';
import { freePort } from '../world/process.js';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '../..');
const main = path.join(root, 'dist/cli/main.js');
const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };

let dir = '';
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-command-line-'));
});
afterEach(() => fs.rmSync(dir, { recursive: true }));

const run = async (
  args: readonly string[],
  { cwd = dir, env = {} }: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
) => {
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const text = { out: '', said: '' };
  child.stdout.on('data', (chunk) => {
    text.out += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    text.said += String(chunk);
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, ...text };
};

/** One content type. */
const makeProject = (): void => {
  const type = path.join(dir, 'src/api/note/content-types/note');
  fs.mkdirSync(type, { recursive: true });
  const info = { singularName: 'note', pluralName: 'notes', displayName: 'Note' };
  const schema = { kind: 'collectionType', collectionName: 'notes', info, attributes: { text: { type: 'string' } } };
  fs.writeFileSync(path.join(type, 'schema.json'), JSON.stringify(schema));
};

describe('the command line', () => {
  it('--version and --help exit with 0', async () => {
    expect(await run(['--version'])).toEqual({ code: 0, out: `${version}\n`, said: '' });
    const help = await run(['--help']);
    expect(help).toMatchObject({ code: 0, said: '' });
    expect(help.out).toMatch(/start.*check.*sync.*explain.*token.*user.*role/s);
  });

  it.each([
    [['strat'], /unknown command 'strat'.*Did you mean start\?/s],
    [['start', '--projct', 'x'], /unknown option '--projct'.*Did you mean --project\?/s],
    [
      ['start', '--workers', 'many'],
      /--workers <count>' argument 'many' is invalid\. Expected a number from 1 to 64\./,
    ],
    [['explain'], /missing required argument 'url'/],
    [['token', 'create'], /required option '--type <type>' not specified/],
    [['token', 'create', '--type', 'full'], /--type: expected read-only, full-access, custom, not "full"/],
    [['token', 'create', '--type', 'custom'], /--type custom needs --allow, such as/],
    [
      ['token', 'create', '--type', 'read-only', '--allow', 'a'],
      /--allow can be used with --type custom only; a read-only token has fixed permissions/,
    ],
    [['token', 'create', '--type', 'read-only', '--expires', '1d'], /--expires: expected never, 7d, 30d, 90d/],
  ])('a usage error exits with 2: %j', async (args, said) => {
    const result = await run(args);
    expect(result.code).toBe(2);
    expect(result.said).toMatch(said);
  });

  it('start --workers reads a project of v4 in the current folder', async () => {
    makeProject();
    fs.writeFileSync(path.join(dir, 'package.json'), JSON.stringify({ dependencies: { '@strapi/strapi': '4.26.2' } }));
    fs.mkdirSync(path.join(dir, 'config'), { recursive: true });
    fs.writeFileSync(
      path.join(dir, 'config/server.js'),
      'module.exports = ({ env }) => ({ port: env.int("PORT", 1337) });',
    );
    const { code, said } = await run(['start', '--workers', '2']);
    expect([code, said]).toEqual([2, expect.stringContaining('--workers 2: one process serves a SQLite file')]);
  });

  it('.env may begin with a byte order mark', () => {
    fs.writeFileSync(path.join(dir, '.env'), '\uFEFFJWT_SECRET=a secret that is long enough');
    expect(readEnvironment(dir, {}).JWT_SECRET).toBe('a secret that is long enough');
  });

  it('a pipe whose reader has seen enough ends the command quietly', async () => {
    makeProject();
    const child = spawn(process.execPath, [main, 'check'], { cwd: dir });
    child.stdout.destroy();
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += String(chunk);
    });
    await once(child, 'close');
    expect(said).not.toContain('EPIPE');
  });

  it('a server goes on when nobody reads its output any more, whatever the project prints', async () => {
    makeProject();
    fs.writeFileSync(path.join(dir, 'dovetail.config.json'), '{ "permissions": { "enabled": false } }');
    fs.writeFileSync(
      path.join(dir, 'src/api/note/handlers.mjs'),
      'export default { find: () => { console.log("printed"); return { data: [] }; } };',
    );
    const port = await freePort();
    const env = { ...process.env, DATABASE_CLIENT: 'sqlite', PORT: String(port) };
    const child = spawn(process.execPath, [main, 'start'], { cwd: dir, env, stdio: ['ignore', 'pipe', 'ignore'] });
    let log = '';
    while (!log.includes('serving ')) log += String((await once(child.stdout, 'data'))[0]);
    child.stdout.destroy();
    for (let i = 0; i < 3; i++)
      expect(await (await fetch(`http://127.0.0.1:${port}/api/notes`)).json()).toEqual({ data: [] });
    child.kill();
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('any other failure exits with 1', async () => {
    const result = await run(['check', '--project', 'nowhere']);
    expect(result).toMatchObject({ code: 1, out: '' });
    expect(result.said).toContain(`There is no folder ${path.join(fs.realpathSync(dir), 'nowhere')}`);
  });

  it('a folder that is no project is refused, and nothing is left in it', async () => {
    fs.mkdirSync(path.join(dir, 'empty'));
    const result = await run(['start', '--project', 'empty']);
    expect(result).toMatchObject({ code: 1, out: '' });
    expect(result.said).toContain(`${path.join(fs.realpathSync(dir), 'empty')} is not a project: it has no src/api/`);
    expect(fs.readdirSync(path.join(dir, 'empty'))).toEqual([]);
    // where Dovetail is installed, beside its projects
    const manifest = '{ "dependencies": { "dovetail": "file:../dovetail-0.1.0.tgz" } }';
    fs.writeFileSync(path.join(dir, 'empty/package.json'), manifest);
    expect(await run(['start', '--project', 'empty'])).toMatchObject({ code: 1, said: result.said });
    expect(fs.readdirSync(path.join(dir, 'empty'))).toEqual(['package.json']);
    // a program of another kind, whose code must not run
    fs.mkdirSync(path.join(dir, 'empty/src/components'), { recursive: true });
    fs.writeFileSync(path.join(dir, 'empty/src/index.js'), "require('node:fs').writeFileSync('ran', '');");
    expect(await run(['start', '--project', 'empty'])).toMatchObject({ code: 1, said: result.said });
    expect(fs.readdirSync(path.join(dir, 'empty'))).toEqual(['package.json', 'src']);
  });

  it('a port that is in use is named, with what to do', async () => {
    makeProject();
    const other = net.createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as net.AddressInfo;
    try {
      const result = await run(['start'], { env: { PORT: String(port) } });
      expect(result.code).toBe(1);
      expect(result.said).toContain(
        `Another program uses this port. Stop it, or choose another one, such as PORT=${port + 1}.`,
      );
    } finally {
      other.close();
    }
  });

  it('METRICS_PORT is named if it is the port of the server', async () => {
    makeProject();
    const port = String(await freePort());
    const { code, said } = await run(['start'], { env: { PORT: port, METRICS_PORT: port } });
    expect(code).toBe(1);
    expect(said).toContain('METRICS_PORT is this port, too: change it, or choose another one, such as PORT=');
  });

  it('help says of no list that it is empty by default', async () => {
    const { out } = await run(['migrate', 'plan', '--help']);
    expect(out).toContain('--rename <old=new...>');
    expect(out).not.toContain('default: []');
  });

  /** What a start says, up to where it serves. */
  const logOfStart = async (): Promise<string> => {
    const env = { ...process.env, DATABASE_CLIENT: 'sqlite', PORT: '0' };
    const child = spawn(process.execPath, [main, 'start'], { cwd: dir, env, stdio: ['ignore', 'pipe', 'ignore'] });
    let log = '';
    for await (const chunk of child.stdout) {
      log += String(chunk);
      if (log.includes('serving ')) break;
    }
    child.kill();
    expect(await once(child, 'exit')).toEqual([0, null]);
    return log;
  };

  it('files are written into folders that do not exist yet, and a place that cannot be one is named', async () => {
    makeProject();
    expect((await run(['sync'])).code).toBe(0);
    expect(await run(['export', 'new/of/content.ndjson'])).toMatchObject({ code: 0 });
    expect(await run(['types', '--out', 'new/of/types.ts'])).toMatchObject({ code: 0 });
    expect(fs.readdirSync(path.join(dir, 'new/of')).sort()).toEqual(['content.ndjson', 'types.ts']);
    for (const args of [['export'], ['types', '--out'], ['backup', '--out']]) {
      const { code, said } = await run([...args, 'new/of/types.ts/under/it']);
      expect(said).toMatch(/^The file system refuses a file or folder: \w+: .*types\.ts\/under.*'\n$/);
      expect(code).toBe(1);
    }
    // where Linux refuses a folder as if the one above it were missing
    for (const args of [
      ['export', '/proc/new/content.ndjson'],
      ['types', '--out', '/proc/types.ts'],
      ['backup', '--out', '/proc/new/of/backup.db'],
    ]) {
      const { code, said } = await run(args);
      expect(said).toMatch(/^The file system refuses a file or folder: \w+: .*'\/proc\/.*'\n$/);
      expect(code).toBe(1);
    }
  });

  it('a folder in the place of a file, a file in the place of a folder, and an empty name are named, with what to give', async () => {
    makeProject();
    expect((await run(['sync'])).code).toBe(0);
    const isFolder = `${fs.realpathSync(dir)} is a folder. Name a file.\n`;
    expect(await run(['types', '--out', 'src'])).toMatchObject({
      code: 2,
      said: '--out: src is a folder. Name a file in it, such as src/schema.ts.\n',
    });
    expect(await run(['import', '.'])).toMatchObject({ code: 1, said: '. is a folder. Name a file.\n' });
    expect(await run(['restore', '.'])).toMatchObject({ code: 1, said: isFolder });
    expect(await run(['adopt', '--urls', '.'])).toMatchObject({
      code: 2,
      said: '--urls: . is a folder. Name a file.\n',
    });
    const file = 'src/api/note/content-types/note/schema.json';
    const noFolder = `There is no folder ${path.join(fs.realpathSync(dir), file)}.`;
    for (const command of ['start', 'dev', 'check'])
      expect(await run([command, '--project', file])).toMatchObject({
        code: 1,
        said: `${noFolder} Set the project folder with --project.\n`,
      });
    const adopted = await run(['adopt', file]);
    expect(adopted.code).toBe(1);
    expect(adopted.out).toContain('There is no folder ');
    expect(await run(['token', 'create', '--type', 'read-only', '--name', ''])).toMatchObject({ code: 2, out: '' });
  });

  it('start stops in order as soon as it says that it serves, and whether or not its log is read', async () => {
    makeProject();
    expect(await logOfStart()).toContain('serving ');
  });

  it('Q16: start reports that a v4 project is served leniently', async () => {
    makeProject();
    fs.writeFileSync(path.join(dir, 'package.json'), '{ "dependencies": { "@strapi/strapi": "4.26.2" } }');
    const log = await logOfStart();
    expect(log).toContain('api.strict is false, the default of projects that depend on @strapi/strapi: ');
  });

  it('AC1: start says that the public may read nothing only once the code of the project has had its say', async () => {
    const logOf = async (bootstrap: string): Promise<string> => {
      makeProject();
      fs.writeFileSync(
        path.join(dir, 'src/index.js'),
        `module.exports = { async bootstrap({ strapi }) { strapi.log.info('bootstrapped'); ${bootstrap} } };`,
      );
      const log = await logOfStart();
      fs.rmSync(path.join(dir, '.tmp'), { recursive: true });
      return log;
    };
    const warning = 'the role public cannot read any content yet';
    const grants = `const role = await strapi.query('plugin::users-permissions.role').findOne({ where: { type: 'public' } });
      await strapi.query('plugin::users-permissions.permission').create({ data: { action: 'api::note.note.find', role: role.id } });`;
    expect(await logOf(grants)).not.toContain(warning);
    expect(await logOf('')).toMatch(new RegExp(`bootstrapped[^]*${warning}`));
  });

  it('check and explain end, whatever modules of the project have begun, and run neither register nor bootstrap', async () => {
    makeProject();
    await run(['sync']);
    fs.writeFileSync(
      path.join(dir, 'src/index.js'),
      `setInterval(() => 0, 1000);
      const mark = () => require('node:fs').writeFileSync('ran', '');
      module.exports = { register: mark, bootstrap: mark };`,
    );
    const [checked, explained] = [await run(['check']), await run(['explain', '/api/notes'])];
    expect([checked.code, checked.out.includes('src/index.js: runs')]).toEqual([0, true]);
    expect([explained.code, explained.out.includes('api::note.note')]).toEqual([0, true]);
    expect(fs.existsSync(path.join(dir, 'ran'))).toBe(false);
  });

  /** Starts the server, and stops it once it waits for signals. @returns the exit code and the signal. */
  const startAndStop = async (given: NodeJS.ProcessEnv = {}): Promise<unknown> => {
    const { NODE_COMPILE_CACHE: _given, ...others } = process.env;
    const env = { ...others, DATABASE_CLIENT: 'sqlite', PORT: '0', ...given };
    const child = spawn(process.execPath, [main, 'start'], { cwd: dir, env, stdio: ['ignore', 'pipe', 'inherit'] });
    // its last line before it waits for signals; what follows is read, too
    await new Promise<void>((resolve) => {
      child.stdout.on('data', (text) => {
        if (String(text).includes('no administrator yet')) resolve();
      });
    });
    child.kill();
    return once(child, 'exit');
  };

  it.each([
    ['keeps the compiled server in the project, for this version of Node.js', false],
    ['serves where nothing can be kept', true],
  ])('start %s', async (_, isBarred) => {
    makeProject();
    const compiled = path.join(dir, '.tmp/compiled');
    fs.mkdirSync(path.dirname(compiled));
    if (isBarred) fs.writeFileSync(compiled, '');
    else fs.mkdirSync(path.join(compiled, 'v20.9.0-x64-00000000-0/of another version'), { recursive: true });
    expect(await startAndStop()).toEqual([0, null]);
    expect(fs.statSync(compiled).isDirectory()).toBe(!isBarred);
    if (isBarred) return;
    const folders = fs.readdirSync(compiled);
    expect(folders.filter((it) => !it.startsWith(`${process.version}-`))).toEqual([]);
    expect(folders.filter((it) => it.endsWith('-bundle'))).toHaveLength(1);
  });

  it('start takes what V8 has compiled only as it was kept, and otherwise compiles again', async () => {
    makeProject();
    const compiled = path.join(dir, '.tmp/compiled');
    await startAndStop();
    const folder = path.join(compiled, fs.readdirSync(compiled).find((it) => it.endsWith('-bundle'))!);
    const [server, project] = ['cli-server', 'cli-project'].map((it) => path.join(folder, it)) as [string, string];
    const [kept, ofProject] = [fs.readFileSync(server), fs.statSync(project).mtimeMs];
    // of other sources; damaged
    for (const at of [0, kept.length - 1]) {
      const other = Buffer.from(kept);
      other[at]! ^= 1;
      fs.writeFileSync(server, other);
      expect(await startAndStop()).toEqual([0, null]);
      expect(fs.readFileSync(server).equals(other)).toBe(false);
    }
    // what was taken from there stays as it is
    expect(fs.statSync(project).mtimeMs).toBe(ofProject);
  });

  it('start keeps it where NODE_COMPILE_CACHE says, if that is set', async () => {
    makeProject();
    const elsewhere = path.join(dir, 'elsewhere');
    expect(await startAndStop({ NODE_COMPILE_CACHE: elsewhere })).toEqual([0, null]);
    expect(fs.readdirSync(elsewhere).filter((it) => it.endsWith('-bundle'))).toHaveLength(1);
    expect(fs.existsSync(path.join(dir, '.tmp/compiled'))).toBe(false);
  });

  it('start keeps nothing where Node.js is told to keep nothing', async () => {
    makeProject();
    expect(await startAndStop({ NODE_DISABLE_COMPILE_CACHE: '1' })).toEqual([0, null]);
    expect(fs.existsSync(path.join(dir, '.tmp/compiled'))).toBe(false);
  });

  it('the project is the current folder by default', async () => {
    makeProject();
    const result = await run(['check']);
    expect(result.out).toContain('1 content type, 0 components, ');
    expect(result.out).toContain('table  notes ');
  });
});

describe('variables', () => {
  const warned = (outside: NodeJS.ProcessEnv = {}) => uselessVariables(dir, outside, readEnvironment(dir, outside));

  it.each([
    ['DATABASE_FILNAME=x', ['DATABASE_FILNAME has no effect; did you mean DATABASE_FILENAME?']],
    ['database_filename=x', ['database_filename has no effect; did you mean DATABASE_FILENAME?']],
    ['JWT_SECRETS=x', ['JWT_SECRETS has no effect; did you mean JWT_SECRET?']],
    ['port=1', ['port has no effect; did you mean PORT?']],
    ['SORT=1\nAPP_KEYS=a\nADMIN_JWT_SECRET=a\nTRANSFER_TOKEN_SALT=a\nDATABASE_SSL_CA=a\nSMTP_FROM=a', []],
    ['DATABASE_FILENAME=x\nDATABASE_FILENAME2=y', []],
  ])('%j in .env is warned of only if it is near to a known name that is not set', (text, warnings) => {
    fs.writeFileSync(path.join(dir, '.env'), text);
    expect(warned()).toEqual(warnings.map((message) => ({ file: '.env', message })));
  });

  it('those of the process are warned of only if they are near to the name of one of the database', () => {
    expect(warned({ DATABSE_URL: 'postgres://a/b', PORTS: '1', JWT_SECRETS: 'x', DATABASE_USER: 'a' })).toEqual([
      { file: 'environment', message: 'DATABSE_URL has no effect; did you mean DATABASE_URL?' },
    ]);
  });

  it('a URL of PostgreSQL beside SQLite is warned of, where it is set', () => {
    const message = 'DATABASE_URL is set but not used, because DATABASE_CLIENT is sqlite; remove one of them';
    const url = { DATABASE_URL: 'postgres://a/b' };
    expect(warned({ ...url, DATABASE_CLIENT: 'sqlite' })).toEqual([{ file: 'environment', message }]);
    fs.writeFileSync(path.join(dir, '.env'), 'DATABASE_CLIENT=sqlite\nDATABASE_URL=postgres://a/b');
    expect(warned()).toEqual([{ file: '.env', message }]);
    expect(warned({ DATABASE_CLIENT: 'postgres' })).toEqual([]);
  });
});

describe('start', () => {
  const start = async (port: number, more: NodeJS.ProcessEnv = {}) => {
    const env = { ...process.env, PORT: String(port), DATABASE_CLIENT: 'sqlite', ...more };
    const child = spawn(process.execPath, [main, 'start'], { cwd: dir, env, stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    for await (const chunk of child.stdout) {
      text += String(chunk);
      if (text.includes('serving ')) break;
    }
    return { child, text };
  };
  const end = async ({ child }: Awaited<ReturnType<typeof start>>): Promise<void> => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };

  it.each([0.3, 0.0000001])('a cache of %d MB need not be a whole number of bytes', async (answersMb) => {
    makeProject();
    fs.writeFileSync(path.join(dir, 'dovetail.config.json'), JSON.stringify({ memory: { answersMb } }));
    const server = await start(0);
    expect(server.text).toContain('serving ');
    await end(server);
  });

  it('a NODE_ENV that is not known counts as development, with a warning', async () => {
    makeProject();
    for (const name of ['prod', 'development']) {
      const server = await start(0, { NODE_ENV: name });
      expect(server.text.includes('NODE_ENV is \\"prod\\", which counts as development')).toBe(name === 'prod');
      await end(server);
    }
  });

  it('errors of code are logged with their type, stack and code, however they are made', async () => {
    makeProject();
    fs.writeFileSync(
      path.join(dir, 'src/index.js'),
      `function Old(message) { this.message = message; Error.captureStackTrace(this, Old); }
      Old.prototype = Object.create(Error.prototype, { constructor: { value: Old } });
      const circle = Object.assign(new TypeError('circle'), { code: 'E_CIRCLE' });
      circle.request = { of: circle };
      exports.bootstrap = ({ strapi }) => { for (const it of [new Old('old'), circle]) strapi.log.error(it); };`,
    );
    const server = await start(0);
    const errors = server.text.split('\n').flatMap((it) => (it.includes('"level":50') ? [JSON.parse(it).err] : []));
    const stack = expect.stringContaining('src/index.js');
    expect(errors).toEqual([
      { type: 'Old', message: 'old', stack },
      { type: 'TypeError', message: 'circle', code: 'E_CIRCLE', stack },
    ]);
    await end(server);
  });

  it('an origin that no browser sends is warned of', async () => {
    makeProject();
    const useful = [
      'https://a.example',
      'http://localhost:3000',
      'capacitor://localhost',
      'null',
      'https://xn--9ca.example',
    ];
    const useless = {
      'https://b.example/': 'browsers send https://b.example',
      'c.example': 'browsers send origins such as https://www.example.org, without a slash at the end',
      'https://D.example': 'browsers send https://d.example',
      'https://e.example:443': 'browsers send https://e.example',
      'https://é.example': 'browsers send https://xn--9ca.example',
      'https://*.f.example': 'there are no patterns; name each origin, or "*" for all',
    };
    const config = { cors: { origin: [...useful, ...Object.keys(useless)] } };
    fs.writeFileSync(path.join(dir, 'dovetail.config.json'), JSON.stringify(config));
    const server = await start(0);
    const warnings = server.text.split('\n').flatMap((it) => (it.includes('cors.origin') ? [JSON.parse(it).msg] : []));
    expect(warnings).toEqual(Object.entries(useless).map(([it, why]) => `cors.origin: "${it}" allows nothing: ${why}`));
    await end(server);
  });

  it('a second process on a SQLite file causes a warning; a killed one does not', async () => {
    makeProject();
    const first = await start(0);
    expect(first.text).toContain('serving ');
    expect(first.text).not.toContain('another process');
    const second = await start(0);
    expect(second.text).toContain('is also served by another process');
    await end(second);
    fs.symlinkSync('data.db', path.join(dir, '.tmp/link.db'));
    const linked = await start(0, { DATABASE_FILENAME: '.tmp/link.db' });
    expect(linked.text).toContain('is also served by another process');
    await end(linked);
    await end(first);
    const third = await start(0);
    expect(third.text).toContain('serving ');
    expect(third.text).not.toContain('another process');
    await end(third);
  });
});

describe('the environment', () => {
  it('a PostgreSQL URL without a client selects PostgreSQL', () => {
    const url = 'postgresql://db.example/site';
    expect(readEnvironment(dir, { DATABASE_URL: url }).DATABASE_CLIENT).toBe('postgres');
    expect(readEnvironment(dir, { DATABASE_URL: url, DATABASE_CLIENT: 'sqlite' }).DATABASE_CLIENT).toBe('sqlite');
    expect(readEnvironment(dir, {}).DATABASE_CLIENT).toBe('sqlite');
    expect(() => readEnvironment(dir, { DATABASE_URL: 'mysql://a:b@h/x' })).toThrow(
      /DATABASE_URL begins with "mysql:"/,
    );
    expect(environmentSchema.parse({}).DATABASE_CLIENT).toBe('sqlite');
  });

  it('a .env that cannot be read is named', () => {
    fs.mkdirSync(path.join(dir, '.env'));
    expect(() => readEnvironment(dir, {})).toThrow(`${path.join(dir, '.env')}: cannot be read: EISDIR`);
  });

  it('all invalid values are named at once, with what is expected', () => {
    const given = { DATABASE_CLIENT: 'mysql', PORT: 'http', SMTP_PORT: '70000', LOG_LEVEL: 'loud' };
    const fault = (() => {
      try {
        return readEnvironment(dir, given);
      } catch (it) {
        return (it as Error).message;
      }
    })();
    expect(fault).toMatch(
      new RegExp(
        [
          '^environment: PORT: must be a whole number from 0 to 65535, not "http"\\. Port to listen on\\.',
          'environment: LOG_LEVEL: must be trace, debug, info, warn, error or silent, not "loud"',
          'environment: DATABASE_CLIENT: must be sqlite or postgres, not "mysql"',
          'environment: SMTP_PORT: must be a whole number from 0 to 65535, not "70000"\\. .*$',
        ].join('\n'),
      ),
    );
  });
});
