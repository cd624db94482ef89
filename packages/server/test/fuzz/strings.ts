/** Query strings: valid, nearly valid, and hostile. */
import type { Random } from '../oracle/random.js';
import { anyRequest } from '../oracle/request.js';
import {
  type AttributeSpec,
  attributesOf,
  FILES,
  isVisible,
  type ProjectSpec,
  shownByMorphs,
  type TypeSpec,
} from '../oracle/schema.js';
import { spell } from '../oracle/spelling.js';
import type { World } from '../oracle/world.js';

/** Longer URLs are refused unread (`limits.urlBytesMax`). */
const charactersMax = 16_000;

export interface Asked {
  readonly uid: string;
  readonly action: 'find' | 'findOne' | 'single';
  readonly id: number | null;
  readonly search: string;
}

export const anyAsked = (project: ProjectSpec, world: World, random: Random): Asked => {
  const { uid, action, id, ...rest } = anyRequest(project, world, random);
  const valid = spell({ uid, action, id, ...rest });
  const type = project.types.get(uid)!;
  const roll = random.below(100);
  const search =
    roll < 12
      ? valid
      : roll < 56
        ? mutate(valid, type, random)
        : roll < 88
          ? hostile(type, random)
          : roll < 94
            ? costly(type, project, random)
            : noise(random);
  // a URL cannot contain a lone surrogate, only its percent-encoded bytes
  return { uid, action, id, search: search.slice(0, charactersMax).replace(/\p{Surrogate}/gu, '%ED%A0%80') };
};

export const operators: readonly string[] = [
  '$eq',
  '$eqi',
  '$ne',
  '$nei',
  '$in',
  '$notIn',
  '$lt',
  '$gte',
  '$between',
  '$contains',
  '$notContainsi',
  '$startsWith',
  '$endsWithi',
  '$null',
  '$notNull',
  '$not',
  '$and',
  '$or',
  '$EQ',
  '$jsonSupersetOf',
  '$where',
  '$',
];
const keys = [
  ...operators,
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '__component',
  '__type',
  'id',
  '*',
  'on',
  'fields',
  'populate',
  'filters',
  'sort',
  'count',
  'limit',
  'start',
  'page',
  'pagination',
  'publicationState',
  'createdBy',
  'localizations',
  'related',
  'folder',
  '0',
  '1',
  '99999999999999999999',
  '4294967295',
  '-1',
  '1e3',
  '',
  ' ',
  '.',
  'a.b',
  ',',
  '%00',
  '%',
  "' or 1=1 --",
  '"; drop table files; --',
  '\u{1F600}',
  '\uD800',
  '%ED%A0%80',
  'A'.repeat(300),
];
/** Texts that are unusual for some type. */
export const values: readonly string[] = [
  '',
  'true',
  'false',
  '0',
  '1',
  '-1',
  'null',
  'undefined',
  'NaN',
  'Infinity',
  '-Infinity',
  '1e400',
  '-0',
  '0x1f',
  '1_000',
  '9007199254740993',
  '99999999999999999999',
  '-9223372036854775809',
  '2147483648',
  '1.5',
  '.5',
  '5.',
  '1e-400',
  '5e-324',
  '-1.7976931348623157e308',
  '2024-02-30',
  '2024-02-29',
  '0000-01-01',
  '-000001-01-01T00:00:00Z',
  '+275760-09-13T00:00:00.001Z',
  '8640000000000001',
  '-8640000000000000',
  '8640000000000000',
  '-000000',
  '24:00:00',
  '23:59:60',
  '10:00',
  '10:00:00.1234567890',
  '2024-02-29T25:00:00Z',
  '2024-02-29T10:00:00+99:99',
  '2024',
  '294276-12-31T23:59:59.999Z',
  '4713-01-01 BC',
  'live',
  'preview',
  'asc',
  'desc',
  'a:up',
  ':',
  ',',
  '.',
  '*',
  '%',
  '_',
  '\\',
  '%00',
  'a%00b',
  '%E0%A4%A',
  '%C0%80',
  '%ED%A0%80',
  '\uD800',
  '\uDFFFx',
  '[]',
  '{}',
  '{"a":1}',
  '[object Object]',
  "'",
  '"',
  '`',
  "'; drop table files; --",
  '#{7*7}',
  '%F0%9F%98%80',
  '%E2%80%AE',
  '\u{1F600}',
  'İstanbul',
  'ß',
  'ΟΔΟΣ',
  '%EF%BF%BF',
  '\uFFFF',
  'x'.repeat(5000),
  '%20',
  '+',
  '\t',
  '%0d%0a',
  '1,2,3',
  '0.1.2',
  '1'.repeat(400),
];
const parameters = ['fields', 'populate', 'filters', 'sort', 'pagination', 'publicationState', 'locale', '_q'];
const pieces = [
  '[',
  ']',
  '=',
  '&',
  '[]',
  '[0]',
  '[$or]',
  '[$not]',
  '%5B',
  '%5D',
  '%',
  '.',
  ',',
  ':',
  '*',
  '$',
  '+',
  '%00',
  '?',
  '#',
];

// ---- almost valid

const mutate = (valid: string, type: TypeSpec, random: Random): string => {
  let search = valid === '' ? `populate=*&sort=${anyName(type, random)}` : valid;
  for (let i = 0, count = random.between(1, 4); i < count; i++) search = mutateOnce(search, type, random);
  return search;
};

const mutateOnce = (search: string, type: TypeSpec, random: Random): string => {
  const at = random.below(search.length + 1);
  const end = Math.min(search.length, at + random.between(1, 12));
  switch (random.below(13)) {
    case 0:
      return search.slice(0, at) + search.slice(end);
    case 1:
      return search.slice(0, at) + search.slice(at, end).repeat(random.between(2, 4)) + search.slice(end);
    case 2:
      return search.slice(0, at) + random.pick(pieces) + search.slice(at);
    case 3:
      return search.slice(0, at);
    case 4:
      return `${search}&${search.slice(at)}`;
    case 5:
      return replaceOne(search, /\[[^\][]*\]/g, `[${random.pick([...keys, ...namesOf(type)])}]`, random);
    case 6:
      return replaceOne(search, /=[^&]*/g, `=${random.pick(values)}`, random);
    case 7:
      return replaceOne(search, /=[^&]*/g, '', random);
    case 8:
      return replaceOne(search, /%?24?\$[a-zA-Z]+/g, random.pick(operators), random);
    case 9:
      return replaceOne(
        search,
        /\[[^\][]*\]/g,
        `[${random.pick(keys)}][${random.pick([...keys, ...namesOf(type)])}]`,
        random,
      );
    case 10: {
      const pairs = search.split('&');
      const pair = random.pick(pairs);
      return [...pairs, ...Array.from({ length: random.between(1, 4) }, () => pair)].join('&');
    }
    case 11:
      return random.shuffle(search.split('&')).join('&');
    default:
      return replaceOne(search, /^[a-z_]+|(?<=&)[a-z_]+/gi, random.pick([...parameters, 'page', 'start', 'x']), random);
  }
};

const replaceOne = (text: string, pattern: RegExp, by: string, random: Random): string => {
  const found = [...text.matchAll(pattern)];
  if (found.length === 0) return text;
  const { index, 0: matched } = random.pick(found);
  return text.slice(0, index) + by + text.slice(index + matched.length);
};

const namesOf = (type: TypeSpec): readonly string[] => [...type.attributes.keys(), 'id'];
const anyName = (type: TypeSpec, random: Random): string => random.pick(namesOf(type));
const namesOfKind = (type: TypeSpec, kind: 'scalar' | 'link' | 'part' | 'morph'): readonly string[] => {
  const names = attributesOf(type)
    .filter((it) => it.kind === kind)
    .map((it) => it.name);
  return names.length > 0 ? names : ['nope'];
};

// ---- hostile

const hostile = (type: TypeSpec, random: Random): string => {
  const name = (): string => anyName(type, random);
  const scalar = (): string => random.pick(namesOfKind(type, 'scalar'));
  const link = (): string => random.pick(namesOfKind(type, 'link'));
  const part = (): string => random.pick(namesOfKind(type, 'part'));
  const morph = (): string => random.pick(namesOfKind(type, 'morph'));
  const key = (): string => random.pick([...keys, ...namesOf(type)]);
  const value = (): string => random.pick(values);
  const operator = (): string => random.pick(operators);
  const many = (most: number): number => (random.chance(0.8) ? random.between(1, 12) : random.between(1, most));
  const repeat = (count: number, make: (i: number) => string, glue = '&'): string =>
    Array.from({ length: count }, (_, i) => make(i)).join(glue);
  const templates: readonly (() => string)[] = [
    () => `filters[${key()}][${key()}]=${value()}`,
    () => `filters[${scalar()}][${operator()}]=${value()}`,
    () =>
      `filters[${scalar()}][${operator()}][${random.below(3)}]=${value()}&filters[${scalar()}][${operator()}]=${value()}`,
    () => `filters[${link()}][${key()}][${operator()}]=${value()}`,
    () => `filters[${link()}]=${value()}&filters[${link()}][id]=${value()}`,
    () => `filters${repeat(many(1500), () => '[$not]', '')}[${scalar()}]=${value()}`,
    () => `filters${repeat(many(900), () => `[${random.pick(['$or', '$and'])}][0]`, '')}[${scalar()}][$null]=true`,
    () => `filters${repeat(many(700), () => `[${link()}]`, '')}[id]=1`,
    () => repeat(many(400), (i) => `filters[$or][${i}][${name()}][${operator()}]=${value()}`),
    () => repeat(many(900), (i) => `filters[id][$in][${i}]=${i}`),
    () => repeat(many(1100), () => `filters[id][$notIn]=7`),
    () => `filters[${scalar()}][$in][${random.pick(['4294967295', '99999999999999999999', '100', '-1'])}]=${value()}`,
    () => `filters[${scalar()}][$between][0]=${value()}&filters[${scalar()}][$between][1]=${value()}`,
    () => `filters[${scalar()}][$eq][${key()}]=${value()}`,
    () => `filters[${part()}][${operator()}]=${value()}`,
    () => `filters=${value()}`,
    () => `filters[${random.below(3)}][${scalar()}]=x`,
    () => `filters${'['.repeat(many(5000))}`,
    () => `filters${']'.repeat(many(5000))}=x`,
    () => `filters${'[]'.repeat(many(5000))}=x`,
    () => `populate${'[populate]'.repeat(many(1400))}=*`,
    () => `populate${repeat(many(700), () => `[${link()}][populate]`, '')}=*`,
    () => `populate=${repeat(many(2000), () => link(), '.')}`,
    () => `populate=${repeat(many(300), () => `${link()}.${link()}.${part()}`, ',')}`,
    () => repeat(many(500), (i) => `populate[${i}]=${link()}.${link()}.${name()}`),
    () => `populate[${name()}][${key()}]=${value()}`,
    () => `populate[${name()}]=${value()}&populate[${name()}][fields]=${value()}`,
    () => `populate[${part()}][on][${key()}][${key()}]=${value()}`,
    () => `populate[${part()}][on]=${value()}`,
    () => `populate[${morph()}][on][${random.pick([FILES, type.uid, key()])}][${key()}]=${value()}`,
    () => `populate[${morph()}][${key()}]=${value()}`,
    () => `populate${repeat(many(40), () => `[${morph()}][populate]`, '')}=*`,
    () => `filters[${morph()}][${operator()}]=${value()}`,
    () => `populate[${link()}][filters][${key()}][${operator()}]=${value()}`,
    () => `populate[${link()}][sort]=${key()}:${value()}`,
    () => `populate[${link()}][pagination][page]=1`,
    () => `populate[0]=*&populate[1]=${link()}&populate[x]=${value()}`,
    () => `populate=${value()}`,
    () =>
      `fields${random.pick(['', '[]', '[0]', '[0][0]', '[a]', '[100]', '[4294967296]'])}=${random.pick([value(), key()])}`,
    () => repeat(many(1200), (i) => `fields[${i}]=${name()}`),
    () => `fields=${repeat(many(2000), () => 'id', ',')}`,
    () => `sort=${repeat(many(2000), () => name(), '.')}`,
    () => `sort=${repeat(many(800), () => `${link()}.${scalar()}:desc`, ',')}`,
    () => `sort${repeat(many(800), () => `[${link()}]`, '')}[${scalar()}]=asc`,
    () => `sort[${key()}]=${value()}&sort[0]=${key()}:${value()}`,
    () => `sort=${key()}:${value()}`,
    () => `pagination[${random.pick(['page', 'pageSize', 'start', 'limit', 'withCount', key()])}]=${value()}`,
    () => `pagination[page]=${value()}&pagination[pageSize]=${value()}`,
    () => `pagination[start]=${value()}&pagination[limit]=${value()}`,
    () => `pagination=${value()}&page=${value()}&limit=1`,
    () => `publicationState=${value()}&locale=${value()}`,
    () => `publicationState[${key()}]=${value()}&locale[]=${value()}`,
    () => `locale[0]=${value()}&locale[${key()}]=${value()}&locale=${value()}`,
    () => `locale=${value()}&locale=all&filters[locale]=${value()}&filters[localizations][${key()}]=${value()}`,
    () => `_q=${value()}`,
    () => `_q[${key()}]=${value()}`,
    () => `${random.pick(parameters)}[__proto__][${key()}]=${value()}`,
    () => `__proto__[${random.pick(parameters)}]=${value()}&constructor[prototype][x]=1`,
    () => `${random.pick(parameters)}.${key()}=${value()}`,
    () => `${random.pick(parameters)}[${key()}`,
    () => `${random.pick(parameters)}%5b${key()}%5D=${value()}`,
    () => `filters[${scalar()}][$contains]=${'%25'.repeat(many(4000))}`,
    () => `filters[${scalar()}][$eqi]=${'x'.repeat(many(15_000))}`,
    () => repeat(many(1100), () => `x${random.below(9)}=1`),
    () => '&'.repeat(many(10_000)),
    () => repeat(random.between(2, 5), () => `${random.pick(parameters)}[${key()}][${key()}]=${value()}`),
  ];
  const search = random.pick(templates)();
  return random.chance(0.25) ? `${search}&${random.pick(templates)()}` : search;
};

// ---- valid, and as expensive as possible

const costly = (type: TypeSpec, project: ProjectSpec, random: Random): string => {
  const most = random.pick([3, 10, 30, 200, 1500]);
  const templates: readonly (() => string)[] = [
    () => `populate=${walk(type, most, project, random).names.join('.')}`,
    () => `populate[${walk(type, most, project, random).names.join('][populate][')}]=*`,
    () => `populate[${walk(type, Math.min(most, 200), project, random).names.join('][populate][')}][populate]=*`,
    () => many(random.between(2, 60), (i) => `populate[${i}]=${walk(type, 12, project, random).names.join('.')}`),
    () =>
      `populate[]=*&${many(random.between(2, 40), () => `populate[]=${walk(type, 30, project, random).names.join('.')}`)}`,
    () => `filters[${walk(type, Math.min(most, 46), project, random).names.join('][')}][id][$ne]=1`,
    () =>
      many(
        random.between(2, 190),
        (i) => `filters[$or][${i}][${walk(type, 3, project, random).names.join('][')}][id]=${i}`,
      ),
    () =>
      `filters[$not][${walk(type, 20, project, random).names.join('][$not][')}][$or][0]=1&filters[${walk(type, 9, project, random).names.join('][')}][$null]=true`,
    () => many(random.between(1, 20), (i) => `sort[${i}]=${walk(type, 9, project, random).names.join('.')}.id:desc`),
    () => many(random.between(100, 990), (i) => `filters[id][$notIn][]=${i * 7}`),
    () => {
      const { names, end } = walk(type, random.between(1, 6), project, random);
      const at = names.join('][populate][');
      const inner = walk(end, 4, project, random).names;
      return `populate[${at}][filters][${inner.join('][')}][id][$gt]=0&populate[${at}][sort]=${inner.join('.')}.id`;
    },
  ];
  return `${random.pick(templates)()}${random.chance(0.5) ? '&publicationState=preview' : ''}`;
};

const many = (count: number, make: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => make(i)).join('&');

/** Up to `most` existing steps through relations and components; at least one name, if there is one. */
const walk = (
  type: TypeSpec,
  most: number,
  project: ProjectSpec,
  random: Random,
): { readonly names: readonly string[]; readonly end: TypeSpec } => {
  const names: string[] = [];
  let end = type;
  for (let i = random.between(1, most); i > 0; i--) {
    const steps = attributesOf(end).filter(
      (it) => it.kind !== 'scalar' && isVisible(project, it) && !(it.kind === 'part' && it.shape === 'zone'),
    );
    if (steps.length === 0) break;
    const step = random.pick(steps);
    names.push(step.name);
    end = random.pick(targetsOf(step, project));
  }
  return { names: names.length > 0 ? names : ['id'], end };
};

const targetsOf = (step: AttributeSpec, project: ProjectSpec): readonly TypeSpec[] => {
  switch (step.kind) {
    case 'link':
      return [project.types.get(step.target)!];
    case 'part':
      return [project.types.get(step.components[0]!)!];
    case 'morph':
      return shownByMorphs(project);
    case 'scalar':
      return [];
  }
};

const noise = (random: Random): string => {
  const alphabet = [...'[]=&%$.,:*+?#0123abc \\/"\'', ...parameters, '\u{1F600}', '\uD800', '\u0000', '%00', '%ff'];
  return Array.from({ length: random.between(1, 60) }, () => random.pick(alphabet)).join('');
};

// ---- corpus

/**
 * A line of the corpus for one type: `{scalar}`, `{link}`, `{part}`, `{morph}` and `{component}` stand for names of that
 * type, in the order of its attributes, cyclically.
 */
export const fillLine = (line: string, type: TypeSpec): string => {
  const components = attributesOf(type).flatMap((it) => (it.kind === 'part' ? it.components : []));
  const lists: Readonly<Record<string, readonly string[]>> = {
    scalar: namesOfKind(type, 'scalar'),
    link: namesOfKind(type, 'link'),
    part: namesOfKind(type, 'part'),
    morph: namesOfKind(type, 'morph'),
    component: components.length > 0 ? components : ['nope.nope'],
  };
  const used = new Map<string, number>();
  return line.replace(/\{(scalar|link|part|morph|component)\}/g, (_, kind: string) => {
    const position = used.get(kind) ?? 0;
    used.set(kind, position + 1);
    return lists[kind]![position % lists[kind]!.length]!;
  });
};
