/**
 * The oracle: answers a request with plain loops over a world in memory, directly from the rules of the specification
 * and the contract. It shares no code with the server and knows nothing of SQL, plans or batches.
 */
import type { Condition, LocaleSpec, OptionsSpec, Request, SortSpec, State, Test } from './request.js';
import {
  attributesOf,
  idSpec,
  isVisible,
  type LinkSpec,
  type MorphSpec,
  morphKey,
  type PartSpec,
  type ProjectSpec,
  type ScalarSpec,
  shownByMorphs,
  type TypeSpec,
} from './schema.js';
import { compareValues, familyOf, jsonOf, type Term, type Value } from './values.js';
import type { Entry, World } from './world.js';

export interface OracleAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface Facts {
  readonly project: ProjectSpec;
  readonly world: World;
  /** Where NULL is placed when ascending: the databases differ (SO5). */
  readonly nulls: 'first' | 'last';
  readonly rest: { readonly defaultLimit: number; readonly maxLimit: number };
  readonly defaultLocale: string;
}

/** SQL's three-valued logic: null is "unknown". */
type Truth = boolean | null;

/** An entry together with its type. */
interface Found {
  readonly type: TypeSpec;
  readonly entry: Entry;
}

export const answer = (request: Request, facts: Facts): OracleAnswer => {
  const { project, world } = facts;
  const type = project.types.get(request.uid)!;
  const state = request.state ?? 'live';
  const all = [...world.entries.get(type.uid)!.values()].sort((a, b) => a.id - b.id);
  const visible = all.map((entry) => ({ type, entry })).filter((it) => isPublished(it, state));
  const options: OptionsSpec = { fields: request.fields, populate: request.populate, filter: null, sort: [], state };
  const show = (found: Found): unknown => shownEntry(found, options, state, facts, 'wrapped');
  if (request.action === 'findOne') {
    const found = visible.find((it) => it.entry.id === request.id);
    return found ? { status: 200, body: { data: show(found), meta: {} } } : notFound;
  }
  const { filter } = request;
  let kept = filter ? visible.filter((it) => holds(filter, it, state, facts)) : visible;
  const wanted = type.localized ? localesOf(request.locale, facts) : 'all';
  if (wanted !== 'all') kept = kept.filter((it) => wanted.includes(it.entry.values.get('locale') as string));
  if (request.action === 'single') {
    if (type.localized && wanted === 'all') return { status: 200, body: { data: kept.map(show), meta: {} } };
    const [found] = kept;
    return found ? { status: 200, body: { data: show(found), meta: {} } } : notFound;
  }
  const { search } = request;
  if (search !== null && search !== '') kept = kept.filter((it) => isFound(it, search));
  const sorted = stableSort(kept, request.sort, state, facts);
  const { from, size, meta } = pageOf(request, sorted.length, facts);
  return { status: 200, body: { data: sorted.slice(from, from + size).map(show), meta: { pagination: meta } } };
};

/** LO1, LO2. */
const localesOf = (locale: LocaleSpec | null, { defaultLocale }: Facts): readonly string[] | 'all' => {
  switch (locale?.kind) {
    case undefined:
      return [defaultLocale];
    case 'one':
      return locale.text === 'all' ? 'all' : [locale.text];
    case 'list':
      return locale.texts;
    case 'valueless':
      return [];
  }
};

const notFound: OracleAnswer = {
  status: 404,
  body: {
    data: null,
    error: {
      status: 404,
      name: 'NotFoundError',
      message: 'Not Found',
      details: { errors: [{ path: [], message: 'Not Found', name: 'NotFoundError', code: 'http.not-found' }] },
    },
  },
};

const isPublished = ({ type, entry }: Found, state: State): boolean =>
  !type.draftAndPublish || state === 'preview' || entry.values.get('publishedAt') !== null;

/** PA1. */
const pageOf = (
  { page }: Request,
  total: number,
  { rest }: Facts,
): { from: number; size: number; meta: Record<string, number> } => {
  const clamp = (size: number): number => Math.min(Math.max(size, 1), rest.maxLimit);
  const counted = page?.withCount !== false;
  if (page?.kind === 'offset') {
    const start = Math.max(page.start?.value ?? 0, 0);
    const asked = page.limit?.value ?? rest.defaultLimit;
    const limit = asked === -1 ? rest.maxLimit : clamp(asked);
    return { from: start, size: limit, meta: { start, limit, ...(counted ? { total } : {}) } };
  }
  const number = Math.max(page?.page?.value ?? 1, 1);
  const pageSize = clamp(page?.pageSize?.value ?? rest.defaultLimit);
  const counts = counted ? { pageCount: Math.ceil(total / pageSize), total } : {};
  return { from: (number - 1) * pageSize, size: pageSize, meta: { page: number, pageSize, ...counts } };
};

/** `_q` with a text that is not a number (FL14). */
const isFound = ({ type, entry }: Found, text: string): boolean =>
  attributesOf(type).some((it) => {
    if (it.kind !== 'scalar' || it.hidden || !it.searchable || familyOf(it.type) !== 'text') return false;
    const value = entry.values.get(it.name);
    return typeof value === 'string' && fold(value).includes(fold(text));
  });

/** Lower case, character by character. */
const fold = (text: string): string => [...text].map((it) => it.toLowerCase()).join('');

// ---- linked entries

type NestedSpec = LinkSpec | PartSpec | MorphSpec;

/**
 * Entries of a link or part in stored order: by rank, then by id of the target, in zones by id of the row (ST8). Rows
 * whose target is gone, or is not one of the attribute's components, are skipped.
 */
const related = (attribute: NestedSpec, { type, entry }: Found, facts: Facts): readonly Found[] => {
  const { world, project } = facts;
  const found: { found: Found; rank: number | null; tie: number }[] = [];
  const add = (uid: string, id: number, rank: number | null, tie: number): void => {
    const target = world.entries.get(uid)?.get(id);
    if (target) found.push({ found: { type: project.types.get(uid)!, entry: target }, rank, tie });
  };
  if (attribute.kind === 'part') {
    for (const row of world.parts.get(type.uid)!) {
      if (row.entity !== entry.id || row.field !== attribute.name) continue;
      if (attribute.components.includes(row.type))
        add(row.type, row.component, row.rank, attribute.shape === 'zone' ? row.id : row.component);
    }
  } else if (attribute.kind === 'morph') {
    const shown = new Set(shownByMorphs(project).map((it) => it.uid));
    for (const row of world.morphs.get(morphKey(type.uid, attribute.name))!)
      if (row.owner === entry.id && shown.has(row.type)) add(row.type, row.target, row.rank, row.id);
  } else if (attribute.storage === 'field' || attribute.storage === 'type') {
    for (const row of world.morphs.get(attribute.links)!) {
      const isOurs = row.type === type.uid && row.target === entry.id;
      if (isOurs && (attribute.storage === 'type' || row.field === attribute.name))
        add(attribute.target, row.owner, row.rank, row.owner);
    }
  } else {
    for (const row of world.links.get(attribute.links)!) {
      if (attribute.side === 'owner' && row.owner === entry.id)
        add(attribute.target, row.target, row.ownerRank, row.target);
      if (attribute.side === 'inverse' && row.target === entry.id)
        add(attribute.target, row.owner, row.targetRank, row.owner);
    }
  }
  found.sort((a, b) => compareNullable(a.rank, b.rank, facts.nulls) || a.tie - b.tie);
  // one file may be linked to an attribute twice: it is shown once; a polymorphic relation shows all links
  if (attribute.kind === 'morph') return found.map((it) => it.found);
  const seen = new Set<string>();
  return found
    .map((it) => it.found)
    .filter((it) => {
      const key = `${it.type.uid} ${it.entry.id}`;
      return !seen.has(key) && seen.add(key);
    });
};

const visibleRelated = (attribute: LinkSpec | PartSpec, owner: Found, state: State, facts: Facts): readonly Found[] =>
  related(attribute, owner, facts).filter((it) => isPublished(it, state));

const stepOf = (type: TypeSpec, name: string): LinkSpec | PartSpec => {
  const attribute = type.attributes.get(name);
  if (!attribute || attribute.kind === 'scalar' || attribute.kind === 'morph')
    throw new Error(`${type.uid} has no relation "${name}"`);
  return attribute;
};

const scalarOf = (type: TypeSpec, name: string): ScalarSpec => {
  const attribute = name === 'id' ? idSpec : type.attributes.get(name);
  if (attribute?.kind !== 'scalar') throw new Error(`${type.uid} has no field "${name}"`);
  return attribute;
};

const readValue = ({ entry }: Found, attribute: ScalarSpec): Value =>
  attribute === idSpec ? entry.id : entry.values.get(attribute.name)!;

// ---- responses

/** Entries inside polymorphic relations are bare (Q19). */
type Form = 'wrapped' | 'bare';

const shownEntry = (found: Found, options: OptionsSpec, state: State, facts: Facts, form: Form): object => {
  const { id } = found.entry;
  const attributes = inside(found, options, state, facts, form);
  return form === 'bare' ? { id, ...attributes } : { id, attributes };
};

/** The selected fields and the populated attributes (F8, Q12). */
const inside = (
  found: Found,
  options: OptionsSpec,
  state: State,
  facts: Facts,
  form: Form,
): Record<string, unknown> => {
  const { type } = found;
  const { fields, populate } = options;
  const shown: Record<string, unknown> = {};
  for (const attribute of attributesOf(type)) {
    if (attribute.kind !== 'scalar' || attribute.hidden) continue;
    if (fields === null || fields.includes('*') || fields.includes(attribute.name))
      shown[attribute.name] = jsonOf(attribute.type, readValue(found, attribute));
  }
  if (!populate) return shown;
  for (const attribute of attributesOf(type)) {
    if (attribute.kind === 'scalar' || !isVisible(facts.project, attribute)) continue;
    const member = populate.members.find((it) => it.name === attribute.name);
    if (member?.isOff || (!member && !populate.all)) continue;
    const inner = member?.options ?? plain;
    const value = showNested(attribute, found, inner, member?.fragments ?? null, state, facts, form);
    if (value !== undefined) shown[attribute.name] = value;
  }
  return shown;
};

/** Undefined: the attribute is left out. */
const showNested = (
  attribute: NestedSpec,
  found: Found,
  options: OptionsSpec,
  fragments: ReadonlyMap<string, OptionsSpec> | null,
  outer: State,
  facts: Facts,
  form: Form,
): unknown => {
  switch (attribute.kind) {
    case 'link': {
      const data = showLink(attribute, found, options, outer, facts, form);
      return form === 'bare' ? data : { data };
    }
    case 'part':
      return showPart(attribute, found, options, fragments, outer, facts, form);
    case 'morph': {
      const shown = showMixed(attribute, '__type', found, options, fragments, outer, facts, 'bare');
      if (attribute.shape === 'one') return shown[0] ?? null;
      return shown.length > 0 ? shown : undefined;
    }
  }
};

const plain: OptionsSpec = { fields: null, populate: null, filter: null, sort: [], state: null };

const showLink = (
  attribute: LinkSpec,
  owner: Found,
  options: OptionsSpec,
  outer: State,
  facts: Facts,
  form: Form,
): unknown => {
  const state = options.state ?? outer;
  const list = chosen(attribute, owner, options, state, facts);
  const shown = list.map((it) => shownEntry(it, options, state, facts, form));
  if (attribute.shape === 'one') return shown[0] ?? null;
  return attribute.source !== 'relation' && shown.length === 0 ? null : shown;
};

const showPart = (
  attribute: PartSpec,
  owner: Found,
  options: OptionsSpec,
  fragments: ReadonlyMap<string, OptionsSpec> | null,
  outer: State,
  facts: Facts,
  form: Form,
): unknown => {
  if (attribute.shape === 'zone')
    return showMixed(attribute, '__component', owner, options, fragments, outer, facts, form);
  const state = options.state ?? outer;
  const list = chosen(attribute, owner, options, state, facts);
  const shown = list.map((it) => ({ id: it.entry.id, ...inside(it, options, state, facts, form) }));
  return attribute.shape === 'one' ? (shown[0] ?? null) : shown;
};

/** Visible targets that match the filters, in the requested order, ties in stored order (Q8). */
const chosen = (
  attribute: LinkSpec | PartSpec,
  owner: Found,
  { filter, sort }: OptionsSpec,
  state: State,
  facts: Facts,
): readonly Found[] => {
  const list = visibleRelated(attribute, owner, state, facts).filter(
    (it) => filter === null || holds(filter, it, state, facts),
  );
  return stableSort(list, sort, state, facts);
};

/** Elements of several types stay in stored order; with `on` only the listed types appear (Q6, Q7, Q19). */
const showMixed = (
  attribute: PartSpec | MorphSpec,
  typeKey: '__component' | '__type',
  owner: Found,
  shared: OptionsSpec,
  fragments: ReadonlyMap<string, OptionsSpec> | null,
  outer: State,
  facts: Facts,
  form: Form,
): readonly unknown[] => {
  const shown: unknown[] = [];
  for (const it of related(attribute, owner, facts)) {
    const options = fragments ? fragments.get(it.type.uid) : shared;
    if (!options) continue;
    const state = options.state ?? outer;
    if (!isPublished(it, state)) continue;
    if (options.filter && !holds(options.filter, it, state, facts)) continue;
    shown.push({ [typeKey]: it.type.uid, id: it.entry.id, ...inside(it, options, state, facts, form) });
  }
  return shown;
};

// ---- filters

/** Whether a filter keeps an entry: unknown is not enough. */
const holds = (condition: Condition, found: Found, state: State, facts: Facts): boolean =>
  truth(condition, found, found.type, state, facts, false) === true;

/**
 * @param found null stands for the row of NULLs that an outer join gives an entry without related ones.
 * @param negated negation goes down to the values: "not some related entry is X" means "some related entry is not X".
 */
const truth = (
  condition: Condition,
  found: Found | null,
  type: TypeSpec,
  state: State,
  facts: Facts,
  negated: boolean,
): Truth => {
  switch (condition.kind) {
    case 'all':
    case 'any': {
      const members = condition.members.map((it) => truth(it, found, type, state, facts, negated));
      return (condition.kind === 'all') === negated ? some(members) : every(members);
    }
    case 'not':
      return truth(condition.member, found, type, state, facts, !negated);
    case 'scalar': {
      const attribute = scalarOf(type, condition.name);
      return testTruth(condition.test, found && readValue(found, attribute), negated);
    }
    case 'related': {
      const step = stepOf(type, condition.name);
      const target = facts.project.types.get(step.kind === 'link' ? step.target : step.components[0]!)!;
      const rows: readonly (Found | null)[] = found ? visibleRelated(step, found, state, facts) : [];
      const joined = rows.length > 0 ? rows : [null];
      return joined.some((it) => truth(condition.member, it, target, state, facts, negated) === true);
    }
  }
};

const every = (members: readonly Truth[]): Truth =>
  members.includes(false) ? false : members.includes(null) ? null : true;
const some = (members: readonly Truth[]): Truth =>
  members.includes(true) ? true : members.includes(null) ? null : false;
const not = (it: Truth): Truth => (it === null ? null : !it);

const testTruth = (test: Test, value: Value, negated: boolean): Truth => {
  switch (test.kind) {
    case 'all':
    case 'any': {
      const members = test.members.map((it) => testTruth(it, value, negated));
      return (test.kind === 'all') === negated ? some(members) : every(members);
    }
    case 'not':
      return testTruth(test.member, value, !negated);
    case 'null': {
      const isNull = (value === null) === ((test.operator === '$null') === test.flag);
      return negated ? !isNull : isNull;
    }
    case 'compare': {
      const it = compareTruth(test.operator, test.terms, value);
      return negated ? not(it) : it;
    }
  }
};

const compareTruth = (operator: string, terms: readonly Term[], value: Value): Truth => {
  if (terms.length === 0) return (value === null) === (operator === '$eq');
  if (value === null) return null;
  const values = terms.map((it) => it.value);
  switch (operator) {
    case '$in':
      return values.some((it) => equals(value, it));
    case '$notIn':
      return !values.some((it) => equals(value, it));
    case '$between':
      return compareValues(value, values[0]!) >= 0 && compareValues(value, values[1]!) <= 0;
    // several values of a negative operator are joined by AND, of any other by OR (FL8)
    case '$ne':
    case '$nei':
    case '$notContains':
    case '$notContainsi':
      return values.every((it) => compareOne(operator, value, it));
    default:
      return values.some((it) => compareOne(operator, value, it));
  }
};

const equals = (a: Exclude<Value, null>, b: Exclude<Value, null>): boolean =>
  typeof a === 'object' && typeof b === 'object' ? a.json === b.json : compareValues(a, b) === 0;

const compareOne = (operator: string, value: Exclude<Value, null>, term: Exclude<Value, null>): boolean => {
  switch (operator) {
    case '$eq':
      return equals(value, term);
    case '$ne':
      return !equals(value, term);
    case '$lt':
      return compareValues(value, term) < 0;
    case '$lte':
      return compareValues(value, term) <= 0;
    case '$gt':
      return compareValues(value, term) > 0;
    case '$gte':
      return compareValues(value, term) >= 0;
  }
  const isFolded = operator.endsWith('i');
  const [text, part] = [String(value), String(term)].map((it) => (isFolded ? fold(it) : it)) as [string, string];
  switch (isFolded ? operator.slice(0, -1) : operator) {
    case '$eq':
      return text === part;
    case '$ne':
      return text !== part;
    case '$contains':
      return text.includes(part);
    case '$notContains':
      return !text.includes(part);
    case '$startsWith':
      return text.startsWith(part);
    case '$endsWith':
      return text.endsWith(part);
    default:
      throw new Error(`no such operator: ${operator}`);
  }
};

// ---- sort

const compareNullable = (a: Value, b: Value, nulls: Facts['nulls']): number => {
  if (a === null || b === null) {
    if (a === b) return 0;
    return (a === null) === (nulls === 'first') ? -1 : 1;
  }
  return compareValues(a, b);
};

/** Ties keep the given order. */
const stableSort = (
  list: readonly Found[],
  given: readonly SortSpec[],
  state: State,
  facts: Facts,
): readonly Found[] => {
  // a repeated column is ignored (SO1)
  const names = given.map((it) => it.path.join('.'));
  const keys = given.filter((it, i) => names.indexOf(it.path.join('.')) === i);
  const rows = list.map((found) => ({ found, values: keys.map((key) => sortValue(key, found, state, facts)) }));
  rows.sort((a, b) => {
    for (const [i, key] of keys.entries()) {
      const order = compareNullable(a.values[i]!, b.values[i]!, facts.nulls);
      if (order !== 0) return key.direction === 'asc' ? order : -order;
    }
    return 0;
  });
  return rows.map((it) => it.found);
};

/**
 * The value that an entry is sorted by. A to-one relation is the entry that populating it shows; through to-many ones it
 * is the least of all values, or the greatest when descending (SO3).
 */
const sortValue = ({ path, direction }: SortSpec, found: Found, state: State, facts: Facts): Value => {
  let here: readonly Found[] = [found];
  let { type } = found;
  for (const name of path.slice(0, -1)) {
    const step = stepOf(type, name);
    here = here.flatMap((it) => {
      const visible = visibleRelated(step, it, state, facts);
      return step.shape === 'one' ? visible.slice(0, 1) : visible;
    });
    type = facts.project.types.get(step.kind === 'link' ? step.target : step.components[0]!)!;
  }
  const attribute = scalarOf(type, path.at(-1)!);
  let best: Value = null;
  for (const it of here) {
    const value = readValue(it, attribute);
    if (value === null) continue;
    if (best === null || (direction === 'asc' ? compareValues(value, best) < 0 : compareValues(value, best) > 0))
      best = value;
  }
  return best;
};
