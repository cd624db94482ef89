/** Bodies in both directions: JSON and its bounds, compression. */
import { isUtf8 } from 'node:buffer';
import type { Transform } from 'node:stream';
import zlib from 'node:zlib';
import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';
import { issue } from '../errors.js';
import { limits } from '../limits.js';
import { sendIssues } from './respond.js';

/** Stands for a body that is no JSON; it is refused before anything else (RQ14). */
class BrokenJson {}

const parseJson = (bytes: Buffer): unknown => {
  if (bytes.length === 0) return undefined;
  // decoding would put other characters in the place of what is no text
  if (!isUtf8(bytes)) return new BrokenJson();
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return new BrokenJson();
  }
};

export const addBodies = async (app: FastifyInstance): Promise<void> => {
  // brotli at its default quality takes longer than the response; 4 is about as fast as gzip
  await app.register(compress, {
    encodings: ['br', 'gzip'],
    threshold: 1024,
    brotliOptions: { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } },
    requestEncodings: ['br', 'gzip', 'deflate', 'identity'],
    zlib: boundedZlib,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(/^application\/(vnd\.api\+)?json/i, { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, parseJson(body as Buffer)),
  );
  // any other body is none: the action says that its data is missing (BO17)
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, undefined));
  app.addHook('preHandler', (request, reply, done) => {
    // DELETE has no body, whatever comes with it (RQ1)
    if (request.method === 'DELETE') request.body = undefined;
    if (request.body instanceof BrokenJson) sendIssues(reply, [issue('http.malformed-body', [])]);
    else done();
  });
};

/** Ends with the bound of bodies: a few bytes that hold gigabytes would be unpacked to their end after the refusal. */
const bounded =
  <Stream extends Transform>(create: () => Stream) =>
  (): Stream => {
    const stream = create();
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limits.bodyBytesMax) stream.destroy();
    });
    return stream;
  };

const boundedZlib = {
  ...zlib,
  createBrotliDecompress: bounded(() => zlib.createBrotliDecompress()),
  createGunzip: bounded(() => zlib.createGunzip()),
  createInflate: bounded(() => zlib.createInflate()),
};
