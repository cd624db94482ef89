/**
 * Random entries, links and parts of a project, kept in memory. Rows are like those of real databases: ids with gaps,
 * ranks that do not follow ids; in a messy world also ranks that are NULL or equal, several rows of a to-one link, and
 * rows whose target is gone (ST4, ST5, ST8, ST10).
 */
import type { Random } from './random.js';
import {
  attributesOf,
  FILES,
  type LinkSpec,
  type MorphSpec,
  morphKey,
  type PartSpec,
  type ProjectSpec,
  RELATED,
  type TypeSpec,
} from './schema.js';
import { anyValue, type Value } from './values.js';

export interface Entry {
  readonly id: number;
  /** By attribute name; scalars only. */
  readonly values: ReadonlyMap<string, Value>;
}

export interface LinkRow {
  readonly id: number;
  readonly owner: number;
  readonly target: number;
  /** Rank of the target in the owner's list, if the relation stores one. */
  readonly ownerRank: number | null;
  /** Rank of the owner in the target's list, if the relation stores one. */
  readonly targetRank: number | null;
}

export interface PartRow {
  readonly id: number;
  readonly entity: number;
  readonly component: number;
  readonly type: string;
  readonly field: string;
  readonly rank: number | null;
}

/** A link of a polymorphic relation. */
export interface MorphRow {
  readonly id: number;
  readonly owner: number;
  readonly target: number;
  readonly type: string;
  /** The attribute of the target that shows it; null for none. */
  readonly field: string | null;
  readonly rank: number | null;
}

export interface World {
  readonly entries: ReadonlyMap<string, ReadonlyMap<number, Entry>>;
  /** Rows of link tables and join columns by `LinkSpec.links`. */
  readonly links: ReadonlyMap<string, readonly LinkRow[]>;
  /** By the uid of the owner of the parts. */
  readonly parts: ReadonlyMap<string, readonly PartRow[]>;
  /** By `morphKey`; a `morphToOne` has at most one for each owner. */
  readonly morphs: ReadonlyMap<string, readonly MorphRow[]>;
  /** As v4 stores it; null for no setting, which is `en`. */
  readonly defaultLocale: string | null;
}

interface Growth {
  readonly project: ProjectSpec;
  readonly random: Random;
  readonly isMessy: boolean;
  readonly entries: Map<string, Map<number, Entry>>;
  readonly links: Map<string, LinkRow[]>;
  readonly parts: Map<string, PartRow[]>;
  readonly morphs: Map<string, MorphRow[]>;
}

export const anyWorld = (project: ProjectSpec, random: Random): World => {
  const types = [...project.types.values()];
  const growth: Growth = {
    project,
    random,
    isMessy: random.chance(0.5),
    entries: new Map(types.map((it) => [it.uid, new Map<number, Entry>()])),
    links: new Map(),
    parts: new Map(types.map((it) => [it.uid, []])),
    morphs: new Map([[RELATED, []]]),
  };
  const manyEntries = random.chance(0.2);
  types
    .filter((it) => it.kind !== 'component')
    .forEach((type, i) => {
      const count =
        type.kind === 'single'
          ? random.between(0, type.localized ? 5 : 2)
          : i === 0 && manyEntries
            ? random.between(27, 32)
            : random.between(0, 11);
      for (let n = 0; n < count; n++) newEntry(type, growth);
    });
  for (const type of types) {
    for (const attribute of attributesOf(type)) {
      if (attribute.kind === 'morph' && type.uid !== FILES) addMorphs(type, attribute, growth);
      if (attribute.kind !== 'link' || attribute.name === 'createdBy' || attribute.name === 'updatedBy') continue;
      if (attribute.source === 'media') addFiles(type, attribute, growth);
      if (attribute.side !== 'owner') continue;
      if (attribute.name === 'localizations' && !growth.isMessy) addSiblings(type, attribute, growth);
      else addLinks(type, attribute, growth);
    }
  }
  for (const [uid, rows] of growth.parts) growth.parts.set(uid, renumbered(rows, random));
  return { ...growth, defaultLocale: random.pick([null, 'en', 'fr', 'pt-BR']) };
};

/**
 * Rows of parts in an order different from that of their components: equal ranks are ordered by row in zones, by
 * component elsewhere.
 */
const renumbered = (rows: readonly PartRow[], random: Random): PartRow[] =>
  random.shuffle(rows).map((row, i) => ({ ...row, id: i + 1 }));

/** An entry with all that it contains. */
const newEntry = (type: TypeSpec, growth: Growth): Entry => {
  const { random } = growth;
  const siblings = growth.entries.get(type.uid)!;
  const last = Math.max(0, ...siblings.keys());
  const id = last + (random.chance(0.3) ? random.between(2, 4) : 1);
  const values = new Map<string, Value>();
  for (const attribute of attributesOf(type)) {
    if (attribute.kind !== 'scalar') continue;
    if (attribute.name === 'locale') values.set('locale', random.pick(['en', 'en', 'fr', 'pt-BR', 'de', null]));
    else values.set(attribute.name, anyValue(attribute.type, id, random));
  }
  const entry: Entry = { id, values };
  siblings.set(id, entry);
  for (const attribute of attributesOf(type)) if (attribute.kind === 'part') addParts(type, entry, attribute, growth);
  return entry;
};

const addParts = (type: TypeSpec, owner: Entry, attribute: PartSpec, growth: Growth): void => {
  const { random, project, isMessy } = growth;
  const rows = growth.parts.get(type.uid)!;
  const count = attribute.shape === 'one' ? (random.chance(0.6) ? 1 : 0) : random.between(0, 4);
  const ranks = anyRanks(count, growth);
  const add = (component: string, id: number, rank: number | null): void => {
    const isThere = rows.some(
      (it) => it.entity === owner.id && it.component === id && it.field === attribute.name && it.type === component,
    );
    if (isThere) return;
    rows.push({ id: rows.length + 1, entity: owner.id, component: id, type: component, field: attribute.name, rank });
  };
  for (let i = 0; i < count; i++) {
    const component = random.pick(attribute.components);
    const part = newEntry(project.types.get(component)!, growth);
    add(component, part.id, attribute.shape === 'one' ? null : ranks[i]!);
  }
  if (!isMessy || !random.chance(0.2)) return;
  const rank = random.pick([null, 1, 2]);
  // a missing row, a component that the attribute no longer lists, one that no schema file declares
  add(random.pick(attribute.components), 90_000 + random.below(3), rank);
  const others = [...project.types.values()].filter(
    (it) => it.kind === 'component' && !attribute.components.includes(it.uid),
  );
  if (others.length > 0) add(random.pick(others).uid, random.between(1, 4), rank);
  add('gone.gone', random.between(1, 4), rank);
  if (attribute.shape === 'one') {
    const component = attribute.components[0]!;
    add(component, newEntry(project.types.get(component)!, growth).id, rank);
  }
};

const addLinks = (type: TypeSpec, attribute: LinkSpec, growth: Growth): void => {
  const { random, isMessy } = growth;
  const rows: LinkRow[] = [];
  const targets = [...growth.entries.get(attribute.target)!.keys()];
  const isExclusive = attribute.relation === 'oneToOne' && attribute.inverse !== null && !isMessy;
  const free = random.shuffle(targets);
  const pairs: { owner: number; target: number; ownerRank: number | null }[] = [];
  for (const owner of growth.entries.get(type.uid)!.keys()) {
    const chosen =
      attribute.shape === 'one'
        ? anySingle(attribute, targets, free, isExclusive, growth)
        : random.sample(targets, random.below(5));
    const ranks = anyRanks(chosen.length, growth);
    const hasRank = attribute.relation === 'oneToMany' || attribute.relation === 'manyToMany';
    chosen.forEach((target, i) => {
      pairs.push({ owner, target, ownerRank: hasRank ? ranks[i]! : null });
    });
  }
  const hasTargetRank =
    attribute.storage === 'table' &&
    attribute.inverse !== null &&
    (attribute.relation === 'manyToOne' || attribute.relation === 'manyToMany');
  const targetRanks = anyRanks(pairs.length, growth);
  random.shuffle(pairs).forEach((pair, i) => {
    rows.push({ ...pair, id: i + 1, targetRank: hasTargetRank ? targetRanks[i]! : null });
  });
  growth.links.set(attribute.links, rows);
};

/** Groups of entries in different locales, each of which lists all others. */
const addSiblings = (type: TypeSpec, attribute: LinkSpec, growth: Growth): void => {
  const { random } = growth;
  const groups: Entry[][] = [];
  for (const entry of random.shuffle([...growth.entries.get(type.uid)!.values()])) {
    const locale = entry.values.get('locale');
    const open = groups.filter((group) => group.every((it) => it.values.get('locale') !== locale));
    if (open.length > 0 && random.chance(0.8)) random.pick(open).push(entry);
    else groups.push([entry]);
  }
  const pairs = groups.flatMap((group) =>
    group.flatMap((owner) => {
      const others = random.shuffle(group.filter((it) => it !== owner));
      return others.map((target, i) => ({ owner: owner.id, target: target.id, ownerRank: i + 1, targetRank: null }));
    }),
  );
  growth.links.set(
    attribute.links,
    random.shuffle(pairs).map((pair, i) => ({ ...pair, id: i + 1 })),
  );
};

const anySingle = (
  attribute: LinkSpec,
  targets: readonly number[],
  free: number[],
  isExclusive: boolean,
  { random, isMessy }: Growth,
): readonly number[] => {
  if (targets.length === 0 || random.chance(0.3)) return [];
  if (isExclusive) {
    const target = free.pop();
    return target === undefined ? [] : [target];
  }
  return random.sample(targets, isMessy && attribute.storage === 'table' && random.chance(0.15) ? 2 : 1);
};

const addFiles = (type: TypeSpec, attribute: LinkSpec, growth: Growth): void => {
  const { random, isMessy, morphs } = growth;
  const files = morphs.get(RELATED)!;
  const known = [...growth.entries.get(FILES)!.keys()];
  if (known.length === 0) return;
  for (const owner of growth.entries.get(type.uid)!.keys()) {
    const count = attribute.shape === 'many' ? random.below(5) : random.chance(0.6) ? 1 : 0;
    const chosen = random.sample(known, isMessy && count === 1 && random.chance(0.2) ? 2 : count);
    if (isMessy && chosen.length > 1 && random.chance(0.2)) chosen.push(chosen[0]!);
    const ranks = anyRanks(chosen.length, growth);
    chosen.forEach((file, i) => {
      files.push({
        id: files.length + 1,
        owner: file,
        target: owner,
        type: type.uid,
        field: attribute.name,
        rank: chosen.length === 1 ? 1 : ranks[i]!,
      });
    });
  }
};

/** Links to entries of any type; some that an attribute of the other side shows, in a messy world some that lead nowhere. */
const addMorphs = (type: TypeSpec, { name, shape }: MorphSpec, growth: Growth): void => {
  const { random, isMessy, project } = growth;
  const links = morphKey(type.uid, name);
  const targets = [...project.types.values()]
    .filter((it) => it.kind !== 'component')
    .flatMap((it) => [...growth.entries.get(it.uid)!.keys()].map((id) => ({ type: it.uid, target: id })));
  const rows: Omit<MorphRow, 'id'>[] = [];
  for (const owner of growth.entries.get(type.uid)!.keys()) {
    const chosen = random.sample(targets, shape === 'one' ? random.below(2) : random.below(6));
    if (isMessy && random.chance(0.3))
      chosen.push(
        random.pick([
          { type: 'api::gone.gone', target: 1 },
          { type: type.uid, target: 90_000 },
          ...[...project.types.keys()].map((uid) => ({ type: uid, target: random.between(1, 4) })),
        ]),
      );
    if (isMessy && chosen.length > 0 && random.chance(0.2)) chosen.push(chosen[0]!);
    const ranks = anyRanks(chosen.length, growth);
    const kept = shape === 'one' ? chosen.slice(-1) : chosen;
    kept.forEach((it, i) => {
      const shownBy = project.types.get(it.type);
      const fields = shownBy
        ? attributesOf(shownBy).filter((other) => other.kind === 'link' && other.links === links)
        : [];
      const field = shape === 'many' ? random.pick([null, null, 'other', ...fields.map((other) => other.name)]) : null;
      rows.push({ owner, ...it, field, rank: shape === 'one' ? null : ranks[i]! });
    });
  }
  growth.morphs.set(
    links,
    random.shuffle(rows).map((row, i) => ({ ...row, id: i + 1 })),
  );
};

/** 1 to `count` in random order; in a messy world sometimes equal, fractional or missing. */
const anyRanks = (count: number, { random, isMessy }: Growth): readonly (number | null)[] => {
  const ranks: (number | null)[] = random.shuffle(Array.from({ length: count }, (_, i) => i + 1));
  if (!isMessy || random.chance(0.5)) return ranks;
  return ranks.map((rank) =>
    random.chance(0.25) ? null : random.chance(0.3) ? 1 : random.chance(0.2) ? rank! / 2 : rank,
  );
};
