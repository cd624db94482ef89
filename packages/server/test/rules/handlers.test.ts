/** A project's handlers and hooks, over HTTP on both databases. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Content, Handlers, Refuse } from '../../src/handlers/handlers.js';
import { HandlerFault, loadHandlers, misnamedHandlers } from '../../src/handlers/load.js';
import { newServer } from '../../src/http/server.js';
import { limits } from '../../src/limits.js';
import { loadModel } from '../../src/model/load.js';
import type { Model } from '../../src/model/model.js';
import { createTables, dialects, insertRows, newDatabase, type TestDatabase } from '../world/databases.js';
import { insertGrants } from '../world/grants.js';
import { newTestDeps, newTestServer, refusal, type TestServer } from '../world/server.js';

const NOTE = 'api::note.note';
const TRAIL = 'api::trail.trail';

const projectDir = (): string => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-handlers-'));
  const add = (name: string, kind: 'collectionType' | 'singleType'): void => {
    const type = path.join(dir, `src/api/${name}/content-types/${name}`);
    fs.mkdirSync(type, { recursive: true });
    const schema = {
      kind,
      collectionName: `${name}s`,
      info: { singularName: name, pluralName: `${name}s`, displayName: name },
      options: { populateCreatorFields: true },
      attributes: { text: { type: 'string' }, count: { type: 'integer' } },
    };
    fs.writeFileSync(path.join(type, 'schema.json'), JSON.stringify(schema));
  };
  add('note', 'collectionType');
  add('trail', 'collectionType');
  add('board', 'singleType');
  return dir;
};

const handlers: Handlers = {
  find: ({ next, request }) => next({ creatorFields: !request.search.includes('plain') }),
  findOne: async ({ next, caller, selection }) => {
    const { data, meta } = (await next()).json();
    return { data, meta: { ...meta, mayDelete: caller.may(`${NOTE}.delete`), fields: selection().fields.length } };
  },
  delete: ({ refuse }) => refuse('Notes are kept', 409),
  beforeCreate: ({ data, refuse }) => {
    if (data?.['text'] === 'forbidden') refuse('Not that word', 403);
    if (data) data['count'] = Number(data['count'] ?? 0) + 1;
  },
  afterCreate: async ({ id, content, data, refuse }) => {
    if (data?.['text'] === 'copy') await content.create(NOTE, { text: `copy of ${id}` });
    if (data?.['text'] === 'late') refuse('Too late');
  },
  beforeUpdate: ({ data }) => {
    if (data?.['text'] === 'broken') throw new Error('a bug of the project');
  },
};

describe.each(dialects)('handlers on %s', (dialect) => {
  let database: TestDatabase;
  let model: Model;
  let server: TestServer;
  const dir = projectDir();

  beforeAll(async () => {
    const loaded = loadModel(dir);
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
    model = loaded.model;
    database = await newDatabase(dialect);
    const tables = await createTables(database.db, model);
    const insert = (name: string, rows: Parameters<typeof insertRows>[2]): Promise<void> =>
      insertRows(database.db, tables.find((it) => it.name === name)!, rows);
    const actions = ['find', 'findOne', 'create', 'update', 'delete'];
    await insert('up_roles', [{ id: 1, name: 'Public', type: 'public' }]);
    await insertGrants(
      actions.map((action) => ({ role: 1, action: `${NOTE}.${action}` })),
      insert,
    );
    await insert('admin_users', [{ id: 1, firstname: 'Ada', lastname: null, email: 'ada@example.org', password: 'x' }]);
    await insert('notes', [{ id: 1, text: 'first', created_by_id: 1 }]);
    server = await newTestServer(database.db, model, {}, undefined, { handlers: new Map([[NOTE, handlers]]) });
  });
  afterAll(async () => {
    await server.close();
    await database.drop();
    fs.rmSync(dir, { recursive: true });
  });

  const texts = async (): Promise<unknown> =>
    ((await server.get('/api/notes?fields=text')).body as { data: { attributes: { text: string } }[] }).data.map(
      (it) => it.attributes.text,
    );

  it('Q9: creator fields need the option, the handler and the request; exactly id, firstname, lastname', async () => {
    const creator = { id: 1, firstname: 'Ada', lastname: null };
    const populated = await server.get('/api/notes?fields=text&populate=createdBy,updatedBy');
    expect(populated.body).toMatchObject({
      data: [{ id: 1, attributes: { text: 'first', createdBy: creator, updatedBy: null } }],
    });
    expect(Object.keys((populated.body as { data: { attributes: object }[] }).data[0]!.attributes).sort()).toEqual([
      'createdBy',
      'text',
      'updatedBy',
    ]);
    expect((await server.get('/api/notes?fields=text')).body).toMatchObject({
      data: [{ attributes: { text: 'first' } }],
    });
    expect((await server.get('/api/notes?fields=text')).text).not.toContain('Ada');
    expect((await server.get('/api/notes?populate=createdBy&plain=1')).text).not.toContain('Ada');
    expect((await server.get('/api/notes/1?populate=createdBy')).text).not.toContain('Ada');
    expect((await server.get('/api/notes?filters[createdBy][email]=ada@example.org')).status).toBe(400);
    expect((await server.get('/api/notes?filters[createdBy][firstname]=Ada&fields=id')).body).toMatchObject({
      data: [{ id: 1 }],
    });
  });

  it('a handler can modify the response as objects, and sees the caller and the selection', async () => {
    expect((await server.get('/api/notes/1?fields=text')).body).toEqual({
      data: { id: 1, attributes: { text: 'first' } },
      meta: { mayDelete: true, fields: 1 },
    });
    expect((await server.get('/api/notes/99')).status).toBe(404);
    expect((await server.get('/api/notes/1?fields=nope')).status).toBe(400);
  });

  it('modifying an answer in a handler does not change the cached response', async () => {
    const seen: unknown[] = [];
    const meddling: Handlers = {
      find: async ({ next }) => {
        const answer = await next();
        const bytes = Object.values(answer).filter((it) => ArrayBuffer.isView(it)) as Uint8Array[];
        for (const it of bytes) it.fill(88);
        seen.push(Reflect.set(answer, 'text', 'XXXX'), Reflect.set(answer, 'etag', '"X"'));
        (answer.json().data as unknown[]).length = 0;
        return answer;
      },
    };
    const deps = newTestDeps(database.db, model, {}, undefined, { handlers: new Map([[NOTE, meddling]]) });
    const app = await newServer(deps);
    try {
      const url = '/api/notes?fields=text&filters[id]=1';
      const plain = await server.get(url);
      for (let i = 0; i < 3; i++) {
        const answer = await app.inject(url);
        expect([answer.payload, answer.headers['etag']]).toEqual([plain.text, plain.headers['etag']]);
      }
      expect(seen).not.toContain(true);
    } finally {
      await app.close();
    }
  });

  it('a handler can replace an action and refuse with its own message', async () => {
    const { status, body } = await server.send('DELETE', '/api/notes/1');
    expect([status, body]).toEqual([
      409,
      refusal(409, 'ConflictError', 'Notes are kept', { code: 'handler.conflict' }),
    ]);
    expect(await texts()).toContain('first');
  });

  it('a hook before a write can change its data, which is then validated', async () => {
    const made = await server.send('POST', '/api/notes', { body: { data: { text: 'counted', count: 4 } } });
    expect(made.body).toMatchObject({ data: { attributes: { text: 'counted', count: 5 } } });
    expect((await server.send('POST', '/api/notes', { body: { data: { text: 'x', count: 'many' } } })).status).toBe(
      400,
    );
  });

  it('a hook can refuse before or after the write, and nothing is stored', async () => {
    const before = await texts();
    expect((await server.send('POST', '/api/notes', { body: { data: { text: 'forbidden' } } })).status).toBe(403);
    expect((await server.send('POST', '/api/notes', { body: { data: { text: 'late' } } })).body).toMatchObject({
      error: { status: 400, message: 'Too late' },
    });
    expect(await texts()).toEqual(before);
  });

  it('a hook writes inside the same transaction', async () => {
    const made = await server.send('POST', '/api/notes', { body: { data: { text: 'copy' } } });
    const { id } = (made.body as { data: { id: number } }).data;
    expect(await texts()).toContain(`copy of ${id}`);
  });

  it('a hook that throws is a 500 with an id, and affects no other request', async () => {
    const before = await texts();
    const { status, body } = await server.send('PUT', '/api/notes/1', { body: { data: { text: 'broken' } } });
    expect([status, body]).toEqual([
      500,
      {
        data: null,
        error: {
          status: 500,
          name: 'InternalServerError',
          message: 'Internal Server Error',
          details: { id: expect.any(String), requestId: expect.any(String) },
        },
      },
    ]);
    expect(await texts()).toEqual(before);
    expect((await server.send('PUT', '/api/notes/1', { body: { data: { text: 'first' } } })).status).toBe(200);
  });

  it.each([
    ['an error', new Error('a bug of the project')],
    ['an error with a status of its own', Object.assign(new Error('of a library'), { statusCode: 404 })],
    ['an error that says the client sent too much', Object.assign(new Error('of a library'), { statusCode: 413 })],
    ['an error that says the server is busy', Object.assign(new Error('of a library'), { statusCode: 503 })],
    ['an error with a status and a code', Object.assign(new Error('x'), { status: 401, code: 'FST_ERR_CTP_INVALID' })],
    ['a text', 'a text'],
    ['null', null],
    ['nothing', undefined],
  ])(
    'a handler that throws %s is a 500 whose id is in the log, and affects no other request',
    async (_name, thrown) => {
      const lines: string[] = [];
      const logger = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
      const faulty: Handlers = {
        find: async ({ next, request }) => {
          if (request.search.includes('after')) await next();
          throw thrown;
        },
        update: async ({ next }) => {
          await next();
          throw thrown;
        },
      };
      const deps = newTestDeps(database.db, model, {}, undefined, { handlers: new Map([[NOTE, faulty]]) });
      const app = await newServer({ ...deps, logger });
      try {
        const before = await texts();
        for (const url of ['/api/notes', '/api/notes?after=1']) {
          lines.length = 0;
          const [answer, beside] = await Promise.all([app.inject(url), app.inject('/api/notes/1?fields=text')]);
          const { error } = answer.json() as { error: { details: { id: string } } };
          expect([answer.statusCode, error]).toEqual([
            500,
            {
              status: 500,
              name: 'InternalServerError',
              message: 'Internal Server Error',
              details: { id: expect.stringMatching(/^[0-9a-f-]{36}$/), requestId: answer.headers['x-request-id'] },
            },
          ]);
          expect(answer.payload).not.toMatch(/a bug|library|a text/);
          expect(lines.map((it) => (JSON.parse(it) as { faultId: string }).faultId)).toEqual([error.details.id]);
          if (thrown instanceof Error) expect(lines[0]).toContain(thrown.message);
          expect([beside.statusCode, beside.json()]).toMatchObject([200, { data: { id: 1 } }]);
        }
        const payload = { data: { count: 1 } };
        expect((await app.inject({ method: 'PUT', url: '/api/notes/1', payload })).statusCode).toBe(500);
        expect((await app.inject('/api/notes/1?fields=text')).statusCode).toBe(200);
        expect(await texts()).toEqual(before);
      } finally {
        await app.close();
      }
    },
  );

  /** A server with its own handlers, and the errors that it logged. */
  const served = async (
    own: ReadonlyMap<string, Handlers>,
    hookMsMax?: number,
  ): Promise<{ send: TestServer['send']; logged: string[]; close: () => Promise<void> }> => {
    const logged: string[] = [];
    const logger = pino({ level: 'error' }, { write: (line: string) => void logged.push(line) });
    const deps = newTestDeps(database.db, model, {}, undefined, { handlers: own, hookMsMax });
    const app = await newServer({ ...deps, logger });
    return {
      logged,
      send: async (method, url, { body } = {}) => {
        const answer = await app.inject({
          method: method as 'GET',
          url,
          ...(body === undefined ? {} : { payload: body as object }),
        });
        return { status: answer.statusCode, headers: answer.headers, body: answer.json(), text: answer.payload };
      },
      close: () => app.close(),
    };
  };

  /** Posts a note whose creation runs the hook; returns the status, the stored texts and the log. */
  const posted = async (
    afterCreate: NonNullable<Handlers['afterCreate']>,
    { others = {}, hookMsMax }: { others?: Record<string, Handlers>; hookMsMax?: number } = {},
  ): Promise<{ status: number; left: readonly string[]; logged: string }> => {
    const all = async (): Promise<string[]> => {
      const rows = await database.db.write((tx) =>
        tx.runAll(['notes', 'trails'].map((it) => ({ sql: `select text from ${it}`, params: [], ids: [] }))),
      );
      return rows.flatMap((it) => it.map(([text]) => String(text)));
    };
    const before = await all();
    const own = await served(new Map(Object.entries({ [NOTE]: { afterCreate }, ...others })), hookMsMax);
    try {
      const { status } = await own.send('POST', '/api/notes', { body: { data: { text: 'posted' } } });
      const after = await all();
      for (const text of before) after.splice(after.indexOf(text), 1);
      return { status, left: after.sort(), logged: own.logged.join() };
    } finally {
      await own.close();
    }
  };

  it('creations that a hook starts concurrently run sequentially', async () => {
    const made = await posted(async ({ content }) => {
      await Promise.all(['a', 'b', 'c'].map((text) => content.create(TRAIL, { text })));
    });
    expect(made).toEqual({ status: 200, left: ['a', 'b', 'c', 'posted'], logged: '' });
  });

  it('if one of several creations fails, all are rolled back', async () => {
    const failed = await posted(async ({ content }) => {
      const wanted = ['a', 'b', 5, 'c', 'd'].map((text) => content.create(TRAIL, { text }));
      await Promise.all([content.create(TRAIL, { nope: 1 }), ...wanted]);
    });
    expect(failed).toMatchObject({ status: 400, left: [] });
  });

  it('a hook that throws rolls back the calls that it did not await', async () => {
    const failed = await posted(({ content }) => {
      for (const text of ['a', 'b']) void content.create(TRAIL, { text }).catch(() => undefined);
      throw new Error('a bug of the project');
    });
    expect(failed).toMatchObject({ status: 500, left: [] });
  });

  it('a call that a hook did not await is performed, or rolls everything back if it fails', async () => {
    const made = await posted(({ content }) => {
      void content.create(TRAIL, { text: 'a' });
    });
    expect(made).toEqual({ status: 200, left: ['a', 'posted'], logged: '' });
    const failed = await posted(({ content }) => {
      void content.create(TRAIL, { nope: 1 });
    });
    expect(failed).toMatchObject({ status: 400, left: [] });
  });

  it('the same holds for a chain of calls', async () => {
    const made = await posted(({ content }) => {
      const row = async (): Promise<void> => {
        for (const text of ['a', 'b', 'c']) await content.create(TRAIL, { text });
      };
      void row();
    });
    expect(made).toEqual({ status: 200, left: ['a', 'b', 'c', 'posted'], logged: '' });
    const failed = await posted(
      ({ content }) => {
        const forever = async (): Promise<void> => {
          for (;;) await content.find(TRAIL);
        };
        void forever().catch(() => undefined);
      },
      { hookMsMax: 50 },
    );
    expect(failed).toMatchObject({ status: 500, left: [] });
  });

  it('a hook can catch a refusal that it awaited', async () => {
    const made = await posted(async ({ content }) => {
      await content.create(TRAIL, { nope: 1 }).catch(() => content.create(TRAIL, { text: 'instead' }));
    });
    expect(made).toEqual({ status: 200, left: ['instead', 'posted'], logged: '' });
  });

  it('after its event the content rejects calls', async () => {
    let kept: Content | undefined;
    const made = await posted(({ content }) => {
      kept = content;
    });
    expect(made.status).toBe(200);
    const over = /content was used after the event ended/;
    await expect(kept!.create(TRAIL, { text: 'late' })).rejects.toThrow(over);
    await expect(kept!.find(TRAIL)).rejects.toThrow(over);
    // it cannot reach another transaction either
    const other = await posted(async () => {
      await expect(kept!.create(TRAIL, { text: 'late' })).rejects.toThrow(over);
    });
    expect(other).toEqual({ status: 200, left: ['posted'], logged: '' });
  });

  it('nested hooks wait for each other', async () => {
    const others = {
      [TRAIL]: {
        afterCreate: async ({ content, data }) => {
          if (data?.['text'] === 'a') await Promise.all(['b', 'c'].map((text) => content.create(TRAIL, { text })));
        },
      } satisfies Handlers,
    };
    const made = await posted(
      async ({ content }) => {
        await Promise.all([content.create(TRAIL, { text: 'a' }), content.find(TRAIL)]);
      },
      { others },
    );
    expect(made).toEqual({ status: 200, left: ['a', 'b', 'c', 'posted'], logged: '' });
  });

  it('a hook that uses the content of the outer hook does not deadlock', async () => {
    let outer: Content | undefined;
    const others = {
      [TRAIL]: { afterCreate: async () => void (await outer?.find(NOTE)) } satisfies Handlers,
    };
    const failed = await posted(
      async ({ content }) => {
        outer = content;
        await content.create(TRAIL, { text: 'a' });
      },
      { others, hookMsMax: 20 },
    );
    expect(failed).toMatchObject({ status: 500, left: [] });
  });

  it('a hook that never ends is a 500, rolled back, and named in the log', async () => {
    const failed = await posted(
      async ({ content }) => {
        await content.create(TRAIL, { text: 'a' });
        await new Promise(() => undefined);
      },
      { hookMsMax: 20 },
    );
    expect(failed).toMatchObject({ status: 500, left: [] });
    expect(failed.logged).toContain(`the hook afterCreate of ${NOTE} did not finish within 20 ms`);
  });

  it('a hook that triggers itself endlessly is a 500, rolled back, and named in the log', async () => {
    const failed = await posted(async ({ content }) => {
      await content.create(NOTE, { text: 'again' });
    });
    expect(failed).toMatchObject({ status: 500, left: [] });
    expect(failed.logged).toContain(
      `the hook afterCreate of ${NOTE}: hooks are nested more than ${limits.hookDepthMax} deep`,
    );
  });

  it.each([
    ['null for an entry that is not there', 'findOne', null, 404],
    ['nothing', 'findOne', undefined, 500],
    ['null for a list', 'find', null, 500],
    ['a text', 'find', 'a text', 500],
  ] as const)('a handler that returns %s', async (_name, name, given, status) => {
    const handler = (() => given) as unknown as NonNullable<Handlers['find']>;
    const own = await served(new Map([[NOTE, { [name]: handler }]]));
    try {
      expect((await own.send('GET', name === 'find' ? '/api/notes' : '/api/notes/99')).status).toBe(status);
      if (status === 500)
        expect(own.logged.join()).toContain(`the handler ${name} of ${NOTE} must return a plain object`);
      else expect(own.logged).toEqual([]);
    } finally {
      await own.close();
    }
  });

  it('refuse accepts only the statuses that it documents, and has default messages', async () => {
    const own = await served(
      new Map([
        [
          NOTE,
          {
            find: ({ refuse }) => (refuse as (message: string, status: number) => never)('x', 418),
            findOne: ({ refuse }) => (refuse as (message?: string, status?: number) => never)(undefined, 403),
            update: ({ refuse }) => (refuse as unknown as () => ReturnType<Refuse>)(),
          },
        ],
      ]),
    );
    try {
      expect((await own.send('GET', '/api/notes')).status).toBe(500);
      expect(own.logged.join()).toContain('refuse: the status 418 is not one of 400, 403, 404, 409');
      expect((await own.send('GET', '/api/notes/1')).body).toMatchObject({
        error: { status: 403, message: 'Forbidden' },
      });
      expect((await own.send('PUT', '/api/notes/1', { body: {} })).body).toMatchObject({
        error: { status: 400, message: 'Bad Request' },
      });
    } finally {
      await own.close();
    }
  });

  it('a single type cannot have handlers findOne and create, which would never run', async () => {
    const load = async (text: string): Promise<readonly string[]> => {
      const own = projectDir();
      fs.writeFileSync(path.join(own, 'src/api/board/handlers.js'), text);
      try {
        return [...(await loadHandlers(own, model)).keys()];
      } finally {
        fs.rmSync(own, { recursive: true });
      }
    };
    for (const name of ['findOne', 'create'])
      await expect(load(`export default { ${name}: ({ next }) => next() };`)).rejects.toThrow(
        `"${name}" is not a handler or hook of a single type`,
      );
    const fine = 'export default { find: ({ next }) => next(), update: ({ next }) => next(), beforeCreate: () => {} };';
    expect(await load(fine)).toEqual(['api::board.board']);
  });

  it.each([
    ['an ES module', 'export default HANDLERS;'],
    ['a CommonJS module', 'module.exports = HANDLERS;'],
    [
      'one that a compiler has made of the other',
      "Object.defineProperty(exports, '__esModule', { value: true });\nexports.default = HANDLERS;",
    ],
  ])('handlers are what %s exports', async (_name, text) => {
    const own = projectDir();
    const handlers = '{ find: () => ({ data: "own" }) }';
    fs.writeFileSync(path.join(own, 'src/api/note/handlers.js'), text.replace('HANDLERS', handlers));
    expect((await loadHandlers(own, model)).get(NOTE)).toEqual({ find: expect.any(Function) });
    fs.rmSync(own, { recursive: true });
  });

  it.each([
    ['nothing', () => undefined],
    ['a function', () => () => 1],
    [
      'a circle',
      () => {
        const circle: Record<string, unknown> = {};
        circle['self'] = circle;
        return circle;
      },
    ],
  ])('a handler that returns %s is a 500', async (_name, find) => {
    const bad = await newTestServer(database.db, model, {}, undefined, {
      handlers: new Map([[NOTE, { find: find as unknown as NonNullable<Handlers['find']> }]]),
    });
    try {
      expect((await bad.get('/api/notes')).body).toMatchObject({
        error: { status: 500, details: { id: expect.any(String) } },
      });
      expect((await bad.get('/api/notes/1')).status).toBe(200);
    } finally {
      await bad.close();
    }
  });

  it.each([
    ['handler.ts', 'handlers.ts'],
    ['handlers.cjs', 'handlers.js'],
    ['Handlers.js', 'handlers.js'],
    ['helpers.ts', null],
  ])('a file that is probably meant to be handlers is named: %s', (name, meant) => {
    const own = projectDir();
    const file = `src/api/note/${name}`;
    fs.writeFileSync(path.join(own, file), '');
    const message = `is not read as handlers; did you mean "${meant}"?`;
    expect(misnamedHandlers(own)).toEqual(meant === null ? [] : [{ file, place: '', message }]);
    // where there are handlers, others may be what these import
    fs.writeFileSync(path.join(own, 'src/api/note/handlers.mjs'), '');
    expect(misnamedHandlers(own)).toEqual([]);
    fs.rmSync(own, { recursive: true });
  });

  it.each([
    ['export default { find: ({ next }) => next() };', null],
    ['export default { fnd: () => null };', 'did you mean "find"'],
    ['export default { find: 5 };', 'not a function'],
    ['export default 5;', 'export an object'],
    ['export const handlers = { find: () => null };', 'if it holds them, write "export default handlers;"'],
    ['export default {', 'cannot be loaded'],
  ])('a handler file is loaded for its type, or reports what is wrong: %s', async (text, message) => {
    const own = projectDir();
    fs.writeFileSync(path.join(own, 'src/api/note/handlers.js'), text);
    if (message === null) expect([...(await loadHandlers(own, model)).keys()]).toEqual([NOTE]);
    else {
      const loading = loadHandlers(own, model);
      await expect(loading).rejects.toThrow(HandlerFault);
      await expect(loading).rejects.toThrow(message);
    }
    fs.rmSync(own, { recursive: true });
  });
});
