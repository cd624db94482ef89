/** Where the server spends CPU time while one request is repeated: Node's sampling profiler, summed by function. */
import fs from 'node:fs';
import path from 'node:path';
import { runSlice } from './client.mjs';
import { startDovetail } from './processes.mjs';

/**
 * @param requestFor the n-th request.
 * @returns {Promise<{ where: string, share: number }[]>} shares of the total time, the greatest first
 */
export const profileRequest = async (dist, project, world, requestFor, { dir, connections }) => {
  const profiles = fs.mkdtempSync(path.join(dir, 'profile-'));
  const side = await startDovetail(dist, project, world, ['--cpu-prof', `--cpu-prof-dir=${profiles}`]);
  await runSlice({ port: side.port, requestFor, seconds: 4, connections });
  await side.stop();
  const [file] = fs.readdirSync(profiles);
  const { nodes, samples, timeDeltas } = JSON.parse(fs.readFileSync(path.join(profiles, file), 'utf8'));
  fs.rmSync(profiles, { recursive: true });
  // the second half, when the server is warm
  const from = samples.length >> 1;
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const times = new Map();
  let total = 0;
  for (let i = from; i < samples.length; i++) {
    const where = names.get(samples[i]);
    times.set(where, (times.get(where) ?? 0) + timeDeltas[i]);
    total += timeDeltas[i];
  }
  return [...times].map(([where, time]) => ({ where, share: time / total })).sort((a, b) => b.share - a.share);
};

const nameOf = ({ functionName, url, lineNumber }) => {
  const name = functionName === '' ? '(anonymous)' : functionName;
  if (url === '') return name;
  const short = url
    .replace(/^file:\/\//, '')
    .replace(/^.*\/(dist|node_modules)\//, (_, folder) => (folder === 'dist' ? '' : 'node_modules/'));
  return `${name} ${short}:${lineNumber + 1}`;
};
