/** What a click in the tree changes. Each takes a query and gives another; what it does not concern stays as it was written. */
import { isMembers, type Members, memberOf, type Node, noMembers, type Path, withMember, withNodeAt } from './node.js';
import { readFields, readPopulate } from './options.js';
import {
  fragmentStep,
  type Ground,
  isOn,
  nestedOf,
  optionsAt,
  type Place,
  typesAt,
  uidOfStep,
  withOptionsAt,
} from './place.js';

/** Sets or removes one option of a place. */
export const setOption = (
  query: Members,
  place: Place,
  ground: Ground,
  name: string,
  node: Node | undefined,
): Members => withOptionsAt(query, place, ground, (options) => withMember(options, name, node));

/** The first field that is chosen takes the place of all; without the last one all are shown again. */
export const toggleField = (query: Members, place: Place, ground: Ground, name: string): Members =>
  withOptionsAt(query, place, ground, (options) => {
    const fields = readFields(memberOf(options, 'fields'));
    const chosen = fields?.kind === 'chosen' ? fields.names.filter((it) => it !== 'id' && it !== '*') : [];
    const next = chosen.includes(name) ? chosen.filter((it) => it !== name) : [...chosen, name];
    return withMember(options, 'fields', next.length > 0 ? next : undefined);
  });

/** Every field, or nothing but the id. */
export const setAllFields = (query: Members, place: Place, ground: Ground, all: boolean): Members =>
  setOption(query, place, ground, 'fields', all ? undefined : idOnly);

const idOnly: Node = ['id'];

/** Whether the place holds the entries of a polymorphic relation, of which only fields and populate can be said together. */
export const isOfAnyType = (place: Place, { model, type }: Pick<Ground, 'model' | 'type'>): boolean => {
  const last = place.at(-1);
  if (last === undefined || uidOfStep(last) !== null) return false;
  return nestedOf(typesAt(model, type, place.slice(0, -1))).find((it) => it.name === last)?.kind === 'morph';
};

/** Populates a place, or no longer. What was chosen inside goes with it; undoing brings it back. */
export const togglePlace = (query: Members, place: Place, ground: Ground): Members => {
  const isPopulated = optionsAt(query, place, ground.leniency) !== null;
  return withOptionsAt(query, place, ground, (options) => (isPopulated ? null : options));
};

/** Whether everything is populated that can be, by one word. */
export const populatesAll = (options: Members, { leniency }: Pick<Ground, 'leniency'>): boolean =>
  readPopulate(memberOf(options, 'populate'), leniency)?.all === true;

/** `*`, or nothing. */
export const setAllPopulated = (query: Members, place: Place, ground: Ground, all: boolean): Members =>
  setOption(query, place, ground, 'populate', all ? '*' : undefined);

type Strategy = 'shared' | 'by type';

export const strategyOf = (options: Members): Strategy =>
  memberOf(options, 'on') === undefined ? 'shared' : 'by type';

/** What all components have in common becomes the options of each, and those of each are dropped for common ones. */
export const setStrategy = (query: Members, place: Place, ground: Ground, strategy: Strategy): Members =>
  withOptionsAt(query, place, ground, (options) => {
    if (strategyOf(options) === strategy) return options;
    if (strategy === 'shared') return withMember(options, 'on', undefined);
    const types = typesAt(ground.model, ground.type, place);
    const { leniency } = ground;
    const names = readPopulate(memberOf(options, 'populate'), leniency)?.members.map((it) => it.name) ?? [];
    const fragments = types.map((type): [string, Node] => {
      const lacking = names.filter((name) => !type.attributes.some((it) => it.name === name));
      const own = lacking.reduce((all, name) => withOptionsAt(all, [name], { ...ground, type }, () => null), options);
      return [type.uid, Object.keys(own).length > 0 ? own : 'true'];
    });
    return { on: Object.fromEntries(fragments) };
  });

/** Removes something that was shown as text: a place inside the options of another. */
export const removeText = (query: Members, place: Place, ground: Ground, path: Path): Members =>
  withOptionsAt(query, place, ground, (options) => {
    const [option, name] = path;
    // one of the names of a text or a list
    if (option === 'populate' && name !== undefined && !isMembers(memberOf(options, option)))
      return togglePlace(options, [name], {
        ...ground,
        type: typesAt(ground.model, ground.type, place)[0] ?? ground.type,
      });
    const next = withNodeAt(options, path, undefined);
    return isMembers(next) ? next : noMembers;
  });

/** The components that a place shows by themselves, in the order of the zone. */
export const fragmentsOf = (options: Members, { leniency }: Ground): ReadonlySet<string> => {
  const on = memberOf(options, 'on');
  if (!isMembers(on)) return new Set();
  return new Set(Object.entries(on).flatMap(([uid, node]) => (isMembers(node) || isOn(node, leniency) ? [uid] : [])));
};

export const fragmentPlace = (place: Place, uid: string): Place => [...place, fragmentStep(uid)];
