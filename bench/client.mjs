/**
 * A load generator that costs little beside the server it measures: keep-alive sockets that read into a buffer of their
 * own, and look at nothing but the status line and the length of an answer.
 */
import net from 'node:net';

/** @typedef {{ requests: number, seconds: number, latenciesMs: number[] }} Slice */

/** Answers of each connection that come first and are not counted. */
const discarded = 2;

/**
 * Sends requests over some connections at once, each connection one at a time, until the time is over or the requests
 * are answered.
 * @param urlFor the path of the n-th request.
 * @returns {Promise<Slice>}
 */
export const runSlice = ({ port, urlFor, seconds, requests = Number.POSITIVE_INFINITY, connections }) =>
  new Promise((resolve, reject) => {
    const latenciesMs = [];
    const sockets = [];
    let sent = 0;
    let open = 0;
    let started = Number.NaN;
    let end = Number.POSITIVE_INFINITY;

    const finish = () => {
      resolve({ requests: latenciesMs.length, seconds: (end - started) / 1000, latenciesMs });
    };
    const fail = (fault) => {
      for (const socket of sockets) socket.destroy();
      reject(fault);
    };

    const connect = () => {
      let answers = 0;
      let sentAt = 0;
      let url = '';
      const next = () => {
        url = urlFor(sent++);
        sentAt = performance.now();
        socket.write(`GET ${url} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`, 'latin1');
      };
      const answered = (status) => {
        const now = performance.now();
        if (status !== 200) return fail(new Error(`${status} for ${url}`));
        answers += 1;
        if (Number.isNaN(started) && answers > discarded) {
          started = sentAt;
          end = started + seconds * 1000;
        }
        if (sentAt >= started && now <= end && latenciesMs.push(now - sentAt) === requests) end = now;
        if (now < end) return next();
        socket.destroy();
        open -= 1;
        if (open === 0) finish();
      };
      const reader = newReader(answered);
      const socket = net.connect({
        host: '127.0.0.1',
        port,
        noDelay: true,
        onread: { buffer: Buffer.allocUnsafe(256 * 1024), callback: reader },
      });
      sockets.push(socket);
      open += 1;
      socket.on('connect', next);
      socket.on('error', fail);
      socket.on('end', () => fail(new Error(`the server closed the connection during ${url}`)));
    };
    for (let i = 0; i < connections; i++) connect();
  });

/** Reads answers that say their length; calls back with the status when one is complete. */
const newReader = (answered) => {
  let head = '';
  let status = 0;
  let bodyLeft = 0;
  return (size, buffer) => {
    let at = 0;
    if (bodyLeft === 0) {
      // heads are short: one piece nearly always
      const found = buffer.subarray(0, size).indexOf('\r\n\r\n');
      head += buffer.latin1Slice(0, found === -1 ? size : found);
      if (found === -1) return true;
      const [, code = '0'] = /^HTTP\/1\.1 (\d{3})/.exec(head) ?? [];
      const [, length] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? [];
      if (length === undefined) throw new Error(`an answer without a length:\n${head}`);
      status = Number(code);
      bodyLeft = Number(length);
      head = '';
      at = found + 4;
    }
    bodyLeft -= size - at;
    if (bodyLeft === 0) answered(status);
    return true;
  };
};
