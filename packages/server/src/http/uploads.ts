/** Files under `/uploads`: static, without permissions, and unable to run scripts in our origin (RQ15). */
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import send from '@fastify/send';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { issue } from '../errors.js';
import { addPath } from './paths.js';
import { sendIssues } from './respond.js';

/** @param dir the folder to serve, which need not exist yet; null serves none. */
export const addUploads = (app: FastifyInstance, dir: string | null): void => {
  if (dir !== null) addPath(app, '/uploads/*', { GET: (request, reply) => sendUpload(request, reply, dir) });
};

const sendUpload = async (request: FastifyRequest, reply: FastifyReply, dir: string): Promise<FastifyReply> => {
  const found = await findFile(request.raw.url!, dir);
  if (found === null) return sendIssues(reply, [issue('http.not-found', [])]);
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
  if (!inlineTypes.test(mediaType)) reply.header('content-disposition', 'attachment');
  return reply.header('content-type', mediaType).send(stream);
};

/**
 * Types that browsers display without running code; anything else is downloaded. Decided by the Content-Type, because
 * file extensions mislead (`.shtml` is HTML, `.rdf` is XML, and XML may contain scripts).
 */
const inlineTypes = /^(?:(?:image|video|audio|font)\/(?!.*xml)|application\/pdf$|text\/plain\b)/;

/** If a browser still shows a file as a page, it has no origin and cannot load or run anything. */
const contentSecurityPolicy = "default-src 'none';img-src 'self';media-src 'self';style-src 'unsafe-inline';sandbox";

/** The file that a path names, with links resolved, and its root folder; null if there is no such file. */
const findFile = async (url: string, dir: string): Promise<{ readonly root: string; readonly file: string } | null> => {
  const [pathname = ''] = url.split('?', 1);
  const names = pathname.split('/').slice(2).map(decodeURIComponent);
  if (!names.every(isName)) return null;
  try {
    const root = await fs.promises.realpath(dir);
    const file = await fs.promises.realpath(path.join(root, ...names));
    // a link may point outside the folder
    if (!file.startsWith(root + path.sep) || !(await fs.promises.stat(file)).isFile()) return null;
    return { root, file: path.relative(root, file) };
  } catch (fault) {
    if (isMissing(fault)) return null;
    throw fault;
  }
};

/** Whether a path segment is a plain name: encoded slashes are not separators, and no upload begins with a dot. */
const isName = (text: string): boolean => text !== '' && !text.startsWith('.') && !/[/\\]/.test(text);

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
