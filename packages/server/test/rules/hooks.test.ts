/** Refusals inside hooks, on both databases: what was refused is rolled back, and no refusal is lost. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Content, Event, Handlers } from '../../src/handlers/handlers.js';
import type { Db, Tx } from '../../src/sql/dialect.js';
import { dialects } from '../world/databases.js';
import { newSmallWorld, type SmallProject, type SmallWorld } from '../world/small.js';
import { txThrough } from '../world/watched.js';

const NOTE = 'api::note.note';
const TRAIL = 'api::trail.trail';
const LEAF = 'api::leaf.leaf';

const text = { attributes: { text: { type: 'string' } } };
const sealed = { attributes: { ...text.attributes, seal: { type: 'string', writable: false } } };
const project: SmallProject = { types: { note: text, trail: text, leaf: sealed } };

type HookOf = (event: Event) => Promise<void> | void;

describe.each(dialects)('refusals inside hooks on %s', (dialect) => {
  let world: SmallWorld;
  /** Hooks of the current test, by type and name. */
  let hooks: Readonly<Record<string, Readonly<Record<string, HookOf>>>> = {};
  const names = ['beforeCreate', 'afterCreate', 'beforeUpdate', 'afterUpdate', 'beforeDelete', 'afterDelete'];
  const handlersOf = (uid: string): Handlers =>
    Object.fromEntries(names.map((name) => [name, (event: Event) => hooks[uid]?.[name]?.(event)]));

  beforeAll(async () => {
    const handlers = new Map([NOTE, TRAIL, LEAF].map((uid) => [uid, handlersOf(uid)]));
    world = await newSmallWorld(dialect, project, { handlers });
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    hooks = {};
    for (const table of ['notes', 'trails', 'leafs'])
      await world.db.write((tx) => tx.run({ sql: `delete from ${table}`, params: [], ids: [] }));
  });

  /** Texts of all rows. */
  const stored = async (): Promise<readonly string[]> =>
    (await Promise.all(['notes', 'trails', 'leafs'].map(world.rows))).flat().map((row) => String(row['text']));
  const post = async (): Promise<number> => (await world.send('POST', '/api/notes', { data: { text: 'note' } })).status;

  it('a creation refused by its own hook is rolled back even if the outer hook catches the refusal', async () => {
    hooks = {
      [NOTE]: {
        beforeCreate: async ({ content }) => {
          await content.create(TRAIL, { text: 'trail' }).catch(() => undefined);
          await content.create(LEAF, { text: 'instead' });
        },
      },
      [TRAIL]: {
        afterCreate: async ({ content, refuse }) => {
          await content.create(LEAF, { text: 'leaf' });
          refuse('no trails today');
        },
      },
    };
    expect(await post()).toBe(200);
    expect(await stored()).toEqual(['note', 'instead']);
  });

  it('BO4: hooks write what requests cannot', async () => {
    hooks = {
      [LEAF]: {
        beforeCreate: ({ data }) => {
          expect(data).not.toHaveProperty('seal');
          Object.assign(data!, { seal: 'of the hook' });
        },
      },
    };
    const { status } = await world.send('POST', '/api/leafs', { data: { text: 'leaf', seal: 'of the client' } });
    expect([status, await world.rows('leafs')]).toMatchObject([200, [{ seal: 'of the hook' }]]);
  });

  it('an update and a deletion whose hooks refuse are rolled back too', async () => {
    await world.insert('trails', [
      { id: 1, text: 'one' },
      { id: 2, text: 'two' },
    ]);
    hooks = {
      [NOTE]: {
        beforeCreate: async ({ content }) => {
          for (const call of [content.update(TRAIL, 1, { text: 'changed' }), content.delete(TRAIL, 2)])
            await call.catch(() => undefined);
        },
      },
      [TRAIL]: { afterUpdate: ({ refuse }) => refuse('no'), afterDelete: ({ refuse }) => refuse('no') },
    };
    expect(await post()).toBe(200);
    expect(await stored()).toEqual(['note', 'one', 'two']);
  });

  it('a deletion whose hook has deleted the entry itself has nothing left to show', async () => {
    await world.insert('trails', [{ id: 1, text: 'one' }]);
    let isOuter = true;
    hooks = {
      [TRAIL]: {
        beforeDelete: async ({ content }) => {
          if (isOuter) {
            isOuter = false;
            await content.delete(TRAIL, 1);
          }
        },
      },
    };
    const { status, text: body } = await world.send('DELETE', '/api/trails/1');
    expect([status, body, await stored()]).toEqual([204, '', []]);
  });

  it('successful writes inside a part that is refused later are rolled back with it, and no others', async () => {
    hooks = {
      [NOTE]: {
        afterCreate: async ({ content }) => {
          await content.create(TRAIL, { text: 'before' });
          await content.create(TRAIL, { text: 'refused' }).catch(() => undefined);
          await content.create(TRAIL, { text: 'after' });
        },
      },
      [TRAIL]: {
        beforeCreate: async ({ content, data, refuse }) => {
          await content.create(LEAF, { text: `leaf ${String(data?.['text'])}` });
          if (data?.['text'] === 'refused') refuse('not this one');
        },
      },
    };
    expect(await post()).toBe(200);
    expect(await stored()).toEqual(['note', 'before', 'after', 'leaf before', 'leaf after']);
  });

  it('a refusal that is not awaited refuses the request, even if another call is awaited', async () => {
    hooks = {
      [NOTE]: {
        afterCreate: async ({ content }) => {
          void content.create(TRAIL, { nope: 1 });
          await content.create(TRAIL, { text: 'trail' });
        },
      },
    };
    expect(await post()).toBe(400);
    expect(await stored()).toEqual([]);
  });

  it('a type that does not exist is a fault of the code: it is logged, and no client is blamed for it', async () => {
    for (const call of [
      (content: Content) => content.create('api::trial.trail', { text: 'trail' }),
      (content: Content) => content.find('api::trial.trail'),
    ]) {
      hooks = { [NOTE]: { afterCreate: async ({ content }) => void (await call(content)) } };
      const { status, text } = await world.send('POST', '/api/notes', { data: { text: 'note' } });
      expect([status, text]).toEqual([500, expect.not.stringContaining('trial')]);
      expect(world.logged.at(-1)).toContain(
        `there is no content type \\"api::trial.trail\\"; did you mean \\"${TRAIL}\\"?`,
      );
      expect(await stored()).toEqual([]);
    }
  });

  it('a refusal may be awaited later than it occurs', async () => {
    hooks = {
      [NOTE]: {
        afterCreate: async ({ content }) => {
          const refused = content.create(TRAIL, { nope: 1 });
          await content.create(TRAIL, { text: 'trail' });
          await refused.catch(() => undefined);
        },
      },
    };
    expect(await post()).toBe(200);
    expect(await stored()).toEqual(['note', 'trail']);
  });

  it.each([
    ['await', async (call: Promise<unknown>) => expect(await call).toMatchObject({ data: {} })],
    ['Promise.all', async (call: Promise<unknown>) => expect(await Promise.all([call])).toHaveLength(1)],
    ['Promise.allSettled', async (call: Promise<unknown>) => expect(await Promise.allSettled([call])).toHaveLength(1)],
    ['then', (call: Promise<unknown>) => call.then(() => undefined)],
    ['finally', (call: Promise<unknown>) => call.finally(() => undefined).then(() => undefined)],
  ])('%s awaits a call', async (_name, wait) => {
    hooks = { [NOTE]: { afterCreate: async ({ content }) => void (await wait(content.create(TRAIL, { text: 't' }))) } };
    expect(await post()).toBe(200);
    expect(await stored()).toEqual(['note', 't']);
  });

  it('an error that is not a refusal is a 500 in the log, whatever the hook does, and rolls everything back', async () => {
    hooks = {
      [NOTE]: { beforeCreate: async ({ content }) => void (await content.create(TRAIL, {}).catch(() => undefined)) },
      [TRAIL]: {
        afterCreate: () => {
          throw new Error('a bug of the project');
        },
      },
    };
    expect(await post()).toBe(500);
    expect(world.logged.join()).toContain('a bug of the project');
    expect(await stored()).toEqual([]);
  });
});

describe.each(dialects)('a write of a type with handlers on %s', (dialect) => {
  /** Whether the answer's first statements are sent while the entry's row is being inserted. */
  let isPipelined = false;
  const watchInserts = (db: Db): Db => ({
    ...db,
    write: (work) =>
      db.write((tx) => {
        let inserting = false;
        const runAll: Tx['runAll'] = async (statements) => {
          isPipelined ||= inserting;
          const isInsert = statements.some((it) => it.sql.includes('insert into "notes"'));
          inserting ||= isInsert;
          const results = await tx.runAll(statements);
          if (isInsert) inserting = false;
          return results;
        };
        return work(txThrough(tx, runAll, db.dialect));
      }),
  });
  const create = async (handlers: Handlers): Promise<boolean> => {
    isPipelined = false;
    const world = await newSmallWorld(dialect, project, {
      watch: watchInserts,
      handlers: new Map([[NOTE, handlers]]),
    });
    expect((await world.send('POST', '/api/notes', { data: { text: 'note' } })).status).toBe(200);
    await world.close();
    return isPipelined;
  };

  it('sends the answer together with the operations unless a hook runs in between', async () => {
    expect(
      await create({ find: ({ next }) => next(), beforeCreate: () => undefined, afterUpdate: () => undefined }),
    ).toBe(true);
    expect(await create({ afterCreate: () => undefined })).toBe(false);
  });
});
