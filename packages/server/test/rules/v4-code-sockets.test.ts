/** Code that takes over paths of the listening server (`strapi.server.httpServer`), as socket.io and ws do. */
import { once } from 'node:events';
import http from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const files = {
  ...typeFile('note', { title: { type: 'string' } }),
  ...coreFile('Router', 'note', '{ config: { create: { auth: false }, find: { auth: false } } }'),
  // what engine.io does: its own path before the listeners that are there, which get all other requests
  'src/index.js': `module.exports = {
    bootstrap({ strapi }) {
      const server = strapi.server.httpServer;
      const before = server.listeners('request').slice();
      server.removeAllListeners('request');
      server.on('request', (request, response) => {
        if (request.url.startsWith('/socket.io/')) response.end('polled');
        else for (const it of before) it.call(server, request, response);
      });
      const sockets = new Set();
      server.on('upgrade', (request, socket) => {
        sockets.add(socket);
        socket.on('end', () => socket.end()).resume();
        socket.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: notes\\r\\n\\r\\n');
      });
      strapi.db.lifecycles.subscribe({
        models: ['api::note.note'],
        afterCreate: ({ result }) => { for (const it of sockets) it.write(result.title); },
      });
    },
  };`,
};

describe.each(dialects)('on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
  });
  afterAll(() => served.close());

  it('answers its paths beside those of the server', async () => {
    expect((await served.ask('/socket.io/?EIO=4&transport=polling')).text).toBe('polled');
    expect((await served.json('GET', '/api/notes')).status).toBe(200);
    expect((await served.ask('/_health')).status).toBe(204);
  });

  it('keeps upgraded connections, over which hooks tell of writes', async () => {
    const request = http.get(`${served.base}/socket.io/`, { headers: { connection: 'Upgrade', upgrade: 'notes' } });
    const [, socket] = (await once(request, 'upgrade')) as [unknown, Socket];
    const told = once(socket, 'data');
    expect((await served.json('POST', '/api/notes', { data: { title: 'first' } })).status).toBe(200);
    expect(String((await told)[0])).toBe('first');
    socket.destroy();
  });
});

describe.each(dialects)('in register on %s', (dialect) => {
  it('is not there yet, which is said', async () => {
    const early = {
      'src/index.js': 'module.exports = { register: ({ strapi }) => void strapi.server.httpServer.on };',
    };
    await expect(serveCode(dialect, early)).rejects.toThrow(
      'strapi.server.httpServer is not available before bootstrap',
    );
  });
});
