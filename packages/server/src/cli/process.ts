/** The server process: stop signals and uncaught errors. */
import crypto from 'node:crypto';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyBaseLogger } from 'fastify';
import type { Drain } from '../http/drain.js';
import { loggable } from '../http/faults.js';
import { limits } from '../limits.js';
import type { Environment } from './config.js';
import { StartFault } from './start-fault.js';

export interface RunningServer {
  readonly server: Pick<Drain, 'drain'> & {
    /** After `drain`. */
    close(): PromiseLike<unknown>;
  };
  readonly logger: FastifyBaseLogger;
  /** Milliseconds for which the server keeps serving after SIGTERM while `/_health` returns 503. */
  readonly delayMs: number;
  /** Ends background work; called when no more connections are accepted. */
  settle(): Promise<void>;
  /** Closes the database. */
  close(): Promise<void>;
}

/** Stops the server and exits, with 1 if requests had to be cut off. Only the first call has an effect. */
export type Stop = (how: {
  readonly delayMs: number;
  readonly exitCode: 0 | 1;
  /** Another process serves the port from now on; false by default. */
  readonly isReplaced?: boolean;
}) => void;

/** Stops the server on SIGTERM and SIGINT. */
export const stopOnSignals = ({ server, logger, delayMs, settle, close }: RunningServer): Stop => {
  let isStopping = false;
  const stop = async ({ delayMs: ms, exitCode, isReplaced = false }: Parameters<Stop>[0]): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    logger.info('stopping: accepting no new connections; finishing requests in flight');
    const delay = setTimeout(ms);
    const settled = delay.then(settle).catch((fault: unknown) => logger.error({ err: loggable(fault) }, 'stopping'));
    const cut = await server.drain({ delay, isReplaced });
    if (cut > 0) logger.error({ requests: cut }, `cut off requests that took longer than ${limits.drainMsMax} ms`);
    // work of a request that was cut off must not keep the process alive
    await Promise.race([Promise.all([server.close(), settled]).then(close), setTimeout(limits.closeMsMax)]);
    process.exit(cut > 0 ? 1 : exitCode);
  };
  process.on('SIGTERM', () => stop({ delayMs, exitCode: 0 }));
  // Ctrl-C at a terminal does not wait for a load balancer
  process.on('SIGINT', () => stop({ delayMs: 0, exitCode: 0 }));
  return stop;
};

/** What to say of an address that cannot be listened on. */
export const listenFault = ({ HOST, PORT, METRICS_PORT }: Environment, fault: NodeJS.ErrnoException): StartFault => {
  const cause =
    PORT === METRICS_PORT ? 'METRICS_PORT is this port, too: change it' : 'Another program uses this port. Stop it';
  const cure =
    fault.code === 'EADDRINUSE'
      ? `${cause}, or choose another one, such as PORT=${PORT < 65_535 ? PORT + 1 : PORT - 1}.`
      : 'Set HOST and PORT to a free address.';
  return new StartFault(`Cannot listen on ${HOST}:${PORT}: ${fault.message}\n${cure}`);
};

/**
 * Logs uncaught errors with an id. An error in the project's code, such as a throwing timer, must not take the server
 * down; after one in the server's own code its state cannot be trusted, so `stop` is called.
 */
export const watchUncaught = (projectDir: string, logger: FastifyBaseLogger, stop: () => void): void => {
  process.on('uncaughtException', (fault) => {
    const facts = { err: loggable(fault), faultId: crypto.randomUUID() };
    if (isOwn(fault, projectDir)) {
      logger.fatal(facts, 'uncaught error in the server outside any request; stopping');
      stop();
    } else
      logger.error(
        facts,
        'project code threw outside a request; handlers and hooks must catch the errors of whatever they start',
      );
  });
  process.on('unhandledRejection', (fault) => {
    logger.error(
      { err: loggable(fault), faultId: crypto.randomUUID() },
      'unhandled promise rejection; handlers and hooks must await what they start',
    );
  });
};

/** Says which code of the project has ended the process: nobody would know why it is gone. */
export const watchExit = (projectDir: string, logger: FastifyBaseLogger): void => {
  process.on('exit', (code) => {
    const fault = new Error(`process.exit(${code})`);
    if (isOfProject(stackOf(fault), projectDir))
      logger.fatal(
        { err: loggable(fault) },
        'project code has ended the process; requests that were running have no response',
      );
  });
};

const isOfProject = (stack: string, projectDir: string): boolean =>
  stack
    .split('\n')
    .some(
      (line) =>
        line.includes(projectDir + path.sep) &&
        !line.includes(`${path.sep}node_modules${path.sep}`) &&
        !line.includes(ownDir),
    );

const ownDir = fileURLToPath(new URL('..', import.meta.url));
/** Of the bundle, see build.mjs. */
const packagesDir = path.join(ownDir, 'packages');

/** Whether the server's own code threw, without a project file in the stack. */
const isOwn = (fault: unknown, projectDir: string): boolean => {
  const stack = stackOf(fault);
  const isOurs = (line: string): boolean => line.includes(ownDir) && !line.includes(packagesDir + path.sep);
  return stack.split('\n').some(isOurs) && !isOfProject(stack, projectDir);
};

/** Anything may be thrown, and inspecting it may throw again. */
const stackOf = (fault: unknown): string => {
  try {
    return String((fault as Error).stack);
  } catch {
    return '';
  }
};
