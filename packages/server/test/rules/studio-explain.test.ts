/** SU3: what a URL reads, over HTTP. What explain says of statements is checked in explain.test.ts. */
import { describe, expect, it, vi } from 'vitest';
import { type ExplainOptions, explain } from '../../src/cli/commands/explain.js';
import type { Explanation } from '../../src/read/explain.js';
import { newAdminWorld } from '../world/administrators.js';
import { openedForTests } from '../world/opening.js';
import { printed } from '../world/printed.js';
import { errorOf, refusal } from '../world/server.js';
import { dialects, projectDir, useWorld } from '../world/world.js';

type Explained = Explanation & { readonly forbidden: string | null; readonly code: unknown };

const EXPLAIN = '/_dovetail/explain';

describe.each(dialects)('SU3 on %s', (dialect) => {
  const world = useWorld(dialect, { settings: { isModelOpen: true } });
  const closed = openedForTests(() => newAdminWorld(dialect));
  const ask = (body: unknown, headers: Record<string, string> = {}) =>
    world.server.send('POST', EXPLAIN, { body, headers });
  const explained = async (url: string, rest = {}): Promise<Explained> => {
    const { status, body, text, headers } = await ask({ url, ...rest });
    if (status !== 200) throw new Error(text);
    expect(headers['cache-control']).toBe('no-store');
    return (body as { data: Explained }).data;
  };

  it('SU3 it has what the command prints', async () => {
    const url = '/api/films?fields=title&populate[director][fields]=name&populate[lender]=true&sort=title&_q=a';
    const { forbidden, ...rest } = await explained(url);
    expect([forbidden, rest.code]).toEqual([null, null]);
    const options: ExplainOptions = { json: true };
    for (const [name, value] of Object.entries(world.env)) vi.stubEnv(name, value);
    const { out } = await printed(() => explain(projectDir, url, options));
    vi.unstubAllEnvs();
    expect(rest).toEqual(JSON.parse(out));
    expect(rest.leftOut).toEqual([{ name: 'film.lender', why: 'role:public may not api::donor.donor.find' }]);
  });

  it.each(['/api/films', 'api/films/', 'http://localhost:1337/api/films#top', '/API/films/1', '/api/lobby'])(
    'SU3 %s is a path that reads content',
    async (url) => {
      const { selection, counts, statements } = await explained(url);
      expect(selection.type).toBe(url.includes('lobby') ? 'api::lobby.lobby' : 'api::film.film');
      expect(counts).toMatchObject({ statements: statements.length, rows: null, ms: null });
    },
  );

  it('SU3 a window of a relation list is explained as what it reads', async () => {
    const url = '/api/films/1/relations/genres?fields=name&pagination[limit]=2';
    const { forbidden, selection, statements, counts } = await explained(url, { analyze: true });
    expect(forbidden).toBeNull();
    expect(selection).toMatchObject({ type: 'api::genre.genre', fields: ['name'], page: { start: 0, limit: 2 } });
    expect(statements.map((it) => [it.fetches, it.ran?.times])).toEqual(
      expect.arrayContaining([
        ['list', 1],
        [dialect === 'sqlite' ? 'entries' : expect.stringMatching(/entries/), 1],
      ]),
    );
    expect(counts.statements).toBe(statements.length);
    for (const [name, value] of Object.entries(world.env)) vi.stubEnv(name, value);
    const { out } = await printed(() => explain(projectDir, url, { json: true }));
    vi.unstubAllEnvs();
    expect(JSON.parse(out).statements.map((it: { fetches: string }) => it.fetches)).toEqual(
      statements.map((it) => it.fetches),
    );
  });

  it('SU3 a window of what is no list is refused, and says which there are', async () => {
    const { status, errors } = errorOf(await ask({ url: '/api/films/1/relations/director' }));
    expect([status, errors[0]?.message]).toEqual([404, expect.stringMatching(/^film has no relation list "director"/)]);
  });

  it('SU3 statements run only if that is asked for', async () => {
    const { statements, counts } = await explained('/api/films?populate=genres', { analyze: true });
    expect(statements.every((it) => it.ran !== undefined)).toBe(true);
    expect(counts.rows).toBeGreaterThan(0);
    expect(counts.ms).toBeGreaterThan(0);
    const plain = await explained('/api/films?populate=genres');
    expect(plain.statements.some((it) => it.ran !== undefined)).toBe(false);
  });

  it('SU3 what the caller may not read is explained, and not run', async () => {
    const url = '/api/donors';
    expect(await explained(url)).toMatchObject({ forbidden: 'api::donor.donor.find' });
    expect((await ask({ url, analyze: true })).body).toEqual(refusal(403, 'ForbiddenError', 'Forbidden'));
  });

  it.each([
    [{}, ['url']],
    [{ url: 5 }, ['url']],
    [{ url: '/api/nothing' }, ['url']],
    [{ url: '/api/films/01' }, ['url']],
    [{ url: '/api/films/99999999999' }, ['url']],
    [{ url: '/api/films', analyse: true }, ['analyse']],
    [{ url: '/api/films', analyze: 'yes' }, ['analyze']],
    [{ url: '/api/films?filters[titel]=a' }, ['filters', 'titel']],
    [{ url: '/api/films?sort=title:up' }, ['sort']],
    [[], []],
    ['text', []],
  ])('SU3 %j is refused, with its place', async (body, path) => {
    const { status, errors } = errorOf(await ask(body));
    expect([status, errors[0]?.path]).toEqual([400, path]);
  });

  it('SU3 administrators may ask, others only in development', async () => {
    const body = { url: '/api/donors' };
    expect((await closed.server.send('POST', EXPLAIN, { body })).status).toBe(403);
    expect((await closed.ask('POST', EXPLAIN, { as: 'full', body })).status).toBe(403);
    const { status, body: answer } = await closed.askAs('ada', 'POST', EXPLAIN, { body });
    expect([status, answer]).toMatchObject([200, { data: { forbidden: null } }]);
    expect((await closed.server.send('GET', EXPLAIN)).status).toBe(404);
  });
});
