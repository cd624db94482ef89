/** What filters and sorts can name: attributes of an entry, and those that one step leads to. */
import type { Attribute, Model, Type } from '../../../model/model.js';
import { type Compared, idAttribute } from './filters.js';
import { scalarsOf, targetsOf } from './place.js';

interface Reachable {
  /** Names of attributes, the last one of a value. */
  readonly path: readonly string[];
  readonly attribute: Compared;
}

const isStep = ({ kind, mayRead }: Attribute): boolean =>
  mayRead && kind !== 'scalar' && kind !== 'zone' && kind !== 'morph';

/** Steps through relations, media and components that a list offers; more of them are reached group by group. */
const STEPS_MAX = 2;
/** Paths that a list offers; steps are only followed while there are fewer. */
const PATHS_MAX = 3_000;

interface Way {
  readonly path: readonly string[];
  readonly types: readonly Type[];
}

/** The nearest ones first. */
const reachable = (model: Model, types: readonly Type[], accepts: (it: Attribute) => boolean): readonly Reachable[] => {
  const found: Reachable[] = [];
  let ways: readonly Way[] = [{ path: [], types }];
  for (let steps = 0; steps <= STEPS_MAX && found.length < PATHS_MAX; steps++) {
    for (const way of ways) {
      for (const attribute of scalarsOf(way.types))
        if (attribute.mayRead && accepts(attribute)) found.push({ path: [...way.path, attribute.name], attribute });
      found.push({ path: [...way.path, 'id'], attribute: idAttribute });
    }
    ways = ways.flatMap((way) => stepsFrom(model, way));
  }
  return found;
};

/** Types that have nothing but names in common lead nowhere together. */
const stepsFrom = (model: Model, { path, types }: Way): readonly Way[] =>
  types.length === 1
    ? types.flatMap((type) =>
        type.attributes
          .filter(isStep)
          .map((step): Way => ({ path: [...path, step.name], types: targetsOf(model, step) })),
      )
    : [];

export const filterable = (model: Model, types: readonly Type[]): readonly Reachable[] =>
  reachable(model, types, (it) => it.operators.length > 0);

export const sortable = (model: Model, types: readonly Type[]): readonly Reachable[] =>
  reachable(model, types, (it) => it.sortable);
