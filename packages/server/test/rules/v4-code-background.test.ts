/** Work of v4 code beside requests and hooks: writes that no transaction has begun, code that does not end, cron tasks. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../src/limits.js';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const files = {
  ...typeFile('note', { text: { type: 'string' } }),
  ...coreFile('Router', 'note'),
  ...coreFile('Service', 'note'),
  ...coreFile(
    'Controller',
    'note',
    `({ strapi }) => ({
      async create(ctx) {
        strapi.arrived?.();
        if (ctx.request.body.data.text === 'catches that it waits') {
          const { HttpError, ApplicationError } = require('@strapi/utils').errors;
          const work = strapi.db.transaction(() => undefined);
          return work.catch((fault) => [fault.name, fault instanceof HttpError, fault instanceof ApplicationError]);
        }
        return super.create(ctx);
      },
      async find(ctx) {
        const found = await super.find(ctx);
        switch (ctx.query.how) {
          case 'data': return { data: structuredClone(found.data), meta: structuredClone(found.meta) };
          case 'parts': { const { data, meta } = found; return structuredClone({ data, meta }); }
          case 'whole': return structuredClone(found);
          case 'lodash': return JSON.parse(JSON.stringify(found));
          default: return found;
        }
      },
    })`,
  ),
  'src/api/note/content-types/note/lifecycles.js': `
    const create = (text) => strapi.entityService.create('api::note.note', { data: { text } });
    module.exports = { async afterCreate({ result }) {
      const { text } = result;
      if (text === 'queued') await strapi.queue(() => create('by the queue'));
      if (text === 'emitted') strapi.emitter.emit('made', () => create('by the emitter'));
      if (text === 'later') setTimeout(() => create('by the timer'), 0);
      if (text === 'endless') await new Promise(() => undefined);
      if (text.startsWith('slow')) {
        await new Promise((resolve) => { strapi.goOn = resolve; });
        strapi.slow = await create('by the hook that was ' + text).catch(({ message }) => message);
      }
      if (text === 'endless recursion') await strapi.entityService.delete('api::note.note', result.id);
      if (text === 'endless call') await strapi.db.transaction(() => new Promise(() => undefined));
    }, async beforeDelete({ params: { where } }) { await strapi.entityService.delete('api::note.note', where.id); } };`,
  'config/cron-tasks.js': `module.exports = {
    '* * * * * *': ({ strapi }) => strapi.ticks.push('by rule'),
    named: { task: ({ strapi }) => { strapi.ticks.push('named'); throw new Error('of the task'); }, options: { rule: '* * * * * *', tz: 'Asia/Tokyo' } },
    never: { task: ({ strapi }) => strapi.ticks.push('never'), options: { rule: { month: 0, date: 1, hour: 0, minute: 0 }, start: '2999-01-01' } },
  };`,
  'config/server.js': `module.exports = ({ env }) => ({ cron: { enabled: env.bool('CRON', false), tasks: require('./cron-tasks') } });`,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    await allow('public', ['find', 'create'].map((it) => 'api::note.note.' + it));
    strapi.ticks = [];
    // a queue whose jobs run outside of whatever adds them
    const jobs = [];
    strapi.queue = (work) => new Promise((resolve, reject) => jobs.push(() => work().then(resolve, reject)));
    strapi.looking = setInterval(() => { for (const job of jobs.splice(0)) job(); }, 5);
    strapi.emitter = new (require('node:events').EventEmitter)();
    strapi.emitter.on('made', (work) => void work());
    if (process.env.CRON) strapi.cron.add({ added: { task: ({ strapi }) => { strapi.ticks.push('added'); strapi.cron.remove('added'); }, options: '* * * * * *' } });
    strapi.tell = () => strapi.ticks;
  }, destroy({ strapi }) { clearInterval(strapi.looking); } };`,
};

interface Held {
  /** Ends the slow hook. */
  goOn?: (() => void) | undefined;
  queue(work: () => Promise<unknown>): Promise<unknown>;
  readonly entityService: { create(uid: string, given: object): Promise<unknown> };
}

const bounds = limits as { -readonly [K in keyof typeof limits]: number };
const usual = { ...limits };
afterEach(() => {
  bounds.codeWaitMsMax = usual.codeWaitMsMax;
  bounds.codeHoldsMsMax = usual.codeHoldsMsMax;
});

describe.each(dialects)('on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
  });
  afterAll(() => served.close());
  const post = (text: string) => served.json('POST', '/api/notes', { data: { text } });
  const texts = async (): Promise<readonly string[]> => {
    const { body } = await served.json('GET', '/api/notes?sort=id&pagination[limit]=100');
    return (body as { data: { attributes: { text: string } }[] }).data.map((it) => it.attributes.text);
  };

  it('a hook that waits for a write of a queue ends, and so does what comes after it', async () => {
    if (dialect === 'sqlite') bounds.codeWaitMsMax = 400;
    const queued = await post('queued');
    // on PostgreSQL the queue has a connection of its own
    expect(queued.status).toBe(dialect === 'sqlite' ? 500 : 200);
    if (dialect === 'sqlite') expect(served.logged.join('')).toContain('waited 400 ms for a transaction');
    bounds.codeWaitMsMax = usual.codeWaitMsMax;
    expect((await post('after')).status).toBe(200);
    await vi.waitFor(async () => expect(await texts()).toContain('after'), 20_000);
    expect((await texts()).includes('by the queue')).toBe(dialect !== 'sqlite');
  });

  it('what a hook starts by an emitter or a timer is written once, in its transaction or after it', async () => {
    expect((await post('emitted')).status).toBe(200);
    expect((await post('later')).status).toBe(200);
    await vi.waitFor(async () =>
      expect(await texts()).toEqual(expect.arrayContaining(['by the emitter', 'by the timer'])),
    );
  });

  it.each(['endless', 'endless call'])('a hook that does not end (%s) is ended, and its write undone', async (text) => {
    bounds.codeHoldsMsMax = 400;
    const { status } = await post(text);
    expect(status).toBe(500);
    const file = 'src/api/note/content-types/note/lifecycles.js';
    expect(served.logged.at(-1)).toContain(
      text === 'endless'
        ? `create of api::note.note did not end within 400 ms, in which it held its transaction: afterCreate of api::note.note (${file}) still runs`
        : `: strapi.db.transaction of ${file}:`,
    );
    bounds.codeHoldsMsMax = usual.codeHoldsMsMax;
    expect((await post('still served')).status).toBe(200);
    expect(await texts()).not.toContain(text);
  });

  it('a hook that calls itself without end is named, with its file', async () => {
    bounds.codeHoldsMsMax = 400;
    expect((await post('endless recursion')).status).toBe(500);
    expect(served.logged.at(-1)).toMatch(
      /did not end within 400 ms.*beforeDelete of api::note\.note \(src\/api\/note\/content-types\/note\/lifecycles\.js\)/,
    );
    expect(await texts()).not.toContain('endless recursion');
  });

  if (dialect === 'sqlite') {
    const held = async (): Promise<Held> => {
      const held = (globalThis as unknown as { strapi: Held }).strapi;
      await vi.waitFor(() => expect(held.goOn).toBeDefined(), 20_000);
      return held;
    };
    /** Posts, and resolves once the code that handles it runs. */
    const arriving = async (text: string) => {
      const { strapi } = globalThis as unknown as { strapi: { arrived?: () => void } };
      const arrived = new Promise<void>((resolve) => {
        strapi.arrived = resolve;
      });
      const answered = post(text);
      await arrived;
      return { answered };
    };
    const release = async ({ goOn }: Held, holding: Promise<{ readonly status: number }>): Promise<number> => {
      goOn!();
      return (await holding).status;
    };
    afterEach(() => {
      Object.assign((globalThis as unknown as { strapi: Held }).strapi, { goOn: undefined, slow: undefined });
    });

    it('others wait for a hook that takes long; code that it may wait for itself is given up, under the name of the hook', async () => {
      const holding = post('slow enough');
      const strapi = await held();
      bounds.codeWaitMsMax = 200;
      const { answered } = await arriving('patient');
      const createInQueue = () => strapi.queue(() => strapi.entityService.create('api::note.note', { data: {} }));
      // by the end of the second the request has waited for longer than that
      await expect(createInQueue()).rejects.toThrow('waited 200 ms');
      await expect(createInQueue()).rejects.toThrow(
        'afterCreate of api::note.note (src/api/note/content-types/note/lifecycles.js)',
      );
      bounds.codeWaitMsMax = usual.codeWaitMsMax;
      expect([await release(strapi, holding), (await answered).status]).toEqual([200, 200]);
    });

    it('who has waited for longer than one of them may take is told to come again', async () => {
      const holding = post('slow enough');
      const strapi = await held();
      Object.assign(bounds, { codeWaitMsMax: 200, codeHoldsMsMax: 200 });
      const [{ status, headers }, caught] = await Promise.all([post('impatient'), post('catches that it waits')]);
      expect([status, headers['retry-after']]).toEqual([503, '1']);
      expect([caught.status, caught.body]).toEqual([200, ['ServiceUnavailableError', true, false]]);
      Object.assign(bounds, { codeWaitMsMax: usual.codeWaitMsMax, codeHoldsMsMax: usual.codeHoldsMsMax });
      expect(await release(strapi, holding)).toBe(200);
    });
  }

  it('what a hook writes after it took too long is refused, as its write was undone', async () => {
    bounds.codeHoldsMsMax = 400;
    expect((await post('slow')).status).toBe(500);
    const { strapi } = globalThis as unknown as { strapi: { goOn: () => void; slow: unknown } };
    strapi.goOn();
    await vi.waitFor(() => expect(strapi.slow).toBeDefined(), 20_000);
    expect(strapi.slow).toContain('did not end within 400 ms');
    expect(await texts()).not.toContain('by the hook that was slow');
  });

  it.each(['data', 'parts', 'whole', 'lodash'])('what super.find gives can be cloned (%s)', async (how) => {
    const { body } = await served.json('GET', '/api/notes?sort=id');
    expect((await served.json('GET', `/api/notes?sort=id&how=${how}`)).body).toEqual(body);
  });
});

it('events that code sends to itself reach its listeners, in their order; those that nothing sends are warned of', async () => {
  const served = await serveCode('sqlite', {
    'src/index.js': `module.exports = { async bootstrap({ strapi }) {
      const { eventHub } = strapi;
      const heard = (name) => async (...given) => { await null; strapi.heard.push([name, ...given]); };
      strapi.heard = [];
      eventHub.subscribe(heard('every'));
      const end = eventHub.on('note.made', heard('first'));
      eventHub.once('note.made', heard('once'));
      eventHub.on('entry.create', heard('entry'));
      eventHub.on('release.publish', heard('release'));
      await eventHub.emit('note.made', { id: 1 });
      end();
      await eventHub.emit('note.made', 2);
    } };`,
  });
  const { strapi } = globalThis as unknown as { strapi: { heard: unknown[] } };
  expect(strapi.heard).toEqual([
    ['every', 'note.made', { id: 1 }],
    ['first', { id: 1 }],
    ['once', { id: 1 }],
    ['every', 'note.made', 2],
  ]);
  expect(served.logged.join('')).toContain('nothing sends release.publish here');
  expect(served.logged.join('')).not.toContain('entry.create');
  await served.close();
});

describe('cron tasks', () => {
  const ticks = (): readonly string[] => (globalThis as unknown as { strapi: { ticks: string[] } }).strapi.ticks;

  it('run by their rules; their faults are logged; one that was removed does not run', async () => {
    const served = await serveCode('sqlite', files, { CRON: 'true' });
    await vi.waitFor(() => expect(ticks().filter((it) => it === 'by rule').length).toBeGreaterThan(1), {
      timeout: 20_000,
      interval: 100,
    });
    expect(ticks()).toContain('named');
    expect(ticks().filter((it) => it === 'added')).toEqual(['added']);
    expect(ticks()).not.toContain('never');
    expect(served.logged.join('')).toContain('of the task');
    await served.close();
  });

  it('run where all other code is as v4 generates it', async () => {
    const tasks = `module.exports = { '* * * * * *': () => { globalThis.ranAlone = true; } };`;
    const own = { 'config/server.js': files['config/server.js'], 'config/cron-tasks.js': tasks };
    const served = await serveCode(
      'sqlite',
      { ...typeFile('note', { text: { type: 'string' } }), ...own },
      { CRON: 'true' },
    );
    await vi.waitFor(() => expect(globalThis).toHaveProperty('ranAlone'), { timeout: 20_000, interval: 100 });
    await served.close();
  });

  it('do not run without server.cron.enabled, and a rule that cannot be read stops the start', async () => {
    const served = await serveCode('sqlite', files);
    expect((globalThis as unknown as { strapi: { cron: { jobs: unknown[] } } }).strapi.cron.jobs).toEqual([]);
    await served.close();
    const wrong = { ...files, 'config/cron-tasks.js': `module.exports = { 'now and then': () => undefined };` };
    await expect(serveCode('sqlite', wrong, { CRON: 'true' })).rejects.toThrow('now and then');
  });
});
