/**
 * A load generator that costs little compared with the server under test: keep-alive sockets that read into their own
 * buffers, and parse nothing but the status line and the length of a response.
 */
import net from 'node:net';

/**
 * A text is the path of a GET; a body is sent as JSON, bytes as they are.
 * @typedef {string | { method: string, path: string, body: unknown } | { method: string, path: string, type: string, bytes: Buffer }} ClientRequest
 */
/**
 * @typedef {{ requests: number, sent: number, seconds: number, latenciesMs: number[] }} Slice
 *   `sent`: all requests, also those that are not counted.
 */

/** Responses per connection that are received first and not counted. */
const discarded = 2;

/**
 * Sends requests over some connections at once, each connection one at a time, until both the time is over and enough
 * requests are answered.
 * @param requestFor the n-th request.
 * @returns {Promise<Slice>}
 */
export const runSlice = ({ port, requestFor, seconds, connections, requests = 2 * connections }) =>
  new Promise((resolve, reject) => {
    const latenciesMs = [];
    let warmUpLeft = discarded * connections;
    let started = 0;
    const onAnswer = (sentAt) => {
      const now = performance.now();
      if (warmUpLeft > 0) {
        warmUpLeft -= 1;
        started = now;
        return;
      }
      latenciesMs.push(now - sentAt);
      const elapsed = (now - started) / 1000;
      if (elapsed < seconds || latenciesMs.length < requests) return;
      const sent = latenciesMs.length + discarded * connections + connections - 1;
      load.stop();
      resolve({ requests: latenciesMs.length, sent, seconds: elapsed, latenciesMs });
    };
    const load = startLoad({ port, connections, requestFor, onAnswer, onFault: reject });
  });

/**
 * Sends so many requests, no more, and waits for the last answer: what writes leave behind is known.
 * @param requestFor the n-th request.
 * @returns {Promise<Slice>}
 */
export const runExactly = ({ port, requestFor, requests, connections }) =>
  new Promise((resolve, reject) => {
    const latenciesMs = [];
    let started = 0;
    const onAnswer = (sentAt) => {
      const now = performance.now();
      latenciesMs.push(now - sentAt);
      if (latenciesMs.length < requests) return;
      load.stop();
      resolve({ requests, sent: requests, seconds: (now - started) / 1000, latenciesMs });
    };
    const numbered = (turn) => {
      if (turn === 0) started = performance.now();
      return turn < requests ? requestFor(turn) : null;
    };
    const load = startLoad({ port, connections, requestFor: numbered, onAnswer, onFault: reject });
  });

/**
 * Readers in the background, each with a pause after every answer, so that a slow server has no fewer of them.
 * @returns {{ stop(): number[] }} `stop` gives the milliseconds that the answers took.
 */
export const startReaders = ({ port, requestFor, connections, pauseMs, onFault }) => {
  const latenciesMs = [];
  const onAnswer = (sentAt) => latenciesMs.push(performance.now() - sentAt);
  const load = startLoad({ port, connections, requestFor, pauseMs, onAnswer, onFault });
  return {
    stop: () => {
      load.stop();
      return latenciesMs;
    },
  };
};

/**
 * Connections that send one request after the other, each the next one of all; null is none.
 * @param onAnswer hears when the request was sent. @param onFault hears the first fault; everything has stopped then.
 */
const startLoad = ({ port, connections, requestFor, pauseMs = 0, onAnswer, onFault }) => {
  const sockets = [];
  let sent = 0;
  let isOver = false;
  const stop = () => {
    isOver = true;
    for (const socket of sockets) socket.destroy();
  };
  const fail = (fault) => {
    if (isOver) return;
    stop();
    onFault(fault);
  };
  const connect = () => {
    let sentAt = 0;
    let request = null;
    const next = () => {
      request = isOver ? null : requestFor(sent++);
      if (request === null) return;
      sentAt = performance.now();
      socket.write(textOf(request, port));
      if (request.bytes) socket.write(request.bytes);
    };
    const answered = (status) => {
      if (status !== 200) return fail(new Error(`${status} for ${nameOf(request)}`));
      onAnswer(sentAt);
      return pauseMs > 0 ? setTimeout(next, pauseMs) : next();
    };
    const socket = net.connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: { buffer: Buffer.allocUnsafe(256 * 1024), callback: newReader(answered, fail) },
    });
    sockets.push(socket);
    socket.on('connect', next);
    socket.on('error', fail);
    socket.on('close', () => fail(new Error(`the server closed the connection during ${nameOf(request)}`)));
  };
  for (let i = 0; i < connections; i++) connect();
  return { stop };
};

const textOf = (request, port) => {
  if (typeof request === 'string') return `GET ${request} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`;
  if (request.bytes) return headOf(request, port, request.type, request.bytes.length);
  const body = JSON.stringify(request.body);
  return headOf(request, port, 'application/json', Buffer.byteLength(body)) + body;
};

const headOf = ({ method, path }, port, type, length) =>
  `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n`;

const nameOf = (request) => (typeof request === 'string' ? request : `${request?.method} ${request?.path}`);

/** More than the head of any response here. */
const headBytesMax = 4096;

/** Reads responses with a Content-Length; calls back with the status when one is complete. */
const newReader = (answered, fail) => {
  let head = '';
  let status = 0;
  let bodyLeft = 0;
  return (size, buffer) => {
    let at = 0;
    if (bodyLeft === 0) {
      const text = head + buffer.latin1Slice(0, Math.min(size, headBytesMax));
      const end = text.indexOf('\r\n\r\n');
      if (end === -1) {
        head = text;
        return true;
      }
      const [, code = '0'] = /^HTTP\/1\.1 (\d{3})/.exec(text) ?? [];
      const [, length] = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end + 2)) ?? [];
      if (length === undefined) return fail(new Error(`an answer without a length:\n${text.slice(0, end)}`));
      status = Number(code);
      bodyLeft = Number(length);
      at = end + 4 - head.length;
      head = '';
    }
    bodyLeft -= size - at;
    if (bodyLeft === 0) answered(status);
    return true;
  };
};
