/** `contentTypes` of `@strapi/utils`: what a described type and its attributes are. They take what `strapi.getModel` gives. */
import type { EntryType } from '../../model/model.js';
import { isMembers, type Members } from '../loading/parts.js';
import { names } from './names.js';

const ID = 'id';
const CREATED_AT = 'createdAt';
const UPDATED_AT = 'updatedAt';
const PUBLISHED_AT = 'publishedAt';
const CREATED_BY = 'createdBy';
const UPDATED_BY = 'updatedBy';

const SINGLE = 'singleType';
const COLLECTION = 'collectionType';

/** What v4 adds to types and does not show where they are edited. */
const invisible: readonly string[] = [
  ...[ID, CREATED_AT, UPDATED_AT, PUBLISHED_AT, CREATED_BY, UPDATED_BY],
  ...['locale', 'localizations'],
];
const unwritable: readonly string[] = [ID, CREATED_AT, UPDATED_AT, CREATED_BY, UPDATED_BY];

/** Types of attributes that are not one column. */
const nested: readonly unknown[] = ['media', 'relation', 'component', 'dynamiczone'];

const attributesOf = (described: unknown): Members => {
  const attributes = isMembers(described) ? described['attributes'] : undefined;
  return isMembers(attributes) ? attributes : {};
};

const memberOf = (attribute: unknown, name: string): unknown => (isMembers(attribute) ? attribute[name] : undefined);
const typeOf = (attribute: unknown): unknown => memberOf(attribute, 'type');

const isOfType =
  (...types: readonly string[]) =>
  (attribute: unknown): boolean =>
    types.some((it) => it === typeOf(attribute));

const isScalarAttribute = (attribute: unknown): boolean => !nested.includes(typeOf(attribute));
const isComponentAttribute = isOfType('component', 'dynamiczone');

const namesWhere = (described: unknown, isWanted: (attribute: unknown, name: string) => boolean): string[] =>
  Object.entries(attributesOf(described)).flatMap(([name, it]) => (isWanted(it, name) ? [name] : []));

/** The id is none of the attributes, but always among those that are left out. */
const leftOut = (described: unknown, names: readonly string[], flag: 'visible' | 'writable'): string[] => [
  ID,
  ...namesWhere(described, (it, name) => memberOf(it, flag) === false || names.includes(name)).filter(
    (it) => it !== ID,
  ),
];
const without = (described: unknown, names: readonly string[]): string[] =>
  Object.keys(attributesOf(described)).filter((it) => !names.includes(it));

const invisibleOf = (described: unknown): string[] => leftOut(described, invisible, 'visible');
const unwritableOf = (described: unknown): string[] => leftOut(described, unwritable, 'writable');
const visibleOf = (described: unknown): string[] => without(described, invisibleOf(described));
const writableOf = (described: unknown): string[] => without(described, unwritableOf(described));

const isRelational = isOfType('relation');
const isRelationOf =
  (...kinds: readonly string[]) =>
  (attribute: unknown): boolean =>
    isRelational(attribute) && kinds.some((it) => it === memberOf(attribute, 'relation'));

/** `relations` of `@strapi/utils`: which sides of a relation have one entry, and which have many. */
export const relations = {
  getRelationalFields: (described: unknown) => namesWhere(described, isRelational),
  isOneToAny: isRelationOf('oneToOne', 'oneToMany'),
  isManyToAny: isRelationOf('manyToOne', 'manyToMany'),
  isAnyToOne: isRelationOf('oneToOne', 'manyToOne'),
  isAnyToMany: isRelationOf('oneToMany', 'manyToMany'),
  constants: { MANY_RELATIONS: ['oneToMany', 'manyToMany'] },
};

/** @param entryType what the model has of a described type: it knows what the configuration makes private. */
export const newContentTypes = (entryType: (described: unknown) => EntryType | undefined): object => {
  const isPrivate = (described: unknown, name: string): boolean =>
    memberOf(attributesOf(described)[name], 'private') === true ||
    entryType(described)?.attributes.get(name)?.hidden === true;
  const privateOf = (described: unknown): string[] => namesWhere(described, (_it, name) => isPrivate(described, name));
  const isKind =
    (kind: EntryType['kind'], named: string) =>
    (described: unknown): boolean =>
      entryType(described)?.kind === kind || memberOf(described, 'kind') === named;
  const hasDraftAndPublish = (described: unknown): boolean =>
    entryType(described)?.draftAndPublish ?? memberOf(memberOf(described, 'options'), 'draftAndPublish') === true;
  return {
    hasDraftAndPublish,
    isDraft: (data: unknown, described: unknown) =>
      hasDraftAndPublish(described) && memberOf(data, PUBLISHED_AT) === null,
    isSingleType: isKind('single', SINGLE),
    isCollectionType: isKind('collection', COLLECTION),
    isScalarAttribute,
    isMediaAttribute: isOfType('media'),
    isRelationalAttribute: isRelational,
    isMorphToRelationalAttribute: isRelationOf('morphToOne', 'morphToMany'),
    isComponentAttribute,
    isDynamicZoneAttribute: isOfType('dynamiczone'),
    isTypedAttribute: (attribute: unknown, type: unknown) => type !== undefined && typeOf(attribute) === type,
    isPrivateAttribute: isPrivate,
    isVisibleAttribute: (described: unknown, it: string) => visibleOf(described).includes(it),
    isWritableAttribute: (described: unknown, it: string) => writableOf(described).includes(it),
    getScalarAttributes: (described: unknown) => namesWhere(described, isScalarAttribute),
    getComponentAttributes: (described: unknown) => namesWhere(described, isComponentAttribute),
    getPrivateAttributes: privateOf,
    getVisibleAttributes: visibleOf,
    getNonVisibleAttributes: invisibleOf,
    getWritableAttributes: writableOf,
    getNonWritableAttributes: unwritableOf,
    getTimestamps: (described: unknown) =>
      [CREATED_AT, UPDATED_AT].filter((it) => Object.hasOwn(attributesOf(described), it)),
    getCreatorFields: (described: unknown) =>
      [CREATED_BY, UPDATED_BY].filter((it) => Object.hasOwn(attributesOf(described), it)),
    getOptions: (described: unknown) => {
      const options = memberOf(described, 'options');
      return { draftAndPublish: false, ...(isMembers(options) ? options : {}) };
    },
    isKind: (kind: unknown) => (described: unknown) => memberOf(described, 'kind') === kind,
    getContentTypeRoutePrefix: (described: unknown) => {
      const name = memberOf(described, 'kind') === SINGLE ? 'singularName' : 'pluralName';
      return names.toKebabCase(String(memberOf(memberOf(described, 'info'), name)));
    },
    constants: {
      ID_ATTRIBUTE: ID,
      PUBLISHED_AT_ATTRIBUTE: PUBLISHED_AT,
      CREATED_AT_ATTRIBUTE: CREATED_AT,
      UPDATED_AT_ATTRIBUTE: UPDATED_AT,
      CREATED_BY_ATTRIBUTE: CREATED_BY,
      UPDATED_BY_ATTRIBUTE: UPDATED_BY,
      SINGLE_TYPE: SINGLE,
      COLLECTION_TYPE: COLLECTION,
      DP_PUB_STATE_LIVE: 'live',
      DP_PUB_STATE_PREVIEW: 'preview',
      DP_PUB_STATES: ['live', 'preview'],
    },
  };
};
