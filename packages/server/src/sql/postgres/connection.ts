/** A PostgreSQL connection during one transaction, and its prepared statements. */
import { LRUCache } from 'lru-cache';
import { type CustomTypesConfig, type PoolClient, types as pgTypes } from 'pg';
import { bug } from '../../errors.js';
import { limits } from '../../limits.js';
import type { ConstraintFault, Rows, Statement } from '../dialect.js';
import { endsConnection, faultOf, PostgresFault } from './faults.js';

/** Its functions throw `PostgresFault` or `ConstraintFault`. */
export interface Connection {
  /** Rows of a statement. Statements sent in one turn of the event loop go out as one packet and run in order. */
  send(statement: Statement): Promise<Rows>;
  /** Runs a fixed text of one or more statements; returns command tag and rows of the last one. */
  command(text: string): Promise<Outcome>;
  /** The first error since the last successful statement: the one that made the transaction fail. */
  fault(): Error | null;
  /** Whether statements are prepared by name. */
  readonly isNamed: boolean;
  /** Whether it ends at the server itself, not at a pooler: the settings hold for the session. */
  readonly isDirect: boolean;
  /** Returns the connection to the pool. One that is broken, or still in a transaction, is closed instead. */
  release(): void;
}

export interface Outcome {
  /** Such as `COMMIT`. */
  readonly tag: string;
  readonly rows: Rows;
}

/**
 * When to close a connection whose server does not respond: `limits.silenceMsMax` after it was acquired (`total`) or after
 * the last response (`silence`). `never` relies on TCP keepalive.
 */
export type Patience = 'total' | 'silence' | 'never';

// ---- prepared statements

/** The names of the statements prepared on a connection; the least recently used are evicted. */
export type Names = (text: string) => string | undefined;

export const newNames = ({ connection }: PoolClient): Names => {
  let count = 0;
  const names = new LRUCache<string, string>({
    max: limits.statementsMax,
    maxSize: limits.preparedCharactersMax,
    sizeCalculation: (_name, text) => text.length,
    dispose: (name) => {
      // sent before the next statement; closing an unknown name is not an error
      connection.close({ type: 'S', name }, true);
      delete (connection as unknown as { readonly parsedStatements: Record<string, string> }).parsedStatements[name];
    },
  });
  return (text) => {
    const known = names.get(text);
    if (known !== undefined) return known;
    // a text this long would evict too many others
    if (text.length > limits.preparedCharactersMax / 10) return undefined;
    count += 1;
    const name = `s${count}`;
    names.set(text, name);
    return name;
  };
};

// ---- the connection

/** What is known of a connection once it has been checked. */
export interface Checked {
  /** Null if it prepares no statements by name. */
  readonly names: Names | null;
  readonly isDirect: boolean;
}

/** @param onRelease called with whether the connection may be reused. */
export const connectionOf = (
  client: PoolClient,
  { names, isDirect }: Checked,
  patience: Patience,
  onRelease: (isReusable: boolean) => void,
): Connection => {
  let isOpen = true;
  let isCorked = false;
  let pending = 0;
  let answers = 0;
  let progressAt = performance.now();
  let firstFault: Error | null = null;
  let broken: PostgresFault | null = null;

  const watch = setTimeout(() => {
    if (patience === 'silence' && pending === 0) {
      watch.refresh();
      return;
    }
    // a server that has responded before is alive, so the statement is slow
    const kind = patience === 'total' && answers > 0 ? 'slow' : 'busy';
    broken ??= new PostgresFault(kind, new Error(`no answer within ${limits.silenceMsMax} ms`));
    stream.destroy();
  }, limits.silenceMsMax);
  if (patience === 'never') clearTimeout(watch);

  const { stream } = client.connection;
  let received = 0;
  /** The driver keeps all rows of a statement until it ends. */
  const checkSize = (chunk: Buffer): void => {
    received += chunk.length;
    if (received <= limits.receivedBytesMax) return;
    broken ??= new PostgresFault('large', new Error(`more than ${limits.receivedBytesMax} bytes`));
    stream.destroy();
  };
  if (patience === 'total') stream.on('data', checkSize);

  const progress = (): void => {
    progressAt = performance.now();
    if (patience === 'silence') watch.refresh();
  };

  /** Sends everything written in this turn as one packet. */
  const cork = (): void => {
    if (isCorked) return;
    isCorked = true;
    stream.cork();
    process.nextTick(() => {
      isCorked = false;
      stream.uncork();
    });
  };

  const recordFault = (fault: PostgresFault | ConstraintFault): PostgresFault | ConstraintFault => {
    // cancelled before the statement timeout can have fired: by someone else
    const isCanceled = fault.kind === 'slow' && performance.now() - progressAt < limits.readMsMax * 0.9;
    const actual = isCanceled ? new PostgresFault('busy', fault) : fault;
    if (endsConnection(actual)) broken ??= actual;
    const cause = broken ?? actual;
    firstFault ??= cause;
    return cause;
  };

  const request = async <T>(send: () => Promise<T>): Promise<T> => {
    if (!isOpen) throw bug('postgres.statement-after-transaction', {});
    cork();
    if (pending === 0) progress();
    pending += 1;
    try {
      const answer = await send();
      answers += 1;
      return answer;
    } catch (fault) {
      throw recordFault(faultOf(fault));
    } finally {
      pending -= 1;
      progress();
    }
  };

  return {
    isNamed: names !== null,
    isDirect,
    send: async ({ sql, params }) => {
      const values = params.map((value) => (value === null ? null : String(value)));
      const { rows } = await request(() => {
        const name = names?.(sql);
        return client.query({ ...(name === undefined ? {} : { name }), text: sql, values, rowMode: 'array', types });
      });
      firstFault = null;
      return rows;
    },
    command: async (text) => {
      const result: unknown = await request(() => client.query({ text, rowMode: 'array', types }));
      const last = (Array.isArray(result) ? result.at(-1) : result) as {
        readonly command: string;
        readonly rows: Rows;
      };
      return { tag: last.command, rows: last.rows };
    },
    fault: () => firstFault,
    release: () => {
      clearTimeout(watch);
      stream.off('data', checkSize);
      isOpen = false;
      onRelease(broken === null && pending === 0 && client.getTransactionStatus() === 'I');
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
