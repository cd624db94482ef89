/**
 * Looks at the state of a PostgreSQL over a connection that serves nothing else. Every read waits for one, so it is as cheap as
 * can be: the server is asked who it is once, because the connection ends with it, and the bytes of the question are fixed.
 */
import { setTimeout as startTimer } from 'node:timers';
import { setTimeout } from 'node:timers/promises';
import type { Client, Submittable } from 'pg';
import { serialize } from 'pg-protocol';
import { limits } from '../../limits.js';
import { apart, type Connections } from './pool.js';
import { serverColumn, stateText } from './states.js';

export interface Look {
  /**
   * The state (`stateText`) as of the call or later; one call at a time. Null if this connection cannot tell now: the next calls
   * may, because it is opened in the background.
   */
  now(): Promise<string | null> | null;
  close(): Promise<void>;
}

interface Opened {
  readonly client: Client;
  readonly server: string;
  readonly until: number;
  ask(): Promise<string | null>;
}

export const newLook = ({ openApart, server: serverOfPool }: Pick<Connections, 'openApart' | 'server'>): Look => {
  let opened: Opened | null = null;
  let opening: Promise<void> | null = null;
  let mayOpenAt = Number.NEGATIVE_INFINITY;
  const closing = new AbortController();

  const lose = (lost: Client): void => {
    if (opened?.client === lost) opened = null;
    // closing a connection that is already closed does nothing
    lost.end().catch(() => undefined);
  };

  const open = async (): Promise<void> => {
    const client = await openApart(closing.signal, false);
    if (!client) {
      mayOpenAt = performance.now() + limits.fewerConnectionsMs;
      return;
    }
    try {
      const { rows } = await client.query<[string, boolean]>(apart(identityText));
      const [[server, isStandby] = ['', true]] = rows;
      await client.query({ ...apart(snapshotText), name: NAME });
      // snapshots of a standby do not show what runs
      if (isStandby || closing.signal.aborted) return lose(client);
      client.on('error', () => lose(client));
      client.on('end', () => lose(client));
      const ask = newQuestion(client, server, () => lose(client));
      if ((await ask()) === null) return;
      opened = { client, server, until: performance.now() + limits.connectionMsMax, ask };
      // one that has answered is opened again at once when it is lost
      mayOpenAt = Number.NEGATIVE_INFINITY;
    } catch (fault) {
      lose(client);
      throw fault;
    }
  };

  const openSoon = (): void => {
    if (opening || closing.signal.aborted || performance.now() < mayOpenAt) return;
    mayOpenAt = performance.now() + limits.listenPauseMs;
    opening = open()
      // another attempt follows
      .catch(() => undefined)
      .finally(() => {
        opening = null;
      });
  };

  return {
    now: () => {
      // the pool may have moved to another server
      if (opened && (opened.server !== serverOfPool() || performance.now() > opened.until)) lose(opened.client);
      if (opened) return opened.ask();
      openSoon();
      return null;
    },
    close: async () => {
      closing.abort();
      await opening;
      // a server that is gone does not answer
      await Promise.race([opened?.client.end(), setTimeout(limits.closeMsMax, undefined, { ref: false })]);
    },
  };
};

const NAME = 'look';
const snapshotText = 'select pg_catalog.pg_current_snapshot()';
const identityText = `select ${serverColumn}, pg_is_in_recovery()`;

/** Executes the prepared statement once. */
const question = Buffer.concat([serialize.bind({ statement: NAME }), serialize.execute({}), serialize.sync()]);

/** What the driver calls while the question is asked. */
interface Asked extends Submittable {
  handleDataRow(message: { readonly fields: readonly string[] }): void;
  handleCommandComplete(): void;
  handleReadyForQuery(): void;
  handleError(): void;
}

/** Returns a function that asks for the state; null if the connection was lost, or does not answer in time. */
const newQuestion = (client: Client, server: string, onFault: () => void): Opened['ask'] => {
  let snapshot = '';
  let state = '';
  let settle: ((state: string | null) => void) | null = null;
  const answer = (found: string | null): void => {
    settle?.(found);
    settle = null;
  };
  const fail = (): void => {
    onFault();
    answer(null);
  };
  const silence = startTimer(() => {
    if (settle) fail();
  }, limits.lookMsMax).unref();

  const asking: Asked = {
    submit: ({ stream }) => {
      stream.write(question);
    },
    handleDataRow: ({ fields: [found = ''] }: { readonly fields: readonly string[] }) => {
      // mostly it is the last one again
      if (found === snapshot) return;
      snapshot = found;
      state = stateText(found, server);
    },
    handleCommandComplete: () => undefined,
    handleReadyForQuery: () => answer(state),
    handleError: fail,
  };

  return () =>
    new Promise((resolve) => {
      settle = resolve;
      silence.refresh();
      client.query(asking);
    });
};
