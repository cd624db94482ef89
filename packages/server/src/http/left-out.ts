/** Reports what was ignored in a request, by lenient mode or as a rule: in a response header, and once per name in the log (Q16). */
import type { FastifyBaseLogger, FastifyInstance, FastifyReply } from 'fastify';
import { formatIssue } from '../errors.js';
import { limits } from '../limits.js';
import { type LeftOut, lenient } from '../query/lenient.js';

declare module 'fastify' {
  interface FastifyReply {
    /** Names what had no effect; sets no header if everything had. */
    reportLeftOut(leftOut: readonly LeftOut[]): FastifyReply;
  }
}

export const LEFT_OUT_HEADER = 'dovetail-ignored';

/** Logs each name once. */
export type LogLeftOut = (leftOut: readonly LeftOut[], url: string, log: FastifyBaseLogger) => void;

const newLogLeftOut = (): LogLeftOut => {
  const logged = new Set<string>();
  return (leftOut, url, log) => {
    for (const { name, issue } of leftOut) {
      // bounded, because clients choose the names
      if (logged.size > limits.leftOutLoggedMax || logged.has(name)) continue;
      logged.add(name);
      if (logged.size > limits.leftOutLoggedMax) log.warn('more names had no effect than are logged');
      else
        log.warn(
          { ignored: name, path: url.split('?')[0] },
          `${name} had no effect${lenient.has(issue.code) ? ' (api.strict is false)' : ''}: ${formatIssue(issue)}`,
        );
    }
  };
};

export const addLeftOut = (app: FastifyInstance): LogLeftOut => {
  const logLeftOut = newLogLeftOut();
  app.decorateReply('reportLeftOut', function (this: FastifyReply, leftOut) {
    if (leftOut.length === 0) return this;
    logLeftOut(leftOut, this.request.url, this.request.log);
    return this.header(LEFT_OUT_HEADER, leftOutHeader(leftOut));
  });
  return logLeftOut;
};

/** Comma-separated names, cut off with an ellipsis. */
export const leftOutHeader = (leftOut: readonly LeftOut[]): string => {
  let text = '';
  for (const { name } of leftOut) {
    const next = `${text === '' ? '' : ', '}${headerName(name)}`;
    if (text.length + next.length > limits.leftOutHeaderMax) return `${text}, ...`;
    text += next;
  }
  return leftOut.length < limits.leftOutMax ? text : `${text}, ...`;
};

/** Percent-encodes everything but letters, digits and the punctuation of names. */
const headerName = (name: string): string => {
  const safe = name
    .slice(0, limits.leftOutNameMax)
    .replace(/[^\w.$*:@-]/gu, (char) => Buffer.from(char).toString('hex').toUpperCase().replace(/../g, '%$&'));
  return name.length > limits.leftOutNameMax ? `${safe}...` : safe;
};
