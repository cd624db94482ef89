/** Whose an entry is that can have one partner only: connecting it elsewhere takes it from there (R13). */
import { useQuery } from '@tanstack/react-query';
import { encodeQuery } from 'dovetail-client';
import { entryName } from '../../../model/entry-name.js';
import { type Attribute, attributeOf, type Model, type Type, typeOf } from '../../../model/model.js';
import { useClient, useModel } from '../../../server/queries.js';
import { attributesOf, idOf, rowsOf } from '../form/fields.js';
import { pathOf } from '../requests.js';
import { WINDOW_MAX } from './source.js';

/** A relation of an entry. */
export interface Relation {
  /** Null: not stored yet, or the one of a single type. */
  readonly id: number | null;
  readonly attribute: Attribute;
}

/** The entry that has it now. */
export interface Partner {
  readonly id: number;
  readonly title: string;
}

/** Whether an entry that is connected leaves the one that had it. */
export const isExclusive = ({ relation }: Attribute): boolean =>
  relation !== null && relation.inverse !== null && (relation.kind === 'oneToOne' || relation.kind === 'oneToMany');

const none: ReadonlyMap<number, Partner> = new Map();

/** By id, those of the entries that others have; empty until it is known. */
export const usePartners = (relation: Relation | null, ids: readonly number[]): ReadonlyMap<number, Partner> => {
  const client = useClient();
  const model = useModel();
  const question = relation && ids.length > 0 ? questionOf(model, relation, ids) : null;
  const { data } = useQuery({
    queryKey: ['partners', question?.target.uid, question?.owner.uid, question?.query],
    queryFn: async ({ signal }) => {
      const { target, owner, inverse, query } = question!;
      const path = pathOf(model, target);
      const { body } = await client.send({ method: 'GET', path, query: encodeQuery(query), signal });
      return rowsOf(body).flatMap((row): readonly (readonly [number, Partner])[] => {
        const [partner] = rowsOf(attributesOf(row)[inverse.name]);
        const [own, other] = [idOf(row), idOf(partner)];
        if (own === null || other === null) return [];
        return [[own, { id: other, title: entryName(owner, other, attributesOf(partner)[nameField(owner)]) }]];
      });
    },
    enabled: question !== null,
    staleTime: 10_000,
  });
  return data ? new Map(data.filter(([, partner]) => partner.id !== relation?.id)) : none;
};

/** Null where nothing is taken from anybody, or it cannot be told. */
const questionOf = (model: Model, { attribute }: Relation, ids: readonly number[]) => {
  const target = typeOf(model, attribute.relation?.target ?? '');
  const inverse = target && attributeOf(target, attribute.relation?.inverse ?? '');
  const owner = typeOf(model, inverse?.relation?.target ?? '');
  if (!isExclusive(attribute) || !target?.may.find || !inverse?.mayRead || owner === null) return null;
  const query = {
    publicationState: 'preview',
    pagination: { pageSize: WINDOW_MAX },
    ...(target.localized ? { locale: 'all' } : {}),
    fields: ['id'],
    filters: { id: { $in: ids.slice(0, WINDOW_MAX) } },
    populate: { [inverse.name]: { fields: [nameField(owner)] } },
  };
  return { target, owner, inverse, query };
};

const nameField = (type: Type): string =>
  type.mainField !== null && attributeOf(type, type.mainField)?.mayRead ? type.mainField : 'id';
