/**
 * Close to the least work that creates the benchmark's articles and fills its list on SQLite: one transaction per
 * request, prepared statements, and the response from the statement that writes the entry. Foreign keys and unique
 * indexes reject missing targets and duplicates.
 */
import Database from 'better-sqlite3';
import { concat, entry, spread } from './baseline.mjs';

const marks = (columns) => columns.map(() => '?').join(', ');
const quote = (columns) => columns.map((it) => `"${it}"`).join(', ');

/** @param types the attributes of the entries in the response. */
export const newWriter = (file, types) => {
  const db = new Database(file);
  // as in the server: WAL mode is stored in the file, and the driver syncs at checkpoints
  db.pragma('foreign_keys = on');
  db.pragma('busy_timeout = 5000');
  db.pragma('cache_size = -65536');
  const insert = (table, columns, end = '') => {
    const names = columns.split(' ');
    return db.prepare(`insert into ${table} (${quote(names)}) values (${marks(names)})${end}`);
  };
  const answered = (table, attributes) =>
    ` returning ${table}.id, cast(${concat(`'{"data":'`, entry(table, attributes), `',"meta":{}}'`)} as blob)`;

  const article = db
    .prepare(
      `insert into articles (title, slug, summary, body, kind, contact, internal_note, views, reads, rating, price, featured,
         published_on, opens_at, event_at, synced_at, details, created_at, updated_at, published_at)
       values (@title, @slug, @summary, @body, @kind, @contact, @internalNote, @views, cast(@reads as integer), @rating,
         @price, @featured, @publishedOn, @opensAt, @eventAt, @syncedAt, @details, @now, @now, @now)${answered('articles', types.article('articles'))}`,
    )
    .raw();
  const author = db.prepare(
    `insert into articles_author_links (article_id, author_id, article_order)
     select @id, @to, coalesce(max(article_order), 0) + 1 from articles_author_links where author_id = @to`,
  );
  const category = db.prepare(
    `insert into articles_categories_links (article_id, category_id, category_order, article_order)
     select @id, @to, @place, coalesce(max(article_order), 0) + 1 from articles_categories_links where category_id = @to`,
  );
  const media = insert('files_related_morphs', 'file_id related_id related_type field order');
  const part = insert('articles_components', 'entity_id component_id component_type field order');
  const seo = insert('components_shared_seos', 'meta_title meta_description keywords');
  const social = insert('components_shared_socials', 'network title');
  const socialOfSeo = insert('components_shared_seos_components', 'entity_id component_id component_type field order');
  const text = insert('components_sections_texts', 'heading body');
  const quoted = insert('components_sections_quotes', 'text source');
  const person = insert('components_sections_quotes_person_links', 'quote_id author_id');

  const zone = {
    'sections.text': (it) => text.run(it.heading, it.body).lastInsertRowid,
    'sections.quote': (it) => {
      const id = quoted.run(it.text, it.source).lastInsertRowid;
      person.run(id, it.person);
      return id;
    },
  };
  const create = db.transaction((data) => {
    const [id, body] = article.get({
      ...data,
      featured: data.featured ? 1 : 0,
      eventAt: Date.parse(data.eventAt),
      syncedAt: Number(data.syncedAt),
      details: JSON.stringify(data.details),
      now: Date.now(),
    });
    author.run({ id, to: data.author });
    data.categories.forEach((it, i) => {
      category.run({ id, to: it, place: i + 1 });
    });
    media.run(data.cover, id, 'api::article.article', 'cover', 1);
    data.gallery.forEach((it, i) => {
      media.run(it, id, 'api::article.article', 'gallery', i + 1);
    });
    const seoId = seo.run(
      data.seo.metaTitle,
      data.seo.metaDescription,
      JSON.stringify(data.seo.keywords),
    ).lastInsertRowid;
    part.run(id, seoId, 'shared.seo', 'seo', null);
    media.run(data.seo.shareImage, seoId, 'shared.seo', 'shareImage', 1);
    data.seo.socials.forEach((it, i) => {
      const socialId = social.run(it.network, it.title).lastInsertRowid;
      socialOfSeo.run(seoId, socialId, 'shared.social', 'socials', i + 1);
      media.run(it.image, socialId, 'shared.social', 'image', 1);
    });
    data.zone.forEach((it, i) => {
      part.run(id, zone[it.__component](it), it.__component, 'zone', i + 1);
    });
    return body;
  });

  // ---- the list: its order is the rank alone, so a position only needs a number between two others

  const pluck = (sql) => db.prepare(sql).pluck();
  const rankOf = pluck('select article_order from articles_categories_links where category_id = ? and article_id = ?');
  // the plus makes the planner scan the index of ranks downwards, where the next one is near
  const rankBelow = pluck(
    `select article_order from articles_categories_links
     where +category_id = ? and article_order < ? and article_id <> ? order by article_order desc limit 1`,
  );
  const lastRank = pluck(
    'select max(article_order) from articles_categories_links where category_id = ? and article_id <> ?',
  );
  const place = db.prepare(
    `insert into articles_categories_links (article_id, category_id, category_order, article_order)
     select @id, @list, coalesce(max(category_order), 0) + 1, @rank from articles_categories_links where article_id = @id
     on conflict (article_id, category_id) do update set article_order = excluded.article_order`,
  );
  const numberAnew = db.prepare(
    `update articles_categories_links as l set article_order = n.place
     from (select id, ${spread.from} + row_number() over (order by article_order, article_id) * (${spread.width} / count(*) over ()) as place
           from articles_categories_links where category_id = ?) n
     where n.id = l.id`,
  );
  const touch = db
    .prepare(
      `update categories set updated_at = max(@now, updated_at + 1) where id = @list${answered('categories', types.category('categories'))}`,
    )
    .raw();

  const rankAfter = (last) => last + (last < spread.min ? 1 : spread.endStep);
  const connect = db.transaction((list, { id, before }) => {
    const rank = before === null ? rankAfter(lastRank.get(list, id) ?? 0) : rankBefore(list, id, before);
    if (rank === null) return null;
    const [, body] = touch.get({ list, now: Date.now() }) ?? [];
    if (body) place.run({ list, id, rank });
    return body;
  });
  const rankBefore = (list, id, before) => {
    const high = rankOf.get(list, before);
    if (high === undefined) return null;
    const low = rankBelow.get(list, high, id) ?? 0;
    const half = Math.floor((high - Math.max(low, high < spread.min ? 0 : spread.min - 1)) / 2);
    if (half >= 1) return low === 0 ? high - Math.min(half, spread.endStep) : low + half;
    numberAnew.run(list);
    return rankBefore(list, id, before);
  };
  const newFile = db.prepare(
    `insert into files (name, width, height, formats, hash, ext, mime, size, url, provider, folder_path, created_at, updated_at)
     values (@name, @width, @height, @formats, @hash, @ext, @mime, @size, @url, @provider, @folderPath, @now, @now)`,
  );
  return {
    create: create.immediate,
    connect: connect.immediate,
    file: (row) => newFile.run(row).lastInsertRowid,
  };
};
