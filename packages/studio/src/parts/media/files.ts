/** Files of the media library, as `/upload/files` writes them. */

export interface MediaFile {
  readonly id: number;
  readonly name: string;
  readonly alternativeText: string | null;
  readonly caption: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly formats: Readonly<Record<string, StoredFormat>> | null;
  readonly ext: string | null;
  readonly mime: string;
  /** Of 1,000 bytes, as v4 counts. */
  readonly size: number;
  /** Below the server, or absolute for files in a bucket. */
  readonly url: string;
  readonly previewUrl: string | null;
  readonly provider: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly folder?: { readonly id: number } | null;
}

interface StoredFormat {
  readonly url: string;
  readonly width: number;
  readonly height: number;
  readonly mime?: string;
  readonly size: number;
  readonly sizeInBytes?: number;
}

export const kinds = ['image', 'video', 'audio', 'file'] as const;
/** As `allowedTypes` tells files apart. */
export type Kind = (typeof kinds)[number];

export const kindOf = (mime: string): Kind => {
  const [family = ''] = mime.toLowerCase().split('/');
  return family === 'image' || family === 'video' || family === 'audio' ? family : 'file';
};

const allowedKind: Readonly<Record<string, Kind>> = {
  images: 'image',
  videos: 'video',
  audios: 'audio',
  files: 'file',
};

/** The kinds that a media attribute takes; null takes all of them. */
export const kindsAllowed = (allowedTypes: readonly string[] | null): readonly Kind[] =>
  allowedTypes === null || allowedTypes.length === 0
    ? kinds
    : kinds.filter((kind) => allowedTypes.some((it) => allowedKind[it] === kind));

/** For the file dialog of the browser. */
export const acceptOf = (allowed: readonly Kind[]): string | undefined =>
  allowed.includes('file') ? undefined : allowed.map((it) => `${it}/*`).join(',');

export const bytesOf = (size: number): number => Math.round(size * 1000);

/** Pictures that browsers draw as an `<img>`, where SVG runs no script. */
const drawn: ReadonlySet<string> = new Set([
  ...['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'image/avif', 'image/svg+xml', 'image/bmp', 'image/x-icon'],
]);

/** The smallest picture of a file that is at least `width` wide; itself if it has no formats; null if it is no picture. */
export const pictureOf = (file: MediaFile, width: number): string | null => {
  if (kindOf(file.mime) !== 'image') return null;
  const formats = formatsOf(file);
  const enough = formats.find((it) => it.width >= width) ?? formats.at(-1);
  const isEnough = enough !== undefined && (enough.width >= width || !drawn.has(file.mime));
  return isEnough ? enough.url : drawn.has(file.mime) ? file.url : null;
};

export interface Format extends StoredFormat {
  readonly name: string;
  readonly bytes: number;
}

/** The smallest first. The column may hold anything, because plugins of v4 write it too. */
export const formatsOf = ({ formats }: Pick<MediaFile, 'formats'>): readonly Format[] =>
  Object.entries(formats ?? {})
    .filter(([, it]) => typeof it?.url === 'string' && typeof it.width === 'number' && typeof it.height === 'number')
    .map(([name, it]) => ({ ...it, name, bytes: it.sizeInBytes ?? bytesOf(it.size) }))
    .sort((a, b) => a.width - b.width);

/** @param base of the server, without a slash at its end: `https://content.example.org/cms`. */
export const addressOf = (url: string, base: string): string => (/^(https?:)?\/\//i.test(url) ? url : `${base}${url}`);

/** With the version in the address, because a file whose content is replaced keeps its URL. @param base as in `addressOf`. */
export const shownAt = (url: string, { updatedAt }: Pick<MediaFile, 'updatedAt'>, base: string): string =>
  url.startsWith('/') && !url.startsWith('//') ? `${base}${url}?${Date.parse(updatedAt)}` : url;

/** Pictures that an `<img>` shows as they are. */
export const isDrawn = ({ mime }: Pick<MediaFile, 'mime'>): boolean => drawn.has(mime);

/** What stands for a file that is no picture: its extension in capitals. */
export const badgeOf = ({ ext, mime }: Pick<MediaFile, 'ext' | 'mime'>): string =>
  (ext?.replace(/^\./, '') || mime.split('/')[1] || '').slice(0, 5).toUpperCase();
