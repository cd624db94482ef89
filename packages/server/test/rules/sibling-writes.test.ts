/** What a write of siblings costs and returns: its statements, the events of its transaction, and its response (LO7, LO8). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ResolveContext } from '../../src/query/resolve.js';
import type { Db, Tx } from '../../src/sql/dialect.js';
import { newWriter } from '../../src/write/apply.js';
import { dialects } from '../world/databases.js';
import { newLocalizedWorld } from '../world/localized.js';
import { defaultSettings } from '../world/server.js';
import type { SmallWorld } from '../world/small.js';
import { txThrough } from '../world/watched.js';

type Fields = Readonly<Record<string, unknown>>;

describe.each(dialects)('writes of siblings on %s', (dialect) => {
  let world: SmallWorld;
  let sent = 0;
  const watch = (db: Db): Db => ({
    ...db,
    write: (work) =>
      db.write((tx) => {
        const runAll: Tx['runAll'] = (statements) => {
          sent += statements.length;
          return tx.runAll(statements);
        };
        return work(txThrough(tx, runAll, db.dialect));
      }),
  });
  beforeEach(async () => {
    world = await newLocalizedWorld(dialect, { watch });
  });
  afterEach(() => world.close());

  const send = async (method: string, url: string, body?: unknown): Promise<Fields> => {
    sent = 0;
    const answer = await world.send(method, url, body);
    expect([url, answer.status, answer.text]).toEqual([url, 200, answer.text]);
    return answer.body as Fields;
  };
  const cards = (count: number) =>
    Array.from({ length: count }, (_it, i) => ({
      heading: `${i}`,
      scans: [1, 2],
      lines: [{ text: 'a' }, { text: 'b' }],
    }));

  it('LO8: a shared value costs three statements more, however many siblings there are', async () => {
    await send('POST', '/api/notes', { data: { code: 'a', title: 'en' } });
    await send('PUT', '/api/notes/1', { data: { title: 'x' } });
    const own = sent;
    const counts: number[] = [];
    for (const locale of ['de', 'fr', 'pt-BR']) {
      await send('POST', '/api/notes/1/localizations', { locale });
      await send('PUT', '/api/notes/1', { data: { weight: 5 } });
      counts.push(sent);
    }
    // PostgreSQL has the lock as well
    const more = dialect === 'postgres' ? 4 : 3;
    expect(counts).toEqual(counts.map(() => own + more));
  });

  it('LO8: components cost statements by their types, not by their number', async () => {
    await send('POST', '/api/notes', { data: { code: 'a', cards: cards(2) } });
    await send('POST', '/api/notes/1/localizations', { locale: 'de' });
    const costOf = async (count: number): Promise<number> => {
      const alone = await send('POST', '/api/notes', { data: { code: 'b', cards: cards(count) } });
      const { id } = alone['data'] as { id: number };
      // replaces as many components as it has
      await send('PUT', `/api/notes/${id}`, { data: { cards: cards(count) } });
      const own = sent;
      await send('PUT', '/api/notes/1', { data: { cards: cards(count) } });
      await send('PUT', '/api/notes/1', { data: { cards: cards(count) } });
      return sent - own;
    };
    // SQLite inserts at most eight rows with each statement: three times the components, and where they are
    const [few, many] = [await costOf(3), await costOf(30)];
    if (dialect === 'postgres') expect(many).toBe(few);
    else expect(many - few).toBeLessThanOrEqual(3 * Math.ceil(30 / 8));
    await send('POST', '/api/notes/1/localizations', { locale: 'fr' });
    await send('PUT', '/api/notes/1', { data: { cards: [] } });
    expect(sent).toBeLessThan(60);
    expect(await world.rows('components_parts_cards')).toHaveLength(3 + 30);
  });

  it('LO8: the response shows the siblings as they are afterwards', async () => {
    await send('POST', '/api/notes', { data: { code: 'a', weight: 1 } });
    await send('POST', '/api/notes/1/localizations', { locale: 'de', publishedAt: '2024-03-01T00:00:00.000Z' });
    const query = 'fields=weight&populate[localizations][fields]=weight&populate[localizations][populate]=card';
    const shown = await send('PUT', `/api/notes/1?${query}`, { data: { weight: 2, card: { heading: 'new' } } });
    expect(shown).toMatchObject({
      data: {
        attributes: {
          weight: 2,
          localizations: { data: [{ attributes: { weight: 2, card: { heading: 'new' } } }] },
        },
      },
    });
    const sibling = await send('POST', '/api/notes/1/localizations', { locale: 'fr', weight: 3 });
    expect(sibling).toMatchObject({ weight: 3, localizations: [{ weight: 3 }, { weight: 3 }] });
  });

  it('LO8: siblings that change are events of the transaction, after the entry itself', async () => {
    await send('POST', '/api/notes', { data: { code: 'a' } });
    await send('POST', '/api/notes/1/localizations', { locale: 'de' });
    const type = world.model.types.get('api::note.note')!;
    const gate = { version: 'test', allows: () => true, reaches: () => true };
    const context: ResolveContext = { ...defaultSettings, model: world.model, gate, defaultLocale: 'en' };
    const writer = newWriter(world.db, Date.now);
    const events = await writer.transaction(async (session) => {
      await writer.apply({ action: 'update', type, id: 1, data: { title: 'own' } }, context, session);
      const { version } = await writer.apply({ action: 'update', type, id: 2, data: { weight: 4 } }, context, session);
      const data = { locale: 'fr', weight: 5 };
      await writer.apply({ action: 'create', type, source: { id: 1 }, data }, context, session);
      await writer.apply({ action: 'create', type, source: { id: 1 }, data: { locale: 'pt-BR' } }, context, session);
      expect(version).toBeGreaterThan(0);
      return session.events.map((it) => `${it.action} ${it.id}`);
    });
    expect(events.map((it) => it.replace(/(create) \d+/, '$1'))).toEqual([
      ...['update 1', 'update 2', 'update 1', 'create', 'update 1', 'update 2', 'create'],
    ]);
  });
});
