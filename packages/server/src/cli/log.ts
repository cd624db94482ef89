/** The log: JSON lines for programs, readable ones on a terminal. */
import { type Logger, pino } from 'pino';
import type { Environment } from './config.js';

export const newLogger = async ({ LOG_LEVEL: level }: Environment): Promise<Logger> => {
  const options = { level, redact: ['req.headers.authorization'] };
  if (!process.stdout.isTTY) return pino(options);
  const { default: pretty } = await import('pino-pretty');
  // synchronous: lines stand in order with what is written beside the log
  return pino(options, pretty({ sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' }));
};
