/** Webhooks as v4 stores them, in its table `strapi_webhooks`. */
import { sql } from 'kysely';
import { type Db, jsonIn, type ReadProgram, readInside, readRows, type Tx } from '../sql/dialect.js';
import { ensureOutbox, orphans } from './outbox.js';

export interface Webhook {
  readonly id: number;
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Names of events; v4's panel may have stored some that do not exist here. */
  readonly events: readonly string[];
  readonly enabled: boolean;
}

/** All of them, by id. */
export function* readWebhooks({ dialect }: Pick<Db, 'dialect'>): ReadProgram<readonly Webhook[]> {
  const rows = yield* readRows(
    dialect.compile(sql`select id, name, url, headers, events, enabled from strapi_webhooks order by id`),
  );
  return rows.map(([id, name, url, headers, events, enabled]) => ({
    id: id as number,
    name: String(name ?? ''),
    url: String(url ?? ''),
    headers: headersIn(jsonIn(headers)),
    events: eventsIn(jsonIn(events)),
    enabled: enabled === true || enabled === 1,
  }));
}

const headersIn = (tree: unknown): Webhook['headers'] =>
  tree === null || typeof tree !== 'object' || Array.isArray(tree)
    ? {}
    : Object.fromEntries(Object.entries(tree).map(([name, value]) => [name, String(value)]));

const eventsIn = (tree: unknown): readonly string[] =>
  Array.isArray(tree) ? tree.filter((it) => typeof it === 'string') : [];

export type NewWebhook = Omit<Webhook, 'id' | 'enabled'>;

/** Adds a webhook, enabled. Returns its id. */
export const addWebhook = async ({ name, url, headers, events }: NewWebhook, db: Db): Promise<number> => {
  await ensureOutbox(db);
  const { dialect } = db;
  const json = (value: unknown) => dialect.bind('json', JSON.stringify(value));
  const [[id] = []] = await db.write((tx) =>
    tx.run(
      dialect.compile(
        sql`insert into strapi_webhooks (name, url, headers, events, enabled) values (${name}, ${url}, ${json(headers)}, ${json(events)}, ${dialect.bind('boolean', true)}) returning id`,
      ),
    ),
  );
  return id as number;
};

/** Removes a webhook and its deliveries. False if there is none. */
export const removeWebhook = async (id: number, db: Db): Promise<boolean> => {
  await ensureOutbox(db);
  return db.write(async (tx) => {
    if (!(await hasWebhook(id, tx, db))) return false;
    await tx.run(db.dialect.compile(sql`delete from strapi_webhooks where id = ${db.dialect.bind('id', id)}`));
    await tx.run(orphans(db.dialect));
    return true;
  });
};

/** Those of a disabled webhook wait. False if there is none. */
export const enableWebhook = async (id: number, enabled: boolean, db: Db): Promise<boolean> => {
  if (enabled) await ensureOutbox(db);
  const { dialect } = db;
  return db.write(async (tx) => {
    if (!(await hasWebhook(id, tx, db))) return false;
    await tx.run(
      dialect.compile(
        sql`update strapi_webhooks set enabled = ${dialect.bind('boolean', enabled)} where id = ${dialect.bind('id', id)}`,
      ),
    );
    return true;
  });
};

const hasWebhook = async (id: number, tx: Tx, db: Db): Promise<boolean> =>
  (await readInside(readWebhooks(db), tx)).some((it) => it.id === id);

/** What stands before the host or behind the path may be a secret. */
export const urlWithoutSecrets = (url: string): string => url.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//');
