/**
 * Close to the least work that answers the benchmark's requests from SQLite: one prepared statement each, which builds
 * the whole body. It is read as a blob, so it reaches the socket without being decoded; one statement sees one
 * snapshot.
 * `node baseline-sqlite.mjs FILE PORT`
 */
import Database from 'better-sqlite3';
import { attributesOf, concat, data, element, entry, pageSize, part, serve } from './baseline.mjs';
import { newWriter } from './baseline-sqlite-writes.mjs';
import { filteredCategory } from './requests.mjs';

const [file, port] = process.argv.slice(2);
const db = new Database(file, { readonly: true });
db.pragma('mmap_size = 2147483648');
db.pragma('cache_size = -65536');

const orNull = (value) => `coalesce(${value}, 'null')`;
const quoted = (value) => orNull(`'"' || ${value} || '"'`);
const as = {
  text: (column) => `json_quote(${column})`,
  number: orNull,
  boolean: (column) => `case ${column} when 1 then 'true' when 0 then 'false' else 'null' end`,
  digits: quoted,
  date: quoted,
  time: quoted,
  instant: (column) => orNull(`strftime('"%Y-%m-%dT%H:%M:%fZ"', ${column} / 1000.0, 'unixepoch')`),
  epoch: quoted,
  json: orNull,
};
const types = attributesOf(as);

// ---- parts of statements; every table has its own alias, its link table the same with l_

/** The first row's value, `null` without one. */
const first = (value, from) => `coalesce((select ${value} ${from} limit 1), 'null')`;
/** All rows' values as an array. */
const all = (value, from, order, empty = '[]') =>
  `coalesce((select '[' || group_concat(${value}, ',' order by ${order}) || ']' ${from}), '${empty}')`;

const linked = (table, from, owner, to, target, e) =>
  `from ${table} l_${e} join ${target} ${e} on ${e}.id = l_${e}.${to} where l_${e}.${from} = ${owner}.id`;
// the plus keeps the planner from choosing the index of an unselective column
const files = (uid, field, owner) =>
  `from files_related_morphs l_f join files f on f.id = l_f.file_id
   where l_f.related_id = ${owner}.id and +l_f.related_type = '${uid}' and +l_f.field = '${field}'`;
const parts = (table, field, owner, uid, target, e) =>
  `from ${table} l_${e} join ${target} ${e} on ${e}.id = l_${e}.component_id
   where l_${e}.entity_id = ${owner}.id and +l_${e}.field = '${field}' and +l_${e}.component_type = '${uid}'`;

/** @param elements for each component of the zone: its table and its JSON, with the alias z. */
const zone = (elements) => {
  const cases = elements.map(
    ([uid, table, pairs]) =>
      `when '${uid}' then (select ${element('z', uid, pairs)} from ${table} z where z.id = l_z.component_id)`,
  );
  const ofArticle = `from articles_components l_z where l_z.entity_id = e.id and +l_z.field = 'zone'`;
  return all(`case l_z.component_type ${cases.join(' ')} end`, ofArticle, 'l_z."order"');
};

const authorOfArticle = linked('articles_author_links', 'article_id', 'e', 'author_id', 'authors', 'a');
const categoriesOfArticle = linked('articles_categories_links', 'article_id', 'e', 'category_id', 'categories', 'c');
const commentsOfArticle = linked('comments_article_links', 'article_id', 'e', 'comment_id', 'comments', 'm');
const seoOfArticle = parts('articles_components', 'seo', 'e', 'shared.seo', 'components_shared_seos', 's');
const coverOfArticle = data(first(entry('f', types.file('f')), files('api::article.article', 'cover', 'e')));

// ---- an article of each request, with the alias e

const star = {
  ...types.article('e'),
  author: data(first(entry('a', types.author('a')), authorOfArticle)),
  categories: data(all(entry('c', types.category('c')), categoriesOfArticle, 'l_c.category_order')),
  comments: data(all(entry('m', types.comment('m')), commentsOfArticle, 'l_m.comment_order')),
  related: data(
    all(
      entry('r', types.article('r')),
      `${linked('articles_related_links', 'article_id', 'e', 'inv_article_id', 'articles', 'r')} and r.published_at is not null`,
      'l_r.article_order',
    ),
  ),
  cover: coverOfArticle,
  gallery: data(
    all(entry('f', types.file('f')), files('api::article.article', 'gallery', 'e'), 'l_f."order", f.id', 'null'),
  ),
  seo: first(part('s', types.seo('s')), seoOfArticle),
  zone: zone([
    ['sections.text', 'components_sections_texts', types.text('z')],
    ['sections.quote', 'components_sections_quotes', types.quote('z')],
    ['sections.pictures', 'components_sections_pictures', types.pictures('z')],
    ['sections.teasers', 'components_sections_teasers', types.teasers('z')],
  ]),
};

const avatarOf = (author, ...fields) =>
  data(first(entry('f', types.file('f', ...fields)), files('api::author.author', 'avatar', author)));

const tree = {
  ...types.article('e', 'title', 'slug', 'publishedOn', 'views'),
  author: data(
    first(
      entry('a', {
        ...types.author('a', 'name', 'slug'),
        avatar: avatarOf('a', 'url', 'alternativeText'),
        articles: data(
          all(
            entry('b', {
              ...types.article('b', 'title', 'views'),
              cover: data(
                first(entry('f', types.file('f', 'url', 'formats')), files('api::article.article', 'cover', 'b')),
              ),
            }),
            `${linked('articles_author_links', 'author_id', 'a', 'article_id', 'articles', 'b')} and b.published_at is not null and b.featured = 1`,
            'b.views desc, l_b.article_order',
          ),
        ),
      }),
      authorOfArticle,
    ),
  ),
  categories: data(
    all(entry('c', types.category('c', 'name', 'slug')), categoriesOfArticle, 'c.name, l_c.category_order'),
  ),
  comments: data(
    all(
      entry('m', types.comment('m', 'nickname', 'body', 'postedAt')),
      `${commentsOfArticle} and m.approved = 1`,
      'm.posted_at desc, l_m.comment_order',
    ),
  ),
  cover: coverOfArticle,
  seo: first(
    part('s', {
      ...types.seo('s'),
      socials: all(
        part('o', {
          ...types.social('o'),
          image: data(first(entry('f', types.file('f', 'url')), files('shared.social', 'image', 'o'))),
        }),
        parts('components_shared_seos_components', 'socials', 's', 'shared.social', 'components_shared_socials', 'o'),
        'l_o."order"',
      ),
    }),
    seoOfArticle,
  ),
  zone: zone([
    ['sections.text', 'components_sections_texts', types.text('z')],
    [
      'sections.quote',
      'components_sections_quotes',
      {
        ...types.quote('z', 'text'),
        person: data(
          first(
            entry('p', { ...types.author('p', 'name'), avatar: avatarOf('p', 'url') }),
            linked('components_sections_quotes_person_links', 'quote_id', 'z', 'author_id', 'authors', 'p'),
          ),
        ),
      },
    ],
    [
      'sections.pictures',
      'components_sections_pictures',
      {
        ...types.pictures('z'),
        pictures: data(
          all(
            entry('f', types.file('f', 'url', 'formats')),
            files('sections.pictures', 'pictures', 'z'),
            'l_f."order", f.id',
            'null',
          ),
        ),
      },
    ],
    [
      'sections.teasers',
      'components_sections_teasers',
      {
        ...types.teasers('z'),
        articles: data(
          all(
            entry('t', types.article('t', 'title')),
            `${linked('components_sections_teasers_articles_links', 'teasers_id', 'z', 'article_id', 'articles', 't')} and t.published_at is not null`,
            't.title, l_t.article_order',
          ),
        ),
      },
    ],
  ]),
};

// ---- statements

const body = (...parts) => `cast(${concat(...parts)} as blob)`;
const meta = (page, total) => [
  `'],"meta":{"pagination":{"page":'`,
  page,
  `',"pageSize":${pageSize},"pageCount":'`,
  `(${total} + ${pageSize - 1}) / ${pageSize}`,
  `',"total":'`,
  total,
  `'}}}'`,
];
const firstPage = (attributes) => `
  select ${body(`'{"data":['`, 'page.entries', ...meta("'1'", 'counted.total'))}
  from (
    select group_concat(${entry('e', attributes)}, ',') as entries
    from (select * from articles where published_at is not null order by id limit ${pageSize}) e
  ) page, (select count(*) as total from articles where published_at is not null) counted`;

const statements = {
  list: firstPage(types.article('e')),
  star: firstPage(star),
  tree: firstPage(tree),
  one: `
    select ${body(`'{"data":'`, entry('e', tree), `',"meta":{}}'`)}
    from articles e where e.id = :number and e.published_at is not null`,
  // the category's articles are read once, for the page and for the count
  page: `
    with found as materialized (
      select a.id, a.views
      from categories c
      join articles_categories_links l on l.category_id = c.id
      join articles a on a.id = l.article_id
      where c.slug = '${filteredCategory}' and a.published_at is not null
    )
    select ${body(`'{"data":['`, 'page.entries', ...meta(':number', 'counted.total'))}
    from (
      select group_concat(${entry('e', types.article('e'))}, ',' order by e.views desc, e.id) as entries
      from articles e
      where e.id in (select id from found order by views desc, id limit ${pageSize} offset (:number - 1) * ${pageSize})
    ) page, (select count(*) as total from found) counted`,
};
const prepared = Object.fromEntries(Object.entries(statements).map(([name, text]) => [name, db.prepare(text).pluck()]));

serve(
  Number(port),
  (name, number) => (name === 'one' || name === 'page' ? prepared[name].get({ number }) : prepared[name].get()),
  newWriter(file, types),
);
