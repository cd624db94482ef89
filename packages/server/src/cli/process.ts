/** The process around a server: the signals that stop it, and faults that nobody caught. */
import crypto from 'node:crypto';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { loggable } from '../http/faults.js';
import { limits } from '../limits.js';

export interface RunningServer {
  readonly app: FastifyInstance;
  readonly logger: FastifyBaseLogger;
  /** Milliseconds for which the server goes on after SIGTERM while `/_health` says 503. */
  readonly delayMs: number;
  /** Closes what the server stands on. */
  close(): Promise<void>;
}

/** Stops the server and ends the process, with 1 where requests had to be cut off. Only the first call counts. */
export type Stop = (delayMs: number, exitCode: 0 | 1) => void;

/** SIGTERM and SIGINT stop the server. */
export const stopOnSignals = ({ app, logger, delayMs, close }: RunningServer): Stop => {
  let isStopping = false;
  const stop = async (ms: number, exitCode: 0 | 1): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    logger.info('stopping: no new connections, running requests may finish');
    const cut = await app.drain({ delay: setTimeout(ms) });
    if (cut > 0) logger.error({ requests: cut }, `cut off requests that took longer than ${limits.drainMsMax} ms`);
    // what a request that was cut off still does must not keep the process
    await Promise.race([app.close().then(close), setTimeout(limits.closeMsMax)]);
    process.exit(cut > 0 ? 1 : exitCode);
  };
  process.on('SIGTERM', () => stop(delayMs, 0));
  // a person at a terminal waits for no load balancer
  process.on('SIGINT', () => stop(0, 0));
  return stop;
};

/**
 * Faults that nobody caught are logged with an id. What code of the project leaves behind, such as a timer that throws,
 * must not end the server for everybody; after a fault of the server's own code nobody knows what was left half done, and
 * `stop` is called.
 */
export const watchUncaught = (projectDir: string, logger: FastifyBaseLogger, stop: () => void): void => {
  process.on('uncaughtException', (fault) => {
    const told = { err: loggable(fault), faultId: crypto.randomUUID() };
    if (isOwn(fault, projectDir)) {
      logger.fatal(told, 'a fault of the server outside of any request; it stops');
      stop();
    } else
      logger.error(
        told,
        'code of the project threw outside of a request; handlers and hooks must catch what they start',
      );
  });
  process.on('unhandledRejection', (fault) => {
    logger.error(
      { err: loggable(fault), faultId: crypto.randomUUID() },
      'a promise failed that nobody waited for; handlers and hooks must await what they start',
    );
  });
};

const ownDir = fileURLToPath(new URL('..', import.meta.url));

/** Whether the server's code threw, and no file of the project called it. */
const isOwn = (fault: unknown, projectDir: string): boolean => {
  const lines = stackOf(fault).split('\n');
  const ofProject = (line: string): boolean =>
    line.includes(projectDir + path.sep) && !line.includes(`${path.sep}node_modules${path.sep}`);
  return lines.some((it) => it.includes(ownDir)) && !lines.some((it) => ofProject(it) && !it.includes(ownDir));
};

/** Anything may be thrown, so that looking at it may throw too. */
const stackOf = (fault: unknown): string => {
  try {
    return String((fault as Error).stack);
  } catch {
    return '';
  }
};
