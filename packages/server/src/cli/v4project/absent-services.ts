/** Services of v4's plugins and panel that a file uses and this server has not, or has without the member, however the file spells them. */
import escapeRegExp from 'lodash/escapeRegExp.js';
import { absentMethods, absentServices } from '../../v4code/plugins/absent.js';
import { absentMembers } from '../../v4code/strapi-utils/missing.js';
import type { CodeTexts } from './code-texts.js';

export interface Named {
  /** `strapi.plugin('upload').service('upload').replace` */
  readonly what: string;
  /** Of its place in the text. */
  readonly index: number;
}

export const absentServicesIn = ({ text, code }: CodeTexts): readonly Named[] => {
  const plain = plainly(text);
  // the calls are code, and what they are given is text
  const calls = spellings.flatMap((it) => [...plain.matchAll(it)].filter(({ index }) => code[index] === 's'));
  if (calls.length === 0) return [];
  const texts = { plain, code: plainly(code) };
  return calls.flatMap((it) => usesOf(serviceOf(it), it, texts));
};

interface Service {
  readonly owner: string;
  readonly name: string;
}

const serviceOf = ({ groups = {} }: RegExpExecArray): Service => ({
  owner: groups['plugin'] ?? groups['member'] ?? 'admin',
  name: groups['service'] ?? groups['key'] ?? '',
});

/** Of one file, with one way to name a member. */
interface Plain {
  /** Without comments. */
  readonly plain: string;
  /** Without texts too. */
  readonly code: string;
}

const usesOf = (service: Service, { 0: whole, index }: RegExpExecArray, texts: Plain): readonly Named[] => {
  const { owner, name } = service;
  const described = nameOf(service);
  const isAbsent =
    owner === 'admin' ? absentMembers['strapi.admin.services'].has(name) : absentServices[owner]?.includes(name);
  if (isAbsent) return [{ what: described, index }];
  const methods: Readonly<Record<string, readonly string[]>> = absentMethods;
  const absent = methods[`${owner}.${name}`];
  if (!absent) return [];
  return membersAt(texts, index, index + whole.length)
    .filter((it) => absent.includes(it.name))
    .map((it) => ({ what: `${described}.${it.name}`, index: it.index }));
};

const nameOf = ({ owner, name }: Service): string => {
  if (owner !== 'admin') return `strapi.plugin('${owner}').service('${name}')`;
  return `strapi.admin.services${/^\w+$/.test(name) ? `.${name}` : `['${name}']`}`;
};

interface Member {
  readonly name: string;
  readonly index: number;
}

/** What of an object the file names: behind it, taken out of it, or by the name that it gives to the object. */
const membersAt = ({ plain, code }: Plain, start: number, end: number): readonly Member[] => {
  const direct = /\s*\.\s*([\w$]+)(?!\s*=[^=>])/y;
  direct.lastIndex = end;
  const [, name] = direct.exec(plain) ?? [];
  if (name !== undefined) return [{ name, index: start }];
  const before = plain.slice(Math.max(0, start - DECLARATION_LENGTH), start);
  const [, list] = /\{([^{}]*)\}\s*=\s*$/.exec(before) ?? [];
  if (list !== undefined) return destructuredNames(list).map(({ member }) => ({ name: member, index: start }));
  const [, local] = /\b(?:const|let|var)\s+([\w$]+)\s*=\s*$/.exec(before) ?? [];
  if (local === undefined) return [];
  const uses = new RegExp(`(?<![\\w$.])${escapeRegExp(local)}\\s*\\.\\s*([\\w$]+)`, 'g');
  const [first, last] = code === plain ? [0, code.length] : blockAround(code, start);
  return [...code.slice(first, last).matchAll(uses)].map(({ 1: it = '', index }) => ({
    name: it,
    index: first + index,
  }));
};

/** Where the block begins and ends that the place is in. */
export const blockAround = (code: string, place: number): readonly [number, number] => {
  const edge = (step: 1 | -1, opening: string, closing: string): number => {
    let depth = 0;
    for (let at = place; at >= 0 && at < code.length; at += step) {
      if (code[at] === opening) depth += 1;
      if (code[at] === closing) depth -= 1;
      if (depth < 0) return at;
    }
    return step === 1 ? code.length : 0;
  };
  return [edge(-1, '}', '{'), edge(1, '{', '}')];
};

/** How far back from a service the beginning of its declaration is looked for. */
const DECLARATION_LENGTH = 400;

/** `a, b: c` or `a, b as c`: the members, what the file calls them, and where in the list they stand. The rest, `...d`, is no member. */
export const destructuredNames = (
  list: string,
): readonly { readonly member: string; readonly name: string; readonly at: number }[] =>
  [...list.matchAll(/(?<![\w$.])([\w$]+)(?:\s*(?::|\bas\b)\s*([\w$]+))?/g)].map(
    ({ 1: member = '', 2: name = member, index }) => ({
      member,
      name,
      at: index,
    }),
  );

/** With one way to name a member, and each character in its place: `strapi?.plugins['upload']` becomes `strapi .plugins.upload`. */
export const plainly = (text: string): string =>
  text
    .replaceAll(
      /\((\s*strapi)(\s+as\s+[\w.$]+\s*\))/g,
      (_all, name: string, type: string) => ` ${name}${' '.repeat(type.length)}`,
    )
    .replaceAll(/\?\.(?=\s*\[)/g, '  ')
    .replaceAll(/[?!]\./g, ' .')
    .replaceAll(/\[\s*['"`]([\w-]+)['"`]\s*\]/g, (it, name: string) => `.${name}`.padEnd(it.length));

const given = (form: string): string => String.raw`\s*(?:<[^<>()]*>\s*)?[([]\s*['"\x60]${form}['"\x60]\s*[)\]]`;
const plugin = String.raw`\.\s*(?:plugin${given('(?<plugin>[\\w-]+)')}|plugins\s*\.\s*(?<member>[\w-]+))`;
const service = String.raw`\.\s*(?:service${given('(?<service>[\\w-]+)')}|services\s*\.\s*(?<key>[\w-]+))`;

const spellings: readonly RegExp[] = [
  String.raw`${plugin}\s*${service}`,
  String.raw`\.\s*services?${given('(?:plugin::(?<plugin>[\\w-]+)\\.|admin::)(?<service>[\\w-]+)')}`,
  String.raw`\.\s*admin\s*\.\s*services\s*\.\s*(?<service>[\w-]+)`,
].map((it) => new RegExp(String.raw`(?<![\w$])strapi\s*${it}`, 'g'));
