/**
 * The rows of the shared world: a small film archive. Every irregularity has a comment at its row. `Lost Draft` (film
 * 6) and `Second Draft` (film 9) are drafts, and every kind of link of a published entry leads to one of them.
 */
type Value = string | number | boolean | null;
type Row = Readonly<Record<string, Value>>;

/** Timestamps of all rows, in milliseconds; `times` is how responses show them. */
const [created, updated, published] = [1_700_000_000_000, 1_700_000_060_000, 1_700_000_120_000];
export const times = {
  createdAt: '2023-11-14T22:13:20.000Z',
  updatedAt: '2023-11-14T22:14:20.000Z',
  publishedAt: '2023-11-14T22:15:20.000Z',
} as const;

/** Column names once, then one line of values per row; without a column `id`, ids count from 1. */
const rows = (names: readonly string[], values: readonly (readonly Value[])[]): readonly Row[] =>
  values.map((line, i) => ({ id: i + 1, ...Object.fromEntries(names.map((name, at) => [name, line[at] ?? null])) }));

const entries = (names: readonly string[], values: readonly (readonly Value[])[]): readonly Row[] =>
  rows(names, values).map((row) => ({ ...row, created_at: created, updated_at: updated }));

/** Like `entries`, published except for the ids in `drafts`. */
const publishable = (
  names: readonly string[],
  values: readonly (readonly Value[])[],
  ...drafts: readonly number[]
): readonly Row[] =>
  entries(names, values).map((row) => ({
    ...row,
    published_at: drafts.includes(row['id'] as number) ? null : published,
  }));

const parts = ['entity_id', 'component_id', 'component_type', 'field', 'order'];
const hash = `$2a$10$${'x'.repeat(53)}`;

/** A file as responses show it, without its times; `formats` is parsed there. */
export const files = [
  {
    name: 'poster.png',
    alternativeText: 'Poster',
    caption: null,
    width: 300,
    height: 200,
    formats: { thumbnail: { name: 'thumbnail_poster.png', url: '/uploads/thumbnail_poster.png', width: 234 } },
    hash: 'poster_1',
    ext: '.png',
    mime: 'image/png',
    size: 12.34,
    url: '/uploads/poster_1.png',
    previewUrl: null,
    provider: 'local',
    provider_metadata: null,
  },
  {
    name: 'portrait.jpg',
    alternativeText: null,
    caption: 'Zoë, 1911',
    width: 80,
    height: 60,
    formats: null,
    hash: 'portrait_2',
    ext: '.jpg',
    mime: 'image/jpeg',
    size: 5,
    url: '/uploads/portrait_2.jpg',
    previewUrl: null,
    provider: 'local',
    provider_metadata: null,
  },
  {
    name: 'scan.pdf',
    alternativeText: null,
    caption: null,
    width: null,
    height: null,
    formats: null,
    hash: 'scan_3',
    ext: '.pdf',
    mime: 'application/pdf',
    size: 100.5,
    url: '/uploads/scan_3.pdf',
    previewUrl: null,
    provider: 'local',
    provider_metadata: { etag: 'abc' },
  },
] as const;

const json = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

export const transcript = [{ type: 'paragraph', children: [{ type: 'text', text: 'Silence.' }] }] as const;

const reelColumns = [
  'label',
  'remark',
  'report',
  'condition',
  'contact',
  'barcode',
  'vault_code',
  'seal_number',
  'appraisal',
  'recorded_on',
  'starts_at',
  'received_at',
  'scanned_at',
  'frames',
  'bytes',
  'length',
  'price',
  'nitrate',
  'metadata',
  'keywords',
  'transcript',
];

/** Tables in an order that foreign keys accept. */
export const worldRows: readonly (readonly [table: string, rows: readonly Row[]])[] = [
  [
    'admin_users',
    entries(['firstname', 'lastname', 'username', 'email'], [['Ada', 'Quill', 'ada', 'ada@example.org']]),
  ],
  [
    'files',
    entries(
      [
        'name',
        'alternative_text',
        'caption',
        'width',
        'height',
        'formats',
        'hash',
        'ext',
        'mime',
        'size',
        'url',
        'provider',
        'provider_metadata',
        'folder_path',
      ],
      files.map((it) => [
        it.name,
        it.alternativeText,
        it.caption,
        it.width,
        it.height,
        json(it.formats),
        it.hash,
        it.ext,
        it.mime,
        it.size,
        it.url,
        it.provider,
        json(it.provider_metadata),
        '/',
      ]),
    ),
  ],
  [
    'people',
    entries(
      ['name', 'nickname', 'born', 'pin', 'diary', 'created_by_id'],
      [
        ['Zoë Ångström', 'Z', '1890-05-01', hash, 'a secret wish', 1],
        ['Bo', null, null, null, null],
        ['émile', 'Em', '1911-11-30', null, null],
        ['Emile', 'Bo', '1911-11-30', null, null],
        ['', null, '0999-12-31', null, null],
      ],
    ),
  ],
  [
    'genres',
    publishable(
      ['name', 'order'],
      [
        ['Drama', 2],
        ['Comedy', 1],
        ['Noir', null],
        ['Hidden Genre', 1],
        ['Short', 2],
      ],
      4,
    ),
  ],
  ['donors', entries(['name'], [['Secret Donor'], ['Other Donor']])],
  [
    'films',
    publishable(
      ['title', 'tagline', 'year', 'score', 'created_by_id'],
      [
        ['Éclair', 'A pastry, a storm', 1911, 7.5, 1],
        ['éclair de lune', '', 1920, 8.25],
        ['100% Wool', null, -44, null],
        ['under_score', 'back\\slash', 1920, 0],
        ['underXscore', 'ends with %', 1931, -1.5],
        ['Lost Draft', 'a secret tagline', 1999, 9.99],
        ['The Cat 😺', null, null, null],
        [null, 'no title', 1950, 7.5],
        ['Second Draft', null, 1920, 1],
      ],
      6,
      9,
    ),
  ],
  [
    'programmes',
    publishable(
      ['name', 'backup_id'],
      [
        ['Opening Night', 6],
        ['Draft Night', 1],
        ['Empty Night', null],
        ['Matinée', 1],
      ],
      2,
    ),
  ],
  [
    'reels',
    entries(reelColumns, [
      [
        'Reel one',
        'two\nlines',
        '# Report',
        'mint',
        'a@example.org',
        'reel-1',
        hash,
        'seal 1',
        'worth little',
        '1911-02-28',
        '10:20:30.123',
        1_700_000_000_123,
        1_709_251_200_000,
        24,
        '9007199254740993',
        1.5,
        12.5,
        true,
        '{"b":[1,"é"],"a":null}',
        '["x","y"]',
        json(transcript),
      ],
      // only a label, which is empty
      [''],
      [
        'Negative',
        null,
        null,
        'worn',
        null,
        'reel-3',
        null,
        null,
        null,
        '0999-12-31',
        '01:30:00.000',
        -1,
        -1,
        -7,
        '-9223372036854775808',
        -0.25,
        -99_999.99,
        false,
        '"text"',
        '[]',
        null,
      ],
      [
        'Greatest',
        null,
        null,
        'a value the schema file does not know',
        null,
        'reel-4',
        null,
        null,
        null,
        '2024-02-29',
        '23:59:59.999',
        253_402_300_799_999,
        0,
        2_147_483_647,
        '9223372036854775807',
        0.1,
        0.1,
        true,
        '5',
        null,
        null,
      ],
      [
        'Falsy',
        '',
        '',
        null,
        null,
        'reel-5',
        null,
        null,
        null,
        null,
        null,
        0,
        null,
        0,
        '0',
        0,
        0,
        false,
        'false',
        null,
        null,
      ],
    ]),
  ],
  [
    'notices',
    entries(
      ['text', 'locale'],
      [
        ['Hello', 'en'],
        ['Bonjour', 'fr'],
        ['Hallo', 'de'],
        ['Nowhere', null],
        ['Hello again', 'en'],
      ],
    ),
  ],
  ['lobbies', publishable(['headline'], [['Soon']], 1)],
  ['house_rules', entries(['text'], [['No food.']])],

  // ---- components
  [
    'components_people_credits',
    rows(
      ['role', 'billing', 'note'],
      [
        ['Auteur', 1, 'a private note'],
        [null, 2, null],
        ['Editor', 3, null],
        ['Grip', 4, null],
      ],
    ),
  ],
  [
    'components_people_awards',
    rows(
      ['title', 'year'],
      [
        ['Silver', 1912],
        ['Gold', 1913],
      ],
    ),
  ],
  ['components_people_citations', rows(['text'], [['For light'], ['b'], ['a']])],
  ['components_parts_facts', rows(['text'], [['alpha'], ['beta'], ['gamma'], ['delta'], ['without rank'], ['ranked']])],
  ['components_blocks_quotes', rows(['text'], [['Light!'], ['under_%'], ['Aside'], ['Second'], ['In a draft']])],
  ['components_blocks_galleries', rows(['caption'], [['On set']])],
  ['components_blocks_related', rows(['heading', 'text'], [['More', 'see']])],
  ['components_blocks_citations', rows(['text'], [['list']])],
  [
    'films_components',
    rows(parts, [
      [1, 1, 'people.credit', 'credit', null],
      [2, 2, 'people.credit', 'credit', null],
      // the component's row is gone
      [3, 99, 'people.credit', 'credit', null],
      // two rows of a single component
      [4, 4, 'people.credit', 'credit', null],
      [4, 3, 'people.credit', 'credit', null],
      [1, 3, 'parts.fact', 'facts', 1],
      // equal ranks
      [1, 2, 'parts.fact', 'facts', 2],
      [1, 1, 'parts.fact', 'facts', 2],
      [1, 98, 'parts.fact', 'facts', 3],
      // left behind by a schema file that had another component here
      [1, 1, 'blocks.quote', 'facts', 0],
      // no rank
      [2, 5, 'parts.fact', 'facts', null],
      [2, 6, 'parts.fact', 'facts', 1],
      // in one zone: ids that occur in several components, equal ranks, an unknown component, a missing row
      [1, 1, 'blocks.quote', 'body', 1],
      [1, 1, 'blocks.related', 'body', 2],
      [1, 1, 'blocks.gallery', 'body', 3],
      [1, 2, 'blocks.quote', 'body', 3],
      [1, 1, 'blocks.gone', 'body', 4],
      [1, 77, 'blocks.gallery', 'body', 5],
      [1, 1, 'blocks.citations', 'aside', 2],
      [1, 3, 'blocks.quote', 'aside', 1],
      [2, 4, 'blocks.quote', 'body', 1],
      [6, 5, 'blocks.quote', 'body', 1],
    ]),
  ],
  ['lobbies_components', rows(parts, [[1, 4, 'parts.fact', 'banner', null]])],
  [
    'components_people_credits_components',
    rows(parts, [
      [1, 2, 'people.award', 'awards', 1],
      [1, 1, 'people.award', 'awards', 2],
    ]),
  ],
  ['components_people_awards_components', rows(parts, [[1, 1, 'people.citation', 'citation', null]])],
  [
    'components_blocks_citations_components',
    rows(parts, [
      [1, 3, 'people.citation', 'list', 1],
      [1, 2, 'people.citation', 'list', 2],
    ]),
  ],

  // ---- media
  [
    'files_related_morphs',
    rows(
      ['file_id', 'related_id', 'related_type', 'field', 'order'],
      [
        [1, 1, 'api::film.film', 'poster', 1],
        // a single media field with two rows
        [3, 2, 'api::film.film', 'poster', 1],
        [2, 2, 'api::film.film', 'poster', 1],
        [2, 1, 'api::film.film', 'stills', 1],
        [3, 1, 'api::film.film', 'stills', 2],
        [1, 1, 'api::film.film', 'stills', 2],
        // of an entry that no longer exists
        [1, 999, 'api::film.film', 'poster', 1],
        [2, 1, 'api::person.person', 'portrait', 1],
        [2, 1, 'people.credit', 'portrait', 1],
        [3, 1, 'people.citation', 'scan', 1],
        [3, 1, 'blocks.gallery', 'images', 1],
        [1, 1, 'blocks.gallery', 'images', 2],
      ],
    ),
  ],

  // ---- relations of films
  [
    'films_director_links',
    rows(
      ['film_id', 'person_id', 'film_order'],
      [
        [1, 1, 2],
        [2, 1, 1],
        [6, 1, 3],
        [4, 1, null],
        [3, 2, 1],
        // two rows of a to-one relation, and equal ranks in the list of person 2
        [5, 3, 1],
        [5, 2, 1],
        [9, 2, 2],
      ],
    ),
  ],
  ['films_confidant_links', rows(['film_id', 'person_id'], [[1, 3]])],
  [
    'films_lender_links',
    rows(
      ['film_id', 'donor_id', 'film_order'],
      [
        [1, 1, 1],
        [2, 1, 2],
      ],
    ),
  ],
  [
    'films_genres_links',
    rows(
      ['film_id', 'genre_id', 'genre_order', 'film_order'],
      [
        [1, 5, 1, 1],
        [1, 2, 2, 1],
        [1, 1, 2, 2],
        [1, 4, 3, 1],
        [2, 1, 1, 4],
        [3, 2, 1, 2],
        [3, 1, 2, 1],
        [6, 1, 1, 3],
        [6, 2, 2, 3],
      ],
    ),
  ],
  [
    'reels_film_links',
    rows(
      ['reel_id', 'film_id', 'reel_order'],
      [
        [1, 1, 2],
        [2, 1, 1],
        [3, 6, 1],
      ],
    ),
  ],
  [
    'films_double_bill_links',
    rows(
      ['film_id', 'inv_film_id'],
      [
        [1, 6],
        [2, 3],
        [4, 3],
      ],
    ),
  ],
  [
    'films_answer_links',
    rows(
      ['film_id', 'inv_film_id'],
      [
        [1, 2],
        [6, 3],
        [4, 9],
      ],
    ),
  ],
  [
    'films_source_links',
    rows(
      ['film_id', 'inv_film_id'],
      [
        [3, 6],
        [4, 1],
        [5, 1],
      ],
    ),
  ],
  [
    'films_remake_of_links',
    rows(
      ['film_id', 'inv_film_id', 'film_order'],
      [
        [2, 1, 1],
        [6, 1, 2],
        [3, 1, 3],
        [4, 6, 1],
      ],
    ),
  ],
  [
    'films_episodes_links',
    rows(
      ['film_id', 'inv_film_id', 'film_order'],
      [
        [5, 4, 1],
        [5, 6, 2],
        [5, 7, 3],
      ],
    ),
  ],
  [
    'films_similar_links',
    rows(
      ['film_id', 'inv_film_id', 'film_order'],
      [
        [1, 3, 1],
        [1, 5, 2],
        [1, 6, 3],
        [1, 2, 4],
        [2, 5, 1],
      ],
    ),
  ],
  [
    'films_influences_links',
    rows(
      ['film_id', 'inv_film_id', 'film_order', 'inv_film_order'],
      [
        [1, 2, 1, 1],
        // related to itself
        [1, 1, 2, 1],
        [3, 1, 1, 2],
        [3, 6, 2, 1],
        [6, 1, 1, 3],
      ],
    ),
  ],
  [
    'films_cycle_links',
    rows(
      ['film_id', 'programme_id', 'film_order'],
      [
        [1, 1, 2],
        [6, 1, 1],
        [2, 1, 3],
        [5, 2, 1],
      ],
    ),
  ],

  // ---- relations of programmes: one attribute for each kind
  [
    'programmes_opener_links',
    rows(
      ['programme_id', 'film_id'],
      [
        [1, 6],
        [2, 1],
        [4, 1],
      ],
    ),
  ],
  [
    'programmes_gala_links',
    rows(
      ['programme_id', 'film_id'],
      [
        [1, 6],
        [2, 1],
        [4, 3],
      ],
    ),
  ],
  [
    'programmes_strand_links',
    rows(
      ['programme_id', 'film_id', 'film_order'],
      [
        [1, 3, 1],
        [1, 6, 2],
        [1, 1, 3],
        [2, 2, 1],
      ],
    ),
  ],
  [
    'programmes_closing_links',
    rows(
      ['programme_id', 'film_id'],
      [
        [1, 6],
        [2, 1],
        [4, 1],
      ],
    ),
  ],
  [
    'programmes_keynote_links',
    rows(
      ['programme_id', 'film_id', 'programme_order'],
      [
        [1, 6, 1],
        [2, 1, 1],
        [4, 1, 2],
      ],
    ),
  ],
  [
    'programmes_extras_links',
    rows(
      ['programme_id', 'film_id', 'film_order'],
      [
        [1, 6, 1],
        [1, 2, 2],
        [2, 1, 1],
      ],
    ),
  ],
  [
    'programmes_lineup_links',
    rows(
      ['programme_id', 'film_id', 'film_order', 'programme_order'],
      [
        [1, 1, 1, 2],
        [1, 6, 2, 1],
        [1, 3, 3, 1],
        [2, 1, 1, 1],
      ],
    ),
  ],

  // ---- other relations
  [
    'people_mentor_links',
    rows(
      ['person_id', 'inv_person_id', 'person_order'],
      [
        [2, 1, 2],
        [3, 1, 1],
        [4, 3, null],
        [5, 3, 1],
      ],
    ),
  ],
  [
    'genres_parent_links',
    rows(
      ['genre_id', 'inv_genre_id', 'genre_order'],
      [
        [2, 1, 2],
        [3, 1, 1],
        [4, 1, 3],
        [5, 4, 1],
      ],
    ),
  ],
  [
    'notices_film_links',
    rows(
      ['notice_id', 'film_id'],
      [
        [1, 1],
        [2, 6],
      ],
    ),
  ],
  [
    'notices_localizations_links',
    rows(
      ['notice_id', 'inv_notice_id', 'notice_order'],
      [
        [1, 2, 1],
        [2, 1, 1],
      ],
    ),
  ],
  [
    'lobbies_featured_links',
    rows(
      ['lobby_id', 'film_id', 'film_order'],
      [
        [1, 1, 1],
        [1, 6, 2],
      ],
    ),
  ],
  ['house_rules_contact_links', rows(['house_rules_id', 'person_id'], [[1, 1]])],
  ['house_rules_favourite_links', rows(['house_rules_id', 'film_id'], [[1, 6]])],
  [
    'components_people_credits_person_links',
    rows(
      ['credit_id', 'person_id'],
      [
        [1, 1],
        [3, 2],
      ],
    ),
  ],
  [
    'components_people_awards_jury_links',
    rows(
      ['award_id', 'person_id', 'person_order'],
      [
        [1, 3, 1],
        [1, 1, 2],
      ],
    ),
  ],
  [
    'components_people_citations_source_links',
    rows(
      ['citation_id', 'film_id'],
      [
        [1, 6],
        [2, 2],
      ],
    ),
  ],
  [
    'components_people_citations_speakers_links',
    rows(
      ['citation_id', 'person_id', 'person_order'],
      [
        [1, 2, 1],
        [1, 1, 2],
      ],
    ),
  ],
  [
    'components_parts_facts_source_links',
    rows(
      ['fact_id', 'film_id'],
      [
        [1, 2],
        [3, 6],
        [4, 6],
      ],
    ),
  ],
  [
    'components_blocks_quotes_speaker_links',
    rows(
      ['quote_id', 'person_id'],
      [
        [1, 2],
        [3, 3],
      ],
    ),
  ],
  [
    'components_blocks_related_films_links',
    rows(
      ['related_id', 'film_id', 'film_order'],
      [
        [1, 2, 1],
        [1, 6, 2],
        [1, 1, 3],
      ],
    ),
  ],
  ['components_blocks_related_donor_links', rows(['related_id', 'donor_id'], [[1, 1]])],

  // ---- permissions; the actions of the public role come from the model, see world.ts
  [
    'up_roles',
    entries(
      ['name', 'description', 'type'],
      [
        ['Authenticated', 'Logged in', 'authenticated'],
        ['Public', 'Anybody', 'public'],
      ],
    ),
  ],
];
