/** Request and response bodies: parsing of JSON and forms and its bounds, compression. */
import { isUtf8 } from 'node:buffer';
import type http from 'node:http';
import type { Transform } from 'node:stream';
import zlib from 'node:zlib';
import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';
import { type Issue, issue, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import { IncomingForm } from '../media/receive.js';
import { readFields } from '../query/brackets.js';
import { toObject } from '../query/objects.js';
import { brotliOptions, compressedBytesMin, encodings } from './encodings.js';
import { sendIssues } from './respond.js';

/** Marks a body that is refused before anything else is looked at (RQ14). */
class RefusedBody {
  readonly issues: readonly Issue[];
  constructor(...issues: readonly Issue[]) {
    this.issues = issues;
  }
}

/** Undefined if there is none. */
export const parseJson = (bytes: Buffer): Result<unknown> => {
  if (bytes.length === 0) return ok(undefined);
  // decoding would silently substitute replacement characters
  if (!isUtf8(bytes)) return refused(issue('http.malformed-body', []));
  try {
    return ok(JSON.parse(bytes.toString()));
  } catch {
    return refused(issue('http.malformed-body', []));
  }
};

/** Before anything else is looked at (RQ14). */
const orRefused = (body: Result<unknown>): unknown => (body.ok ? body.value : new RefusedBody(...body.issues));

/** Fields with brackets become the object that JSON would be (BO19). */
const parseFields = (bytes: Buffer): Result<unknown> => {
  if (bytes.length === 0) return ok(undefined);
  if (!isUtf8(bytes)) return refused(issue('form.not-utf8', []));
  const fields = readFields(bytes.toString());
  return fields.ok ? toObject(fields.value) : fields;
};

declare module 'fastify' {
  interface FastifyRequest {
    /** A body of type `multipart/form-data`, which has no `body`; null for any other. */
    form: IncomingForm | null;
  }
}

/** Bounds for clients that send slowly. Forms have their own (`media/receive.ts`). */
export interface SendingBounds {
  /** Milliseconds until a body must have arrived. Above: 408. */
  readonly bodyMsMax: number;
  /** Milliseconds for which the rest of a body is read after the response was sent. */
  readonly discardMsMax: number;
}

export const addBodies = async (app: FastifyInstance, bounds: SendingBounds): Promise<void> => {
  boundSenders(app, bounds);
  await app.register(compress, {
    encodings: [...encodings],
    threshold: compressedBytesMin,
    brotliOptions,
    requestEncodings: ['br', 'gzip', 'deflate', 'identity'],
    zlib: boundedZlib,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(/^application\/(vnd\.api\+)?json\s*(;|$)/i, { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, orRefused(parseJson(body as Buffer))),
  );
  app.addContentTypeParser(
    /^application\/x-www-form-urlencoded\s*(;|$)/i,
    { parseAs: 'buffer', bodyLimit: limits.fieldsBytesMax },
    (_request, body, done) => done(null, orRefused(parseFields(body as Buffer))),
  );
  // forms with files are read by the action, once it knows that the caller may send it
  app.decorateRequest('form', null);
  app.addContentTypeParser(formType, (request, stream, done) => {
    const { 'content-type': contentType = '', 'content-encoding': encoding = 'identity' } = request.headers;
    // files are rarely smaller for it, and its bound would be that of JSON
    if (encoding !== 'identity') return done(null, new RefusedBody(issue('form.encoded', [])));
    const { 'content-length': length } = request.headers;
    request.form = new IncomingForm(contentType, stream, length === undefined ? null : Number(length));
    done(null, undefined);
  });
  // any other content type counts as no body; the action reports its data as missing (BO17)
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, undefined));
  app.addHook('preHandler', (request, reply, done) => {
    // the body of a DELETE is ignored (RQ1)
    if (request.method === 'DELETE') request.body = undefined;
    if (request.body instanceof RefusedBody) sendIssues(reply, request.body.issues);
    else done();
  });
};

const within = (request: http.IncomingMessage, ms: number, end: () => void): void => {
  const timer = setTimeout(end, ms);
  const clear = (): void => clearTimeout(timer);
  request.once('end', clear);
  request.once('close', clear);
};

/** Ends a request whose body does not arrive in time, as Node would. */
export const boundBody = (server: http.Server, request: http.IncomingMessage, ms: number): void =>
  within(request, ms, () => server.emit('clientError', new SlowBody(), request.socket));

/** Node has one time limit for all requests, which must suffice for large forms. */
const boundSenders = (app: FastifyInstance, { bodyMsMax, discardMsMax }: SendingBounds): void => {
  app.addHook('preParsing', ({ raw }, _reply, payload, done) => {
    const { 'content-length': length, 'transfer-encoding': coding, 'content-type': type = '' } = raw.headers;
    if ((length !== undefined || coding !== undefined) && !formType.test(type)) boundBody(app.server, raw, bodyMsMax);
    done(null, payload);
  });
  app.addHook('onResponse', ({ raw }, _reply, done) => {
    // a client that is still sending may not have seen the response yet, so its connection is not closed at once
    if (raw.complete === false) within(raw, discardMsMax, () => raw.socket.destroy());
    done();
  });
};

const formType = /^multipart\/form-data\s*(;|$)/i;

/** Handled like Node's own. */
class SlowBody extends Error {
  readonly code = 'ERR_HTTP_REQUEST_TIMEOUT';
}

/** Stops at the body limit; otherwise a decompression bomb would be unpacked in full after it was refused. */
const boundStream =
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
  createBrotliDecompress: boundStream(() => zlib.createBrotliDecompress()),
  createGunzip: boundStream(() => zlib.createGunzip()),
  createInflate: boundStream(() => zlib.createInflate()),
};
