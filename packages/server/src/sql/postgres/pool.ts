/** A bounded pool of connections to one PostgreSQL. */
import { Client, DatabaseError, Pool, type PoolClient } from 'pg';
import { limits } from '../../limits.js';
import { fixedStatement } from '../compile.js';
import type { DbLoad } from '../dialect.js';
import type { Address } from './address.js';
import { type Checked, type Connection, connectionOf, type Patience } from './connection.js';
import { faultOf, PostgresFault } from './faults.js';
import { newPreparedStatements } from './flight.js';
import { sessionSettings } from './settings.js';
import { serverColumn } from './states.js';

/**
 * Whether to use named prepared statements, which saves planning them each time. They do not work behind a pooler in
 * transaction mode; `auto` detects one.
 */
export type Prepared = 'auto' | 'always' | 'never';

export interface Connections {
  /** Acquires a connection; waits at most `limits.connectMsMax`. */
  acquire(patience: Patience): Promise<Connection>;
  /** Opens a connection apart from the pool, which the caller ends; null if there is a pooler in between. */
  openApart(signal: AbortSignal, isPipelined: boolean): Promise<Client | null>;
  /** What the server calls itself that the pool has last connected to; null if there is a pooler in between. */
  server(): string | null;
  load(): Omit<DbLoad, 'statements'>;
  /** New connections use the next of the address's hosts and TLS modes. */
  useNextHost(): void;
  /** Stops using named prepared statements in `auto` mode. */
  stopPreparing(): void;
  /** Waits for transactions in flight, at most `limits.closeMsMax`. */
  close(): Promise<void>;
}

export const openConnections = (
  { candidates, searchPath }: Address,
  prepared: Prepared,
  connectionsMax: number = limits.connectionsMax,
): Connections => {
  let candidate = candidates[0]!;
  let naming = prepared;
  const pool = new Pool({
    ...candidate,
    max: connectionsMax,
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: limits.connectMsMax,
    idleTimeoutMillis: 0,
    maxLifetimeSeconds: limits.connectionMsMax / 1000,
  });
  /** Connections that have been checked. */
  const ready = new Map<PoolClient, Checked>();
  const inUse = new Set<PoolClient>();
  let server: string | null = null;
  // an idle connection was closed: the pool has already removed it
  pool.on('error', () => undefined);
  // a connection in use was closed: its statements fail
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('remove', (client) => ready.delete(client));

  const useNextHost = (): void => {
    candidate = candidates[(candidates.indexOf(candidate) + 1) % candidates.length]!;
    Object.assign(pool.options, candidate);
  };

  /** The server refuses more connections: stops growing the pool for a while. False if there are none to fall back on. */
  const stopGrowing = (): boolean => {
    if (ready.size === 0) return false;
    pool.options.max = ready.size;
    const restore = (): void => {
      pool.options.max = connectionsMax;
    };
    setTimeout(restore, limits.fewerConnectionsMs).unref();
    return true;
  };

  const connect = async (): Promise<PoolClient> => {
    for (let tries = 1; ; tries++) {
      const used = candidate;
      const isFull = pool.idleCount === 0 && pool.totalCount >= pool.options.max;
      if (isFull && pool.waitingCount >= limits.connectionsWaitingMax) throw busy('too many requests wait for one');
      try {
        return await pool.connect();
      } catch (fault) {
        if (isFull) throw busy(`none was free for ${limits.connectMsMax} ms`);
        if (isTooManyConnections(fault) && stopGrowing()) continue;
        if (tries >= candidates.length) throw faultOf(fault);
        if (candidate === used) useNextHost();
      }
    }
  };

  /**
   * Finds out whether the backend is the one that the connection was opened to, so not behind a pooler, and then sets it up;
   * null if it does not respond.
   */
  const check = async (client: PoolClient): Promise<Checked | null> => {
    let isSilent = false;
    const connection = connectionOf(client, { prepared: null, isDirect: false }, 'total', () => undefined);
    const patience = setTimeout(
      () => {
        isSilent = true;
        client.connection.stream.destroy();
      },
      ready.size === 0 ? limits.silenceMsMax : limits.furtherConnectionMsMax,
    );
    try {
      const [[pid, name] = []] = await connection.send(processStatement);
      const isDirect = pid === (client as unknown as { readonly processID: number | null }).processID;
      server = isDirect ? String(name) : null;
      const isNamed = naming === 'auto' ? isDirect : naming === 'always';
      if (isDirect) await connection.command(sessionSettings(isNamed, searchPath));
      return { prepared: isNamed ? newPreparedStatements(client) : null, isDirect };
    } catch (fault) {
      if (isSilent && stopGrowing()) return null;
      throw fault;
    } finally {
      clearTimeout(patience);
      connection.release();
    }
  };

  /** A connection that has been checked, now or earlier. */
  const connectAndCheck = async (): Promise<PoolClient> => {
    for (;;) {
      const client = await connect();
      inUse.add(client);
      if (ready.has(client)) return client;
      try {
        const checked = await check(client);
        if (checked) {
          ready.set(client, checked);
          return client;
        }
      } catch (fault) {
        release(client, false);
        throw fault;
      }
      // a pooler accepted the connection but has no server for it
      release(client, false);
    }
  };

  const release = (client: PoolClient, isReusable: boolean): void => {
    inUse.delete(client);
    if (!isReusable) client.connection.stream.destroy();
    client.release(!isReusable);
  };

  return {
    acquire: async (patience) => {
      const client = await connectAndCheck();
      const { prepared, isDirect } = ready.get(client) ?? { prepared: null, isDirect: false };
      const checked = { prepared: naming === 'never' ? null : prepared, isDirect };
      return connectionOf(client, checked, patience, (isReusable) => release(client, isReusable));
    },
    openApart: async (signal, isPipelined) => {
      const client = new Client({
        ...candidate,
        connectionTimeoutMillis: limits.connectMsMax,
        keepAlive: true,
        pipeline: isPipelined,
      });
      // reported by the call that fails
      client.on('error', () => undefined);
      const destroy = (): void => {
        client.connection.stream.destroy();
      };
      signal.addEventListener('abort', destroy);
      try {
        await client.connect();
        const { rows } = await client.query<[number]>(apart('select pg_backend_pid()'));
        if (rows[0]?.[0] === (client as unknown as { readonly processID: number | null }).processID) return client;
        destroy();
        return null;
      } catch (fault) {
        destroy();
        throw fault;
      } finally {
        signal.removeEventListener('abort', destroy);
      }
    },
    server: () => server,
    load: () => ({ open: pool.totalCount, inUse: inUse.size, waiting: pool.waitingCount }),
    useNextHost,
    stopPreparing: () => {
      if (naming === 'auto') naming = 'never';
    },
    close: async () => {
      const deadline = setTimeout(() => {
        for (const client of inUse) client.connection.stream.destroy();
      }, limits.closeMsMax);
      await pool.end();
      clearTimeout(deadline);
    },
  };
};

/** A query on a connection apart from the pool, whose silence nobody watches. */
export const apart = (text: string, values: string[] = []) => ({
  text,
  values,
  rowMode: 'array' as const,
  query_timeout: limits.connectMsMax,
});

const processStatement = fixedStatement(`select pg_backend_pid(), ${serverColumn}`);

const busy = (why: string): PostgresFault => new PostgresFault('busy', new Error(`connections: ${why}`));

/** too_many_connections, and PgBouncer's equivalent. */
const isTooManyConnections = (fault: unknown): boolean =>
  fault instanceof DatabaseError && (fault.code === '53300' || fault.code === '08P01');
