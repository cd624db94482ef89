/** The model as the server describes it, and lookups in it. */
import type { AttributeDocument, ModelDocument, TypeDocument } from 'dovetail-client';

export type Model = ModelDocument;
export type Type = TypeDocument;
export type Attribute = AttributeDocument;

export const typeOf = (model: Model, uid: string | null): Type | null =>
  model.types.find((it) => it.uid === uid) ?? null;

export const attributeOf = (type: Type, name: string): Attribute | null =>
  type.attributes.find((it) => it.name === name) ?? null;

/** The content type that has this name in addresses of the Studio: the plural of collections, the singular of singles. */
export const typeNamed = (model: Model, name: string): Type | null =>
  model.types.find((it) => it.kind !== 'component' && nameOf(it) === name) ?? null;

export const nameOf = (type: Type): string => (type.kind === 'single' ? type.singular : type.plural);

/** The attributes of the schema file: those that the server adds are left out. */
export const ownAttributes = (type: Type): readonly Attribute[] => type.attributes.filter((it) => !isAdded(type, it));

/** Types without drafts or locales may have attributes of their own by such names. */
const isAdded = ({ kind, draftAndPublish, localized }: Type, { name }: Attribute): boolean => {
  switch (name) {
    case 'createdAt':
    case 'updatedAt':
    case 'createdBy':
    case 'updatedBy':
      return kind !== 'component';
    case 'publishedAt':
      return draftAndPublish;
    case 'locale':
    case 'localizations':
      return localized;
    default:
      return false;
  }
};

/** Types that people write content in: not components, nor those of plugins (users, roles, files). */
export const contentTypes = (model: Model): readonly Type[] =>
  model.types.filter((it) => it.kind !== 'component' && it.uid.startsWith('api::'));

/** What a save does: a new entry has other fields that may be written than one that is stored, inside of components, too. */
export type Writing = 'create' | 'update';

export const mayWrite = ({ mayCreate, mayUpdate }: Attribute, writing: Writing): boolean =>
  writing === 'create' ? mayCreate : mayUpdate;

export const USER_UID = 'plugin::users-permissions.user';
export const FILE_UID = 'plugin::upload.file';

/** What is typed as a value of a filter, as the server reads it: times have seconds. */
export const filterValue = ({ family }: Pick<Attribute, 'family'>, typed: string): string =>
  family === 'time' ? typed.trim().replace(/^\d\d:\d\d$/, '$&:00') : typed;
