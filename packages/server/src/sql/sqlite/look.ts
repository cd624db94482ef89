/**
 * The connection that looks for commits: `data_version` counts those of other connections, so this one never writes and is never in a
 * transaction. It is opened with the first look, and anew once it is broken.
 */
import type { Connection } from './connection.js';
import type { DataVersion } from './engine.js';
import type { Journal } from './journal.js';

export interface Look {
  /** Differs from the last one if anybody has committed in between. */
  version(): DataVersion;
  journal(): Journal;
  close(): void;
}

/** @param connect opens another connection. */
export const newLook = (connect: () => Connection): Look => {
  let connection: Connection | null = null;
  /** Makes versions unique: counts of different connections cannot be compared. */
  let opened = 0;
  const looking = <T>(look: (connection: Connection) => T): T => {
    if (connection === null) {
      connection = connect();
      opened += 1;
    }
    try {
      return look(connection);
    } finally {
      if (connection.isBroken()) {
        connection.close();
        connection = null;
      }
    }
  };
  return {
    version: () => looking((it) => `${opened}.${it.dataVersion()}`),
    journal: () => looking((it) => it.journal()),
    close: () => connection?.close(),
  };
};
