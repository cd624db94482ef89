/**
 * Sessions of administrators (AD4). A refresh token names its session and is valid once: using it gives the next one. The
 * database has only digests. Whoever uses an old one may have stolen it, or been robbed of it, so the session ends.
 */
import crypto from 'node:crypto';
import { sql } from 'kysely';
import type { AdminTokens } from '../access/admin-tokens.js';
import { isSame } from '../access/tokens.js';
import { limits } from '../limits.js';
import { sessionsTable } from '../model/storage.js';
import { type Db, readRows, type Sql, type Tx } from '../sql/dialect.js';
import { ensureTable, hasTable } from '../write/own-tables.js';
import { type AdminRow, findAdminsInside } from './rows.js';

const table = sql.table(sessionsTable.name);

export interface StartedSession {
  /** Names the session in access tokens. */
  readonly key: string;
  /** For the client alone. */
  readonly refreshToken: string;
  /** Milliseconds until it has to be used. */
  readonly msLeft: number;
}

export type Refreshed =
  | { readonly kind: 'rotated'; readonly admin: AdminRow; readonly session: StartedSession }
  /** Another request of the client has just got the next token. */
  | { readonly kind: 'overlapping'; readonly admin: AdminRow; readonly key: string }
  | { readonly kind: 'none' };

export interface Sessions {
  /** Makes the table, if it is missing. */
  ready(): Promise<void>;
  /** @param admin one with a password. */
  start(admin: AdminRow): Promise<StartedSession>;
  refresh(refreshToken: string): Promise<Refreshed>;
  /** Ends the session of a refresh token; false if there is none. */
  end(refreshToken: string): Promise<boolean>;
}

export interface SessionDeps {
  readonly db: Db;
  readonly tokens: AdminTokens;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
}

export const newSessions = ({ db, tokens, now }: SessionDeps): Sessions => {
  const { dialect } = db;
  const text = (value: string): Sql => dialect.bind('string', value);
  const time = (value: number): Sql => dialect.bind('bigint', String(value));
  let making: Promise<void> | null = null;

  const ready = (): Promise<void> => {
    making ??= ensureTable(sessionsTable, db).catch((fault: unknown) => {
      making = null;
      throw fault;
    });
    return making;
  };

  let isMade = false;
  /** Whether anybody has signed in yet: nobody makes the table by a request without a password or a valid token. */
  const exists = async (): Promise<boolean> => {
    isMade ||= await hasTable(sessionsTable, db);
    return isMade;
  };

  /** Found without a write, which others would wait for. */
  const isKnown = async (key: string): Promise<boolean> => {
    if (!(await exists())) return false;
    const query = sql`select 1 from ${table} where ${sql.ref('key')} = ${text(key)}`;
    return (await db.readSmall(() => readRows(dialect.compile(query)))).length > 0;
  };

  /** 256 bits of chance need no salt and no slow hash. */
  const digestOf = (secret: string): string => tokens.digest('refresh', secret).slice(0, 64);

  const endStatement = (key: string) =>
    dialect.compile(sql`delete from ${table} where ${sql.ref('key')} = ${text(key)}`);

  const newTokenFor = (key: string, endsAt: number) => {
    const secret = crypto.randomBytes(32).toString('base64url');
    const expiresAt = Math.min(now() + limits.adminSessionIdleMsMax, endsAt);
    return { secret, expiresAt, refreshToken: `${key}.${secret}`, msLeft: expiresAt - now() };
  };

  return {
    ready,
    start: async (admin) => {
      await ready();
      const key = crypto.randomBytes(16).toString('base64url');
      const startedAt = now();
      const { secret, expiresAt, refreshToken, msLeft } = newTokenFor(key, startedAt + limits.adminSessionMsMax);
      const id = dialect.bind('integer', admin.id);
      const stamp = tokens.stampOf(admin.id, admin.password ?? '');
      await db.write(async (tx) => {
        await tx.run(
          dialect.compile(
            sql`insert into ${table} (${sql.ref('key')}, admin_id, secret, stamp, created_at, rotated_at, expires_at) values (${text(key)}, ${id}, ${text(digestOf(secret))}, ${text(stamp)}, ${time(startedAt)}, ${time(startedAt)}, ${time(expiresAt)})`,
          ),
        );
        const newest = sql`select id from ${table} where admin_id = ${id} order by id desc limit ${sql.lit(limits.adminSessionsMax)}`;
        await tx.run(
          dialect.compile(
            sql`delete from ${table} where expires_at <= ${time(startedAt)} or (admin_id = ${id} and id not in (${newest}))`,
          ),
        );
      });
      return { key, refreshToken, msLeft };
    },
    refresh: async (refreshToken) => {
      const given = parse(refreshToken);
      if (!given || !(await isKnown(given.key))) return { kind: 'none' };
      return db.write(async (tx): Promise<Refreshed> => {
        const { key } = given;
        const [row] = await tx.run(
          dialect.compile(
            sql`select admin_id, secret, former, stamp, created_at, rotated_at, expires_at from ${table} where ${sql.ref('key')} = ${text(key)}${dialect.forUpdate}`,
          ),
        );
        if (!row) return { kind: 'none' };
        const [adminId, secret, former, stamp, createdAt, rotatedAt, expiresAt] = row as readonly [
          number,
          string,
          string | null,
          string,
          ...unknown[],
        ];
        const ended = async (): Promise<Refreshed> => {
          await tx.run(endStatement(key));
          return { kind: 'none' };
        };
        const [admin] = await findAdminsInside(tx, { by: 'id', id: adminId }, dialect);
        if (Number(expiresAt) <= now() || !admin?.maySignIn || admin.password === null) return ended();
        if (!tokens.isCurrent(stamp, admin.id, admin.password)) return ended();
        const digest = digestOf(given.secret);
        if (!isSame(digest, secret)) {
          const isOverlapping =
            former !== null && isSame(digest, former) && now() - Number(rotatedAt) <= limits.refreshOverlapMsMax;
          return isOverlapping ? { kind: 'overlapping', admin, key } : ended();
        }
        const next = newTokenFor(key, Number(createdAt) + limits.adminSessionMsMax);
        await tx.run(
          dialect.compile(
            sql`update ${table} set former = secret, secret = ${text(digestOf(next.secret))}, rotated_at = ${time(now())}, expires_at = ${time(next.expiresAt)} where ${sql.ref('key')} = ${text(key)}`,
          ),
        );
        return { kind: 'rotated', admin, session: { key, refreshToken: next.refreshToken, msLeft: next.msLeft } };
      });
    },
    end: async (refreshToken) => {
      const given = parse(refreshToken);
      if (!given || !(await isKnown(given.key))) return false;
      return db.write(async (tx) => {
        const [row] = await tx.run(
          dialect.compile(
            sql`select secret, former from ${table} where ${sql.ref('key')} = ${text(given.key)}${dialect.forUpdate}`,
          ),
        );
        const digests = (row ?? []).filter((it): it is string => typeof it === 'string');
        const digest = digestOf(given.secret);
        const isIts = digests.some((it) => isSame(it, digest));
        if (isIts) await tx.run(endStatement(given.key));
        return isIts;
      });
    },
  };
};

const parse = (refreshToken: string): { readonly key: string; readonly secret: string } | null => {
  const [, key, secret] = /^([\w-]{22})\.([\w-]{43})$/.exec(refreshToken) ?? [];
  return key === undefined || secret === undefined ? null : { key, secret };
};

/** Ends all sessions of an administrator: a blocked one is out at once. The table must be there (`hasSessions`). */
export const endSessionsOf = async (adminId: number, tx: Tx, db: Db): Promise<void> => {
  await tx.run(db.dialect.compile(sql`delete from ${table} where admin_id = ${db.dialect.bind('integer', adminId)}`));
};

/** Ends the other sessions of an administrator who has just got another password. @param stamp of that password. */
export const keepOnlySession = async (
  key: string,
  stamp: string,
  adminId: number,
  tx: Tx,
  { dialect }: Db,
): Promise<void> => {
  const bound = { key: dialect.bind('string', key), id: dialect.bind('integer', adminId) };
  const own = sql`admin_id = ${bound.id} and ${sql.ref('key')}`;
  await tx.run(dialect.compile(sql`delete from ${table} where ${own} <> ${bound.key}`));
  await tx.run(
    dialect.compile(sql`update ${table} set stamp = ${dialect.bind('string', stamp)} where ${own} = ${bound.key}`),
  );
};

/** Whether anybody has ever signed in. */
export const hasSessions = (db: Db): Promise<boolean> => hasTable(sessionsTable, db);
