/** The Studio: its built files under `/studio`, with a content security policy of their own (SU6). */
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import once from 'lodash/once.js';
import mimeTypes from 'mime-types';
import { issue } from '../errors.js';
import { namesEtag } from '../read/etag.js';
import type { Ready } from '../ready.js';
import { type Compressed, type Encoding, newCompressed } from './encodings.js';
import { isPlainName, namesBelow } from './file-names.js';
import { addPath } from './paths.js';
import { sendIssues } from './respond.js';

export interface StudioSettings {
  /** The folder of the built files; while it has no `index.html`, the Studio is not there. */
  readonly dir: string;
  /** The path below which a proxy serves all of the server, without a slash at its end; '' for none. */
  readonly basePath: string;
  /** Origins of uploads besides the server's own and those that speak TLS. */
  readonly mediaOrigins: readonly string[];
}

export const STUDIO_PATH = '/studio';

/** Serves the Studio, and sends browsers there that ask for `/`. */
export const addStudio = (app: FastifyInstance, settings: StudioSettings): void => {
  const home = settings.basePath + STUDIO_PATH;
  const fileOf = newFiles(settings.dir, app.log);
  const compressed = newCompressed(COMPRESSED_BYTES_MAX);

  const sendPage = async (reply: FastifyReply): Promise<FastifyReply> => {
    const page = await fileOf('index.html');
    if (!page) return sendIssues(reply, [issue('http.not-found', [])]);
    const nonce = crypto.randomBytes(16).toString('base64');
    return (
      reply
        .header('content-type', 'text/html; charset=utf-8')
        // with a nonce of its own each time, a page that was kept would not match its policy
        .header('cache-control', 'no-store')
        .header('content-security-policy', policyFor(nonce, settings))
        .header('cross-origin-opener-policy', 'same-origin')
        .header('x-frame-options', 'DENY')
        // whatever a project sends with its own content: addresses may hold one-time keys and queries
        .header('referrer-policy', 'no-referrer')
        .header('x-content-type-options', 'nosniff')
        .send(pageFor((await page.plain()).toString(), `${home}/`, nonce))
    );
  };

  const sendBelow = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const names = namesBelow(request.raw.url!);
    // the Studio's own addresses have no extension
    if (path.posix.extname(names.at(-1) ?? '') === '') return sendPage(reply);
    const name = names.join('/');
    const file = names.every(isPlainName) && !unserved.test(name) ? await fileOf(name) : null;
    if (!file) return sendIssues(reply, [issue('http.not-found', [])]);
    return sendFile(request, reply, file, name, compressed);
  };

  addPath(app, STUDIO_PATH, { GET: (_request, reply) => sendPage(reply) });
  addPath(app, `${STUDIO_PATH}/*`, { GET: sendBelow });
  addPath(app, '/', {
    GET: async (request, reply) => {
      const isBrowser = /\btext\/html\b/i.test(request.headers.accept ?? '');
      reply.header('vary', `${String(reply.getHeader('vary'))}, accept`);
      if (!isBrowser || !(await fileOf('index.html'))) return sendIssues(reply, [issue('http.not-found', [])]);
      return reply.header('cache-control', 'no-cache').redirect(home, 302);
    },
  });
};

/** All files of the Studio, compressed, are smaller. */
const COMPRESSED_BYTES_MAX = 4 * 1024 * 1024;

/** Scripts and requests only of and to this origin; styles that scripts add carry the nonce. */
const policyFor = (nonce: string, { mediaOrigins }: StudioSettings): string => {
  const media = ["'self'", 'data:', 'blob:', 'https:', ...mediaOrigins].join(' ');
  return Object.entries({
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': `'self' 'nonce-${nonce}'`,
    'img-src': media,
    'media-src': media,
    'font-src': "'self'",
    'connect-src': "'self'",
    'worker-src': "'self'",
    'manifest-src': "'self'",
    'base-uri': "'self'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
  })
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join(';');
};

/** What the build leaves open in `index.html`: the nonce of styles, and where the Studio is. */
const pageFor = (html: string, base: string, nonce: string): string =>
  html.replaceAll('__CSP_NONCE__', nonce).replace(/(<base\s[^>]*href=")[^"]*"/i, (_, start) => `${start}${base}"`);

interface StudioFile {
  /** As the build has compressed it, if it has. */
  readonly brotli: Buffer | null;
  readonly plain: () => Ready<Buffer>;
  readonly etag: string;
}

const decompress = promisify(zlib.brotliDecompress);

/**
 * Reads files once, and again when they have changed; null for one that is not there. The build calls compressed ones
 * `NAME.br`; a damaged one is not there, or browsers would keep it.
 */
const newFiles = (dir: string, log: FastifyBaseLogger): ((name: string) => Promise<StudioFile | null>) => {
  const known = new Map<string, { readonly stamp: string; readonly file: StudioFile | null }>();
  const read = async (file: string, isBrotli: boolean): Promise<StudioFile | null> => {
    const bytes = await fs.promises.readFile(file);
    const etag = `"${crypto.hash('sha256', bytes, 'base64url').slice(0, 27)}"`;
    if (!isBrotli) return { brotli: null, plain: () => bytes, etag };
    try {
      await decompress(bytes);
    } catch (fault) {
      log.error(`${file} is damaged: ${(fault as Error).message}; install Dovetail again`);
      return null;
    }
    return { brotli: bytes, plain: once(() => decompress(bytes)), etag };
  };
  return async (name) => {
    for (const isBrotli of [true, false]) {
      const file = path.join(dir, isBrotli ? `${name}.br` : name);
      try {
        const { mtimeMs, size } = await fs.promises.stat(file);
        const stamp = `${mtimeMs} ${size}`;
        const found = known.get(file);
        const made = found?.stamp === stamp ? found.file : await read(file, isBrotli);
        known.set(file, { stamp, file: made });
        if (made) return made;
      } catch (fault) {
        if (!notThere.includes((fault as NodeJS.ErrnoException).code)) throw fault;
        known.delete(file);
      }
    }
    return null;
  };
};

const notThere: readonly (string | undefined)[] = ['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG'];

const sendFile = async (
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { brotli, plain, etag }: StudioFile,
  name: string,
  compressed: Compressed,
): Promise<FastifyReply> => {
  // names in this folder change with their content
  const isNamedByContent = name.startsWith('assets/');
  reply
    .header('etag', `W/${etag}`)
    .header('cache-control', isNamedByContent ? 'public, max-age=31536000, immutable' : 'no-cache');
  const known = headers['if-none-match'];
  if (known !== undefined && namesEtag(known, etag)) return reply.code(304).send();
  // what the build has compressed is worth it
  const size = brotli ? Number.POSITIVE_INFINITY : (await plain()).length;
  const encoding: Encoding = compressible.test(name) ? compressed.encodingFor(headers, size) : 'identity';
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply
    .header('content-type', mimeTypes.contentType(path.posix.basename(name)) || 'application/octet-stream')
    .send(brotli && encoding === 'br' ? brotli : await compressed.encode(await plain(), encoding, true));
};

const compressible = /\.(?:js|css|svg|json|txt|webmanifest|html)$/;

/** The page has addresses of its own, compressed files are sent under the names of plain ones, and source maps not at all. */
const unserved = /^index\.html$|\.(?:map|br)$/;
