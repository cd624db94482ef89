/** `sort`: texts or objects to keys, each through any number of links and components (SO1). */
import { issue } from '../errors.js';
import { limits } from '../limits.js';
import { type Attribute, type EntryType, idAttribute, typeLabel } from '../model/model.js';
import { isDropped, leaveOut } from './lenient.js';
import type { RawNode } from './raw.js';
import { hintOf, isIdName, type Path, type Resolving, refuse, shapeIn, stepThrough } from './resolving.js';
import type { PublicationState, SortKey, Step } from './selection.js';

/** One key as written: `author.name:desc` has the segments `author` and `name`. */
interface WrittenKey {
  readonly form: 'text' | 'tree';
  readonly segments: readonly string[];
  readonly direction: string;
  readonly at: Path;
}

/** Keys in the order given, without duplicates. */
export const resolveSort = (
  resolving: Resolving,
  type: EntryType,
  state: PublicationState,
  node: RawNode,
  path: Path,
): readonly SortKey[] => {
  const distinct = new Map<string, SortKey>();
  for (const written of writtenKeys(resolving, node, path)) {
    const key = sortKey(resolving, type, state, written);
    if (!key) continue;
    const name = [...key.steps.map((it) => it.attribute.name), key.attribute.name].join('.');
    if (!distinct.has(name)) distinct.set(name, key);
  }
  if (distinct.size > limits.sortKeysMax) refuse(resolving, 'query.sort-too-long', path, { max: limits.sortKeysMax });
  return [...distinct.values()];
};

const writtenKeys = (resolving: Resolving, node: RawNode, path: Path): readonly WrittenKey[] => {
  const shape = shapeIn(resolving, node);
  switch (shape.kind) {
    case 'null':
      return [];
    case 'mixed':
      return refuseForms(resolving, path);
    case 'text':
      return keysOfText(shape.text, path);
    case 'tree':
      // an index beside names
      if ([...shape.members.keys()].some((it) => /^\d+$/.test(it))) return refuseForms(resolving, path);
      return keysOfTree(resolving, shape.members, [], path);
    case 'list': {
      const items = shape.items.map((it) => shapeIn(resolving, it));
      const kinds = new Set(items.map((it) => it.kind));
      if (kinds.has('text') && kinds.has('tree')) return refuseForms(resolving, path);
      return items.flatMap((item, i) => {
        const at = [...path, String(i)];
        if (item.kind === 'text') return keysOfText(item.text, at);
        if (item.kind === 'tree') return keysOfTree(resolving, item.members, [], at);
        refuse(resolving, 'query.expected-text', at);
        return [];
      });
    }
  }
};

const refuseForms = (resolving: Resolving, path: Path): readonly WrittenKey[] => {
  refuse(resolving, 'query.sort-forms', path);
  return [];
};

/** `kind,author.name:desc`. */
const keysOfText = (text: string, at: Path): readonly WrittenKey[] =>
  text
    .split(',')
    .filter((piece) => piece.trim() !== '')
    .map((piece) => {
      const [dotted = '', direction = 'asc'] = piece.trim().split(':');
      return { form: 'text', segments: dotted.split('.'), direction, at };
    });

/** `sort[author][name]=desc`; as deep as the number of steps allows. */
const keysOfTree = (
  resolving: Resolving,
  members: ReadonlyMap<string, RawNode>,
  segments: readonly string[],
  path: Path,
): readonly WrittenKey[] =>
  [...members].flatMap(([name, child]) => {
    const shape = shapeIn(resolving, child);
    const at = [...path, name];
    const here = [...segments, name];
    if (shape.kind === 'text') return [{ form: 'tree', segments: here, direction: shape.text, at }];
    if (shape.kind === 'tree' && segments.length < limits.sortStepsMax)
      return keysOfTree(resolving, shape.members, here, at);
    if (shape.kind === 'tree') refuse(resolving, 'query.sort-too-long', at, { max: limits.sortStepsMax });
    else if (shape.kind === 'mixed') refuse(resolving, 'query.mixed-forms', at);
    else if (shape.kind === 'list') refuse(resolving, 'query.expected-text', at);
    else refuse(resolving, 'query.sort-direction', at, { text: '' });
    return [];
  });

const sortKey = (
  resolving: Resolving,
  type: EntryType,
  state: PublicationState,
  { form, segments, direction, at }: WrittenKey,
): SortKey | null => {
  const lower = direction.trim().toLowerCase();
  if (lower !== 'asc' && lower !== 'desc') {
    refuse(resolving, 'query.sort-direction', at, { text: direction });
    return null;
  }
  if (segments.length > limits.sortStepsMax) {
    refuse(resolving, 'query.sort-too-long', at, { max: limits.sortStepsMax });
    return null;
  }
  const steps: Step[] = [];
  let here = type;
  for (const [position, segment] of segments.entries()) {
    const isLast = position === segments.length - 1;
    const name = segment.trim();
    const facts = { type: typeLabel(here), name };
    const attribute: Attribute | undefined = isIdName(resolving, here, name) ? idAttribute : here.attributes.get(name);
    if (!attribute) {
      const fault = issue('query.unknown-name', at, { ...facts, ...hintOf(resolving, name, here, 'scalar') });
      if (form === 'tree' && isDropped(resolving, name)) leaveOut(resolving, fault);
      else resolving.issues.push(fault);
      return null;
    }
    if (attribute !== idAttribute && !resolving.gate.allows(here, attribute, 'sort')) {
      refuse(resolving, 'query.hidden', at, facts);
      return null;
    }
    if (attribute.kind === 'scalar') {
      if (isLast) return { steps, attribute, direction: lower };
      refuse(resolving, 'query.not-sortable', at, { ...facts, name: segments.slice(position).join('.') });
      return null;
    }
    const step = stepThrough(resolving, attribute, state);
    if (!step) {
      refuse(resolving, 'query.not-sortable', at, facts);
      return null;
    }
    // the order would tell something of entries that the caller may not see
    if (step.seen) {
      refuse(resolving, 'query.hidden', at, facts);
      return null;
    }
    if (isLast) refuse(resolving, 'query.sort-needs-attribute', at, facts);
    steps.push(step);
    here = step.target;
  }
  return null;
};
