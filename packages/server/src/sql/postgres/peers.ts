/**
 * Other Dovetail processes on the same database. Each announces with its commits which tables they touch, if it has heard
 * that another one listens. Without a connection to listen on, as behind a pooler, a process hears nothing, and takes
 * the commits of others for those of any client.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Client, Notification } from 'pg';
import { limits } from '../../limits.js';
import type { WriteKind, Writes } from '../changes.js';
import type { Statement } from '../dialect.js';
import { apart, type Connections } from './pool.js';

export interface Peers {
  /** Undefined if the transaction was not announced. */
  announced(id: number): { readonly writes: Writes } | undefined;
  /** Waits briefly for announcements of these transactions, if any can be expected. */
  hear(ids: readonly number[]): Promise<void>;
  forget(ids: readonly number[]): void;
  forgetAll(): void;
  /** A statement that announces a transaction when it commits; null if nobody listens. */
  announcement(ids: readonly string[], writes: Writes): Statement | null;
  close(): Promise<void>;
}

export const newPeers = ({ openApart }: Pick<Connections, 'openApart'>): Peers => {
  const me = randomUUID();
  /** When each process was last heard. */
  const heardAt = new Map<string, number>();
  const announced = new Map<number, { readonly writes: Writes }>();
  let waiting: { readonly missing: Set<number>; readonly done: () => void } | null = null;
  let client: Client | null = null;
  let opening: Promise<void> | null = null;
  let mayOpenAt = Number.NEGATIVE_INFINITY;
  let greetedAt = Number.NEGATIVE_INFINITY;
  /** Greetings that this connection has sent but not yet heard itself. */
  let greetings = 0;
  const closing = new AbortController();

  const areNear = (): boolean => {
    const since = performance.now() - limits.peerMsMax;
    for (const [peer, at] of heardAt) if (at < since) heardAt.delete(peer);
    return heardAt.size > 0;
  };

  const lose = (lost: Client): void => {
    if (client === lost) client = null;
    // closing a connection that is already closed does nothing
    lost.end().catch(() => undefined);
  };

  /** Tells the others that this process listens, and the id of the transaction that does so. */
  const greet = (): void => {
    const to = client;
    if (!to) return;
    greetedAt = performance.now();
    greetings += 1;
    to.query(apart(greeting, [CHANNEL, me])).catch(() => lose(to));
  };
  /** So that it is not forgotten. */
  const greetAgain = (): void => {
    if (performance.now() - greetedAt > limits.peerMsMax / 2) greet();
  };

  const listen = (): void => {
    if (client || opening || closing.signal.aborted || performance.now() < mayOpenAt) return;
    mayOpenAt = performance.now() + limits.listenPauseMs;
    opening = (async () => {
      const opened = await openApart(closing.signal, true);
      if (!opened) {
        mayOpenAt = performance.now() + limits.fewerConnectionsMs;
        return;
      }
      opened.on('error', () => lose(opened));
      opened.on('end', () => lose(opened));
      opened.on('notification', onNotification);
      await opened.query(apart(`listen ${CHANNEL}`));
      if (closing.signal.aborted) return lose(opened);
      client = opened;
      greetings = 0;
      greet();
    })()
      // another attempt follows
      .catch(() => undefined)
      .finally(() => {
        opening = null;
      });
  };

  const onNotification = ({ payload = '' }: Notification): void => {
    const message = readMessage(payload);
    if (!message) return;
    const { from, ids, writes } = message;
    // own writes are known without, but not the transaction of a greeting
    if (from === me && writes?.size !== 0) return;
    for (const id of ids) {
      if (announced.size >= limits.transactionsMax) announced.clear();
      announced.set(id, { writes });
      waiting?.missing.delete(id);
    }
    if (waiting?.missing.size === 0) waiting.done();
    if (from === me) {
      greetings -= 1;
      return;
    }
    const isNew = !heardAt.has(from);
    heardAt.set(from, performance.now());
    if (isNew) greet();
    else greetAgain();
  };

  return {
    announced: (id) => announced.get(id),
    hear: async (ids) => {
      listen();
      greetAgain();
      if (!client || !(greetings > 0 || areNear())) return;
      const missing = new Set(ids.filter((id) => !announced.has(id)));
      if (missing.size === 0) return;
      const heard = new AbortController();
      waiting = { missing, done: () => heard.abort() };
      await setTimeout(limits.announcementMsMax, undefined, { signal: heard.signal }).catch(() => undefined);
      waiting = null;
    },
    forget: (ids) => {
      for (const id of ids) announced.delete(id);
    },
    forgetAll: () => announced.clear(),
    announcement: (ids, writes) => {
      listen();
      if (writes?.size === 0 || !areNear()) return null;
      const message = (told: Writes): string => JSON.stringify({ from: me, ids, writes: told && [...told] });
      const whole = message(writes);
      const text = Buffer.byteLength(whole) < PAYLOAD_BYTES_MAX ? whole : message(null);
      return { sql: notification, params: [CHANNEL, text], ids: [] };
    },
    close: async () => {
      closing.abort();
      await opening;
      // a server that is gone does not answer
      await Promise.race([client?.end(), setTimeout(limits.closeMsMax, undefined, { ref: false })]);
    },
  };
};

const CHANNEL = 'dovetail';
/** PostgreSQL accepts less than 8,000. */
const PAYLOAD_BYTES_MAX = 7_900;

const notification = 'select pg_notify($1, $2)';

const greeting = `select pg_notify($1, json_build_object('from', $2::text, 'ids', json_build_array(pg_current_xact_id()::text), 'writes', '[]'::json)::text)`;

interface Message {
  readonly from: string;
  readonly ids: readonly number[];
  readonly writes: Writes;
}

/** Null for what no Dovetail of this version sends. */
const readMessage = (payload: string): Message | null => {
  try {
    const { from, ids, writes } = JSON.parse(payload) as {
      readonly from: unknown;
      readonly ids: unknown;
      readonly writes: unknown;
    };
    if (typeof from !== 'string' || !Array.isArray(ids) || !(writes === null || Array.isArray(writes))) return null;
    return {
      from,
      ids: ids.map(Number),
      writes: writes && new Map(writes as readonly (readonly [string, WriteKind])[]),
    };
  } catch {
    return null;
  }
};
