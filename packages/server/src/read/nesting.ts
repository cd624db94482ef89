/** What statements render inside the entries that show it, and what are batches of their own. */
import { limits } from '../limits.js';
import type { Filter, Populate, Selection } from '../query/selection.js';

/** How many entries may show an edge's entries: one, those of a page and their parts, or those of lists inside these. */
export type Owners = 'one' | 'page' | 'lists';

export const ownersOf = (outer: Owners, attribute: Populate['attribute']): Owners => {
  if (outer === 'one' && attribute.shape === 'one') return 'one';
  return outer === 'lists' || isList(attribute) ? 'lists' : 'page';
};

/** Whether it leads from an entry to many of their own: links other than files. */
const isList = (attribute: Populate['attribute']): boolean =>
  attribute.kind !== 'part' &&
  attribute.shape === 'many' &&
  !(attribute.kind === 'link' && attribute.source === 'media');

/** What it costs to render a selection inside another statement. */
export interface Nesting {
  /** Whether all that it populates is inline, so that one text is the whole entry. */
  readonly isWhole: boolean;
  /** Fields, edges and conditions: the size of the statement. */
  readonly weight: number;
  /** Levels below it. */
  readonly depth: number;
  readonly hasLists: boolean;
}

export const nothing: ReadonlySet<Populate> = new Set();

/**
 * What of a selection's populate is inline. That saves statements, rows and the copying of texts, but an entry is rendered as
 * often as it is shown. So entries that have one owner are inline, and others if they are small, or if there is one owner
 * only.
 */
export const chooseInline = (
  { populate }: Selection,
  owners: Owners,
  nestingOf: (selection: Selection) => Nesting,
): ReadonlySet<Populate> => {
  let weightLeft: number = limits.inlineWeightMax;
  const chosen = populate.filter(({ attribute, targets }) => {
    // a polymorphic relation without entries is left out, and with it the comma
    if (attribute.kind === 'morph') return false;
    const inside = [...targets.values()].map(nestingOf);
    const weight = inside.reduce((sum, it) => sum + it.weight, 1);
    if (weight > weightLeft || inside.some((it) => !it.isWhole || it.depth >= limits.inlineDepthMax)) return false;
    if (owners !== 'one' && mayBeShared(attribute)) {
      if (inside.some((it) => it.hasLists) || (owners === 'lists' && attribute.shape === 'many')) return false;
    }
    weightLeft -= weight;
    return true;
  });
  return chosen.length === 0 ? nothing : new Set(chosen);
};

/** Whether several entries may show the same one. Files may be shared, but rarely are. */
const mayBeShared = (attribute: Populate['attribute']): boolean => {
  if (attribute.kind !== 'link') return attribute.kind === 'morph';
  if (attribute.source === 'media') return false;
  return attribute.source !== 'relation' || attribute.relation.startsWith('many');
};

export const nestingFor = (
  { fields, populate, filter, sort }: Selection,
  inline: ReadonlySet<Populate>,
  nestingOf: (selection: Selection) => Nesting,
): Nesting => {
  const inside = [...inline].flatMap(({ targets }) => [...targets.values()].map(nestingOf));
  const conditions = filter ? filterWeight(filter) : 0;
  const sorts = sort.reduce((sum, { steps }) => sum + 1 + steps.length, 0);
  const own = 1 + fields.length + inline.size + 4 * (conditions + sorts);
  return {
    isWhole: inline.size === populate.length,
    weight: inside.reduce((sum, it) => sum + it.weight, own),
    depth: inside.reduce((most, it) => Math.max(most, it.depth + 1), 0),
    hasLists: [...inline].some((it) => isList(it.attribute)) || inside.some((it) => it.hasLists),
  };
};

/** What a filter adds to the weight of a statement: a condition through a relation is a subquery. */
const filterWeight = (filter: Filter): number => {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.members.reduce((sum, it) => sum + filterWeight(it), 0);
    case 'not':
      return filterWeight(filter.member);
    case 'compare':
      return 1;
    case 'related':
      return 2 + filterWeight(filter.member);
  }
};
