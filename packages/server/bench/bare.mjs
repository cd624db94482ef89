/**
 * How near repeated requests come to bare node:http, which sends the same status, headers and bytes from memory and does
 * nothing else. As a program it is that server: `bare.mjs FILE PORT`.
 */
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { runSlice } from './client.mjs';
import { startScript } from './processes.mjs';

/** Headers that Node adds itself. */
const ofNode = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding']);

/**
 * Requests per second of CPU time, of all threads of a process; sides alternate, and the best slice of each counts.
 * @param {import('./processes.mjs').Side} side the server to compare. @param {string[]} urls
 * @param {{ dir: string, rounds?: number, seconds?: number, connections?: number }} options `dir` for a temporary file
 * @returns {Promise<{ url: string, bytes: number, perCpuSecond: number, bare: number, ratio: number }[]>}
 */
export const compareWithBare = async (side, urls, { dir, rounds = 7, seconds = 0.5, connections = 16 }) => {
  const { bare, answers } = await startBare(side, urls, dir);
  const results = [];
  try {
    for (const url of urls) {
      const best = new Map([side, bare].map((it) => [it, 0]));
      // the first round warms up
      for (let round = 0; round <= rounds; round++)
        for (const it of [side, bare]) {
          const before = it.cpuUs();
          const { requests } = await runSlice({ port: it.port, requestFor: () => url, seconds, connections });
          const rate = requests / ((it.cpuUs() - before) / 1e6);
          if (round > 0) best.set(it, Math.max(best.get(it), rate));
        }
      const [perCpuSecond, ofBare] = [best.get(side), best.get(bare)];
      const bytes = Buffer.from(answers[url].body, 'base64').length;
      results.push({ url, bytes, perCpuSecond, bare: ofBare, ratio: perCpuSecond / ofBare });
    }
  } finally {
    await bare.stop();
  }
  return results;
};

/** Starts bare node:http with the answers of a side. @param dir for a temporary file. */
export const startBare = async (side, urls, dir) => {
  const answers = Object.fromEntries(await Promise.all(urls.map(async (url) => [url, await fetchAnswer(side, url)])));
  const file = path.join(dir, `bare-${process.pid}.json`);
  fs.writeFileSync(file, JSON.stringify(answers));
  // it serves once it has read them
  const bare = await startScript('bare.mjs', [file], {});
  fs.rmSync(file);
  return { bare, answers };
};

const fetchAnswer = async ({ port }, url) => {
  const answer = await fetch(`http://127.0.0.1:${port}${url}`, { headers: { 'accept-encoding': 'identity' } });
  const headers = [...answer.headers].filter(([name]) => !ofNode.has(name));
  return { status: answer.status, headers, body: Buffer.from(await answer.arrayBuffer()).toString('base64') };
};

const serve = (file, port) => {
  const answers = new Map(
    Object.entries(JSON.parse(fs.readFileSync(file, 'utf8'))).map(([url, { status, headers, body }]) => [
      url,
      { status, headers: headers.flat(), body: Buffer.from(body, 'base64') },
    ]),
  );
  http
    .createServer({ keepAliveTimeout: 72_000 }, (request, response) => {
      const answer = answers.get(request.url);
      if (!answer) return response.writeHead(204).end();
      return response.writeHead(answer.status, answer.headers).end(answer.body);
    })
    .listen(Number(port), '127.0.0.1');
};

if (process.argv[1] === import.meta.filename) serve(...process.argv.slice(2));
