/**
 * Dovetail and the baseline store the same photograph with its formats, while readers ask for lists and entries: nobody
 * should wait for a picture. Each side has its own copy of the database and its own folder.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import sharp from 'sharp';
import { startReaders } from './client.mjs';
import { measureWrites, quantile, ratio } from './measure.mjs';
import { bothMs, newTable, say } from './print.mjs';
import { makeProject, nothingKept, portsOf, startBaseline, startDovetail, stopAll } from './processes.mjs';
import { requestsFor } from './requests.mjs';

export const uploadName = 'upload';

const megabytes = 5;
/** Seconds in which readers are measured without uploads. */
const quietSeconds = 3;

/** A photograph of 12 megapixels and 5 MB: soft noise, which compresses like one. */
const photograph = async () => {
  const noise = { type: 'gaussian', mean: 128, sigma: 30 };
  const picture = await sharp({ create: { width: 4000, height: 3000, channels: 3, background: 'grey', noise } })
    .blur(0.7)
    .png({ compressionLevel: 1 })
    .toBuffer();
  for (let quality = 90; ; quality += 1) {
    const bytes = await sharp(picture).jpeg({ quality }).toBuffer();
    if (bytes.length >= megabytes * 1000 * 1000 || quality >= 100) return bytes;
  }
};

const formOf = async (bytes) => {
  const form = new FormData();
  form.append('files', new Blob([bytes], { type: 'image/jpeg' }), 'photograph.jpg');
  const encoded = new Response(form);
  return { type: encoded.headers.get('content-type'), bytes: Buffer.from(await encoded.arrayBuffer()) };
};

/** @returns figures of one database */
export const compareUploads = async ({ store, world, dir, options }) => {
  const picture = await photograph();
  const { type, bytes } = await formOf(picture);
  const request = { method: 'POST', path: '/api/upload', type, bytes };
  const [list, , , one] = requestsFor({ articles: world.articles, lastPage: 1 });
  const readers = { connections: 2, pauseMs: 20, requestFor: (turn) => (turn % 2 === 0 ? list : one).url(turn) };
  const project = makeProject(path.join(dir, 'project-uploads'), nothingKept);
  const folder = path.join(dir, 'baseline-uploads');
  fs.mkdirSync(folder, { recursive: true });
  const copies = {};
  try {
    for (const side of ['dovetail', 'baseline']) copies[side] = await store.copy(world, side, []);
    const sides = {
      dovetail: await startDovetail(options.dist, project, copies.dovetail),
      baseline: await startBaseline(copies.baseline, { BENCH_UPLOADS: folder }),
    };
    const ports = portsOf(sides);
    await checkAnswers(ports, request);
    const aloneMs = {};
    for (const [side, port] of Object.entries(ports)) aloneMs[side] = await readAlone(port, readers);
    const load = { requestFor: () => request, firstTurn: 0, warming: 2, perSlice: 2, connections: 2, readers };
    const measured = await measureWrites(sides, { ...load, rounds: options.rounds ?? 4 });
    const figures = {
      ...{ bytes: picture.length, ...measured, aloneMs, ratio: ratio(measured.dovetail, measured.baseline) },
      rssMb: { dovetail: sides.dovetail.rssMb(), baseline: sides.baseline.rssMb() },
    };
    say(`uploads: each side in its own copy; reads: p99 of the readers beside them, and of readers alone`);
    table.head();
    printRow(figures);
    return figures;
  } finally {
    await stopAll();
    for (const copy of Object.values(copies)) await store.drop(copy);
    for (const made of [project, folder]) fs.rmSync(made, { recursive: true, force: true });
  }
};

/** Both sides must make the same formats. */
const checkAnswers = async (ports, { path: target, type, bytes }) => {
  const made = await Promise.all(
    Object.values(ports).map(async (port) => {
      const url = `http://127.0.0.1:${port}${target}`;
      const answer = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body: bytes });
      assert.equal(answer.status, 200, `upload: ${await answer.clone().text()}`);
      const [{ width, height, formats }] = await answer.json();
      const sizes = Object.entries(formats).map(([name, it]) => [name, [it.width, it.height]]);
      return { width, height, formats: Object.fromEntries(sizes) };
    }),
  );
  assert.deepEqual(made[0], made[1], 'Dovetail and the baseline make different formats');
};

/** p99 of the readers without any uploads. */
const readAlone = async (port, readers) => {
  let fault = null;
  const reading = startReaders({
    ...readers,
    port,
    onFault: (it) => {
      fault = it;
    },
  });
  await new Promise((resolve) => setTimeout(resolve, quietSeconds * 1000));
  const latencies = reading.stop().sort((a, b) => a - b);
  if (fault) throw fault;
  return quantile(latencies, 0.99);
};

const table = newTable([
  ['request', 42],
  ['dovetail/s', 11],
  ['baseline/s', 11],
  ['ratio', 7],
  ['p50 ms', 17],
  ['p99 ms', 17],
  ['reads p99 ms', 17],
  ['alone', 15],
  ['MB', 11],
]);
const printRow = ({ dovetail, baseline, aloneMs, rssMb, ...it }) => {
  const both = (key) => bothMs({ dovetail, baseline }, key);
  table.row([
    `${uploadName}: ${(it.bytes / 1e6).toFixed(1)} MB photograph, four formats`,
    dovetail.perSecond.toFixed(2),
    baseline.perSecond.toFixed(2),
    it.ratio.toFixed(2),
    both('p50Ms'),
    both('p99Ms'),
    both('readP99Ms'),
    `${aloneMs.dovetail.toFixed(1)} / ${aloneMs.baseline.toFixed(1)}`,
    `${rssMb.dovetail} / ${rssMb.baseline}`,
  ]);
};
