/** Attributes that the server adds to a content type, in v4's order (ST1). */
import { ADMIN_UID, type EntryType, type LinkAttribute, type ScalarAttribute, systemScalar } from './model.js';
import { columnName, joinColumn, joinColumnPath, linkTable, ownerPath } from './storage.js';

type Bare = Pick<EntryType, 'uid' | 'kind' | 'table' | 'singular' | 'draftAndPublish' | 'localized'>;

export const systemAttributes = (type: Bare): readonly (ScalarAttribute | LinkAttribute)[] => {
  if (type.kind === 'component') return [];
  const scalar = (name: string, scalarType: ScalarAttribute['type']) =>
    systemScalar(name, scalarType, columnName(name));
  return [
    scalar('createdAt', 'datetime'),
    scalar('updatedAt', 'datetime'),
    ...(type.draftAndPublish ? [scalar('publishedAt', 'datetime')] : []),
    creatorLink(type, 'createdBy'),
    creatorLink(type, 'updatedBy'),
    ...(type.localized ? [scalar('locale', 'string'), localizations(type)] : []),
  ];
};

/** Their names, whatever the type has of them: v4's permissions name none, and none is taken for the former name of an attribute. */
export const systemNames: ReadonlySet<string> = new Set([
  'createdAt',
  'updatedAt',
  'publishedAt',
  'createdBy',
  'updatedBy',
  'locale',
  'localizations',
]);

/** Whether an attribute is not of the schema file. Types without drafts or locales may have attributes of their own by such names. */
export const isSystemAttribute = ({ draftAndPublish, localized }: Bare, name: string): boolean => {
  if (name === 'publishedAt') return draftAndPublish;
  if (name === 'locale' || name === 'localizations') return localized;
  return systemNames.has(name);
};

const creatorLink = ({ table }: Bare, name: string): LinkAttribute => ({
  kind: 'link',
  name,
  source: 'creator',
  relation: 'manyToOne',
  shape: 'one',
  target: ADMIN_UID,
  hidden: true,
  required: false,
  writable: false,
  path: joinColumnPath(table, joinColumn(name)),
  side: 'owner',
  inverse: null,
  inverseRank: null,
  allowedTypes: [],
});

/** The siblings of a localized entry (LO1). */
const localizations = (type: Bare): LinkAttribute => ({
  ...creatorLink(type, 'localizations'),
  source: 'relation',
  relation: 'oneToMany',
  shape: 'many',
  target: type.uid,
  hidden: false,
  writable: true,
  path: ownerPath(linkTable(type, 'localizations', type, 'oneToMany', false)),
});
