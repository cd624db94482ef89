/** Request and response bodies: parsing of JSON and forms and its bounds, compression. */
import { isUtf8 } from 'node:buffer';
import type http from 'node:http';
import type net from 'node:net';
import { pipeline, type Readable, type Transform } from 'node:stream';
import zlib from 'node:zlib';
import compress from '@fastify/compress';
import type { FastifyInstance, FastifyRequest, preParsingHookHandler } from 'fastify';
import { type Issue, issue, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import { IncomingForm } from '../media/receive.js';
import { readFields } from '../query/brackets.js';
import { toObject } from '../query/objects.js';
import { acceptedNames, brotliOptions, codingNames, compressedBytesMin, encodings } from './encodings.js';
import { loggable } from './faults.js';
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

/** How bodies are read that the code of a v4 project handles. */
export interface CodeBodies {
  takes(request: FastifyRequest): boolean;
  /** To be called with every body that is parsed. */
  keep(request: FastifyRequest, bytes: Buffer): void;
  json(bytes: Buffer): Result<unknown>;
  fields(bytes: Buffer): Result<unknown>;
  text(bytes: Buffer): string;
}

export const addBodies = async (
  app: FastifyInstance,
  bounds: SendingBounds,
  bytesMax: number = limits.bodyBytesMax,
  code: CodeBodies | null = null,
): Promise<void> => {
  boundSenders(app, bounds);
  // the framework compares them literally
  app.addHook('onRequest', ({ raw: { headers } }, _reply, done) => {
    const { 'content-encoding': coding, 'accept-encoding': accepted } = headers;
    if (coding !== undefined) headers['content-encoding'] = codingNames(coding);
    if (accepted !== undefined) headers['accept-encoding'] = acceptedNames(String(accepted));
    done();
  });
  await app.register(compress, {
    encodings: [...encodings],
    threshold: compressedBytesMin,
    brotliOptions,
    requestEncodings: ['br', 'gzip', 'deflate', 'identity'],
    zlib: boundedZlib(bytesMax),
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(jsonType, { parseAs: 'buffer' }, (request, body, done) => {
    code?.keep(request, body as Buffer);
    done(null, orRefused(code?.takes(request) ? code.json(body as Buffer) : parseJson(body as Buffer)));
  });
  app.addContentTypeParser(
    fieldsType,
    { parseAs: 'buffer', bodyLimit: limits.fieldsBytesMax },
    (request, body, done) => {
      code?.keep(request, body as Buffer);
      done(null, orRefused(code?.takes(request) ? code.fields(body as Buffer) : parseFields(body as Buffer)));
    },
  );
  if (code) app.addHook('preParsing', decompressing(code, boundedZlib(bytesMax)));
  // forms with files are read by the action, once it knows that the caller may send it
  app.decorateRequest('form', null);
  app.addContentTypeParser(formType, (request, stream, done) => {
    const { 'content-type': contentType = '', 'content-encoding': encoding = 'identity' } = request.headers;
    // files are rarely smaller for it, and its bound would be that of JSON
    if (encoding !== 'identity') return done(null, new RefusedBody(issue('form.encoded', [])));
    const { 'content-length': length } = request.headers;
    const onFault = (fault: unknown): void => request.log.error({ err: loggable(fault) }, 'uploads cannot be stored');
    request.form = new IncomingForm(contentType, stream, length === undefined ? null : Number(length), onFault);
    done(null, undefined);
  });
  // any other content type counts as no body; the action reports its data as missing (BO17)
  if (code) addOtherBodies(app, code, bytesMax);
  else app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, undefined));
  app.addHook('preHandler', (request, reply, done) => {
    if (isTooLate(request.raw)) {
      reply.hijack();
      return;
    }
    // the body of a DELETE is ignored (RQ1)
    if (request.method === 'DELETE') request.body = undefined;
    if (request.body instanceof RefusedBody) sendIssues(reply, request.body.issues);
    else done();
  });
};

const jsonType = /^application\/(vnd\.api\+)?json\s*(;|$)/i;
const fieldsType = /^application\/x-www-form-urlencoded\s*(;|$)/i;
/** For code alone. */
const otherJsonType = /^application\/(?:json-patch\+json|csp-report)\s*(;|$)/i;
const textType = /^text\//i;

/** Whether code gets such a body parsed; any other it reads from the request as it comes. */
const isParsed = (type: string): boolean => [jsonType, fieldsType, otherJsonType, textType].some((it) => it.test(type));

/** Handled like the framework's own. */
class UnknownEncoding extends Error {
  readonly code = 'FST_CP_ERR_INVALID_CONTENT_ENCODING';
  readonly statusCode = 415;
}

/** `@fastify/compress` unpacks bodies for the framework's routes alone, and requests for code are of none of these. */
const decompressing = (code: CodeBodies, by: ReturnType<typeof boundedZlib>): preParsingHookHandler => {
  const ways = new Map<string, () => Transform>([
    ['br', by.createBrotliDecompress],
    ['gzip', by.createGunzip],
    ['deflate', by.createInflate],
  ]);
  return (request, _reply, payload, done) => {
    const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = request.headers;
    if (!request.is404 || encoding === 'identity' || !isParsed(type) || !code.takes(request))
      return done(null, payload);
    const unpack = ways.get(encoding);
    if (!unpack) return done(new UnknownEncoding(), payload);
    // the framework compares what has arrived with Content-Length
    const stream = Object.assign(unpack(), { receivedEncodedLength: 0 });
    payload.on('data', (chunk: Buffer) => {
      stream.receivedEncodedLength += chunk.length;
    });
    // its reader hears of errors
    pipeline(payload, stream, () => undefined);
    done(null, stream);
  };
};

/** Code gets texts, and reads what is none of these from the request itself. */
const addOtherBodies = (app: FastifyInstance, code: CodeBodies, bytesMax: number): void => {
  app.addContentTypeParser(otherJsonType, { parseAs: 'buffer' }, (request, body, done) => {
    code.keep(request, body as Buffer);
    done(null, code.takes(request) ? orRefused(code.json(body as Buffer)) : undefined);
  });
  app.addContentTypeParser(textType, { parseAs: 'buffer' }, (request, body, done) => {
    code.keep(request, body as Buffer);
    done(null, code.takes(request) ? code.text(body as Buffer) : undefined);
  });
  app.addContentTypeParser('*', (request, stream, done) => {
    const isWhole = stream === request.raw;
    if (isWhole && code.takes(request)) done(null, undefined);
    else discard(stream, bytesMax, (fault) => done(fault, undefined));
  });
};

/** Reads a body to its end. */
const discard = (stream: Readable, bytesMax: number, done: (fault: Error | null) => void): void => {
  let bytes = 0;
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > bytesMax) end(new BodyTooLarge());
  };
  const end = (fault: Error | null): void => {
    stream.off('data', count).off('end', ended).off('error', end);
    if (fault) stream.resume();
    done(fault);
  };
  const ended = (): void => end(null);
  stream.on('data', count).once('end', ended).once('error', end);
};

/** Handled like the framework's own. */
class BodyTooLarge extends Error {
  readonly statusCode = 413;
}

/** Calls `end` after a time, unless the body has arrived, or `closing` has closed, by then. */
const within = (
  request: http.IncomingMessage,
  closing: http.IncomingMessage | net.Socket,
  ms: number,
  end: () => void,
): void => {
  const timer = setTimeout(end, ms);
  const clear = (): void => clearTimeout(timer);
  request.once('end', clear);
  closing.once('close', clear);
};

/** Ends a request whose body does not arrive in time, as Node would. */
export const boundBody = (server: http.Server, request: http.IncomingMessage, ms: number): void => {
  const { socket } = request;
  within(request, request, ms, () => server.emit('clientError', new SlowBody(), socket));
};

/** Whether the connection was ended before all of the request had arrived: whatever it asks for was refused by a 408. */
export const isTooLate = ({ socket }: http.IncomingMessage): boolean => socket?.writableEnded === true;

/** Node has one time limit for all requests, which must suffice for large forms. */
const boundSenders = (app: FastifyInstance, { bodyMsMax, discardMsMax }: SendingBounds): void => {
  /** Of requests with a body: if it cannot be decompressed, Node destroys the request and sets its `socket` to null. */
  const sockets = new WeakMap<http.IncomingMessage, net.Socket>();
  app.addHook('preParsing', ({ raw }, _reply, payload, done) => {
    const { 'content-length': length, 'transfer-encoding': coding, 'content-type': type = '' } = raw.headers;
    if (length !== undefined || coding !== undefined) {
      sockets.set(raw, raw.socket);
      if (!formType.test(type)) boundBody(app.server, raw, bodyMsMax);
    }
    done(null, payload);
  });
  app.addHook('onResponse', ({ raw }, _reply, done) => {
    // a client that is still sending may not have seen the response yet, so its connection is not closed at once
    if (raw.complete === false) {
      const socket = sockets.get(raw) ?? raw.socket;
      within(raw, socket, discardMsMax, () => socket.destroy());
    }
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
  <Stream extends Transform>(create: () => Stream, bytesMax: number) =>
  (): Stream => {
    const stream = create();
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > bytesMax) stream.destroy();
    });
    return stream;
  };

const boundedZlib = (bytesMax: number) => ({
  ...zlib,
  createBrotliDecompress: boundStream(() => zlib.createBrotliDecompress(), bytesMax),
  createGunzip: boundStream(() => zlib.createGunzip(), bytesMax),
  createInflate: boundStream(() => zlib.createInflate(), bytesMax),
});
