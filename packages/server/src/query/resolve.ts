/**
 * `RawQuery` to `Query`: the one place where names of a request become attributes and texts become values. Nothing else
 * can build a `Selection`, so what the gate hides here cannot be selected, filtered or sorted by anywhere.
 * All faults of a request are collected; strict by default (contract, decision b).
 */
import { bug, type Issue, issue, nearest, ok, type Result } from '../errors.js';
import { limits } from '../limits.js';
import { parseFlag, scalarTypes } from '../model/attributes.js';
import {
  type Attribute,
  defaultFields,
  type EntryType,
  idAttribute,
  type Model,
  type PartAttribute,
  type ScalarAttribute,
  typeLabel,
  type Uid,
} from '../model/model.js';
import type { DbValue } from '../sql/dialect.js';
import { type RawNode, type RawQuery, shapeOf } from './brackets.js';
import { isOperatorName, type Operator, type OperatorName, operatorNames, operators } from './operators.js';
import type { Filter, Gate, Page, Populate, PublicationState, Query, ReadAction, SortKey, Step } from './selection.js';

export interface ResolveContext {
  readonly model: Model;
  readonly gate: Gate;
  readonly rest: { readonly defaultLimit: number; readonly maxLimit: number | null; readonly withCount: boolean };
  /** False restores v4's leniency, see `lenient`. */
  readonly strict: boolean;
  /** The locale of entries when a request names none; null where the project has no localized types. */
  readonly defaultLocale: string | null;
}

type Path = readonly string[];

/** Resolves a read of `type`. Issues carry the bracket path of the parameter. */
export const resolveQuery = (
  raw: RawQuery,
  type: EntryType,
  action: ReadAction,
  context: ResolveContext,
): Result<Query> => {
  const issues: Issue[] = [];
  const resolver = newResolver(context, issues);
  const get = (name: string): RawNode | undefined => raw.get(name);
  const isList = action === 'find';
  if (isList) {
    for (const name of ['page', 'pageSize', 'start', 'limit'])
      if (raw.has(name)) issues.push(issue('pagination.top-level', [name], { name }));
  }
  const root = resolver.draft(type, resolver.publicationState(get('publicationState'), ['publicationState']) ?? 'live');
  const fields = get('fields');
  if (fields) resolver.fields([root], fields, ['fields']);
  const populate = get('populate');
  if (populate) resolver.populate(root, populate);
  const filters = get('filters');
  const asked = filters ? resolver.filters(type, root.state, filters, ['filters']) : null;
  const sort = get('sort');
  const keys = sort ? resolver.sort(type, root.state, sort, ['sort']) : [];
  // one entry by id: filters and sort are checked, and act on nothing (contract 4)
  if (action !== 'findOne') {
    const search = isList ? resolver.search(type, get('_q')) : null;
    root.filter = allOf([asked, search, resolver.locale(type, get('locale'))]);
    root.sort = keys;
  }
  const { page, withCount } = isList ? resolver.pagination(get('pagination')) : { page: null, withCount: false };
  return issues.length > 0
    ? { ok: false, issues: inPathOrder(issues) }
    : ok({ action, selection: root, page, withCount });
};

const inPathOrder = (issues: readonly Issue[]): readonly Issue[] => {
  const placeOf = (it: Issue): string => `${it.path.join('\n')}\n${it.code}`;
  const distinct = new Map(issues.map((it) => [`${placeOf(it)}\n${JSON.stringify(it.facts)}`, it]));
  return [...distinct.values()]
    .map((it) => ({ place: placeOf(it), it }))
    .sort((a, b) => (a.place < b.place ? -1 : a.place > b.place ? 1 : 0))
    .map(({ it }) => it);
};

/**
 * v4's leniency (`api.strict: false`), the whole list: unknown names, scalars, unknown options and unknown components of
 * a zone in `populate` are ignored, and so are `on` outside zones and any flag text but the falsy words; unknown keys of
 * bodies are ignored (see `write/change.ts`).
 */
const lenient: ReadonlySet<Issue['code']> = new Set([
  'query.unknown-name',
  'query.not-populatable',
  'query.unknown-option',
  'query.unknown-component',
  'query.fragments-outside-zone',
  'query.flag',
]);

const allOf = (filters: readonly (Filter | null)[]): Filter | null => {
  const members = filters.filter((it) => it !== null);
  return members.length > 1 ? { kind: 'and', members } : (members[0] ?? null);
};

/** A selection while it is being filled; nobody outside sees it before it is whole. */
interface Draft {
  readonly type: EntryType;
  fields: readonly ScalarAttribute[];
  readonly populate: Populate[];
  filter: Filter | null;
  sort: readonly SortKey[];
  state: PublicationState;
}

/** Dotted names as a tree: `seo.socials,author` is `{ seo: { socials: {} }, author: {} }`. */
interface NameTree extends ReadonlyMap<string, NameNode> {}
interface NameNode {
  readonly tree: Map<string, NameNode>;
  readonly path: Path;
}

/** Names to populate in each of the owners: all of one request's owners at one place, which differ in zones only. */
type Task = { readonly owners: readonly Draft[]; readonly path: Path } & (
  | { readonly kind: 'raw'; readonly node: RawNode }
  | { readonly kind: 'names'; readonly tree: NameTree; readonly all: boolean }
);

const options = ['fields', 'populate', 'filters', 'sort', 'on', 'publicationState'] as const;
const paginationOptions = ['pagination', 'page', 'pageSize', 'start', 'limit'];

const newResolver = ({ model, gate, rest, strict, defaultLocale }: ResolveContext, issues: Issue[]) => {
  let selections = 0;
  let conditions = 0;
  /** Types that the request reached through what its caller may not see: their names are suggested to nobody. */
  const unseen = new Set<EntryType>();

  const refuse = <Code extends Issue['code']>(...given: Parameters<typeof issue<Code>>): void => {
    issues.push(issue(...given));
  };
  const refusePopulate = <Code extends Issue['code']>(...given: Parameters<typeof issue<Code>>): void => {
    if (strict || !lenient.has(given[0])) issues.push(issue(...given));
  };
  const label = typeLabel;
  const near = (name: string, type: EntryType): string | undefined => nearest(name, visibleNames(type));
  const visibleNames = (type: EntryType): string[] =>
    unseen.has(type)
      ? []
      : ['id', ...[...type.attributes.values()].filter((it) => gate.allows(type, it, 'select')).map((it) => it.name)];
  const typeOf = (uid: Uid): EntryType => {
    const type = model.types.get(uid);
    if (!type) throw bug('resolve.unknown-type', { uid });
    return type;
  };

  const draft = (type: EntryType, state: PublicationState): Draft => {
    selections += 1;
    return { type, fields: shownFields(type), populate: [], filter: null, sort: [], state };
  };

  /** Of an administrator the gate leaves little (Q9). */
  const shownFields = (type: EntryType): readonly ScalarAttribute[] =>
    defaultFields(type).filter((it) => gate.allows(type, it, 'select'));

  // ---- publicationState, locale, _q

  const publicationState = (node: RawNode | undefined, path: Path): PublicationState | null => {
    if (!node) return null;
    const shape = shapeOf(node);
    if (shape.kind === 'text' && (shape.text === 'live' || shape.text === 'preview')) return shape.text;
    refuse('query.publication-state', path, { text: shape.kind === 'text' ? shape.text : shape.kind });
    return null;
  };

  const locale = (type: EntryType, node: RawNode | undefined): Filter | null => {
    const attribute = type.localized ? type.attributes.get('locale') : undefined;
    if (attribute?.kind !== 'scalar') return null;
    const shape = node ? shapeOf(node) : undefined;
    if (shape && shape.kind !== 'text') {
      refuse('query.expected-text', ['locale']);
      return null;
    }
    const wanted = shape?.text ?? defaultLocale;
    if (wanted === 'all' || wanted === null) return null;
    return { kind: 'compare', attribute, operator: '$eq', values: [wanted] };
  };

  /** `_q`: the id or any searchable text attribute contains it, or a number equals it (contract 4.7). */
  const search = (type: EntryType, node: RawNode | undefined): Filter | null => {
    if (!node) return null;
    const shape = shapeOf(node);
    if (shape.kind === 'null') return null;
    if (shape.kind !== 'text') {
      refuse('query.expected-text', ['_q']);
      return null;
    }
    const { text } = shape;
    if (text === '') return null;
    const members: Filter[] = [];
    if (/^\d+$/.test(text))
      members.push({ kind: 'compare', attribute: idAttribute, operator: '$containsi', values: [text] });
    for (const attribute of defaultFields(type)) {
      if (!attribute.searchable) continue;
      const { family, numeric, parseText } = scalarTypes[attribute.type];
      if (family === 'text') members.push({ kind: 'compare', attribute, operator: '$containsi', values: [text] });
      else if (numeric) {
        const number = parseText(text, []);
        if (number.ok) members.push({ kind: 'compare', attribute, operator: '$eq', values: [number.value] });
      }
    }
    return { kind: 'or', members };
  };

  // ---- fields (F1 to F4)

  /** Sets the fields of every draft; a name must be one of each of them. */
  const fields = (drafts: readonly Draft[], node: RawNode, path: Path): void => {
    // an element without a value names nothing (contract 4.1)
    const names = textsOf(node, path, { nulls: 'skip' });
    if (!names) return;
    for (const it of drafts) {
      const chosen = new Map<string, ScalarAttribute>();
      for (const { text, at } of names) {
        const name = text.trim();
        if (name === '*') for (const attribute of shownFields(it.type)) chosen.set(attribute.name, attribute);
        else if (name !== 'id') {
          const attribute = selectable(it.type, name, at);
          if (attribute) chosen.set(name, attribute);
        }
      }
      it.fields = [...chosen.values()];
    }
  };

  const selectable = (type: EntryType, name: string, path: Path): ScalarAttribute | null => {
    const attribute = type.attributes.get(name);
    if (!attribute) refuse('query.unknown-name', path, { type: label(type), name, near: near(name, type) });
    else if (!gate.allows(type, attribute, 'select')) refuse('query.hidden', path, { type: label(type), name });
    else if (attribute.kind !== 'scalar') refuse('query.not-selectable', path, { type: label(type), name });
    else return attribute;
    return null;
  };

  /** A text or a list of texts, each with its path; null after a fault, and for no value at all (`fields` without `=`). */
  const textsOf = (
    node: RawNode,
    path: Path,
    { nulls }: { readonly nulls: 'skip' | 'refuse' },
  ): readonly { readonly text: string; readonly at: Path }[] | null => {
    const shape = shapeOf(node);
    if (shape.kind === 'null') return null;
    if (shape.kind === 'text') return [{ text: shape.text, at: path }];
    if (shape.kind !== 'list') {
      refuse(shape.kind === 'mixed' ? 'query.mixed-forms' : 'query.expected-names', path);
      return null;
    }
    const texts: { text: string; at: Path }[] = [];
    shape.items.forEach((item, position) => {
      const at = [...path, String(position)];
      const inner = shapeOf(item);
      if (inner.kind === 'text') texts.push({ text: inner.text, at });
      else if (inner.kind !== 'null' || nulls === 'refuse') refuse('query.expected-names', at);
    });
    return texts;
  };

  // ---- populate (Q1 to Q11)

  /** Works through a list of tasks instead of recursing: depth is bounded by the URL alone, and must not be by the stack. */
  const populate = (root: Draft, node: RawNode): void => {
    const tasks: Task[] = [{ kind: 'raw', owners: [root], node, path: ['populate'] }];
    for (let task = tasks.pop(); task; task = tasks.pop()) {
      if (selections > limits.selectionsMax) {
        refuse('query.too-many-selections', ['populate'], { max: limits.selectionsMax });
        return;
      }
      if (task.kind === 'raw') populateRaw(task.owners, task.node, task.path, tasks);
      else populateTree(task.owners, task.tree, task.all, task.path, tasks);
    }
  };

  const populateRaw = (owners: readonly Draft[], node: RawNode, path: Path, tasks: Task[]): void => {
    const shape = shapeOf(node);
    switch (shape.kind) {
      case 'null':
        return;
      case 'mixed':
        refuse('query.mixed-forms', path);
        return;
      case 'tree':
        for (const [name, child] of shape.members) populateMember(owners, name, child, [...path, name], tasks);
        return;
      case 'text': {
        const flag = parseFlag(shape.text);
        if (shape.text === '' || flag === false) return;
        if (flag === true) populateTree(owners, new Map(), true, path, tasks);
        else populateNames(owners, [{ text: shape.text, at: path }], path, tasks);
        return;
      }
      case 'list': {
        const texts = textsOf(node, path, { nulls: 'refuse' });
        if (texts) populateNames(owners, texts, path, tasks);
      }
    }
  };

  const populateNames = (
    owners: readonly Draft[],
    texts: readonly { readonly text: string; readonly at: Path }[],
    path: Path,
    tasks: Task[],
  ): void => {
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
    populateTree(owners, tree, all, path, tasks);
  };

  const populateTree = (owners: readonly Draft[], tree: NameTree, all: boolean, path: Path, tasks: Task[]): void => {
    for (const [name, node] of tree) {
      const targets = populateOne(owners, name, node.path);
      if (targets && node.tree.size > 0)
        tasks.push({ kind: 'names', owners: targets, tree: node.tree, all: false, path });
    }
    if (!all) return;
    for (const owner of owners) {
      for (const attribute of owner.type.attributes.values()) {
        if (attribute.kind !== 'scalar' && !tree.has(attribute.name)) attach(owner, attribute, null);
      }
    }
  };

  /** `populate[name]=…`: a flag, or an object of options. */
  const populateMember = (owners: readonly Draft[], name: string, node: RawNode, path: Path, tasks: Task[]): void => {
    const shape = shapeOf(node);
    if (shape.kind === 'tree') {
      populateWithOptions(owners, name, shape.members, path, tasks);
      return;
    }
    if (shape.kind !== 'text') {
      refuse(shape.kind === 'mixed' ? 'query.mixed-forms' : 'query.expected-object', path);
      return;
    }
    const flag = shape.text === '*' ? true : parseFlag(shape.text);
    if (flag === undefined) refusePopulate('query.flag', path, { text: shape.text });
    if (flag === false || (!strict && shape.text === '')) checkPopulatable(owners, name, path);
    else populateOne(owners, name, path);
  };

  const populateWithOptions = (
    owners: readonly Draft[],
    name: string,
    given: ReadonlyMap<string, RawNode>,
    path: Path,
    tasks: Task[],
  ): void => {
    for (const option of given.keys()) {
      if (paginationOptions.includes(option)) refuse('query.populate-with-pagination', [...path, option]);
      else if (!(options as readonly string[]).includes(option)) {
        refusePopulate('query.unknown-option', [...path, option], {
          name: option,
          options,
          near: nearest(option, options),
        });
      }
    }
    const on = given.get('on');
    const targets = populateOne(owners, name, path, on ? { node: on, tasks } : undefined);
    // fragments have options of their own
    if (!targets || (on && targets.length === 0)) return;
    applyOptions(targets, given, path, tasks);
  };

  const applyOptions = (
    targets: readonly Draft[],
    given: ReadonlyMap<string, RawNode>,
    path: Path,
    tasks: Task[],
  ): void => {
    const state = publicationState(given.get('publicationState'), [...path, 'publicationState']);
    if (state) for (const target of targets) target.state = state;
    const selected = given.get('fields');
    if (selected) fields(targets, selected, [...path, 'fields']);
    const asked = given.get('filters');
    const order = given.get('sort');
    for (const target of targets) {
      if (asked) target.filter = filters(target.type, target.state, asked, [...path, 'filters']);
      if (order) target.sort = sort(target.type, target.state, order, [...path, 'sort']);
    }
    const inner = given.get('populate');
    if (inner) tasks.push({ kind: 'raw', owners: targets, node: inner, path: [...path, 'populate'] });
  };

  /** Whether a name can be populated in at least one owner; the issue says why not. */
  const checkPopulatable = (owners: readonly Draft[], name: string, path: Path): boolean => {
    const found = owners.map((owner) => owner.type.attributes.get(name));
    if (found.some((it) => it && it.kind !== 'scalar')) return true;
    const [owner] = owners;
    if (!owner) return false;
    if (name === 'id' || found.some((it) => it))
      refusePopulate('query.not-populatable', path, { type: label(owner.type), name });
    else
      refusePopulate('query.unknown-name', path, {
        type: label(owner.type),
        name,
        near: nearest(
          name,
          owners.flatMap((it) => visibleNames(it.type)),
        ),
      });
    return false;
  };

  /**
   * Populates one name in each owner that has it; gives the drafts of what it leads to, without those of fragments, and
   * null after a fault.
   */
  const populateOne = (
    owners: readonly Draft[],
    name: string,
    path: Path,
    on?: { readonly node: RawNode; readonly tasks: Task[] },
  ): readonly Draft[] | null => {
    if (!checkPopulatable(owners, name, path)) return null;
    return owners.flatMap((owner) => {
      const attribute = owner.type.attributes.get(name);
      if (!attribute || attribute.kind === 'scalar') return [];
      if (!on) return attach(owner, attribute, null);
      if (attribute.kind === 'part' && attribute.shape === 'zone') {
        attach(owner, attribute, fragments(owner, attribute, on.node, [...path, 'on'], on.tasks));
        return [];
      }
      refusePopulate('query.fragments-outside-zone', [...path, 'on'], { name });
      return strict ? [] : attach(owner, attribute, null);
    });
  };

  /**
   * Adds an attribute to what its owner populates, unless the gate hides it: then its options are still checked, and
   * its entries are still not fetched (specification, Authentication 2).
   */
  const attach = (
    owner: Draft,
    attribute: Exclude<Attribute, ScalarAttribute>,
    chosen: ReadonlyMap<Uid, Draft> | null,
  ): readonly Draft[] => {
    const visible = gate.allows(owner.type, attribute, 'populate');
    const see = (target: Draft): void => {
      if (!visible || unseen.has(owner.type)) unseen.add(target.type);
    };
    if (attribute.kind === 'link') {
      const target = draft(typeOf(attribute.target), owner.state);
      see(target);
      if (visible) owner.populate.push({ kind: 'link', attribute, target });
      // creators that no handler adds are as good as absent, with their options (Q9)
      return attribute.source === 'creator' && !visible ? [] : [target];
    }
    const drafts = chosen ?? new Map(attribute.components.map((uid) => [uid, draft(typeOf(uid), owner.state)]));
    for (const target of drafts.values()) see(target);
    if (visible) owner.populate.push({ kind: 'part', attribute, fragments: drafts });
    return [...drafts.values()];
  };

  /** The detailed strategy of zones (Q7): only listed components appear, each with its own options. */
  const fragments = (
    owner: Draft,
    zone: PartAttribute,
    node: RawNode,
    path: Path,
    tasks: Task[],
  ): ReadonlyMap<Uid, Draft> => {
    const drafts = new Map<Uid, Draft>();
    const shape = shapeOf(node);
    if (shape.kind !== 'tree') {
      refuse('query.expected-object', path);
      return drafts;
    }
    for (const [uid, child] of shape.members) {
      const at = [...path, uid];
      if (!zone.components.includes(uid)) {
        refusePopulate('query.unknown-component', at, {
          zone: zone.name,
          name: uid,
          near: nearest(uid, zone.components),
        });
        continue;
      }
      const inner = shapeOf(child);
      const target = draft(typeOf(uid), owner.state);
      if (inner.kind === 'tree') {
        for (const option of inner.members.keys()) {
          if (paginationOptions.includes(option)) refuse('query.populate-with-pagination', [...at, option]);
          else if (option === 'on' || !(options as readonly string[]).includes(option)) {
            const others = options.filter((it) => it !== 'on');
            refusePopulate('query.unknown-option', [...at, option], {
              name: option,
              options: others,
              near: nearest(option, others),
            });
          }
        }
        applyOptions([target], inner.members, at, tasks);
        drafts.set(uid, target);
      } else if (inner.kind === 'text') {
        const flag = inner.text === '*' ? true : parseFlag(inner.text);
        if (flag === undefined) refusePopulate('query.flag', at, { text: inner.text });
        if (flag !== false) drafts.set(uid, target);
      } else refuse('query.expected-object', at);
    }
    return drafts;
  };

  // ---- filters (Q8, contract 4.4)

  const filters = (type: EntryType, state: PublicationState, node: RawNode, path: Path): Filter | null => {
    if (shapeOf(node).kind === 'null') return null;
    return filterObject(type, state, node, path, 'root', 0);
  };

  /** An object of conditions on one entry, joined by AND. Inside a relation, operators act on the related id. */
  const filterObject = (
    type: EntryType,
    state: PublicationState,
    node: RawNode,
    path: Path,
    place: 'root' | 'related',
    depth: number,
  ): Filter => {
    const shape = shapeOf(node);
    if (depth > limits.filterDepthMax) {
      refuse('query.too-deep', path.slice(0, 3), { max: limits.filterDepthMax });
      return nothing;
    }
    if (shape.kind !== 'tree') {
      if (place === 'related' && shape.kind !== 'mixed') return filterScalar(idAttribute, node, path, depth);
      refuse(shape.kind === 'mixed' ? 'query.mixed-forms' : 'query.expected-object', path);
      return nothing;
    }
    const members = [...shape.members].map(([key, child]): Filter => {
      const at = [...path, key];
      if (key === '$and' || key === '$or') {
        return filterGroup(key, child, at, (item, itemPath) =>
          filterObject(type, state, item, itemPath, place, depth + 1),
        );
      }
      if (key === '$not') {
        const inner = shapeOf(child);
        if (inner.kind !== 'list' || place === 'related')
          return { kind: 'not', member: filterObject(type, state, child, at, place, depth + 1) };
        return {
          kind: 'not',
          member: {
            kind: 'and',
            members: inner.items.map((item, i) =>
              filterObject(type, state, item, [...at, String(i)], place, depth + 1),
            ),
          },
        };
      }
      if (key.startsWith('$')) {
        if (place === 'related') return filterOperator(idAttribute, key, child, at, depth);
        if (isOperatorName(key)) refuse('query.operator-without-attribute', at, { operator: key });
        else refuse('query.unknown-operator', at, { name: key, near: nearest(key, operatorNames) });
        return nothing;
      }
      return filterAttribute(type, state, key, child, at, depth);
    });
    return members.length === 1 ? members[0]! : { kind: 'and', members };
  };

  const filterGroup = (
    key: '$and' | '$or',
    node: RawNode,
    path: Path,
    member: (item: RawNode, path: Path) => Filter,
  ): Filter => {
    const shape = shapeOf(node);
    if (shape.kind !== 'list') {
      refuse('query.expected-list', path);
      return nothing;
    }
    return {
      kind: key === '$and' ? 'and' : 'or',
      members: shape.items.map((item, i) => member(item, [...path, String(i)])),
    };
  };

  const filterAttribute = (
    type: EntryType,
    state: PublicationState,
    name: string,
    node: RawNode,
    path: Path,
    depth: number,
  ): Filter => {
    if (name === 'id') return filterScalar(idAttribute, node, path, depth);
    const attribute = type.attributes.get(name);
    if (!attribute) {
      const known = type.morphs.some((it) => it.name === name);
      if (known) refuse('query.not-filterable', path, { type: label(type), name });
      else refuse('query.unknown-name', path, { type: label(type), name, near: near(name, type) });
      return nothing;
    }
    if (!gate.allows(type, attribute, 'filter')) {
      refuse('query.hidden', path, { type: label(type), name });
      return nothing;
    }
    if (attribute.kind === 'scalar') return filterScalar(attribute, node, path, depth);
    const step = stepThrough(attribute, state);
    if (!step) {
      refuse('query.not-filterable', path, { type: label(type), name });
      return nothing;
    }
    return { kind: 'related', step, member: filterObject(step.target, state, node, path, 'related', depth + 1) };
  };

  /** Where a link or a component leads; null for zones, whose elements have no common attributes. */
  const stepThrough = (attribute: Exclude<Attribute, ScalarAttribute>, state: PublicationState): Step | null => {
    if (attribute.kind === 'link') return { attribute, target: typeOf(attribute.target), state };
    const [component] = attribute.components;
    return attribute.shape === 'zone' || component === undefined
      ? null
      : { attribute, target: typeOf(component), state };
  };

  const filterScalar = (attribute: ScalarAttribute, node: RawNode, path: Path, depth: number): Filter => {
    const shape = shapeOf(node);
    switch (shape.kind) {
      case 'mixed':
        refuse('query.mixed-forms', path);
        return nothing;
      case 'null':
        return compare(attribute, '$null', [true], path);
      case 'text':
        return filterOperator(attribute, '$eq', node, path, depth);
      case 'list':
        return filterOperator(attribute, '$in', node, path, depth);
      case 'tree': {
        const members = [...shape.members].map(([key, child]) =>
          filterOperator(attribute, key, child, [...path, key], depth + 1),
        );
        return members.length === 1 ? members[0]! : { kind: 'and', members };
      }
    }
  };

  const filterOperator = (
    attribute: ScalarAttribute,
    key: string,
    node: RawNode,
    path: Path,
    depth: number,
  ): Filter => {
    if (depth > limits.filterDepthMax) {
      refuse('query.too-deep', path.slice(0, 3), { max: limits.filterDepthMax });
      return nothing;
    }
    if (key === '$not') return { kind: 'not', member: filterScalar(attribute, node, path, depth) };
    if (key === '$and' || key === '$or')
      return filterGroup(key, node, path, (item, at) => filterScalar(attribute, item, at, depth));
    if (!isOperatorName(key)) {
      refuse('query.unknown-operator', path, { name: key, near: nearest(key, operatorNames) });
      return nothing;
    }
    const operator: Operator = operators[key];
    const { family, parseText } = scalarTypes[attribute.type];
    if (!operator.families.includes(family)) {
      refuse('query.operator-not-for-type', path, { operator: key, type: attribute.type });
      return nothing;
    }
    const shape = shapeOf(node);
    if (shape.kind === 'null' && (key === '$eq' || key === '$ne'))
      return compare(attribute, key === '$eq' ? '$null' : '$notNull', [true], path);
    const parse = (text: string | null, at: Path): DbValue => {
      if (text === null) return null;
      const parsed = parseText(text, at);
      if (parsed.ok) return parsed.value;
      issues.push(...parsed.issues);
      return null;
    };
    const items = shape.kind === 'list' ? shape.items : [node];
    if (items.length > limits.inListMax) {
      refuse('query.list-too-long', path, { max: limits.inListMax });
      return nothing;
    }
    const texts = items.map((item, i) => {
      const at = shape.kind === 'list' ? [...path, String(i)] : path;
      const inner = shapeOf(item);
      if (inner.kind === 'text') return { text: inner.text, at };
      // a member of a list without a value meets no row (contract 4.4)
      if (inner.kind === 'null' && operator.takes === 'list') return { text: null, at };
      refuse('query.expected-text', at);
      return null;
    });
    const given = texts.filter((it) => it !== null);
    if (given.length < texts.length) return nothing;
    switch (operator.takes) {
      case 'flag': {
        const [first] = given;
        const flag = shape.kind === 'text' ? parseFlag(shape.text) : undefined;
        if (flag === undefined) refuse('query.flag', path, { text: first?.text ?? '' });
        return compare(attribute, key, [flag ?? true], path);
      }
      case 'list':
        return compare(
          attribute,
          key,
          given.map(({ text, at }) => parse(text, at)),
          path,
        );
      case 'two':
        if (given.length !== 2) refuse('query.expected-two-values', path);
        return compare(
          attribute,
          key,
          given.map(({ text, at }) => parse(text, at)),
          path,
        );
      case 'one': {
        const members = given.map(({ text, at }) => compare(attribute, key, [parse(text, at)], path));
        return members.length === 1 ? members[0]! : { kind: operator.negative ? 'and' : 'or', members };
      }
    }
  };

  const compare = (
    attribute: ScalarAttribute,
    operator: OperatorName,
    values: readonly DbValue[],
    path: Path,
  ): Filter => {
    conditions += 1;
    if (conditions === limits.conditionsMax + 1)
      refuse('query.too-many-conditions', path.slice(0, 1), { max: limits.conditionsMax });
    return { kind: 'compare', attribute, operator, values };
  };

  // ---- sort (contract 4.3)

  const sort = (type: EntryType, state: PublicationState, node: RawNode, path: Path): readonly SortKey[] => {
    const keys: SortKey[] = [];
    const add = (segments: readonly string[], direction: string, at: Path): void => {
      const key = sortKey(type, state, segments, direction, at);
      if (key) keys.push(key);
    };
    const addTexts = (text: string, at: Path): void => {
      for (const piece of text.split(',')) {
        if (piece.trim() === '') continue;
        const [dotted = '', direction = 'asc'] = piece.trim().split(':');
        add(dotted.split('.'), direction, at);
      }
    };
    const addTree = (members: ReadonlyMap<string, RawNode>, segments: readonly string[], at: Path): void => {
      for (const [name, child] of members) {
        const shape = shapeOf(child);
        const here = [...at, name];
        if (shape.kind === 'text') add([...segments, name], shape.text, here);
        else if (shape.kind === 'tree' && segments.length < limits.sortStepsMax)
          addTree(shape.members, [...segments, name], here);
        else refuse('query.sort-direction', here, { text: '' });
      }
    };
    const shape = shapeOf(node);
    switch (shape.kind) {
      case 'null':
        break;
      case 'mixed':
        refuse('query.mixed-forms', path);
        break;
      case 'text':
        addTexts(shape.text, path);
        break;
      case 'tree':
        addTree(shape.members, [], path);
        break;
      case 'list': {
        const items = shape.items.map(shapeOf);
        const form = items[0]?.kind;
        items.forEach((item, i) => {
          const at = [...path, String(i)];
          if (item.kind !== form) refuse('query.mixed-forms', at);
          else if (item.kind === 'text') addTexts(item.text, at);
          else if (item.kind === 'tree') addTree(item.members, [], at);
          else refuse('query.expected-names', at);
        });
      }
    }
    const distinct = new Map<string, SortKey>();
    for (const key of keys) {
      const name = [...key.steps.map((it) => it.attribute.name), key.attribute.name].join('.');
      if (!distinct.has(name)) distinct.set(name, key);
    }
    if (distinct.size > limits.sortKeysMax) refuse('query.sort-too-long', path, { max: limits.sortKeysMax });
    return [...distinct.values()];
  };

  const sortKey = (
    type: EntryType,
    state: PublicationState,
    segments: readonly string[],
    direction: string,
    path: Path,
  ): SortKey | null => {
    const lower = direction.trim().toLowerCase();
    if (lower !== 'asc' && lower !== 'desc') {
      refuse('query.sort-direction', path, { text: direction });
      return null;
    }
    if (segments.length > limits.sortStepsMax) {
      refuse('query.sort-too-long', path, { max: limits.sortStepsMax });
      return null;
    }
    const steps: Step[] = [];
    let here = type;
    for (const [position, segment] of segments.entries()) {
      const name = segment.trim();
      const attribute: Attribute | undefined = name === 'id' ? idAttribute : here.attributes.get(name);
      if (!attribute) {
        refuse('query.unknown-name', path, { type: label(here), name, near: near(name, here) });
        return null;
      }
      if (attribute !== idAttribute && !gate.allows(here, attribute, 'sort')) {
        refuse('query.hidden', path, { type: label(here), name });
        return null;
      }
      if (attribute.kind === 'scalar') {
        if (position === segments.length - 1) return { steps, attribute, direction: lower };
        refuse('query.not-sortable', path, { type: label(here), name: segments.slice(position).join('.') });
        return null;
      }
      const step = stepThrough(attribute, state);
      if (!step) {
        refuse('query.not-sortable', path, { type: label(here), name });
        return null;
      }
      if (position === segments.length - 1) refuse('query.sort-needs-attribute', path, { type: label(here), name });
      steps.push(step);
      here = step.target;
    }
    return null;
  };

  // ---- pagination (contract 4.5)

  const pagination = (node: RawNode | undefined): { page: Page; withCount: boolean } => {
    const clamp = (value: number): number => Math.max(1, Math.min(value, rest.maxLimit ?? limits.rowsMax));
    const standard: Page = { kind: 'page', page: 1, pageSize: clamp(rest.defaultLimit) };
    const fallback = { page: standard, withCount: rest.withCount };
    if (!node) return fallback;
    const shape = shapeOf(node);
    if (shape.kind === 'null') return fallback;
    if (shape.kind !== 'tree') {
      refuse('query.expected-object', ['pagination']);
      return fallback;
    }
    const known = ['page', 'pageSize', 'start', 'limit', 'withCount'];
    for (const name of shape.members.keys()) {
      if (!known.includes(name))
        refuse('query.unknown-pagination', ['pagination', name], { name, near: nearest(name, known) });
    }
    const number = (name: string): number | undefined => {
      const given = shape.members.get(name);
      return given ? pageNumber(given, ['pagination', name]) : undefined;
    };
    const [page, pageSize, start, limit] = [number('page'), number('pageSize'), number('start'), number('limit')];
    const withCount = countFlag(shape.members.get('withCount')) ?? rest.withCount;
    const byOffset = shape.members.has('start') || shape.members.has('limit');
    if (byOffset && (shape.members.has('page') || shape.members.has('pageSize')))
      refuse('pagination.mixed', ['pagination']);
    if (!byOffset) {
      const size = clamp(pageSize ?? rest.defaultLimit);
      // the number of rows to skip must be exact
      const pageMax = Math.floor(Number.MAX_SAFE_INTEGER / size);
      if (page !== undefined && page > pageMax)
        refuse('query.too-large', ['pagination', 'page'], { max: `${pageMax}` });
      return { page: { kind: 'page', page: Math.max(1, page ?? 1), pageSize: size }, withCount };
    }
    // -1 is v4's word for "as many as there may be"
    const wanted = limit === -1 ? (rest.maxLimit ?? limits.rowsMax) : (limit ?? rest.defaultLimit);
    return { page: { kind: 'offset', start: Math.max(0, start ?? 0), limit: clamp(wanted) }, withCount };
  };

  const pageNumber = (node: RawNode, path: Path): number | undefined => {
    let shape = shapeOf(node);
    if (shape.kind === 'list' && shape.items.length === 1) shape = shapeOf(shape.items[0]!);
    if (shape.kind === 'null' || (shape.kind === 'text' && shape.text.trim() === '')) return 0;
    if (shape.kind !== 'text') {
      refuse('query.expected-text', path);
      return undefined;
    }
    const { text } = shape;
    const number = Number(text);
    // an infinite page size is the largest there may be; an infinite page is no page
    if (number === Number.POSITIVE_INFINITY && (path.at(-1) === 'pageSize' || path.at(-1) === 'limit')) return number;
    if (Number.isInteger(number)) {
      if (path.at(-1) !== 'start') return number;
      // a list has no place beyond the numbers that are exact
      if (exactInteger(text, number) < 2n ** 63n) return Math.min(number, Number.MAX_SAFE_INTEGER);
      refuse('query.too-large', path, { max: `${2n ** 63n - 1n}` });
    } else refuse('query.integer', path, { text });
    return undefined;
  };

  const countFlag = (node: RawNode | undefined): boolean | undefined => {
    if (!node) return undefined;
    const shape = shapeOf(node);
    const flag = shape.kind === 'text' && /^(true|t|1|false|f|0)$/.test(shape.text) ? parseFlag(shape.text) : undefined;
    if (flag === undefined) refuse('pagination.with-count', ['pagination', 'withCount']);
    return flag;
  };

  return { draft, publicationState, locale, search, fields, populate, filters, sort, pagination };
};

/** The integer of a text whose number may have lost digits. */
const exactInteger = (text: string, number: number): bigint =>
  /^\s*\d+\s*$/.test(text) ? BigInt(text) : BigInt(number);

/** Stands where a condition was refused; the request ends with its issue. */
const nothing: Filter = { kind: 'or', members: [] };
