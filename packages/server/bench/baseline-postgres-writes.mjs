/**
 * Close to the least work that creates the benchmark's articles and fills its list on PostgreSQL: one statement writes
 * all rows of a request; it parses the body itself and returns the response. `begin`, the lock, the statement and
 * `commit` are sent together on one connection; writers would wait for each other's lock anyway. Foreign keys and
 * unique indexes reject missing targets and duplicates.
 */
import postgres from 'postgres';
import { concat, entry, spread } from './baseline.mjs';

const answered = (e, attributes) => concat(`'{"data":'`, entry(e, attributes), `',"meta":{}}'`);
const now = `date_trunc('milliseconds', clock_timestamp() at time zone 'UTC')`;
const nextId = (table) => `nextval('${table}_id_seq')::int4 as id`;

/** The only parameter is the body of the request. */
const create = (types) => `
with d as materialized (
  select * from json_to_record(($1::text)::json -> 'data') as d(
    title text, slug text, summary text, body text, kind text, contact text, "internalNote" text, views int4, reads int8,
    rating float8, price numeric, featured boolean, "publishedOn" date, "opensAt" time, "eventAt" timestamptz,
    "syncedAt" int8, details jsonb, author int4, categories int4[], cover int4, gallery int4[], seo json, zone json)
), clock as materialized (
  select ${now} as now
), e as (
  insert into articles (title, slug, summary, body, kind, contact, internal_note, views, reads, rating, price, featured,
    published_on, opens_at, event_at, synced_at, details, created_at, updated_at, published_at)
  select title, slug, summary, body, kind, contact, "internalNote", views, reads, rating, price, featured, "publishedOn",
    "opensAt", "eventAt" at time zone 'UTC', to_timestamp("syncedAt" / 1000.0) at time zone 'UTC', details, now, now, now
  from d, clock
  returning id, ${answered('articles', types.article('articles'))} as answer
), author as (
  insert into articles_author_links (article_id, author_id, article_order)
  select e.id, d.author,
    coalesce((select max(l.article_order) from articles_author_links l where l.author_id = d.author), 0) + 1
  from d, e
), category as (
  insert into articles_categories_links (article_id, category_id, category_order, article_order)
  select e.id, c.id, c.place,
    coalesce((select max(l.article_order) from articles_categories_links l where l.category_id = c.id), 0) + 1
  from d, e, unnest(d.categories) with ordinality as c(id, place)
), s as materialized (
  select ${nextId('components_shared_seos')}, s.*
  from d, json_to_record(d.seo) as s("metaTitle" text, "metaDescription" text, keywords jsonb, "shareImage" int4, socials json)
), seo as (
  insert into components_shared_seos (id, meta_title, meta_description, keywords)
  select id, "metaTitle", "metaDescription", keywords from s
), o as materialized (
  select ${nextId('components_shared_socials')}, s.id as seo, each.place, o.*
  from s, json_array_elements(s.socials) with ordinality as each(value, place),
    json_to_record(each.value) as o(network text, title text, image int4)
), social as (
  insert into components_shared_socials (id, network, title) select id, network, title from o
), social_of_seo as (
  insert into components_shared_seos_components (entity_id, component_id, component_type, field, "order")
  select seo, id, 'shared.social', 'socials', place from o
), z as materialized (
  select each.place, z.*
  from d, json_array_elements(d.zone) with ordinality as each(value, place),
    json_to_record(each.value) as z(__component text, heading text, body text, text text, source text, person int4)
), t as materialized (
  select ${nextId('components_sections_texts')}, place, heading, body from z where __component = 'sections.text'
), text as (
  insert into components_sections_texts (id, heading, body) select id, heading, body from t
), q as materialized (
  select ${nextId('components_sections_quotes')}, place, text, source, person from z where __component = 'sections.quote'
), quote as (
  insert into components_sections_quotes (id, text, source) select id, text, source from q
), person as (
  insert into components_sections_quotes_person_links (quote_id, author_id) select id, person from q
), part as (
  insert into articles_components (entity_id, component_id, component_type, field, "order")
  select e.id, p.id, p.type, p.field, p.place
  from e, (
    select id, 'shared.seo', 'seo', null::float8 from s
    union all select id, 'sections.text', 'zone', place from t
    union all select id, 'sections.quote', 'zone', place from q
  ) as p(id, type, field, place)
), media as (
  insert into files_related_morphs (file_id, related_id, related_type, field, "order")
  select d.cover, e.id, 'api::article.article', 'cover', 1::float8 from d, e
  union all
  select g.id, e.id, 'api::article.article', 'gallery', g.place
  from d, e, unnest(d.gallery) with ordinality as g(id, place)
  union all select "shareImage", id, 'shared.seo', 'shareImage', 1 from s
  union all select image, id, 'shared.social', 'image', 1 from o
)
select answer from e`;

/** @param rank a select of the article's rank. */
const placed = (rank, types) => `place as materialized (${rank}),
link as (
  insert into articles_categories_links as l (article_id, category_id, category_order, article_order)
  select $2::int4, $1::int4,
    coalesce((select max(k.category_order) from articles_categories_links k where k.article_id = $2::int4), 0) + 1, rank
  from place
  on conflict (article_id, category_id) do update set article_order = excluded.article_order
)
update categories set updated_at = greatest(${now}, updated_at + interval '1 ms') from place where id = $1::int4
returning ${answered('categories', types.category('categories'))}`;

/** Parameters: the list's category, the article, and the one that it is placed before. */
const connectBefore = (types) => `
with high as (
  select article_order as rank from articles_categories_links where category_id = $1::int4 and article_id = $3::int4
), room as (
  select high.rank as high, coalesce((
    select max(l.article_order) from articles_categories_links l
    where l.category_id = $1::int4 and l.article_order < high.rank and l.article_id <> $2::int4
  ), 0) as low
  from high
), half as (
  select high, low, floor((high - greatest(low, case when high < ${spread.min} then 0 else ${spread.min - 1} end)) / 2) as half
  from room
), ${placed(
  `select case when low = 0 then high - least(half, ${spread.endStep}) else low + half end as rank from half where half >= 1`,
  types,
)}`;

/** Parameters: the list's category and the article. */
const connectLast = (types) => `
with ${placed(
  `select last + case when last < ${spread.min} then 1 else ${spread.endStep} end as rank from (
     select coalesce(max(article_order), 0) as last from articles_categories_links
     where category_id = $1::int4 and article_id <> $2::int4
   ) l`,
  types,
)}`;

const numberAnew = `
update articles_categories_links l set article_order = n.place
from (select id, ${spread.from} + row_number() over (order by article_order, article_id) * (${spread.width} / count(*) over ()) as place
      from articles_categories_links where category_id = $1::int4) n
where n.id = l.id`;

const locks = (...tables) => `select ${tables.map((it) => `pg_advisory_xact_lock(hashtext('${it}'))`).join(', ')}`;

/** @param types the attributes of the entries in the response. */
export const newWriter = (url, types) => {
  const sql = postgres(url, {
    max: 1,
    fetch_types: false,
    connection: { jit: 'off', plan_cache_mode: 'force_generic_plan' },
  });
  const statements = { create: create(types), before: connectBefore(types), last: connectLast(types) };
  const lockAll = locks('articles_author_links', 'articles_categories_links');
  const lockList = locks('articles_categories_links');
  /** One transaction, sent at once; returns the rows of the last statement. */
  const inOneGo = async (lock, ...work) => {
    const run = (text, params = []) => sql.unsafe(text, params, { prepare: true }).raw();
    const sent = [run('begin'), run(lock), ...work.map((it) => run(...it)), run('commit')];
    const results = await Promise.allSettled(sent);
    const refused = results.find((it) => it.status === 'rejected');
    if (refused) throw refused.reason;
    const [row] = results.at(-2).value;
    return row ? row[0].latin1Slice() : null;
  };
  return {
    file: async (row) => {
      const values = [
        'name',
        'width',
        'height',
        'formats',
        'hash',
        'ext',
        'mime',
        'size',
        'url',
        'provider',
        'folderPath',
      ];
      const [{ id }] = await sql.unsafe(
        `insert into files (name, width, height, formats, hash, ext, mime, size, url, provider, folder_path, created_at, updated_at)
         values ($1, $2, $3, $4::text::jsonb, $5, $6, $7, $8, $9, $10, $11, localtimestamp, localtimestamp) returning id`,
        values.map((name) => row[name]),
      );
      return id;
    },
    create: (_data, text) => inOneGo(lockAll, [statements.create, [text]]),
    connect: async (list, { id, before }) => {
      if (before === null) return inOneGo(lockList, [statements.last, [list, id]]);
      const connect = [statements.before, [list, id, before]];
      return (await inOneGo(lockList, connect)) ?? inOneGo(lockList, [numberAnew, [list]], connect);
    },
  };
};
