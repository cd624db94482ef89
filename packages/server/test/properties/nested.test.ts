/**
 * On SQLite most entries are rendered inside the statements of those that show them. The bytes are those of reading in batches,
 * whatever the rows hold; and lists that are long, or hold a pair twice, are read in batches.
 */
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../src/errors.js';
import { textQuery } from '../../src/query/brackets.js';
import { type ResolveContext, resolveQuery } from '../../src/query/resolve.js';
import { execute } from '../../src/read/execute.js';
import { newReader } from '../../src/read/find.js';
import { planRead } from '../../src/read/planner.js';
import { compileRead } from '../../src/read/statements.js';
import { useLimits } from '../world/limits.js';
import { newSmallWorld, relation, type SmallProject, type SmallWorld } from '../world/small.js';

const limits = useLimits();

const scalars = {
  title: { type: 'string' },
  body: { type: 'richtext' },
  big: { type: 'biginteger' },
  float: { type: 'float' },
  price: { type: 'decimal' },
  count: { type: 'integer' },
  on: { type: 'boolean' },
  day: { type: 'date' },
  hour: { type: 'time' },
  at: { type: 'datetime' },
  stamp: { type: 'timestamp' },
  data: { type: 'json' },
};
const project: SmallProject = {
  types: {
    note: {
      options: { draftAndPublish: true },
      attributes: {
        ...scalars,
        'odd"name': { type: 'string' },
        author: relation('manyToOne', 'author', { inversedBy: 'notes' }),
        tags: relation('manyToMany', 'tag', { inversedBy: 'notes' }),
        twin: relation('oneToOne', 'note'),
        cover: { type: 'media', multiple: false },
        gallery: { type: 'media', multiple: true },
        card: { type: 'component', component: 'parts.card', repeatable: false },
        cards: { type: 'component', component: 'parts.card', repeatable: true },
        zone: { type: 'dynamiczone', components: ['parts.card', 'parts.row'] },
      },
    },
    author: {
      attributes: { name: { type: 'string' }, notes: relation('oneToMany', 'note', { mappedBy: 'author' }) },
    },
    tag: {
      attributes: { name: { type: 'string' }, notes: relation('manyToMany', 'note', { mappedBy: 'tags' }) },
    },
  },
  components: {
    'parts.card': { label: { type: 'string' }, rows: { type: 'component', component: 'parts.row', repeatable: true } },
    'parts.row': { ...scalars, notes: relation('oneToMany', 'note') },
  },
};

const ids = (count: number, from = 1): readonly number[] => Array.from({ length: count }, (_none, i) => from + i);

describe('reads whose statements nest', () => {
  let world: SmallWorld;
  let raw: Database.Database;
  let context: ResolveContext;
  beforeAll(async () => {
    world = await newSmallWorld('sqlite', project);
    raw = new Database(world.env['DATABASE_FILENAME']!);
    context = {
      model: world.model,
      gate: { version: 'all', allows: () => true, reaches: () => true },
      rest: { defaultLimit: 25, maxLimit: null, withCount: true },
      strict: true,
      defaultLocale: 'en',
    };
    fill();
  });
  afterAll(async () => {
    raw.close();
    await world.close();
  });

  const insert = (table: string, rows: readonly Record<string, unknown>[]): void => {
    for (const row of rows) {
      const names = Object.keys(row);
      raw
        .prepare(`insert into "${table}" (${names.map((it) => `"${it}"`)}) values (${names.map(() => '?')})`)
        .run(...Object.values(row));
    }
  };

  /** Entries with ties and gaps in their orders, several rows of to-one links, links to nothing, and drafts. */
  const fill = (): void => {
    raw.pragma('foreign_keys = off');
    // a zone may hold an element twice
    raw.exec('drop index notes_unique');
    const at = 1_700_000_000_123;
    insert(
      'notes',
      ids(8).map((id) => ({
        id,
        title: `Note ${id % 3}`,
        count: id % 2,
        published_at: id === 4 ? null : at,
        updated_at: at,
      })),
    );
    insert(
      'authors',
      ids(3).map((id) => ({ id, name: `Author ${id}` })),
    );
    insert(
      'tags',
      ids(4).map((id) => ({ id, name: `Tag ${id % 2}` })),
    );
    insert(
      'notes_author_links',
      [
        [1, 1, 1],
        [2, 1, null],
        [3, 2, 1],
        [4, 2, 1],
        [5, 99, 1],
        [5, 3, 2],
        [6, 3, 2],
        [6, 1, 1],
      ].map(([note, author, order]) => ({ note_id: note, author_id: author, note_order: order })),
    );
    insert(
      'notes_tags_links',
      [
        [1, 3, 2],
        [1, 1, 2],
        [1, 2, null],
        [2, 4, 1],
        [2, 88, 0],
        [3, 1, 1.5],
      ].map(([note, tag, order], i) => ({ note_id: note, tag_id: tag, tag_order: order, note_order: i % 2 })),
    );
    insert('notes_twin_links', [
      { note_id: 1, inv_note_id: 4 },
      { note_id: 1, inv_note_id: 3 },
      { note_id: 2, inv_note_id: 1 },
    ]);
    insert(
      'files',
      ids(3).map((id) => ({ id, name: `${id}.png`, url: `/u/${id}`, formats: id === 1 ? '{"a": [1, 2]}' : null })),
    );
    insert(
      'files_related_morphs',
      [
        [1, 1, 'cover', 2],
        [2, 1, 'cover', 1],
        [3, 1, 'gallery', 1],
        [1, 1, 'gallery', 1],
        [2, 2, 'gallery', null],
      ].map(([file, note, field, order]) => ({
        file_id: file,
        related_id: note,
        related_type: 'api::note.note',
        field,
        order,
      })),
    );
    insert(
      'components_parts_cards',
      ids(5).map((id) => ({ id, label: `Card ${id}` })),
    );
    insert(
      'components_parts_rows',
      ids(4).map((id) => ({ id, title: `Row ${id}` })),
    );
    insert(
      'notes_components',
      [
        [1, 2, 'parts.card', 'card', 2],
        [1, 1, 'parts.card', 'card', 1],
        [1, 4, 'parts.card', 'cards', null],
        [1, 3, 'parts.card', 'cards', 1],
        [1, 1, 'parts.row', 'zone', 1],
        [1, 5, 'parts.card', 'zone', 1],
        [1, 1, 'parts.row', 'zone', 3],
        [1, 1, 'parts.gone', 'zone', 2],
        [2, 2, 'parts.row', 'zone', 1],
        [2, 77, 'parts.row', 'zone', 2],
      ].map(([entity_id, component_id, component_type, field, order]) => ({
        entity_id,
        component_id,
        component_type,
        field,
        order,
      })),
    );
    insert(
      'components_parts_cards_components',
      [
        [1, 3, 'rows', 2],
        [1, 4, 'rows', 1],
        [5, 2, 'rows', 1],
      ].map(([entity_id, component_id, field, order]) => ({
        entity_id,
        component_id,
        component_type: 'parts.row',
        field,
        order,
      })),
    );
    insert('components_parts_rows_notes_links', [
      { row_id: 1, note_id: 2, note_order: 2 },
      { row_id: 1, note_id: 4, note_order: 1 },
      { row_id: 1, note_id: 6, note_order: 1 },
    ]);
  };

  interface Asked {
    readonly type?: string;
    readonly id?: number | null;
    readonly form?: 'plain' | 'envelope';
  }
  /** `all`: also what several entries may show. */
  type Nests = boolean | 'all';
  const compiledRead = (search: string, nests: Nests, { type = 'note', id = null, form = 'envelope' }: Asked = {}) => {
    const query = textQuery(search).read();
    if (!query.ok) throw new Error(JSON.stringify(query.issues));
    const entryType = world.model.types.get(`api::${type}.${type}`)!;
    const resolved = resolveQuery(query.value, entryType, id === null ? 'find' : 'findOne', context);
    if (!resolved.ok) throw new Error(JSON.stringify(resolved.issues));
    const plan = unwrap(planRead(resolved.value, { form, nests: nests !== false, nestsShared: nests === 'all' }));
    return { plan, compiled: compileRead(plan.shape, world.db.dialect), id };
  };
  /** The body; what was thrown; or `unrendered`. */
  const read = async (search: string, nests: Nests, asked: Asked = {}): Promise<string> => {
    const { plan, compiled, id } = compiledRead(search, nests, asked);
    const values = { values: plan.values, page: plan.page, ids: id === null ? [] : [id] };
    try {
      const outcome = await world.db.readPlanned({ plan: compiled, values, begin: execute });
      return outcome === 'unrendered' ? outcome : outcome ? Buffer.from(outcome.body).toString('latin1') : 'absent';
    } catch (fault) {
      return `thrown: ${(fault as Error).message}`;
    }
  };
  const expectEqual = async (search: string, asked: Asked = {}): Promise<string> => {
    const nested = await read(search, true, asked);
    expect(nested).toBe(await read(search, false, asked));
    expect(await read(search, 'all', asked)).toBe(nested);
    return nested;
  };

  const queries = [
    '',
    'fields=id',
    'populate=*',
    'fields=id&populate=*',
    'populate[author]=true&populate[twin][populate]=*',
    'populate[author][populate][notes][populate]=*',
    'populate[tags][sort]=name:desc&populate[gallery][sort]=id:desc',
    'populate[tags][populate][notes][filters][title]=Note 1&populate[author][filters][name]=Author 1',
    'populate[twin][filters][title]=Note 0&populate[twin][publicationState]=preview&publicationState=preview',
    'populate[cards][populate]=rows&populate[zone][populate]=*&populate[card][populate][rows][populate]=notes',
    'populate[zone][on][parts.row][populate][notes][sort]=title&populate[zone][on][parts.card]=true',
    'populate[author][populate][notes][populate][tags][populate][notes]=true&populate[card]=true',
    'pagination[start]=1&pagination[limit]=3&sort=author.name&populate=tags',
    'filters[tags][name]=Tag 1&populate=tags&pagination[pageSize]=2&pagination[page]=2',
    'pagination[pageSize]=500&populate=*',
  ];

  it.each(queries)('the bytes are those of batches: %s', async (search) => {
    for (const form of ['envelope', 'plain'] as const) {
      const list = JSON.parse(await expectEqual(search, { form })) as unknown;
      expect(list).toBeTypeOf('object');
      for (const id of [1, 2, 4, 5, 50]) await expectEqual(search, { form, id });
    }
  });

  it.each(['populate[notes][populate]=tags', 'populate[notes][populate][author][populate]=notes', 'populate=*'])(
    'the bytes are those of batches, from other sides: %s',
    async (search) => {
      for (const type of ['author', 'tag']) await expectEqual(search, { type });
    },
  );

  it('what belongs to one entry is inside its statement, what several show and is large is not', () => {
    const fetched = (search: string, asked: Asked = {}) =>
      compiledRead(search, true, asked).compiled.nodes.filter((it) => it !== null).length;
    expect(fetched('populate=*')).toBe(0);
    expect(fetched('populate[author][populate]=notes')).toBe(2);
    expect(fetched('populate[author][populate]=notes', { id: 1 })).toBe(0);
    expect(compiledRead('populate[author][populate]=notes', 'all').compiled.whole).not.toBe(null);
    expect(fetched('populate[notes][populate]=tags', { type: 'tag' })).toBe(3);
    expect(fetched('populate[notes][populate]=author', { type: 'author' })).toBe(0);
  });

  const oddTexts = [
    "'a' || char(0) || 'b'",
    "cast(x'61eda08062' as text)",
    "cast(x'ff' as text)",
    `'"' || char(10, 8, 127, 133)`,
  ];
  const odd: readonly (readonly [column: string, values: readonly string[]])[] = [
    ['title', [...oddTexts, '7', '1.5', '10.0', '9e999', "x'00ff'", "''"]],
    ['odd_name', oddTexts],
    ['big', ['9223372036854775807', '-9223372036854775808', '9007199254740993', "'12x'", '1e30', '10.0']],
    ['float', ['10.0', '1e21', '1e-7', '9e999', '-9e999', "'1,5'", '0.1', '-0.0', '123456789012345680']],
    ['price', ['10.0', '0.30000000000000004', "'x'"]],
    ['count', ['2.5', "'many'", '99999999999']],
    ['on', ['2', "'true'", '1.0', "'1'"]],
    ['day', ["'2024-02-30'", '20240101', "''"]],
    ['hour', ["'10:20'", "'10:20:30.123'", "'nope'", '5', "'25:00:00'"]],
    [
      'at',
      [
        ...[
          '0',
          '-1',
          '1.5',
          '-1.5',
          '0.0004',
          '999.9999',
          '1709251200123.999',
          "'2024-02-29'",
          "'2024-02-29T10:20:30+02:00'",
        ],
        ...[
          '253402300799999',
          '253402300800000',
          '253402300799999.9',
          '-62167219200000',
          '-62167219200001',
          '-62167219200000.5',
        ],
        ...['8640000000000001', '9e999', "'nope'", '9223372036854775807', '-62135596800001', "x'31'"],
      ],
    ],
    ['stamp', ['1.5', "'2024-02-29'", "'x'", '-1', '9e999']],
    [
      'data',
      [
        ...[
          `'{"a": 1,  "b":[ ]}'`,
          "'nope'",
          "'[1]' || char(0) || 'x'",
          "x'5b315d'",
          "x'00'",
          '5',
          '1.0',
          "'1.10'",
          "''",
          "'null'",
        ],
        ...[
          `'"\\ud800"'`,
          `cast(x'22eda08022' as text)`,
          "'[1,]'",
          "'{a:1}'",
          "' 1 '",
          '9e999',
          "'[' || char(10) || ']'",
        ],
      ],
    ],
  ];

  it.each(odd)('the bytes are those of batches for odd values of %s', async (column, values) => {
    for (const value of values) {
      raw.exec(`update notes set "${column}" = ${value} where id in (1, 3)`);
      if (column !== 'odd_name') raw.exec(`update components_parts_rows set "${column}" = ${value} where id = 1`);
      for (const search of ['', 'populate=*', 'populate[zone][populate]=notes&populate[author][populate]=notes'])
        for (const id of [null, 1]) await expectEqual(search, { id });
    }
    raw.exec(`update notes set "${column}" = null`);
    raw.exec(`update notes set title = 'Note ' || (id % 3)`);
    if (column !== 'odd_name') raw.exec(`update components_parts_rows set "${column}" = null`);
  });

  it('instants are those of JavaScript, to the millisecond', async () => {
    const [least, greatest] = [-62_167_219_200_000, 253_402_300_799_999];
    const values: number[] = [];
    for (let i = 0; i < 300; i++)
      values.push(least + i, greatest - i, i, -i, -62_135_596_800_000 - i, 946_684_800_000 - i);
    for (let i = 0; i < 3000; i++) values.push(Math.floor(least + ((i * 0.618_033_988_75) % 1) * (greatest - least)));
    for (let i = 0; i < values.length; i += 8) {
      const part = values.slice(i, i + 8);
      for (const [k, value] of part.entries())
        raw.prepare('update notes set at = ? where id = ?').run(BigInt(value), k + 1);
      const body = JSON.parse(await read('fields=at&publicationState=preview', true)) as {
        data: { attributes: { at: string } }[];
      };
      expect(body.data.slice(0, part.length).map((it) => it.attributes.at)).toEqual(
        part.map((it) => new Date(it).toISOString()),
      );
    }
    raw.exec('update notes set at = null');
  });

  it('ST10: a pair that is stored twice is shown once, by a read in batches', async () => {
    raw.exec('drop index notes_tags_links_unique');
    raw.exec('insert into notes_tags_links (note_id, tag_id, tag_order) values (1, 3, 0)');
    expect(await read('populate=tags', true)).toBe('unrendered');
    const batches = await read('populate=tags', false);
    expect(JSON.parse(batches)).toMatchObject({
      data: [{ attributes: { tags: { data: [{ id: 2 }, { id: 3 }, { id: 1 }] } } }, {}, {}, {}, {}, {}, {}],
    });
    const reader = newReader(world.db, { responseCacheBytesMax: 0, entriesBytesMax: 0 });
    const type = world.model.types.get('api::note.note')!;
    for (let i = 0; i < 2; i++) {
      const answer = await reader.read({ action: 'find', type, id: null, query: textQuery('populate=tags') }, context);
      expect(answer.ok && answer.value.body.toString('latin1')).toBe(batches);
    }
    // entries without such a list are as before
    expect(await read('populate=tags', true, { id: 2 })).toBe(await read('populate=tags', false, { id: 2 }));
    raw.exec('delete from notes_tags_links where tag_order = 0 and tag_id = 3');
  });

  it('ST10: so it is inside an entry that was itself read in a batch', async () => {
    const search = 'populate[author][populate]=notes';
    raw.exec('drop index notes_author_links_unique');
    raw.exec('insert into notes_author_links (note_id, author_id, note_order) values (1, 1, 0)');
    expect(compiledRead(search, true).compiled.whole).toBe(null);
    expect(await read(search, true)).toBe('unrendered');
    raw.exec('delete from notes_author_links where note_order = 0');
    await expectEqual(search);
  });

  const batched =
    'populate[author][populate][notes][populate][author][populate]=notes&populate[zone]=true&populate[tags]=true&sort=title';

  it('entries of batches are the same in one row, and in a row each', async () => {
    const { compiled } = compiledRead(batched, true);
    expect(compiled.whole).toBe(null);
    expect(compiled.joined?.page).not.toBe(null);
    expect(compiled.joined?.nodes.filter((it) => it !== null)).not.toEqual([]);
    const joined = await expectEqual(batched);
    limits.set({ shortRowsMax: 0 });
    try {
      expect(compiledRead(batched, true).compiled.joined?.page).toBe(null);
      expect(await read(batched, true)).toBe(joined);
    } finally {
      limits.reset();
    }
  });

  const nested = 'populate=tags,cards,zone';

  it.each([nested, batched])('RQ18: the length of a response is that of its characters: %s', async (search) => {
    raw.exec(`update notes set body = 'Zürich 東京 🗼' where id < 7`);
    const wanted = await read(search, true);
    const characters = Buffer.from(wanted, 'latin1').toString().length;
    expect(wanted.length).toBeGreaterThan(characters);
    try {
      for (const nests of [true, false]) {
        limits.set({ responseCharactersMax: characters });
        expect(await read(search, nests)).toBe(wanted);
        limits.set({ responseCharactersMax: characters - 200 });
        expect(await read(search, nests)).toMatch(/^thrown: .*characters/);
      }
    } finally {
      limits.reset();
      raw.exec('update notes set body = null where id < 7');
    }
  });

  it.each([
    ['links', 'inlineRowsMax', 2, nested],
    ['bytes', 'inlineListBytesMax', 300, nested],
    ['bytes of an entry', 'inlineEntryBytesMax', 1000, nested],
    ['bytes of an entry in a batch', 'inlineEntryBytesMax', 400, batched],
  ])('lists of more %s are read in batches', async (_what, bound, max, search) => {
    const wanted = await read(search, true);
    limits.set({ [bound]: max });
    try {
      expect(await read(search, true)).toBe('unrendered');
      expect(await read(search, false)).toBe(wanted);
    } finally {
      limits.reset();
    }
  });

  it('filters of the greatest depth inside the deepest levels are within the limits of SQLite', async () => {
    const deep = (depth: number): string => `${'[$not]'.repeat(depth)}[title]=x`;
    let populate = 'populate[author]';
    for (const level of ['notes', 'author', 'notes', 'twin']) populate += `[populate][${level}]`;
    for (const id of [null, 1]) await expectEqual(`${populate}[filters]${deep(22)}`, { id });
  });
});
