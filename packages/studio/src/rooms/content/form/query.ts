/** The query that reads an entry for a form: all it contains, but of its relation lists nothing, since they may be long. */
import { encodeQuery } from 'dovetail-client';
import { type Attribute, attributeOf, type Model, ownAttributes, type Type, typeOf } from '../../../model/model.js';
import { isWriteOnly } from './fields.js';

type Query = { readonly [name: string]: unknown };

/** Characters of a query; the server takes URLs of 16 KB. */
const CHARACTERS_MAX = 14_000;

/** Components inside of components that are shown. The server accepts no deeper ones in bodies. */
const DEPTH_MAX = 10;

export const editQuery = (model: Model, type: Type): Query => {
  const query = { publicationState: 'preview', populate: populateOfEntry(model, type) };
  // a type with very many components: the names inside are the same for all components that have them
  return encodeQuery(query).length <= CHARACTERS_MAX ? query : { ...query, populate: pathsIn(query.populate) };
};

const populateOfEntry = (model: Model, type: Type): Query => ({
  ...populateOf(model, type, 0),
  ...(type.localized ? { localizations: { fields: ['locale', ...stateOf(type)] } } : {}),
  ...Object.fromEntries(
    ['createdBy', 'updatedBy']
      .filter((name) => attributeOf(type, name)?.mayRead)
      .map((name) => [name, { fields: ['firstname', 'lastname'] }]),
  ),
});

/** The same as dotted paths, which are short; related entries are then read with all their fields. */
const pathsIn = (populate: Query): readonly string[] => [
  ...new Set(
    Object.entries(populate).flatMap(([name, options]) => {
      const { on, populate: inner } =
        options === true ? {} : (options as { readonly on?: Query; readonly populate?: Query });
      const below = [...Object.values(on ?? {}), ...(inner ? [{ populate: inner }] : [])].flatMap((it) =>
        it === true ? [] : pathsIn((it as { readonly populate: Query }).populate),
      );
      return below.length === 0 ? [name] : [...new Set(below)].map((it) => `${name}.${it}`);
    }),
  ),
];

const stateOf = (type: Type): readonly string[] => (type.draftAndPublish ? ['publishedAt'] : []);

const populateOf = (model: Model, type: Type, depth: number): Query =>
  Object.fromEntries(
    ownAttributes(type)
      .filter((it) => it.mayRead && !isWriteOnly(it))
      .flatMap((attribute) => {
        const options = optionsOf(model, attribute, depth);
        return options === null ? [] : [[attribute.name, options]];
      }),
  );

/** Null: not populated. */
const optionsOf = (model: Model, attribute: Attribute, depth: number): true | Query | null => {
  switch (attribute.kind) {
    case 'scalar':
      return null;
    case 'media':
      return true;
    case 'component':
      return depth === DEPTH_MAX ? null : insideOf(model, attribute.component?.uid ?? '', depth);
    case 'zone':
      return {
        on: Object.fromEntries((attribute.zone?.components ?? []).map((uid) => [uid, insideOf(model, uid, depth)])),
      };
    case 'relation': {
      if (attribute.relation?.list) return null;
      const target = typeOf(model, attribute.relation?.target ?? '');
      return target ? { fields: titleFields(target) } : true;
    }
    case 'morph':
      return true;
  }
};

const insideOf = (model: Model, uid: string, depth: number): true | Query => {
  const component = typeOf(model, uid);
  const populate = component ? populateOf(model, component, depth + 1) : {};
  return Object.keys(populate).length === 0 ? true : { populate };
};

/** What a row needs that names an entry: its main field, state and locale. */
const titleFields = (type: Type): readonly string[] => [
  type.mainField !== null && attributeOf(type, type.mainField)?.mayRead ? type.mainField : 'id',
  ...stateOf(type),
  ...(type.localized ? ['locale'] : []),
];
