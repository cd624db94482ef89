/**
 * Close to the least work that stores an uploaded picture as v4 does: the form goes to the disk, sharp re-encodes the
 * picture and makes four formats one after the other, and one row is written.
 */
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import Busboy from '@fastify/busboy';
import sharp from 'sharp';

const boxes = { thumbnail: [245, 156], large: [1000, 1000], medium: [750, 750], small: [500, 500] };

sharp.concurrency(1);
sharp.cache(false);

/**
 * @param insert writes a row of `files` and gives its id.
 * @returns gives the body of the response to the request.
 */
export const newUpload = (insert) => {
  const dir = process.env.BENCH_UPLOADS;
  // one picture at a time, as in the server
  let last = Promise.resolve();
  const inTurn = (work) => {
    last = last.then(work, work);
    return last;
  };
  return async (request) => {
    const received = await receive(request, dir);
    const hash = `${path.parse(received.name).name}_${crypto.randomBytes(5).toString('hex')}`;
    const ext = path.extname(received.name);
    const { main, formats } = await inTurn(() => convert(received, hash, ext, dir));
    fs.rmSync(received.file);
    const row = {
      ...{ name: received.name, width: main.width, height: main.height, formats: JSON.stringify(formats), hash, ext },
      ...{ mime: received.mime, size: main.size / 1000, url: `/uploads/${hash}${ext}`, provider: 'local' },
      ...{ folderPath: '/', now: Date.now() },
    };
    return JSON.stringify([{ id: await insert(row), ...row, formats }]);
  };
};

const receive = (request, dir) =>
  new Promise((resolve, reject) => {
    const form = new Busboy({ headers: request.headers });
    form.on('file', (_field, stream, name, _encoding, mime) => {
      const file = path.join(dir, `.${crypto.randomUUID()}`);
      pipeline(stream, fs.createWriteStream(file)).then(() => resolve({ file, name, mime }), reject);
    });
    form.on('error', reject);
    request.pipe(form);
  });

const convert = async ({ file, mime }, hash, ext, dir) => {
  const main = await sharp(file)
    .jpeg({ quality: 80 })
    .toFile(path.join(dir, `${hash}${ext}`));
  const formats = {};
  for (const [name, [width, height]] of Object.entries(boxes)) {
    const target = `${name}_${hash}${ext}`;
    const made = await sharp(file).resize({ width, height, fit: 'inside' }).jpeg().toFile(path.join(dir, target));
    const size = { width: made.width, height: made.height, size: made.size / 1000, sizeInBytes: made.size };
    formats[name] = {
      name: target,
      hash: `${name}_${hash}`,
      ext,
      mime,
      path: null,
      ...size,
      url: `/uploads/${target}`,
    };
  }
  return { main, formats };
};
