/** A bounded pool of connections to one PostgreSQL. */
import { DatabaseError, Pool, type PoolClient } from 'pg';
import { limits } from '../../limits.js';
import { fixedStatement } from '../compile.js';
import type { Address } from './address.js';
import { type Connection, connectionOf, type Names, newNames, type Patience } from './connection.js';
import { faultOf, PostgresFault } from './faults.js';

/**
 * Whether statements are prepared by name, which saves planning them each time. Behind a pooler that gives every
 * transaction another server they cannot be; `auto` looks whether there is one.
 */
export type Prepared = 'auto' | 'always' | 'never';

export interface Connections {
  /** Waits for a connection, `limits.connectMsMax` at most. */
  take(patience: Patience): Promise<Connection>;
  /** Connections that are made from now on go to the next of the address's ways. */
  turnAway(): void;
  /** Statements are no longer prepared by name, unless that was asked for. */
  stopNaming(): void;
  /** Lets what is under way finish, `limits.closeMsMax` at most. */
  close(): Promise<void>;
}

export const openConnections = ({ ways }: Address, prepared: Prepared): Connections => {
  let way = ways[0]!;
  let naming = prepared;
  const pool = new Pool({
    ...way,
    max: limits.connectionsMax,
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: limits.connectMsMax,
    idleTimeoutMillis: 0,
    maxLifetimeSeconds: limits.connectionMsMax / 1000,
  });
  /** Connections that have served, and the names of their statements; null where none are prepared. */
  const served = new Map<PoolClient, Names | null>();
  const taken = new Set<PoolClient>();
  // an idle connection has ended: the pool has removed it
  pool.on('error', () => undefined);
  // one in use has: its statements tell
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('remove', (client) => served.delete(client));

  const turnAway = (): void => {
    way = ways[(ways.indexOf(way) + 1) % ways.length]!;
    Object.assign(pool.options, way);
  };

  /** The server has no more connections for this process: those that it has must do for a while. */
  const doWithFewer = (): boolean => {
    if (served.size === 0) return false;
    pool.options.max = served.size;
    const restore = (): void => {
      pool.options.max = limits.connectionsMax;
    };
    setTimeout(restore, limits.fewerConnectionsMs).unref();
    return true;
  };

  const connect = async (): Promise<PoolClient> => {
    for (let tries = 1; ; tries++) {
      const used = way;
      const isFull = pool.idleCount === 0 && pool.totalCount >= pool.options.max;
      if (isFull && pool.waitingCount >= limits.connectionsWaitingMax) throw busy('too many requests wait for one');
      try {
        return await pool.connect();
      } catch (fault) {
        if (isFull) throw busy(`none was free for ${limits.connectMsMax} ms`);
        if (isOfNumber(fault) && doWithFewer()) continue;
        if (tries >= ways.length) throw faultOf(fault);
        if (way === used) turnAway();
      }
    }
  };

  /** Whether the process at the other end is the one that the connection was opened to; null if it says nothing. */
  const isDirect = async (client: PoolClient): Promise<boolean | null> => {
    let isSilent = false;
    const connection = connectionOf(client, null, 'total', () => undefined);
    const patience = setTimeout(
      () => {
        isSilent = true;
        client.connection.stream.destroy();
      },
      served.size === 0 ? limits.silenceMsMax : limits.furtherConnectionMsMax,
    );
    try {
      const [[pid] = []] = await connection.send(processStatement);
      return pid === (client as unknown as { readonly processID: number | null }).processID;
    } catch (fault) {
      if (isSilent && doWithFewer()) return null;
      throw fault;
    } finally {
      clearTimeout(patience);
      connection.give();
    }
  };

  /** A connection that has served, or does so now. */
  const serving = async (): Promise<PoolClient> => {
    for (;;) {
      const client = await connect();
      taken.add(client);
      if (served.has(client)) return client;
      try {
        const found = await isDirect(client);
        if (found !== null) {
          const isNamed = naming === 'auto' ? found : naming === 'always';
          served.set(client, isNamed ? newNames(client) : null);
          return client;
        }
      } catch (fault) {
        giveBack(client, false);
        throw fault;
      }
      // a pooler has let it in, and has no server for it
      giveBack(client, false);
    }
  };

  const giveBack = (client: PoolClient, isFit: boolean): void => {
    taken.delete(client);
    if (!isFit) client.connection.stream.destroy();
    client.release(!isFit);
  };

  return {
    take: async (patience) => {
      const client = await serving();
      const names = naming === 'never' ? null : (served.get(client) ?? null);
      return connectionOf(client, names, patience, (isFit) => giveBack(client, isFit));
    },
    turnAway,
    stopNaming: () => {
      if (naming === 'auto') naming = 'never';
    },
    close: async () => {
      const deadline = setTimeout(() => {
        for (const client of taken) client.connection.stream.destroy();
      }, limits.closeMsMax);
      await pool.end();
      clearTimeout(deadline);
    },
  };
};

const processStatement = fixedStatement('select pg_backend_pid()');

const busy = (why: string): PostgresFault => new PostgresFault('busy', new Error(`connections: ${why}`));

/** too_many_connections, and what PgBouncer says instead. */
const isOfNumber = (fault: unknown): boolean =>
  fault instanceof DatabaseError && (fault.code === '53300' || fault.code === '08P01');
