/** A server process is stopped under load on keep-alive connections: every request that reached it is answered. */
import { once } from 'node:events';
import http from 'node:http';
import { describe, expect, it } from 'vitest';
import { serveInProcess } from '../world/process.js';
import { dialects, newRelationsWorld, relationsProjectDir } from '../world/relations/world.js';

/** 400 in a full run. */
const stops = Number(process.env['DOVETAIL_STOPS'] ?? 2);
const clients = 16;

type Heard = 'answered' | 'not accepted' | string;

const ask = (url: string, agent: http.Agent): Promise<Heard> =>
  new Promise((resolve) => {
    const request = http.get(url, { agent }, (answer) => {
      answer.resume();
      answer.on('close', () => resolve(answer.complete && answer.statusCode === 200 ? 'answered' : 'broken off'));
    });
    request.on('error', (fault: NodeJS.ErrnoException) =>
      resolve(fault.code === 'ECONNREFUSED' ? 'not accepted' : `${fault.code}`),
    );
  });

describe.each(dialects)('a stop under load on %s', (dialect) => {
  it('RQ20: resets no connection, and ends the process with 0', async () => {
    const world = await newRelationsWorld(dialect);
    try {
      for (let stop = 0; stop < stops; stop++) {
        const { url, child } = await serveInProcess(relationsProjectDir, world.env);
        const agent = new http.Agent({ keepAlive: true, maxSockets: clients });
        const heard = new Map<Heard, number>();
        let answered = 0;
        const client = async (): Promise<void> => {
          let last: Heard = 'answered';
          while (last === 'answered') {
            last = await ask(`${url}/holders?populate=*`, agent);
            heard.set(last, (heard.get(last) ?? 0) + 1);
            answered += 1;
            // by then every connection is in use
            if (answered === clients * 4) child.kill('SIGTERM');
          }
        };
        const exited = once(child, 'exit');
        await Promise.all(Array.from({ length: clients }, client));
        expect(await exited).toEqual([0, null]);
        expect([...heard.keys()].sort()).toEqual(['answered', 'not accepted']);
        expect(heard.get('not accepted')).toBe(clients);
        agent.destroy();
      }
    } finally {
      await world.close();
    }
  });
});
