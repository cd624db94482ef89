/** Which keys of a filter are operators, for `@strapi/utils`. */
import { operatorNames } from '../../query/operators.js';

const joining = ['$and', '$or'];

const kinds: Readonly<Record<string, readonly string[]>> = {
  where: [...operatorNames.filter((it) => !joining.includes(it)), '$jsonSupersetOf'],
  group: joining,
  /** Those whose values have the type of the attribute. */
  cast: ['$not', '$in', '$notIn', '$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$between'],
};

const isOperatorOfType = (kind: string, name: unknown, ignoreCase = false): boolean => {
  const asWritten = (it: unknown): string => (ignoreCase ? String(it).toLowerCase() : String(it));
  return (kinds[kind] ?? []).some((it) => asWritten(it) === asWritten(name));
};

export const operators = {
  isOperatorOfType,
  isOperator: (name: unknown, ignoreCase = false) =>
    Object.keys(kinds).some((kind) => isOperatorOfType(kind, name, ignoreCase)),
};
