/** RQ22: the id of a request, in responses with and without the framework, and in log lines. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytesOf, exchange, last, type Pair, startBoth } from '../world/lanes.js';
import { useWorld } from '../world/world.js';

const made = /^[\w-]{8}-[0-9a-z]+$/;

describe('RQ22', () => {
  const world = useWorld('sqlite');
  const logged = { short: [] as string[], whole: [] as string[] };
  let pair: Pair;
  beforeAll(async () => {
    pair = await startBoth(world, {}, undefined, logged);
  });
  afterAll(() => pair.close());

  /** The ids of the responses to one request after the other on one connection. */
  const idsOf = async (port: number, url: string, ...headers: readonly (readonly string[])[]): Promise<string[]> => {
    const asks = [...headers.map((it) => ({ method: 'GET', url, headers: it })), last];
    const text = (await exchange(port, asks.map(bytesOf).join(''))).toString('latin1');
    return [...text.matchAll(/^x-request-id: (.*)\r$/gim)].map(([, id]) => id!).slice(0, -1);
  };

  describe.each(['short', 'whole'] as const)('the %s way', (way) => {
    it.each(['/api/films', '/api/films/999', '/api/nothing', '/_health', '/uploads/nothing.png'])(
      'RQ22 every response to %s has an id of its own',
      async (url) => {
        const ids = await idsOf(pair[way], url, [], []);
        expect(ids).toEqual([expect.stringMatching(made), expect.stringMatching(made)]);
        expect(new Set(ids).size).toBe(2);
      },
    );

    it.each(['4bf92f35-77b3', 'Root=1-67891233-abcdef', 'a/b+c==', 'x'.repeat(128)])(
      'RQ22 %s is taken, and is in the log',
      async (id) => {
        logged[way].length = 0;
        expect(await idsOf(pair[way], '/api/films', [`X-Request-Id: ${id}`])).toEqual([id]);
        const lines = logged[way].map((it) => JSON.parse(it) as { reqId?: string; msg: string });
        expect(lines.find((it) => it.reqId === id)).toMatchObject({ msg: 'request' });
      },
    );

    it.each([
      'confirmation',
      'code',
      'token',
      'access_token',
      'id_token',
      'raw[refresh_token]',
      'raw%5Baccess_secret%5D',
      'password',
    ])('the log has no value of the parameter %s', async (name) => {
      logged[way].length = 0;
      await idsOf(pair[way], `/api/films?${name}=hunter2&fields=id`, []);
      expect(logged[way].join()).toContain(`${name}=…&fields=id`);
      expect(logged[way].join()).not.toContain('hunter2');
    });

    it.each(['', 'a b', '"x"', '<b>', 'x'.repeat(129), 'é', '{"a":1}'])('RQ22 "%s" is replaced', async (id) => {
      expect(await idsOf(pair[way], '/api/films', [`X-Request-Id: ${id}`])).toEqual([expect.stringMatching(made)]);
    });
  });

  it('RQ22 two servers give different ids', async () => {
    const [[one], [other]] = await Promise.all([
      idsOf(pair.short, '/api/films', []),
      idsOf(pair.whole, '/api/films', []),
    ]);
    expect(one!.slice(0, 8)).not.toBe(other!.slice(0, 8));
  });
});
