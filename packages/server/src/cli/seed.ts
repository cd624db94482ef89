/**
 * The first data of a project: `database/seed/*.json`, written when a database is made. One file for each collection
 * (`{ key: attributes }`) or single type (`attributes`), named after its route, in the form of request bodies, except
 * that a relation or media value is the key, or keys, of seeds. `files.json` describes what lies in `public/uploads`,
 * `permissions.json` lists what each role may do.
 */
import fs from 'node:fs';
import path from 'node:path';
import { actionsOf } from '../access/actions.js';
import type { Action } from '../access/permissions.js';
import { isObject } from '../accounts/account.js';
import { catchRefusal, never, orNearest, sayIssue } from '../errors.js';
import { type EntryType, FILE_UID, type LinkAttribute, type Model } from '../model/model.js';
import type { ResolveContext } from '../query/resolve.js';
import type { WriteRequest, Writer } from '../write/apply.js';
import type { Session } from '../write/session.js';
import { StartFault } from './config.js';

type Data = Readonly<Record<string, unknown>>;

interface Seed {
  readonly type: EntryType;
  readonly key: string;
  readonly data: Data;
}

/** Actions that each role gets, by the role's type. Whatever would be lost in silence stops the start. */
export const readSeedPermissions = (
  projectDir: string,
  model: Model,
  roles: readonly string[],
): Readonly<Record<string, readonly Action[]>> => {
  const file = path.join(seedDir(projectDir), 'permissions.json');
  if (!fs.existsSync(file)) return {};
  const known = actionsOf(model);
  const fault = (place: string, text: string): StartFault => new StartFault(`${file}: ${place}${text}`);
  const json = readJson(file);
  if (!isObject(json)) throw fault('', 'expected an object of lists: { "public": ["api::article.article.find"] }');
  for (const [role, actions] of Object.entries(json)) {
    if (!roles.includes(role))
      throw fault(
        '',
        `there is no role "${role}" on first start${orNearest(role, roles) || `; roles: ${roles.join(', ')}`}`,
      );
    if (!Array.isArray(actions)) throw fault(role, ': expected a list of actions');
    for (const [place, action] of (actions as readonly unknown[]).entries()) {
      if (typeof action !== 'string') throw fault(`${role}[${place}]`, ': expected the name of an action');
      if (!known.includes(action))
        throw fault(`${role}[${place}]`, `: there is no action "${action}"${orNearest(action, known)}`);
    }
  }
  return json as Record<string, readonly Action[]>;
};

/** Writes all seeds in the session; gives their number. */
export const writeSeeds = async (
  projectDir: string,
  model: Model,
  writer: Writer,
  context: ResolveContext,
  session: Session,
): Promise<number> => {
  const seeds = readSeeds(projectDir, model);
  const keys = new Map<EntryType, Map<string, number>>();
  const later: { readonly seed: Seed; readonly id: number; readonly data: Data }[] = [];
  const write = async ({ type, key }: Seed, id: number | null, data: Data): Promise<number> => {
    const isNew = id === null && type.kind !== 'single';
    const request: WriteRequest = isNew ? { action: 'create', type, data } : { action: 'update', type, id, data };
    const written = await catchRefusal(() => writer.apply(request, context, session));
    if (written.ok) return written.value.id;
    throw new StartFault(`database/seed: ${type.plural}, "${key}": ${written.issues.map(sayIssue).join('; ')}`);
  };
  for (const seed of seeds) {
    const { now, missing } = withIds(seed.data, seed.type, model, keys, seeds, seed);
    const id = await write(seed, null, now);
    const known = keys.get(seed.type) ?? new Map<string, number>();
    known.set(seed.key, id);
    keys.set(seed.type, known);
    if (missing.length > 0)
      later.push({ seed, id, data: Object.fromEntries(missing.map((name) => [name, seed.data[name]])) });
  }
  // what pointed to seeds that came later
  for (const { seed, id, data } of later) await write(seed, id, withIds(data, seed.type, model, keys, seeds, seed).now);
  return seeds.length;
};

const seedDir = (projectDir: string): string => path.join(projectDir, 'database/seed');

const readJson = (file: string): unknown => {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch (fault) {
    throw new StartFault(`${file}: not valid JSON: ${(fault as Error).message}`);
  }
};

/** Files first, then every type in the order of the model. */
const readSeeds = (projectDir: string, model: Model): readonly Seed[] => {
  const types = [...model.types.values()].filter(
    (type) => type.uid === FILE_UID || (type.origin === 'project' && type.kind !== 'component'),
  );
  return types.flatMap((type): readonly Seed[] => {
    const file = path.join(seedDir(projectDir), `${type.kind === 'single' ? type.singular : type.plural}.json`);
    if (!fs.existsSync(file)) return [];
    const json = readJson(file) as Record<string, Data>;
    if (type.kind === 'single') return [{ type, key: type.singular, data: json }];
    const extra = type.uid === FILE_UID ? { folderPath: '/', provider: 'local' } : {};
    return Object.entries(json).map(([key, data]) => ({ type, key, data: { ...data, ...extra } }));
  });
};

type Keys = ReadonlyMap<EntryType, ReadonlyMap<string, number>>;

/**
 * The data with ids for keys, links to seeds that are not written yet left out, and the names of the attributes in which
 * some were.
 */
const withIds = (
  data: Data,
  type: EntryType,
  model: Model,
  keys: Keys,
  seeds: readonly Seed[],
  seed: Seed,
): { readonly now: Data; readonly missing: readonly string[] } => {
  const now: Record<string, unknown> = {};
  const missing: string[] = [];
  for (const [name, value] of Object.entries(data)) {
    const attribute = type.attributes.get(name);
    // the writer names unknown ones
    if (!attribute || value === null) {
      now[name] = value;
      continue;
    }
    switch (attribute.kind) {
      case 'scalar':
        now[name] = value;
        break;
      case 'link': {
        const { ids, isWhole } = linkIds(attribute, value, model, keys, seeds, seed);
        if (isWhole) now[name] = ids;
        else missing.push(name);
        break;
      }
      case 'part': {
        const items = (Array.isArray(value) ? value : [value]) as readonly Data[];
        const parts = items.map((item) => {
          const component = model.types.get(
            (item['__component'] as string | undefined) ?? attribute.components[0] ?? '',
          );
          return component ? withIds(item, component, model, keys, seeds, seed) : { now: item, missing: [] };
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

const linkIds = (
  attribute: LinkAttribute,
  value: unknown,
  model: Model,
  keys: Keys,
  seeds: readonly Seed[],
  seed: Seed,
): { readonly ids: readonly number[]; readonly isWhole: boolean } => {
  const target = model.types.get(attribute.target);
  const named = value === null ? [] : ((Array.isArray(value) ? value : [value]) as readonly string[]);
  const known = target && keys.get(target);
  const ids = named.map((key) => known?.get(key));
  const unknown = named.find((key) => !seeds.some((it) => it.type === target && it.key === key));
  if (unknown !== undefined)
    throw new StartFault(
      `database/seed: ${seed.type.plural}, "${seed.key}": ${attribute.name} names "${unknown}", and there is no such seed of ${attribute.target}`,
    );
  return { ids: ids.filter((id) => id !== undefined), isWhole: !ids.includes(undefined) };
};
