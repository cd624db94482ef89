/** Files under `/uploads`: static, without permissions, and unable to run scripts in our origin (RQ15). */
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import send from '@fastify/send';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { issue } from '../errors.js';
import { limits } from '../limits.js';
import { isShownInBrowsers, isStoredName } from '../media/naming.js';
import type { Store } from '../media/store.js';
import { isPlainName, namesBelow } from './file-names.js';
import { addPath } from './paths.js';
import { sendIssues } from './respond.js';

/**
 * @param dir the folder to serve, which need not exist yet; null serves none.
 * @param store what the folder lacks is looked for here, if it is read by signed URLs.
 */
export const addUploads = (app: FastifyInstance, dir: string | null, store: Store): void => {
  if (dir !== null) addPath(app, '/uploads/*', { GET: (request, reply) => sendUpload(request, reply, dir, store) });
};

const sendUpload = async (
  request: FastifyRequest,
  reply: FastifyReply,
  dir: string,
  store: Store,
): Promise<FastifyReply> => {
  // the router ignores case, and middlewares and proxies that guard the folder look at its name
  if (!request.raw.url!.startsWith('/uploads/')) return sendIssues(reply, [issue('http.not-found', [])]);
  const found = await findFile(request.raw.url!, dir);
  if (found === null) return redirect(request.raw.url!, reply, store);
  const { range } = request.raw.headers;
  if (range !== undefined) request.raw.headers.range = withinSize(range, found.bytes);
  const { statusCode, type, headers, stream } = await send(request.raw, encodeURI(found.file), { root: found.root });
  if (statusCode === 412) return sendIssues(reply, [issue('http.changed-meanwhile', [])]);
  if (statusCode === 416) {
    reply.header('content-range', headers['Content-Range']);
    return sendIssues(reply, [issue('http.range', [])]);
  }
  if (type !== 'file' || !(await isOpened(stream))) return sendIssues(reply, [issue('http.not-found', [])]);
  reply.code(statusCode).headers(headers).header('content-security-policy', contentSecurityPolicy);
  if (statusCode === 304) return reply.send();
  const mediaType = headers['Content-Type'] ?? 'application/octet-stream';
  if (!isShownInBrowsers(mediaType)) reply.header('content-disposition', 'attachment');
  return reply.header('content-type', mediaType).send(stream);
};

/** The last bytes of a file that has fewer are all of them (RFC 9110); the library finds no such range. */
const withinSize = (range: string, bytes: number): string =>
  range.replace(/([=,]\s*)-(\d+)/g, (given, before, last) => (Number(last) > bytes ? `${before}-${bytes}` : given));

/** To a signed URL. Only names of uploads: the bucket may hold other objects. */
const redirect = async (url: string, reply: FastifyReply, { linkTo }: Store): Promise<FastifyReply> => {
  const [, key = ''] = /^\/uploads\/([^/?]*)(?:\?|$)/.exec(url) ?? [];
  if (!linkTo || !isStoredName(key)) return sendIssues(reply, [issue('http.not-found', [])]);
  try {
    const link = await linkTo(key, Date.now());
    // the URL may be kept as long as it is sure to be valid
    reply.header('cache-control', `public, max-age=${limits.signedUrlPeriodMs / 1000}`);
    return reply.redirect(link, 302);
  } catch (fault) {
    // no credentials
    reply.log.error({ err: fault }, 'an upload cannot be signed');
    return sendIssues(reply, [issue('media.store-failed', [])]);
  }
};

/** If a browser still shows a file as a page, it has no origin and cannot load or run anything. */
const contentSecurityPolicy = "default-src 'none';img-src 'self';media-src 'self';style-src 'unsafe-inline';sandbox";

interface FoundFile {
  /** With links resolved. */
  readonly root: string;
  readonly file: string;
  readonly bytes: number;
}

/** The file that a path names; null if there is no such file. */
const findFile = async (url: string, dir: string): Promise<FoundFile | null> => {
  const names = namesBelow(url);
  if (!names.every(isPlainName)) return null;
  try {
    const root = await fs.promises.realpath(dir);
    const file = await fs.promises.realpath(path.join(root, ...names));
    // a link may point outside the folder
    if (!file.startsWith(root + path.sep)) return null;
    const stat = await fs.promises.stat(file);
    return stat.isFile() ? { root, file: path.relative(root, file), bytes: stat.size } : null;
  } catch (fault) {
    if (isMissing(fault)) return null;
    throw fault;
  }
};

/** Whether the file still exists. */
const isOpened = async (stream: NodeJS.ReadableStream): Promise<boolean> => {
  if (!(stream instanceof fs.ReadStream)) return true;
  try {
    await once(stream, 'open');
    return true;
  } catch (fault) {
    if (isMissing(fault)) return false;
    throw fault;
  }
};

const isMissing = (fault: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EACCES'].includes((fault as NodeJS.ErrnoException).code ?? '');
