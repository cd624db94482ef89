/** Places of the tree: the entry type asked for, what it populates, what that populates, and so on. */
import { type Attribute, attributeOf, FILE_UID, type Model, type Type, typeOf } from '../../../model/model.js';
import type { Leniency } from './brackets.js';
import { isMembers, type Members, memberOf, type Node, noMembers, type Path, withMember } from './node.js';
import { readFlag, readPopulate, writePopulate } from './options.js';

/** From the root: names of attributes, and `on:` with the uid of a component or type. */
export type Place = readonly string[];

const FRAGMENT = 'on:';
export const fragmentStep = (uid: string): string => `${FRAGMENT}${uid}`;
/** The uid of a fragment; null for the name of an attribute. */
export const uidOfStep = (step: string): string | null =>
  step.startsWith(FRAGMENT) ? step.slice(FRAGMENT.length) : null;

/** The types whose entries an attribute shows, as far as they are known to whoever asks. */
export const targetsOf = (model: Model, attribute: Attribute): readonly Type[] =>
  targetUidsOf(model, attribute).flatMap((uid) => typeOf(model, uid) ?? []);

const targetUidsOf = (model: Model, { relation, media, component, zone, kind }: Attribute): readonly string[] => {
  if (kind === 'morph') return model.types.filter((it) => it.kind !== 'component' && it.may.find).map((it) => it.uid);
  if (zone) return zone.components;
  const uid = relation?.target ?? component?.uid ?? (media ? FILE_UID : undefined);
  return uid === undefined ? [] : [uid];
};

/** Whether each element names its type, so that each type can have options of its own. */
export const isMixed = ({ kind }: Attribute): boolean => kind === 'zone' || kind === 'morph';

/** The types of the entries at a place; none if it does not exist. */
export const typesAt = (model: Model, type: Type, place: Place): readonly Type[] =>
  place.reduce<readonly Type[]>((types, step) => typesBehind(model, types, step), [type]);

/** The types that a step leads to from entries of these types. */
export const typesBehind = (model: Model, types: readonly Type[], step: string): readonly Type[] => {
  const uid = uidOfStep(step);
  if (uid !== null) return types.filter((it) => it.uid === uid);
  const found = types.flatMap((type) => {
    const attribute = attributeOf(type, step);
    return attribute ? targetsOf(model, attribute) : [];
  });
  return [...new Set(found)];
};

/** Attributes that can be populated, of any of the types, in the order of the model; of those with one name an open one. */
export const nestedOf = (types: readonly Type[]): readonly Attribute[] => {
  const found = new Map<string, Attribute>();
  for (const it of types.flatMap((type) => type.attributes))
    if (it.kind !== 'scalar' && (it.mayRead || !found.has(it.name)) && !found.get(it.name)?.mayRead)
      found.set(it.name, it);
  return [...found.values()];
};

/** Fields that can be chosen: those that all types have, or any of them where types are not related (`isAny`). */
export const scalarsOf = (types: readonly Type[], isAny = false): readonly Attribute[] => {
  const [first, ...others] = types;
  if (!first) return [];
  const isScalar = (it: Attribute): boolean => it.kind === 'scalar' && it.type !== 'password';
  if (!isAny) {
    return first.attributes.filter(isScalar).flatMap((attribute) => {
      const same = [attribute, ...others.map((it) => attributeOf(it, attribute.name))];
      if (!same.every((it) => it?.kind === 'scalar')) return [];
      // closed in one type is closed for all
      return same.find((it) => it && !it.mayRead) ?? attribute;
    });
  }
  const all = types.flatMap((it) => it.attributes).filter(isScalar);
  return [...new Map(all.map((it) => [it.name, it])).values()];
};

/** What `*` populates: everything that whoever asks may see. */
export const allNames = (types: readonly Type[]): readonly string[] =>
  nestedOf(types)
    .filter((it) => it.mayRead)
    .map((it) => it.name);

// ---- options at a place

/** The options of a place; null if it is not populated, or in a way that has no controls. */
export const optionsAt = (query: Members, place: Place, leniency: Leniency): Members | null =>
  place.reduce<Members | null>((options, step) => options && optionsBehind(options, step, leniency), query);

const optionsBehind = (options: Members, step: string, leniency: Leniency): Members | null => {
  const uid = uidOfStep(step);
  if (uid !== null) {
    const on = memberOf(options, 'on');
    const node = isMembers(on) ? memberOf(on, uid) : undefined;
    return isMembers(node) ? node : isOn(node, leniency) ? noMembers : null;
  }
  const populated = readPopulate(memberOf(options, 'populate'), leniency);
  const member = populated?.members.find((it) => it.name === step);
  if (member) return member.is === 'on' ? member.options : null;
  return populated?.all ? noMembers : null;
};

/** A fragment without options. v4 ignores the value of its flag. */
export const isOn = (node: Node | undefined, leniency: Leniency): boolean =>
  typeof node === 'string' && (!leniency.strict || node === '*' || readFlag(node, leniency) === true);

export interface Ground {
  readonly model: Model;
  readonly type: Type;
  readonly leniency: Leniency;
}

/** Changes the options of a place. Places on the way are populated; null at the end takes the place out of the query. */
export const withOptionsAt = (
  query: Members,
  place: Place,
  ground: Ground,
  change: (options: Members) => Members | null,
): Members => changed(query, place, [ground.type], ground, change) ?? noMembers;

const changed = (
  options: Members,
  [step, ...rest]: Place,
  types: readonly Type[],
  ground: Ground,
  change: (options: Members) => Members | null,
): Members | null => {
  if (step === undefined) return change(options);
  const { model, leniency } = ground;
  const inner = changed(
    optionsBehind(options, step, leniency) ?? noMembers,
    rest,
    typesBehind(model, types, step),
    ground,
    change,
  );
  const uid = uidOfStep(step);
  if (uid !== null) {
    const on = memberOf(options, 'on');
    const fragments = withMember(isMembers(on) ? on : noMembers, uid, inner === null ? undefined : nonEmpty(inner));
    // without `on` all types would be shown, so the last fragment is switched off instead
    return withMember(options, 'on', Object.keys(fragments).length > 0 ? fragments : { [uid]: 'false' });
  }
  const populated = readPopulate(memberOf(options, 'populate'), leniency);
  // a form without controls stays as it is
  if (!populated) return options;
  const names = allNames(types);
  const before = populated.all
    ? [
        ...populated.members,
        ...names
          .filter((name) => !populated.members.some((it) => it.name === name))
          .map((name) => ({ name, is: 'on' as const, options: noMembers, node: 'true' })),
      ]
    : populated.members;
  if (inner === null) {
    const members = before.filter((it) => it.name !== step);
    return withMember(options, 'populate', writePopulate({ all: false, members }, names));
  }
  const member = { name: step, is: 'on' as const, options: inner, node: 'true' };
  const members = before.some((it) => it.name === step)
    ? before.map((it) => (it.name === step ? member : it))
    : [...before, member];
  const isStillAll = populated.all && members.every((it) => Object.keys(it.options).length === 0);
  return withMember(options, 'populate', isStillAll ? '*' : writePopulate({ all: false, members }, names));
};

const nonEmpty = (options: Members): Node => (Object.keys(options).length > 0 ? options : 'true');

/** Where the options of a place are in the query, as faults of the server name it. */
export const pathOf = (place: Place): Path =>
  place.flatMap((step) => {
    const uid = uidOfStep(step);
    return uid === null ? ['populate', step] : ['on', uid];
  });
