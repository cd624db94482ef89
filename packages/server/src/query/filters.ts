/** `filters` and `_q`: conditions on entries (Q8, FL2, FL14). Recursion is bounded by `limits.filterDepthMax`. */
import { type Hint, hintAt, issue, ok, type Result } from '../errors.js';
import { limits } from '../limits.js';
import { parseFlag, scalarTypes } from '../model/attributes.js';
import { defaultFields, type EntryType, idAttribute, type ScalarAttribute, typeLabel } from '../model/model.js';
import type { DbValue } from '../sql/dialect.js';
import { isDropped, leaveOut, lenientFlag } from './lenient.js';
import { isOperatorName, type Operator, type OperatorName, operatorNames, operators } from './operators.js';
import type { RawNode, Shape } from './raw.js';
import {
  hintOf,
  isIdName,
  type Path,
  type Resolving,
  refuse,
  scalarOfColumn,
  shapeIn,
  stepThrough,
  type TextAt,
} from './resolving.js';
import type { Filter, PublicationState } from './selection.js';

/** Null when `filters` has no value. */
export const resolveFilters = (
  resolving: Resolving,
  type: EntryType,
  state: PublicationState,
  node: RawNode,
  path: Path,
): Filter | null =>
  shapeIn(resolving, node).kind === 'null'
    ? null
    : objectFilter(resolving, { type, state, isRoot: true }, node, path, 0);

/** `_q`: the id or any searchable text attribute contains it; numeric attributes too if it is a number (FL14). */
export const resolveSearch = (resolving: Resolving, type: EntryType, node: RawNode | undefined): Filter | null => {
  if (!node) return null;
  const shape = shapeIn(resolving, node);
  if (shape.kind === 'null') return null;
  if (shape.kind !== 'text') {
    refuse(resolving, 'query.expected-text', ['_q']);
    return null;
  }
  const { text } = shape;
  if (text === '') return null;
  const isNumber = text.trim() !== '' && Number.isFinite(Number(text));
  const searched = defaultFields(type).filter((it) => {
    if (!resolving.gate.allows(type, it, 'filter')) return false;
    const { family, numeric } = scalarTypes[it.type];
    return it.searchable && (family === 'text' || (numeric && isNumber));
  });
  const members = [...(isNumber ? [idAttribute] : []), ...searched].map(
    (attribute): Filter => ({ kind: 'compare', attribute, operator: '$containsi', values: [text], blanks: [null] }),
  );
  return { kind: 'or', members };
};

/** All of them; null for none. */
export const allOf = (filters: readonly (Filter | null)[]): Filter | null => joinFilters('and', filters);

const joinFilters = (kind: 'and' | 'or', filters: readonly (Filter | null)[]): Filter | null => {
  const members = filters.filter((it) => it !== null);
  return members.length > 1 ? { kind, members } : (members[0] ?? null);
};

/** The entries that conditions apply to. Inside a relation, operators without an attribute act on the related id. */
interface Place {
  readonly type: EntryType;
  readonly state: PublicationState;
  readonly isRoot: boolean;
}

/**
 * An object of conditions on one entry, joined by AND. Here and below, null means no condition: rejected, or
 * empty. v4 removes empty objects from filters, so that they neither widen nor narrow a group.
 */
const objectFilter = (resolving: Resolving, place: Place, node: RawNode, path: Path, depth: number): Filter | null => {
  if (depth > limits.filterDepthMax) return refuseDepth(resolving, path);
  const shape = shapeIn(resolving, node);
  if (shape.kind !== 'tree') {
    if (!place.isRoot && shape.kind !== 'mixed') return scalarFilter(resolving, place, idAttribute, node, path, depth);
    refuse(resolving, shape.kind === 'mixed' ? 'query.mixed-forms' : 'query.expected-object', path);
    return null;
  }
  const members = [...shape.members].map(([key, child]) =>
    memberFilter(resolving, place, key, child, [...path, key], depth),
  );
  return joinFilters('and', members);
};

/** One key of such an object: a group, a negation, an operator or an attribute. */
const memberFilter = (
  resolving: Resolving,
  place: Place,
  key: string,
  node: RawNode,
  path: Path,
  depth: number,
): Filter | null => {
  const inner = (item: RawNode, at: Path): Filter | null => objectFilter(resolving, place, item, at, depth + 1);
  if (key === '$and' || key === '$or')
    return groupFilter(resolving, key, node, path, (item, at) => groupMember(resolving, place, item, at, depth + 1));
  if (key === '$not') {
    const shape = shapeIn(resolving, node);
    return negated(
      shape.kind === 'list' && place.isRoot
        ? allOf(shape.items.map((item, i) => inner(item, [...path, String(i)])))
        : inner(node, path),
    );
  }
  if (!key.startsWith('$')) return attributeFilter(resolving, place, key, node, path, depth);
  if (!place.isRoot) return operatorFilter(resolving, place, idAttribute, key, node, path, depth);
  if (isOperatorName(key)) refuse(resolving, 'query.operator-without-attribute', path, { operator: key });
  else refuse(resolving, 'query.unknown-operator', path, operatorFacts(key));
  return null;
};

const negated = (member: Filter | null): Filter | null => member && { kind: 'not', member };

const groupFilter = (
  resolving: Resolving,
  key: '$and' | '$or',
  node: RawNode,
  path: Path,
  member: (item: RawNode, path: Path) => Filter | null,
): Filter | null => {
  const shape = shapeIn(resolving, node);
  // possible only in a query object: a group of none, which matches nothing
  if (shape.kind === 'list' && shape.items.length === 0 && key === '$or') return { kind: 'or', members: [] };
  if (shape.kind === 'list')
    return joinFilters(
      key === '$and' ? 'and' : 'or',
      shape.items.map((item, i) => member(item, [...path, String(i)])),
    );
  refuse(resolving, 'query.expected-list', path);
  return null;
};

/** A member of `$and` or `$or`: an object of conditions, or a list of such objects, joined by AND (FL4). */
const groupMember = (resolving: Resolving, place: Place, node: RawNode, path: Path, depth: number): Filter | null => {
  const shape = shapeIn(resolving, node);
  // inside a relation, a list of texts is a list of ids
  if (shape.kind !== 'list' || shape.items.every((it) => shapeIn(resolving, it).kind === 'text'))
    return objectFilter(resolving, place, node, path, depth);
  if (depth > limits.filterDepthMax) return refuseDepth(resolving, path);
  return allOf(shape.items.map((item, i) => groupMember(resolving, place, item, [...path, String(i)], depth + 1)));
};

const attributeFilter = (
  resolving: Resolving,
  place: Place,
  name: string,
  node: RawNode,
  path: Path,
  depth: number,
): Filter | null => {
  const { type, state } = place;
  if (isIdName(resolving, type, name)) return scalarFilter(resolving, place, idAttribute, node, path, depth);
  const facts = { type: typeLabel(type), name };
  const attribute = type.attributes.get(name);
  if (!attribute) {
    unknownAttribute(resolving, type, name, path);
    return null;
  }
  if (!resolving.gate.allows(type, attribute, 'filter')) {
    refuse(resolving, 'query.hidden', path, facts);
    return null;
  }
  if (attribute.kind === 'scalar') return scalarFilter(resolving, place, attribute, node, path, depth);
  const step = stepThrough(resolving, attribute, state);
  if (!step) {
    refuse(resolving, 'query.not-filterable', path, facts);
    return null;
  }
  countSubquery(resolving, path);
  const related: Place = { type: step.target, state, isRoot: false };
  const member = objectFilter(resolving, related, node, path, depth + 1);
  return member && { kind: 'related', step, member };
};

/** v4 rejects unknown names here, but ignores conditions on column names and on names that its parser drops. */
const unknownAttribute = (resolving: Resolving, type: EntryType, name: string, path: Path): void => {
  const fault = issue('query.unknown-name', path, {
    type: typeLabel(type),
    name,
    ...hintOf(resolving, name, type, 'any'),
  });
  const column = scalarOfColumn(type, name);
  if (isDropped(resolving, name) || (column && resolving.gate.allows(type, column, 'filter')))
    leaveOut(resolving, fault);
  else resolving.issues.push(fault);
};

/** A value, a list of values, or an object of operators, joined by AND. */
const scalarFilter = (
  resolving: Resolving,
  place: Place,
  attribute: ScalarAttribute,
  node: RawNode,
  path: Path,
  depth: number,
): Filter | null => {
  const shape = shapeIn(resolving, node);
  switch (shape.kind) {
    case 'mixed':
      refuse(resolving, 'query.mixed-forms', path);
      return null;
    case 'null':
      return compare(resolving, attribute, '$null', [{ value: true, blank: null }], path);
    case 'text':
      return operatorFilter(resolving, place, attribute, '$eq', node, path, depth);
    case 'list':
      return operatorFilter(resolving, place, attribute, '$in', node, path, depth);
    case 'tree':
      // a condition that somebody meant to set would be lost
      if (shape.members.size === 0) refuse(resolving, 'query.empty-condition', path);
      return allOf(
        [...shape.members].map(([key, child]) =>
          // the operator of a value is none of the levels (RQ10)
          operatorFilter(
            resolving,
            place,
            attribute,
            key,
            child,
            [...path, key],
            isOperatorName(key) ? depth : depth + 1,
          ),
        ),
      );
  }
};

const operatorFilter = (
  resolving: Resolving,
  place: Place,
  attribute: ScalarAttribute,
  key: string,
  node: RawNode,
  path: Path,
  depth: number,
): Filter | null => {
  if (depth > limits.filterDepthMax) return refuseDepth(resolving, path);
  if (key === '$not') return negated(scalarFilter(resolving, place, attribute, node, path, depth));
  if (key === '$and' || key === '$or')
    return groupFilter(resolving, key, node, path, (item, at) =>
      scalarFilter(resolving, place, attribute, item, at, depth),
    );
  if (!isOperatorName(key)) {
    const fault = issue('query.unknown-operator', path, operatorFacts(key));
    if (isIgnoredByV4(place, attribute, key)) leaveOut(resolving, fault);
    else resolving.issues.push(fault);
    return null;
  }
  const operator: Operator = operators[key];
  if (!operator.families.includes(scalarTypes[attribute.type].family)) {
    refuse(resolving, 'query.operator-not-for-type', path, { operator: key, type: attribute.type });
    return null;
  }
  const shape = shapeIn(resolving, node);
  if (shape.kind === 'tree' && [...shape.members.keys()].every((it) => isIgnoredByV4(place, attribute, it))) {
    leaveOut(resolving, issue('query.expected-text', path));
    return null;
  }
  if (shape.kind === 'null' && (key === '$eq' || key === '$ne'))
    return compare(resolving, attribute, key === '$eq' ? '$null' : '$notNull', [{ value: true, blank: null }], path);
  if (operator.takes === 'flag') {
    const flag = flagOf(resolving, shape, path);
    return flag === null ? null : compare(resolving, attribute, key, [{ value: flag, blank: null }], path);
  }
  const given = operands(resolving, operator, shape, node, path);
  if (!given) return null;
  const values = given.map((it) => ({ value: operandOf(resolving, attribute, it), blank: it.blank }));
  switch (operator.takes) {
    case 'list':
      return compare(resolving, attribute, key, values, path);
    case 'two':
      if (given.length !== 2) refuse(resolving, 'query.expected-two-values', path);
      return compare(resolving, attribute, key, values, path);
    case 'one': {
      const kind = operator.negative ? 'and' : 'or';
      // possible only in a query object: an empty list of values
      if (values.length === 0) return { kind, members: [] };
      return joinFilters(
        kind,
        values.map((value) => compare(resolving, attribute, key, [value], path)),
      );
    }
  }
};

/** Whether v4 ignores a condition with this key under a scalar, where it drops unknown names unchecked. */
const isIgnoredByV4 = ({ type }: Place, attribute: ScalarAttribute, key: string): boolean =>
  attribute !== idAttribute &&
  !isOperatorName(key) &&
  !['$and', '$or', '$not', '$jsonSupersetOf', 'id'].includes(key) &&
  !type.attributes.has(key);

const flagOf = (resolving: Resolving, shape: Shape, path: Path): boolean | null => {
  const { strict } = resolving;
  if (shape.kind === 'text') {
    const flag = strict ? parseFlag(shape.text) : lenientFlag(shape.text);
    if (flag !== undefined) return flag;
  }
  if (shape.kind === 'null' && !strict) return false;
  if (shape.kind === 'text') refuse(resolving, 'query.flag', path, { text: shape.text });
  else refuse(resolving, 'query.expected-text', path);
  return null;
};

/** The text of a value; null for a member of a list without a value. */
type Operand = (TextAt & { readonly blank: number | null }) | { readonly text: null; readonly blank: null };

/** The values of one operator; null after a fault. */
const operands = (
  resolving: Resolving,
  operator: Operator,
  shape: Shape,
  node: RawNode,
  path: Path,
): readonly Operand[] | null => {
  const items = shape.kind === 'list' ? shape.items : [node];
  if (items.length > limits.inListMax) {
    refuse(resolving, 'query.list-too-long', path, { max: limits.inListMax });
    return null;
  }
  const texts = items.map((item, i): Operand | null => {
    const at = shape.kind === 'list' ? [...path, String(i)] : path;
    const inner = shapeIn(resolving, item);
    if (inner.kind === 'text') return { text: inner.text, blank: inner.blank, at };
    // a list member without a value matches no row (FL7)
    if (inner.kind === 'null' && operator.takes === 'list') return { text: null, blank: null };
    refuse(resolving, 'query.expected-text', at);
    return null;
  });
  const given = texts.filter((it) => it !== null);
  return given.length < texts.length ? null : given;
};

const operandOf = (resolving: Resolving, attribute: ScalarAttribute, operand: Operand): DbValue => {
  if (operand.text === null) return null;
  const parsed = parseOperand(attribute, operand.text, operand.at, resolving);
  if (parsed.ok) return parsed.value;
  resolving.issues.push(...parsed.issues);
  return null;
};

/** The text of a filter's value as a value of the database. */
export const parseOperand = (
  attribute: ScalarAttribute,
  text: string,
  at: Path,
  { strict }: Pick<Resolving, 'strict'>,
): Result<DbValue> => {
  const { parseText, family, form } = scalarTypes[attribute.type];
  if (!strict) {
    // v4 reads an empty text as the number 0, and any text but the falsy words as true
    if (form === 'number' && attribute !== idAttribute && text.trim() === '') return ok(0);
    if (family === 'boolean') return ok(lenientFlag(text));
  }
  return parseText(text, at);
};

const compare = (
  resolving: Resolving,
  attribute: ScalarAttribute,
  operator: OperatorName,
  given: readonly { readonly value: DbValue; readonly blank: number | null }[],
  path: Path,
): Filter => {
  countSubquery(resolving, path);
  return {
    kind: 'compare',
    attribute,
    operator,
    values: given.map((it) => it.value),
    blanks: given.map((it) => it.blank),
  };
};

const countSubquery = (resolving: Resolving, path: Path): void => {
  resolving.conditions += 1;
  if (resolving.conditions === limits.conditionsMax + 1)
    refuse(resolving, 'query.too-many-conditions', path.slice(0, 1), { max: limits.conditionsMax });
};

const operatorFacts = (key: string): Hint & { readonly name: string } => ({
  name: key,
  ...hintAt(key, operatorNames),
});

const refuseDepth = (resolving: Resolving, path: Path): null => {
  refuse(resolving, 'query.too-deep', path.slice(0, 3), { max: limits.filterDepthMax });
  return null;
};
