/** `strapi.log`: winston's calls, as v4's code makes them, on the log of the server. */
import util from 'node:util';
import type { FastifyBaseLogger } from 'fastify';
import isEmpty from 'lodash/isEmpty.js';
import { isMembers } from './loading/parts.js';

type Log = (...given: readonly unknown[]) => void;

export type CodeLog = Readonly<Record<Level, Log>> & {
  readonly level: string;
  /** `log('info', text)`, `log({ level, message })`. */
  readonly log: Log;
  child(facts: object): CodeLog;
};

/** Levels of winston that the server's log does not have, as those that are nearest. */
const levels = {
  fatal: 'fatal',
  error: 'error',
  warn: 'warn',
  info: 'info',
  http: 'info',
  verbose: 'debug',
  debug: 'debug',
  silly: 'trace',
  trace: 'trace',
} as const;
type Level = keyof typeof levels;

export const newCodeLog = (log: FastifyBaseLogger): CodeLog => {
  const methods = Object.entries(levels).map(([name, level]): [string, Log] => [
    name,
    (first, ...rest) => {
      if (typeof first === 'object' && first !== null) return log[level](first, ...(rest as [string?, ...unknown[]]));
      const { facts, text } = readLine(String(first), rest);
      return log[level](facts, text);
    },
  ]);
  const byLevel = Object.fromEntries(methods) as Record<Level, Log>;
  const levelOf = (name: unknown): Level => (Object.hasOwn(levels, String(name)) ? (name as Level) : 'info');
  return {
    ...byLevel,
    log: (first, ...rest) => {
      if (!isMembers(first)) return byLevel[levelOf(first)](...rest);
      const { level, message, ...data } = first;
      return byLevel[levelOf(level)](message, ...(isEmpty(data) ? [] : [data]));
    },
    get level() {
      return log.level;
    },
    child: (facts) => newCodeLog(log.child({ ...facts })),
  };
};

/** What follows a text: its placeholders take their values, a first error is `err`, other objects are `data`. */
const readLine = (text: string, given: readonly unknown[]): { readonly facts: object; readonly text: string } => {
  const placed = text.match(/%[sdifjoOc%]/g)?.filter((it) => it !== '%%').length ?? 0;
  const others = given.slice(placed);
  const objects = others.filter((it): it is object => typeof it === 'object' && it !== null);
  const err = objects.find((it) => it instanceof Error);
  const data = objects.filter((it) => it !== err);
  const words = others.filter((it) => typeof it !== 'object' || it === null);
  return {
    facts: {
      ...(err === undefined ? {} : { err }),
      ...(data.length === 0 ? {} : { data: data.length === 1 ? data[0] : data }),
    },
    text: given.length === 0 ? text : util.format(text, ...given.slice(0, placed), ...words),
  };
};
