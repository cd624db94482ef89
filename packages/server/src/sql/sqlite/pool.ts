/** A bounded pool of connections. */
import type { Connection } from './connection.js';

export interface Pool {
  /** Lends a connection until the work ends; who comes first is served first. A broken one is not lent again. */
  lend<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Runs the work when no connection is lent; who asks for one meanwhile waits. */
  whenIdle(work: () => void): Promise<void>;
  /** Lets nobody in who is not yet waiting, and closes every connection when its work has ended. */
  close(): Promise<void>;
}

/** @param connect what it throws is the fault of who asked; the next one tries again. */
export const newPool = (connect: () => Connection, max: number): Pool => {
  const idle: Connection[] = [];
  const waiting: (() => void)[] = [];
  let places = max;
  let isClosed = false;

  const enter = async (): Promise<void> => {
    if (places > 0) places -= 1;
    // whoever leaves hands the place over
    else await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const enterAll = (): Promise<unknown> => Promise.all(Array.from({ length: max }, enter));
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else places += 1;
  };
  const giveBack = (connection: Connection): void => {
    if (connection.isBroken()) connection.close();
    else idle.push(connection);
  };

  return {
    lend: async (work) => {
      if (isClosed) throw new Error('the database is closed');
      await enter();
      try {
        const connection = idle.pop() ?? connect();
        try {
          return await work(connection);
        } finally {
          giveBack(connection);
        }
      } finally {
        leave();
      }
    },
    whenIdle: async (work) => {
      await enterAll();
      try {
        work();
      } finally {
        for (let i = 0; i < max; i++) leave();
      }
    },
    close: async () => {
      isClosed = true;
      await enterAll();
      for (const connection of idle.splice(0)) connection.close();
    },
  };
};
