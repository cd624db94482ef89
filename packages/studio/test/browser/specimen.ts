/** A content type that has an attribute of every type, for tests of forms. */
import fs from 'node:fs';
import path from 'node:path';

const write = (file: string, value: object): void => {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, JSON.stringify(value));
};

const component = (dir: string, category: string, name: string, attributes: object): void =>
  write(path.join(dir, `src/components/${category}/${name}.json`), {
    collectionName: `components_${category}_${name}s`,
    info: { displayName: name[0]?.toUpperCase() + name.slice(1) },
    attributes,
  });

/** Adds `specimens`, with drafts, to a project. */
export const addSpecimen = (dir: string): void => {
  component(dir, 'parts', 'tag', { label: { type: 'string', maxLength: 10 }, weight: { type: 'integer' } });
  component(dir, 'parts', 'group', {
    title: { type: 'string' },
    tags: { type: 'component', repeatable: true, component: 'parts.tag' },
  });
  component(dir, 'bands', 'remark', { text: { type: 'text' }, when: { type: 'datetime' } });
  write(path.join(dir, 'src/api/specimen/content-types/specimen/schema.json'), {
    kind: 'collectionType',
    collectionName: 'specimens',
    info: { singularName: 'specimen', pluralName: 'specimens', displayName: 'Specimen' },
    options: { draftAndPublish: true },
    attributes: {
      name: { type: 'string', required: true, maxLength: 40 },
      slug: { type: 'uid', targetField: 'name' },
      summary: { type: 'text' },
      story: { type: 'richtext' },
      layout: { type: 'blocks' },
      facts: { type: 'json' },
      kind: { type: 'enumeration', enum: ['plain', 'odd'], default: 'plain' },
      contact: { type: 'email' },
      key: { type: 'password' },
      day: { type: 'date' },
      hour: { type: 'time' },
      moment: { type: 'datetime' },
      stamp: { type: 'timestamp' },
      count: { type: 'integer', min: 1 },
      huge: { type: 'biginteger' },
      ratio: { type: 'float' },
      price: { type: 'decimal' },
      ready: { type: 'boolean', default: false },
      colour: { type: 'customField', customField: 'plugin::color-picker.color' },
      sealed: { type: 'string', writable: false },
      picture: { type: 'media', multiple: false, allowedTypes: ['images'] },
      pictures: { type: 'media', multiple: true, allowedTypes: ['images'] },
      group: { type: 'component', repeatable: false, component: 'parts.group' },
      tags: { type: 'component', repeatable: true, component: 'parts.tag' },
      bands: { type: 'dynamiczone', components: ['bands.remark', 'parts.tag', 'parts.group'] },
    },
  });
};
