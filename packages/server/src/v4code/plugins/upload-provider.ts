/** `strapi.plugin('upload').provider`: stores contents under names of the caller's, without rows. */
import type { Store } from '../../media/store.js';
import { receivedFile, withStaged } from '../data/files.js';
import { isMembers, type Members } from '../loading/parts.js';
import { withMissing } from '../strapi-utils/missing.js';

const NAME = "strapi.plugin('upload').provider";

export const uploadProvider = (store: () => Store): object => {
  /** Sets `url`, as v4's providers do. */
  const upload = async (file: unknown): Promise<void> => {
    const key = keyOf(file);
    const given = isMembers(file) ? file : {};
    await withStaged({ name: key, type: given['mime'], ...contentOf(given) }, async (staged) => {
      const { path, bytes, type } = await receivedFile(staged, 'file');
      await store().put(key, { path, bytes, mime: type === '' ? 'application/octet-stream' : type });
    });
    if (isMembers(file)) (file as Record<string, unknown>)['url'] = store().urlOf(key);
  };
  return withMissing(NAME, {
    upload,
    uploadStream: upload,
    delete: (file: unknown) => store().remove(keyOf(file)),
    isPrivate: () => store().linkTo !== undefined,
    getSignedUrl: async (file: unknown) => {
      const { urlOf, linkTo } = store();
      const key = keyOf(file);
      return { url: linkTo ? await linkTo(key, Date.now()) : urlOf(key) };
    },
  });
};

const contentOf = ({ buffer, stream, getStream }: Members): Members => {
  if (buffer !== undefined) return { buffer };
  return stream === undefined ? { getStream } : { stream };
};

const keyOf = (file: unknown): string => {
  const { hash, ext = '' } = isMembers(file) ? file : {};
  const key = `${typeof hash === 'string' ? hash : ''}${typeof ext === 'string' ? ext : ''}`;
  if (!/^[\w-][\w.-]*$/.test(key))
    throw new TypeError(`${NAME} takes a file with hash and ext, which are its name: letters, digits, "_", "-", "."`);
  return key;
};
