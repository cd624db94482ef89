/** Random valid requests as trees of their meaning; `spelling.ts` writes them as query strings. */
import type { Random } from './random.js';
import {
  type AttributeSpec,
  attributesOf,
  FILES,
  idSpec,
  isVisible,
  type ProjectSpec,
  type ScalarSpec,
  shownByMorphs,
  type TypeSpec,
} from './schema.js';
import { anyPiece, anyTerm, familyOf, type Term } from './values.js';
import type { World } from './world.js';

export interface Request {
  readonly uid: string;
  readonly action: 'find' | 'findOne' | 'single';
  readonly id: number | null;
  /** Seed of the spelling: a request can be written in many ways. */
  readonly style: string;
  /** Names, `*` and `id`; null if none are requested. */
  readonly fields: readonly string[] | null;
  readonly populate: PopulateSpec | null;
  readonly filter: Condition | null;
  readonly sort: readonly SortSpec[];
  readonly page: PageSpec | null;
  readonly state: State | null;
  readonly locale: LocaleSpec | null;
  readonly search: string | null;
}

export type State = 'live' | 'preview';

export interface PopulateSpec {
  readonly all: boolean;
  readonly members: readonly MemberSpec[];
}

export interface MemberSpec {
  readonly name: string;
  /** Written with a falsy flag. */
  readonly isOff: boolean;
  readonly options: OptionsSpec;
  /** The detailed strategy of zones: options by component. */
  readonly fragments: ReadonlyMap<string, OptionsSpec> | null;
}

export interface OptionsSpec {
  readonly fields: readonly string[] | null;
  readonly populate: PopulateSpec | null;
  readonly filter: Condition | null;
  readonly sort: readonly SortSpec[];
  readonly state: State | null;
}

/** A condition on an entry. */
export type Condition =
  | { readonly kind: 'all' | 'any'; readonly members: readonly Condition[] }
  | { readonly kind: 'not'; readonly member: Condition }
  | { readonly kind: 'scalar'; readonly name: string; readonly test: Test }
  | { readonly kind: 'related'; readonly name: string; readonly member: Condition };

/** A condition on a value. */
export type Test =
  | { readonly kind: 'all' | 'any'; readonly members: readonly Test[] }
  | { readonly kind: 'not'; readonly member: Test }
  /** Without terms: `$eq` and `$ne` without a value, which compare with NULL. */
  | { readonly kind: 'compare'; readonly operator: string; readonly terms: readonly Term[] }
  | { readonly kind: 'null'; readonly operator: '$null' | '$notNull'; readonly flag: boolean };

export interface SortSpec {
  readonly path: readonly string[];
  readonly direction: 'asc' | 'desc';
}

/** A pagination number: how it is written (null: without a value) and its value. */
export interface Amount {
  readonly text: string | null;
  readonly value: number;
}

export type PageSpec = { readonly withCount: boolean | null } & (
  | { readonly kind: 'page'; readonly page: Amount | null; readonly pageSize: Amount | null }
  | { readonly kind: 'offset'; readonly start: Amount | null; readonly limit: Amount | null }
);

/** `locale`: one text, a list of texts, or a key without a value. */
export type LocaleSpec =
  | { readonly kind: 'one'; readonly text: string }
  | { readonly kind: 'list'; readonly texts: readonly string[] }
  | { readonly kind: 'valueless' };

interface Context {
  readonly project: ProjectSpec;
  readonly random: Random;
}

export const noOptions: OptionsSpec = { fields: null, populate: null, filter: null, sort: [], state: null };

export const anyRequest = (project: ProjectSpec, world: World, random: Random): Request => {
  const context = { project, random };
  const types = [...project.types.values()].filter(
    (it) => (it.kind === 'collection' || it.kind === 'single') && it.findable,
  );
  const type = random.pick(types);
  const action = type.kind === 'single' ? 'single' : random.chance(0.15) ? 'findOne' : 'find';
  const ids = [...world.entries.get(type.uid)!.keys()];
  const isList = action === 'find';
  return {
    uid: type.uid,
    action,
    id: action === 'findOne' ? (ids.length > 0 && random.chance(0.9) ? random.pick(ids) : 77) : null,
    style: `${random.below(1_000_000)}`,
    fields: random.chance(0.5) ? anyFields([type], context) : null,
    populate: random.chance(0.7) ? anyPopulate([type], random.between(1, 3), context) : null,
    filter: random.chance(isList ? 0.6 : 0.3) ? anyCondition([type], 3, context) : null,
    // a request does not determine which of several rows of a single type is returned (RQ13)
    sort: action !== 'single' && random.chance(0.5) ? anySort([type], context) : [],
    page: isList && random.chance(0.4) ? anyPage(random) : null,
    state: random.chance(0.35) ? random.pick(['live', 'preview', 'preview']) : null,
    locale: random.chance(type.localized ? 0.6 : 0.1) ? anyLocale(action, random) : null,
    // it is undefined whether `_q` searches the server's own `locale`
    search: isList && !type.localized && random.chance(0.08) ? anySearch(random) : null,
  };
};

/** A single type takes one locale; requests for one entry take any, without effect. */
const anyLocale = (action: Request['action'], random: Random): LocaleSpec => {
  const known = ['en', 'fr', 'pt-BR'];
  if (action !== 'single' && random.chance(0.3))
    return { kind: 'list', texts: random.sample([...known, 'xx', 'EN', ''], random.between(1, 4)) };
  if (random.chance(0.05)) return { kind: 'valueless' };
  return { kind: 'one', text: random.pick([...known, ...known, 'all', 'all', 'xx', 'FR', 'en,fr', '']) };
};

/** Text that is not a number: `_q` with numbers has tests of its own. */
const anySearch = (random: Random): string => {
  const { text } = anyPiece('text', random);
  return text.trim() === '' || Number.isFinite(Number(text)) ? 'alpha' : text;
};

/** Attributes that all types at one place have in common; in zones there are several types. */
const commonScalars = (types: readonly TypeSpec[]): readonly ScalarSpec[] => {
  const [first, ...others] = types;
  if (!first) return [];
  return attributesOf(first).filter((it): it is ScalarSpec => {
    if (it.kind !== 'scalar' || it.hidden) return false;
    return others.every((other) => {
      const same = other.attributes.get(it.name);
      return same?.kind === 'scalar' && same.type === it.type && !same.hidden;
    });
  });
};

const anyFields = (types: readonly TypeSpec[], { random }: Context): readonly string[] => {
  const names = random.sample(
    commonScalars(types).map((it) => it.name),
    random.between(0, 4),
  );
  if (random.chance(0.2)) names.push('id');
  if (random.chance(0.15)) names.push('*');
  return names.length > 0 ? names : [random.pick(['id', '*'])];
};

// ---- populate

const anyPopulate = (types: readonly TypeSpec[], depth: number, context: Context): PopulateSpec => {
  const { random } = context;
  const names = new Set(
    types.flatMap((type) =>
      attributesOf(type)
        .filter((it) => it.kind !== 'scalar')
        .map((it) => it.name),
    ),
  );
  const chosen = random.sample([...names], random.between(1, 3));
  if (chosen.length === 0) return { all: true, members: [] };
  if (random.chance(0.2)) {
    const members = random.chance(0.4) ? chosen.map((name) => plainMember(types, name, depth, context)) : [];
    return { all: true, members };
  }
  const isPlain = random.chance(0.3);
  return {
    all: false,
    members: chosen.map((name) =>
      isPlain ? plainMember(types, name, depth, context) : anyMember(types, name, depth, context),
    ),
  };
};

/** A name with nothing but names below it, which can be written with dots. */
const plainMember = (types: readonly TypeSpec[], name: string, depth: number, context: Context): MemberSpec => {
  const { random } = context;
  const targets = targetsOf(types, name, context.project);
  const inner = new Set(
    targets.flatMap((type) =>
      attributesOf(type)
        .filter((it) => it.kind !== 'scalar')
        .map((it) => it.name),
    ),
  );
  const chosen = depth > 1 && random.chance(0.6) ? random.sample([...inner], random.between(1, 2)) : [];
  const members = chosen.map((it) => plainMember(targets, it, depth - 1, context));
  const populate = members.length > 0 ? { all: false, members } : null;
  return { name, isOff: false, options: { ...noOptions, populate }, fragments: null };
};

const anyMember = (types: readonly TypeSpec[], name: string, depth: number, context: Context): MemberSpec => {
  const { random, project } = context;
  const plain: MemberSpec = { name, isOff: false, options: noOptions, fragments: null };
  const targets = targetsOf(types, name, project);
  if (targets.length === 0 || random.chance(0.15)) return plain;
  if (random.chance(0.08)) return { ...plain, isOff: true };
  const zones = types
    .map((it) => it.attributes.get(name))
    .filter((it) => it !== undefined && it.kind !== 'scalar')
    .map((it) => {
      if (it.kind === 'morph') return shownByMorphs(project).map((shown) => shown.uid);
      return it.kind === 'part' && it.shape === 'zone' ? it.components : [];
    });
  const common = zones[0]!.filter((uid) => zones.every((components) => components.includes(uid)));
  if (common.length > 0 && random.chance(0.5)) {
    const chosen = random.sample(common, random.between(1, Math.min(common.length, 4)));
    const fragments = new Map(
      chosen.map((uid) => [
        uid,
        random.chance(0.3) ? noOptions : anyOptions([project.types.get(uid)!], depth, context),
      ]),
    );
    // the shared part beside `on` is ignored (Q7)
    const ignored = random.chance(0.2) ? { ...noOptions, populate: { all: true, members: [] } } : noOptions;
    return { ...plain, options: ignored, fragments };
  }
  const ofAnyType = types.some((it) => it.attributes.get(name)?.kind === 'morph');
  return {
    ...plain,
    options: ofAnyType ? anyOptionsOfAll(targets, depth, context) : anyOptions(targets, depth, context),
  };
};

/** Options of a polymorphic relation for all its types: fields that one of them has, no filter and no sort (Q19). */
const anyOptionsOfAll = (targets: readonly TypeSpec[], depth: number, context: Context): OptionsSpec => {
  const { random } = context;
  const names = targets.flatMap((type) => commonScalars([type]).map((it) => it.name));
  return {
    ...anyOptions(targets, depth, context),
    fields: random.chance(0.5) ? [...random.sample(names, random.between(0, 4)), 'id'] : null,
    filter: null,
    sort: [],
  };
};

/** The target types of a name, from all types at one place that have it. */
const targetsOf = (types: readonly TypeSpec[], name: string, project: ProjectSpec): readonly TypeSpec[] => {
  // creators are users of the administration, which the oracle does not model
  if (name === 'createdBy' || name === 'updatedBy') return [];
  const uids = types.flatMap((type) => {
    const attribute = type.attributes.get(name);
    if (attribute?.kind === 'link') return [attribute.target];
    if (attribute?.kind === 'morph') return shownByMorphs(project).map((it) => it.uid);
    return attribute?.kind === 'part' ? attribute.components : [];
  });
  return uids.map((uid) => project.types.get(uid)!);
};

const anyOptions = (targets: readonly TypeSpec[], depth: number, context: Context): OptionsSpec => {
  const { random } = context;
  return {
    fields: random.chance(0.5) ? anyFields(targets, context) : null,
    populate: depth > 1 && random.chance(0.6) ? anyPopulate(targets, depth - 1, context) : null,
    filter: random.chance(0.35) ? anyCondition(targets, 2, context) : null,
    sort: random.chance(0.35) ? anySort(targets, context) : [],
    state: random.chance(0.25) ? random.pick(['live', 'preview']) : null,
  };
};

// ---- filters

const anyCondition = (types: readonly TypeSpec[], depth: number, context: Context): Condition => {
  const { random } = context;
  const roll = random.below(100);
  if (depth > 0 && roll < 12)
    return {
      kind: random.pick(['all', 'any']),
      members: Array.from({ length: random.between(1, 3) }, () => anyCondition(types, depth - 1, context)),
    };
  if (depth > 0 && roll < 20) return { kind: 'not', member: anyCondition(types, depth - 1, context) };
  const [type] = types;
  if (type && types.length === 1 && depth > 0 && roll < 60) {
    const steps = attributesOf(type).filter((it) => isStep(it, context.project));
    if (steps.length > 0) {
      const step = random.pick(steps);
      const target = stepTarget(step, context.project);
      return { kind: 'related', name: step.name, member: relatedCondition(target, depth, context) };
    }
  }
  const attribute = random.pick([...commonScalars(types), idSpec]);
  return { kind: 'scalar', name: attribute.name, test: anyTest(attribute, 2, context) };
};

const relatedCondition = (target: TypeSpec, depth: number, context: Context): Condition =>
  context.random.chance(0.35)
    ? { kind: 'scalar', name: 'id', test: anyTest(idSpec, 1, context) }
    : anyCondition([target], depth - 1, context);

/** Whether filters and sorts can go through it. */
const isStep = (it: AttributeSpec, project: ProjectSpec): boolean =>
  it.kind !== 'scalar' && it.kind !== 'morph' && isVisible(project, it) && !(it.kind === 'part' && it.shape === 'zone');

const stepTarget = (it: AttributeSpec, project: ProjectSpec): TypeSpec => {
  if (it.kind === 'scalar' || it.kind === 'morph') throw new Error(`"${it.name}" leads nowhere`);
  return project.types.get(it.kind === 'link' ? it.target : it.components[0]!)!;
};

const comparing = ['$eq', '$eq', '$ne', '$in', '$notIn', '$lt', '$lte', '$gt', '$gte', '$between'];
const searching = [
  '$eqi',
  '$nei',
  '$contains',
  '$notContains',
  '$containsi',
  '$notContainsi',
  '$startsWith',
  '$startsWithi',
  '$endsWith',
  '$endsWithi',
];

/** The operators that the oracle uses, listed independently. */
export const operatorNames: readonly string[] = [...new Set([...comparing, ...searching, '$null', '$notNull'])];

const anyTest = (attribute: ScalarSpec, depth: number, context: Context): Test => {
  const { random } = context;
  const roll = random.below(100);
  if (depth > 0 && roll < 8) return { kind: 'not', member: anyTest(attribute, depth - 1, context) };
  if (depth > 0 && roll < 18)
    return {
      kind: random.pick(['all', 'any']),
      members: Array.from({ length: random.between(1, 3) }, () => anyTest(attribute, depth - 1, context)),
    };
  if (roll < 30) return { kind: 'null', operator: random.pick(['$null', '$notNull']), flag: random.chance(0.7) };
  const family = familyOf(attribute.type);
  if (roll < 33) return { kind: 'compare', operator: random.pick(['$eq', '$ne']), terms: [] };
  if (family === 'text' && roll < 75) {
    const operator = random.pick(searching);
    const count = random.chance(0.2) ? 2 : 1;
    const isWhole = operator === '$eqi' || operator === '$nei';
    const terms = Array.from({ length: count }, (): Term => {
      const { text } = isWhole ? anyTerm(attribute.type, random) : anyPiece(attribute.type, random);
      const written = isWhole && random.chance(0.5) ? text.toUpperCase() : text;
      return { text: written, value: written };
    });
    return { kind: 'compare', operator, terms };
  }
  const operator = family === 'json' ? random.pick(['$eq', '$ne']) : random.pick(comparing);
  const term = (): Term => (attribute === idSpec ? anyId(random) : anyTerm(attribute.type, random));
  const count =
    operator === '$between'
      ? 2
      : operator === '$in' || operator === '$notIn'
        ? random.between(1, 4)
        : random.chance(0.2)
          ? 2
          : 1;
  return { kind: 'compare', operator, terms: Array.from({ length: count }, term) };
};

const anyId = (random: Random): Term => {
  const value = random.between(1, 14);
  return { text: String(value), value };
};

// ---- sort and pagination

const anySort = (types: readonly TypeSpec[], context: Context): readonly SortSpec[] => {
  const { random } = context;
  return Array.from({ length: random.between(1, 3) }, () => ({
    path: anySortPath(types, 3, context),
    direction: random.pick(['asc', 'desc'] as const),
  }));
};

const anySortPath = (types: readonly TypeSpec[], depth: number, context: Context): readonly string[] => {
  const { random, project } = context;
  const [type] = types;
  if (type && types.length === 1 && depth > 0 && random.chance(0.35)) {
    const steps = attributesOf(type).filter((it) => isStep(it, project));
    if (steps.length > 0) {
      const step = random.pick(steps);
      return [step.name, ...anySortPath([stepTarget(step, project)], depth - 1, context)];
    }
  }
  // each database orders JSON in its own way (SO7)
  const scalars = commonScalars(types).filter((it) => familyOf(it.type) !== 'json');
  return [random.pick([...scalars, idSpec]).name];
};

const anyPage = (random: Random): PageSpec => {
  const amount = (value: number): Amount => ({
    value,
    text: random.pick([String(value), String(value), ` ${value}`, value > 0 ? `${value}e0` : String(value)]),
  });
  const empty: Amount = { text: random.pick(['', null]), value: 0 };
  const maybe = (values: readonly number[]): Amount | null =>
    random.chance(0.25) ? null : random.chance(0.05) ? empty : amount(random.pick(values));
  const withCount = random.chance(0.3) ? random.chance(0.5) : null;
  const everything: Amount = { text: 'Infinity', value: Number.POSITIVE_INFINITY };
  if (random.chance(0.5)) {
    const pageSize = random.chance(0.04) ? everything : maybe([1, 2, 3, 5, 10, 100, 101, 0, -1, 1000]);
    return { kind: 'page', page: maybe([1, 1, 2, 2, 3, 4, 9, 0, -1]), pageSize, withCount };
  }
  const start = maybe([0, 1, 2, 3, 5, 20, -1]);
  const limit = random.chance(0.04) ? everything : maybe([1, 2, 3, 5, 10, 100, 101, 0, -1, -2]);
  // at least one of the two makes it offset pagination
  return { kind: 'offset', start: start ?? (limit === null ? amount(1) : null), limit, withCount };
};

/** The path of a request, without the prefix of the API. */
export const pathOf = ({ uid, action, id }: Request, project: ProjectSpec): string => {
  const type = project.types.get(uid)!;
  if (type.uid === FILES) throw new Error('files have routes of their own');
  if (action === 'single') return `/${type.singular}`;
  return action === 'findOne' ? `/${type.plural}/${id}` : `/${type.plural}`;
};
