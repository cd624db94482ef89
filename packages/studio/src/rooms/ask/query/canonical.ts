/**
 * A query in the one form that the typed client takes: names and sort keys as lists, what is populated as an object, values of
 * the type that they are compared with. It means the same as the query that it is made of.
 */
import { attributeOf, type Type } from '../../../model/model.js';
import { isList, isMembers, type Members, memberOf, type Node } from './node.js';
import { readFields, readFlag, readPaging, readPopulate, readSort, writeSort } from './options.js';
import { allNames, type Ground, isOn, typesAt } from './place.js';

export type Value = string | number | boolean | readonly Value[] | Values;
interface Values {
  readonly [name: string]: Value;
}

/** Null for a query with something that no object can say: an element of a list without a value. */
export const canonicalQuery = (query: Members, ground: Ground): Values | null => {
  const given = Object.entries(query).map(([name, node]): [string, Value | null | undefined] => {
    switch (name) {
      case 'pagination':
        return [name, pagingValue(node)];
      case 'locale':
      case '_q':
        return [name, plainValue(node)];
      default:
        return [name, optionValue(name, node, query, [ground.type], ground)];
    }
  });
  return collected(given);
};

/** Without what is undefined; null if one is. */
const collected = (given: readonly (readonly [string, Value | null | undefined])[]): Values | null =>
  given.some(([, it]) => it === null)
    ? null
    : Object.fromEntries(given.filter((it): it is readonly [string, Value] => it[1] !== undefined));

const optionValue = (
  name: string,
  node: Node,
  options: Members,
  types: readonly Type[],
  ground: Ground,
): Value | null | undefined => {
  switch (name) {
    case 'fields': {
      const fields = readFields(node);
      if (!fields) return plainValue(node);
      return fields.kind === 'default' ? undefined : fields.names.length > 0 ? fields.names : ['id'];
    }
    case 'populate':
      return populateValue(node, types, ground);
    case 'sort': {
      const keys = readSort(node);
      return keys ? plainValueOrNone(writeSort(keys)) : plainValue(node);
    }
    case 'filters':
      return node === null ? undefined : filterValue(node, types, ground, true);
    case 'on':
      return isMembers(node) ? fragmentsValue(node, ground) : plainValue(node);
    default:
      return plainValue(memberOf(options, name) ?? node);
  }
};

const plainValueOrNone = (node: Node | undefined): Value | null | undefined =>
  node === undefined ? undefined : plainValue(node);

const plainValue = (node: Node): Value | null => {
  if (node === null || typeof node === 'string') return node;
  if (isList(node)) {
    const items = node.map(plainValue);
    return items.some((it) => it === null) ? null : (items as Value[]);
  }
  return isMembers(node) ? collected(Object.entries(node).map(([name, it]) => [name, plainValue(it)])) : null;
};

const optionsValue = (options: Members, types: readonly Type[], ground: Ground): Values | null =>
  collected(Object.entries(options).map(([name, node]) => [name, optionValue(name, node, options, types, ground)]));

const populateValue = (node: Node, types: readonly Type[], ground: Ground): Value | null | undefined => {
  const populated = readPopulate(node, ground.leniency);
  if (!populated) return plainValue(node);
  const { all, members } = populated;
  if (members.length === 0) return all ? '*' : undefined;
  const names = all ? allNames(types) : [];
  const others = names.filter((name) => !members.some((it) => it.name === name));
  return collected([
    ...members.map((it): [string, Value | null | undefined] => {
      if (it.is === 'unreadable') return [it.name, plainValue(it.node)];
      if (it.is === 'off') return [it.name, undefined];
      const inside = types.flatMap((type) => typesAt(ground.model, type, [it.name]));
      const options = optionsValue(it.options, [...new Set(inside)], ground);
      return [it.name, options && orTrue(options)];
    }),
    ...others.map((name): [string, Value] => [name, true]),
  ]);
};

/** The client writes populated names without options as `true`. */
const orTrue = (options: Values): Value => (Object.keys(options).length > 0 ? options : true);

const fragmentsValue = (on: Members, ground: Ground): Values | null =>
  collected(
    Object.entries(on).map(([uid, node]): [string, Value | null | undefined] => {
      const type = ground.model.types.find((it) => it.uid === uid);
      if (isMembers(node)) {
        const options = optionsValue(node, type ? [type] : [], ground);
        return [uid, options && orTrue(options)];
      }
      return [uid, isOn(node, ground.leniency) ? true : node === null ? null : false];
    }),
  );

const pagingValue = (node: Node): Value | null | undefined => {
  const paging = readPaging(node);
  if (!paging) return plainValue(node);
  return Object.fromEntries(
    Object.entries(paging).map(([name, text]): [string, Value] => {
      if (name === 'withCount') return [name, text === 'true' || text === 't' || text === '1'];
      // a number without a value is 0
      return [name, text.trim() === '' ? 0 : numberOr(text)];
    }),
  );
};

/** The number of a text, if the text of the number is the same for the server. */
const numberOr = (text: string): Value => {
  const number = Number(text);
  return text.trim() !== '' && Number.isFinite(number) && (Number.isSafeInteger(number) || String(number) === text)
    ? number
    : text;
};

// ---- filters

interface Compared {
  readonly family: string | null;
}
const id: Compared = { family: 'number' };

const filterValue = (node: Node, types: readonly Type[], ground: Ground, isRoot: boolean): Value | null => {
  if (!isMembers(node)) return isRoot ? plainValue(node) : scalarValue(node, id);
  return collected(
    Object.entries(node).map(([name, it]): [string, Value | null] => {
      if (name === '$and' || name === '$or' || name === '$not') {
        if (!isList(it)) return [name, filterValue(it, types, ground, isRoot)];
        const items = it.map((item) => (isList(item) ? plainValue(item) : filterValue(item, types, ground, isRoot)));
        return [name, items.some((item) => item === null) ? null : (items as Value[])];
      }
      if (it === null && (name === '$eq' || name === '$ne')) return nullCheck(name);
      if (name.startsWith('$')) return [name, operatorValue(it, id, name)];
      const attribute = types[0] && attributeOf(types[0], name);
      if (!attribute || attribute.kind === 'scalar')
        return [name, scalarValue(it, attribute ?? (name === 'id' ? id : { family: null }))];
      const [target] = types[0] ? typesAt(ground.model, types[0], [name]) : [];
      return [name, filterValue(it, target ? [target] : [], ground, false)];
    }),
  );
};

const scalarValue = (node: Node, attribute: Compared): Value | null => {
  if (node === null) return { $null: true };
  if (typeof node === 'string') return typed(node, attribute);
  if (isList(node))
    return plainValue(node) && { $in: node.map((it) => (typeof it === 'string' ? typed(it, attribute) : '')) };
  if (!isMembers(node)) return null;
  const given = Object.entries(node).map(([name, it]): [string, Value | null] => {
    if (it === null && (name === '$eq' || name === '$ne')) return nullCheck(name);
    return [name, operatorValue(it, attribute, name)];
  });
  // two names that have become one
  return new Set(given.map(([name]) => name)).size < given.length ? null : collected(given);
};

const nullCheck = (name: '$eq' | '$ne'): [string, Value] => [name === '$eq' ? '$null' : '$notNull', true];

const operatorValue = (node: Node, attribute: Compared, operator: string): Value | null => {
  if (operator === '$not') return scalarValue(node, attribute);
  if (operator === '$and' || operator === '$or') {
    const items = isList(node) ? node.map((it) => scalarValue(it, attribute)) : [plainValue(node)];
    return items.some((it) => it === null) ? null : (items as Value[]);
  }
  if (operator === '$null' || operator === '$notNull')
    return typeof node === 'string' ? (readFlag(node, { strict: true }) ?? node) : plainValue(node);
  const isListed = operator === '$in' || operator === '$notIn';
  if (typeof node === 'string') return isListed ? [typed(node, attribute)] : typed(node, attribute);
  if (!isList(node)) return plainValue(node);
  return plainValue(node) && node.map((it) => (typeof it === 'string' ? typed(it, attribute) : ''));
};

const typed = (text: string, { family }: Compared): Value => {
  if (family === 'number') return numberOr(text);
  if (family === 'boolean') return readFlag(text, { strict: true }) ?? text;
  return text;
};
