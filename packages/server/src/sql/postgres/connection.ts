/** One connection to PostgreSQL in the hands of one transaction, and the statements that are prepared on it. */
import { LRUCache } from 'lru-cache';
import { type CustomTypesConfig, type PoolClient, types as pgTypes } from 'pg';
import { bug } from '../../errors.js';
import { limits } from '../../limits.js';
import type { ConstraintFault, Rows, Statement } from '../dialect.js';
import { endsConnection, faultOf, PostgresFault } from './faults.js';

/** What its functions throw is a `PostgresFault` or a `ConstraintFault`. */
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

// ---- prepared statements

/** The name of each statement that is prepared on a connection; the one longest unused makes room. */
export type Names = (text: string) => string | undefined;

export const newNames = ({ connection }: PoolClient): Names => {
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

// ---- the connection

/** @param onGive hears whether the connection may be used again. */
export const connectionOf = (
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
      const { rows } = await asked(() => {
        const name = names?.(sql);
        return client.query({ ...(name === undefined ? {} : { name }), text: sql, values, rowMode: 'array', types });
      });
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
