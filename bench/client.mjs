/**
 * A load generator that costs little beside the server it measures: keep-alive sockets that read into a buffer of their
 * own, and look at nothing but the status line and the length of an answer.
 */
import net from 'node:net';

/** @typedef {{ requests: number, seconds: number, latenciesMs: number[] }} Slice */

/** Answers for each connection that come first and are not counted. */
const discarded = 2;

/**
 * Sends requests over some connections at once, each connection one at a time, until both the time is over and enough
 * requests are answered.
 * @param urlFor the path of the n-th request.
 * @returns {Promise<Slice>}
 */
export const runSlice = ({ port, urlFor, seconds, connections, requests = 2 * connections }) =>
  new Promise((resolve, reject) => {
    const latenciesMs = [];
    const sockets = [];
    let sent = 0;
    let warmUpLeft = discarded * connections;
    let started = 0;
    let isOver = false;

    const finish = (settle) => {
      isOver = true;
      for (const socket of sockets) socket.destroy();
      settle();
    };
    const fail = (fault) => {
      if (!isOver) finish(() => reject(fault));
    };
    /** Counts an answer; true once the slice is over. */
    const count = (sentAt) => {
      const now = performance.now();
      if (warmUpLeft > 0) {
        warmUpLeft -= 1;
        started = now;
        return;
      }
      latenciesMs.push(now - sentAt);
      const elapsed = (now - started) / 1000;
      if (elapsed >= seconds && latenciesMs.length >= requests)
        finish(() => resolve({ requests: latenciesMs.length, seconds: elapsed, latenciesMs }));
    };

    const connect = () => {
      let sentAt = 0;
      let url = '';
      const next = () => {
        url = urlFor(sent++);
        sentAt = performance.now();
        socket.write(`GET ${url} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`, 'latin1');
      };
      const answered = (status) => {
        if (status !== 200) return fail(new Error(`${status} for ${url}`));
        count(sentAt);
        return isOver ? undefined : next();
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
      socket.on('close', () => fail(new Error(`the server closed the connection during ${url}`)));
    };
    for (let i = 0; i < connections; i++) connect();
  });

/** More than the head of any answer here. */
const headBytesMax = 4096;

/** Reads answers that say their length; calls back with the status when one is complete. */
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
