/**
 * Seeds of a project: `database/seed/*.json`, written when a database is created. One file per collection
 * (`{ key: attributes }`) or single type (`attributes`), named after its route, in the form of request bodies, except
 * that a relation or media value is the key, or keys, of seeds. `files.json` describes the files in `public/uploads`,
 * `permissions.json` lists the actions of each role. All faults of the files are reported at once.
 */
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import pick from 'lodash/pick.js';
import { actionsOf } from '../access/actions.js';
import type { Action } from '../access/permissions.js';
import { catchRefusal, formatIssue, type Issue, never, orNearest } from '../errors.js';
import {
  type EntryType,
  FILE_UID,
  type LinkAttribute,
  type Model,
  type MorphAttribute,
  type Uid,
} from '../model/model.js';
import type { ResolveContext } from '../query/resolve.js';
import type { Writer } from '../write/apply.js';
import { isObject } from '../write/ids.js';
import type { WriteRequest } from '../write/request.js';
import { inPart, type Session } from '../write/session.js';
import { codeFault } from './locales.js';
import { StartFault } from './start-fault.js';

type Data = Readonly<Record<string, unknown>>;

export interface Seed {
  readonly type: EntryType;
  readonly key: string;
  readonly data: Data;
  /** Its location, for messages: `articles.json: "first"`. */
  readonly place: string;
  /** The key of the seed of which this one is a sibling in another locale. */
  readonly siblingOf: string | null;
}

export interface SeedFiles {
  /** Files first, then every type in the order of the model. */
  readonly seeds: readonly Seed[];
  /** Codes of the locales, the default first; null if the project lists none. */
  readonly locales: readonly string[] | null;
  /** Actions that each role gets, by the role's type. */
  readonly granted: Readonly<Record<string, readonly Action[]>>;
  /** Faults found before anything is written. The remaining seeds can be used. */
  readonly faults: readonly string[];
  /** Types with invalid seeds: an unknown key may be one of theirs. */
  readonly unread: ReadonlySet<EntryType>;
}

/** A seed as it was written. */
export interface WrittenSeed {
  readonly uid: Uid;
  readonly key: string;
  readonly id: number;
  /** Of what the file said. */
  readonly digest: string;
}

export const digestOf = ({ data }: Pick<Seed, 'data'>): string => crypto.hash('sha256', JSON.stringify(data), 'base64');

/** SHA-256 by file name. */
export type SeedDigests = Readonly<Record<string, string>>;

/**
 * @param roles types of the roles that a new database has.
 * @param ownActions those that routes of the project's code name.
 */
export const readSeedFiles = (
  projectDir: string,
  model: Model,
  roles: readonly string[],
  ownActions: readonly Action[] = [],
): SeedFiles => {
  const typeOf = new Map(
    [...model.types.values()]
      .filter((type) => type.uid === FILE_UID || (type.origin === 'project' && type.kind !== 'component'))
      .map((type) => [`${type.kind === 'single' ? type.singular : type.plural}.json`, type]),
  );
  const known = [...typeOf.keys(), LOCALES, PERMISSIONS];
  const faults: string[] = [];
  const found = new Map<string, unknown>();
  const unparsed = new Set<string>();
  for (const name of seedFileNames(projectDir)) {
    if (!known.includes(name)) {
      const names = orNearest(name, known) || `; a seed file is named after a route: ${known.join(', ')}`;
      faults.push(`${name}: there is no such type${names}`);
      continue;
    }
    try {
      found.set(name, JSON.parse(fs.readFileSync(path.join(seedDir(projectDir), name), 'utf8')));
    } catch (fault) {
      unparsed.add(name);
      faults.push(`${name}: not valid JSON: ${(fault as Error).message}`);
    }
  }
  const unread = new Set<EntryType>();
  const seeds = [...typeOf].flatMap(([name, type]) => {
    const before = faults.length;
    const seedsOfType = found.has(name) ? seedsIn(name, type, found.get(name), faults) : [];
    if (faults.length > before || unparsed.has(name)) unread.add(type);
    return seedsOfType;
  });
  const locales = found.has(LOCALES) ? readCodes(found.get(LOCALES), faults) : null;
  const actions = actionsOf(model, ownActions);
  const granted = found.has(PERMISSIONS) ? readGranted(found.get(PERMISSIONS), actions, roles, faults) : {};
  return { seeds, locales, granted, faults, unread };
};

/** Lets a later start detect changed files. */
export const digestSeeds = (projectDir: string): SeedDigests =>
  Object.fromEntries(
    seedFileNames(projectDir).map((name) => {
      const bytes = fs.readFileSync(path.join(seedDir(projectDir), name));
      return [name, crypto.createHash('sha256').update(bytes).digest('hex')];
    }),
  );

/** A message that lists changed, added and removed files; null if there are none. */
export const describeChangedSeeds = (now: SeedDigests, written: SeedDigests): string | null => {
  const names = [...new Set([...Object.keys(now), ...Object.keys(written)])].sort();
  const changed = names
    .filter((name) => now[name] !== written[name])
    .map((name) => `${name} (${!(name in written) ? 'new' : name in now ? 'changed' : 'removed'})`);
  if (changed.length === 0) return null;
  return `database/seed: seeds are written once, when the database is created, and these files have changed since: ${changed.join(', ')}. Make the same changes in the database through the API and the command "role", or start with an empty database`;
};

/**
 * Writes all seeds in the session. Throws one `StartFault` that lists every error, including
 * those of the files: valid seeds are written even then, so that values that the writer refuses are reported together
 * with the rest.
 * @param known seeds that were written before, to which the others may link.
 */
export const writeSeeds = async (
  { seeds, unread, faults: faultsOfFiles }: SeedFiles,
  model: Model,
  writer: Writer,
  context: ResolveContext,
  session: Session,
  known: readonly WrittenSeed[] = [],
): Promise<readonly WrittenSeed[]> => {
  // a set, because links to later seeds are resolved twice
  const faults = new Set(faultsOfFiles);
  const ids = new Map<EntryType, Map<string, number | null>>();
  const setId = (type: EntryType, key: string, id: number | null): void =>
    void ids.set(type, (ids.get(type) ?? new Map<string, number | null>()).set(key, id));
  for (const { uid, key, id } of known) {
    const type = model.types.get(uid);
    if (type) setId(type, key, id);
  }
  for (const { type, key } of seeds) setId(type, key, null);
  const resolve = (seed: Seed, data: Data): Resolved =>
    withIds(data, seed.type, { model, ids, unread, fault: (text) => faults.add(`${seed.place}: ${text}`) });
  const write = async (seed: Seed, id: number | null, data: Data): Promise<number | null> => {
    const request = requestFor(seed, id, data, ids);
    const written = await catchRefusal(() => inPart(session, () => writer.apply(request, context, session)));
    if (written.ok) return written.value.id;
    for (const issue of written.issues) faults.add(`${seed.place}: ${formatWithPath(issue)}`);
    return null;
  };
  let unlinked: readonly Unlinked[] = [];
  const isSibling = (it: Seed): boolean => it.siblingOf !== null;
  // siblings last: in lists of links they come after the entries, too
  for (const group of [seeds.filter((it) => !isSibling(it)), seeds.filter(isSibling)]) {
    const found = [...unlinked];
    for (const seed of group) {
      // the fault of the entry is reported already
      if (seed.siblingOf !== null && ids.get(seed.type)?.get(seed.siblingOf) === null) continue;
      const { now, missing } = resolve(seed, seed.data);
      const id = await write(seed, null, now);
      if (id === null) continue;
      setId(seed.type, seed.key, id);
      if (missing.length > 0) found.push({ seed, id, names: missing });
    }
    // links to seeds that came later
    const left: Unlinked[] = [];
    for (const { seed, id, names } of found) {
      const { now, missing } = resolve(seed, pick(seed.data, names));
      if (missing.length < names.length) await write(seed, id, now);
      if (missing.length > 0) left.push({ seed, id, names: missing });
    }
    unlinked = left;
  }
  if (faults.size > 0) throw new StartFault(formatFaults([...faults]));
  return seeds.map((seed) => {
    const { type, key } = seed;
    return { uid: type.uid, key, id: ids.get(type)?.get(key) ?? 0, digest: digestOf(seed) };
  });
};

/** A seed that was written without these attributes, because they link to seeds that were not. */
interface Unlinked {
  readonly seed: Seed;
  readonly id: number;
  readonly names: readonly string[];
}

const requestFor = ({ type, siblingOf }: Seed, id: number | null, data: Data, ids: Links['ids']): WriteRequest => {
  if (id === null && siblingOf !== null)
    return { action: 'create', type, data, source: { id: ids.get(type)?.get(siblingOf) ?? null } };
  const isNew = id === null && type.kind !== 'single';
  return isNew ? { action: 'create', type, data } : { action: 'update', type, id, data };
};

/** Some of v4's messages do not name the attribute. */
const formatWithPath = (issue: Issue): string => {
  const text = formatIssue(issue);
  return issue.path.length === 0 || text.includes(issue.path.at(-1)!) ? text : `${issue.path.join('.')}: ${text}`;
};

const formatFaults = (faults: readonly string[]): string =>
  `${faults.length === 1 ? 'The seeds have an error' : `The seeds have ${faults.length} errors`}, and nothing was written:${faults.map((it) => `\n  database/seed/${it}`).join('')}`;

// ---- files

const LOCALES = 'locales.json';
export const PERMISSIONS = 'permissions.json';

const seedDir = (projectDir: string): string => path.join(projectDir, 'database/seed');

const seedFileNames = (projectDir: string): readonly string[] => {
  const dir = seedDir(projectDir);
  if (!fs.existsSync(dir)) return [];
  return fs
    .readdirSync(dir, { withFileTypes: true })
    .filter((it) => !it.isDirectory() && it.name.endsWith('.json'))
    .map((it) => it.name)
    .sort();
};

const seedsIn = (name: string, type: EntryType, json: unknown, faults: string[]): readonly Seed[] => {
  const isSingle = type.kind === 'single';
  if (!isObject(json)) {
    faults.push(`${name}: expected an object${isSingle ? ' of attributes' : ': { "key": { attributes } }'}`);
    return [];
  }
  if (isSingle) return withSiblings({ type, key: type.singular, data: json, place: name, siblingOf: null }, faults);
  const extra = type.uid === FILE_UID ? { folderPath: '/', provider: 'local' } : {};
  return Object.entries(json).flatMap(([key, data]): readonly Seed[] => {
    const place = `${name}: ${JSON.stringify(key)}`;
    if (isObject(data)) return withSiblings({ type, key, data: { ...data, ...extra }, place, siblingOf: null }, faults);
    faults.push(`${place}: expected an object of attributes`);
    return [];
  });
};

/** An entry and its siblings, which are published like it unless they say otherwise. */
const withSiblings = (entry: Seed, faults: string[]): readonly Seed[] => {
  const { type, key } = entry;
  if (!('localizations' in entry.data) || (!type.localized && type.attributes.has('localizations'))) return [entry];
  const { localizations, ...data } = entry.data;
  if (!type.localized || !isObject(localizations)) {
    const what = type.localized ? 'expected an object: { "locale": { attributes } }' : `${type.uid} is not localized`;
    faults.push(`${entry.place}: localizations: ${what}`);
    return [{ ...entry, data }];
  }
  const published = type.draftAndPublish
    ? { publishedAt: data['publishedAt'] === undefined ? new Date().toISOString() : data['publishedAt'] }
    : {};
  const siblings = Object.entries(localizations).flatMap(([locale, own]): readonly Seed[] => {
    const place = `${entry.place}: localizations.${locale}`;
    if (isObject(own))
      return [{ type, key: `${key}/${locale}`, data: { ...published, ...own, locale }, place, siblingOf: key }];
    faults.push(`${place}: expected an object of attributes`);
    return [];
  });
  return [{ ...entry, data }, ...siblings];
};

/** Null if there is a fault. */
const readCodes = (json: unknown, faults: string[]): readonly string[] | null => {
  const codes: readonly unknown[] = Array.isArray(json) ? json : [];
  if (codes.length === 0 || !codes.every((it) => typeof it === 'string')) {
    faults.push(`${LOCALES}: expected a list of locales, the default first: ["en", "de"]`);
    return null;
  }
  const found = codes.flatMap((it) => codeFault(it) ?? []);
  faults.push(...found.map((it) => `${LOCALES}: ${it}`));
  return found.length === 0 ? [...new Set(codes)] : null;
};

const readGranted = (
  json: unknown,
  known: readonly Action[],
  roles: readonly string[],
  faults: string[],
): Readonly<Record<string, readonly Action[]>> => {
  const fault = (text: string): void => void faults.push(`${PERMISSIONS}: ${text}`);
  if (!isObject(json)) {
    fault('expected an object of lists: { "public": ["api::article.article.find"] }');
    return {};
  }
  for (const [role, actions] of Object.entries(json)) {
    if (!roles.includes(role))
      fault(`there is no role "${role}" on first start${orNearest(role, roles) || `; roles: ${roles.join(', ')}`}`);
    else if (!Array.isArray(actions)) fault(`${role}: expected a list of actions`);
    else
      for (const [i, action] of (actions as readonly unknown[]).entries()) {
        if (typeof action !== 'string') fault(`${role}[${i}]: expected the name of an action`);
        else if (!known.includes(action))
          fault(`${role}[${i}]: there is no action "${action}"${orNearest(action, known)}`);
      }
  }
  // not used if there is a fault
  return faults.length === 0 ? (json as Record<string, readonly Action[]>) : {};
};

// ---- links

interface Links {
  readonly model: Model;
  /** Ids by key; null for a seed that is not written yet, or was refused. */
  readonly ids: ReadonlyMap<EntryType, ReadonlyMap<string, number | null>>;
  readonly unread: ReadonlySet<EntryType>;
  fault(text: string): void;
}

interface Resolved {
  readonly now: Data;
  readonly missing: readonly string[];
}

/**
 * Replaces keys by ids. Links to seeds that are not written yet are left out; `missing` names the attributes concerned.
 */
const withIds = (data: Data, type: EntryType, links: Links): Resolved => {
  const now: Record<string, unknown> = {};
  const missing: string[] = [];
  for (const [name, value] of Object.entries(data)) {
    const attribute = type.attributes.get(name);
    // the writer reports unknown ones
    if (!attribute || value === null) {
      now[name] = value;
      continue;
    }
    switch (attribute.kind) {
      case 'scalar':
        now[name] = value;
        break;
      case 'link': {
        const { ids, isComplete } = seedIds(attribute, value, links);
        if (isComplete) now[name] = ids;
        else missing.push(name);
        break;
      }
      case 'morph': {
        const { targets, isComplete } = morphTargets(attribute, value, links);
        if (isComplete) now[name] = Array.isArray(value) ? targets : targets[0];
        else missing.push(name);
        break;
      }
      case 'part': {
        const items: readonly unknown[] = Array.isArray(value) ? value : [value];
        const parts = items.map((item, i) => {
          const at = Array.isArray(value) ? `${name}[${i}]` : name;
          const inside = { ...links, fault: (text: string) => links.fault(`${at}.${text}`) };
          const component = isObject(item) && links.model.types.get(componentOf(item, attribute.components));
          // the writer reports other faults
          return component ? withIds(item as Data, component, inside) : { now: item, missing: [] };
        });
        if (parts.some((part) => part.missing.length > 0)) missing.push(name);
        const whole = parts.map((part) => part.now);
        now[name] = Array.isArray(value) ? whole : whole[0];
        break;
      }
      default:
        never(attribute);
    }
  }
  return { now, missing };
};

const componentOf = (item: Data, components: readonly Uid[]): Uid =>
  typeof item['__component'] === 'string' ? item['__component'] : (components[0] ?? '');

/** Elements of polymorphic relations are `{ __type, id }`, with the key of a seed as id. */
const morphTargets = (
  { name }: MorphAttribute,
  value: unknown,
  links: Links,
): { readonly targets: readonly unknown[]; readonly isComplete: boolean } => {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  const found = items.map((item) => {
    // the writer reports other faults
    if (!isObject(item) || typeof item['__type'] !== 'string' || !links.model.types.has(item['__type']))
      return { target: item, isComplete: true };
    const { ids, isComplete } = seedIds({ name, target: item['__type'] }, item['id'], links);
    return { target: { ...item, id: ids[0] }, isComplete };
  });
  return { targets: found.map((it) => it.target), isComplete: found.every((it) => it.isComplete) };
};

const seedIds = (
  attribute: Pick<LinkAttribute, 'name' | 'target'>,
  value: unknown,
  { model, ids, unread, fault }: Links,
): { readonly ids: readonly number[]; readonly isComplete: boolean } => {
  const target = model.types.get(attribute.target);
  const known = (target && ids.get(target)) ?? new Map<string, number | null>();
  const named: readonly unknown[] = Array.isArray(value) ? value : [value];
  const found: number[] = [];
  let isComplete = true;
  for (const key of named) {
    const id = typeof key === 'string' ? known.get(key) : undefined;
    if (typeof key !== 'string') fault(`${attribute.name}: expected the key of a seed, or a list of keys`);
    else if (id === null || (id === undefined && target && unread.has(target))) isComplete = false;
    else if (id === undefined)
      fault(
        `${attribute.name} names "${key}", but ${attribute.target} has no such seed${orNearest(key, known.keys())}`,
      );
    else found.push(id);
  }
  return { ids: found, isComplete };
};
