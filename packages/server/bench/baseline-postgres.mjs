/**
 * Close to the least work that answers the benchmark's requests from PostgreSQL: one prepared statement each, in one
 * round trip and therefore one snapshot. It returns the JSON text of every entry or list, by edge, and JavaScript
 * splices them. (Nesting everything in SQL, as on SQLite, is slower here: PostgreSQL restarts every subquery.) The
 * bytes of the database are sent unchanged: texts are read and written as latin1, whatever their encoding.
 * `node baseline-postgres.mjs URL PORT`
 */
import postgres from 'postgres';
import { attributesOf, data, element, entry, inside, pageSize, pagination, part, serve } from './baseline.mjs';
import { newWriter } from './baseline-postgres-writes.mjs';
import { filteredCategory } from './requests.mjs';

const [url, port] = process.argv.slice(2);
const sql = postgres(url, {
  max: 10,
  fetch_types: false,
  connection: {
    plan_cache_mode: 'force_generic_plan',
    jit: 'off',
    max_parallel_workers_per_gather: 0,
    // few rows are joined, always by an index; the planner overestimates them and would read whole tables
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
  },
});

const orNull = (value) => `coalesce(${value}, 'null')`;
const quoted = (value) => orNull(`'"' || ${value} || '"'`);
const as = {
  text: (column) => orNull(`to_json(${column})`),
  number: (column) => orNull(`${column}::text`),
  boolean: (column) => orNull(`${column}::text`),
  digits: quoted,
  date: quoted,
  time: (column) => quoted(`to_char(${column}, 'HH24:MI:SS.MS')`),
  instant: (column) => quoted(`to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`),
  epoch: (column) => quoted(`(extract(epoch from ${column}) * 1000)::bigint`),
  json: (column) => orNull(`${column}::text`),
};
const types = attributesOf(as);

// ---- parts of statements: rows of edge, owner, id, JSON text; to-one links have one row here, as v4 stores them

const one = (edge, owner, id, value, from) => `(select '${edge}', ${owner}, ${id}, ${value} ${from})`;
/** One row for each owner. */
const list = (edge, owner, value, order, from) =>
  `(select ${edge.startsWith('m.') ? edge : `'${edge}'`}, ${owner}, 0, string_agg(${value}, ',' order by ${order}) ${from} group by 1, 2)`;

const join = (table, from, owner, to, target, e) =>
  `join ${table} l_${e} on l_${e}.${from} = ${owner}.id join ${target} ${e} on ${e}.id = l_${e}.${to}`;
const parts = (table, owner, field) => `join ${table} l on l.entity_id = ${owner}.id and l.field = '${field}'`;
/** Media that may be missing. */
const file = (uid, field, owner, f) =>
  `left join files_related_morphs m_${f} on m_${f}.related_id = ${owner}.id and m_${f}.related_type = '${uid}' and m_${f}.field = '${field}'
   left join files ${f} on ${f}.id = m_${f}.file_id`;
const fileOrNull = (f, ...fields) =>
  data(`case when ${f}.id is null then 'null' else ${entry(f, types.file(f, ...fields))} end`);

const authorOfArticle = join('articles_author_links', 'article_id', 'page', 'author_id', 'authors', 'a');
const categoriesOfArticle = join('articles_categories_links', 'article_id', 'page', 'category_id', 'categories', 'c');
const commentsOfArticle = join('comments_article_links', 'article_id', 'page', 'comment_id', 'comments', 'm');
const mediaOfArticle = `join files_related_morphs m on m.related_id = page.id and m.related_type = 'api::article.article' join files f on f.id = m.file_id`;
const seoOfArticle = `${parts('articles_components', 'page', 'seo')} join components_shared_seos s on s.id = l.component_id and l.component_type = 'shared.seo'`;
const elementsOf = (uid, table, z) =>
  `left join ${table} ${z} on ${z}.id = l.component_id and l.component_type = '${uid}'`;
const zoneOfArticle = [
  parts('articles_components', 'page', 'zone'),
  elementsOf('sections.text', 'components_sections_texts', 't'),
  elementsOf('sections.quote', 'components_sections_quotes', 'q'),
  elementsOf('sections.pictures', 'components_sections_pictures', 'i'),
  elementsOf('sections.teasers', 'components_sections_teasers', 'z'),
].join(' ');

const published = `select id from articles where published_at is not null`;
const firstPage = `${published} order by id limit ${pageSize}`;
const edges = (page, branches) => `with page as materialized (${page}) ${branches.join(' union all ')}`;
const total = `(select 'total', count(*)::int4, 0, null from articles where published_at is not null)`;
const articles = (...fields) =>
  one(
    'article',
    'e.id',
    '0',
    inside(types.article('e', ...fields)),
    'from page join articles e on e.id = page.id order by e.id',
  );

const star = [
  total,
  articles(),
  one('author', 'page.id', 'a.id', entry('a', types.author('a')), `from page ${authorOfArticle}`),
  list(
    'categories',
    'page.id',
    entry('c', types.category('c')),
    'l_c.category_order',
    `from page ${categoriesOfArticle}`,
  ),
  list('comments', 'page.id', entry('m', types.comment('m')), 'l_m.comment_order', `from page ${commentsOfArticle}`),
  list(
    'related',
    'page.id',
    entry('r', types.article('r')),
    'l_r.article_order',
    `from page ${join('articles_related_links', 'article_id', 'page', 'inv_article_id', 'articles', 'r')} where r.published_at is not null`,
  ),
  // cover and gallery
  list('m.field', 'page.id', entry('f', types.file('f')), 'm."order", f.id', `from page ${mediaOfArticle}`),
  one('seo', 'page.id', 's.id', part('s', types.seo('s')), `from page ${seoOfArticle}`),
  list(
    'zone',
    'page.id',
    `case l.component_type
      when 'sections.text' then ${element('t', 'sections.text', types.text('t'))}
      when 'sections.quote' then ${element('q', 'sections.quote', types.quote('q'))}
      when 'sections.pictures' then ${element('i', 'sections.pictures', types.pictures('i'))}
      when 'sections.teasers' then ${element('z', 'sections.teasers', types.teasers('z'))}
    end`,
    'l."order"',
    `from page ${zoneOfArticle}`,
  ),
];

/** Texts that end with an open list are completed in `treeText`. */
const tree = [
  articles('title', 'slug', 'publishedOn', 'views'),
  one(
    'author',
    'page.id',
    'a.id',
    entry(
      'a',
      { ...types.author('a', 'name', 'slug'), avatar: fileOrNull('f', 'url', 'alternativeText') },
      ',"articles":{"data":[',
    ),
    `from page ${authorOfArticle} ${file('api::author.author', 'avatar', 'a', 'f')}`,
  ),
  list(
    'articles of author',
    'a.id',
    entry('b', { ...types.article('b', 'title', 'views'), cover: fileOrNull('f', 'url', 'formats') }),
    'b.views desc, l_b.article_order',
    `from (select distinct l.author_id as id from page join articles_author_links l on l.article_id = page.id) a
     ${join('articles_author_links', 'author_id', 'a', 'article_id', 'articles', 'b')}
     ${file('api::article.article', 'cover', 'b', 'f')}
     where b.published_at is not null and b.featured`,
  ),
  list(
    'categories',
    'page.id',
    entry('c', types.category('c', 'name', 'slug')),
    'c.name, l_c.category_order',
    `from page ${categoriesOfArticle}`,
  ),
  list(
    'comments',
    'page.id',
    entry('m', types.comment('m', 'nickname', 'body', 'postedAt')),
    'm.posted_at desc, l_m.comment_order',
    `from page ${commentsOfArticle} where m.approved`,
  ),
  list(
    'm.field',
    'page.id',
    entry('f', types.file('f')),
    'm."order"',
    `from page ${mediaOfArticle} where m.field = 'cover'`,
  ),
  one('seo', 'page.id', 's.id', part('s', types.seo('s'), ',"socials":['), `from page ${seoOfArticle}`),
  list(
    'socials of seo',
    's.entity_id',
    part('o', { ...types.social('o'), image: fileOrNull('f', 'url') }),
    's."order"',
    `from page ${parts('articles_components', 'page', 'seo')}
     join components_shared_seos_components s on s.entity_id = l.component_id and s.field = 'socials'
     join components_shared_socials o on o.id = s.component_id ${file('shared.social', 'image', 'o', 'f')}`,
  ),
  `(select l.component_type, page.id, l.component_id, case l.component_type
      when 'sections.text' then ${element('t', 'sections.text', types.text('t'))}
      when 'sections.quote' then ${element('q', 'sections.quote', {
        ...types.quote('q', 'text'),
        person: data(
          `case when p.id is null then 'null' else ${entry('p', { ...types.author('p', 'name'), avatar: fileOrNull('f', 'url') })} end`,
        ),
      })}
      when 'sections.pictures' then ${element('i', 'sections.pictures', types.pictures('i'), ',"pictures":{"data":')}
      when 'sections.teasers' then ${element('z', 'sections.teasers', types.teasers('z'), ',"articles":{"data":[')}
    end
    from page ${zoneOfArticle}
    left join components_sections_quotes_person_links l_p on l_p.quote_id = q.id
    left join authors p on p.id = l_p.author_id ${file('api::author.author', 'avatar', 'p', 'f')}
    order by page.id, l."order")`,
  list(
    'files of pictures',
    'l.component_id',
    entry('f', types.file('f', 'url', 'formats')),
    'm."order", f.id',
    `from page ${parts('articles_components', 'page', 'zone')}
     join files_related_morphs m on m.related_id = l.component_id and m.related_type = 'sections.pictures' and m.field = 'pictures'
     join files f on f.id = m.file_id where l.component_type = 'sections.pictures'`,
  ),
  list(
    'articles of teasers',
    'l.component_id',
    entry('r', types.article('r', 'title')),
    'r.title, k.article_order',
    `from page ${parts('articles_components', 'page', 'zone')}
     join components_sections_teasers_articles_links k on k.teasers_id = l.component_id
     join articles r on r.id = k.article_id where l.component_type = 'sections.teasers' and r.published_at is not null`,
  ),
];

const statements = {
  list: `
    select ${entry('e', types.article('e'))}, (select count(*) from articles where published_at is not null)
    from articles e where published_at is not null order by id limit ${pageSize}`,
  star: edges(firstPage, star),
  tree: edges(firstPage, [total, ...tree]),
  one: edges(`${published} and id = $1::int4`, tree),
  // the category's articles are read once, for the page and for the count
  page: `
    with found as materialized (
      select a.id, a.views
      from categories c
      join articles_categories_links l on l.category_id = c.id
      join articles a on a.id = l.article_id
      where c.slug = '${filteredCategory}' and a.published_at is not null
    )
    select ${entry('e', types.article('e'))}, (select count(*) from found)
    from (select id from found order by views desc, id limit ${pageSize} offset ($1::int4 - 1) * ${pageSize}) page
    join articles e on e.id = page.id order by e.views desc, e.id`,
};

// ---- responses

const rowsOf = (name, ...params) => sql.unsafe(statements[name], params, { prepare: true }).raw();
const text = (bytes) => bytes.latin1Slice();

const listOf = (rows, page) =>
  `{"data":[${rows.map(([value]) => text(value)).join(',')}],"meta":${pagination(page, Number(text(rows[0][1])))}}`;

/** Rows by edge and owner. The elements of the zone keep their order in `zone`. */
const placed = (rows) => {
  const edges = new Map();
  const zone = new Map();
  for (const [edgeName, owner, id, value] of rows) {
    const edge = text(edgeName);
    const from = Number(text(owner));
    const found = { component: edge, id: Number(text(id)), json: value === null ? '' : text(value) };
    if (edge.startsWith('sections.')) {
      const elements = zone.get(from);
      if (elements) elements.push(found);
      else zone.set(from, [found]);
      continue;
    }
    const known = edges.get(edge);
    if (known) known.set(from, found);
    else edges.set(edge, new Map([[from, found]]));
  }
  return { of: (edge, owner, empty = '') => edges.get(edge)?.get(owner)?.json ?? empty, edges, zone };
};

const starText = ({ of }, id, article) =>
  `{"id":${id},"attributes":{${article},"author":{"data":${of('author', id, 'null')}},"categories":{"data":[${of('categories', id)}]},"comments":{"data":[${of('comments', id)}]},"related":{"data":[${of('related', id)}]},"cover":{"data":${of('cover', id, 'null')}},"gallery":{"data":${bracketed(of('gallery', id))}},"seo":${of('seo', id, 'null')},"zone":[${of('zone', id)}]}}`;

const bracketed = (items) => (items === '' ? 'null' : `[${items}]`);

const treeText = ({ of, edges, zone }, id, article) => {
  const author = edges.get('author')?.get(id);
  const seo = edges.get('seo')?.get(id);
  const elements = (zone.get(id) ?? []).map((it) => {
    if (it.component === 'sections.pictures') return `${it.json}${bracketed(of('files of pictures', it.id))}}}`;
    if (it.component === 'sections.teasers') return `${it.json}${of('articles of teasers', it.id)}]}}`;
    return it.json;
  });
  return `{"id":${id},"attributes":{${article},"author":{"data":${author ? `${author.json}${of('articles of author', author.id)}]}}}` : 'null'}},"categories":{"data":[${of('categories', id)}]},"comments":{"data":[${of('comments', id)}]},"cover":{"data":${of('cover', id, 'null')}},"seo":${seo ? `${seo.json}${of('socials of seo', seo.id)}]}` : 'null'},"zone":[${elements.join(',')}]}}`;
};

const pageOf = (rows, textOf) => {
  const found = placed(rows);
  const [total] = found.edges.get('total').keys();
  const entries = [...found.edges.get('article')].map(([id, { json }]) => textOf(found, id, json));
  return `{"data":[${entries.join(',')}],"meta":${pagination(1, total)}}`;
};

const oneOf = (rows) => {
  if (rows.length === 0) return null;
  const found = placed(rows);
  const [[id, { json }]] = found.edges.get('article');
  return `{"data":${treeText(found, id, json)},"meta":{}}`;
};

const answer = async (name, number) => {
  switch (name) {
    case 'list':
      return listOf(await rowsOf('list'), 1);
    case 'star':
      return pageOf(await rowsOf('star'), starText);
    case 'tree':
      return pageOf(await rowsOf('tree'), treeText);
    case 'one':
      return oneOf(await rowsOf('one', number));
    default:
      return listOf(await rowsOf('page', number), number);
  }
};
serve(Number(port), answer, newWriter(url, types));
