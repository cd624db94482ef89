/** Writes of siblings: whole or not at all, and in one order for all, however many write at once (LO7, LO8, BO10). */
import { describe, expect, it } from 'vitest';
import type { Db } from '../../src/sql/dialect.js';
import { openPostgres } from '../../src/sql/postgres/open.js';
import { newRandom, type Random, seedOfRun } from '../oracle/random.js';
import { dialects } from '../world/databases.js';
import { type Fuse, faulty } from '../world/fuse.js';
import { everything, expectNoOrphans, newLocalizedWorld, sharedFields, siblingLists } from '../world/localized.js';
import { newTestServer } from '../world/server.js';
import type { SmallWorld } from '../world/small.js';

const seed = seedOfRun();
/** 5,000 in a full run. */
const requests = Number(process.env['DOVETAIL_SIBLING_REQUESTS'] ?? 400);
const clients = 12;

type Fields = Readonly<Record<string, unknown>>;

const tables = [
  ...['notes', 'notes_localizations_links', 'notes_components', 'components_parts_cards', 'components_parts_lines'],
  ...['components_parts_cards_components', 'components_parts_cards_plain_links', 'components_parts_cards_plains_links'],
  ...['files_related_morphs', 'notes_plain_links'],
];
const dump = async (world: SmallWorld): Promise<unknown> =>
  Promise.all(tables.map(async (table) => [table, await world.rows(table)]));

const card = (heading: string) => ({
  ...{ heading, picture: 1, scans: [3, 2], plain: 1, plains: [2, 1] },
  lines: [{ text: heading }, { text: 'second' }],
});
const full = (word: string) => ({
  ...{ code: word, weight: 1, cover: 2, gallery: [1, 3], card: card(word), cards: [card(word), card('other')] },
  zone: [
    { __component: 'parts.line', text: word },
    { __component: 'parts.card', ...card(word) },
  ],
});

const newGroup = async (world: SmallWorld): Promise<void> => {
  const statuses = [
    await world.send('POST', '/api/notes', { data: { title: 'en', ...full('first') } }),
    await world.send('POST', '/api/notes/1/localizations', { locale: 'de', title: 'de' }),
    await world.send('POST', '/api/notes/1/localizations', { locale: 'fr', title: 'fr' }),
  ].map((it) => it.status);
  expect(statuses).toEqual([200, 200, 200]);
};

describe.each(dialects)('siblings on %s', (dialect) => {
  it('BO10: no write of siblings is stored partially, whichever statement fails', async () => {
    const fuse: Fuse = { failAt: 0, ran: 0 };
    const faults: unknown[] = [];
    const onFault = (fault: unknown): void => void faults.push(fault);
    const world = await newLocalizedWorld(dialect, { watch: (db) => faulty(db, fuse), onFault });
    let injected = 0;
    try {
      await newGroup(world);
      for (const [method, url, body] of [
        ['PUT', '/api/notes/2', { data: { weight: 5, code: 'second', title: 'neu', plain: 2 } }],
        ['PUT', '/api/notes/3', { data: full('third') }],
        ['POST', '/api/notes/2/localizations', { locale: 'pt-BR', title: 'pt', plain: 1 }],
        ['DELETE', '/api/notes/1', undefined],
        ['POST', '/api/notes/3/localizations', { locale: 'en', ...full('fourth'), cards: undefined }],
        ['PUT', '/api/notes/2', { data: { card: null, cards: [], zone: [], gallery: [], cover: null } }],
      ] as const) {
        const before = await dump(world);
        for (let k = 1; ; k++) {
          fuse.failAt = k;
          const answer = await world.send(method, url, body);
          fuse.failAt = 0;
          if (answer.status === 200) {
            expect(k, url).toBe(fuse.ran + 2);
            break;
          }
          injected += 1;
          expect(answer.status, `${method} ${url}, statement ${k}: ${answer.text}`).toBe(500);
          expect(await dump(world), `${method} ${url}, statement ${k}`).toEqual(before);
        }
        expect(await dump(world)).not.toEqual(before);
        await expectNoOrphans(world);
      }
      expect(injected).toBeGreaterThan(100);
    } finally {
      await world.close();
    }
  });

  it(`LO8: concurrent writes of siblings leave the values of one of them everywhere (seed ${seed})`, {
    timeout: 3_600_000,
  }, async () => {
    const runs = { asked: 0, begun: 0 };
    /** Counts transactions that a conflict made the database begin again. */
    const watch = (db: Db): Db => ({
      ...db,
      write: (work) => {
        runs.asked += 1;
        return db.write((tx) => {
          runs.begun += 1;
          return work(tx);
        });
      },
    });
    const world = await newLocalizedWorld(dialect, { watch });
    const url = world.env['DATABASE_URL'];
    // a second process on PostgreSQL
    const second = url === undefined ? null : await openPostgres(url);
    const server = second && (await newTestServer(watch(second), world.model, {}, undefined, { mode: 'open' }));
    const send = async (index: number, method: string, path: string, body?: unknown) =>
      server && index % 2 === 1 ? server.send(method, path, { body }) : world.send(method, path, body);
    const versions: string[] = [];
    const refused: number[] = [];

    const put = async (index: number, id: number, data: Fields): Promise<void> => {
      const { status, body, text } = await send(index, 'PUT', `/api/notes/${id}`, { data });
      if (status === 404) return void refused.push(status);
      expect(status, text).toBe(200);
      const { attributes } = (body as { data: { attributes: Fields } }).data;
      versions.push(`${id} ${attributes['updatedAt']}`);
    };

    const client = async (index: number, random: Random): Promise<void> => {
      for (let turn = 0; turn < requests / clients; turn++) {
        const word = `${index}.${turn}`;
        const ids = (await world.rows('notes')).map((it) => Number(it['id']));
        const id = random.pick(ids);
        const kind = random.below(10);
        if (kind < 5) await put(index, id, { ...full(word), weight: index * 1000 + turn });
        else if (kind < 7) await put(index, id, { title: word, plain: random.pick([1, 2, null]) });
        else if (kind < 8) await put(index, id, { ...full(word), title: word, plain: 1 });
        else if (kind < 9 && index === 0 && ids.length > 2) {
          const { status, text } = await send(index, 'DELETE', `/api/notes/${id}`);
          expect([200, 404], text).toContain(status);
        } else {
          const locale = random.pick(['en', 'de', 'fr', 'pt-BR']);
          const { status, text } = await send(index, 'POST', `/api/notes/${id}/localizations`, { locale, title: word });
          expect([200, 400, 404], text).toContain(status);
        }
      }
    };
    try {
      await newGroup(world);
      await Promise.all(
        Array.from({ length: clients }, (_it, index) => client(index, newRandom(`${seed}/${dialect}/${index}`))),
      );
      expect(new Set(versions).size, 'no version of an entry twice').toBe(versions.length);
      expect(versions.length).toBeGreaterThan(requests / 2);
      const { body } = await world.send('GET', `/api/notes?locale=all&publicationState=preview&${everything}`);
      const shared = (body as { data: readonly { attributes: Fields }[] }).data.map((it) =>
        sharedFields(it.attributes),
      );
      for (const it of shared) expect(it).toEqual(shared[0]);
      expect(shared[0]).toMatchObject({ card: { heading: shared[0]!['code'] } });
      const ids = (await world.rows('notes')).map((it) => Number(it['id']));
      for (const [id, list] of Object.entries(await siblingLists(world)))
        expect([...list].sort((a, b) => a - b)).toEqual(ids.filter((it) => it !== Number(id)));
      const inLocales = (await world.rows('notes')).map((it) => it['locale']);
      expect(new Set(inLocales).size).toBe(inLocales.length);
      await expectNoOrphans(world);
      // none began again, as after a deadlock
      expect(runs.begun).toBe(runs.asked);
    } finally {
      await server?.close();
      await second?.close();
      await world.close();
    }
  });
});
