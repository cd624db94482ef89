/** The model as a graph: types are its nodes; relations, components and zones are its edges. */
import { type Attribute, type Model, ownAttributes, type Type, typeOf } from '../../model/model.js';

/** How many entries an end of an edge may stand for. */
export type Count = 'one' | 'many';

export interface End {
  readonly uid: string;
  /** The attribute on this side; null if the relation has none here. */
  readonly attribute: string | null;
  /** How many entries of this type an entry at the other end has. */
  readonly count: Count;
}

export interface Edge {
  readonly id: string;
  readonly kind: 'relation' | 'component' | 'zone';
  readonly from: End;
  readonly to: End;
}

export interface Graph {
  readonly types: readonly Type[];
  readonly edges: readonly Edge[];
}

interface Shown {
  readonly components: boolean;
  /** Types of plugins, such as users and files. */
  readonly plugins: boolean;
}

const isShown = (type: Type, { components, plugins }: Shown): boolean => {
  if (type.kind === 'component') return components;
  return plugins || type.uid.startsWith('api::');
};

export const graphOf = (model: Model, shown: Shown): Graph => {
  const types = model.types.filter((it) => isShown(it, shown));
  const isThere = new Set(types.map((it) => it.uid));
  const edges = new Map<string, Edge>();
  for (const type of types)
    for (const attribute of ownAttributes(type))
      for (const edge of edgesOf(model, type, attribute))
        if (isThere.has(edge.to.uid) && !edges.has(edge.id)) edges.set(edge.id, edge);
  return { types, edges: [...edges.values()] };
};

const edgesOf = (model: Model, type: Type, attribute: Attribute): readonly Edge[] => {
  const { name, relation, component, zone } = attribute;
  if (relation?.target) {
    const { target, inverse, kind } = relation;
    const counts = countsOf(kind, relation.list);
    const inverseAttribute = typeOf(model, target)?.attributes.find((it) => it.name === inverse);
    const from: End = { uid: type.uid, attribute: name, count: counts.from };
    const to: End = { uid: target, attribute: inverseAttribute?.name ?? null, count: counts.to };
    return [{ id: relationId(from, to), kind: 'relation', from, to }];
  }
  if (component) {
    const to: End = { uid: component.uid, attribute: null, count: component.repeatable ? 'many' : 'one' };
    return [partEdge('component', type, name, to)];
  }
  return (zone?.components ?? []).map((uid) => partEdge('zone', type, name, { uid, attribute: null, count: 'many' }));
};

const partEdge = (kind: 'component' | 'zone', { uid }: Type, attribute: string, to: End): Edge => ({
  id: `${kind} ${uid} ${attribute} ${to.uid}`,
  kind,
  from: { uid, attribute, count: 'one' },
  to,
});

/** The same from both sides. */
const relationId = (from: End, to: End): string =>
  `relation ${[from, to]
    .map((it) => `${it.uid}#${it.attribute ?? ''}`)
    .sort()
    .join(' ')}`;

/** Of `manyToOne` and the like. Kinds that say nothing of a side (oneWay, manyWay, morphs) know only how many are shown. */
const countsOf = (kind: string | null, isList: boolean): { readonly from: Count; readonly to: Count } => {
  const found = /^(one|many)To(One|Many)$/.exec(kind ?? '');
  if (!found) return { from: 'many', to: isList ? 'many' : 'one' };
  return { from: found[1] as Count, to: found[2] === 'One' ? 'one' : 'many' };
};

/** Types whose name, or an attribute of which, contains the text; all for an empty one. */
export const matching = (types: readonly Type[], text: string): ReadonlySet<string> => {
  const wanted = text.trim().toLowerCase();
  const holds = (it: string): boolean => it.toLowerCase().includes(wanted);
  return new Set(
    types
      .filter((it) => holds(it.displayName) || holds(it.uid) || it.attributes.some(({ name }) => holds(name)))
      .map((it) => it.uid),
  );
};
