/** Files below `/uploads`: static, without permissions, and unable to run scripts in our origin (RQ15). */
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import send from '@fastify/send';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { issue } from '../errors.js';
import { addPath } from './paths.js';
import { sendIssues } from './respond.js';

/** @param dir folder that is served, whether it exists already or not; null serves none. */
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
  if (!shownTypes.test(mediaType)) reply.header('content-disposition', 'attachment');
  return reply.header('content-type', mediaType).send(stream);
};

/**
 * Types that browsers show and run nothing of; anything else is downloaded. By the type that is sent: names of files say
 * little (`.shtml` is HTML, `.rdf` is XML, and XML may hold scripts).
 */
const shownTypes = /^(?:(?:image|video|audio|font)\/(?!.*xml)|application\/pdf$|text\/plain\b)/;

/** Should a browser show a file as a page all the same, it has no origin there, and loads and runs nothing. */
const contentSecurityPolicy = "default-src 'none';img-src 'self';media-src 'self';style-src 'unsafe-inline';sandbox";

/** The file that a path names, free of links, and the folder in which it is; null where there is none to be served. */
const findFile = async (url: string, dir: string): Promise<{ readonly root: string; readonly file: string } | null> => {
  const [pathname = ''] = url.split('?', 1);
  const names = pathname.split('/').slice(2).map(decodeURIComponent);
  if (!names.every(isName)) return null;
  try {
    const root = await fs.promises.realpath(dir);
    const file = await fs.promises.realpath(path.join(root, ...names));
    // a link may lead out of the folder
    if (!file.startsWith(root + path.sep) || !(await fs.promises.stat(file)).isFile()) return null;
    return { root, file: path.relative(root, file) };
  } catch (fault) {
    if (isMissing(fault)) return null;
    throw fault;
  }
};

/** Of a file or folder below another; encoded slashes make no path, and files that begin with a dot were never uploaded. */
const isName = (text: string): boolean => text !== '' && !text.startsWith('.') && !/[/\\]/.test(text);

/** Whether the file is still there. */
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
