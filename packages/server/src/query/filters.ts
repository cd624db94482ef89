/** `filters` and `_q`: conditions on entries (Q8, contract 4.4 and 4.7). Recursion is bounded by `limits.filterDepthMax`. */
import { nearest } from '../errors.js';
import { limits } from '../limits.js';
import { parseFlag, scalarTypes } from '../model/attributes.js';
import { defaultFields, type EntryType, idAttribute, type ScalarAttribute, typeLabel } from '../model/model.js';
import type { DbValue } from '../sql/dialect.js';
import { type RawNode, type Shape, shapeOf } from './brackets.js';
import { isOperatorName, type Operator, type OperatorName, operatorNames, operators } from './operators.js';
import { nearestName, type Path, type Resolving, refuse, stepThrough, type TextAt } from './resolving.js';
import type { Filter, PublicationState } from './selection.js';

/** Null when `filters` has no value. */
export const resolveFilters = (
  resolving: Resolving,
  type: EntryType,
  state: PublicationState,
  node: RawNode,
  path: Path,
): Filter | null =>
  shapeOf(node).kind === 'null' ? null : objectFilter(resolving, { type, state, isRoot: true }, node, path, 0);

/** `_q`: the id or any searchable text attribute contains it, and numbers do when it is one (contract 4.7). */
export const resolveSearch = (resolving: Resolving, type: EntryType, node: RawNode | undefined): Filter | null => {
  if (!node) return null;
  const shape = shapeOf(node);
  if (shape.kind === 'null') return null;
  if (shape.kind !== 'text') {
    refuse(resolving, 'query.expected-text', ['_q']);
    return null;
  }
  const { text } = shape;
  if (text === '') return null;
  const isNumber = text.trim() !== '' && Number.isFinite(Number(text));
  const searched = defaultFields(type).filter((it) => {
    const { family, numeric } = scalarTypes[it.type];
    return it.searchable && (family === 'text' || (numeric && isNumber));
  });
  const members = [...(isNumber ? [idAttribute] : []), ...searched].map(
    (attribute): Filter => ({ kind: 'compare', attribute, operator: '$containsi', values: [text] }),
  );
  return { kind: 'or', members };
};

/** All of them; null for none. */
export const allOf = (filters: readonly (Filter | null)[]): Filter | null => {
  const members = filters.filter((it) => it !== null);
  return members.length > 1 ? { kind: 'and', members } : (members[0] ?? null);
};

/** Takes the place of a condition that was refused; the request ends with its issue. */
const nothing: Filter = { kind: 'or', members: [] };

/** The entries that conditions are about. Inside a relation, operators without an attribute act on the related id. */
interface Place {
  readonly type: EntryType;
  readonly state: PublicationState;
  readonly isRoot: boolean;
}

/** An object of conditions on one entry, joined by AND. */
const objectFilter = (resolving: Resolving, place: Place, node: RawNode, path: Path, depth: number): Filter => {
  if (depth > limits.filterDepthMax) return refuseDepth(resolving, path);
  const shape = shapeOf(node);
  if (shape.kind !== 'tree') {
    if (!place.isRoot && shape.kind !== 'mixed') return scalarFilter(resolving, idAttribute, node, path, depth);
    refuse(resolving, shape.kind === 'mixed' ? 'query.mixed-forms' : 'query.expected-object', path);
    return nothing;
  }
  const members = [...shape.members].map(([key, child]) =>
    memberFilter(resolving, place, key, child, [...path, key], depth),
  );
  return joined('and', members);
};

/** One key of such an object: a group, a negation, an operator or an attribute. */
const memberFilter = (
  resolving: Resolving,
  place: Place,
  key: string,
  node: RawNode,
  path: Path,
  depth: number,
): Filter => {
  const inner = (item: RawNode, at: Path): Filter => objectFilter(resolving, place, item, at, depth + 1);
  if (key === '$and' || key === '$or')
    return groupFilter(resolving, key, node, path, (item, at) => groupMember(resolving, place, item, at, depth + 1));
  if (key === '$not') {
    const shape = shapeOf(node);
    if (shape.kind !== 'list' || !place.isRoot) return { kind: 'not', member: inner(node, path) };
    const members = shape.items.map((item, i) => inner(item, [...path, String(i)]));
    return { kind: 'not', member: { kind: 'and', members } };
  }
  if (!key.startsWith('$')) return attributeFilter(resolving, place, key, node, path, depth);
  if (!place.isRoot) return operatorFilter(resolving, idAttribute, key, node, path, depth);
  if (isOperatorName(key)) refuse(resolving, 'query.operator-without-attribute', path, { operator: key });
  else refuseOperator(resolving, key, path);
  return nothing;
};

const groupFilter = (
  resolving: Resolving,
  key: '$and' | '$or',
  node: RawNode,
  path: Path,
  member: (item: RawNode, path: Path) => Filter,
): Filter => {
  const shape = shapeOf(node);
  if (shape.kind !== 'list') {
    refuse(resolving, 'query.expected-list', path);
    return nothing;
  }
  return {
    kind: key === '$and' ? 'and' : 'or',
    members: shape.items.map((item, i) => member(item, [...path, String(i)])),
  };
};

/** A member of `$and` or `$or`: an object of conditions, or a list of such objects, joined by AND (contract 4.4). */
const groupMember = (resolving: Resolving, place: Place, node: RawNode, path: Path, depth: number): Filter => {
  const shape = shapeOf(node);
  // inside a relation, a list of texts is a list of ids
  if (shape.kind !== 'list' || shape.items.every((it) => shapeOf(it).kind === 'text'))
    return objectFilter(resolving, place, node, path, depth);
  if (depth > limits.filterDepthMax) return refuseDepth(resolving, path);
  const members = shape.items.map((item, i) => groupMember(resolving, place, item, [...path, String(i)], depth + 1));
  return joined('and', members);
};

const attributeFilter = (
  resolving: Resolving,
  { type, state }: Place,
  name: string,
  node: RawNode,
  path: Path,
  depth: number,
): Filter => {
  if (name === 'id') return scalarFilter(resolving, idAttribute, node, path, depth);
  const facts = { type: typeLabel(type), name };
  const attribute = type.attributes.get(name);
  if (!attribute) {
    if (type.morphs.some((it) => it.name === name)) refuse(resolving, 'query.not-filterable', path, facts);
    else refuse(resolving, 'query.unknown-name', path, { ...facts, near: nearestName(resolving, name, type) });
    return nothing;
  }
  if (!resolving.gate.allows(type, attribute, 'filter')) {
    refuse(resolving, 'query.hidden', path, facts);
    return nothing;
  }
  if (attribute.kind === 'scalar') return scalarFilter(resolving, attribute, node, path, depth);
  const step = stepThrough(resolving, attribute, state);
  if (!step) {
    refuse(resolving, 'query.not-filterable', path, facts);
    return nothing;
  }
  const place: Place = { type: step.target, state, isRoot: false };
  return { kind: 'related', step, member: objectFilter(resolving, place, node, path, depth + 1) };
};

/** A value, a list of values, or an object of operators, joined by AND. */
const scalarFilter = (
  resolving: Resolving,
  attribute: ScalarAttribute,
  node: RawNode,
  path: Path,
  depth: number,
): Filter => {
  const shape = shapeOf(node);
  switch (shape.kind) {
    case 'mixed':
      refuse(resolving, 'query.mixed-forms', path);
      return nothing;
    case 'null':
      return compare(resolving, attribute, '$null', [true], path);
    case 'text':
      return operatorFilter(resolving, attribute, '$eq', node, path, depth);
    case 'list':
      return operatorFilter(resolving, attribute, '$in', node, path, depth);
    case 'tree': {
      const members = [...shape.members].map(([key, child]) =>
        operatorFilter(resolving, attribute, key, child, [...path, key], depth + 1),
      );
      return joined('and', members);
    }
  }
};

const operatorFilter = (
  resolving: Resolving,
  attribute: ScalarAttribute,
  key: string,
  node: RawNode,
  path: Path,
  depth: number,
): Filter => {
  if (depth > limits.filterDepthMax) return refuseDepth(resolving, path);
  if (key === '$not') return { kind: 'not', member: scalarFilter(resolving, attribute, node, path, depth) };
  if (key === '$and' || key === '$or')
    return groupFilter(resolving, key, node, path, (item, at) => scalarFilter(resolving, attribute, item, at, depth));
  if (!isOperatorName(key)) {
    refuseOperator(resolving, key, path);
    return nothing;
  }
  const operator: Operator = operators[key];
  if (!operator.families.includes(scalarTypes[attribute.type].family)) {
    refuse(resolving, 'query.operator-not-for-type', path, { operator: key, type: attribute.type });
    return nothing;
  }
  const shape = shapeOf(node);
  if (shape.kind === 'null' && (key === '$eq' || key === '$ne'))
    return compare(resolving, attribute, key === '$eq' ? '$null' : '$notNull', [true], path);
  const given = operands(resolving, operator, shape, node, path);
  if (!given) return nothing;
  const parsed = (): readonly DbValue[] => given.map((it) => parseOperand(resolving, attribute, it));
  switch (operator.takes) {
    case 'flag': {
      const flag = shape.kind === 'text' ? parseFlag(shape.text) : undefined;
      if (flag === undefined) refuse(resolving, 'query.flag', path, { text: given[0]?.text ?? '' });
      return compare(resolving, attribute, key, [flag ?? true], path);
    }
    case 'list':
      return compare(resolving, attribute, key, parsed(), path);
    case 'two':
      if (given.length !== 2) refuse(resolving, 'query.expected-two-values', path);
      return compare(resolving, attribute, key, parsed(), path);
    case 'one': {
      const members = parsed().map((value) => compare(resolving, attribute, key, [value], path));
      return joined(operator.negative ? 'and' : 'or', members);
    }
  }
};

/** The values of one operator; null after a fault. */
const operands = (
  resolving: Resolving,
  operator: Operator,
  shape: Shape,
  node: RawNode,
  path: Path,
): readonly (TextAt | { readonly text: null })[] | null => {
  const items = shape.kind === 'list' ? shape.items : [node];
  if (items.length > limits.inListMax) {
    refuse(resolving, 'query.list-too-long', path, { max: limits.inListMax });
    return null;
  }
  const texts = items.map((item, i) => {
    const at = shape.kind === 'list' ? [...path, String(i)] : path;
    const inner = shapeOf(item);
    if (inner.kind === 'text') return { text: inner.text, at };
    // a member of a list without a value meets no row (contract 4.4)
    if (inner.kind === 'null' && operator.takes === 'list') return { text: null };
    refuse(resolving, 'query.expected-text', at);
    return null;
  });
  const given = texts.filter((it) => it !== null);
  return given.length < texts.length ? null : given;
};

const parseOperand = (
  resolving: Resolving,
  attribute: ScalarAttribute,
  operand: TextAt | { readonly text: null },
): DbValue => {
  if (operand.text === null) return null;
  const parsed = scalarTypes[attribute.type].parseText(operand.text, operand.at);
  if (parsed.ok) return parsed.value;
  resolving.issues.push(...parsed.issues);
  return null;
};

const compare = (
  resolving: Resolving,
  attribute: ScalarAttribute,
  operator: OperatorName,
  values: readonly DbValue[],
  path: Path,
): Filter => {
  resolving.conditions += 1;
  if (resolving.conditions === limits.conditionsMax + 1)
    refuse(resolving, 'query.too-many-conditions', path.slice(0, 1), { max: limits.conditionsMax });
  return { kind: 'compare', attribute, operator, values };
};

const joined = (kind: 'and' | 'or', members: readonly Filter[]): Filter =>
  members.length === 1 ? members[0]! : { kind, members };

const refuseOperator = (resolving: Resolving, key: string, path: Path): void =>
  refuse(resolving, 'query.unknown-operator', path, { name: key, near: nearest(key, operatorNames) });

const refuseDepth = (resolving: Resolving, path: Path): Filter => {
  refuse(resolving, 'query.too-deep', path.slice(0, 3), { max: limits.filterDepthMax });
  return nothing;
};
