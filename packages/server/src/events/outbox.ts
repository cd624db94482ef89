/**
 * Deliveries that are not done yet: rows that the transaction of a write inserts, and that leave the table once the receiver has
 * taken them. A process claims rows for a while; what a process that dies has claimed is due again when that is over.
 * Deliveries about one entry reach a webhook in order: a row waits for earlier ones of the same subject.
 */
import { sql } from 'kysely';
import { limits } from '../limits.js';
import { deliveriesTable } from '../model/storage.js';
import {
  type Db,
  type Dialect,
  type ReadProgram,
  type Rows,
  readRows,
  type Sql,
  type Statement,
  type Tx,
  withValues,
} from '../sql/dialect.js';
import { keptStatement } from '../sql/kept.js';
import { catalogProgram } from '../sql/schema.js';
import { ensureTable } from '../write/own-tables.js';

const table = sql.table(deliveriesTable.name);

export interface NewDelivery {
  readonly webhookId: number;
  /** What it is about; deliveries with the same subject are sent one after the other. */
  readonly subject: string;
  /** A UUID, the same for each attempt. */
  readonly message: string;
  readonly event: string;
  /** JSON. */
  readonly body: string;
}

/** A delivery that this process may send. */
export interface Claimed extends NewDelivery {
  readonly id: number;
  /** This one included. */
  readonly attempt: number;
}

/** What came of an attempt: times in milliseconds since 1970 UTC. */
export type Outcome =
  | { readonly kind: 'delivered'; readonly delivery: Claimed }
  | (Failure & { readonly kind: 'again'; readonly dueAt: number })
  | (Failure & { readonly kind: 'given up' });

interface Failure {
  readonly delivery: Claimed;
  /** The status of the response; null without one. */
  readonly status: number | null;
  readonly fault: string;
}

// ---- the table

/** Creates the table if it is missing. */
export const ensureOutbox = (db: Db): Promise<void> => ensureTable(deliveriesTable, db);

// ---- writing

/** Inserts deliveries that are due at once. @param now milliseconds since 1970 UTC. */
export const insertDeliveries = async (
  deliveries: readonly NewDelivery[],
  now: number,
  tx: Tx,
  dialect: Dialect,
): Promise<void> => {
  const rows = deliveries.map(({ webhookId, subject, message, event, body }) => ({
    table: deliveriesTable.name,
    cells: [
      { column: 'webhook_id', kind: 'integer', value: webhookId },
      { column: 'subject', kind: 'string', value: subject },
      { column: 'message', kind: 'string', value: message },
      { column: 'event', kind: 'string', value: event },
      { column: 'body', kind: 'text', value: body },
      { column: 'created_at', kind: 'bigint', value: String(now) },
      { column: 'due_at', kind: 'bigint', value: String(now) },
      { column: 'attempts', kind: 'integer', value: 0 },
    ] as const,
  }));
  await tx.runAll(dialect.insertRows(rows));
};

// ---- sending

/** Webhooks with deliveries that are due. */
export function* dueWebhooks(now: number, dialect: Dialect): ReadProgram<ReadonlySet<number>> {
  const statement = keptStatement(
    dialect,
    'outbox due',
    () =>
      sql`select w.id from strapi_webhooks w where exists (select 1 from ${table} d where d.webhook_id = w.id and d.due_at <= ${dialect.bindSlot('bigint', 0)})`,
  );
  const rows = yield* readRows(withValues(statement, [String(now)], dialect));
  return new Set(rows.map(([id]) => id as number));
}

/** Claims deliveries of a webhook for `limits.webhookLeaseMs`. */
export const claim = async (
  webhookId: number,
  count: number,
  now: number,
  tx: Tx,
  dialect: Dialect,
): Promise<readonly Claimed[]> => {
  const statement = keptStatement(dialect, 'outbox claim', () => {
    const webhook = dialect.bindSlot('integer', 0);
    const at = dialect.bindSlot('bigint', 1);
    // locks the rows that it returns, and no others
    const first = sql`select d.id from ${table} d where d.webhook_id = ${webhook} and d.due_at <= ${at} and not exists (select 1 from ${earlier}) order by d.due_at, d.id limit ${dialect.bindSlot('integer', 3)}${dialect.skipLocked}`;
    return sql`update ${table} set due_at = ${dialect.bindSlot('bigint', 2)}, attempted_at = ${at}, attempts = attempts + 1 where id in (${first}) returning id, webhook_id, subject, message, event, body, attempts`;
  });
  const lease = now + limits.webhookLeaseMs;
  const rows = await tx.run(withValues(statement, [webhookId, String(now), String(lease), count], dialect));
  if (rows.length === 0) await tx.run(postpone(webhookId, now, dialect));
  return rows
    .map(
      ([id, webhook, subject, message, event, body, attempt]): Claimed => ({
        id: id as number,
        webhookId: webhook as number,
        subject: String(subject),
        message: String(message),
        event: String(event),
        body: String(body),
        attempt: attempt as number,
      }),
    )
    .sort((a, b) => a.id - b.id);
};

/** Rows `e` for which a row `d` has to wait. */
const earlier: Sql = sql`${table} e where e.webhook_id = d.webhook_id and e.subject = d.subject and e.due_at is not null and e.id < d.id`;

/** Rows that are due and have to wait are due when the first of their subject is, so that they are in nobody's way; `settle` wakes them. */
const postpone = (webhookId: number, now: number, dialect: Dialect): Statement => {
  const statement = keptStatement(dialect, 'outbox postpone', () => {
    const latest = dialect.bindSlot('bigint', 2);
    const first = sql`select case when e.due_at < ${latest} then e.due_at else ${latest} end from ${earlier} order by e.id limit 1`;
    return sql`update ${table} as d set due_at = (${first}) where d.webhook_id = ${dialect.bindSlot('integer', 0)} and d.due_at <= ${dialect.bindSlot('bigint', 1)} and exists (select 1 from ${earlier})`;
  });
  return withValues(statement, [webhookId, String(now), String(now + POSTPONED_MS_MAX)], dialect);
};

/** If the first one ends while others are postponed, nobody wakes them. */
const POSTPONED_MS_MAX = 60_000;

/** Writes down what came of attempts; to be called before `claim`, also without any. */
export const settle = async (outcomes: readonly Outcome[], now: number, tx: Tx, dialect: Dialect): Promise<void> => {
  const { preferIndexes } = dialect;
  const statements = outcomes.flatMap((it) => settling(it, now, dialect));
  await tx.runAll(preferIndexes ? [preferIndexes, ...statements] : statements);
};

const settling = (outcome: Outcome, now: number, dialect: Dialect): readonly Statement[] => {
  const { id, webhookId, subject } = outcome.delivery;
  const kept = (what: string, query: () => Sql, values: Parameters<typeof withValues>[1]): Statement =>
    withValues(keptStatement(dialect, `outbox ${what}`, query), values, dialect);
  const next = kept('next', () => {
    const at = dialect.bindSlot('bigint', 2);
    const first = sql`select min(id) from ${table} where webhook_id = ${dialect.bindSlot('integer', 0)} and subject = ${dialect.bindSlot('string', 1)} and due_at is not null`;
    return sql`update ${table} set due_at = ${at} where id = (${first}) and due_at > ${at} and attempts = 0`;
  }, [webhookId, subject, String(now)]);
  if (outcome.kind === 'delivered')
    return [kept('done', () => sql`delete from ${table} where id = ${dialect.bindSlot('id', 0)}`, [id]), next];
  const { status, fault } = outcome;
  const dueAt = outcome.kind === 'again' ? String(outcome.dueAt) : null;
  const failed = kept(
    'failed',
    () =>
      sql`update ${table} set due_at = ${dialect.bindSlot('bigint', 1)}, status = ${dialect.bindSlot('integer', 2)}, fault = ${dialect.bindSlot('text', 3)} where id = ${dialect.bindSlot('id', 0)}`,
    [id, dueAt, status, fault],
  );
  return dueAt === null ? [failed, next] : [failed];
};

// ---- looking after them

/** A delivery as it is listed. Times in milliseconds since 1970 UTC. */
export interface ListedDelivery extends Omit<NewDelivery, 'body'> {
  readonly id: number;
  readonly createdAt: number;
  /** Null if it was given up. */
  readonly dueAt: number | null;
  readonly attempts: number;
  readonly attemptedAt: number | null;
  readonly status: number | null;
  readonly fault: string | null;
}

/** In the order of the events. @param webhookId null: of all. */
export function* readDeliveries(webhookId: number | null, dialect: Dialect): ReadProgram<readonly ListedDelivery[]> {
  const found = yield* catalogProgram(dialect);
  if (!found.tables.has(dialect.schema.storedName(deliveriesTable.name))) return [];
  const where = webhookId === null ? sql`` : sql` where webhook_id = ${dialect.bind('integer', webhookId)}`;
  const rows: Rows = yield* readRows(
    dialect.compile(
      sql`select id, webhook_id, subject, message, event, created_at, due_at, attempts, attempted_at, status, fault from ${table}${where} order by id`,
    ),
  );
  const numberOf = (value: unknown): number | null => (value === null ? null : Number(value));
  const textOf = (value: unknown): string | null => (value === null ? null : String(value));
  return rows.map(([id, webhook, subject, message, event, createdAt, dueAt, attempts, attemptedAt, status, fault]) => ({
    id: Number(id),
    webhookId: Number(webhook),
    subject: String(subject),
    message: String(message),
    event: String(event),
    createdAt: Number(createdAt),
    dueAt: numberOf(dueAt),
    attempts: Number(attempts),
    attemptedAt: numberOf(attemptedAt),
    status: numberOf(status),
    fault: textOf(fault),
  }));
}

export interface DeliveryCounts {
  /** Not done yet, and not given up. */
  readonly waiting: number;
  /** Given up. */
  readonly failed: number;
  /** The attempt that failed last; null without one. */
  readonly lastFailure: { readonly at: number; readonly event: string; readonly fault: string } | null;
}

/** Of each webhook that has any. */
export function* countDeliveries(dialect: Dialect): ReadProgram<ReadonlyMap<number, DeliveryCounts>> {
  const found = yield* catalogProgram(dialect);
  if (!found.tables.has(dialect.schema.storedName(deliveriesTable.name))) return new Map();
  const last = (column: string) =>
    sql`(select ${sql.ref(`f.${column}`)} from ${table} f where f.webhook_id = d.webhook_id and f.fault is not null order by f.attempted_at desc, f.id desc limit 1)`;
  const rows = yield* readRows(
    dialect.compile(
      sql`select d.webhook_id, count(d.due_at), count(*), ${last('attempted_at')}, ${last('event')}, ${last('fault')} from ${table} d group by d.webhook_id order by d.webhook_id`,
    ),
  );
  return new Map(
    rows.map(([webhook, waiting, all, at, event, fault]) => [
      Number(webhook),
      {
        waiting: Number(waiting),
        failed: Number(all) - Number(waiting),
        lastFailure: fault === null ? null : { at: Number(at), event: String(event), fault: String(fault) },
      },
    ]),
  );
}

/** Makes deliveries that were given up due, with all their attempts. @param ids null: all of them. Returns how many. */
export const retryDeliveries = async (ids: readonly number[] | null, now: number, db: Db): Promise<number> => {
  await ensureOutbox(db);
  const { dialect } = db;
  const which = ids === null ? sql`` : sql` and id in (${sql.join(ids.map((id) => dialect.bind('id', id)))})`;
  const rows = await db.write((tx) =>
    tx.run(
      dialect.compile(
        sql`update ${table} set due_at = ${dialect.bind('bigint', String(now))}, attempts = 0 where due_at is null${which} returning id`,
      ),
    ),
  );
  return rows.length;
};

/** Drops the deliveries of webhooks that were removed. */
export const forgetOrphans = async (db: Db): Promise<void> => {
  await db.write((tx) => tx.run(orphans(db.dialect)));
};

export const orphans = (dialect: Dialect): Statement =>
  dialect.compile(sql`delete from ${table} where webhook_id not in (select id from strapi_webhooks)`);
