/** Counts what a v4 database holds: entries, components, files, users, roles, tokens. */
import fs from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import type { Model } from '../../model/model.js';
import { DEFAULT_LOCALE_KEY } from '../../read/locales.js';
import type { ContentFacts, MediaFacts, TypeFacts } from './report.js';
import type { Tables } from './tables.js';

/** @param model as the schema files say. */
export const readContents = async (dir: string, model: Model, tables: Tables): Promise<ContentFacts> => {
  const types: TypeFacts[] = [];
  const components: ContentFacts['components'][number][] = [];
  const zones: ContentFacts['zones'][number][] = [];
  for (const type of model.types.values()) {
    for (const attribute of type.attributes.values())
      if (attribute.kind === 'part' && attribute.shape === 'zone')
        zones.push({ type: type.uid, attribute: attribute.name, components: attribute.components });
    if (type.origin !== 'project') continue;
    const { uid, kind, table } = type;
    if (kind === 'component') {
      components.push({ uid, table, rows: await tables.size(table), usedBy: usersOf(uid, model) });
      continue;
    }
    const { draftAndPublish, localized } = type;
    const entries = await tables.size(table);
    const published =
      entries !== null && draftAndPublish && tables.has(table, 'published_at')
        ? await tables.count(sql`select count(*) from ${sql.table(table)} where published_at is not null`)
        : entries;
    types.push({
      uid,
      kind,
      table,
      draftAndPublish,
      localized,
      entries,
      published,
      drafts: entries === null || published === null ? null : entries - published,
      locales: localized && tables.has(table, 'locale') ? await countBy(table, 'locale', tables) : null,
    });
  }
  return {
    types,
    components,
    zones,
    media: await readMedia(dir, tables),
    locales: await readLocales(tables),
    users: (await tables.size('up_users')) ?? 0,
    admins: (await tables.size('admin_users')) ?? 0,
    roles: await readRoles(tables),
    tokens: await readTokens(tables),
    webhooks: (await tables.size('strapi_webhooks')) ?? 0,
  };
};

const usersOf = (uid: string, model: Model): readonly string[] =>
  [...model.types.values()].flatMap((type) =>
    [...type.attributes.values()].flatMap((it) =>
      it.kind === 'part' && it.components.includes(uid) ? [`${type.uid}.${it.name}`] : [],
    ),
  );

const countBy = async (table: string, column: string, tables: Tables): Promise<Record<string, number>> => {
  const name = sql.ref(column);
  const rows = await tables.rows(
    sql`select ${name}, count(*) from ${sql.table(table)} group by ${name} order by count(*) desc, ${name}`,
  );
  return Object.fromEntries(rows.map(([key, count]) => [String(key), Number(count)]));
};

/** Where v4 keeps uploads of the provider `local`, and where Dovetail serves them from. */
const UPLOADS = 'public/uploads';

const readMedia = async (dir: string, tables: Tables): Promise<MediaFacts> => {
  const folder = path.join(dir, UPLOADS);
  if (!tables.has('files', 'url', 'provider', 'size', 'formats'))
    return { files: 0, bytes: 0, providers: {}, folder, missing: { count: 0, example: null } };
  const onDisk = new Set(fs.existsSync(folder) ? fs.readdirSync(folder) : []);
  const local = await tables.rows(
    sql`select id, url, cast(formats as text) from files where provider = 'local' or provider is null order by id`,
  );
  const missing = local
    .flatMap(([, url, formats]) => [...new Set([String(url), ...urlsIn(formats)])])
    .filter((url) => url.startsWith('/uploads/') && !onDisk.has(decoded(url.slice('/uploads/'.length))));
  const kilobytes = await tables.rows(sql`select coalesce(sum(size), 0) from files`);
  return {
    files: (await tables.size('files')) ?? 0,
    bytes: Math.round(Number(kilobytes[0]?.[0] ?? 0) * 1000),
    providers: await countBy('files', 'provider', tables),
    folder,
    missing: { count: missing.length, example: missing[0] ?? null },
  };
};

const decoded = (name: string): string => {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
};

const urlsIn = (formats: unknown): readonly string[] => {
  try {
    const parsed = (typeof formats === 'string' ? JSON.parse(formats) : formats) as Record<string, { url?: unknown }>;
    return Object.values(parsed ?? {}).flatMap((it) => (typeof it?.url === 'string' ? [it.url] : []));
  } catch {
    return [];
  }
};

const readLocales = async (tables: Tables): Promise<ContentFacts['locales']> => {
  if (!tables.has('i18n_locale', 'code')) return null;
  const codes = await tables.rows(sql`select code from i18n_locale order by id`);
  const [[stored] = []] = tables.has('strapi_core_store_settings', 'key', 'value')
    ? await tables.rows(
        sql`select value from strapi_core_store_settings where ${sql.ref('key')} = ${DEFAULT_LOCALE_KEY} order by id limit 1`,
      )
    : [];
  const fallback = String(stored ?? 'en').replace(/^"|"$/g, '');
  return { default: fallback, codes: codes.map(([it]) => String(it)) };
};

const readRoles = async (tables: Tables): Promise<ContentFacts['roles']> => {
  if (!tables.has('up_roles', 'type', 'name') || !tables.has('up_permissions_role_links', 'role_id')) return [];
  const users = tables.has('up_users_role_links', 'role_id')
    ? sql`(select count(*) from up_users_role_links u where u.role_id = r.id)`
    : sql`0`;
  const rows = await tables.rows(
    sql`select r.type, r.name, ${users}, (select count(*) from up_permissions_role_links p where p.role_id = r.id) from up_roles r order by r.id`,
  );
  return rows.map(([type, name, count, actions]) => ({
    type: String(type),
    name: String(name),
    users: Number(count),
    actions: Number(actions),
  }));
};

/** Actions of the role public. */
export const readPublicActions = async (tables: Tables): Promise<ReadonlySet<string>> => {
  if (!tables.has('up_roles', 'type') || !tables.has('up_permissions_role_links', 'role_id', 'permission_id'))
    return new Set();
  const rows = await tables.rows(
    sql`select distinct p.action from up_permissions p join up_permissions_role_links l on l.permission_id = p.id join up_roles r on r.id = l.role_id where r.type = 'public'`,
  );
  return new Set(rows.map(([it]) => String(it)));
};

const readTokens = async (tables: Tables): Promise<ContentFacts['tokens']> => {
  if (!tables.has('strapi_api_tokens', 'name', 'type')) return [];
  const column = (name: string) => (tables.has('strapi_api_tokens', name) ? sql.ref(name) : sql`null`);
  const rows = await tables.rows(
    sql`select name, type, ${column('expires_at')}, ${column('last_used_at')} from strapi_api_tokens order by id`,
  );
  return rows.map(([name, type, expires, used]) => ({
    name: String(name),
    type: String(type),
    expires: instantOf(expires),
    lastUsed: instantOf(used),
  }));
};

/** SQLite has milliseconds, PostgreSQL's driver gives dates. */
export const instantOf = (value: unknown): string | null => {
  if (value === null || value === undefined) return null;
  const date = value instanceof Date ? value : new Date(typeof value === 'bigint' ? Number(value) : (value as string));
  return Number.isFinite(date.getTime()) ? date.toISOString() : null;
};
