/** `strapi.plugin('upload').service('upload')`: stores files with their rows, those that code has in memory too. */
import path from 'node:path';
import { extensionOf, mediaTypeOf, newHash } from '../../media/naming.js';
import { kilobytes } from '../../media/prepare.js';
import { FILE_UID, FOLDER_UID } from '../../model/model.js';
import type { EntityParams } from '../data/entity-service.js';
import { opening, receivedFiles, withStaged } from '../data/files.js';
import { isMembers, type Members } from '../loading/parts.js';
import { NotFoundError } from '../strapi-utils/errors.js';
import { absent } from '../strapi-utils/missing.js';
import { absentMethods } from './absent.js';
import type { ServiceDeps } from './services.js';

const NAME = "strapi.plugin('upload').service('upload')";

export const uploadService = ({ entities, entityService, media }: ServiceDeps): Record<string, unknown> => {
  /** @param infoOf what is said of each file, by its index. @returns their rows, private values too. */
  const store = (
    files: unknown,
    infoOf: (index: number) => Members,
    { ref, refId, field }: Members,
  ): Promise<unknown> => {
    const fields = Object.entries({ ref, refId, field })
      .filter(([, value]) => value != null)
      .map(([name, value]) => ({ name, value: String(value) }));
    return withStaged(files, async (staged) => {
      const received = await receivedFiles({ files: staged });
      const infos = received.map((_it, i) => ({ name: 'fileInfo', value: JSON.stringify(infoOf(i)) }));
      const shown = await media().withCopies(received, (copies) => entities.upload(copies, [...fields, ...infos]));
      const rows = await entities.find(
        FILE_UID,
        { filters: { id: { $in: shown.map((it) => it.id) } } },
        { start: 0, limit: null },
      );
      return shown.map((it) => ({ ...rows.find(({ id }) => id === it.id), ...it }));
    });
  };

  const upload = ({ data, files }: { readonly data?: unknown; readonly files?: unknown } = {}): Promise<unknown> => {
    const { fileInfo, ...reference } = isMembers(data) ? data : {};
    const infos: readonly unknown[] = [fileInfo].flat();
    return store(files, (i) => placed(infos[i]), reference);
  };

  /** Of what `formatFileInfo` has made, with its content as `getStream`, `stream` or `buffer`. The stored name is a new one. */
  const uploadFileAndPersist = async (file: Members): Promise<unknown> => {
    const { name, ext, mime, alternativeText, caption, folder, related, buffer, stream, getStream } = file;
    const fileName = path.extname(String(name)) === '' ? `${String(name)}${String(ext ?? '')}` : name;
    const [{ id: refId, __type: ref, __pivot: pivot = {} } = {}] = (related ?? []) as readonly Members[];
    const [stored] = (await upload({
      data: { fileInfo: { name, alternativeText, caption, folder }, ref, refId, field: (pivot as Members)['field'] },
      files: { name: fileName, type: mime, buffer, stream, getStream },
    })) as readonly unknown[];
    return stored;
  };

  /** What the row of a file says of its folder. */
  const placeIn = async (given: unknown): Promise<Members> => {
    const folder = folderIn(given);
    if (folder === null) return { folder, folderPath: '/' };
    const found = await entityService.findOne(FOLDER_UID, folder);
    if (!found) throw new NotFoundError(`there is no folder ${String(given)}`);
    return { folder, folderPath: found['path'] };
  };

  const formatFileInfo = async (file: GivenFile, info: Members = {}, metas: Members = {}): Promise<Members> => ({
    ...formatted(file, info, metas),
    ...(await placeIn(info['folder'])),
  });

  return {
    ...absent(NAME, absentMethods['upload.upload']),
    upload,
    /** As the files of an entry: in the folder of API uploads. */
    uploadToEntity: ({ id, model, field }: Members, files: unknown) =>
      store(files, () => ({}), { ref: model, refId: id, field }),
    formatFileInfo,
    enhanceAndValidateFile: async (file: Members, info?: Members, metas?: Members) => {
      const { name, originalFilename, type, mimetype, size } = file;
      const given = { filename: name ?? originalFilename, type: type ?? mimetype, size };
      return { ...(await formatFileInfo(given, info, metas)), getStream: opening(file) };
    },
    uploadFileAndPersist,
    findOne: (id: unknown, populate?: unknown) => entityService.findOne(FILE_UID, id, { populate }),
    findMany: (params?: EntityParams) => entityService.findMany(FILE_UID, params),
    findPage: (params?: EntityParams) => entityService.findPage(FILE_UID, params),
    updateFileInfo: async (id: unknown, { name, alternativeText, caption, folder }: Members) =>
      entityService.update(FILE_UID, id, {
        data: { name, alternativeText, caption, ...(folder === undefined ? {} : await placeIn(folder)) },
      }),
    /** @returns the file as it was. */
    remove: async ({ id }: { readonly id: number }) => {
      const file = await entities.findOne(FILE_UID, id, {});
      if (!file) throw new NotFoundError('file not found');
      await entities.removeFile(id);
      return file;
    },
  };
};

/** Its id, which may be a text; null for the top of the library. */
const folderIn = (given: unknown): unknown => {
  if (typeof given === 'string' && /^\d+$/.test(given)) return Number(given);
  return given || null;
};

/** What code says of a file; nothing, if it is no object, as in v4. Without a folder the file is at the top of the library. */
const placed = (info: unknown): Members => {
  const said = isMembers(info) ? info : {};
  return { ...said, folder: folderIn(said['folder']) };
};

interface GivenFile {
  readonly filename?: unknown;
  readonly type?: unknown;
  readonly size?: unknown;
}

/** The values of a row, for code that completes them before it hands them to `uploadFileAndPersist`. */
const formatted = ({ filename, type, size }: GivenFile, info: Members, metas: Members): Members => {
  if (typeof filename !== 'string' || filename === '') throw new TypeError(`${NAME}.formatFileInfo: give a filename`);
  const { ref, refId, field } = metas;
  const mime = typeof type === 'string' ? type : '';
  const { name: given, alternativeText, caption } = info;
  const name = typeof given === 'string' && given !== '' ? given : filename;
  return {
    name,
    alternativeText,
    caption,
    hash: newHash(name),
    ext: extensionOf(filename, mime),
    mime: mediaTypeOf(mime, filename),
    size: kilobytes(Number(size ?? 0)),
    ...(refId === undefined ? {} : { related: [{ id: refId, __type: ref, __pivot: { field } }] }),
  };
};
