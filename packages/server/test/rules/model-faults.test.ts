/** Schema files: every fault is told at once, with file, place and the nearest known name. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type LoadedModel, loadModel, type SchemaFault, sayFault } from '../../src/model/load.js';
import type { Model } from '../../src/model/model.js';

type Json = Record<string, unknown>;

const typeFile = (name: string): string => `src/api/${name}/content-types/${name}/schema.json`;
const contentType = (name: string, attributes: Json, changes: Json = {}): Json => ({
  kind: 'collectionType',
  collectionName: `${name}s`,
  info: { singularName: name, pluralName: `${name}s`, displayName: name },
  options: {},
  attributes,
  ...changes,
});
const component = (table: string, attributes: Json): Json => ({ collectionName: table, info: {}, attributes });

/** A project without faults; tests add to it and change it. */
const sound: Readonly<Record<string, unknown>> = {
  [typeFile('book')]: contentType('book', {
    title: { type: 'string' },
    author: { type: 'relation', relation: 'manyToOne', target: 'api::author.author', inversedBy: 'books' },
    seo: { type: 'component', component: 'shared.seo' },
  }),
  [typeFile('author')]: contentType('author', {
    name: { type: 'string' },
    books: { type: 'relation', relation: 'oneToMany', target: 'api::book.book', mappedBy: 'author' },
  }),
  'src/components/shared/seo.json': component('components_shared_seos', { title: { type: 'string' } }),
};

/** Loads a project of these files; an object is written as JSON, a text as it is. */
const load = (files: Readonly<Record<string, unknown>>): LoadedModel => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-model-'));
  try {
    for (const [file, content] of Object.entries(files)) {
      fs.mkdirSync(path.join(dir, path.dirname(file)), { recursive: true });
      fs.writeFileSync(path.join(dir, file), typeof content === 'string' ? content : JSON.stringify(content));
    }
    return loadModel(dir);
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
};

const faultsOf = (files: Readonly<Record<string, unknown>>): readonly SchemaFault[] => {
  const loaded = load(files);
  return loaded.ok ? [] : loaded.faults;
};

const modelOf = (files: Readonly<Record<string, unknown>>): Model => {
  const loaded = load(files);
  if (!loaded.ok) throw new Error(loaded.faults.map(sayFault).join('\n'));
  return loaded.model;
};

/** The sound project with one more content type `thing` that has these attributes. */
const withThing = (attributes: Json, changes: Json = {}): Readonly<Record<string, unknown>> => ({
  ...sound,
  [typeFile('thing')]: contentType('thing', attributes, changes),
});

const toAuthor = (changes: Json): Json => ({
  type: 'relation',
  relation: 'manyToOne',
  target: 'api::author.author',
  ...changes,
});

describe('schema files', () => {
  it('a sound project has no faults, and its model is frozen', () => {
    const model = modelOf(sound);
    const book = model.types.get('api::book.book');
    expect(book?.attributes.has('author')).toBe(true);
    expect(Object.isFrozen(book)).toBe(true);
    expect(Object.isFrozen(book?.attributes.get('author'))).toBe(true);
  });

  it.each<[what: string, attributes: Json, place: string, words: string]>([
    [
      'a type that does not exist',
      { x: { type: 'strng' } },
      'attributes.x.type',
      '"strng" is not a type of attribute; did you mean "string"?',
    ],
    ['no type', { x: {} }, 'attributes.x.type', 'is not a type of attribute'],
    ['a type that is no text', { x: { type: 5 } }, 'attributes.x.type', '"5" is not a type of attribute'],
    ['no object', { x: null }, 'attributes.x.type', 'is not a type of attribute'],
    ['a rule of the wrong form', { x: { type: 'string', minLength: 'three' } }, 'attributes.x.minLength', 'number'],
    ['a flag of the wrong form', { x: { type: 'string', required: 'yes' } }, 'attributes.x.required', 'boolean'],
    ['a reserved name', { id: { type: 'string' } }, 'attributes.id', '"id" is reserved'],
    ['a reserved name', { __component: { type: 'string' } }, 'attributes.__component', '"__component" is reserved'],
    [
      'a system attribute',
      { createdAt: { type: 'datetime' } },
      'attributes.createdAt',
      '"createdAt" is added by the server',
    ],
    [
      'a system attribute',
      { updatedAt: { type: 'datetime' } },
      'attributes.updatedAt',
      '"updatedAt" is added by the server',
    ],
    [
      'a kind of relation that does not exist',
      { x: toAuthor({ relation: 'manyToFew' }) },
      'attributes.x.relation',
      'manyToOne',
    ],
    ['a relation without a target', { x: { type: 'relation', relation: 'oneToOne' } }, 'attributes.x.target', 'string'],
    [
      'an unknown target',
      { x: toAuthor({ target: 'api::author.autor' }) },
      'attributes.x.target',
      'there is no content type "api::author.autor"; did you mean "api::author.author"?',
    ],
    [
      'a component as target',
      { x: toAuthor({ target: 'shared.seo' }) },
      'attributes.x.target',
      'there is no content type "shared.seo"',
    ],
    [
      'both sides at once',
      {
        x: {
          type: 'relation',
          relation: 'manyToMany',
          target: 'api::author.author',
          mappedBy: 'books',
          inversedBy: 'books',
        },
      },
      'attributes.x',
      'mappedBy and inversedBy exclude each other',
    ],
    [
      'an owning one-to-many',
      { x: toAuthor({ relation: 'oneToMany', inversedBy: 'books' }) },
      'attributes.x.inversedBy',
      'the oneToMany side never owns a relation',
    ],
    [
      'an owned many-to-one',
      { x: toAuthor({ mappedBy: 'books' }) },
      'attributes.x.mappedBy',
      'the manyToOne side always owns a relation',
    ],
    [
      'an unknown inverse side',
      { x: toAuthor({ inversedBy: 'boks' }) },
      'attributes.x.inversedBy',
      'api::author.author has no relation "boks"; did you mean "books"?',
    ],
    [
      'an inverse side that is no relation',
      { x: toAuthor({ inversedBy: 'name' }) },
      'attributes.x.inversedBy',
      'api::author.author has no relation "name"',
    ],
    [
      'an unknown owner side',
      { x: toAuthor({ relation: 'oneToMany', mappedBy: 'boks' }) },
      'attributes.x.mappedBy',
      'did you mean "books"?',
    ],
    [
      'an owner side that points elsewhere',
      { x: toAuthor({ relation: 'manyToMany', mappedBy: 'books' }) },
      'attributes.x.mappedBy',
      '"books" of api::author.author points to api::book.book',
    ],
    [
      'an unknown component',
      { x: { type: 'component', component: 'shared.soe' } },
      'attributes.x.component',
      'there is no component "shared.soe"; did you mean "shared.seo"?',
    ],
    [
      'a content type as component',
      { x: { type: 'component', component: 'api::book.book' } },
      'attributes.x.component',
      'there is no component "api::book.book"',
    ],
    ['a component without a name', { x: { type: 'component' } }, 'attributes.x.component', 'string'],
    [
      'an unknown component in a zone',
      { x: { type: 'dynamiczone', components: ['shared.seo', 'shared.sao'] } },
      'attributes.x.components.1',
      'did you mean "shared.seo"?',
    ],
    ['a zone without components', { x: { type: 'dynamiczone' } }, 'attributes.x.components', 'array'],
    [
      'a media attribute of the wrong form',
      { x: { type: 'media', multiple: 'yes' } },
      'attributes.x.multiple',
      'boolean',
    ],
    [
      'two attributes with one column',
      { metaTitle: { type: 'string' }, meta_title: { type: 'string' } },
      'attributes.meta_title',
      'has the column "meta_title", and so has "metaTitle"',
    ],
    [
      'an unknown targetField',
      { name: { type: 'string' }, x: { type: 'uid', targetField: 'nme' } },
      'attributes.x.targetField',
      '"nme" is not an attribute; did you mean "name"?',
    ],
    ['an enumeration without values', { x: { type: 'enumeration' } }, 'attributes.x.enum', 'at least one value'],
    ['an empty enumeration', { x: { type: 'enumeration', enum: [] } }, 'attributes.x.enum', 'at least one value'],
    ['a value twice', { x: { type: 'enumeration', enum: ['a', 'b', 'a'] } }, 'attributes.x.enum', 'names "a" twice'],
    [
      'a default that is not in the enumeration',
      { x: { type: 'enumeration', enum: ['draft', 'final'], default: 'finl' } },
      'attributes.x.default',
      '"finl" is not in "enum"; did you mean "final"?',
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
      '"low" is no bound of float',
    ],
    ['a bound that is not whole', { x: { type: 'biginteger', max: 1.5 } }, 'attributes.x.max', '"1.5" is no bound'],
    ['crossed bounds', { x: { type: 'integer', min: 5, max: 3 } }, 'attributes.x.min', '5 is above "max": 3'],
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
      'did you mean "images"?',
    ],
    ['a name that makes no column', { '--': { type: 'string' } }, 'attributes.--', 'needs a letter or a digit'],
    [
      "the column of the server's own attribute",
      { created_at: { type: 'string' } },
      'attributes.created_at',
      'has the column "created_at", and so has "createdAt"',
    ],
    [
      'an inverse side that belongs to another relation',
      { x: toAuthor({ relation: 'oneToOne', target: 'api::author.author', inversedBy: 'books' }) },
      'attributes.x.inversedBy',
      '"books" of api::author.author points to api::book.book',
    ],
    [
      'a kind of relation with a slip',
      { x: toAuthor({ relation: 'manyToMani' }) },
      'attributes.x.relation',
      'did you mean "manyToMany"?',
    ],
    [
      'a polymorphic relation with a slip',
      { x: { type: 'relation', relation: 'morphToOn' } },
      'attributes.x.relation',
      'did you mean "morphToOne"?',
    ],
    [
      'a custom field',
      { x: { type: 'customField', customField: 'plugin::color-picker.color' } },
      'attributes.x.type',
      'custom fields need the plain type that they store as',
    ],
    ['a broken regex', { x: { type: 'string', regex: '(' } }, 'attributes.x.regex', 'is not a regular expression'],
  ])('%s: %j', (_what, attributes, place, words) => {
    const faults = faultsOf(withThing(attributes));
    expect(faults).toContainEqual({ file: typeFile('thing'), place, message: expect.stringContaining(words) });
    // one slip of a relation may show in several ways, but always in its own attribute
    const [name] = Object.keys(attributes).slice(-1);
    expect(faults.filter((it) => it.file !== typeFile('thing') || !it.place.startsWith(`attributes.${name}`))).toEqual(
      [],
    );
  });

  it.each<[what: string, changes: Json, place: string, words: string]>([
    ['no kind', { kind: undefined }, 'kind', 'collectionType'],
    ['an unknown kind', { kind: 'doubleType' }, 'kind', 'singleType'],
    ['a kind with a slip', { kind: 'collectiontype' }, 'kind', 'did you mean "collectionType"?'],
    ['no info', { info: undefined }, 'info', 'object'],
    ['no singular name', { info: { pluralName: 'things' } }, 'info.singularName', 'string'],
    ['an empty plural name', { info: { singularName: 'thing', pluralName: '' } }, 'info.pluralName', '>=1'],
    [
      'a singular name that is not the folder',
      { info: { singularName: 'thng', pluralName: 'thngs' } },
      'info.singularName',
      'is "thng", but the folder is named "thing"',
    ],
    ['no attributes', { attributes: undefined }, 'attributes', 'record'],
    ['an option of the wrong form', { options: { draftAndPublish: 'yes' } }, 'options.draftAndPublish', 'boolean'],
    [
      'the table of another type',
      { collectionName: 'books' },
      'collectionName',
      'the table "books" belongs to api::book.book already',
    ],
    [
      'the table of a built-in type',
      { collectionName: 'files' },
      'collectionName',
      'belongs to plugin::upload.file already',
    ],
    ['the table of a component', { collectionName: 'components_shared_seos' }, 'collectionName', 'belongs to'],
    [
      'the route of another type',
      { info: { singularName: 'thing', pluralName: 'books' } },
      'info',
      'the route /api/books belongs to api::book.book already',
    ],
  ])('content type: %s', (_what, changes, place, words) => {
    const faults = faultsOf(withThing({}, changes));
    expect(faults).toContainEqual({
      file: expect.stringMatching(/thing|seo/),
      place,
      message: expect.stringContaining(words),
    });
  });

  it('a single type whose route is that of a list, in any case of letters', () => {
    const files = {
      ...sound,
      [typeFile('Thing')]: contentType('Thing', {}, { kind: 'singleType' }),
      [typeFile('other')]: contentType('other', {}, { info: { singularName: 'other', pluralName: 'thing' } }),
    };
    expect(faultsOf(files).map(sayFault)).toEqual([
      `${typeFile('other')}: info: the route /api/thing belongs to api::Thing.Thing already`,
    ]);
  });

  it('an owner side that does not name its inverse, and kinds that do not fit', () => {
    const author = contentType('author', {
      books: { type: 'relation', relation: 'manyToMany', target: 'api::book.book', mappedBy: 'author' },
      essays: { type: 'relation', relation: 'oneToMany', target: 'api::book.book', mappedBy: 'author' },
    });
    expect(faultsOf({ ...sound, [typeFile('author')]: author }).map(sayFault)).toEqual([
      `${typeFile('author')}: attributes.books.relation: is manyToMany, but "author" of api::book.book is manyToOne`,
      `${typeFile('author')}: attributes.essays.mappedBy: "author" of api::book.book needs "inversedBy": "essays"`,
    ]);
  });

  it('a file that is no JSON, a component without a table, one uid in two files', () => {
    expect(
      faultsOf({
        ...sound,
        [typeFile('broken')]: '{ "kind": ',
        'src/components/shared/untold.json': { attributes: {} },
        'src/components/shared/Seo.json': component('components_other_seos', {}),
      }).map(sayFault),
    ).toEqual([
      expect.stringMatching(/^src\/api\/broken\/content-types\/broken\/schema\.json: not valid JSON: /),
      expect.stringMatching(
        /^src\/components\/shared\/seo\.json: "shared\.seo" is defined in src\/components\/shared\/Seo\.json already$/,
      ),
      expect.stringMatching(/^src\/components\/shared\/untold\.json: collectionName: /),
    ]);
  });

  it('a folder without schema files is a fault, not an empty project', () => {
    const faults = faultsOf({ 'README.md': 'nothing here' });
    expect(faults).toHaveLength(1);
    expect(faults[0]?.message).toContain('is this a project folder?');
  });

  it('all faults of all files come at once', () => {
    const files = {
      ...withThing({
        a: { type: 'strng' },
        b: toAuthor({ target: 'api::author.autor' }),
        c: { type: 'component', component: 'shared.soe' },
        d: { type: 'string', regex: '(' },
        id: { type: 'string' },
        createdAt: { type: 'datetime' },
      }),
      [typeFile('other')]: contentType('other', { e: { type: 'uid', targetField: 'x' } }, { collectionName: 'books' }),
      [typeFile('broken')]: 'nonsense',
      'src/components/shared/link.json': component('components_shared_links', {
        f: { type: 'relation', relation: 'oneToOne', target: 'api::bok.bok' },
      }),
    };
    const places = faultsOf(files).map((it) => `${it.file} ${it.place}`);
    const thing = typeFile('thing');
    expect([...places].sort()).toEqual(
      [
        `${typeFile('broken')} `,
        `${typeFile('other')} attributes.e.targetField`,
        `${typeFile('other')} collectionName`,
        'src/components/shared/link.json attributes.f.target',
        `${thing} attributes.a.type`,
        `${thing} attributes.b.target`,
        `${thing} attributes.c.component`,
        `${thing} attributes.createdAt`,
        `${thing} attributes.d.regex`,
        `${thing} attributes.id`,
      ].sort(),
    );
  });

  it('what only follows from a faulty file or attribute is not told', () => {
    const refers = (target: string): Json => ({ a: toAuthor({ target }), b: toAuthor({ target, inversedBy: 'x' }) });
    expect(
      faultsOf({
        ...withThing({ ...refers('api::genre.genre'), ...refers('api::author.author') }),
        [typeFile('genre')]: contentType('genre', {}, { kind: 'list' }),
      }).map((it) => it.place),
    ).toEqual(['kind', 'attributes.b.inversedBy']);
    expect(
      faultsOf({
        ...withThing({ seo: { type: 'component', component: 'shared.seo' }, ...refers('api::genre.genre') }),
        [typeFile('genre')]: 'nonsense',
        'src/components/shared/seo.json': { attributes: {} },
      }).map((it) => `${it.file} ${it.place}`),
    ).toEqual([`${typeFile('genre')} `, 'src/components/shared/seo.json collectionName']);
    // the other side of a relation with a slip, and the source of a uid
    expect(
      faultsOf({
        ...sound,
        [typeFile('author')]: contentType('author', {
          name: { type: 'strng' },
          slug: { type: 'uid', targetField: 'name' },
          books: { type: 'relation', relation: 'oneToMani', target: 'api::book.book', mappedBy: 'author' },
        }),
      }).map((it) => it.place),
    ).toEqual(['attributes.name.type', 'attributes.books.relation']);
  });

  it('an inverse side that is mapped by another relation', () => {
    const editor = { type: 'relation', relation: 'oneToOne', target: 'api::author.author', inversedBy: 'books' };
    const book = contentType('book', { author: toAuthor({ inversedBy: 'books' }), editor });
    expect(faultsOf({ ...sound, [typeFile('book')]: book }).map(sayFault)).toEqual([
      `${typeFile('book')}: attributes.editor.inversedBy: "books" of api::author.author is mapped by "author"`,
    ]);
  });

  it('what v4 ignores is no fault: rules of null, unknown keys, counts of a single component, unusual names', () => {
    const attributes = {
      a: { type: 'integer', min: null, max: null, default: null, pluginOptions: {}, unheardOf: true },
      b: { type: 'string', minLength: null, maxLength: null, regex: null },
      c: { type: 'component', component: 'shared.seo', min: 3, max: 2 },
      d: { type: 'datetime', min: 'today' },
      e: { type: 'string', default: 'a', minLength: 2 },
      _lead: { type: 'string' },
      'kebab-name': { type: 'string' },
      éTat: { type: 'string' },
      '2nd': { type: 'string' },
    };
    expect(faultsOf(withThing(attributes, { options: { draftAndPublish: true } }))).toEqual([]);
  });

  it('a fault is told as file, place and words', () => {
    const [fault] = faultsOf(withThing({ x: { type: 'strng' } }));
    expect(fault && sayFault(fault)).toBe(
      `${typeFile('thing')}: attributes.x.type: "strng" is not a type of attribute; did you mean "string"?`,
    );
  });

  it.each(['createdBy', 'updatedBy'])('a creator field cannot be defined: %s', (name) => {
    expect(faultsOf(withThing({ [name]: { type: 'string' } }))).toEqual([
      { file: typeFile('thing'), place: `attributes.${name}`, message: expect.stringContaining('added by the server') },
    ]);
  });

  it('publishedAt, locale and localizations may be defined where the server adds none', () => {
    expect(faultsOf(withThing({ publishedAt: { type: 'datetime' }, locale: { type: 'string' } }))).toEqual([]);
    expect(
      faultsOf(withThing({ publishedAt: { type: 'datetime' } }, { options: { draftAndPublish: true } })),
    ).toHaveLength(1);
    expect(
      faultsOf(withThing({ locale: { type: 'string' } }, { pluginOptions: { i18n: { localized: true } } })),
    ).toHaveLength(1);
  });

  it('storage-layout 1.1: component uids are lower case, table names stay as they are', () => {
    const model = modelOf({
      ...withThing({ box: { type: 'component', component: 'other.deep2box' } }, { collectionName: 'Mixed-Things2' }),
      'src/components/other/Deep2Box.json': component('components_other_Deep2Boxes', { lab: toAuthor({}) }),
    });
    expect(model.types.get('other.deep2box')?.table).toBe('components_other_Deep2Boxes');
    expect(model.types.get('api::thing.thing')?.table).toBe('Mixed-Things2');
    expect(model.types.get('other.deep2box')?.attributes.get('lab')).toMatchObject({
      path: { table: 'components_other_deep_2_boxes_lab_links', from: 'deep_2_box_id', to: 'author_id' },
    });
  });

  it('contract 1: hyphens in names stay in routes, and a type without collectionName has its singular name as table', () => {
    const name = 'event-log';
    const model = modelOf({ ...sound, [typeFile(name)]: contentType(name, {}, { collectionName: undefined }) });
    expect(model.types.get('api::event-log.event-log')).toMatchObject({
      singular: 'event-log',
      plural: 'event-logs',
      table: 'event-log',
    });
  });
});
