/** Says which code of a project does not return: nothing else runs then, requests and `/_health` included. */
import { Worker } from 'node:worker_threads';
import { limits } from '../limits.js';

/**
 * Watches this thread from another one, which interrupts it for a moment to see where it is, as a debugger does. A line of the
 * log is written by that thread, because this one cannot. While a debugger is attached it does nothing: a program at a
 * breakpoint does not return either, and to resume it would be to take it from whoever looks at it.
 * @returns ends it.
 */
export const watchLoop = (): (() => void) => {
  const shared = new SharedArrayBuffer(8);
  const [beats, debugged] = [new Int32Array(shared, 0, 1), new Int32Array(shared, 4, 1)];
  const { url } = process.getBuiltinModule('node:inspector');
  const beat = (): void => {
    Atomics.store(debugged, 0, url() === undefined ? 0 : 1);
    Atomics.add(beats, 0, 1);
  };
  const timer = setInterval(beat, limits.loopBeatMs).unref();
  beat();
  const isText = process.stdout.isTTY === true;
  const worker = new Worker(watcher, { eval: true, workerData: { shared, ms: limits.loopBlockedMs, isText } });
  worker.unref();
  // without it nobody hears of such code, which runs all the same
  worker.on('error', () => undefined);
  return () => {
    clearInterval(timer);
    void worker.terminate();
  };
};

/** As text: it needs nothing but Node, and is no file of its own. */
const watcher = `
const fs = require('node:fs');
const { Session } = require('node:inspector');
const { workerData: { shared, ms, isText } } = require('node:worker_threads');
const [beats, debugged] = [new Int32Array(shared, 0, 1), new Int32Array(shared, 4, 1)];
let last = -1;
/** Looks in a row that found no sign of life. */
let missed = 0;
const looks = 10;
let isLogged = false;
const log = (frames) => {
  const msg = 'nothing was answered for ' + ms + ' ms, because this code does not return';
  const stack = frames.map((it) => '    at ' + it).join('\\n');
  const line = { level: 50, time: Date.now(), pid: process.pid, stack, msg };
  fs.writeSync(1, (isText ? msg + '\\n' + stack : JSON.stringify(line)) + '\\n');
};
const look = () => {
  const files = new Map();
  const session = new Session();
  session.connectToMainThread();
  session.on('Debugger.scriptParsed', ({ params }) => files.set(params.scriptId, params.url));
  session.on('Debugger.paused', ({ params }) => {
    try {
      // it may have returned in the meantime
      if (Atomics.load(beats, 0) === last)
        log(params.callFrames.slice(0, 20).map(({ functionName, location: { scriptId, lineNumber } }) =>
          (functionName || '(anonymous)') + ' (' + (files.get(scriptId) ?? '').replace(/^file:\\/\\//, '') + ':' + (lineNumber + 1) + ')'));
    } finally {
      session.post('Debugger.resume', () => session.disconnect());
    }
  });
  session.post('Debugger.enable', () => session.post('Debugger.pause'));
};
setInterval(() => {
  const now = Atomics.load(beats, 0);
  if (now !== last || Atomics.load(debugged, 0) === 1) {
    last = now;
    missed = 0;
    isLogged = false;
  } else if (++missed >= looks && !isLogged) {
    isLogged = true;
    look();
  }
}, ms / looks);
`;
