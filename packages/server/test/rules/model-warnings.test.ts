/** Schema files that v4 starts with although something is wrong: they are read as v4 reads them, with a warning. */
import { describe, expect, it } from 'vitest';
import { formatNote, type SchemaNote } from '../../src/model/load.js';
import type { LinkAttribute } from '../../src/model/model.js';
import { tablesOf } from '../../src/model/storage.js';
import {
  component,
  contentType,
  type Files,
  type Json,
  load,
  modelOf,
  sound,
  toAuthor,
  typeFile,
  withThing,
} from '../world/schemas.js';

const warningsOf = (files: Files): readonly SchemaNote[] => {
  const loaded = load(files);
  expect(loaded.ok ? [] : loaded.faults).toEqual([]);
  return loaded.warnings;
};

const toMany = (target: string, changes: Json): Json => ({
  type: 'relation',
  relation: 'manyToMany',
  target,
  ...changes,
});

/** Where the links of an attribute are stored. */
const linksOf = (files: Files, uid: string, name: string) => {
  const attribute = modelOf(files).types.get(uid)?.attributes.get(name) as LinkAttribute | undefined;
  return attribute && { side: attribute.side, inverse: attribute.inverse, ...attribute.path };
};

describe('schema files with warnings', () => {
  it.each<[file: string, noted: string, words: string]>([
    [
      'src/api/page/content-type/page/schema.json',
      'src/api/page/content-type',
      'is not read; did you mean "content-types"?',
    ],
    [
      'src/api/page/content-types/schema.json',
      'src/api/page/content-types/schema.json',
      'is not read: a content type has a folder of its own, content-types/<name>/schema.json',
    ],
    [
      'src/components/seo.json',
      'src/components/seo.json',
      'is not read: a component is in the folder of its category, <category>/<name>.json',
    ],
  ])('a file that is not where it would be read: %s', (file, noted, words) => {
    expect(warningsOf({ ...sound, [file]: {} })).toEqual([{ file: noted, place: '', message: words }]);
  });

  it('a valid project has none', () => {
    expect(warningsOf(sound)).toEqual([]);
  });

  it.each<[what: string, attributes: Json, place: string, words: string]>([
    [
      'a rule of the wrong form',
      { x: { type: 'string', minLength: 'three' } },
      'attributes.x.minLength',
      'must be a non-negative integer, not "three"; it has no effect',
    ],
    [
      'a flag of the wrong form',
      { x: { type: 'string', required: 'yes' } },
      'attributes.x.required',
      'must be true or false, not "yes"; treated as true, as in v4',
    ],
    [
      'a flag that v4 wants to be exactly true',
      { x: { type: 'component', component: 'shared.seo', repeatable: 1 } },
      'attributes.x.repeatable',
      'treated as false, as in v4',
    ],
    [
      'a system attribute',
      { createdAt: { type: 'string' } },
      'attributes.createdAt',
      'is added by the server, as in v4',
    ],
    ['a creator field', { createdBy: { type: 'string' } }, 'attributes.createdBy', 'this definition has no effect'],
    [
      'a key with a slip',
      { x: { type: 'string', requird: true } },
      'attributes.x.requird',
      'is not a known key and has no effect; did you mean "required"?',
    ],
    [
      'a short key with a slip',
      { x: { type: 'integer', mn: 1 } },
      'attributes.x.mn',
      'is not a known key and has no effect; did you mean "min"?',
    ],
    [
      'a key that nobody knows',
      { x: { type: 'integer', unheardOf: 1 } },
      'attributes.x.unheardOf',
      'is not a known key and has no effect',
    ],
    [
      'an unknown owner side',
      { x: toAuthor({ relation: 'oneToMany', mappedBy: 'boks' }) },
      'attributes.x.mappedBy',
      'api::author.author has no relation "boks"; did you mean "books"?; until then the attribute is left out, as in v4',
    ],
    [
      'an owner side that points elsewhere',
      { x: toMany('api::author.author', { mappedBy: 'books' }) },
      'attributes.x.mappedBy',
      '"books" of api::author.author points to api::book.book; until then the attribute is left out, as in v4',
    ],
    [
      'an owner side of a type that does not exist',
      { x: toMany('api::autor.autor', { mappedBy: 'books' }) },
      'attributes.x.target',
      'did you mean "api::author.author"?; until then the attribute is left out, as in v4',
    ],
    [
      'a type of another plugin',
      { x: toMany('plugin::comments.comment', {}) },
      'attributes.x.target',
      'types of other plugins are not loaded, and the attribute is left out',
    ],
    [
      'an inverse side that belongs to another relation',
      { x: toAuthor({ relation: 'oneToOne', inversedBy: 'books' }) },
      'attributes.x.inversedBy',
      '"books" of api::author.author points to api::book.book and does not show these links',
    ],
    [
      'an unknown targetField',
      { name: { type: 'string' }, x: { type: 'uid', targetField: 'nme' } },
      'attributes.x.targetField',
      '"nme" is not an attribute; did you mean "name"?',
    ],
    [
      'a default that is not in the enumeration',
      { x: { type: 'enumeration', enum: ['draft', 'final'], default: 'finl' } },
      'attributes.x.default',
      '"finl" is not in "enum"; did you mean "final"?; entries cannot be created without a value for this attribute',
    ],
    ['a default of another type', { x: { type: 'boolean', default: 'maybe' } }, 'attributes.x.default', 'boolean'],
    ['a default that is no number', { x: { type: 'integer', default: 1.5 } }, 'attributes.x.default', 'an integer'],
    [
      'a default that is no day',
      { x: { type: 'date', default: '2024-02-30' } },
      'attributes.x.default',
      'Invalid date',
    ],
    [
      'a default outside of the bounds',
      { x: { type: 'decimal', default: 5, max: 4 } },
      'attributes.x.default',
      'less than or equal to 4',
    ],
    ['a default that is too short', { x: { type: 'string', default: 'a', minLength: 2 } }, 'attributes.x.default', '2'],
    [
      'a bound that is no number',
      { x: { type: 'float', min: 'low' } },
      'attributes.x.min',
      '"low" is not a valid bound for type float; it has no effect',
    ],
    [
      'a bound that is not whole',
      { x: { type: 'biginteger', max: 1.5 } },
      'attributes.x.max',
      '1.5 is not a valid bound for type',
    ],
    [
      'a bound of a number that is a text',
      { x: { type: 'integer', min: '3' } },
      'attributes.x.min',
      '"3" is not a valid bound for type integer; it has no effect, as in v4: write the number 3 without quotes',
    ],
    [
      'a zone without components',
      { x: { type: 'dynamiczone', components: [] } },
      'attributes.x.components',
      'is empty, so the zone of every entry is empty: list the components that it takes',
    ],
    [
      'crossed bounds',
      { x: { type: 'integer', min: 5, max: 3 } },
      'attributes.x.min',
      '5 is above "max": 3; no value can satisfy both',
    ],
    [
      'crossed lengths',
      { x: { type: 'string', minLength: 5, maxLength: 3 } },
      'attributes.x.minLength',
      '5 is above "maxLength": 3',
    ],
    [
      'crossed counts of a component',
      { x: { type: 'component', component: 'shared.seo', repeatable: true, min: 3, max: 2 } },
      'attributes.x.min',
      '3 is above "max": 2',
    ],
    [
      'crossed counts of a zone',
      { x: { type: 'dynamiczone', components: ['shared.seo'], min: 3, max: 2 } },
      'attributes.x.min',
      '3 is above "max": 2',
    ],
    [
      'an unknown type of file',
      { x: { type: 'media', allowedTypes: ['files', 'image'] } },
      'attributes.x.allowedTypes.1',
      '"image" is not a file type; did you mean "images"?',
    ],
    ['a media attribute of the wrong form', { x: { type: 'media', multiple: 'yes' } }, 'attributes.x.multiple', 'true'],
    [
      'a broken regex',
      { x: { type: 'string', regex: '(' } },
      'attributes.x.regex',
      '"(" is not a regular expression; it has no effect',
    ],
    [
      'two relations with one link table',
      { my_tags: toMany('api::author.author', {}), myTags: toMany('api::author.author', {}) },
      'attributes.myTags',
      'uses the same link table "things_my_tags_links" as "my_tags": they share their links, as in v4',
    ],
  ])('%s: %j', (_what, attributes, place, words) => {
    expect(warningsOf(withThing(attributes))).toEqual([
      { file: typeFile('thing'), place, message: expect.stringContaining(words) },
    ]);
  });

  it.each<[what: string, changes: Json, place: string, words: string]>([
    ['no kind', { kind: undefined }, 'kind', 'is missing; treated as "collectionType", as in v4'],
    ['an unknown kind', { kind: 'doubleType' }, 'kind', '"doubleType" is treated as "collectionType", as in v4'],
    ['a kind with a slip', { kind: 'singletype' }, 'kind', 'did you mean "singleType"?'],
    [
      'an option of the wrong form',
      { options: { draftAndPublish: 'yes' } },
      'options.draftAndPublish',
      'must be true or false, not "yes"; treated as false, as in v4',
    ],
    [
      'a key of info that nobody knows',
      { info: { singularName: 'thing', pluralName: 'things', colour: 'red' } },
      'info.colour',
      'is not a known key and has no effect',
    ],
    [
      'an option that nobody knows',
      { options: { cached: true } },
      'options.cached',
      'is not a known key and has no effect',
    ],
    ['a plugin with a slip', { pluginOptions: { i18m: {} } }, 'pluginOptions.i18m', 'did you mean "i18n"?'],
    ['an option with a slip', { options: { draftAndPublsh: true } }, 'options.draftAndPublsh', '"draftAndPublish"?'],
    ['a key with a slip', { colectionName: 'x' }, 'colectionName', 'did you mean "collectionName"?'],
    [
      'an option of i18n with a slip',
      { pluginOptions: { i18n: { localised: true } } },
      'pluginOptions.i18n.localised',
      'did you mean "localized"?',
    ],
  ])('content type: %s', (_what, changes, place, words) => {
    expect(warningsOf(withThing({}, changes))).toEqual([
      { file: typeFile('thing'), place, message: expect.stringContaining(words) },
    ]);
  });

  it('an unknown key in the info of a component', () => {
    const info = { displayName: 'SEO', icn: 'x' };
    expect(
      warningsOf({ ...sound, 'src/components/shared/seo.json': { ...component('components_shared_seos', {}), info } }),
    ).toEqual([
      {
        file: 'src/components/shared/seo.json',
        place: 'info.icn',
        message: 'is not a known key and has no effect; did you mean "icon"?',
      },
    ]);
  });

  it('BO6: a bound of a biginteger may be a string, which loses no digits', () => {
    expect(warningsOf(withThing({ x: { type: 'biginteger', min: '9007199254740993' } }))).toEqual([]);
  });

  it('keys that v4 and its plugins know cause no warning', () => {
    const attributes = {
      a: { type: 'integer', min: null, max: null, default: null, pluginOptions: { seo: {} }, configurable: false },
      b: { type: 'string', minLength: null, maxLength: null, regex: null, options: { hint: 'x' } },
      c: { type: 'component', component: 'shared.seo', min: 3, max: 2 },
      d: { type: 'datetime', min: 'today' },
      e: { type: 'string', default: 'a', minLength: 2 },
      _lead: { type: 'string' },
      'kebab-name': { type: 'string' },
      éTat: { type: 'string' },
      '2nd': { type: 'string' },
    };
    const changes = {
      options: { draftAndPublish: true, comment: '', reviewWorkflows: false },
      pluginOptions: { 'content-manager': { visible: false }, i18n: { localized: false } },
    };
    expect(warningsOf(withThing(attributes, changes))).toEqual([]);
  });

  it('publishedAt, locale and localizations may be declared if the server adds none', () => {
    const dated = { publishedAt: { type: 'datetime' } };
    const placed = { locale: { type: 'string' } };
    expect(warningsOf(withThing({ ...dated, ...placed }))).toEqual([]);
    expect(warningsOf(withThing(dated, { options: { draftAndPublish: true } }))).toHaveLength(1);
    expect(warningsOf(withThing(placed, { pluginOptions: { i18n: { localized: true } } }))).toHaveLength(1);
  });

  it('LO8: a unique attribute that all locales share can have a value in one of them only', () => {
    const i18n = { i18n: { localized: true } };
    const attributes = {
      serial: { type: 'string', unique: true },
      own: { type: 'string', unique: true, pluginOptions: i18n },
      slug: { type: 'uid' },
    };
    const warnings = warningsOf(withThing(attributes, { pluginOptions: i18n }));
    expect(warnings.map(({ place, message }) => [place, message])).toEqual([
      ['attributes.serial.unique', expect.stringContaining('an entry with a value has one locale')],
    ]);
    expect(warningsOf(withThing({ serial: { type: 'string', unique: true } }))).toEqual([]);
  });

  it('a definition added by the server takes precedence over the file’s', () => {
    const model = modelOf(withThing({ createdAt: { type: 'string' }, x: { type: 'string' } }));
    expect(model.types.get('api::thing.thing')?.attributes.get('createdAt')).toMatchObject({ type: 'datetime' });
  });

  it('an invalid rule has no effect', () => {
    const model = modelOf(withThing({ x: { type: 'string', regex: '(', minLength: 'a', maxLength: -1 } }));
    expect(model.types.get('api::thing.thing')?.attributes.get('x')).toMatchObject({
      rules: { regex: null, minLength: null, maxLength: null },
    });
  });

  it('a project without content types still serves users and files', () => {
    const [warning, ...others] = warningsOf({
      'package.json': '{ "dependencies": { "@strapi/strapi": "4.26.2" } }',
    });
    expect(warning?.message).toContain('only users, roles and files are served');
    expect(others).toEqual([]);
  });

  it('a byte order mark, folders in another case, and unrelated files', () => {
    const thing = contentType('my-thing', {});
    const files = {
      'src/api/MyThings/content-types/myThing/schema.json': `\uFEFF${JSON.stringify(thing)}`,
      'src/api/.gitkeep': '',
      'src/api/MyThings/content-types/.gitkeep': '',
      'src/components/.gitkeep': '',
    };
    expect([...modelOf(files).types.keys()]).toContain('api::my-things.my-thing');
  });

  it('ST1: the table of a plugin type without collectionName', () => {
    const file = 'src/extensions/users-permissions/content-types/note/schema.json';
    const model = modelOf({ ...sound, [file]: contentType('note', {}, { collectionName: undefined }) });
    expect(model.types.get('plugin::users-permissions.note')?.table).toBe('users-permissions_note');
  });
});

describe('relations whose sides contradict each other', () => {
  /** v4 processes types in folder order: `product` comes after `category`, so its links are used. */
  const shop = (category: Json, product: Json, more: Files = {}): Files => ({
    [typeFile('category')]: contentType('category', category),
    [typeFile('product')]: contentType('product', product),
    ...more,
  });
  const bothInversed = shop(
    { products: toMany('api::product.product', { inversedBy: 'categories' }) },
    { categories: toMany('api::category.category', { inversedBy: 'products' }) },
  );

  it('ST3: both sides say inversedBy: one table, that of the type which comes last', () => {
    const table = 'products_categories_links';
    expect(linksOf(bothInversed, 'api::product.product', 'categories')).toMatchObject({
      side: 'owner',
      inverse: 'products',
      table,
      from: 'product_id',
      to: 'category_id',
      rank: 'category_order',
    });
    expect(linksOf(bothInversed, 'api::category.category', 'products')).toMatchObject({
      side: 'inverse',
      inverse: 'categories',
      table,
      from: 'category_id',
      to: 'product_id',
      rank: 'product_order',
    });
    expect(tablesOf(modelOf(bothInversed)).map((it) => it.name)).not.toContain('categories_products_links');
    expect(warningsOf(bothInversed).map(formatNote)).toEqual([
      `${typeFile('category')}: attributes.products.inversedBy: both sides say "inversedBy": as in v4 both show the links of "categories" of api::product.product; rename "inversedBy" to "mappedBy" here`,
    ]);
  });

  it('following that warning’s advice changes no table', () => {
    const mended = shop(
      { products: toMany('api::product.product', { mappedBy: 'categories' }) },
      { categories: toMany('api::category.category', { inversedBy: 'products' }) },
    );
    expect(warningsOf(mended)).toEqual([]);
    const tables = (files: Files) => tablesOf(modelOf(files)).map(({ name, columns }) => ({ name, columns }));
    expect(tables(mended)).toEqual(tables(bothInversed));
  });

  it('ST3: one-to-one from both sides', () => {
    const one = (target: string, inversedBy: string): Json => toMany(target, { relation: 'oneToOne', inversedBy });
    const files = shop(
      { main: one('api::product.product', 'heading') },
      { heading: one('api::category.category', 'main') },
    );
    expect(linksOf(files, 'api::category.category', 'main')).toMatchObject({
      side: 'inverse',
      table: 'products_heading_links',
      from: 'category_id',
    });
  });

  it('an attribute that names itself is seen from the other side', () => {
    const files = shop({ related: toMany('api::category.category', { inversedBy: 'related' }) }, {});
    expect(linksOf(files, 'api::category.category', 'related')).toMatchObject({
      table: 'categorys_related_links',
      from: 'inv_category_id',
      to: 'category_id',
      rank: 'inv_category_order',
    });
    const table = tablesOf(modelOf(files)).find((it) => it.name === 'categorys_related_links');
    expect(table?.columns.map((it) => it.name)).toEqual([
      'id',
      'category_id',
      'inv_category_id',
      'category_order',
      'inv_category_order',
    ]);
    expect(warningsOf(files)).toEqual([
      expect.objectContaining({ message: expect.stringContaining('names its own attribute') }),
    ]);
  });

  it('one side says both: it owns the links', () => {
    const files = shop(
      { products: toMany('api::product.product', { mappedBy: 'categories' }) },
      { categories: toMany('api::category.category', { inversedBy: 'products', mappedBy: 'products' }) },
    );
    expect(linksOf(files, 'api::category.category', 'products')).toMatchObject({ table: 'products_categories_links' });
    expect(warningsOf(files).map(formatNote)).toEqual([
      `${typeFile('product')}: attributes.categories: mappedBy and inversedBy are mutually exclusive: as in v4, mappedBy has no effect; remove one of them`,
    ]);
  });

  it('two owners name the same inverse side: it shows the links of the last one', () => {
    const files = shop(
      { products: toMany('api::product.product', { mappedBy: 'categories' }) },
      {
        categories: toMany('api::category.category', { inversedBy: 'products' }),
        others: toMany('api::category.category', { inversedBy: 'products' }),
      },
    );
    expect(linksOf(files, 'api::category.category', 'products')).toMatchObject({
      table: 'products_others_links',
      inverse: 'others',
    });
    expect(linksOf(files, 'api::product.product', 'categories')).toMatchObject({ table: 'products_categories_links' });
    expect(warningsOf(files).map((it) => [it.file, it.place])).toEqual([
      [typeFile('category'), 'attributes.products.mappedBy'],
      [typeFile('product'), 'attributes.categories.inversedBy'],
    ]);
  });

  it('an owner that does not name its inverse: v4 leaves the inverse out of responses', () => {
    const author = contentType('author', {
      books: { type: 'relation', relation: 'oneToMany', target: 'api::book.book', mappedBy: 'author' },
      essays: { type: 'relation', relation: 'oneToMany', target: 'api::book.book', mappedBy: 'author' },
    });
    const files = { ...sound, [typeFile('author')]: author };
    expect(warningsOf(files).map(formatNote)).toEqual([
      `${typeFile('author')}: attributes.essays.mappedBy: "author" of api::book.book needs "inversedBy": "essays"; until then the attribute is left out, as in v4`,
    ]);
    expect(linksOf(files, 'api::author.author', 'essays')).toBeUndefined();
    expect(linksOf(files, 'api::author.author', 'books')).toMatchObject({ table: 'books_author_links' });
  });

  it('relation kinds that do not match: each side is read as declared', () => {
    const author = contentType('author', {
      books: { type: 'relation', relation: 'manyToMany', target: 'api::book.book', mappedBy: 'author' },
    });
    const files = { ...sound, [typeFile('author')]: author };
    expect(warningsOf(files).map(formatNote)).toEqual([
      `${typeFile('author')}: attributes.books.relation: is manyToMany, but "author" of api::book.book is manyToOne; expected oneToMany`,
    ]);
    expect(linksOf(files, 'api::author.author', 'books')).toMatchObject({
      table: 'books_author_links',
      from: 'author_id',
      rank: 'book_order',
    });
  });

  it('if an owner’s inverse points to another type, both keep their own links', () => {
    const files = withThing({ x: toMany('api::author.author', { inversedBy: 'books' }) });
    expect(linksOf(files, 'api::thing.thing', 'x')).toMatchObject({ table: 'things_x_links', rank: 'author_order' });
    expect(linksOf(files, 'api::author.author', 'books')).toMatchObject({ table: 'books_author_links' });
  });

  it('a component cannot be named as the inverse of its own relation', () => {
    const box = component('components_shared_boxes', { author: toAuthor({ inversedBy: 'books' }) });
    expect(warningsOf({ ...sound, 'src/components/shared/box.json': box })).toHaveLength(1);
  });
});
