/**
 * Constraints of the database, unknown to the schema files, that a write of a hook violates: the write is undone alone if
 * the hook catches the refusal, and the transaction goes on.
 */
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Event, Handlers } from '../../src/handlers/handlers.js';
import { readRows } from '../../src/sql/dialect.js';
import { dialects } from '../world/databases.js';
import { newSmallWorld, type SmallProject, type SmallWorld } from '../world/small.js';

const NOTE = 'api::note.note';
const TRAIL = 'api::trail.trail';
const LEAF = 'api::leaf.leaf';

const text = { type: 'string' };
const kind = { type: 'string' };
const leafs = { type: 'relation', relation: 'manyToMany', target: LEAF };
const project: SmallProject = {
  types: {
    note: { attributes: { text } },
    trail: { attributes: { text, leafs } },
    leaf: { attributes: { text, kind } },
  },
};

describe.each(dialects)('constraints violated inside hooks on %s', (dialect) => {
  let world: SmallWorld;
  let beforeNote: (event: Event) => Promise<unknown>;
  let afterTrail: (event: Event) => Promise<unknown>;

  const run = (text: string): Promise<unknown> =>
    world.db.write((tx) => tx.run(world.db.dialect.compile(sql`${sql.raw(text)}`)));
  /** Adds a constraint to a column of a table, which must be empty. */
  const constrain = async (table: string, column: string, constraint: string): Promise<void> => {
    if (dialect === 'postgres') {
      const change =
        constraint === 'not null' ? `alter column ${column} set not null` : `add foreign key (${column}) ${constraint}`;
      await run(`alter table ${table} ${change}`);
      return;
    }
    const made = world.db.dialect.compile(sql`select sql from sqlite_master where name = ${table}`);
    const [[definition] = []] = await world.db.read(() => readRows(made));
    const changed = String(definition).replace(new RegExp(`("${column}" [a-z]+(\\(\\d+\\))?)`), `$1 ${constraint}`);
    expect(changed).not.toBe(definition);
    await run(`drop table ${table}`);
    await run(changed);
  };

  beforeAll(async () => {
    const note: Handlers = { beforeCreate: (event) => beforeNote(event) as Promise<void> };
    const trail: Handlers = { afterCreate: (event) => afterTrail(event) as Promise<void> };
    const handlers = new Map([
      [NOTE, note],
      [TRAIL, trail],
    ]);
    world = await newSmallWorld(dialect, project, { handlers, onFault: () => undefined });
    await run('create unique index unique_texts on trails (text)');
    await run('create unique index unique_leafs on trails_leafs_links (leaf_id)');
    await run('create table kinds (name varchar(255) primary key, leaf_id integer references leafs (id))');
    await constrain('leafs', 'text', 'references kinds (name)');
    await constrain('leafs', 'kind', 'not null');
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    afterTrail = async () => undefined;
    for (const table of ['trails_leafs_links', 'notes', 'trails']) await run(`delete from ${table}`);
    await run('update kinds set leaf_id = null');
    await run('delete from leafs');
    await run('delete from kinds');
    await run("insert into kinds (name) values ('oak')");
    await world.insert('leafs', [{ id: 1, text: 'oak', kind: 'tree' }]);
    await world.insert('trails', [{ id: 1, text: 'taken' }]);
    await world.insert('trails_leafs_links', [{ trail_id: 1, leaf_id: 1, leaf_order: 1 }]);
  });

  const post = () => world.send('POST', '/api/notes', { data: { text: 'note' } });
  const texts = async (table: string): Promise<readonly unknown[]> => (await world.rows(table)).map((it) => it['text']);
  const stored = async () => ({
    notes: await texts('notes'),
    trails: await texts('trails'),
    leafs: await texts('leafs'),
    links: (await world.rows('trails_leafs_links')).length,
  });
  const untouched = { notes: [], trails: ['taken'], leafs: ['oak'], links: 1 };

  interface Violation {
    readonly what: string;
    readonly code: string;
    readonly violate: (event: Event) => Promise<unknown>;
    /** Trails that the hook creates before. */
    readonly before?: readonly string[];
  }
  const idOf = ({ data }: { readonly data?: unknown }): number => (data as { id: number }).id;
  const violations: readonly Violation[] = [
    {
      what: 'a unique value',
      code: 'body.unique',
      violate: ({ content }) => content.create(TRAIL, { text: 'taken' }),
    },
    {
      what: 'a unique value of an update',
      code: 'body.unique',
      violate: async ({ content }) =>
        content.update(TRAIL, idOf(await content.create(TRAIL, { text: 'second' })), { text: 'taken' }),
      before: ['second'],
    },
    {
      what: 'a unique link, after the row of its entry',
      code: 'body.unique',
      violate: ({ content }) => content.create(TRAIL, { text: 'second', leafs: [1] }),
    },
    {
      what: 'a column that must not be null',
      code: 'body.required',
      violate: ({ content }) => content.create(LEAF, { text: 'oak' }),
    },
    {
      what: 'a foreign key',
      code: 'relation.rejected',
      violate: ({ content }) => content.create(LEAF, { text: 'elm', kind: 'tree' }),
    },
    {
      what: 'a foreign key of another table, after the links of the deleted entry',
      code: 'relation.rejected',
      violate: ({ content }) => content.delete(LEAF, 1),
    },
  ];

  describe.each(violations)('$what', ({ code, violate, before = [] }) => {
    beforeEach(() => run('update kinds set leaf_id = 1'));

    it('is undone alone if the hook catches the refusal, and what follows is stored', async () => {
      let caught: unknown;
      beforeNote = async (event) => {
        await violate(event).catch((fault: unknown) => {
          caught = fault;
        });
        await event.content.create(TRAIL, { text: 'after' });
      };
      expect((await post()).status).toBe(200);
      expect(caught).toMatchObject({ issues: [{ code }] });
      expect(await stored()).toEqual({ ...untouched, notes: ['note'], trails: ['taken', ...before, 'after'] });
    });

    it('refuses the request if the hook does not, and nothing is stored', async () => {
      beforeNote = violate;
      const { status, body } = await post();
      expect([status, body]).toMatchObject([400, { error: { details: { errors: [{ code }] } } }]);
      expect(await stored()).toEqual(untouched);
    });
  });

  it('one in a hook of a hook is undone alone too', async () => {
    beforeNote = ({ content }) => content.create(TRAIL, { text: 'outer' });
    afterTrail = async ({ content }) => {
      await content.create(LEAF, { text: 'elm', kind: 'tree' }).catch(() => undefined);
      await content.create(LEAF, { text: 'oak', kind: 'tree' });
    };
    expect((await post()).status).toBe(200);
    expect(await stored()).toEqual({ notes: ['note'], trails: ['taken', 'outer'], leafs: ['oak', 'oak'], links: 1 });
  });
});
