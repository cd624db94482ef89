/** Two servers of one site, one that answers content without the framework and one that does not, compared byte by byte. */
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import zlib from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { expect } from 'vitest';
import { newServer } from '../../src/http/server.js';
import type { Db } from '../../src/sql/dialect.js';
import { newTestDeps, type TestPeople, type TestSettings } from './server.js';

// ---- requests

export interface Ask {
  readonly method: string;
  readonly url: string;
  /** Header lines; `Host` is added unless there is one. */
  readonly headers: readonly string[];
  readonly body?: string;
  readonly version?: string;
}

export const last: Ask = { method: 'GET', url: '/api/nothing', headers: ['Connection: close'] };

export const bytesOf = ({ method, url, headers, body = '', version = '1.1' }: Ask): string => {
  const host = version === '1.0' || headers.some((it) => /^host:/i.test(it)) ? [] : ['Host: cms.example'];
  return [`${method} ${url} HTTP/${version}`, ...host, ...headers, '', body].join('\r\n');
};

/** Sends everything at once, and gives all bytes until the server closes the connection. */
export const exchange = async (port: number, text: string): Promise<Buffer> => {
  const socket = net.connect({ port, host: '127.0.0.1' });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => undefined);
  socket.write(text, 'latin1');
  await once(socket, 'close');
  return Buffer.concat(chunks);
};

// ---- responses

export interface Answer {
  /** Status line and headers, without what differs from one response to the next. */
  readonly head: readonly string[];
  readonly body: string;
}

const parse = (bytes: Buffer, methods: readonly string[]): readonly Answer[] => {
  const answers: Answer[] = [];
  let at = 0;
  let turn = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end === -1) throw new Error(`not a response: ${bytes.toString('latin1', at)}`);
    const head = bytes.toString('latin1', at, end).split('\r\n');
    at = end + 4;
    const status = Number(head[0]?.slice(9, 12));
    const headerOf = (name: string) =>
      head.find((it) => it.toLowerCase().startsWith(`${name}: `))?.slice(name.length + 2);
    let raw: Buffer = Buffer.alloc(0);
    if (status >= 200) {
      const isEmpty = methods[turn++] === 'HEAD' || status === 304 || status === 204;
      const length = isEmpty ? 0 : Number(headerOf('content-length') ?? 0);
      if (!isEmpty && headerOf('transfer-encoding') === 'chunked') {
        const chunks: Buffer[] = [];
        for (let size = -1; size !== 0; ) {
          const line = bytes.indexOf('\r\n', at);
          size = Number.parseInt(bytes.toString('latin1', at, line), 16);
          chunks.push(bytes.subarray(line + 2, line + 2 + size));
          at = line + 2 + size + 2;
        }
        raw = Buffer.concat(chunks);
      } else {
        raw = bytes.subarray(at, at + length);
        at += length;
      }
    }
    const encoding = headerOf('content-encoding');
    answers.push({
      head: head.map((it) => normal(it, encoding !== undefined)).filter(Boolean),
      body: decoded(raw, encoding),
    });
  }
  return answers;
};

/** Ids that a server has made for requests without one: each server begins them in its own way. */
export const madeId = /^[\w-]{8}-/;
const madeIdLine = /^(x-request-id: )[\w-]{8}-[0-9a-z]+$/i;

/** The framework streams larger compressed bodies, so their length is unknown there. */
const normal = (line: string, isCompressed: boolean): string =>
  isCompressed && /^(content-length|transfer-encoding): /i.test(line)
    ? ''
    : line.replace(/^Date: .*/, 'Date').replace(madeIdLine, '$1');

const decoded = (raw: Buffer, encoding: string | undefined): string => {
  const plain =
    raw.length === 0 || encoding === undefined
      ? raw
      : encoding === 'br'
        ? zlib.brotliDecompressSync(raw)
        : zlib.gunzipSync(raw);
  return plain
    .toString()
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'an id')
    .replace(/("requestId":")[^"]*/, '$1');
};

export const send = async (port: number, ...sent: readonly Ask[]): Promise<readonly Answer[]> => {
  const all = sent.at(-1)!.headers.some((it) => /^connection: .*close/i.test(it)) ? sent : [...sent, last];
  return parse(
    await exchange(port, all.map(bytesOf).join('')),
    all.map((it) => it.method),
  );
};

// ---- the two servers

export interface Pair {
  readonly short: number;
  readonly whole: number;
  close(): Promise<unknown>;
}

export const startBoth = async (
  world: { readonly db: Db; readonly model: Parameters<typeof newTestDeps>[1] },
  settings: Partial<TestSettings> = {},
  cacheBytes?: number,
  logged?: { short: string[]; whole: string[] },
  people?: TestPeople,
): Promise<Pair> => {
  const deps = newTestDeps(world.db, world.model, settings, cacheBytes, people);
  const loggerTo = (lines: string[] | undefined) =>
    lines ? pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) }) : deps.logger;
  const apps: FastifyInstance[] = [
    await newServer({ ...deps, logger: loggerTo(logged?.short) }),
    await newServer({ ...deps, logger: loggerTo(logged?.whole) }, { withLane: false }),
  ];
  for (const app of apps) await app.listen({ host: '127.0.0.1', port: 0 });
  const [short = 0, whole = 0] = apps.map((app) => (app.server.address() as AddressInfo).port);
  return { short, whole, close: () => Promise.all(apps.map((app) => app.close())) };
};

export const titleOf = ({ method, url, headers, version }: Ask): string =>
  `${method} ${url.slice(0, 100)} ${version ?? ''} ${headers.join(' | ')}`;

export const expectEqual = async (pair: Pair, ...sent: readonly Ask[]): Promise<void> => {
  const [mine, other] = await Promise.all([send(pair.short, ...sent), send(pair.whole, ...sent)]);
  expect(mine, sent.map(titleOf).join('\n')).toEqual(other);
};
