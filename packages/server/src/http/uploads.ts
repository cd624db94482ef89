/** Files below `/uploads`. */
import fs from 'node:fs';
import path from 'node:path';
import staticFiles from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';

/** @param dir folder that is served; null serves none. */
export const addUploads = async (app: FastifyInstance, dir: string | null): Promise<void> => {
  if (dir !== null && fs.existsSync(dir)) await app.register(staticFiles, uploadsOptions(dir));
};

/** HTML and SVG could carry scripts in our origin: they are downloads (contract 12, row 57). */
const uploadsOptions = (dir: string) => ({
  root: path.resolve(dir),
  prefix: '/uploads/',
  index: false as const,
  // files that begin with a dot were never uploaded
  dotfiles: 'ignore' as const,
  decorateReply: false,
  setHeaders: (reply: FastifyReply, file: string) => {
    if (/\.(html?|xhtml|svgz?|xml)$/i.test(file)) reply.header('content-disposition', 'attachment');
  },
});
