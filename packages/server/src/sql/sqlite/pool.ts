/** A bounded pool of connections. */
import type { DbLoad } from '../dialect.js';
import type { Connection } from './connection.js';

export interface Pool {
  /** Runs the work with a connection, first come, first served. A broken connection is not reused. */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Runs the work once no connection is in use; later requests for one wait. */
  whenIdle<T>(work: () => Promise<T>): Promise<T>;
  load(): Omit<DbLoad, 'statements'>;
  /** Rejects new work, and closes the connections once running and waiting work has finished. */
  close(): Promise<void>;
}

/**
 * @param connect opens a connection; an error is thrown to the caller that needed it, and the next caller tries again.
 */
export const newPool = (connect: () => Connection, max: number): Pool => {
  const idle: Connection[] = [];
  const waiting: (() => void)[] = [];
  let freeSlots = max;
  let isClosed = false;

  const acquire = async (): Promise<void> => {
    if (freeSlots > 0) freeSlots -= 1;
    // `release` hands its slot directly to the next waiter
    else await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const acquireAll = (): Promise<unknown> => Promise.all(Array.from({ length: max }, acquire));
  const release = (): void => {
    const next = waiting.shift();
    if (next) next();
    else freeSlots += 1;
  };
  const putBack = (connection: Connection): void => {
    if (connection.isBroken()) connection.close();
    else idle.push(connection);
  };

  return {
    use: async (work) => {
      if (isClosed) throw new Error('the database is closed');
      await acquire();
      try {
        const connection = idle.pop() ?? connect();
        try {
          return await work(connection);
        } finally {
          putBack(connection);
        }
      } finally {
        release();
      }
    },
    whenIdle: async (work) => {
      await acquireAll();
      try {
        return await work();
      } finally {
        for (let i = 0; i < max; i++) release();
      }
    },
    load: () => ({ open: max - freeSlots + idle.length, inUse: max - freeSlots, waiting: waiting.length }),
    close: async () => {
      isClosed = true;
      await acquireAll();
      for (const connection of idle.splice(0)) connection.close();
    },
  };
};
