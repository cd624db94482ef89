/** What a newcomer can try with this model: its own types, not examples. */
import { contentTypes, type Model, ownAttributes, type Type, typeOf } from '../../model/model.js';

export interface Tour {
  /** The type to ask for: the one with the most links. */
  readonly asked: Type | null;
  /** A list of related entries whose order can be changed. */
  readonly ordered: { readonly type: Type; readonly attribute: string; readonly target: Type } | null;
}

export const tourOf = (model: Model): Tour => {
  const collections = contentTypes(model).filter((it) => it.kind === 'collection');
  const [asked = null] = collections.filter((it) => it.may.find).sort((one, other) => linksOf(other) - linksOf(one));
  return { asked, ordered: orderedLists(model, collections)[0] ?? null };
};

/** A request that shows what the API is for. */
export interface Example {
  readonly type: Type;
  readonly query: object;
}

/** Relations that an example follows. */
const FOLLOWED_MAX = 2;

/** Names, and the names of what is related; null if nothing may be asked for. */
export const exampleOf = (model: Model, asked: Type | null): Example | null => {
  if (asked?.path == null) return null;
  const namesOf = ({ mainField }: Type): object => (mainField === null ? {} : { fields: [mainField] });
  const followed = ownAttributes(asked)
    .filter((it) => it.kind === 'relation' && it.mayRead)
    .flatMap(({ name, relation }) => {
      const target = typeOf(model, relation?.target ?? null);
      return target?.may.find && target.uid.startsWith('api::') && target.mainField !== null
        ? [[name, namesOf(target)] as const]
        : [];
    })
    .slice(0, FOLLOWED_MAX);
  const populate = followed.length === 0 ? {} : { populate: Object.fromEntries(followed) };
  return { type: asked, query: { ...namesOf(asked), ...populate, pagination: { pageSize: 2 } } };
};

const linksOf = (type: Type): number => ownAttributes(type).filter((it) => it.kind !== 'scalar' && it.mayRead).length;

/** Those without an attribute on the other side first: they are made to be put in order. */
const orderedLists = (model: Model, types: readonly Type[]): readonly NonNullable<Tour['ordered']>[] =>
  types
    .flatMap((type) =>
      ownAttributes(type)
        .filter((it) => it.mayRead && it.relation?.list && it.relation.ordered)
        .flatMap(({ name, relation }) => {
          const target = typeOf(model, relation!.target);
          const isOwn = relation!.inverse === null && target?.uid !== type.uid;
          return target?.uid.startsWith('api::') ? [{ type, attribute: name, target, isOwn }] : [];
        }),
    )
    .sort((one, other) => Number(other.isOwn) - Number(one.isOwn));
