/** Each hazard that v4's databases hold is found, counted and shown by an example, and mended by the statements given. */
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type AdoptOptions, inspect } from '../../src/cli/adopt/adopt.js';
import type { HazardCode } from '../../src/cli/adopt/report.js';
import type { DialectName } from '../../src/sql/dialect.js';
import { copiedDatabase } from '../world/databases.js';
import { contentType, type Files, typeFile } from '../world/schemas.js';
import { newV4World, starter, starterRows, typeScript, typeScriptRows, type V4World } from '../world/v4-projects.js';
import { dialects } from '../world/world.js';

const plain: AdoptOptions = { database: null, environment: 'development', urls: null, json: false };

let world: V4World | null = null;
afterEach(async () => {
  await world?.drop();
  world = null;
});

/** Without configuration files, which take a process to evaluate: the database is named by `.env`. */
const withoutConfig = (files: Files): Files =>
  Object.fromEntries(Object.entries(files).filter(([file]) => !file.startsWith('config/')));

/** The starter, and a type with every kind of value and relation that can go wrong. */
const project: Files = {
  ...withoutConfig(starter),
  [typeFile('order')]: contentType('order', {
    code: { type: 'string', required: true, unique: true },
    paid: { type: 'boolean' },
    day: { type: 'date' },
    at: { type: 'time' },
    sent: { type: 'datetime' },
    count: { type: 'integer' },
    weight: { type: 'float' },
    extra: { type: 'json' },
    table: { type: 'relation', relation: 'oneToOne', target: 'api::menu.menu' },
    note: { type: 'component', component: 'food.note' },
    about: { type: 'relation', relation: 'morphToOne' },
    things: { type: 'relation', relation: 'morphToMany' },
  }),
};
const order = `insert into orders (id, code) values (1, 'A')`;

interface Case {
  readonly code: HazardCode;
  readonly on?: DialectName;
  readonly sql: readonly string[];
  readonly place: string;
  readonly count: number;
  readonly example: string | null;
  /** Whether its statements mend it; otherwise there are none. */
  readonly mends?: boolean;
}

const withoutUnique = (dialect: DialectName, table: string): string =>
  dialect === 'sqlite' ? `drop index ${table}_unique` : `alter table ${table} drop constraint ${table}_unique`;

const cases = (dialect: DialectName): readonly Case[] => [
  {
    code: 'link.orphan',
    sql: ['insert into menus_dishes_links (menu_id, dish_id, dish_order, menu_order) values (1, 99, 3, 1)'],
    place: 'menus_dishes_links',
    count: 1,
    example: 'menu 1, dish 99',
    mends: true,
  },
  {
    code: 'link.duplicate',
    sql: [
      withoutUnique(dialect, 'menus_dishes_links'),
      'insert into menus_dishes_links (menu_id, dish_id, dish_order, menu_order) values (1, 2, 7, 3)',
    ],
    place: 'menus_dishes_links',
    count: 1,
    example: 'menu 1, dish 2',
    mends: true,
  },
  {
    code: 'link.order-tie',
    sql: ['update menus_dishes_links set dish_order = 1'],
    place: 'menus_dishes_links.dish_order',
    count: 1,
    example: 'menu 1',
  },
  {
    code: 'link.order-missing',
    sql: ['update menus_dishes_links set dish_order = null where dish_id = 2'],
    place: 'menus_dishes_links.dish_order',
    count: 1,
    example: 'menu 1, dish 2',
  },
  {
    code: 'link.order-fraction',
    sql: ['update menus_dishes_links set dish_order = 1.5 where dish_id = 2'],
    place: 'menus_dishes_links.dish_order',
    count: 1,
    example: 'menu 1, dish 2',
  },
  {
    code: 'link.to-one-many',
    sql: [
      order,
      `insert into menus (id, name) values (2, 'Tuesday')`,
      'insert into orders_table_links (order_id, menu_id) values (1, 1)',
      'insert into orders_table_links (order_id, menu_id) values (1, 2)',
    ],
    place: 'api::order.order.table',
    count: 1,
    example: 'order 1',
  },
  {
    code: 'component.dangling',
    sql: ['delete from components_food_allergens'],
    place: 'api::dish.dish.allergens',
    count: 1,
    example: 'dish 1, field allergens, component 1, type food.allergen',
  },
  {
    code: 'component.orphan-entry',
    sql: [
      `insert into dishes_components (entity_id, component_id, component_type, field) values (77, 1, 'food.allergen', 'blocks')`,
    ],
    place: 'dishes_components',
    count: 1,
    example: 'dish 77, field blocks, component 1',
  },
  {
    code: 'component.removed-field',
    sql: [
      `insert into dishes_components (entity_id, component_id, component_type, field) values (1, 1, 'food.allergen', 'gone')`,
    ],
    place: 'dishes_components',
    count: 1,
    example: 'dish 1, field gone, component 1',
  },
  {
    code: 'component.other-type',
    sql: [
      `insert into dishes_components (entity_id, component_id, component_type, field) values (1, 4, 'food.note', 'allergens')`,
    ],
    place: 'api::dish.dish.allergens',
    count: 1,
    example: 'dish 1, field allergens, component 4, type food.note',
  },
  {
    code: 'component.single-many',
    sql: [
      order,
      `insert into components_food_notes (id, text) values (1, 'a'), (2, 'b')`,
      `insert into orders_components (entity_id, component_id, component_type, field) values (1, 1, 'food.note', 'note'), (1, 2, 'food.note', 'note')`,
    ],
    place: 'api::order.order.note',
    count: 1,
    example: 'order 1',
  },
  {
    code: 'media.dangling-file',
    sql: [
      `insert into files_related_morphs (file_id, related_id, related_type, field, "order") values (5, 1, 'api::dish.dish', 'picture', 1)`,
    ],
    place: 'files_related_morphs',
    count: 1,
    example: 'file 5, of api::dish.dish, id 1, field picture',
  },
  {
    code: 'media.dangling-entry',
    sql: [
      `insert into files (id, name, url, provider) values (5, 'a.png', 'https://x.example/a.png', 'local')`,
      `insert into files_related_morphs (file_id, related_id, related_type, field, "order") values (5, 44, 'api::dish.dish', 'picture', 1)`,
    ],
    place: 'api::dish.dish',
    count: 1,
    example: 'file 5, of api::dish.dish, id 44, field picture',
  },
  {
    code: 'media.removed-field',
    sql: [
      `insert into files (id, name, url, provider) values (5, 'a.png', 'https://x.example/a.png', 'local')`,
      `insert into files_related_morphs (file_id, related_id, related_type, field, "order") values (5, 1, 'api::gone.gone', 'cover', 1)`,
    ],
    place: 'files_related_morphs',
    count: 1,
    example: 'file 5, of api::gone.gone, id 1, field cover',
  },
  {
    code: 'media.not-on-disk',
    sql: [
      `insert into files (id, name, url, provider, formats) values (5, 'a.png', '/uploads/a.png', 'local', '{"small":{"url":"/uploads/small_a.png"}}')`,
    ],
    place: 'files',
    count: 2,
    example: '/uploads/a.png',
  },
  {
    code: 'media.other-provider',
    sql: [`insert into files (id, name, url, provider) values (5, 'a.png', 'https://x.example/a.png', 'cloudinary')`],
    place: 'files',
    count: 1,
    example: 'provider cloudinary',
  },
  {
    code: 'morph.dangling',
    sql: [`insert into orders (id, code, target_id, target_type) values (1, 'A', 9, 'api::menu.menu')`],
    place: 'api::order.order.about',
    count: 1,
    example: 'order 1, to api::menu.menu, id 9',
  },
  {
    code: 'morph.dangling',
    sql: [
      order,
      `insert into orders_things_morphs (order_id, things_id, things_type, "order") values (1, 1, 'api::gone.gone', 1)`,
    ],
    place: 'api::order.order.things',
    count: 1,
    example: 'order 1, to api::gone.gone, id 1',
  },
  {
    code: 'value.enumeration',
    sql: [`update dishes set kind = 'snack' where id = 2`],
    place: 'api::dish.dish.kind',
    count: 1,
    example: 'id 2, value snack',
  },
  {
    code: 'value.json',
    on: 'sqlite',
    sql: [`insert into orders (id, code, extra) values (1, 'A', '{oops')`],
    place: 'api::order.order.extra',
    count: 1,
    example: 'id 1, value {oops',
  },
  {
    code: 'value.date',
    on: 'sqlite',
    sql: [
      `insert into orders (id, code, day) values (1, 'A', '2023-02-30')`,
      `insert into orders (id, code, day) values (2, 'B', '2024-02-29')`,
    ],
    place: 'api::order.order.day',
    count: 1,
    example: 'id 1, value 2023-02-30',
  },
  {
    code: 'value.date',
    on: 'sqlite',
    sql: [`insert into orders (id, code, sent) values (1, 'A', 'yesterday')`],
    place: 'api::order.order.sent',
    count: 1,
    example: 'id 1, value yesterday',
  },
  {
    code: 'value.date',
    on: 'sqlite',
    sql: [
      `insert into orders (id, code, at) values (1, 'A', '9 am')`,
      `insert into orders (id, code, at) values (2, 'B', '09:00:00.000')`,
    ],
    place: 'api::order.order.at',
    count: 1,
    example: 'id 1, value 9 am',
  },
  {
    code: 'value.date',
    on: 'postgres',
    sql: [`insert into orders (id, code, sent) values (1, 'A', 'infinity')`],
    place: 'api::order.order.sent',
    count: 1,
    example: 'id 1, value infinity',
  },
  {
    code: 'value.date-as-text',
    on: 'sqlite',
    sql: [`insert into orders (id, code, sent) values (1, 'A', '2024-01-02 03:04:05')`],
    place: 'api::order.order.sent',
    count: 1,
    example: 'id 1, value 2024-01-02 03:04:05',
  },
  {
    code: 'value.number',
    on: 'sqlite',
    sql: [
      `insert into orders (id, code, count) values (1, 'A', 3000000000)`,
      `insert into orders (id, code, count) values (2, 'B', 'many')`,
    ],
    place: 'api::order.order.count',
    count: 2,
    example: 'id 1, value 3000000000',
  },
  {
    code: 'value.number',
    on: 'postgres',
    sql: [`insert into orders (id, code, weight) values (1, 'A', 'NaN')`],
    place: 'api::order.order.weight',
    count: 1,
    example: 'id 1, value NaN',
  },
  {
    code: 'value.boolean',
    on: 'sqlite',
    sql: [`insert into orders (id, code, paid) values (1, 'A', 'yes')`],
    place: 'api::order.order.paid',
    count: 1,
    example: 'id 1, value yes',
  },
  {
    code: 'value.too-long',
    on: 'sqlite',
    sql: [`insert into orders (id, code) values (1, '${'x'.repeat(300)}')`],
    place: 'api::order.order.code',
    count: 1,
    example: 'id 1',
  },
  {
    code: 'value.required',
    sql: ['update dishes set title = null'],
    place: 'api::dish.dish.title',
    count: 2,
    example: 'id 1',
  },
  {
    code: 'value.not-unique',
    sql: [order, `insert into orders (id, code) values (2, 'A')`],
    place: 'api::order.order.code',
    count: 1,
    example: 'value A',
  },
  {
    code: 'column.left-over',
    sql: ['alter table dishes add column mood varchar(255)'],
    place: 'dishes.mood',
    count: 1,
    example: null,
  },
  {
    code: 'table.left-over',
    sql: ['create table recipes (id integer)', 'insert into recipes values (1)'],
    place: 'recipes',
    count: 1,
    example: '1 row',
  },
  {
    code: 'trigger',
    sql:
      dialect === 'sqlite'
        ? ['create trigger watch after insert on dishes begin select 1; end']
        : [
            'create function watch() returns trigger language plpgsql as $$ begin return new; end $$',
            'create trigger watch after insert on dishes for each row execute function watch()',
          ],
    place: 'dishes',
    count: 1,
    example: null,
  },
  {
    code: 'sequence.behind',
    on: 'postgres',
    sql: [`insert into menus (id, name) values (41, 'Later')`],
    place: 'menus.id',
    count: 40,
    example: 'greatest id 41, next id 2',
    mends: true,
  },
  {
    code: 'sequence.missing',
    on: 'postgres',
    sql: ['alter table menus alter column id drop default', 'drop sequence menus_id_seq'],
    place: 'menus.id',
    count: 1,
    example: 'greatest id 1',
    mends: true,
  },
  {
    code: 'user.no-role',
    sql: ['delete from up_users_role_links'],
    place: 'up_users',
    count: 1,
    example: 'user 1',
  },
  {
    code: 'user.same-email',
    sql: [`insert into up_users (id, username, email) values (2, 'ann2', 'Ann@Example.org')`],
    place: 'up_users.email',
    count: 1,
    example: 'user 1',
  },
  {
    code: 'user.hash',
    sql: [`update up_users set password = 'secret'`],
    place: 'up_users.password',
    count: 1,
    example: 'user 1',
  },
  {
    code: 'permission.unknown',
    sql: [`insert into up_permissions (id, action) values (90, 'api::dish.dish.today')`],
    place: 'up_permissions',
    count: 1,
    example: 'api::dish.dish.today',
  },
];

describe.each(dialects)('hazards on %s', (dialect) => {
  it.each(cases(dialect).filter((it) => it.on === undefined || it.on === dialect))(
    '$code: $place',
    async ({ code, sql, place, count, example, mends = false }) => {
      world = await newV4World(dialect, project, starterRows);
      expect((await inspect(world.dir, plain)).hazards).toEqual([]);
      await world.run(...sql);
      const { hazards, ok } = await inspect(world.dir, plain);
      const found = hazards.filter((it) => it.code === code);
      expect(found).toEqual([
        expect.objectContaining({ place, count, example, message: expect.any(String), effect: expect.any(String) }),
      ]);
      // hazards are said; none of them keeps the project from being served
      expect(ok).toBe(true);
      if (!mends) return;
      await world.run(...found[0]!.mend!.split('; '));
      expect((await inspect(world.dir, plain)).hazards.map((it) => it.code)).not.toContain(code);
    },
  );

  it('index.missing: a link table without one is timed, from a thousand rows on', async () => {
    world = await newV4World(dialect, project, starterRows);
    // the start adds an index of ours for an ordered side, so its absence is nothing to say
    await world.run('drop index menus_dishes_links_inv_fk', 'drop index orders_table_links_inv_fk');
    expect((await inspect(world.dir, plain)).hazards).toEqual([]);
    const numbers =
      dialect === 'sqlite'
        ? 'with recursive n(i) as (select 10 union all select i + 1 from n where i < 1200) select i from n'
        : 'select i from generate_series(10, 1200) i';
    await world.run(
      `insert into dishes (id, title, published_at) select i, 'Dish', created_at from (${numbers}) n join dishes d on d.id = 1`,
      `insert into menus_dishes_links (menu_id, dish_id, dish_order, menu_order) select 1, i, i, 1 from (${numbers}) n`,
      `insert into orders (id, code) select i, cast(i as ${dialect === 'sqlite' ? 'text' : 'varchar'}) from (${numbers}) n`,
      `insert into orders_table_links (order_id, menu_id) select i, 1 from (${numbers}) n`,
    );
    const { hazards } = await inspect(world.dir, plain);
    const found = hazards.filter((it) => it.code === 'index.missing');
    expect(found).toEqual([
      expect.objectContaining({
        place: 'orders_table_links.menu_id',
        count: 1191,
        ms: expect.any(Number),
        mend: 'create index "orders_table_links_inv_fk" on "orders_table_links" ("menu_id")',
      }),
    ]);
    await world.run(found[0]!.mend!);
    expect((await inspect(world.dir, plain)).hazards.map((it) => it.code)).not.toContain('index.missing');
  });

  it('locale.none, locale.unknown, locale.one-sided: localized entries', async () => {
    world = await newV4World(dialect, withoutConfig(typeScript), typeScriptRows);
    expect((await inspect(world.dir, plain)).hazards).toEqual([]);
    await world.run(
      `insert into pages (id, title, locale) values (3, 'Lost', null), (4, 'Alt', 'fr')`,
      'delete from pages_localizations_links where page_id = 2',
    );
    const { hazards } = await inspect(world.dir, plain);
    const found = hazards.filter((it) => it.code.startsWith('locale.'));
    expect(found.map(({ code, place, count, example }) => [code, place, count, example])).toEqual([
      ['locale.none', 'api::page.page', 1, null],
      ['locale.unknown', 'api::page.page', 1, 'id 4, locale fr'],
      ['locale.one-sided', 'api::page.page', 1, 'page 1, to 2'],
    ]);
    await world.run(found[0]!.mend!);
    expect((await inspect(world.dir, plain)).hazards.map((it) => it.code)).not.toContain('locale.none');
  });

  it('column.other-type, drafts.switched-off: schema files that were changed after their tables', async () => {
    world = await newV4World(dialect, project, starterRows);
    await world.run(`alter table menus add column published_at ${dialect === 'sqlite' ? 'datetime' : 'timestamp'}`);
    await world.run('alter table menus drop column name', 'alter table menus add column name integer');
    const { hazards } = await inspect(world.dir, plain);
    expect(hazards.map(({ code, place, count }) => [code, place, count])).toEqual(
      expect.arrayContaining([
        ['column.other-type', 'menus.name', 1],
        ['drafts.switched-off', 'api::menu.menu', 1],
      ]),
    );
    expect(hazards).toHaveLength(2);
    const changed = hazards.find((it) => it.code === 'column.other-type');
    await world.run(...changed!.mend!.split('; '));
    expect((await inspect(world.dir, plain)).hazards.map((it) => it.code)).not.toContain('column.other-type');
  });

  it('a database of v4.0, whose link tables have no ids and no places, is read', async () => {
    world = await newV4World(dialect, project, starterRows);
    if (dialect === 'sqlite')
      await world.run(
        'drop table menus_dishes_links',
        'create table menus_dishes_links (menu_id integer, dish_id integer)',
        'insert into menus_dishes_links values (1, 1), (1, 1), (1, 2), (1, 50)',
      );
    else
      await world.run(
        'alter table menus_dishes_links drop constraint menus_dishes_links_unique',
        'alter table menus_dishes_links drop column id, drop column dish_order, drop column menu_order',
        'insert into menus_dishes_links values (1, 1), (1, 50)',
      );
    const { hazards, start, ok } = await inspect(world.dir, plain);
    expect(ok).toBe(true);
    expect(hazards.map(({ code, count }) => [code, count])).toEqual([
      ['link.duplicate', 1],
      ['link.orphan', 1],
    ]);
    expect(start?.columns).toEqual(
      ['id', 'dish_order', 'menu_order'].map((column) => ({ table: 'menus_dishes_links', column })),
    );
  });
});

describe.each(dialects)('databases that v4 itself has written, on %s', (dialect) => {
  it.each(['core', 'museum'])('%s: nothing is found that is not there', async (name) => {
    const dir = path.join(import.meta.dirname, '../conformance', name);
    const given = { sqlite: path.join(dir, 'data.sqlite'), postgres: path.join(dir, 'data.postgres.sql') };
    const database = await copiedDatabase(dialect, `adopt_${name}`, async () => undefined, { given });
    try {
      const place = database.env['DATABASE_URL'] ?? database.env['DATABASE_FILENAME']!;
      const report = await inspect(path.join(dir, 'project'), { ...plain, database: place });
      // the recordings have no files
      expect(report.hazards.map((it) => it.code)).toEqual(['media.not-on-disk']);
      expect(report).toMatchObject({ ok: true, start: { tables: [], columns: [] } });
      expect(report.content?.types.every((it) => it.entries !== null)).toBe(true);
    } finally {
      await database.drop();
    }
  });
});

describe.runIf(dialects.includes('postgres'))('on PostgreSQL', () => {
  it('name.shortened: names of more than 63 characters', async () => {
    const target = { type: 'relation', relation: 'manyToMany', target: 'api::dish.dish' };
    world = await newV4World('postgres', {
      ...withoutConfig(starter),
      [typeFile('menu')]: contentType('menu', {
        name: { type: 'string' },
        theDishesThatAreServedOnSundayEvening: target,
      }),
    });
    const { hazards, ok } = await inspect(world.dir, plain);
    expect(ok).toBe(true);
    expect(hazards).toEqual([
      expect.objectContaining({
        code: 'name.shortened',
        place: 'menus_the_dishes_that_are_served_on_sunday_evening_links',
      }),
    ]);
  });
});
