/** The memory of a body that nobody keeps is given back once it is sent, and not before, however slowly a client reads. */
import crypto from 'node:crypto';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newServer } from '../../src/http/server.js';
import type { Db } from '../../src/sql/dialect.js';
import { openPostgres } from '../../src/sql/postgres/open.js';
import { openSqlite } from '../../src/sql/sqlite/open.js';
import { coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects, dialectsAndThreads, threadOptions } from '../world/databases.js';
import { useLimits } from '../world/limits.js';
import { newTestDeps } from '../world/server.js';
import { type Entry, useWorld } from '../world/world.js';

// bodies of this size take PostgreSQL long on a busy machine
useLimits({ readMsMax: 60_000, silenceMsMax: 60_000 });

/** All of them are more than the kernel buffers for a connection. */
const BYTES = 5 * 1024 * 1024;
const ids = [151, 152, 153, 154];

describe.each(dialectsAndThreads)('bodies that are sent once on %s, threads: %i', (dialect, threads) => {
  const world = useWorld(dialect);
  const texts = ids.map(() => crypto.randomBytes(BYTES / 2).toString('hex'));
  let db: Db;
  let app: FastifyInstance;
  let port: number;

  beforeAll(async () => {
    for (const [i, id] of ids.entries()) await world.insert('reels', [{ id, label: `${id}`, report: texts[i]! }]);
    if (dialect === 'postgres') db = await openPostgres(world.env['DATABASE_URL']!);
    else {
      const sqlite = await openSqlite(world.env['DATABASE_FILENAME']!);
      if (threads > 0) await sqlite.startThreads(threadOptions(threads));
      db = sqlite;
    }
    app = await newServer(newTestDeps(db, world.model, {}, 0, { entriesBytesMax: 0 }));
    await app.listen({ host: '127.0.0.1', port: 0 });
    port = (app.server.address() as AddressInfo).port;
  });
  afterAll(async () => {
    await app.close();
    await db.close();
  });

  const path = (id: number): string => `/api/reels/${id}?fields=report`;
  const isWhole = (body: string, i: number): boolean => {
    const { data } = JSON.parse(body) as { readonly data: Entry };
    return data.id === ids[i] && data.attributes['report'] === texts[i];
  };
  const read = async (i: number): Promise<string> => {
    const headers = { 'accept-encoding': 'identity' };
    return (await fetch(`http://127.0.0.1:${port}${path(ids[i]!)}`, { headers })).text();
  };

  it('reach clients whole that read late, and send several requests at once', async () => {
    const requests = ids.map((id) => `GET ${path(id)} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const slow = await Promise.all(
      [0, 1, 2].map(async () => {
        const socket = net.connect({ port, host: '127.0.0.1' });
        await once(socket, 'connect');
        socket.pause();
        socket.write(`${requests.join('')}GET /api/reels/1?fields=id HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
        return socket;
      }),
    );
    // what was given back too early would be overwritten
    for (let round = 0; round < 2; round++) for (const i of ids.keys()) expect(isWhole(await read(i), i)).toBe(true);
    for (const socket of slow) {
      const chunks: Buffer[] = [];
      socket.on('data', (chunk) => chunks.push(chunk));
      socket.resume();
      await once(socket, 'close');
      const text = Buffer.concat(chunks).toString('latin1');
      const refused = text.match(/HTTP\/1\.1 (?!200)[^{]*\r\n\r\n.{0,300}/)?.[0];
      expect(refused).toBe(undefined);
      const bodies = text.split(/HTTP\/1\.1 200 OK\r\n[^{]*\r\n\r\n/);
      expect(bodies.slice(1, -1).map((it, i) => isWhole(it, i))).toEqual(ids.map(() => true));
    }
  });

  it('leave nothing behind when a client goes away in the middle', async () => {
    for (let round = 0; round < 5; round++) {
      const socket = net.connect({ port, host: '127.0.0.1' });
      socket.write(`GET ${path(ids[0]!)} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await once(socket, 'data');
      socket.destroy();
    }
    expect(isWhole(await read(1), 1)).toBe(true);
  });
});

describe.each(dialects)('bodies that pass code of a v4 project on %s', (dialect) => {
  const open = { auth: false };
  const files = {
    ...typeFile('note', { text: { type: 'text' } }),
    ...coreFile('Router', 'note', JSON.stringify({ config: { find: { ...open, policies: ['all'] }, findOne: open } })),
    ...coreFile(
      'Controller',
      'note',
      `() => {
        const had = [];
        return {
          async findOne(ctx) {
            const found = await super.findOne(ctx);
            had.push(found);
            return found;
          },
          later: () => had.map(({ data }) => data.attributes.text),
        };
      }`,
    ),
    'src/api/note/policies/all.js': 'module.exports = () => true;',
    'src/api/note/routes/later.js': `module.exports = { routes: [
      { method: 'GET', path: '/later', handler: 'note.later', config: { auth: false } },
    ] };`,
    'src/index.js': `module.exports = { async bootstrap({ strapi }) {
      for (const it of ['a', 'b', 'c']) await strapi.entityService.create('api::note.note', { data: { text: it.repeat(100_000) } });
    } };`,
    'dovetail.config.json': JSON.stringify({ memory: { answersMb: 0, entriesMb: 0 } }),
  };
  const texts = ['a', 'b', 'c'].map((it) => it.repeat(100_000));

  it('are whole, also where the code looks at them after they were sent', async () => {
    const { json, close } = await serveCode(dialect, files);
    try {
      for (const id of [1, 2, 3]) expect((await json('GET', `/api/notes/${id}`)).status).toBe(200);
      for (let round = 0; round < 10; round++) {
        const { data } = (await json('GET', '/api/notes')).body as { readonly data: readonly Entry[] };
        expect(data.map((it) => it.attributes['text'])).toEqual(texts);
      }
      expect((await json('GET', '/api/later')).body).toEqual(texts);
    } finally {
      await close();
    }
  });
});
