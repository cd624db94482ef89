/** Requests as query strings, in every form that the dialect knows (RQ10, RQ13). */
import { newRandom, type Random } from './random.js';
import type {
  Condition,
  LocaleSpec,
  MemberSpec,
  OptionsSpec,
  PopulateSpec,
  Request,
  SortSpec,
  Test,
} from './request.js';

/** The bracket tree: a text, a key without value, a list, or an object. */
type Tree = string | null | readonly Tree[] | TreeObject;
interface TreeObject extends ReadonlyMap<string, Tree> {}

const isObject = (tree: Tree): tree is TreeObject => tree instanceof Map;
const isList = (tree: Tree): tree is readonly Tree[] => Array.isArray(tree);

/**
 * The query string of a request, without `?`. Each part has its own random stream, so that no part changes the others.
 */
export const spell = (request: Request): string => {
  const of = (part: string): Random => newRandom(`${request.style}/${part}`);
  const parts: (readonly [string, Tree])[] = [];
  if (request.fields) parts.push(['fields', spellFields(request.fields, of('fields'))]);
  if (request.populate) parts.push(['populate', spellPopulate(request.populate, of('populate'))]);
  if (request.filter) parts.push(['filters', spellObject(request.filter, 'root', of('filters'))]);
  if (request.sort.length > 0) parts.push(['sort', spellSort(request.sort, of('sort'))]);
  if (request.page) parts.push(['pagination', spellPage(request.page)]);
  if (request.state) parts.push(['publicationState', request.state]);
  if (request.locale) parts.push(['locale', spellLocale(request.locale)]);
  if (request.search !== null) parts.push(['_q', request.search]);
  const random = of('pairs');
  if (random.chance(0.05)) parts.push(['foo', new Map([['bar', 'ignored']])]);
  return random
    .shuffle(parts)
    .flatMap(([name, tree]) => pairsOf(name, tree, random))
    .join('&');
};

// ---- trees to pairs

const pairsOf = (key: string, tree: Tree, random: Random): readonly string[] => {
  if (tree === null) return [key];
  if (typeof tree === 'string') return [`${key}=${encodeValue(tree, random)}`];
  if (isList(tree)) return listPairs(key, tree, random);
  return [...tree].flatMap(([name, child]) => pairsOf(key + bracket(name, random), child, random));
};

const listPairs = (key: string, items: readonly Tree[], random: Random): readonly string[] => {
  const areTexts = items.every((it) => typeof it === 'string');
  if (areTexts && items.length > 1 && random.chance(0.2)) return items.flatMap((it) => pairsOf(key, it, random));
  if (areTexts && random.chance(0.3)) return items.flatMap((it) => pairsOf(`${key}[]`, it, random));
  // gaps between indexes are closed, and indexes give the order
  const step = random.chance(0.15) ? random.between(2, 9) : 1;
  return random
    .shuffle(items.map((it, i) => ({ it, i })))
    .flatMap(({ it, i }) => pairsOf(key + bracket(String(i * step), random), it, random));
};

const bracket = (name: string, random: Random): string => {
  const inside = encodeURIComponent(name).replaceAll('%24', '$');
  return random.chance(0.1) ? `%5B${inside}%5D` : `[${inside}]`;
};

const encodeValue = (text: string, random: Random): string => {
  const encoded = encodeURIComponent(text);
  const spaced = random.chance(0.3) ? encoded.replaceAll('%20', '+') : encoded;
  return random.chance(0.3) ? spaced.replaceAll('%3A', ':').replaceAll('%2C', ',').replaceAll('%2F', '/') : spaced;
};

/** One text, or a list of one. */
const oneOrMore = (texts: readonly string[], random: Random): Tree =>
  texts.length === 1 && random.chance(0.5) ? texts[0]! : texts;

const spellLocale = (locale: LocaleSpec): Tree => {
  switch (locale.kind) {
    case 'one':
      return locale.text;
    case 'list':
      return locale.texts;
    case 'valueless':
      return null;
  }
};

// ---- fields

const spellFields = (names: readonly string[], random: Random): Tree => {
  if (names.length === 1 && names[0] === '*' && random.chance(0.3)) return null;
  return oneOrMore(names, random);
};

// ---- populate

/** Only names below: the only form that lists and dots can express. */
const isPlain = ({ isOff, options, fragments }: MemberSpec): boolean =>
  !isOff &&
  fragments === null &&
  options.fields === null &&
  options.filter === null &&
  options.sort.length === 0 &&
  options.state === null &&
  (options.populate === null || (!options.populate.all && options.populate.members.every(isPlain)));

const spellPopulate = (populate: PopulateSpec, random: Random, depth = 0): Tree => {
  const { all, members } = populate;
  if (all && members.length === 0) {
    // `true` in place of names is defined for the root only
    const forms: Tree[] = ['*', '*', ['*']];
    if (depth === 0) forms.push('true');
    return random.pick(forms);
  }
  if (all || (members.every(isPlain) && random.chance(0.6))) {
    const names = random.shuffle([...(all ? ['*'] : []), ...members.flatMap((it) => dottedNames(it, random))]);
    if (random.chance(0.4)) return names.join(random.chance(0.2) ? ', ' : ',');
    return oneOrMore(names, random);
  }
  return new Map(members.map((it) => [it.name, spellMember(it, random, depth)]));
};

const dottedNames = ({ name, options }: MemberSpec, random: Random): readonly string[] => {
  const inner = options.populate?.members.flatMap((it) => dottedNames(it, random)) ?? [];
  if (inner.length === 0) return [random.chance(0.1) ? `${name}.*` : name];
  const dotted = inner.map((it) => `${name}.${it}`);
  return random.chance(0.3) ? [name, ...dotted] : dotted;
};

const spellMember = ({ isOff, options, fragments }: MemberSpec, random: Random, depth: number): Tree => {
  if (isOff) return random.pick(['false', 'f', '0']);
  const spelled = spellOptions(options, random, depth);
  if (fragments)
    spelled.set(
      'on',
      new Map(
        [...fragments].map(([uid, fragment]) => {
          const inner = spellOptions(fragment, random, depth);
          return [uid, inner.size > 0 ? inner : random.pick(['true', 't', '1', '*'])] as const;
        }),
      ),
    );
  return spelled.size > 0 ? spelled : random.pick(['true', 't', '1', '*']);
};

const spellOptions = (options: OptionsSpec, random: Random, depth: number): Map<string, Tree> => {
  const spelled = new Map<string, Tree>();
  if (options.fields) spelled.set('fields', spellFields(options.fields, random));
  if (options.populate) spelled.set('populate', spellPopulate(options.populate, random, depth + 1));
  if (options.filter) spelled.set('filters', spellObject(options.filter, 'root', random));
  if (options.sort.length > 0) spelled.set('sort', spellSort(options.sort, random));
  if (options.state) spelled.set('publicationState', options.state);
  return new Map(random.shuffle([...spelled]));
};

// ---- filters

/** A condition on an entry: an object, or what stands for one inside a relation. */
const spellObject = (condition: Condition, place: 'root' | 'related', random: Random): TreeObject => {
  switch (condition.kind) {
    case 'all': {
      const members = condition.members.map((it) => spellObject(it, place, random));
      return merged(members, random) ?? new Map([['$and', members]]);
    }
    case 'any':
      return new Map([['$or', condition.members.map((it) => spellObject(it, place, random))]]);
    case 'not': {
      const { member } = condition;
      if (place === 'root' && member.kind === 'all' && random.chance(0.5))
        return new Map([['$not', member.members.map((it) => spellObject(it, place, random))]]);
      return new Map([['$not', spellObject(member, place, random)]]);
    }
    case 'scalar': {
      const spelled = spellTest(condition.test, random);
      if (place === 'related' && condition.name === 'id' && isObject(spelled) && random.chance(0.5)) return spelled;
      return new Map([[condition.name, spelled]]);
    }
    case 'related':
      return new Map([[condition.name, spellRelated(condition.member, random)]]);
  }
};

/** Inside a relation, a condition on the id alone may be a bare value. */
const spellRelated = (member: Condition, random: Random): Tree => {
  if (member.kind === 'scalar' && member.name === 'id' && random.chance(0.5)) return spellTest(member.test, random);
  return spellObject(member, 'related', random);
};

/** Several objects merged into one, if their keys differ. */
const merged = (members: readonly TreeObject[], random: Random): TreeObject | null => {
  const entries = members.flatMap((it) => [...it]);
  const keys = new Set(entries.map(([key]) => key));
  return keys.size === entries.length && random.chance(0.7) ? new Map(entries) : null;
};

const spellTest = (test: Test, random: Random): Tree => {
  switch (test.kind) {
    case 'all': {
      const members = test.members.map((it) => spellTest(it, random));
      const objects = members.filter(isObject);
      return (objects.length === members.length ? merged(objects, random) : null) ?? new Map([['$and', members]]);
    }
    case 'any':
      return new Map([['$or', test.members.map((it) => spellTest(it, random))]]);
    case 'not':
      return new Map([['$not', spellTest(test.member, random)]]);
    case 'null':
      return new Map([[test.operator, random.pick(test.flag ? ['true', 't', '1'] : ['false', 'f', '0'])]]);
    case 'compare': {
      const texts = test.terms.map((it) => it.text);
      if (texts.length === 0)
        return test.operator === '$eq' && random.chance(0.5) ? null : new Map([[test.operator, null]]);
      if (test.operator === '$eq' && texts.length === 1 && random.chance(0.5)) return texts[0]!;
      if (test.operator === '$in' && random.chance(0.3)) return texts;
      const isSingle = texts.length === 1 && (test.operator !== '$in' || random.chance(0.5));
      return new Map([[test.operator, isSingle ? texts[0]! : texts]]);
    }
  }
};

// ---- sort and pagination

const spellSort = (keys: readonly SortSpec[], random: Random): Tree => {
  const roll = random.below(10);
  if (roll < 2) return keys.map((it) => spellSortObject(it, random));
  const firsts = new Set(keys.map((it) => it.path[0]));
  // names of one object are in the order of their first occurrence
  if (roll < 4 && firsts.size === keys.length)
    return new Map(keys.flatMap((it) => [...(spellSortObject(it, random) as TreeObject)]));
  const texts = keys.map(({ path, direction }) => {
    const name = path.join('.');
    if (direction === 'asc' && random.chance(0.4)) return name;
    return `${name}:${random.chance(0.2) ? direction.toUpperCase() : direction}`;
  });
  return random.chance(0.4) ? texts.join(',') : oneOrMore(texts, random);
};

const spellSortObject = ({ path, direction }: SortSpec, random: Random): Tree =>
  path.reduceRight<Tree>(
    (inner, name) => new Map([[name, inner]]),
    random.chance(0.2) ? direction.toUpperCase() : direction,
  );

const spellPage = (page: NonNullable<Request['page']>): Tree => {
  const amounts =
    page.kind === 'page'
      ? ([
          ['page', page.page],
          ['pageSize', page.pageSize],
        ] as const)
      : ([
          ['start', page.start],
          ['limit', page.limit],
        ] as const);
  const spelled = new Map<string, Tree>();
  for (const [name, amount] of amounts) if (amount) spelled.set(name, amount.text);
  if (page.withCount !== null) spelled.set('withCount', page.withCount ? 'true' : '0');
  return spelled;
};
