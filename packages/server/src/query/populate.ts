/**
 * `populate`: which links and components come with the entries, each with options of its own (Q1 to Q11, Q14).
 * Works through a list of tasks instead of recursing: only the URL bounds the depth, so it must not fill the stack.
 */
import { hintAt, issue, nearest } from '../errors.js';
import { limits } from '../limits.js';
import { parseFlag } from '../model/attributes.js';
import {
  type Attribute,
  type EntryType,
  type NestedAttribute,
  targetsOf,
  typeKeyOf,
  typeLabel,
  typeOf,
  type Uid,
} from '../model/model.js';
import { resolveFields } from './fields.js';
import { allOf, resolveFilters } from './filters.js';
import { leaveOut, lenientFlag } from './lenient.js';
import { STATUS } from './parameters.js';
import { type BracketNode, type RawNode, scalarShape } from './raw.js';
import {
  type Draft,
  newDraft,
  type Path,
  type Resolving,
  refuse,
  shapeIn,
  type TextAt,
  textsOf,
  visibleNames,
} from './resolving.js';
import { resolveSort } from './sort.js';
import { resolveState } from './state.js';

const options = ['fields', 'populate', 'filters', 'sort', 'on', 'publicationState'];
const fragmentOptions = options.filter((it) => it !== 'on');
const optionsIn = ({ format }: Resolving, known: readonly string[]): readonly string[] =>
  format === 'v5' ? [...known, STATUS] : known;
/** Rejected, because populate and pagination do not combine (Q15); v4 ignores some. */
const paginationOptions: ReadonlyMap<string, 'ignored by v4' | 'obeyed by v4'> = new Map([
  ['pagination', 'ignored by v4'],
  ['page', 'ignored by v4'],
  ['pageSize', 'ignored by v4'],
  ['start', 'obeyed by v4'],
  ['limit', 'obeyed by v4'],
]);

/** A pending `populate`. Owners are the drafts that it applies to, several only inside zones. */
type Task = { readonly owners: readonly Draft[]; readonly path: Path } & (
  | { readonly kind: 'written'; readonly node: RawNode }
  | { readonly kind: 'names'; readonly tree: NameTree }
);

/** Dotted names as a tree: `seo.socials,author` is `{ seo: { socials: {} }, author: {} }`. */
type NameTree = ReadonlyMap<string, NameNode>;
interface NameNode {
  readonly tree: Map<string, NameNode>;
  readonly path: Path;
  /** The dotted name as far as this step. */
  readonly dotted: string;
}

interface Populating {
  readonly resolving: Resolving;
  readonly tasks: Task[];
}

/** Fills `root.populate`, at every depth. */
export const resolvePopulate = (resolving: Resolving, root: Draft, node: RawNode): void => {
  const tasks: Task[] = [{ kind: 'written', owners: [root], node, path: ['populate'] }];
  const work: Populating = { resolving, tasks };
  for (let task = tasks.pop(); task && !isTooMuch(resolving); task = tasks.pop()) {
    if (task.kind === 'written') populateWritten(work, task.owners, task.node, task.path);
    else populateTree(work, task.owners, task.tree, task.path);
  }
  if (isTooMuch(resolving)) refuse(resolving, 'query.too-many-selections', ['populate'], { max: limits.selectionsMax });
};

/** Looked at for every owner: one name can lead from thousands of them to every type. */
const isTooMuch = ({ selections }: Resolving): boolean => selections > limits.selectionsMax;

/** The value of a `populate` in any of its forms: `*`, a flag, names, a list of names, an object. */
const populateWritten = (work: Populating, owners: readonly Draft[], node: RawNode, path: Path): void => {
  const { resolving } = work;
  const shape = shapeIn(resolving, node);
  switch (shape.kind) {
    case 'null':
      return;
    case 'mixed':
      if (resolving.strict) refuse(resolving, 'query.mixed-forms', path);
      else populateMembers(work, owners, mergedMembers(shape.written), path);
      return;
    case 'tree':
      populateMembers(work, owners, shape.members, path);
      return;
    case 'text': {
      const flag = parseFlag(shape.text);
      if (shape.text === '' || flag === false) return;
      // v4 reads `true` as an attribute name here
      if (flag === true && resolving.strict) populateAll(resolving, owners, new Map());
      else populateNames(work, owners, [{ text: shape.text, at: path }], path);
      return;
    }
    case 'list': {
      const texts = textsOf(resolving, node, path, { nulls: 'refuse' });
      if (texts) populateNames(work, owners, texts, path);
    }
  }
};

/**
 * `populate[seo]=…&populate=author` has a value and members. The parser of v4.13 to 4.25 turned the value into another
 * member with the value true; list elements became members named by their index.
 */
export const mergedMembers = ({ values, members, appended }: BracketNode): ReadonlyMap<string, RawNode> => {
  const given = values.filter((it) => it !== null && it !== '');
  const isTrue = (name: string): [string, RawNode] => [name, scalarShape('true')];
  const [first] = given;
  const named = given.length === 1 && typeof first === 'string' ? [isTrue(first)] : given.map((_, i) => isTrue(`${i}`));
  const listed = appended.map((it, i): [string, RawNode] => [`${named.length + i}`, it]);
  return new Map<string, RawNode>([...members, ...named, ...listed]);
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
        let end = 0;
        const names = dotted.split('.');
        for (const [place, name] of names.entries()) {
          const isEnd = !work.resolving.strict || place === names.length - 1;
          // `author.*` populates the author and nothing inside (Q5)
          if (name === '*' && level !== tree && isEnd) break;
          end += name.length + 1;
          const known = level.get(name);
          const node = known ?? { tree: new Map<string, NameNode>(), path: at, dotted: dotted.slice(0, end - 1) };
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
    const targets = populateOne(work, owners, name, { path: node.path, name: [...path, node.dotted] });
    if (targets && node.tree.size > 0) work.tasks.push({ kind: 'names', owners: targets, tree: node.tree, path });
  }
};

/** `*`: everything that can be populated and is not named beside it. */
const populateAll = (resolving: Resolving, owners: readonly Draft[], named: NameTree): void => {
  for (const owner of owners) {
    for (const attribute of owner.type.attributes.values()) {
      if (attribute.kind === 'scalar' || named.has(attribute.name) || isTooMuch(resolving)) continue;
      // creators are on every type, so hiding them is not worth a note
      if (attribute.kind !== 'link' || attribute.source !== 'creator') noteHidden(resolving, owner, attribute);
      attach(resolving, owner, attribute, null);
    }
  }
};

const populateMembers = (
  work: Populating,
  owners: readonly Draft[],
  members: ReadonlyMap<string, RawNode>,
  path: Path,
): void => {
  for (const [name, child] of members) populateMember(work, owners, name, child, [...path, name]);
};

/** `populate[name]=…`: a flag, or an object of options. */
const populateMember = (work: Populating, owners: readonly Draft[], name: string, node: RawNode, path: Path): void => {
  const { resolving } = work;
  const shape = shapeIn(resolving, node);
  if (shape.kind === 'tree') {
    populateWithOptions(work, owners, name, shape.members, path);
    return;
  }
  if (shape.kind === 'mixed' && !resolving.strict && shape.written.values.every((it) => lenientFlag(it ?? ''))) {
    // a true flag adds nothing to the options
    populateWithOptions(work, owners, name, mergedMembers({ ...shape.written, values: [] }), path);
    return;
  }
  if (shape.kind !== 'text') {
    refuse(resolving, shape.kind === 'mixed' ? 'query.mixed-forms' : 'query.expected-object', path);
    return;
  }
  const flag = flagOf(resolving, shape.text, path);
  if (flag === false) checkPopulatable(resolving, owners, name, { path, name: path });
  else populateOne(work, owners, name, { path, name: path });
};

/** `*` is true here. */
const flagOf = (resolving: Resolving, text: string, path: Path): boolean => {
  if (!resolving.strict) return lenientFlag(text);
  const flag = text === '*' ? true : parseFlag(text);
  if (flag === undefined) refuse(resolving, 'query.flag', path, { text });
  return flag ?? true;
};

const populateWithOptions = (
  work: Populating,
  owners: readonly Draft[],
  name: string,
  given: ReadonlyMap<string, RawNode>,
  path: Path,
): void => {
  const { resolving } = work;
  checkOptions(resolving, given, optionsIn(resolving, options), path);
  const onOption = given.get('on');
  // v4 ignores `on` without a value
  const on = onOption && !resolving.strict && shapeIn(resolving, onOption).kind === 'null' ? undefined : onOption;
  const targets = populateOne(work, owners, name, { path, name: path }, on);
  // fragments have their own options
  if (!targets || (on && targets.length === 0)) return;
  const ofAnyType = owners.some(({ type }) => type.attributes.get(name)?.kind === 'morph');
  applyOptions(work, targets, given, path, { ofAnyType });
};

const checkOptions = (
  resolving: Resolving,
  given: ReadonlyMap<string, RawNode>,
  known: readonly string[],
  path: Path,
): void => {
  for (const name of given.keys()) {
    const at = [...path, name];
    const pagination = paginationOptions.get(name);
    if (pagination === 'obeyed by v4') refuse(resolving, 'query.populate-with-pagination', at);
    else if (pagination) leaveOut(resolving, issue('query.populate-with-pagination', at));
    else if (!known.includes(name))
      leaveOut(resolving, issue('query.unknown-option', at, { name, options: known, near: nearest(name, known) }));
  }
};

const applyOptions = (
  work: Populating,
  targets: readonly Draft[],
  given: ReadonlyMap<string, RawNode>,
  path: Path,
  { ofAnyType }: { readonly ofAnyType: boolean },
): void => {
  const { resolving } = work;
  const state = resolveState(resolving, given, path);
  if (state) for (const target of targets) target.state = state;
  const fields = given.get('fields');
  if (fields) resolveFields(resolving, targets, fields, [...path, 'fields'], { ofAnyType });
  const filters = given.get('filters');
  const sort = given.get('sort');
  for (const option of ofAnyType ? ['filters', 'sort'] : [])
    if (given.has(option)) refuse(resolving, 'query.option-without-type', [...path, option], { option });
  for (const it of ofAnyType ? [] : targets) {
    if (filters)
      it.filter = allOf([it.seen, resolveFilters(resolving, it.type, it.state, filters, [...path, 'filters'])]);
    if (sort) it.sort = resolveSort(resolving, it.type, it.state, sort, [...path, 'sort']);
  }
  const populate = given.get('populate');
  if (populate) work.tasks.push({ kind: 'written', owners: targets, node: populate, path: [...path, 'populate'] });
};

/** The position of a name: the parameter it was given in, and its full path. */
interface NamePlace {
  readonly path: Path;
  readonly name: Path;
}

/**
 * Populates one name in each owner that has it. Returns the drafts of its targets, without those of fragments, or null
 * after an issue.
 */
const populateOne = (
  work: Populating,
  owners: readonly Draft[],
  name: string,
  place: NamePlace,
  on?: RawNode,
): readonly Draft[] | null => {
  const { resolving } = work;
  const { path } = place;
  if (!checkPopulatable(resolving, owners, name, place)) return null;
  return owners.flatMap((owner) => {
    const attribute = owner.type.attributes.get(name);
    if (!attribute || attribute.kind === 'scalar' || isTooMuch(resolving)) return [];
    noteHidden(resolving, owner, attribute);
    if (!on) return attach(resolving, owner, attribute, null);
    if (typeKeyOf(attribute) !== null) {
      attach(resolving, owner, attribute, fragments(work, owner, attribute, on, [...path, 'on']));
      return [];
    }
    leaveOut(resolving, issue('query.fragments-outside-zone', [...path, 'on'], { name }));
    return resolving.strict ? [] : attach(resolving, owner, attribute, null);
  });
};

const isNested = (it: Attribute | undefined): boolean => it !== undefined && it.kind !== 'scalar';

/** Whether a name can be populated in at least one owner; otherwise adds an issue. */
const checkPopulatable = (resolving: Resolving, owners: readonly Draft[], name: string, place: NamePlace): boolean => {
  const found = owners.map((owner) => owner.type.attributes.get(name));
  if (found.some(isNested)) return true;
  const [first] = owners;
  if (!first) return false;
  /** What a message says of the type that has the attribute, or the one that is meant. */
  const factsOf = (known: string | undefined) => {
    const { type } = owners.find((it) => known !== undefined && it.type.attributes.has(known)) ?? first;
    return { type: typeLabel(type), name };
  };
  if (name === 'id' || found.some((it) => it))
    leaveOut(resolving, issue('query.not-populatable', place.path, factsOf(name)), place.name);
  else {
    const names = [...new Set(owners.flatMap((it) => visibleNames(resolving, it.type)))];
    const isPopulatable = (it: string): boolean => owners.some(({ type }) => isNested(type.attributes.get(it)));
    const hint = hintAt(name, names, names.filter(isPopulatable));
    leaveOut(resolving, issue('query.unknown-name', place.path, { ...factsOf(hint.near), ...hint }), place.name);
  }
  return false;
};

const noteHidden = ({ gate, hidden }: Resolving, { type }: Draft, attribute: NestedAttribute): void => {
  if (!gate.allows(type, attribute, 'populate')) hidden.set(`${type.uid} ${attribute.name}`, { type, attribute });
};

/**
 * Populates an attribute of its owner. If the gate hides it, its options are still checked, but its entries are not
 * fetched (AC5). @param chosen the types of the detailed strategy.
 */
const attach = (
  resolving: Resolving,
  owner: Draft,
  attribute: NestedAttribute,
  chosen: ReadonlyMap<Uid, Draft> | null,
): readonly Draft[] => {
  const { gate, unseen } = resolving;
  const visible = gate.allows(owner.type, attribute, 'populate');
  const targets =
    chosen ?? new Map(targetsFor(resolving, attribute).map((it) => [it.uid, newDraft(resolving, it, owner.state)]));
  for (const { type } of targets.values())
    if (!visible || unseen.has(owner.type) || !isReached(resolving, attribute, type)) unseen.add(type);
  const shown = [...targets].filter(([, it]) => isReached(resolving, attribute, it.type));
  if (visible) owner.populate.push({ attribute, targets: new Map(shown) });
  // creators that no handler adds count as absent, with their options (Q9)
  const isAbsent = attribute.kind === 'link' && attribute.source === 'creator' && !visible;
  return isAbsent ? [] : [...targets.values()];
};

/** The types that an attribute shows to the caller. */
const targetsFor = (resolving: Resolving, attribute: NestedAttribute): readonly EntryType[] =>
  targetsOf(resolving.model, attribute)
    .map((uid) => typeOf(resolving.model, uid))
    .filter((it) => isReached(resolving, attribute, it));

/** Polymorphic relations show entries of the types that the caller may find, the others show all of theirs. */
const isReached = ({ gate }: Resolving, attribute: NestedAttribute, type: EntryType): boolean =>
  attribute.kind !== 'morph' || gate.reaches(type, attribute);

/** The detailed strategy (Q7): only the listed types appear, each with options of its own. */
const fragments = (
  work: Populating,
  owner: Draft,
  attribute: NestedAttribute,
  node: RawNode,
  path: Path,
): ReadonlyMap<Uid, Draft> => {
  const { resolving } = work;
  const known = targetsOf(resolving.model, attribute);
  const drafts = new Map<Uid, Draft>();
  const shape = shapeIn(resolving, node);
  if (shape.kind !== 'tree') {
    leaveOut(resolving, issue('query.expected-object', path));
    return drafts;
  }
  for (const [uid, child] of shape.members) {
    const at = [...path, uid];
    if (!known.includes(uid)) {
      const hint = hintAt(
        uid,
        targetsFor(resolving, attribute).map((it) => it.uid),
      );
      leaveOut(
        resolving,
        attribute.kind === 'morph'
          ? issue('query.unknown-target', at, { attribute: attribute.name, name: uid, ...hint })
          : issue('query.unknown-component', at, { zone: attribute.name, name: uid, ...hint }),
      );
      continue;
    }
    const inner = shapeIn(resolving, child);
    const target = newDraft(resolving, typeOf(resolving.model, uid), owner.state);
    if (inner.kind === 'tree') {
      checkOptions(resolving, inner.members, optionsIn(resolving, fragmentOptions), at);
      applyOptions(work, [target], inner.members, at, { ofAnyType: false });
      drafts.set(uid, target);
    } else if (inner.kind === 'text') {
      // v4 ignores the value of the flag
      if (!resolving.strict || flagOf(resolving, inner.text, at)) drafts.set(uid, target);
    } else refuse(resolving, 'query.expected-object', at);
  }
  return drafts;
};
