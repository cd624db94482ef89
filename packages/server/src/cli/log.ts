/** The log: JSON lines, or readable text on a terminal. */
import os from 'node:os';
import { type DestinationStream, type Logger, pino } from 'pino';
import { loggable } from '../http/faults.js';
import type { Environment } from './config.js';

/** What is said before the first request. */
export type Notices = Pick<Logger, 'info' | 'warn'>;

/** @param worker number that each line gives, in a process that serves a port with others. */
export const newLogger = async (
  { LOG_LEVEL: level }: Pick<Environment, 'LOG_LEVEL'>,
  worker?: number,
): Promise<Logger> => {
  const base = { pid: process.pid, hostname: os.hostname(), ...(worker === undefined ? {} : { worker }) };
  const options = { level, base, redact: ['req.headers.authorization'], serializers: { err: serialized } };
  if (!process.stdout.isTTY) return pino(options, toStdout());
  const { default: pretty } = await import('pino-pretty');
  // synchronous, to keep the order with direct writes to the terminal
  return pino(options, pretty({ sync: true, ignore: `pid,hostname,${inText.join()}`, translateTime: 'SYS:HH:MM:ss' }));
};

/** Most are logged in this form already; it would lose their type a second time. */
const serialized = (fault: unknown): unknown => (isPlain(fault) ? fault : loggable(fault));

/** Errors are not always made by `Error`: those of older libraries only inherit from it. */
const isPlain = (value: unknown): boolean => {
  try {
    return typeof value !== 'object' || value === null || Object.getPrototypeOf(value) === Object.prototype;
  } catch {
    // code that a Proxy runs
    return false;
  }
};

/** What is left at the exit is written then, if anybody still reads it. */
const toStdout = (): DestinationStream => {
  const stdout = pino.destination(process.stdout.fd);
  const flushSync = stdout.flushSync.bind(stdout);
  stdout.flushSync = () => {
    try {
      flushSync();
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== 'EPIPE') throw fault;
    }
  };
  return stdout;
};

/** Facts for programs, which the text of the line says too. */
const inText = ['faults', 'changes', 'kept', 'left', 'liveMs', 'url'];
