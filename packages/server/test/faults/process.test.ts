/** The process of `start`: errors in a project's background code do not end it, and it stops when told to. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { serveInProcess } from '../world/process.js';

const dist = fileURLToPath(new URL('../../dist', import.meta.url));

/** `find` takes what to do from the query string, and responds at once. */
const handlers = `
import { EventEmitter } from 'node:events';
const boom = () => { throw new Error('looked at'); };
const thrown = {
  error: () => new Error('left behind'),
  text: () => 'left behind',
  nothing: () => null,
  proxy: () => new Proxy({}, { get: boom, has: boom, getPrototypeOf: boom, ownKeys: boom }),
  getters: () => Object.defineProperty({}, 'stack', { get: boom }),
  refusal: (refuse) => { try { refuse('left behind'); } catch (fault) { return fault; } },
  own: () => Object.assign(new Error('own'), { stack: 'Error: own\\n    at f (${dist}/bundle/cli/start.cjs:1:1)' }),
};
export default {
  find: ({ request: { search }, refuse }) => {
    const [how, what] = search.split('=');
    if (how === 'timer') setTimeout(() => { throw thrown[what](refuse); });
    if (how === 'emitter') setImmediate(() => new EventEmitter().emit('error', thrown[what](refuse)));
    if (how === 'promise') Promise.reject(thrown[what](refuse));
    if (how === 'exit') process.exit(3);
    if (how === 'last-words') {
      for (const word of ['first', 'second']) process.emit('unhandledRejection', new Error(word));
      process.exit(3);
    }
    if (how === 'never') return new Promise(() => undefined);
    return { data: how };
  },
};
`;

interface Watched {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  get(search: string): Promise<unknown>;
  /** The next log line that has the field. */
  logged(field: string): Promise<Record<string, unknown>>;
}

const made: { dir: string; child?: ChildProcess }[] = [];
afterEach(() => {
  for (const { dir, child } of made.splice(0)) {
    child?.kill('SIGKILL');
    fs.rmSync(dir, { recursive: true, force: true });
  }
});

const serve = async (config: object = {}): Promise<Watched> => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-process-'));
  const api = path.join(dir, 'src/api/note');
  fs.mkdirSync(path.join(api, 'content-types/note'), { recursive: true });
  const schema = {
    kind: 'collectionType',
    collectionName: 'notes',
    info: { singularName: 'note', pluralName: 'notes', displayName: 'Note' },
    attributes: { text: { type: 'string' } },
  };
  fs.writeFileSync(path.join(api, 'content-types/note/schema.json'), JSON.stringify(schema));
  fs.writeFileSync(path.join(api, 'handlers.js'), handlers);
  const own = { permissions: { enabled: false }, ...config };
  fs.writeFileSync(path.join(dir, 'dovetail.config.json'), JSON.stringify(own));
  fs.writeFileSync(path.join(dir, 'package.json'), '{"type":"module"}');
  const { url, child } = await serveInProcess(dir, { LOG_LEVEL: 'warn', DATABASE_CLIENT: 'sqlite' });
  made.push({ dir, child });
  let log = '';
  child.stdout!.on('data', (bytes: Buffer) => {
    log += String(bytes);
  });
  return {
    child,
    exited: once(child, 'exit').then(([code]) => code as number | null),
    get: async (search) => (await fetch(`${url}/notes?${search}`)).json(),
    logged: async (field) => {
      for (;;) {
        const lines = log.split('\n').slice(0, -1);
        const found = lines.map((it) => JSON.parse(it) as Record<string, unknown>).find((it) => field in it);
        if (found) {
          log = '';
          return found;
        }
        await once(child.stdout!, 'data');
      }
    },
  };
};

describe('the process', () => {
  it('survives code of the project that throws outside of a request, and logs it with an id', async () => {
    const { get, logged, child, exited } = await serve();
    for (const how of ['timer', 'promise', 'emitter']) {
      for (const what of ['error', 'text', 'nothing', 'proxy', 'getters', 'refusal']) {
        expect(await get(`${how}=${what}`)).toEqual({ data: how });
        const line = await logged('faultId');
        expect(line).toMatchObject({ level: 50, faultId: expect.stringMatching(/^[0-9a-f-]{36}$/) });
        if (what === 'error') expect(JSON.stringify(line)).toMatch(/left behind.*handlers\.js/s);
      }
    }
    expect(await get('alive')).toEqual({ data: 'alive' });
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
  });

  it('says which code of the project has ended it', async () => {
    const { get, logged, exited } = await serve();
    const cut = get('exit').catch((fault: TypeError) => fault.message);
    const line = await logged('err');
    expect(line).toMatchObject({ level: 60, msg: expect.stringContaining('project code has ended the process') });
    expect(JSON.stringify(line)).toMatch(/process\.exit\(3\).*handlers\.js/s);
    expect([await exited, await cut]).toEqual([3, 'fetch failed']);
  });

  it('ends although nobody reads the log any more in which lines are waiting to be written', async () => {
    const { get, child, exited } = await serve();
    child.stdout!.destroy();
    const cut = get('last-words').catch((fault: TypeError) => fault.message);
    expect([await exited, await cut]).toEqual([3, 'fetch failed']);
  });

  it('exits with 1 after an uncaught error of its own, once running requests are done', async () => {
    const { get, logged, exited } = await serve();
    expect(await get('timer=own')).toEqual({ data: 'timer' });
    expect(await logged('faultId')).toMatchObject({ level: 60 });
    expect(await exited).toBe(1);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('%s makes it exit with 0 if no request had to be cut off', async (signal) => {
    const { get, child, exited } = await serve();
    await get('alive');
    child.kill(signal);
    expect(await exited).toBe(0);
  });

  it('exits with 1 if requests had to be cut off, and logs how many', async () => {
    const { get, child, exited, logged } = await serve();
    const cut = get('never').catch((fault: TypeError) => fault.message);
    await get('alive');
    child.kill('SIGTERM');
    expect(await logged('requests')).toMatchObject({ requests: 1 });
    expect(await exited).toBe(1);
    expect(await cut).toBe('fetch failed');
  });
});
