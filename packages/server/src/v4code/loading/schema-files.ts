/** Schema files as they stand: code is shown all that they say, also what the model does not read. */
import fs from 'node:fs';
import path from 'node:path';
import { folderNaming, foldersIn } from '../../model/files.js';
import type { Uid } from '../../model/model.js';
import { isMembers, type Members, type SchemaFile } from './parts.js';
import { jsonAt } from './read-extensions.js';

/** Files of the project by the uid of their type. The model has read them, so what is wrong with them is known. */
export const readSchemaFiles = (dir: string): ReadonlyMap<Uid, SchemaFile> => {
  const found = new Map<Uid, SchemaFile>();
  const add = (file: string, uidOf: (schema: Members) => Uid): void => {
    const schema = jsonAt(path.join(dir, file));
    if (schema !== null) found.set(uidOf(schema), { file, schema });
  };
  for (const [root, namespace] of [
    ['src/api', 'api'],
    ['src/extensions', 'plugin'],
  ] as const)
    for (const owner of foldersIn(path.join(dir, root)))
      for (const type of foldersIn(path.join(dir, root, owner, 'content-types')))
        add(`${root}/${owner}/content-types/${type}/schema.json`, (schema) =>
          uidOfType(namespace, owner, type, schema),
        );
  for (const category of foldersIn(path.join(dir, 'src/components')))
    for (const name of fs.readdirSync(path.join(dir, 'src/components', category)).sort())
      if (name.endsWith('.json'))
        add(`src/components/${category}/${name}`, () => `${category}.${name.slice(0, -'.json'.length)}`.toLowerCase());
  return found;
};

/** The uid that the model gives to the type of a folder. */
export const uidOfType = (namespace: 'api' | 'plugin', owner: string, type: string, schema: Members | null): Uid => {
  const { singularName } = isMembers(schema?.['info']) ? schema['info'] : {};
  const given = typeof singularName === 'string' && singularName !== '' ? singularName : null;
  const named = folderNaming(given);
  return `${namespace}::${named(owner)}.${given ?? named(type)}`;
};
