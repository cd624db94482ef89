/**
 * `populate`: which links and components come with the entries, each with options of its own (Q1 to Q11, contract 4.2).
 * Works through a list of tasks instead of recursing: only the URL bounds the depth, so it must not fill the stack.
 */
import { nearest, never } from '../errors.js';
import { limits } from '../limits.js';
import { parseFlag } from '../model/attributes.js';
import { type Attribute, type PartAttribute, type ScalarAttribute, typeLabel, type Uid } from '../model/model.js';
import { type RawNode, shapeOf } from './brackets.js';
import { resolveFields } from './fields.js';
import { resolveFilters } from './filters.js';
import { refuseStrictly } from './lenient.js';
import {
  type Draft,
  newDraft,
  type Path,
  type Resolving,
  refuse,
  type TextAt,
  textsOf,
  typeOf,
  visibleNames,
} from './resolving.js';
import { resolveSort } from './sort.js';
import { resolveState } from './state.js';

const options = ['fields', 'populate', 'filters', 'sort', 'on', 'publicationState'];
const fragmentOptions = options.filter((it) => it !== 'on');
const paginationOptions = ['pagination', 'page', 'pageSize', 'start', 'limit'];

/** What is left to do for one `populate`: owners are all drafts that it applies to, several only inside zones. */
type Task = { readonly owners: readonly Draft[]; readonly path: Path } & (
  | { readonly kind: 'written'; readonly node: RawNode }
  | { readonly kind: 'names'; readonly tree: NameTree }
);

/** Dotted names as a tree: `seo.socials,author` is `{ seo: { socials: {} }, author: {} }`. */
type NameTree = ReadonlyMap<string, NameNode>;
interface NameNode {
  readonly tree: Map<string, NameNode>;
  readonly path: Path;
}

interface Populating {
  readonly resolving: Resolving;
  readonly tasks: Task[];
}

/** Fills `root.populate`, at every depth. */
export const resolvePopulate = (resolving: Resolving, root: Draft, node: RawNode): void => {
  const tasks: Task[] = [{ kind: 'written', owners: [root], node, path: ['populate'] }];
  const work: Populating = { resolving, tasks };
  for (let task = tasks.pop(); task; task = tasks.pop()) {
    if (resolving.selections > limits.selectionsMax) {
      refuse(resolving, 'query.too-many-selections', ['populate'], { max: limits.selectionsMax });
      return;
    }
    if (task.kind === 'written') populateWritten(work, task.owners, task.node, task.path);
    else populateTree(work, task.owners, task.tree, task.path);
  }
};

/** The value of a `populate` in any of its forms: `*`, a flag, names, a list of names, an object. */
const populateWritten = (work: Populating, owners: readonly Draft[], node: RawNode, path: Path): void => {
  const { resolving } = work;
  const shape = shapeOf(node);
  switch (shape.kind) {
    case 'null':
      return;
    case 'mixed':
      refuse(resolving, 'query.mixed-forms', path);
      return;
    case 'tree':
      for (const [name, child] of shape.members) populateMember(work, owners, name, child, [...path, name]);
      return;
    case 'text': {
      const flag = parseFlag(shape.text);
      if (shape.text === '' || flag === false) return;
      if (flag === true) populateAll(resolving, owners, new Map());
      else populateNames(work, owners, [{ text: shape.text, at: path }], path);
      return;
    }
    case 'list': {
      const texts = textsOf(resolving, node, path, { nulls: 'refuse' });
      if (texts) populateNames(work, owners, texts, path);
    }
  }
};

/** `author,seo.socials`: dotted names, several in one text. */
const populateNames = (work: Populating, owners: readonly Draft[], texts: readonly TextAt[], path: Path): void => {
  const tree = new Map<string, NameNode>();
  let all = false;
  for (const { text, at } of texts) {
    for (const piece of text.split(',')) {
      const dotted = piece.trim();
      if (dotted === '*') all = true;
      else {
        let level = tree;
        for (const name of dotted.split('.')) {
          // `author.*` populates the author and nothing inside (contract 4.2)
          if (name === '*' && level !== tree) break;
          const node = level.get(name) ?? { tree: new Map<string, NameNode>(), path: at };
          level.set(name, node);
          level = node.tree;
        }
      }
    }
  }
  populateTree(work, owners, tree, path);
  if (all) populateAll(work.resolving, owners, tree);
};

const populateTree = (work: Populating, owners: readonly Draft[], tree: NameTree, path: Path): void => {
  for (const [name, node] of tree) {
    const targets = populateOne(work, owners, name, node.path);
    if (targets && node.tree.size > 0) work.tasks.push({ kind: 'names', owners: targets, tree: node.tree, path });
  }
};

/** `*`: whatever can be populated and is not named beside it. */
const populateAll = (resolving: Resolving, owners: readonly Draft[], named: NameTree): void => {
  for (const owner of owners) {
    for (const attribute of owner.type.attributes.values())
      if (attribute.kind !== 'scalar' && !named.has(attribute.name)) attach(resolving, owner, attribute, null);
  }
};

/** `populate[name]=…`: a flag, or an object of options. */
const populateMember = (work: Populating, owners: readonly Draft[], name: string, node: RawNode, path: Path): void => {
  const { resolving } = work;
  const shape = shapeOf(node);
  if (shape.kind === 'tree') {
    populateWithOptions(work, owners, name, shape.members, path);
    return;
  }
  if (shape.kind !== 'text') {
    refuse(resolving, shape.kind === 'mixed' ? 'query.mixed-forms' : 'query.expected-object', path);
    return;
  }
  const flag = shape.text === '*' ? true : parseFlag(shape.text);
  if (flag === undefined) refuseStrictly(resolving, 'query.flag', path, { text: shape.text });
  if (flag === false || (!resolving.strict && shape.text === '')) checkPopulatable(resolving, owners, name, path);
  else populateOne(work, owners, name, path);
};

const populateWithOptions = (
  work: Populating,
  owners: readonly Draft[],
  name: string,
  given: ReadonlyMap<string, RawNode>,
  path: Path,
): void => {
  checkOptions(work.resolving, given, options, path);
  const on = given.get('on');
  const targets = populateOne(work, owners, name, path, on);
  // fragments have options of their own
  if (!targets || (on && targets.length === 0)) return;
  applyOptions(work, targets, given, path);
};

const checkOptions = (
  resolving: Resolving,
  given: ReadonlyMap<string, RawNode>,
  known: readonly string[],
  path: Path,
): void => {
  for (const name of given.keys()) {
    const at = [...path, name];
    if (paginationOptions.includes(name)) refuse(resolving, 'query.populate-with-pagination', at);
    else if (!known.includes(name))
      refuseStrictly(resolving, 'query.unknown-option', at, { name, options: known, near: nearest(name, known) });
  }
};

const applyOptions = (
  work: Populating,
  targets: readonly Draft[],
  given: ReadonlyMap<string, RawNode>,
  path: Path,
): void => {
  const { resolving } = work;
  const state = resolveState(resolving, given.get('publicationState'), [...path, 'publicationState']);
  if (state) for (const target of targets) target.state = state;
  const fields = given.get('fields');
  if (fields) resolveFields(resolving, targets, fields, [...path, 'fields']);
  const filters = given.get('filters');
  const sort = given.get('sort');
  for (const it of targets) {
    if (filters) it.filter = resolveFilters(resolving, it.type, it.state, filters, [...path, 'filters']);
    if (sort) it.sort = resolveSort(resolving, it.type, it.state, sort, [...path, 'sort']);
  }
  const populate = given.get('populate');
  if (populate) work.tasks.push({ kind: 'written', owners: targets, node: populate, path: [...path, 'populate'] });
};

/**
 * Populates one name in each owner that has it. Gives the drafts of what it leads to, without those of fragments, and
 * null after a fault.
 */
const populateOne = (
  work: Populating,
  owners: readonly Draft[],
  name: string,
  path: Path,
  on?: RawNode,
): readonly Draft[] | null => {
  const { resolving } = work;
  if (!checkPopulatable(resolving, owners, name, path)) return null;
  return owners.flatMap((owner) => {
    const attribute = owner.type.attributes.get(name);
    if (!attribute || attribute.kind === 'scalar') return [];
    if (!on) return attach(resolving, owner, attribute, null);
    if (attribute.kind === 'part' && attribute.shape === 'zone') {
      attach(resolving, owner, attribute, fragments(work, owner, attribute, on, [...path, 'on']));
      return [];
    }
    refuseStrictly(resolving, 'query.fragments-outside-zone', [...path, 'on'], { name });
    return resolving.strict ? [] : attach(resolving, owner, attribute, null);
  });
};

/** Whether a name can be populated in at least one owner; the issue says why not. */
const checkPopulatable = (resolving: Resolving, owners: readonly Draft[], name: string, path: Path): boolean => {
  const found = owners.map((owner) => owner.type.attributes.get(name));
  if (found.some((it) => it && it.kind !== 'scalar')) return true;
  const [owner] = owners;
  if (!owner) return false;
  const facts = { type: typeLabel(owner.type), name };
  if (name === 'id' || found.some((it) => it)) refuseStrictly(resolving, 'query.not-populatable', path, facts);
  else {
    const known = owners.flatMap((it) => visibleNames(resolving, it.type));
    refuseStrictly(resolving, 'query.unknown-name', path, { ...facts, near: nearest(name, known) });
  }
  return false;
};

/**
 * Adds an attribute to what its owner populates, unless the gate hides it: then its options are still checked, and
 * its entries are not fetched (specification, Authentication 2).
 */
const attach = (
  resolving: Resolving,
  owner: Draft,
  attribute: Exclude<Attribute, ScalarAttribute>,
  chosen: ReadonlyMap<Uid, Draft> | null,
): readonly Draft[] => {
  const { gate, unseen } = resolving;
  const visible = gate.allows(owner.type, attribute, 'populate');
  const noteUnseen = (target: Draft): void => {
    if (!visible || unseen.has(owner.type)) unseen.add(target.type);
  };
  switch (attribute.kind) {
    case 'link': {
      const target = newDraft(resolving, typeOf(resolving, attribute.target), owner.state);
      noteUnseen(target);
      if (visible) owner.populate.push({ kind: 'link', attribute, target });
      // creators that no handler adds are as good as absent, with their options (Q9)
      return attribute.source === 'creator' && !visible ? [] : [target];
    }
    case 'part': {
      const drafts =
        chosen ??
        new Map(attribute.components.map((uid) => [uid, newDraft(resolving, typeOf(resolving, uid), owner.state)]));
      for (const target of drafts.values()) noteUnseen(target);
      if (visible) owner.populate.push({ kind: 'part', attribute, fragments: drafts });
      return [...drafts.values()];
    }
    default:
      return never(attribute);
  }
};

/** The detailed strategy of zones (Q7): only the listed components appear, each with options of its own. */
const fragments = (
  work: Populating,
  owner: Draft,
  zone: PartAttribute,
  node: RawNode,
  path: Path,
): ReadonlyMap<Uid, Draft> => {
  const { resolving } = work;
  const drafts = new Map<Uid, Draft>();
  const shape = shapeOf(node);
  if (shape.kind !== 'tree') {
    refuse(resolving, 'query.expected-object', path);
    return drafts;
  }
  for (const [uid, child] of shape.members) {
    const at = [...path, uid];
    if (!zone.components.includes(uid)) {
      const near = nearest(uid, zone.components);
      refuseStrictly(resolving, 'query.unknown-component', at, { zone: zone.name, name: uid, near });
      continue;
    }
    const inner = shapeOf(child);
    const target = newDraft(resolving, typeOf(resolving, uid), owner.state);
    if (inner.kind === 'tree') {
      checkOptions(resolving, inner.members, fragmentOptions, at);
      applyOptions(work, [target], inner.members, at);
      drafts.set(uid, target);
    } else if (inner.kind === 'text') {
      const flag = inner.text === '*' ? true : parseFlag(inner.text);
      if (flag === undefined) refuseStrictly(resolving, 'query.flag', at, { text: inner.text });
      if (flag !== false) drafts.set(uid, target);
    } else refuse(resolving, 'query.expected-object', at);
  }
  return drafts;
};
