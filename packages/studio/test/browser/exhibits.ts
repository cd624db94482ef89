/** A type with relations of every kind, polymorphic ones too, for tests of forms. */
import fs from 'node:fs';
import path from 'node:path';

const relation = (kind: string, target: string, rest = {}) => ({
  type: 'relation',
  relation: kind,
  target: `api::${target}.${target}`,
  ...rest,
});

/** Adds `exhibits`, whose relations are of the kinds that the magazine lacks. */
export const addExhibits = (dir: string): void => {
  const write = (file: string, value: object): void => {
    fs.mkdirSync(path.dirname(path.join(dir, file)), { recursive: true });
    fs.writeFileSync(path.join(dir, file), JSON.stringify(value));
  };
  const type = (name: string, attributes: object): void =>
    write(`src/api/${name}/content-types/${name}/schema.json`, {
      kind: 'collectionType',
      collectionName: `${name}s`,
      info: { singularName: name, pluralName: `${name}s`, displayName: name[0]!.toUpperCase() + name.slice(1) },
      attributes: { name: { type: 'string' }, ...attributes },
    });
  write('src/components/parts/shelf.json', {
    collectionName: 'components_parts_shelves',
    info: { displayName: 'Shelf' },
    attributes: {
      label: { type: 'string' },
      subject: { type: 'relation', relation: 'morphToOne' },
      articles: relation('manyToMany', 'article'),
    },
  });
  type('exhibit', {
    author: relation('manyToOne', 'author'),
    pieces: relation('oneToMany', 'piece', { mappedBy: 'exhibit' }),
    about: { type: 'relation', relation: 'morphToOne' },
    things: { type: 'relation', relation: 'morphToMany' },
    pictures: { type: 'media', multiple: true },
    moment: { type: 'datetime' },
    huge: { type: 'biginteger' },
    ratio: { type: 'float' },
    price: { type: 'decimal' },
    facts: { type: 'json' },
    shelves: { type: 'component', component: 'parts.shelf', repeatable: true },
  });
  type('piece', { exhibit: relation('manyToOne', 'exhibit', { inversedBy: 'pieces' }) });
};
