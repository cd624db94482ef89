/**
 * The database layout: what an empty database gets, what is added to an older one, and what is left alone (ST1, ST7,
 * ST9).
 */
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareData } from '../../src/cli/bootstrap.js';
import { storedProject } from '../../src/cli/layout.js';
import { compareDatabase, openProject, type Project } from '../../src/cli/project.js';
import { newServer } from '../../src/http/server.js';
import type { Model } from '../../src/model/model.js';
import { foreignTables, tablesOf } from '../../src/model/storage.js';
import { type Db, type DialectName, readRows } from '../../src/sql/dialect.js';
import { openPostgres } from '../../src/sql/postgres/open.js';
import { applyAdditions, planAdditions, readCatalog } from '../../src/sql/schema.js';
import { newDatabase, type TestDatabase } from '../world/databases.js';
import { injectInto } from '../world/inject.js';
import { newTestDeps, newTestServer } from '../world/server.js';
import { newSmallWorld } from '../world/small.js';
import { dialects, type Entry, type Envelope, newWorld, projectDir, type World } from '../world/world.js';

const run = (db: Db, ...texts: readonly string[]): Promise<void> =>
  db.write(async (tx) => {
    for (const text of texts) await tx.run(db.dialect.compile(sql`${sql.raw(text)}`));
  });
const rowsOf = (db: Db, text: string) => db.read(() => readRows(db.dialect.compile(sql`${sql.raw(text)}`)));
const silent = pino({ level: 'silent' });

/** A table diff as names. */
const summary = async (project: Project, db: Db) => {
  const diff = await compareDatabase(project, db);
  return {
    tables: diff.missingTables.map((it) => it.name),
    columns: diff.missingColumns.map((it) => `${it.table}.${it.column.name}`),
    indexes: diff.missingIndexes.map((it) => it.index.name),
    surplusTables: diff.surplusTables,
    surplusColumns: diff.surplusColumns.map((it) => `${it.table}.${it.column}`),
    otherTypes: diff.otherTypes,
  };
};
const nothing = { tables: [], columns: [], indexes: [], surplusTables: [], surplusColumns: [], otherTypes: [] };

const bringUp = async (project: Project, db: Db): Promise<number> => {
  const additions = planAdditions(await compareDatabase(project, db), db);
  await applyAdditions(additions, db);
  return additions.length;
};

/** Declared types by column kind (ST2). */
const types: Record<DialectName, Readonly<Record<string, string>>> = {
  sqlite: {
    id: 'integer',
    label: 'varchar(255)',
    remark: 'text',
    report: 'text',
    recorded_on: 'date',
    starts_at: 'time',
    received_at: 'datetime',
    scanned_at: 'datetime',
    frames: 'integer',
    bytes: 'bigint',
    length: 'float',
    price: 'float',
    nitrate: 'boolean',
    metadata: 'json',
    transcript: 'json',
    created_by_id: 'integer',
  },
  postgres: {
    id: 'integer',
    label: 'character varying(255)',
    remark: 'text',
    report: 'text',
    recorded_on: 'date',
    starts_at: 'time without time zone',
    received_at: 'timestamp(6) without time zone',
    scanned_at: 'timestamp(6) without time zone',
    frames: 'integer',
    bytes: 'bigint',
    length: 'double precision',
    price: 'numeric(10,2)',
    nitrate: 'boolean',
    metadata: 'jsonb',
    transcript: 'jsonb',
    created_by_id: 'integer',
  },
};

describe.each(dialects)('an empty database on %s', (dialect) => {
  let database: TestDatabase;
  let project: Project;
  beforeAll(async () => {
    database = await newDatabase(dialect);
    project = await openProject(projectDir);
  });
  afterAll(() => database.drop());

  it('gets every table of the layout; after that nothing is missing or additional', async () => {
    const before = await summary(project, database.db);
    expect(before.tables).toEqual(tablesOf(project.model).map((it) => it.name));
    expect(await bringUp(project, database.db)).toBeGreaterThan(100);
    expect(await summary(project, database.db)).toEqual(nothing);
    expect(await bringUp(project, database.db)).toBe(0);
  });

  it.each([
    // ST3: J, I, O, V
    ['films_genres_links', ['id', 'film_id', 'genre_id', 'genre_order', 'film_order']],
    ['films_director_links', ['id', 'film_id', 'person_id', 'film_order']],
    ['films_source_links', ['id', 'film_id', 'inv_film_id']],
    ['films_remake_of_links', ['id', 'film_id', 'inv_film_id', 'film_order']],
    ['films_episodes_links', ['id', 'film_id', 'inv_film_id', 'film_order']],
    ['films_influences_links', ['id', 'film_id', 'inv_film_id', 'film_order', 'inv_film_order']],
    ['programmes_opener_links', ['id', 'programme_id', 'film_id']],
    ['programmes_strand_links', ['id', 'programme_id', 'film_id', 'film_order']],
    ['programmes_extras_links', ['id', 'programme_id', 'film_id', 'film_order']],
    ['programmes_lineup_links', ['id', 'programme_id', 'film_id', 'film_order', 'programme_order']],
    [
      'programmes',
      ['id', 'name', 'backup_id', 'created_at', 'updated_at', 'published_at', 'created_by_id', 'updated_by_id'],
    ],
    ['notices', ['id', 'text', 'created_at', 'updated_at', 'created_by_id', 'updated_by_id', 'locale']],
    ['notices_localizations_links', ['id', 'notice_id', 'inv_notice_id', 'notice_order']],
    ['films_components', ['id', 'entity_id', 'component_id', 'component_type', 'field', 'order']],
    ['components_people_citations', ['id', 'text']],
    ['components_people_citations_speakers_links', ['id', 'citation_id', 'person_id', 'person_order']],
    ['components_people_awards_components', ['id', 'entity_id', 'component_id', 'component_type', 'field', 'order']],
    ['files_related_morphs', ['id', 'file_id', 'related_id', 'related_type', 'field', 'order']],
    ['house_rules_contact_links', ['id', 'house_rules_id', 'person_id']],
    ['up_users_role_links', ['id', 'user_id', 'role_id', 'user_order']],
    ['up_permissions_role_links', ['id', 'permission_id', 'role_id', 'permission_order']],
    ['upload_folders_parent_links', ['id', 'folder_id', 'inv_folder_id', 'folder_order']],
    ['files_folder_links', ['id', 'file_id', 'folder_id', 'file_order']],
    ['strapi_core_store_settings', ['id', 'key', 'value', 'type', 'environment', 'tag']],
    ['i18n_locale', ['id', 'name', 'code', 'created_at', 'updated_at', 'created_by_id', 'updated_by_id']],
  ])('ST1, ST4, ST5, ST6: the columns of %s', async (table, columns) => {
    const { tables } = await readCatalog(database.db);
    expect([...(tables.get(table)?.keys() ?? [])]).toEqual(columns);
  });

  it('ST9: tables that only v4 uses are not created', async () => {
    const { tables } = await readCatalog(database.db);
    expect(foreignTables).toEqual(['strapi_migrations', 'strapi_database_schema']);
    for (const table of [...foreignTables, 'closures_components', 'programmes_backup_links', 'films_poster_links'])
      expect(tables.has(table)).toBe(false);
  });

  it('ST2: scalar types have the column types of v4', async () => {
    const { tables } = await readCatalog(database.db);
    const found = Object.fromEntries(tables.get('reels') ?? []);
    expect(found).toMatchObject(types[dialect]);
    const rank = dialect === 'sqlite' ? 'float' : 'double precision';
    expect(tables.get('films_genres_links')?.get('genre_order')).toBe(rank);
    expect(tables.get('films_components')?.get('order')).toBe(rank);
  });

  it('ST7: indexes have the names of v4', async () => {
    const { indexes } = await readCatalog(database.db);
    for (const name of [
      'films_genres_links_fk',
      'films_genres_links_inv_fk',
      'films_genres_links_unique',
      'films_genres_links_order_fk',
      'films_genres_links_order_inv_fk',
      'films_entity_fk',
      'films_field_index',
      'films_component_type_index',
      'films_unique',
      'films_created_by_id_fk',
      'programmes_backup_id_fk',
      'reels_barcode_unique',
      'files_related_morphs_fk',
      'files_related_morphs_order_index',
      'files_related_morphs_id_column_index',
      'upload_files_name_index',
      'upload_folders_path_index',
    ])
      expect(indexes).toContain(name);
    expect(indexes).not.toContain('films_source_links_order_fk');
  });

  it('ST7: our own indexes support counting and long lists', async () => {
    const { indexes } = await readCatalog(database.db);
    for (const name of [
      'films_published_at_index',
      'notices_locale_index',
      'films_genres_links_list_index',
      'films_genres_links_list_inv_index',
      'files_related_morphs_list_index',
    ])
      expect(indexes).toContain(name);
    expect(indexes).not.toContain('people_published_at_index');
    // the primary key of PostgreSQL is such an index
    expect(indexes.has('people_ids_index')).toBe(dialect === 'sqlite');
    expect(indexes).not.toContain('house_rules_ids_index');
    expect(indexes).not.toContain('films_source_links_list_index');
  });

  it("ST7: tables of v4's own have no indexes of ours, but that of all media", () => {
    const withOwn = tablesOf(project.model).filter((it) => it.indexes.some((index) => index.own));
    expect(withOwn.map((it) => it.name).filter((it) => /^(admin|strapi|up|upload|files|i18n)_/.test(it))).toEqual([
      'files_related_morphs',
    ]);
  });

  it('ST7: link pairs and uid columns are unique', async () => {
    const { db } = database;
    await run(db, "insert into films (id, title) values (1, 'one')", "insert into genres (id, name) values (1, 'one')");
    await run(db, 'insert into films_genres_links (film_id, genre_id) values (1, 1)');
    await expect(run(db, 'insert into films_genres_links (film_id, genre_id) values (1, 1)')).rejects.toThrow();
    await run(
      db,
      "insert into reels (barcode) values ('a')",
      'insert into reels (barcode) values (null)',
      'insert into reels (barcode) values (null)',
    );
    await expect(run(db, "insert into reels (barcode) values ('a')")).rejects.toThrow();
  });

  it('ST7: deleting either end deletes its links and empties join columns; components remain', async () => {
    const { db } = database;
    await run(
      db,
      "insert into admin_users (id, firstname) values (7, 'x')",
      "insert into programmes (id, name, created_by_id, backup_id) values (7, 'x', 7, 1)",
      "insert into films_components (entity_id, component_id, component_type, field) values (1, 1, 'parts.fact', 'facts')",
      "insert into components_parts_facts (id, text) values (1, 'x')",
    );
    await expect(run(db, 'insert into films_genres_links (film_id, genre_id) values (999, 1)')).rejects.toThrow();
    await run(db, 'delete from films where id = 1', 'delete from admin_users where id = 7');
    expect(await rowsOf(db, 'select count(*) from films_genres_links')).toEqual([[dialect === 'sqlite' ? 0 : '0']]);
    expect(await rowsOf(db, 'select count(*) from films_components')).toEqual([[dialect === 'sqlite' ? 0 : '0']]);
    expect(await rowsOf(db, 'select id, created_by_id, backup_id from programmes where id = 7')).toEqual([
      [7, null, null],
    ]);
    expect(await rowsOf(db, 'select id, text from components_parts_facts')).toEqual([[1, 'x']]);
  });

  it("AC1: gets v4's roles once, with nothing found by the public", async () => {
    const { db } = database;
    await prepareData(project, db, silent);
    const roles = await rowsOf(db, 'select id, type, name from up_roles order by id');
    expect(roles).toEqual([
      [1, 'authenticated', 'Authenticated'],
      [2, 'public', 'Public'],
    ]);
    const actions = await rowsOf(
      db,
      'select p.action from up_permissions p join up_permissions_role_links l on l.permission_id = p.id where l.role_id = 2 order by p.action',
    );
    expect(actions.flat()).toEqual(
      [
        'callback',
        'connect',
        'emailConfirmation',
        'forgotPassword',
        'register',
        'resetPassword',
        'sendEmailConfirmation',
      ].map((it) => `plugin::users-permissions.auth.${it}`),
    );
    await prepareData(project, db, silent);
    expect(await rowsOf(db, 'select id, type, name from up_roles order by id')).toEqual(roles);
  });

  it('LO10: gets the locale en once, as the default, and keeps another default', async () => {
    const { db } = database;
    const locales = async () => ({
      rows: await rowsOf(db, 'select name, code from i18n_locale order by id'),
      setting: await rowsOf(
        db,
        `select value, type from strapi_core_store_settings where "key" = 'plugin_i18n_default_locale'`,
      ),
    });
    await prepareData(project, db, silent);
    const first = { rows: [['English (en)', 'en']], setting: [['"en"', 'string']] };
    expect(await locales()).toEqual(first);
    await prepareData(project, db, silent);
    expect(await locales()).toEqual(first);
    await run(
      db,
      'delete from i18n_locale',
      `update strapi_core_store_settings set value = '"pt-BR"' where "key" = 'plugin_i18n_default_locale'`,
    );
    await prepareData(project, db, silent);
    expect(await locales()).toEqual({
      rows: [['Portuguese (Brazil) (pt-BR)', 'pt-BR']],
      setting: [['"pt-BR"', 'string']],
    });
  });
});

describe.each(dialects)('an older database on %s', (dialect) => {
  let world: World;
  let project: Project;
  beforeAll(async () => {
    world = await newWorld(dialect);
    project = await openProject(projectDir);
  });
  afterAll(() => world.close());

  it('the fixture database has the complete layout', async () => {
    expect(await summary(project, world.db)).toEqual(nothing);
  });

  it('gets missing tables, columns and indexes, and keeps its rows', async () => {
    const { db } = world;
    const before = await world.read<readonly Entry[]>('/api/films?populate[genres][fields]=name&fields=title');
    // an upgraded database: no ranks on the side of the genres; some attributes and a relation are new
    await run(
      db,
      ...(dialect === 'sqlite'
        ? ['order_inv_fk', 'list_inv_index']
            .map((it) => `drop index films_genres_links_${it}`)
            .concat('drop index reels_barcode_unique')
        : []),
      'alter table films_genres_links drop column film_order',
      'alter table reels drop column barcode',
      'alter table films drop column tagline',
      'drop table films_similar_links',
      'drop table notices_localizations_links',
    );
    expect(await summary(project, db)).toEqual({
      ...nothing,
      tables: ['films_similar_links', 'notices_localizations_links'],
      columns: ['films.tagline', 'reels.barcode', 'films_genres_links.film_order'],
      indexes: ['reels_barcode_unique', 'films_genres_links_order_inv_fk', 'films_genres_links_list_inv_index'],
    });
    await bringUp(project, db);
    expect(await summary(project, db)).toEqual(nothing);
    const { indexes } = await readCatalog(db);
    expect(indexes).toContain('reels_barcode_unique');
    expect(indexes).toContain('films_genres_links_order_inv_fk');

    const after = await world.read<readonly Entry[]>('/api/films?populate[genres][fields]=name&fields=title');
    expect(after).toEqual(before);
    // new columns come last and are empty; where ranks are NULL, ids give the order
    expect((await world.read<Entry>('/api/films/1?fields=tagline&populate[similar][fields]=id')).data).toEqual({
      id: 1,
      attributes: { tagline: null, similar: { data: [] } },
    });
    const { data } = await world.read<Entry>('/api/genres/1?fields=id&populate[films][fields]=id');
    expect(data.attributes['films']).toEqual({
      data: [
        { id: 1, attributes: {} },
        { id: 2, attributes: {} },
        { id: 3, attributes: {} },
      ],
    });
  });

  it('ST9: additional tables and columns are reported and left alone, with their rows', async () => {
    const { db } = world;
    await run(
      db,
      'create table old_news (id integer primary key, text varchar(255))',
      "insert into old_news (id, text) values (1, 'kept')",
      'alter table films add column old_rating integer',
      'update films set old_rating = 5 where id = 1',
      'create table strapi_migrations (id integer primary key, name varchar(255))',
      'create table strapi_database_schema (id integer primary key)',
    );
    expect(await summary(project, db)).toEqual({
      ...nothing,
      // v4's internal tables are not reported
      surplusTables: ['old_news'],
      surplusColumns: ['films.old_rating'],
    });
    expect(await bringUp(project, db)).toBe(0);
    expect(await rowsOf(db, 'select text from old_news')).toEqual([['kept']]);
    expect(await rowsOf(db, 'select old_rating from films where id = 1')).toEqual([[5]]);
    expect((await world.read<Entry>('/api/films/1')).data.attributes).not.toHaveProperty('oldRating');
  });

  it('ST9: a column of another type is reported and left alone', async () => {
    const { db } = world;
    await run(db, 'drop table closures', 'create table closures (id integer primary key, reason integer)');
    const found = await summary(project, db);
    expect(found.otherTypes).toContainEqual({
      kind: 'string',
      table: 'closures',
      column: 'reason',
      wanted: dialect === 'sqlite' ? 'varchar(255)' : 'character varying(255)',
      found: 'integer',
    });
    expect(found.columns).toEqual([
      'closures.created_at',
      'closures.updated_at',
      'closures.published_at',
      'closures.created_by_id',
      'closures.updated_by_id',
    ]);
    await bringUp(project, db);
    const { tables } = await readCatalog(db);
    expect(tables.get('closures')?.get('reason')).toBe('integer');
    expect((await world.get('/api/closure')).status).toBe(404);
  });

  it('ST10: a pair that an upgraded database holds twice is shown and counted once', async () => {
    const { db } = world;
    /** Whether the model that a start finds looks for such pairs: where nothing refuses them. */
    const found = async (): Promise<{ readonly model: Model; readonly mayRepeat: boolean }> => {
      const { model } = await storedProject(await openProject(projectDir), db);
      const genres = model.types.get('api::film.film')?.attributes.get('genres');
      return { model, mayRepeat: genres?.kind === 'link' && genres.path.mayRepeat };
    };
    expect((await found()).mayRepeat).toBe(false);
    await run(
      db,
      dialect === 'sqlite'
        ? 'drop index films_genres_links_unique'
        : 'alter table films_genres_links drop constraint films_genres_links_unique',
      'insert into films_genres_links (film_id, genre_id, genre_order) values (1, 5, 9)',
    );
    const { model, mayRepeat } = await found();
    expect(mayRepeat).toBe(true);
    const server = await newTestServer(db, model);
    const read = async <Data>(url: string) => (await server.get(url)).body as Envelope<Data>;
    const { data } = await read<Entry>('/api/films/1?fields=id&populate[genres][fields]=id');
    expect((data.attributes['genres'] as { data: readonly Entry[] }).data.map((it) => it.id)).toEqual([5, 1, 2]);
    const list = await read('/api/films?fields=id&filters[genres][name]=Short');
    expect(list.data).toEqual([{ id: 1, attributes: {} }]);
    expect(list.meta.pagination).toMatchObject({ total: 1 });
    await server.close();
  });

  it('additions are applied all or not at all', async () => {
    const { db } = world;
    const good = { sql: 'create table first_of_two (id integer)', params: [], ids: [] };
    const bad = { sql: 'create table first_of_two (id integer)', params: [], ids: [] };
    await expect(applyAdditions([good, bad], db)).rejects.toThrow();
    expect((await readCatalog(db)).tables.has('first_of_two')).toBe(false);
  });
});

describe.runIf(dialects.includes('postgres'))('sequences of PostgreSQL', () => {
  const page = {
    types: { page: { attributes: { parts: { type: 'component', component: 'page.part', repeatable: true } } } },
    components: { 'page.part': { text: { type: 'string' } } },
  };

  it('ST1: new ids are those of the sequence that a table owns, whatever its name, and of the one that takes its place', async () => {
    const world = await newSmallWorld('postgres', page);
    const { db } = world;
    await run(
      db,
      'alter sequence components_page_parts_id_seq rename to ids_of_parts',
      'create sequence components_page_parts_id_seq start with 100',
      'alter sequence ids_of_parts restart with 500',
    );
    const reopened = await openPostgres(world.env['DATABASE_URL']!);
    const deps = newTestDeps(reopened, world.model, {}, undefined, { mode: 'open' });
    const server = await newServer(deps);
    const idsOf = async (...texts: readonly string[]): Promise<readonly number[]> => {
      const { payload } = await injectInto(server, {
        method: 'POST',
        url: '/api/pages?populate=*',
        headers: { 'content-type': 'application/json' },
        payload: JSON.stringify({ data: { parts: texts.map((text) => ({ text })) } }),
      });
      const { data } = JSON.parse(payload) as Envelope<Entry>;
      return (data.attributes['parts'] as readonly { readonly id: number }[]).map(({ id }) => id);
    };
    try {
      expect(await idsOf('a', 'b')).toEqual([500, 501]);
      await run(
        db,
        'alter table components_page_parts alter column id drop default',
        'drop sequence ids_of_parts',
        'create sequence ids_of_parts start with 900 owned by components_page_parts.id',
        "alter table components_page_parts alter column id set default nextval('ids_of_parts')",
      );
      expect(await idsOf('c')).toEqual([900]);
    } finally {
      await deps.site.notifier.stop();
      await server.close();
      await reopened.close();
      await world.close();
    }
  });
});
