/**
 * Schema files with errors: the start is refused, and all errors are reported at once with file, place and the nearest
 * name.
 */
import { describe, expect, it } from 'vitest';
import { formatNote, type SchemaNote } from '../../src/model/load.js';
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

const faultsOf = (files: Files): readonly SchemaNote[] => {
  const loaded = load(files);
  return loaded.ok ? [] : loaded.faults;
};

describe('schema files', () => {
  it('a valid project has no faults, and its model is frozen', () => {
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
      '"strng" is not an attribute type; did you mean "string"?; expected one of string, text, richtext, enumeration,',
    ],
    ['no type', { x: {} }, 'attributes.x.type', 'is missing; expected one of string, text,'],
    ['a type that is no text', { x: { type: 5 } }, 'attributes.x.type', '5 is not an attribute type; expected one of'],
    ['no object', { x: null }, 'attributes.x', 'must be an object, not null'],
    ['a reserved name', { id: { type: 'string' } }, 'attributes.id', '"id" is reserved'],
    ['a reserved name', { __component: { type: 'string' } }, 'attributes.__component', '"__component" is reserved'],
    [
      'a kind of relation that does not exist',
      { x: toAuthor({ relation: 'manyToFew' }) },
      'attributes.x.relation',
      'expected one of oneToOne, oneToMany, manyToOne, manyToMany, morphToOne',
    ],
    ['a relation without a target', { x: toAuthor({ target: undefined }) }, 'attributes.x.target', 'is missing'],
    [
      'a target that is no text',
      { x: toAuthor({ target: ['x'] }) },
      'attributes.x.target',
      'must be a string, not an array',
    ],
    [
      'an unknown target',
      { x: toAuthor({ target: 'api::author.autor' }) },
      'attributes.x.target',
      'there is no content type "api::author.autor"; did you mean "api::author.author"?',
    ],
    [
      'the name of a target without its uid',
      { x: toAuthor({ target: 'author' }) },
      'attributes.x.target',
      'there is no content type "author"; did you mean "api::author.author"?',
    ],
    [
      'a name with a slip, of a type that is built in',
      { x: toAuthor({ target: 'usr' }) },
      'attributes.x.target',
      'did you mean "plugin::users-permissions.user"?',
    ],
    [
      'a component as target',
      { x: toAuthor({ target: 'shared.seo' }) },
      'attributes.x.target',
      'there is no content type "shared.seo"',
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
      'an unknown component',
      { x: { type: 'component', component: 'shared.soe' } },
      'attributes.x.component',
      'there is no component "shared.soe"; did you mean "shared.seo"?',
    ],
    [
      'a component without its category',
      { x: { type: 'component', component: 'seo' } },
      'attributes.x.component',
      'there is no component "seo"; did you mean "shared.seo"?',
    ],
    [
      'a content type as component',
      { x: { type: 'component', component: 'api::book.book' } },
      'attributes.x.component',
      'there is no component "api::book.book"',
    ],
    ['a component without a name', { x: { type: 'component' } }, 'attributes.x.component', 'is missing'],
    [
      'an unknown component in a zone',
      { x: { type: 'dynamiczone', components: ['shared.seo', 'shared.sao'] } },
      'attributes.x.components.1',
      'did you mean "shared.seo"?',
    ],
    ['a zone without components', { x: { type: 'dynamiczone' } }, 'attributes.x.components', 'is missing'],
    [
      'two attributes with one column',
      { metaTitle: { type: 'string' }, meta_title: { type: 'string' } },
      'attributes.meta_title',
      'uses the same column "meta_title" as "metaTitle"',
    ],
    ['an enumeration without values', { x: { type: 'enumeration' } }, 'attributes.x.enum', 'is missing'],
    ['a value twice', { x: { type: 'enumeration', enum: ['a', 'b', 'a'] } }, 'attributes.x.enum', 'names "a" twice'],
    [
      'a value that is no text',
      { x: { type: 'enumeration', enum: ['a', 5] } },
      'attributes.x.enum.1',
      'must be a string',
    ],
    [
      'a name that makes no column',
      { '--': { type: 'string' } },
      'attributes.--',
      'needs at least one letter or digit',
    ],
    [
      "the column of the server's own attribute",
      { created_at: { type: 'string' } },
      'attributes.created_at',
      'uses the same column "created_at" as "createdAt"',
    ],
    [
      'a kind of relation with a slip',
      { x: toAuthor({ relation: 'manyToMani' }) },
      'attributes.x.relation',
      'did you mean "manyToMany"?',
    ],
    [
      'a polymorphic relation with a slip',
      { x: { type: 'relation', relation: 'morphToOn', target: 'api::author.author' } },
      'attributes.x.relation',
      'did you mean "morphToOne"?',
    ],
    [
      'a custom field that nobody knows',
      { x: { type: 'customField', customField: 'plugin::score.stars' } },
      'attributes.x.customField',
      '"plugin::score.stars" is not a known custom field; add the type that it is registered with (strapi.customFields.register, in its plugin or in src/index) to the configuration: for a text, customFields: { "plugin::score.stars": "string" }',
    ],
    [
      'a custom field with a slip',
      { x: { type: 'customField', customField: 'plugin::colour-picker.color' } },
      'attributes.x.customField',
      'did you mean "plugin::color-picker.color"?',
    ],
    ['a custom field without its name', { x: { type: 'customField' } }, 'attributes.x.customField', 'is missing'],
  ])('%s: %j', (_what, attributes, place, words) => {
    const faults = faultsOf(withThing(attributes));
    expect(faults).toContainEqual({ file: typeFile('thing'), place, message: expect.stringContaining(words) });
    expect(faults).toHaveLength(1);
  });

  // v4's content types: enumeration values must be valid GraphQL names without symbols and accents
  it.each<[values: readonly string[], words: readonly string[]]>([
    [
      ['1st', '3', 'second'],
      ['"1st" is rejected, as in v4', '"3" is rejected, as in v4'],
    ],
    [['§', 'a'], ['"§" is rejected, as in v4']],
    [['_1'], ['"_1" is rejected, as in v4']],
    [['a-b', 'a b'], ['"a-b" and "a b" are rejected, as in v4: without symbols and accents both become "a_b"']],
    // newer versions of the library that v4 uses leave out a circumflex
    [['a^b', 'a-b'], ['"a^b" and "a-b" are rejected, as in v4: without symbols and accents both become "a_b"']],
    [['été', 'ete'], ['"été" and "ete" are rejected, as in v4']],
    [['first 1', 'A', 'a', 'Øre', 'ж', '€uro', 'camelCase'], []],
  ])('an enumeration of %j', (values, words) => {
    const faults = faultsOf(withThing({ x: { type: 'enumeration', enum: values } }));
    expect(faults).toEqual(
      words.map((it) => ({
        file: typeFile('thing'),
        place: 'attributes.x.enum',
        message: expect.stringContaining(it),
      })),
    );
  });

  it('an enumeration in a component, which v4 does not check', () => {
    const rank = component('components_shared_ranks', { x: { type: 'enumeration', enum: ['1st', '3'] } });
    expect(faultsOf({ ...sound, 'src/components/shared/rank.json': rank })).toEqual([]);
  });

  it.each<[what: string, changes: Json, place: string, words: string]>([
    ['no info', { info: undefined }, 'info', 'is missing'],
    ['info that is no object', { info: 'thing' }, 'info', 'must be an object, not "thing"'],
    ['no singular name', { info: { pluralName: 'things' } }, 'info.singularName', 'is missing'],
    [
      'an empty plural name',
      { info: { singularName: 'thing', pluralName: '' } },
      'info.pluralName',
      'must not be empty',
    ],
    ...['*', ':id', 'a/b', 'Things', 'things-', 'a?'].map((pluralName): [string, Json, string, string] => [
      `the plural name "${pluralName}", which v4 rejects and no route can have`,
      { info: { singularName: 'thing', pluralName } },
      'info.pluralName',
      `is "${pluralName}"`,
    ]),
    [
      'a singular name that is not the folder',
      { info: { singularName: 'thng', pluralName: 'thngs' } },
      'info.singularName',
      'is "thng", but the folder is named "thing"',
    ],
    ['no attributes', { attributes: undefined }, 'attributes', 'is missing'],
    [
      'the table of another type',
      { collectionName: 'books' },
      'collectionName',
      'the table "books" already belongs to api::book.book',
    ],
    [
      'the table of a built-in type',
      { collectionName: 'files' },
      'collectionName',
      'already belongs to plugin::upload.file',
    ],
    ['a table of the server', { collectionName: 'dovetail_sessions' }, 'collectionName', "is one of the server's own"],
    ['a table of v4', { collectionName: 'Strapi_Webhooks' }, 'collectionName', "is one of the server's own"],
    ['the table of a component', { collectionName: 'components_shared_seos' }, 'collectionName', 'belongs to'],
    [
      'the route of another type',
      { info: { singularName: 'thing', pluralName: 'books' } },
      'info',
      'the route /api/books already belongs to api::book.book',
    ],
  ])('content type: %s', (_what, changes, place, words) => {
    const faults = faultsOf(withThing({}, changes));
    expect(faults).toEqual([
      { file: expect.stringMatching(/thing|seo/), place, message: expect.stringContaining(words) },
    ]);
  });

  it('a single type with the same route as a collection', () => {
    const files = {
      ...sound,
      [typeFile('thing')]: contentType('thing', {}, { kind: 'singleType' }),
      [typeFile('other')]: contentType('other', {}, { info: { singularName: 'other', pluralName: 'thing' } }),
    };
    expect(faultsOf(files).map(formatNote)).toEqual([
      `${typeFile('thing')}: info: the route /api/thing already belongs to api::other.other`,
    ]);
  });

  it('a file that is not JSON, a component without a table, one uid in two files', () => {
    expect(
      faultsOf({
        ...sound,
        [typeFile('broken')]: '{ "kind": ',
        'src/components/shared/untold.json': { attributes: {} },
        'src/components/shared/Seo.json': component('components_other_seos', {}),
      }).map(formatNote),
    ).toEqual([
      expect.stringMatching(/^src\/api\/broken\/content-types\/broken\/schema\.json: not valid JSON: /),
      expect.stringMatching(
        /^src\/components\/shared\/seo\.json: "shared\.seo" is already defined in src\/components\/shared\/Seo\.json$/,
      ),
      expect.stringMatching(/^src\/components\/shared\/untold\.json: collectionName: /),
    ]);
  });

  it('a file that cannot be read is not blamed for its JSON', () => {
    // a folder, which root cannot read as a file either
    expect(faultsOf({ ...sound, [`${typeFile('broken')}/note.txt`]: 'not a schema' }).map(formatNote)).toEqual([
      expect.stringMatching(/^src\/api\/broken\/content-types\/broken\/schema\.json: cannot be read: EISDIR: /),
    ]);
  });

  it('a folder without schema files is a fault, not an empty project', () => {
    const faults = faultsOf({ 'README.md': 'nothing here' });
    expect(faults).toHaveLength(1);
    expect(faults[0]?.message).toContain('is this a project folder?');
  });

  it('a content type folder without schema.json, and schema files that are code', () => {
    expect(
      faultsOf({
        ...sound,
        'src/api/empty/content-types/empty/lifecycles.js': '',
        'src/api/coded/content-types/coded/schema.js': 'module.exports = {}',
        'src/components/shared/box.js': 'module.exports = {}',
      }).map(formatNote),
    ).toEqual([
      'src/api/coded/content-types/coded: has no schema.json; schema code is not run: write it as JSON',
      'src/api/empty/content-types/empty: has no schema.json',
      'src/components/shared/box.js: code is not run: write the component as JSON',
    ]);
  });

  it('all faults of all files are reported at once, several per attribute and per file too', () => {
    const files = {
      ...withThing(
        {
          a: { type: 'strng' },
          b: toAuthor({ target: 'api::author.autor', mappedBy: 5 }),
          c: { type: 'component', component: 'shared.soe' },
          d: { type: 'enumeration', enum: ['1', 2, 'x', 'x'] },
          id: { type: 'string' },
          ab: { type: 'string' },
          a_b: { type: 'string' },
          aB: { type: 'relation', relation: 'oneToMany', target: 'api::author.author', inversedBy: 'boks' },
        },
        { info: { singularName: 'thing' } },
      ),
      [typeFile('other')]: contentType('other', { e: { type: 'uid', targetField: 5 } }, { collectionName: 'books' }),
      [typeFile('broken')]: 'nonsense',
      'src/components/shared/link.json': {
        attributes: { f: { type: 'relation', relation: 'oneToOne', target: 'bok' } },
      },
    };
    const places = faultsOf(files).map((it) => `${it.file} ${it.place}`);
    const thing = typeFile('thing');
    expect(places).toEqual([
      `${typeFile('broken')} `,
      `${typeFile('other')} attributes.e.targetField`,
      `${typeFile('other')} collectionName`,
      `${thing} info.pluralName`,
      `${thing} attributes.a.type`,
      `${thing} attributes.b.mappedBy`,
      `${thing} attributes.d.enum.1`,
      `${thing} attributes.d.enum`,
      `${thing} attributes.d.enum`,
      `${thing} attributes.id`,
      `${thing} attributes.b.target`,
      `${thing} attributes.c.component`,
      `${thing} attributes.aB.inversedBy`,
      `${thing} attributes.aB.inversedBy`,
      'src/components/shared/link.json collectionName',
      'src/components/shared/link.json attributes.f.target',
    ]);
  });

  it('consequences of an invalid file or attribute are not reported', () => {
    const refers = (target: string): Json => ({ a: toAuthor({ target }), b: toAuthor({ target, inversedBy: 'x' }) });
    expect(
      faultsOf({
        ...withThing({ seo: { type: 'component', component: 'shared.seo' }, ...refers('api::genre.genre') }),
        [typeFile('genre')]: 'nonsense',
        'src/components/shared/seo.json': { attributes: {} },
      }).map((it) => `${it.file} ${it.place}`),
    ).toEqual([`${typeFile('genre')} `, 'src/components/shared/seo.json collectionName']);
    // the other side of a misspelt relation, and the target field of a uid
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

  it('a fault is formatted as file, place and message', () => {
    const [fault] = faultsOf(withThing({ x: { type: 'string', encryption: { rounds: 99 } } }));
    expect(fault && formatNote(fault)).toBe(
      `${typeFile('thing')}: attributes.x.encryption.rounds: must be an integer from 4 to 31, not 99`,
    );
  });

  it('ST1: component uids are lower-cased, table names are unchanged', () => {
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

  it('RQ1: hyphens in names are kept in routes, and a type without collectionName uses its singular name as table', () => {
    const name = 'event-log';
    const model = modelOf({ ...sound, [typeFile(name)]: contentType(name, {}, { collectionName: undefined }) });
    expect(model.types.get('api::event-log.event-log')).toMatchObject({
      singular: 'event-log',
      plural: 'event-logs',
      table: 'event-log',
    });
  });
});
