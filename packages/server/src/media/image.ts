/** Images: their dimensions, re-encoded contents and smaller formats, as v4 makes them. The content decides what is an image. */
import fs from 'node:fs/promises';
import path from 'node:path';
import type { Sharp } from 'sharp';
import { atMost } from '../concurrency.js';
import { issue, Refusal, refuse } from '../errors.js';
import { limits } from '../limits.js';

/** v4's switches in the settings of its media library. */
export interface ImageSettings {
  /** Re-encode at quality 80. */
  readonly sizeOptimization: boolean;
  /** Make the formats besides the thumbnail. */
  readonly responsiveDimensions: boolean;
  /** Turn the pixels as the orientation in the file says. */
  readonly autoOrientation: boolean;
}

export interface ImageFile {
  readonly path: string;
  readonly bytes: number;
  readonly width: number;
  readonly height: number;
}

export interface ProcessedImage extends ImageFile {
  readonly formats: ReadonlyMap<string, ImageFile>;
}

interface Box {
  readonly name: string;
  readonly width: number;
  readonly height: number;
}

const thumbnail: Box = { name: 'thumbnail', width: 245, height: 156 };
const responsive: readonly Box[] = [
  { name: 'large', width: 1000, height: 1000 },
  { name: 'medium', width: 750, height: 750 },
  { name: 'small', width: 500, height: 500 },
];

/** Formats that are decoded. SVG is only measured, and AVIF is a plain file. */
const raster = ['jpeg', 'png', 'webp', 'tiff', 'gif'] as const;
type RasterFormat = (typeof raster)[number];

/**
 * Dimensions and formats of an image; null for any other file. New files are put next to it. Throws `Refusal` for a
 * damaged image and for one with too many pixels.
 */
export const processImage = async (
  file: string,
  bytes: number,
  settings: ImageSettings,
): Promise<ProcessedImage | null> => {
  if (!(await isSafeToParse(file, bytes))) return null;
  return withThread(async () => {
    const { default: sharp } = await import('sharp');
    // one thread of this process, and nothing kept of files that are about to be moved
    sharp.concurrency(1);
    sharp.cache(false);
    const found = await sharp(file, { limitInputPixels: false })
      .metadata()
      .catch(() => null);
    const { format, width = 0, height = 0, pages = 1 } = found ?? {};
    if (format === 'svg') return { path: file, bytes, width, height, formats: new Map() };
    const known = raster.find((it) => it === format);
    if (known === undefined) return null;
    if (width * height > limits.imagePixelsMax)
      return refuse(issue('media.too-many-pixels', [], { max: limits.imagePixelsMax }));
    const open = (): Sharp => {
      const image = sharp(file, { limitInputPixels: limits.imagePixelsMax }).timeout({
        seconds: limits.imageSecondsMax,
      });
      return settings.autoOrientation ? image.autoOrient() : image;
    };
    try {
      return await convert({ path: file, bytes, width, height }, known, pages > 1, settings, open);
    } catch (fault) {
      throw await encodingFault(fault, path.dirname(file));
    }
  });
};

const convert = async (
  original: ImageFile,
  format: RasterFormat,
  isAnimated: boolean,
  settings: ImageSettings,
  open: () => Sharp,
): Promise<ProcessedImage> => {
  const write = async (image: Sharp, name: string): Promise<ImageFile> => {
    const target = `${original.path}-${name}`;
    const { size, width, height } = await image.toFile(target);
    return { path: target, bytes: size, width, height };
  };
  // encoding would leave only the first of several pictures
  const isKept = format === 'gif' || isAnimated || !(settings.sizeOptimization || settings.autoOrientation);
  const main = isKept ? original : await write(encoded(open(), format, settings), 'main');
  const boxes = settings.responsiveDimensions ? [thumbnail, ...responsive] : [thumbnail];
  const formats = new Map<string, ImageFile>();
  for (const box of boxes) {
    if (main.width <= box.width && main.height <= box.height) continue;
    const image = open().resize({ width: box.width, height: box.height, fit: 'inside' }).toFormat(format);
    formats.set(box.name, await write(image, box.name));
  }
  // whatever was not decoded so far may be damaged
  if (isKept && formats.size === 0) await open().stats();
  return { ...main, formats };
};

const encoded = (image: Sharp, format: Exclude<RasterFormat, 'gif'>, { sizeOptimization }: ImageSettings): Sharp =>
  image.toFormat(format, { quality: sizeOptimization ? 80 : 100 });

/** The encoder does not say whether it was the image or the disk. */
const encodingFault = async (fault: unknown, dir: string): Promise<unknown> => {
  if (fault instanceof Refusal) return fault;
  const { bavail, bsize, files, ffree } = await fs.statfs(dir);
  // some file systems do not count files
  const isFull = bavail * bsize < SPACE_MIN || (files > 0 && ffree === 0);
  return isFull
    ? Object.assign(new Error('the disk is full', { cause: fault }), { code: 'ENOSPC', syscall: 'write' })
    : new Refusal(issue('media.not-an-image', []));
};

/** Free bytes of a disk below which a failure of the encoder is taken to be its fault. */
const SPACE_MIN = 1024 * 1024;

/**
 * Raster images are measured by their headers, but SVG is parsed as a whole: only small ones are, and none that are
 * compressed, since they may be huge.
 */
const isSafeToParse = async (file: string, bytes: number): Promise<boolean> => {
  const handle = await fs.open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(512), 0, 512, 0);
    const head = buffer.subarray(0, bytesRead);
    if (head[0] === 0x1f && head[1] === 0x8b) return false;
    return bytes <= limits.svgBytesMax || !/^(?:\xef\xbb\xbf)?\s*</.test(head.toString('latin1'));
  } finally {
    await handle.close();
  }
};

/** Runs the work when a thread is free, first come, first served. */
const withThread = atMost(limits.imageThreadsMax);
