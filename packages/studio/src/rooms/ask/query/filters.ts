/**
 * Conditions as rows: what a filter says in any form that it can be written in. Each view knows where it is in the filter, so
 * that changing one leaves the others as they are.
 */
import { type Attribute, attributeOf, type Model, type Type } from '../../../model/model.js';
import {
  isList,
  isMembers,
  type Members,
  memberOf,
  type Node,
  nodeAt,
  noMembers,
  type Path,
  renamed,
  withMember,
  withNodeAt,
} from './node.js';
import { targetsOf } from './place.js';

export type Filter =
  /** Conditions that hold all, or any of them. `written`: as a list of their own, else beside each other. */
  | { readonly kind: 'group'; readonly at: Path; readonly join: 'all' | 'any'; readonly members: readonly Filter[] }
  | { readonly kind: 'not'; readonly at: Path; readonly member: Filter }
  /** Some related entry meets the members. */
  | {
      readonly kind: 'related';
      readonly at: Path;
      readonly attribute: Attribute;
      readonly target: Type;
      readonly members: readonly Filter[];
    }
  | Comparison
  /** What has no controls. */
  | { readonly kind: 'text'; readonly at: Path; readonly node: Node };

export interface Comparison {
  readonly kind: 'compare';
  /** Of the value, or of the operator's name if it has one. */
  readonly at: Path;
  readonly attribute: Compared;
  readonly operator: string;
  /** Whether the operator is written; a value alone means `$eq`, a list `$in`. */
  readonly named: boolean;
  readonly operands: readonly string[];
}

/** What is compared: an attribute, or the id, which no model lists. */
export type Compared = Pick<Attribute, 'name' | 'type' | 'family' | 'operators' | 'enum'>;

export const idAttribute: Compared = {
  name: 'id',
  type: 'integer',
  family: 'number',
  operators: ['$eq', '$ne', '$in', '$notIn', '$lt', '$lte', '$gt', '$gte', '$between', '$null', '$notNull'],
  enum: null,
};

export type Operands = 'one' | 'two' | 'list' | 'flag';
export const operandsOf = (operator: string): Operands => {
  if (operator === '$in' || operator === '$notIn') return 'list';
  if (operator === '$null' || operator === '$notNull') return 'flag';
  return operator === '$between' ? 'two' : 'one';
};

interface Context {
  readonly model: Model;
  readonly types: readonly Type[];
  /** Inside a relation, operators without an attribute act on the related id. */
  readonly isRoot: boolean;
}

/** The filter of a place whose entries are of these types; null if there is none. */
export const viewFilter = (node: Node | undefined, types: readonly Type[], model: Model): Filter | null =>
  node === undefined || node === null ? null : viewObject(node, { model, types, isRoot: true }, []);

const viewObject = (node: Node, context: Context, at: Path): Filter => {
  if (isMembers(node)) return { kind: 'group', at, join: 'all', members: viewMembers(node, context, at) };
  return context.isRoot ? { kind: 'text', at, node } : viewScalar(node, idAttribute, at);
};

const viewMembers = (members: Members, context: Context, at: Path): readonly Filter[] =>
  Object.entries(members).map(([key, it]) => viewMember(key, it, context, [...at, key]));

const viewMember = (key: string, node: Node, context: Context, at: Path): Filter => {
  const { isRoot, types, model } = context;
  if (key === '$and' || key === '$or') return viewGroup(key, node, at, (it, place) => viewListed(it, context, place));
  if (key === '$not') {
    const member: Filter =
      isList(node) && isRoot
        ? { kind: 'group', at, join: 'all', members: node.map((it, i) => viewObject(it, context, [...at, `${i}`])) }
        : viewObject(node, context, at);
    return { kind: 'not', at, member };
  }
  if (key.startsWith('$')) return isRoot ? { kind: 'text', at, node } : viewOperator(key, node, idAttribute, at);
  if (key === 'id') return viewScalar(node, idAttribute, at);
  const [first, ...others] = types;
  const attribute = first && attributeOf(first, key);
  if (!attribute || !others.every((it) => attributeOf(it, key)?.kind === attribute.kind))
    return { kind: 'text', at, node };
  if (attribute.kind === 'scalar') return viewScalar(node, attribute, at);
  const [target] = targetsOf(model, attribute);
  if (!target || attribute.kind === 'zone' || attribute.kind === 'morph') return { kind: 'text', at, node };
  const inside: Context = { model, types: [target], isRoot: false };
  if (!isMembers(node)) return { kind: 'related', at, attribute, target, members: [viewScalar(node, idAttribute, at)] };
  return { kind: 'related', at, attribute, target, members: viewMembers(node, inside, at) };
};

/** A member of `$and` and `$or`: an object, or a list of objects that must all hold. */
const viewListed = (node: Node, context: Context, at: Path): Filter => {
  if (!isList(node) || node.every((it) => typeof it === 'string')) return viewObject(node, context, at);
  return { kind: 'group', at, join: 'all', members: node.map((it, i) => viewListed(it, context, [...at, `${i}`])) };
};

const viewGroup = (key: '$and' | '$or', node: Node, at: Path, view: (item: Node, at: Path) => Filter): Filter => {
  if (!isList(node)) return { kind: 'text', at, node };
  return {
    kind: 'group',
    at,
    join: key === '$and' ? 'all' : 'any',
    members: node.map((it, i) => view(it, [...at, `${i}`])),
  };
};

const viewScalar = (node: Node, attribute: Compared, at: Path): Filter => {
  if (node === null) return { kind: 'compare', at, attribute, operator: '$null', named: false, operands: ['true'] };
  if (!isMembers(node)) return viewValue(node, attribute, isList(node) ? '$in' : '$eq', false, at);
  const members = Object.entries(node).map(([key, it]) => viewOperator(key, it, attribute, [...at, key]));
  return members.length === 1 && members[0] ? members[0] : { kind: 'group', at, join: 'all', members };
};

const viewOperator = (key: string, node: Node, attribute: Compared, at: Path): Filter => {
  if (key === '$not') return { kind: 'not', at, member: viewScalar(node, attribute, at) };
  if (key === '$and' || key === '$or') return viewGroup(key, node, at, (it, place) => viewScalar(it, attribute, place));
  if (!attribute.operators.includes(key)) return { kind: 'text', at, node };
  if (node === null && (key === '$eq' || key === '$ne'))
    return {
      kind: 'compare',
      at,
      attribute,
      operator: key === '$eq' ? '$null' : '$notNull',
      named: true,
      operands: ['true'],
    };
  return viewValue(node, attribute, key, true, at);
};

const viewValue = (node: Node, attribute: Compared, operator: string, named: boolean, at: Path): Filter => {
  const operands = typeof node === 'string' ? [node] : isList(node) ? node : [null];
  const texts = operands.filter((it) => typeof it === 'string');
  return texts.length === operands.length
    ? { kind: 'compare', at, attribute, operator, named, operands: texts }
    : { kind: 'text', at, node };
};

/** How many comparisons there are, and texts. */
export const countOf = (filter: Filter | null): number => {
  if (!filter) return 0;
  switch (filter.kind) {
    case 'compare':
    case 'text':
      return 1;
    case 'not':
      return countOf(filter.member);
    case 'group':
    case 'related':
      return filter.members.reduce((sum, it) => sum + countOf(it), 0);
  }
};

// ---- changes. Each takes the whole filter and gives it anew; undefined when nothing is left of it.

const valueFor = (operator: string, operands: readonly string[]): Node => {
  const takes = operandsOf(operator);
  const isSingle = takes === 'flag' || (takes === 'one' && operands.length === 1);
  return isSingle ? (operands[0] ?? 'true') : operands;
};

export const setOperands = (filter: Node, { at, operator, named }: Comparison, operands: readonly string[]): Node => {
  const value = valueFor(operator, operands);
  if (named) return setAt(filter, at, operator, value);
  const isPlain = operator === '$eq' || (operator === '$in' && operands.length > 1);
  return withNodeAt(filter, at, isPlain ? value : { [operator]: value }) ?? noMembers;
};

/** Another operator; the operands stay where they fit. */
export const setOperator = (
  filter: Node,
  { at, named, operands, operator: before }: Comparison,
  operator: string,
): Node => {
  const fits = operandsOf(before) === 'flag' ? [] : operands;
  const value: Record<Operands, readonly string[]> = {
    flag: ['true'],
    one: [fits[0] ?? ''],
    two: [fits[0] ?? '', fits[1] ?? fits[0] ?? ''],
    list: fits.length > 0 ? fits : [''],
  };
  const next = valueFor(operator, value[operandsOf(operator)]);
  return named ? setAt(filter, at, operator, next) : (withNodeAt(filter, at, { [operator]: next }) ?? noMembers);
};

/** Replaces the last name of a path, at its place among its neighbours. */
const setAt = (filter: Node, at: Path, name: string, value: Node): Node => {
  const parentAt = at.slice(0, -1);
  const parent = nodeAt(filter, parentAt);
  const last = at.at(-1) ?? '';
  if (!isMembers(parent)) return filter;
  // two conditions by the same operator do not fit beside each other
  if (name !== last && memberOf(parent, name) !== undefined) return filter;
  return withNodeAt(filter, parentAt, withMember(renamed(parent, last, name), name, value)) ?? noMembers;
};

export const removeAt = (filter: Node, at: Path): Node | undefined => withNodeAt(filter, at, undefined);

/** A comparison of an attribute that is reached through these relations. */
export const newCondition = (path: readonly string[], operator: string, operands: readonly string[]): Members =>
  path.reduceRight<Members>((inner, name) => ({ [name]: inner }), { [operator]: valueFor(operator, operands) });

/** Adds a condition to the group at a path: to its list, or beside its members. */
export const addCondition = (filter: Node | undefined, at: Path, condition: Members): Node => {
  const group = nodeAt(filter, at);
  const next = isList(group) ? [...group, condition] : joined(isMembers(group) ? group : noMembers, condition);
  return withNodeAt(filter, at, next) ?? noMembers;
};

/** Merged where the names differ; else both stand in `$and`. */
const joined = (group: Members, condition: Members): Members => {
  const merged = mergedMembers(group, condition);
  if (merged) return merged;
  const and = memberOf(group, '$and');
  return withMember(group, '$and', isList(and) ? [...and, condition] : [condition]);
};

const mergedMembers = (a: Members, b: Members): Members | null => {
  let merged = a;
  for (const [name, node] of Object.entries(b)) {
    const other = memberOf(merged, name);
    if (other === undefined) {
      merged = withMember(merged, name, node);
      continue;
    }
    // not both is something else than neither
    if (name === '$not') return null;
    const both: Members | null = isMembers(other) ? other : typeof other === 'string' ? { $eq: other } : null;
    const inner = both && isMembers(node) ? mergedMembers(both, node) : null;
    if (!inner) return null;
    merged = withMember(merged, name, inner);
  }
  return merged;
};

/** Whether all members of a group must hold or any of them. */
export const setJoin = (filter: Node, at: Path, join: 'all' | 'any'): Node => {
  const last = at.at(-1);
  const parent = nodeAt(filter, at.slice(0, -1));
  // `$and` and `$or` are the name of their list
  if ((last === '$and' || last === '$or') && isMembers(parent))
    return setAt(filter, at, join === 'all' ? '$and' : '$or', nodeAt(filter, at) ?? []);
  const group = nodeAt(filter, at);
  if (!isMembers(group)) return filter;
  const [name, list] = Object.entries(group)[0] ?? [];
  const isOnly = Object.keys(group).length === 1;
  if (isOnly && (name === '$and' || name === '$or') && isList(list)) return setJoin(filter, [...at, name], join);
  if (join === 'all') return filter;
  const members = Object.entries(group).map(([key, node]): Members => ({ [key]: node }));
  return withNodeAt(filter, at, { $or: members }) ?? noMembers;
};

/** A new group with its first condition. */
export const newGroup = (join: 'all' | 'any', condition: Members): Members => ({
  [join === 'all' ? '$and' : '$or']: [condition],
});

const notName = '$not';

/** Takes what stands at a path for its opposite. */
export const negate = (filter: Node, at: Path): Node => {
  const name = at.at(-1);
  const node = nodeAt(filter, at);
  if (name === undefined) return { [notName]: filter };
  if (node === undefined) return filter;
  const parentAt = at.slice(0, -1);
  const parent = nodeAt(filter, parentAt);
  // one of a list
  if (!isMembers(parent)) return withNodeAt(filter, at, { [notName]: node }) ?? noMembers;
  // a value alone: its operator is named
  if (!name.startsWith('$') && !isMembers(node))
    return withNodeAt(filter, at, { [notName]: { [operatorOf(node)]: node ?? 'true' } }) ?? noMembers;
  const without = withMember(parent, name, undefined);
  const opposite: Members = { [notName]: { [name]: node } };
  const next =
    memberOf(parent, notName) === undefined
      ? withMember(renamed(parent, name, notName), notName, { [name]: node })
      : joined(without, opposite);
  return withNodeAt(filter, parentAt, next) ?? noMembers;
};

/** What a value alone means. */
const operatorOf = (node: Node): string => (node === null ? '$null' : isList(node) ? '$in' : '$eq');

/** Takes the `$not` at a path away, and leaves what it was about. */
export const affirm = (filter: Node, at: Path): Node => {
  const parentAt = at.slice(0, -1);
  const [parent, node] = [nodeAt(filter, parentAt), nodeAt(filter, at)];
  if (!isMembers(parent) || node === undefined) return filter;
  const inner: Members = isMembers(node)
    ? node
    : isList(node) && node.every(isMembers)
      ? { $and: node }
      : { [operatorOf(node)]: node ?? 'true' };
  const others = withMember(parent, notName, undefined);
  const isApart = Object.keys(inner).every((name) => memberOf(others, name) === undefined);
  // at the place where it was
  const next = isApart
    ? Object.fromEntries(Object.entries(parent).flatMap((it) => (it[0] === notName ? Object.entries(inner) : [it])))
    : joined(others, inner);
  return withNodeAt(filter, parentAt, next) ?? noMembers;
};
