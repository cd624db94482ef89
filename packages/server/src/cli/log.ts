/** The log: JSON lines, or readable text on a terminal. */
import { type Logger, pino } from 'pino';
import type { Environment } from './config.js';

export const newLogger = async ({ LOG_LEVEL: level }: Environment): Promise<Logger> => {
  const options = { level, redact: ['req.headers.authorization'] };
  if (!process.stdout.isTTY) return pino(options);
  const { default: pretty } = await import('pino-pretty');
  // synchronous, to keep the order with direct writes to the terminal
  return pino(options, pretty({ sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' }));
};
