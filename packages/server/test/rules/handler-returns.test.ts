/** What a handler may return, and how long it may take, on both databases. */
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Handler, Handlers, Hook, Step } from '../../src/handlers/handlers.js';
import { dialects } from '../world/databases.js';
import { newSmallWorld, type SmallProject, type SmallWorld } from '../world/small.js';

const NOTE = 'api::note.note';
const project: SmallProject = {
  types: { note: { attributes: { text: { type: 'string' }, secret: { type: 'string', private: true } } } },
};

describe.each(dialects)('handlers on %s', (dialect) => {
  let world: SmallWorld;
  let find: (step: Step) => unknown;
  let create: (step: Step) => unknown;
  let afterCreate: Hook;
  const handlerMsMax = 20;

  beforeAll(async () => {
    const handlers: Handlers = {
      find: ((step) => find(step)) as Handler,
      create: ((step) => create(step)) as Handler,
      afterCreate: (event) => afterCreate(event),
    };
    world = await newSmallWorld(dialect, project, { handlers: new Map([[NOTE, handlers]]), handlerMsMax });
  });
  afterAll(() => world.close());
  beforeEach(() => {
    find = ({ next }) => next();
    create = ({ next }) => next();
    afterCreate = () => undefined;
  });

  const post = (text: string): ReturnType<SmallWorld['send']> => world.send('POST', '/api/notes', { data: { text } });
  const texts = async (): Promise<readonly unknown[]> => (await world.rows('notes')).map((it) => it['text']);

  it.each<readonly [what: string, given: (step: Step) => unknown, named: string]>([
    ['a copy of the result of next', async ({ next }) => ({ ...(await next()) }), 'a copy of it'],
    ['a changed copy of it', async ({ next }) => ({ ...(await next()), meta: {} }), 'a copy of it'],
    ['a list', () => [1], 'a list'],
    ['a date', () => new Date(0), 'an instance of a class'],
    ['a map', () => new Map([['data', 1]]), 'an instance of a class'],
    ['bytes', () => Buffer.from('{}'), 'an instance of a class'],
  ])('a handler that returns %s is a 500 whose log names it', async (_what, given, named) => {
    find = given;
    expect(await world.send('GET', '/api/notes')).toMatchObject({ status: 500, body: { error: { status: 500 } } });
    expect(world.logged.at(-1)).toContain(
      `the handler find of ${NOTE} must return a plain object or the result of next() itself, not ${named}`,
    );
  });

  it.each<readonly [what: string, given: (step: Step) => unknown]>([
    ['an object', () => ({ data: [new Date(0)] })],
    ['an object without a prototype', () => Object.assign(Object.create(null) as object, { data: [new Date(0)] })],
  ])('%s becomes the body', async (_what, given) => {
    find = given;
    expect(await world.send('GET', '/api/notes')).toMatchObject({
      status: 200,
      body: { data: ['1970-01-01T00:00:00.000Z'] },
    });
  });

  it('a handler that never ends is a 500 whose log names it, and other requests are served', async () => {
    find = () => new Promise(() => undefined);
    const [endless, beside] = await Promise.all([world.send('GET', '/api/notes'), post('beside')]);
    expect([endless.status, beside.status]).toEqual([500, 200]);
    expect(world.logged.at(-1)).toContain(`the handler find of ${NOTE} did not finish within ${handlerMsMax} ms`);
  });

  it('a handler that throws after its time is over disturbs nobody', async () => {
    let fail: (fault: Error) => void = () => undefined;
    find = () =>
      new Promise((_resolve, reject) => {
        fail = reject;
      });
    expect((await world.send('GET', '/api/notes')).status).toBe(500);
    fail(new Error('too late'));
    find = ({ next }) => next();
    expect((await world.send('GET', '/api/notes')).status).toBe(200);
  });

  it('the time of next and content does not count', async () => {
    afterCreate = () => wait(2 * handlerMsMax);
    create = async ({ next, content }) => {
      await content.create(NOTE, { text: 'one' });
      await Promise.all([content.create(NOTE, { text: 'two' }), content.find(NOTE)]);
      return next();
    };
    expect((await post('three')).status).toBe(200);
    expect(await texts()).toEqual(expect.arrayContaining(['one', 'two', 'three']));
  });

  it('a handler that takes too long between calls is a 500, and its later calls are rejected', async () => {
    let carryOn: () => void = () => undefined;
    const later: Promise<unknown>[] = [];
    create = async ({ next, content }) => {
      await content.create(NOTE, { text: 'in time' });
      await new Promise<void>((resolve) => {
        carryOn = resolve;
      });
      later.push(content.create(NOTE, { text: 'late' }), next());
      await Promise.allSettled(later);
    };
    expect((await post('late')).status).toBe(500);
    expect(world.logged.at(-1)).toContain(`the handler create of ${NOTE} did not finish within`);
    carryOn();
    await new Promise(setImmediate);
    const over = `the handler create of ${NOTE} continued after its time was over`;
    expect(later).toHaveLength(2);
    for (const it of later) await expect(it).rejects.toThrow(over);
    expect(await texts()).toContain('in time');
    expect(await texts()).not.toContain('late');
  });

  it('content writes private attributes, but does not read them', async () => {
    find = async ({ content }) => {
      const made = await content.create(NOTE, { text: 'private', secret: 'not told' });
      const { id } = made.data as { id: number };
      return { data: [made, await content.findOne(NOTE, id)] };
    };
    const { status, text } = await world.send('GET', '/api/notes');
    expect(status).toBe(200);
    expect(text).toContain('private');
    expect(text).not.toContain('not told');
    expect((await world.rows('notes')).at(-1)).toMatchObject({ secret: 'not told' });
  });
});
