/**
 * The rows of a data set: the same for the same size, on every database and machine. Values are in the neutral form of
 * `DbValue` (src/sql/dialect.ts): instants as milliseconds, JSON as text, bigints as digits.
 *
 * For N articles: N/10 authors, 50 categories, 4N comments, N files, a search engine component with two nested ones for
 * each article and one element of each of the zone's four components. Every twentieth article is a draft.
 */

export const isDraft = (article) => article % 20 === 7;

/** @typedef {{ table: string, columns: string[], rows: Iterable<unknown[]> }} TableRows rows in ascending order of id */

const sizesOf = (articles) => ({ articles, authors: Math.max(1, Math.floor(articles / 10)), categories: 50 });

/** @returns {TableRows[]} link targets before the tables that link to them */
export const rowsOf = (articles) => {
  const sizes = sizesOf(articles);
  return [...settings(), ...entries(sizes), ...components(sizes), ...links(sizes), ...media(sizes)];
};

/** The category with a list of this length; the articles after the first so many are not in it. */
export const longList = { category: 51, articles: 10_000 };

/** The rows of the long list, for a data set of more articles. @returns {TableRows[]} */
export const longListRows = (articles) => {
  const { categories } = sizesOf(articles);
  const each = 3;
  return [
    {
      table: 'categories',
      columns: ['id', 'name', 'slug', 'description', ...stamps],
      rows: [[longList.category, 'everything', `category-${categories + 1}`, line(0), ...stampsOf(0)]],
    },
    {
      table: 'articles_categories_links',
      columns: ['id', 'article_id', 'category_id', 'category_order', 'article_order'],
      rows: range(longList.articles, (id) => [articles * each + id, id, longList.category, each + 1, id]),
    },
  ];
};

/**
 * The n-th body that creates an article: every scalar attribute, relations, media, a component with nested ones, a
 * zone.
 */
export const articleBody = (turn, articles) => {
  const { authors, categories } = sizesOf(articles);
  const file = (salt) => 1 + pick(turn, salt, articles);
  return {
    data: {
      title: `${word(turn, 81)} ${word(turn, 82)} ${turn}`,
      slug: `created-${turn}`,
      summary: line(turn),
      body: body(turn),
      kind: 'report',
      contact: `desk-${turn}@example.org`,
      internalNote: 'For editors only.',
      views: turn,
      reads: String(9_007_199_254_740_993n + BigInt(turn)),
      rating: pick(turn, 83, 50) / 10,
      price: pick(turn, 84, 100_000) / 100,
      featured: turn % 2 === 0,
      publishedOn: `2025-03-${two(1 + pick(turn, 85, 28))}`,
      opensAt: '09:30:00.000',
      eventAt: new Date(instant(turn, 86)).toISOString(),
      syncedAt: String(instant(turn, 87)),
      details: { tags: [word(turn, 88), word(turn, 89)], layout: { columns: 2, wide: true } },
      author: 1 + pick(turn, 90, authors),
      categories: several(turn, 91, 3, categories),
      cover: file(92),
      gallery: several(turn, 93, 3, articles),
      seo: {
        metaTitle: heading(turn),
        metaDescription: line(turn),
        keywords: [word(turn, 94), word(turn, 95)],
        shareImage: file(96),
        socials: [
          { network: 'mastodon', title: heading(turn + 1), image: file(97) },
          { network: 'bluesky', title: heading(turn + 2), image: file(98) },
        ],
      },
      zone: [
        { __component: 'sections.text', heading: heading(turn + 3), body: paragraph(turn) },
        {
          __component: 'sections.quote',
          text: line(turn + 4),
          source: word(turn, 99),
          person: 1 + pick(turn, 80, authors),
        },
      ],
    },
  };
};

/** The n-th entry that is added to the long list, and an entry of the list that it can be placed before. */
export const listMove = (turn, articles) => ({
  id: longList.articles + 1 + (turn % (articles - longList.articles)),
  before: 1 + pick(turn, 79, longList.articles),
});

// ---- random numbers and words

/** A number below `bound` that depends on the id and on its purpose. */
const pick = (id, salt, bound) => {
  let hash = Math.imul(id ^ Math.imul(salt, 0x9e3779b1), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % bound;
};

const words =
  `harbour light morning table river paper winter garden letter bridge summer engine window story silver market ` +
  `island copper lantern meadow signal anchor orchard timber canvas station kettle compass village thread marble ` +
  `feather corner whistle pebble candle ladder velvet walnut ferry`;
const vocabulary = words.split(' ');
const word = (id, salt) => vocabulary[pick(id, salt, vocabulary.length)];

const sentence = (id, salt) => {
  const said = Array.from({ length: 9 }, (_, i) => word(id, salt + i)).join(' ');
  // typographic punctuation, as editors insert it
  return `${said[0].toUpperCase()}${said.slice(1)}${pick(id, salt, 3) === 0 ? ' — “so it was”' : ''}.`;
};
const prose = (id, salt, sentences) =>
  Array.from({ length: sentences }, (_, i) => sentence(id, salt + i * 16)).join(' ');

/** Texts come from a small set: generating them for every row would take longer than storing them. */
const stock = (salt, sentences) => {
  const texts = Array.from({ length: 97 }, (_, i) => prose(i, salt, sentences));
  return (id) => texts[pick(id, salt, texts.length)];
};
const body = stock(100, 14);
const paragraph = stock(400, 6);
const line = stock(700, 2);
const heading = stock(900, 1);

const two = (number) => String(number).padStart(2, '0');
const start = Date.UTC(2024, 0, 1);
/** A minute in the two years from 2024 on, in milliseconds. */
const instant = (id, salt) => start + pick(id, salt, 1_000_000) * 60_000 + (id % 60_000);

function* range(count, rowFor) {
  for (let id = 1; id <= count; id++) yield rowFor(id);
}

/** Rows of link tables, numbered in order. */
function* numbered(count, rowsFor) {
  let id = 0;
  for (let from = 1; from <= count; from++) for (const row of rowsFor(from)) yield [++id, ...row];
}

const stamps = ['created_at', 'updated_at'];
const stampsOf = (id) => [instant(id, 1), instant(id, 1) + 86_400_000];

// ---- tables

const settings = () => {
  const types = ['article', 'author', 'category', 'comment'];
  const actions = [
    ...types.flatMap((it) => ['find', 'findOne'].map((action) => `api::${it}.${it}.${action}`)),
    'api::article.article.create',
    'api::category.category.update',
    'plugin::upload.content-api.upload',
  ];
  return [
    {
      table: 'up_roles',
      columns: ['id', 'name', 'type', ...stamps],
      rows: ['authenticated', 'public'].map((type, i) => [i + 1, type, type, ...stampsOf(i + 1)]),
    },
    {
      table: 'up_permissions',
      columns: ['id', 'action', ...stamps],
      rows: actions.map((action, i) => [i + 1, action, ...stampsOf(i + 1)]),
    },
    {
      table: 'up_permissions_role_links',
      columns: ['id', 'permission_id', 'role_id', 'permission_order'],
      rows: actions.map((_, i) => [i + 1, i + 1, 2, i + 1]),
    },
  ];
};

const entries = ({ articles, authors, categories }) =>
  [
    {
      table: 'files',
      columns: `id name alternative_text width height formats hash ext mime size url provider folder_path`
        .split(' ')
        .concat(stamps),
      rows: range(articles, (id) => {
        const hash = `${word(id, 3)}_${word(id, 4)}_${pick(id, 5, 0xffffff).toString(16)}`;
        const format = (name, width, height) => ({
          name: `${name}_${hash}.jpg`,
          hash: `${name}_${hash}`,
          ext: '.jpg',
          mime: 'image/jpeg',
          path: null,
          width,
          height,
          size: pick(id, 6, 9000) / 100,
          sizeInBytes: pick(id, 6, 9000) * 10,
          url: `/uploads/${name}_${hash}.jpg`,
        });
        const formats = { thumbnail: format('thumbnail', 234, 156), small: format('small', 500, 333) };
        return [
          id,
          `${hash}.jpg`,
          heading(id),
          1600,
          1066,
          JSON.stringify(formats),
          hash,
          '.jpg',
          'image/jpeg',
          pick(id, 7, 90_000) / 100,
          `/uploads/${hash}.jpg`,
          'local',
          '/',
          ...stampsOf(id),
        ];
      }),
    },
    {
      table: 'authors',
      columns: ['id', 'name', 'slug', 'bio', 'email', ...stamps],
      rows: range(authors, (id) => [
        id,
        `${word(id, 11)} ${word(id, 12)} ${id}`,
        `author-${id}`,
        paragraph(id),
        `author-${id}@example.org`,
        ...stampsOf(id),
      ]),
    },
    {
      table: 'categories',
      columns: ['id', 'name', 'slug', 'description', ...stamps],
      rows: range(categories, (id) => [id, `${word(id, 13)} ${51 - id}`, `category-${id}`, line(id), ...stampsOf(id)]),
    },
    {
      table: 'articles',
      columns:
        `id title slug summary body kind contact internal_note views reads rating price featured published_on opens_at ` +
        `event_at synced_at details created_at updated_at published_at`,
      rows: range(articles, (id) => [
        id,
        `${word(id, 21)} ${word(id, 22)} ${word(id, 23)} ${id}`,
        `article-${id}`,
        line(id),
        body(id),
        ['essay', 'report', 'interview', 'notes'][pick(id, 24, 4)],
        pick(id, 25, 4) === 0 ? null : `desk-${pick(id, 25, 40)}@example.org`,
        'For editors only.',
        // a prime, so that no two articles have the same number of views
        (id * 7919) % 1_000_003,
        String(9_007_199_254_740_993n + BigInt(id)),
        pick(id, 26, 50) / 10,
        pick(id, 27, 5) === 0 ? null : pick(id, 27, 100_000) / 100,
        pick(id, 28, 3) === 0,
        `2024-${two(1 + pick(id, 29, 12))}-${two(1 + pick(id, 30, 28))}`,
        `${two(pick(id, 31, 24))}:${two(pick(id, 32, 60))}:00.000`,
        pick(id, 33, 3) === 0 ? null : instant(id, 33),
        instant(id, 34),
        JSON.stringify({
          tags: [word(id, 35), word(id, 36)],
          layout: { columns: 1 + pick(id, 37, 3), wide: id % 2 === 0 },
        }),
        ...stampsOf(id),
        isDraft(id) ? null : instant(id, 38),
      ]),
    },
    {
      table: 'comments',
      columns: ['id', 'nickname', 'body', 'approved', 'posted_at', ...stamps],
      rows: range(articles * 4, (id) => [
        id,
        `${word(id, 41)}${pick(id, 42, 1000)}`,
        line(id),
        pick(id, 43, 5) !== 0,
        instant(id, 44),
        ...stampsOf(id),
      ]),
    },
  ].map((it) => (typeof it.columns === 'string' ? { ...it, columns: it.columns.split(' ') } : it));

const components = ({ articles }) => [
  {
    table: 'components_shared_seos',
    columns: ['id', 'meta_title', 'meta_description', 'keywords'],
    rows: range(articles, (id) => [
      id,
      heading(id),
      line(id),
      JSON.stringify([word(id, 51), word(id, 52), word(id, 53)]),
    ]),
  },
  {
    table: 'components_shared_socials',
    columns: ['id', 'network', 'title'],
    rows: range(articles * 2, (id) => [id, ['mastodon', 'bluesky', 'linkedin'][pick(id, 54, 3)], heading(id)]),
  },
  {
    table: 'components_sections_texts',
    columns: ['id', 'heading', 'body'],
    rows: range(articles, (id) => [id, heading(id + 1), paragraph(id)]),
  },
  {
    table: 'components_sections_quotes',
    columns: ['id', 'text', 'source'],
    rows: range(articles, (id) => [id, line(id + 2), `${word(id, 55)} ${word(id, 56)}`]),
  },
  {
    table: 'components_sections_pictures',
    columns: ['id', 'caption', 'layout'],
    rows: range(articles, (id) => [id, heading(id + 3), id % 2 === 0 ? 'grid' : 'row']),
  },
  {
    table: 'components_sections_teasers',
    columns: ['id', 'heading'],
    rows: range(articles, (id) => [id, heading(id + 4)]),
  },
];

const zone = ['sections.text', 'sections.quote', 'sections.pictures', 'sections.teasers'];

const links = ({ articles, authors, categories }) => [
  {
    table: 'articles_components',
    columns: ['id', 'entity_id', 'component_id', 'component_type', 'field', 'order'],
    rows: numbered(articles, (id) => [
      [id, id, 'shared.seo', 'seo', null],
      ...zone.map((_, i) => [id, id, zone[(i + id) % zone.length], 'zone', i + 1]),
    ]),
  },
  {
    table: 'components_shared_seos_components',
    columns: ['id', 'entity_id', 'component_id', 'component_type', 'field', 'order'],
    rows: numbered(articles, (id) => [1, 2].map((i) => [id, (id - 1) * 2 + i, 'shared.social', 'socials', i])),
  },
  {
    table: 'articles_author_links',
    columns: ['id', 'article_id', 'author_id', 'article_order'],
    rows: numbered(articles, (id) => [[id, 1 + (id % authors), Math.ceil(id / authors)]]),
  },
  {
    table: 'articles_categories_links',
    columns: ['id', 'article_id', 'category_id', 'category_order', 'article_order'],
    rows: numbered(articles, (id) => {
      const first = pick(id, 61, categories);
      return [0, 1 + pick(id, 62, 20), 22 + pick(id, 63, 20)].map((step, i) => [
        id,
        1 + ((first + step) % categories),
        i + 1,
        id,
      ]);
    }),
  },
  {
    table: 'comments_article_links',
    columns: ['id', 'comment_id', 'article_id', 'comment_order'],
    rows: numbered(articles * 4, (id) => [[id, 1 + pick(id, 64, articles), id]]),
  },
  {
    table: 'articles_related_links',
    columns: ['id', 'article_id', 'inv_article_id', 'article_order'],
    rows: numbered(articles, (id) => several(id, 65, 3, articles).map((to, i) => [id, to, i + 1])),
  },
  {
    table: 'components_sections_quotes_person_links',
    columns: ['id', 'quote_id', 'author_id'],
    rows: numbered(articles, (id) => [[id, 1 + pick(id, 66, authors)]]),
  },
  {
    table: 'components_sections_teasers_articles_links',
    columns: ['id', 'teasers_id', 'article_id', 'article_order'],
    rows: numbered(articles, (id) => several(id, 67, 2, articles).map((to, i) => [id, to, i + 1])),
  },
];

/** Some distinct ids up to `bound`. */
const several = (id, salt, count, bound) => {
  const first = pick(id, salt, bound);
  return Array.from({ length: Math.min(count, bound) }, (_, i) => 1 + ((first + i * 7) % bound));
};

const media = ({ articles, authors }) => {
  const article = 'api::article.article';
  const file = (id, salt) => 1 + pick(id, salt, articles);
  return [
    {
      table: 'files_related_morphs',
      columns: ['id', 'file_id', 'related_id', 'related_type', 'field', 'order'],
      rows: numbered(articles, (id) => [
        ...(id % 10 === 3 ? [] : [[id, id, article, 'cover', 1]]),
        ...several(id, 71, 3, articles).map((it, i) => [it, id, article, 'gallery', i + 1]),
        [file(id, 72), id, 'shared.seo', 'shareImage', 1],
        [file(id, 73), id * 2, 'shared.social', 'image', 1],
        ...several(id, 74, 2, articles).map((it, i) => [it, id, 'sections.pictures', 'pictures', i + 1]),
        ...(id > authors ? [] : [[file(id, 75), id, 'api::author.author', 'avatar', 1]]),
      ]),
    },
  ];
};
