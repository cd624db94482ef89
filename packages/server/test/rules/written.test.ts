/**
 * What a write returns to its caller: the id, the version and the events of a transaction; and the statements that it
 * costs.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { catchRefusal, unwrap } from '../../src/errors.js';
import type { Handlers } from '../../src/handlers/handlers.js';
import { hooksFrom } from '../../src/handlers/hooks.js';
import { noQuery, objectQuery } from '../../src/query/objects.js';
import type { ResolveContext } from '../../src/query/resolve.js';
import { newReader } from '../../src/read/find.js';
import { newLocaleStore } from '../../src/read/locales.js';
import type { Db, Tx } from '../../src/sql/dialect.js';
import { applyAndAnswer, writeAndAnswer } from '../../src/write/answer.js';
import { newWriter, type Writer } from '../../src/write/apply.js';
import { inPart, type WriteEvent } from '../../src/write/session.js';
import { dialects } from '../world/databases.js';
import { newSmallWorld, type SmallProject, type SmallWorld } from '../world/small.js';
import { txThrough } from '../world/watched.js';

const attributes = {
  text: { type: 'string' },
  notes: { type: 'relation', relation: 'manyToMany', target: 'api::note.note', inversedBy: 'trails' },
};
const project: SmallProject = {
  types: {
    note: {
      attributes: {
        text: { type: 'string' },
        trails: { type: 'relation', relation: 'manyToMany', target: 'api::trail.trail', mappedBy: 'notes' },
        cards: { type: 'component', component: 'parts.card', repeatable: true },
      },
    },
    trail: { attributes },
    secret: { attributes: { text: { type: 'string' } }, options: { privateAttributes: ['updatedAt'] } },
    board: { kind: 'singleType', attributes: { text: { type: 'string' } } },
    sheet: {
      attributes: {
        title: { type: 'string', required: true },
        lines: { type: 'component', component: 'parts.line', repeatable: true },
      },
      options: { draftAndPublish: true },
    },
  },
  components: {
    'parts.card': { label: { type: 'string' } },
    'parts.line': {
      text: { type: 'string', required: true },
      more: { type: 'string', minLength: 3 },
      note: { type: 'relation', relation: 'oneToOne', target: 'api::note.note', required: true },
    },
  },
};

describe.each(dialects)('the result of a write on %s', (dialect) => {
  let world: SmallWorld;
  let writer: Writer;
  let context: ResolveContext;
  const reader = () => newReader(world.db);
  const type = (name: string) => world.model.types.get(`api::${name}.${name}`)!;
  const said = (events: readonly WriteEvent[]): readonly string[] =>
    events.map((it) => `${it.action} ${it.type.singular} ${it.id}`);

  /** Statements of transactions, in the order in which they were sent. */
  const sent: string[] = [];
  const watch = (db: Db): Db => ({
    ...db,
    write: (work) =>
      db.write((tx) => {
        const runAll: Tx['runAll'] = (statements) => {
          sent.push(...statements.map((it) => it.sql));
          return tx.runAll(statements);
        };
        return work(txThrough(tx, runAll, db.dialect));
      }),
  });

  beforeAll(async () => {
    world = await newSmallWorld(dialect, project, { watch });
    writer = newWriter(world.db, Date.now);
    context = {
      model: world.model,
      gate: { version: 'test', allows: () => true, reaches: () => true },
      rest: { defaultLimit: 25, maxLimit: 100, withCount: true },
      strict: true,
      defaultLocale: null,
    };
  });
  afterAll(() => world.close());
  beforeEach(() => {
    sent.length = 0;
  });

  it('several writes in one transaction: each returns its id, version and events, and the session has all events', async () => {
    const { results, events } = await writer.transaction(async (session) => {
      const note = await writer.apply({ action: 'create', type: type('note'), data: { text: 'a' } }, context, session);
      const { id } = note;
      const trail = await writer.apply(
        { action: 'create', type: type('trail'), data: { notes: [id] } },
        context,
        session,
      );
      const again = await writer.apply({ action: 'update', type: type('note'), id, data: {} }, context, session);
      const gone = await writer.apply({ action: 'delete', type: type('trail'), id: trail.id }, context, session);
      return { results: [note, trail, again, gone], events: session.events };
    });
    const [note, trail, again, gone] = results;
    expect(said(events)).toEqual([
      `create note ${note!.id}`,
      `create trail ${trail!.id}`,
      `update note ${note!.id}`,
      `delete trail ${trail!.id}`,
    ]);
    expect(results.map((it) => said(it.events))).toEqual(said(events).map((it) => [it]));
    expect(again!.version).toBeGreaterThan(note!.version);
    expect(gone!.version).toBe(trail!.version);
    const shown = await world.send('GET', `/api/notes/${note!.id}`);
    expect(shown.body).toMatchObject({
      data: { attributes: { updatedAt: new Date(again!.version).toISOString(), text: 'a' } },
    });
  });

  it('a refused part of a transaction leaves neither rows nor events', async () => {
    const before = await world.rows('notes');
    const events = await writer.transaction(async (session) => {
      const part = await catchRefusal(() =>
        inPart(session, async () => {
          await writer.apply({ action: 'create', type: type('note'), data: { text: 'lost' } }, context, session);
          return writer.apply({ action: 'create', type: type('note'), data: { nope: 1 } }, context, session);
        }),
      );
      expect(part.ok).toBe(false);
      await writer.apply({ action: 'create', type: type('note'), data: { text: 'kept' } }, context, session);
      return session.events;
    });
    expect(events).toHaveLength(1);
    expect((await world.rows('notes')).slice(before.length).map((it) => it['text'])).toEqual(['kept']);
  });

  it('DR8: publishing a draft costs the same number of statements however many components it has', async () => {
    const watched = newWriter(watch(world.db), Date.now);
    const publish = async (lines: readonly object[]) => {
      const data = { title: 'x', lines, publishedAt: null };
      const draft = await writer.transaction((session) =>
        writer.apply({ action: 'create', type: type('sheet'), data }, context, session),
      );
      sent.length = 0;
      const request = {
        action: 'update',
        type: type('sheet'),
        id: draft.id,
        data: { publishedAt: Date.now() },
      } as const;
      const published = await catchRefusal(() =>
        watched.transaction((session) => watched.apply(request, context, session)),
      );
      return { statements: sent.length, issues: published.ok ? [] : published.issues.map((it) => it.path.join('.')) };
    };
    const { id: note } = await writer.transaction((session) =>
      writer.apply({ action: 'create', type: type('note'), data: {} }, context, session),
    );
    const whole = { text: 'a', more: 'bcd', note };
    const few = await publish([whole, whole]);
    expect(few).toEqual({ statements: expect.any(Number), issues: [] });
    expect(few.statements).toBeGreaterThan(2);
    expect(await publish(Array.from({ length: 30 }, () => whole))).toEqual(few);
    const { issues } = await publish([{}, { text: 'a', more: 'b' }, whole, { note }]);
    expect(issues).toEqual(['lines.0.text', 'lines.0.note', 'lines.1.more', 'lines.1.note', 'lines.3.text']);
  });

  it('the events of a write include those of its hooks, in order', async () => {
    const handlers: Handlers = {
      beforeCreate: async ({ content }) => void (await content.create('api::trail.trail', { text: 'before' })),
      afterCreate: async ({ content }) => {
        await content.create('api::trail.trail', { text: 'after' });
        await content.create('api::trail.trail', { nope: 1 }).catch(() => undefined);
      },
    };
    const hooked: Writer = newWriter(
      world.db,
      Date.now,
      hooksFrom(new Map([['api::note.note', handlers]]), {
        model: world.model,
        locales: newLocaleStore(world.db, Date.now),
        reader: reader(),
        writer: () => hooked,
        context,
      }),
    );
    const request = { action: 'create', type: type('note'), data: {} } as const;
    const lines = { reader: reader(), writer: hooked };
    const { written } = unwrap(await writeAndAnswer(request, { query: noQuery }, context, lines));
    expect(said(written.events).map((it) => it.replace(/ \d+$/, ''))).toEqual([
      'create trail',
      'create note',
      'create trail',
    ]);
  });

  it('the response is read in the same transaction, and shows a deleted entry as it was', async () => {
    const lines = { reader: reader(), writer };
    const show = { query: objectQuery({ fields: ['text'], populate: { cards: { fields: ['label'] } } }) };
    const data = { text: 'shown', cards: [{ label: 'x' }] };
    const answers = await writer.transaction(async (session) => {
      const made = await applyAndAnswer({ action: 'create', type: type('note'), data }, show, context, session, lines);
      const { id } = made.written;
      const gone = await applyAndAnswer({ action: 'delete', type: type('note'), id }, show, context, session, lines);
      return [made, gone].map((it) => JSON.parse(it.answer.body.toString()) as unknown);
    });
    const shown = { attributes: { text: 'shown', cards: [{ label: 'x' }] } };
    expect(answers).toMatchObject([{ data: shown }, { data: shown }]);
  });

  it('the first update of a single type creates its entry, and reports that', async () => {
    const events = await writer.transaction(async (session) => {
      for (const text of ['a', 'b'])
        await writer.apply({ action: 'update', type: type('board'), id: null, data: { text } }, context, session);
      await writer.apply({ action: 'delete', type: type('board'), id: null }, context, session);
      return session.events;
    });
    expect(events.map((it) => it.action)).toEqual(['create', 'update', 'delete']);
  });

  it('reader.count counts a list without reading it', async () => {
    const query = objectQuery({ filters: { text: { $in: ['c1', 'c2', 'c3'] } }, pagination: { pageSize: 1 } });
    for (const text of ['c1', 'c2', 'c3']) await world.send('POST', '/api/notes', { data: { text } });
    expect(await reader().count({ type: type('note'), query }, context)).toEqual({
      ok: true,
      value: { total: 3, leftOut: [] },
    });
    const refused = await reader().count({ type: type('note'), query: objectQuery({ sort: 'nope' }) }, context);
    expect(refused.ok).toBe(false);
  });

  it('If-Match costs no statement: the version has already been read', async () => {
    const counted = async (method: string, match: boolean): Promise<number> => {
      const data = { text: 'x', cards: [{ label: 'a' }] };
      const made = await world.send('POST', '/api/notes', { data });
      const url = `/api/notes/${(made.body as { data: { id: number } }).data.id}?populate=*`;
      const etag = String((await world.send('GET', url)).headers['etag']);
      sent.length = 0;
      const body = method === 'PUT' ? { data } : undefined;
      const { status } = await world.send(method, url, body, match ? { 'if-match': etag } : {});
      expect(status).toBe(200);
      return sent.length;
    };
    for (const method of ['PUT', 'DELETE'])
      expect([method, await counted(method, true)]).toEqual([method, await counted(method, false)]);
  });

  it('if the time of the last change is private, If-Match compares the tag of the response', async () => {
    const made = await world.send('POST', '/api/secrets', { data: { text: 'a' } });
    const url = `/api/secrets/${(made.body as { data: { id: number } }).data.id}`;
    const etag = String((await world.send('GET', url)).headers['etag']);
    const put = async (text: string, match: string): Promise<number> =>
      (await world.send('PUT', url, { data: { text } }, { 'if-match': match })).status;
    expect(await put('b', '"nope"')).toBe(412);
    expect(await put('b', etag)).toBe(200);
    expect(await put('c', etag)).toBe(412);
    expect(await put('c', '*')).toBe(200);
    const { status } = await world.send('DELETE', url, undefined, { 'if-match': etag });
    expect(status).toBe(412);
    expect((await world.send('GET', url)).body).toMatchObject({ data: { attributes: { text: 'c' } } });
  });
});
