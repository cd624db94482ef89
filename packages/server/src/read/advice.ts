/** Which index of the configuration would keep a list from reading a whole table, or why none would (ST16). */
import { isIndexable } from '../model/attributes.js';
import type { EntryType, Uid } from '../model/model.js';
import type { OperatorName } from '../query/operators.js';
import type { Filter, Query, SortKey } from '../query/selection.js';

export interface Advice {
  /** What to add to `indexes` in the configuration; null if no index helps, or if it is there. */
  readonly index: { readonly type: Uid; readonly keys: string } | null;
  readonly text: string;
}

/** @param ordersAsStored whether the database compares values of the attribute as an index holds them. */
export type OrdersAsStored = (attribute: SortKey['attribute']) => boolean;

/**
 * @param what the statement that reads a whole table: the `page`, which is filtered and sorted, or its `count`, which is
 * filtered.
 */
export const adviceFor = (
  what: 'page' | 'count',
  { selection: { type, filter, sort } }: Query,
  ordersAsStored: OrdersAsStored,
): Advice | null => {
  const keys = what === 'page' ? sort : [];
  const conditions = conditionsOf(filter);
  const usable = conditions.filter(
    (it) => it.isPlain && it.path !== null && isIndexable(it.attribute.type) && ordersAsStored(it.attribute),
  );
  const isSorted = keys.every(
    (it) =>
      it.steps.length === 0 && isIndexable(it.attribute.type) && (keys.length === 1 || ordersAsStored(it.attribute)),
  );
  if (keys.length > 0 && isSorted) {
    // equal values first, so that the rest is in order; an index names an attribute once
    const equal = new Set(
      usable.filter((it) => it.operator === '$eq' && !it.path?.includes('.')).map((it) => it.path!),
    );
    const order = keys.filter((it) => !equal.has(it.attribute.name));
    return suggestion(type, [...equal, ...order.map(textOfKey)].join(','));
  }
  const [found] = [...usable].sort((a, b) => Number(b.operator === '$eq') - Number(a.operator === '$eq'));
  if (found) return suggestion(type, found.path!);
  const [key] = keys;
  if (key && key.steps.length > 0)
    return none(
      `the order by ${textOfKey(key)} is one of entries of another type, which are looked up for every entry`,
    );
  if (key) return none(`${key.attribute.name} is compared in a form that an index does not hold`);
  return conditions.length === 0 ? null : none(`${listOf(conditions)} checked for every entry`);
};

/** `_q` has a condition for every attribute that it searches. */
const listOf = (conditions: readonly Condition[]): string => {
  const names = [...new Set(conditions.map((it) => it.text))];
  const shown = names.slice(0, 3).join(', ');
  return `${shown}${names.length > 3 ? ' and others are' : names.length > 1 ? ' are' : ' is'}`;
};

const none = (why: string): Advice => ({ index: null, text: `no index ends this: ${why}` });

const suggestion = (type: EntryType, keys: string): Advice => {
  // an index serves both directions
  const plain = keys.includes(',') ? keys : keys.replace(/:desc$/, '');
  if (type.indexes.some((index) => leads(index, plain.split(','))))
    return {
      index: null,
      text: `the index on ${plain} is there: the table is too small for it, or too many entries match`,
    };
  return {
    index: { type: type.uid, keys: plain },
    text: `to end this, add to dovetail.config: "indexes": ${JSON.stringify({ [type.uid]: [plain] })}`,
  };
};

const leads = (index: EntryType['indexes'][number], keys: readonly string[]): boolean =>
  keys.every((key, i) => index[i]?.attribute.name === key.split(':')[0]);

const textOfKey = ({ steps, attribute, direction }: SortKey): string =>
  `${[...steps.map((it) => it.attribute.name), attribute.name].join('.')}${direction === 'desc' ? ':desc' : ''}`;

/** A comparison within a filter. */
interface Condition {
  readonly attribute: SortKey['attribute'];
  readonly operator: OperatorName;
  /** Its name in the configuration; null where it leads to several types. */
  readonly path: string | null;
  /** Whether every entry of the list meets it, by a range of values. */
  readonly isPlain: boolean;
  readonly text: string;
}

/** Operators whose matches are ranges of an index. */
const ranges: ReadonlySet<OperatorName> = new Set(['$eq', '$in', '$lt', '$lte', '$gt', '$gte', '$between']);

const conditionsOf = (filter: Filter | null, path: readonly string[] = [], isPlain = true): readonly Condition[] => {
  if (!filter) return [];
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.members.flatMap((it) =>
        conditionsOf(it, path, isPlain && (filter.kind === 'and' || filter.members.length === 1)),
      );
    case 'not':
      return conditionsOf(filter.member, path, false);
    case 'compare': {
      const { attribute, operator } = filter;
      const name = [...path, attribute.name].join('.');
      return [
        { attribute, operator, path: name, isPlain: isPlain && ranges.has(operator), text: `${name} ${operator}` },
      ];
    }
    case 'related': {
      const { attribute } = filter.step;
      const inside = conditionsOf(filter.member, [...path, attribute.name], isPlain);
      const isMixed = attribute.kind === 'part' && attribute.components.length > 1;
      return isMixed ? inside.map((it) => ({ ...it, path: null })) : inside;
    }
  }
};
