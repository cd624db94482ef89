/** The commands `webhook`. A running server follows them within a second. */
import crypto from 'node:crypto';
import { orNearest } from '../../errors.js';
import { eventNames } from '../../events/events.js';
import { type ListedDelivery, readDeliveries, retryDeliveries } from '../../events/outbox.js';
import { isBadPort, send } from '../../events/sender.js';
import { addWebhook, enableWebhook, readWebhooks, removeWebhook, type Webhook } from '../../events/webhooks.js';
import type { Db } from '../../sql/dialect.js';
import { countOf } from '../project.js';
import { StartFault, UsageFault } from '../start-fault.js';
import { withSite } from '../with-site.js';

export interface ListOptions {
  readonly project: string;
  readonly json: boolean;
}

/** Prints one line per webhook, or all as JSON. */
export const listWebhooksCommand = ({ project, json }: ListOptions): Promise<void> =>
  withDb(project, async (db) => {
    const deliveries = await db.read(() => readDeliveries(null, db.dialect));
    const webhooks = (await db.read(() => readWebhooks(db))).map((it) => {
      const own = deliveries.filter(({ webhookId }) => webhookId === it.id);
      const failed = own.filter(({ dueAt }) => dueAt === null).length;
      return { ...it, waiting: own.length - failed, failed };
    });
    if (json) return print(webhooks);
    if (webhooks.length === 0) process.stderr.write('There are no webhooks. Add one with webhook add.\n');
    for (const { id, enabled, waiting, failed, events, url, name } of webhooks)
      process.stdout.write(
        `${id}  ${enabled ? 'enabled' : 'disabled'}  ${waiting} waiting, ${failed} failed  ${events.join(',')}  ${url}  ${name}\n`,
      );
  });

export interface NewWebhookOptions {
  readonly project: string;
  readonly events: readonly string[];
  readonly header: readonly string[];
  readonly name?: string | undefined;
}

/** Adds a webhook and prints its id. */
export const addWebhookCommand = async (
  url: string,
  { project, events, header, name }: NewWebhookOptions,
): Promise<void> => {
  const host = hostOf(url);
  const named = events.flatMap((it) => it.split(',')).filter((it) => it !== '');
  for (const it of named)
    if (it !== 'all' && !eventNames.some((known) => known === it))
      throw new UsageFault(
        `--events: there is no event "${it}"${orNearest(it, eventNames)}; expected ${eventNames.join(', ')} or all`,
      );
  const wanted = named.includes('all') ? eventNames : [...new Set(named)];
  const headers = Object.fromEntries(header.map(headerOf));
  await withDb(project, async (db) => {
    const id = await addWebhook({ name: name ?? host, url, headers, events: wanted }, db);
    process.stdout.write(`${id}\n`);
    process.stderr.write(`webhook ${id} added: ${wanted.join(', ')} to ${url}\n`);
  });
};

const hostOf = (url: string): string => {
  if (URL.canParse(url)) {
    const { protocol, host, port, username, password } = new URL(url);
    if (username !== '' || password !== '') throw new UsageFault('The URL must not hold a password: use --header.');
    if (isBadPort(port))
      throw new UsageFault(
        `Nothing can be sent to "${url}": port ${port} belongs to another protocol, and fetch refuses it. Choose another port.`,
      );
    if (protocol === 'http:' || protocol === 'https:') return host;
  }
  throw new UsageFault(`"${url}" is not a URL that begins with http:// or https://.`);
};

const headerOf = (text: string): readonly [name: string, value: string] => {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\x20-\x7e]*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new UsageFault(`--header: "${text}" is not of the form 'Name: value'.`);
  return [name, value.trim()];
};

export const removeWebhookCommand = (project: string, id: number): Promise<void> =>
  withDb(project, async (db) => {
    if (!(await removeWebhook(id, db))) throw unknownWebhook(id);
    process.stderr.write(`webhook ${id} removed\n`);
  });

export const enableWebhookCommand = (project: string, id: number, enabled: boolean): Promise<void> =>
  withDb(project, async (db) => {
    if (!(await enableWebhook(id, enabled, db))) throw unknownWebhook(id);
    process.stderr.write(`webhook ${id} ${enabled ? 'enabled' : 'disabled'}\n`);
  });

/** Sends v4's test event; exit code 1 if it is not accepted. */
export const testWebhookCommand = (project: string, id: number): Promise<void> =>
  withSite(project, async ({ accountDeps: { db }, notifier }) => {
    const webhook = await webhookOf(id, db);
    const event = 'trigger-test';
    const body = JSON.stringify({ event, createdAt: new Date() });
    const message = { message: crypto.randomUUID(), event, body };
    const sent = await send(webhook, message, notifier.options, Date.now());
    if (!sent.ok) throw new StartFault(`${webhook.url}: ${sent.fault}`);
    process.stdout.write(`${webhook.url}: ${sent.status}\n`);
  });

/** Prints one line per delivery, or all as JSON. @param webhook null: of all. */
export const listDeliveriesCommand = ({
  project,
  webhook,
  json,
}: ListOptions & { readonly webhook: number | null }): Promise<void> =>
  withDb(project, async (db) => {
    if (webhook !== null) await webhookOf(webhook, db);
    const deliveries = (await db.read(() => readDeliveries(webhook, db.dialect))).map(timed);
    if (json) return print(deliveries);
    if (deliveries.length === 0) process.stderr.write('Nothing is waiting, and nothing was given up.\n');
    for (const { id, webhookId, event, subject, createdAt, dueAt, attempts, fault } of deliveries) {
      const state = dueAt === null ? 'given up' : `due ${dueAt}`;
      const after =
        attempts === 0 ? '' : `  after ${countOf(attempts, 'attempt')}${fault === null ? '' : `: ${fault}`}`;
      process.stdout.write(`${id}  webhook ${webhookId}  ${event}  ${subject}  ${createdAt}  ${state}${after}\n`);
    }
  });

const timed = (it: ListedDelivery) => ({
  ...it,
  createdAt: isoOf(it.createdAt),
  dueAt: isoOf(it.dueAt),
  attemptedAt: isoOf(it.attemptedAt),
});

const isoOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** @param ids null: all that were given up. */
export const retryDeliveriesCommand = (project: string, ids: readonly number[] | null): Promise<void> =>
  withDb(project, async (db) => {
    const count = await retryDeliveries(ids, Date.now(), db);
    if (ids !== null && count < new Set(ids).size)
      throw new StartFault(
        `Only ${count} of these were given up; the others are waiting, delivered, or unknown. See dovetail webhook deliveries.`,
      );
    process.stderr.write(`${count === 1 ? '1 delivery is' : `${count} deliveries are`} due again\n`);
  });

// ----

const withDb = (project: string, work: (db: Db) => Promise<void>): Promise<void> =>
  withSite(project, ({ accountDeps: { db } }) => work(db));

const webhookOf = async (id: number, db: Db): Promise<Webhook> => {
  const webhook = (await db.read(() => readWebhooks(db))).find((it) => it.id === id);
  if (!webhook) throw unknownWebhook(id);
  return webhook;
};

const unknownWebhook = (id: number): StartFault => new StartFault(`There is no webhook ${id}. See webhook list.`);

const print = (value: unknown): void => {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
};
