/** Connections to one PostgreSQL: a bounded pool, and for each connection the statements that are prepared on it. */
import { LRUCache } from 'lru-cache';
import { type CustomTypesConfig, Pool, type PoolClient, types as pgTypes } from 'pg';
import { bug } from '../../errors.js';
import { limits } from '../../limits.js';
import { fixedStatement } from '../compile.js';
import type { ConstraintFault, Rows, Statement } from '../dialect.js';
import type { Address } from './address.js';
import { endsConnection, faultOf, PostgresFault } from './faults.js';

/**
 * Whether statements are prepared by name, which saves planning them each time. Behind a pooler that gives every
 * transaction another server they cannot be; `auto` looks whether there is one.
 */
export type Prepared = 'auto' | 'always' | 'never';

/** A connection in the hands of one transaction. What its functions throw is a `PostgresFault` or a `ConstraintFault`. */
export interface Connection {
  /** Rows of a statement. Statements that are sent in one turn of the event loop travel together; they run in order. */
  send(statement: Statement): Promise<Rows>;
  /** Runs a fixed text of one or more statements; gives the server's word for the last one, such as `COMMIT`. */
  command(text: string): Promise<string>;
  /** The fault that the transaction suffers from: the first since a statement went well. */
  fault(): Error | null;
  /** Whether statements are prepared by name. */
  readonly isNamed: boolean;
  /** Gives the connection back. One that is broken, or still in a transaction, is ended instead. */
  give(): void;
}

/**
 * What ends a connection whose server says nothing, `limits.silenceMsMax` after it was taken (`total`), or after the last
 * answer (`silence`). With `never` the network's own keepalive must tell.
 */
export type Patience = 'total' | 'silence' | 'never';

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
  // an idle connection has ended: the pool has removed it
  pool.on('error', () => undefined);
  // one in use has: its statements tell
  pool.on('connect', (client) => client.on('error', () => undefined));
  const taken = new Set<PoolClient>();
  const namesOf = new WeakMap<PoolClient, Names | null>();

  const connect = async (): Promise<PoolClient> => {
    for (let tries = 1; ; tries++) {
      const used = way;
      const isFull = pool.idleCount === 0 && pool.totalCount >= limits.connectionsMax;
      if (isFull && pool.waitingCount >= limits.connectionsWaitingMax)
        throw busy('too many requests wait for a connection');
      try {
        return await pool.connect();
      } catch (fault) {
        if (isFull) throw busy(`no connection was free for ${limits.connectMsMax} ms`);
        if (tries >= ways.length) throw faultOf(fault);
        if (way === used) turnAway();
      }
    }
  };

  const turnAway = (): void => {
    way = ways[(ways.indexOf(way) + 1) % ways.length]!;
    Object.assign(pool.options, way);
  };

  /** Looks whether the process at the other end is the one that the connection was opened to. */
  const isDirect = async (client: PoolClient): Promise<boolean> => {
    const connection = connectionOf(client, null, 'total', () => undefined);
    const [[pid] = []] = await connection.send(processStatement).finally(connection.give);
    return pid === (client as unknown as { readonly processID: number | null }).processID;
  };

  const namesFor = async (client: PoolClient): Promise<Names | null> => {
    const known = namesOf.get(client);
    if (known !== undefined) return naming === 'never' ? null : known;
    const isNamed = naming === 'auto' ? await isDirect(client) : naming === 'always';
    const names = isNamed ? newNames(client) : null;
    namesOf.set(client, names);
    return names;
  };

  const giveBack = (client: PoolClient, isFit: boolean): void => {
    taken.delete(client);
    if (!isFit) client.connection.stream.destroy();
    client.release(!isFit);
  };

  return {
    take: async (patience) => {
      const client = await connect();
      taken.add(client);
      try {
        return connectionOf(client, await namesFor(client), patience, (isFit) => giveBack(client, isFit));
      } catch (fault) {
        giveBack(client, false);
        throw fault;
      }
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

const busy = (text: string): PostgresFault => new PostgresFault('busy', new Error(text));

// ---- prepared statements

/** The name of each statement that is prepared on one connection; the one longest unused makes room. */
type Names = (text: string) => string | undefined;

const newNames = ({ connection }: PoolClient): Names => {
  let count = 0;
  const names = new LRUCache<string, string>({
    max: limits.statementsMax,
    maxSize: limits.preparedCharactersMax,
    sizeCalculation: (_name, text) => text.length,
    dispose: (name) => {
      // goes out before the next statement; the server closes what is there, and says nothing to what is not
      connection.close({ type: 'S', name }, true);
      delete (connection as unknown as { readonly parsedStatements: Record<string, string> }).parsedStatements[name];
    },
  });
  return (text) => {
    const known = names.get(text);
    if (known !== undefined) return known;
    // a text that would push out all others is not worth a name
    if (text.length > limits.preparedCharactersMax / 10) return undefined;
    count += 1;
    const name = `s${count}`;
    names.set(text, name);
    return name;
  };
};

// ---- one connection

const connectionOf = (
  client: PoolClient,
  names: Names | null,
  patience: Patience,
  onGive: (isFit: boolean) => void,
): Connection => {
  let isOpen = true;
  let isCorked = false;
  let pending = 0;
  let answers = 0;
  let progressAt = performance.now();
  let suffered: Error | null = null;
  let broken: PostgresFault | null = null;

  const watch = setTimeout(() => {
    if (patience === 'silence' && pending === 0) {
      watch.refresh();
      return;
    }
    // a server that has answered before is alive, and works too long
    const kind = patience === 'total' && answers > 0 ? 'slow' : 'busy';
    broken ??= new PostgresFault(kind, new Error(`no answer within ${limits.silenceMsMax} ms`));
    client.connection.stream.destroy();
  }, limits.silenceMsMax);
  if (patience === 'never') clearTimeout(watch);

  const progress = (): void => {
    progressAt = performance.now();
    if (patience === 'silence') watch.refresh();
  };

  /** What is sent in this turn goes out as one packet. */
  const cork = (): void => {
    if (isCorked) return;
    isCorked = true;
    const { stream } = client.connection;
    stream.cork();
    process.nextTick(() => {
      isCorked = false;
      stream.uncork();
    });
  };

  const suffer = (fault: PostgresFault | ConstraintFault): PostgresFault | ConstraintFault => {
    // the timeout of statements takes its time; who cancels sooner is somebody else
    const isCanceled = fault.kind === 'slow' && performance.now() - progressAt < limits.readMsMax * 0.9;
    const told = isCanceled ? new PostgresFault('busy', fault) : fault;
    if (endsConnection(told)) broken ??= told;
    const cause = broken ?? told;
    suffered ??= cause;
    return cause;
  };

  const asked = async <T>(ask: () => Promise<T>): Promise<T> => {
    if (!isOpen) throw bug('postgres.statement-after-transaction', {});
    cork();
    if (pending === 0) progress();
    pending += 1;
    try {
      const answer = await ask();
      answers += 1;
      return answer;
    } catch (fault) {
      throw suffer(faultOf(fault));
    } finally {
      pending -= 1;
      progress();
    }
  };

  return {
    isNamed: names !== null,
    send: async ({ sql, params }) => {
      const values = params.map((value) => (value === null ? null : String(value)));
      const name = names?.(sql);
      const { rows } = await asked(() =>
        client.query({ ...(name === undefined ? {} : { name }), text: sql, values, rowMode: 'array', types }),
      );
      suffered = null;
      return rows;
    },
    command: async (text) => {
      const result: unknown = await asked(() => client.query(text));
      const last = Array.isArray(result) ? result.at(-1) : result;
      return (last as { readonly command: string }).command;
    },
    fault: () => suffered,
    give: () => {
      clearTimeout(watch);
      isOpen = false;
      onGive(broken === null && pending === 0 && client.getTransactionStatus() === 'I');
    },
  };
};

/** Numbers and booleans are read as such, all else as text. */
const types = {
  getTypeParser: (type: number): ((text: string) => unknown) => {
    switch (type) {
      case pgTypes.builtins.INT2:
      case pgTypes.builtins.INT4:
      case pgTypes.builtins.OID:
      case pgTypes.builtins.FLOAT4:
      case pgTypes.builtins.FLOAT8:
        return Number;
      case pgTypes.builtins.BOOL:
        return (text) => text === 't';
      default:
        return (text) => text;
    }
  },
} as CustomTypesConfig;
