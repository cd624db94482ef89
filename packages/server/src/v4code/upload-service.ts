/** `strapi.plugin('upload').service('upload')`: stores files with their rows, those that code has in memory too. */
import path from 'node:path';
import { extensionOf, mediaTypeOf, newHash } from '../media/naming.js';
import { kilobytes } from '../media/prepare.js';
import { FILE_UID } from '../model/model.js';
import type { EntityParams } from './entity-service.js';
import { NotFoundError } from './errors.js';
import { opening, receivedFiles, withStaged } from './files.js';
import { absent } from './missing.js';
import { isMembers, type Members } from './parts.js';
import type { ServiceDeps } from './plugin-services.js';

const NAME = "strapi.plugin('upload').service('upload')";

export const uploadService = ({ entities, entityService, media }: ServiceDeps): Record<string, unknown> => {
  const upload = async ({
    data,
    files,
  }: {
    readonly data?: unknown;
    readonly files?: unknown;
  } = {}): Promise<unknown> => {
    const { fileInfo, ref, refId, field } = isMembers(data) ? data : {};
    const fields = Object.entries({ ref, refId, field })
      .filter(([, value]) => value != null)
      .map(([name, value]) => ({ name, value: String(value) }));
    const infos = [fileInfo].flat().filter((it) => it != null);
    return withStaged(files, async (staged) =>
      media().withCopies(await receivedFiles({ files: staged }), (copies) =>
        entities.upload(copies, [...fields, ...infos.map((it) => ({ name: 'fileInfo', value: JSON.stringify(it) }))]),
      ),
    );
  };

  /** Of what `formatFileInfo` has made, with its content as `getStream`, `stream` or `buffer`. The stored name is a new one. */
  const uploadFileAndPersist = async (file: Members): Promise<unknown> => {
    const { name, ext, mime, alternativeText, caption, related, buffer, stream, getStream } = file;
    const fileName = path.extname(String(name)) === '' ? `${String(name)}${String(ext ?? '')}` : name;
    const [{ id: refId, __type: ref, __pivot: pivot = {} } = {}] = (related ?? []) as readonly Members[];
    const [stored] = (await upload({
      data: { fileInfo: { name, alternativeText, caption }, ref, refId, field: (pivot as Members)['field'] },
      files: { name: fileName, type: mime, buffer, stream, getStream },
    })) as readonly unknown[];
    return stored;
  };

  return {
    ...absent(NAME, absentOfUpload),
    upload,
    uploadToEntity: ({ id, model, field }: Members, files: unknown) =>
      upload({ data: { ref: model, refId: id, field }, files }),
    formatFileInfo: async (file: GivenFile, info?: Members, metas?: Members) => formatted(file, info, metas),
    enhanceAndValidateFile: async (file: Members, info?: Members, metas?: Members) => {
      const { name, originalFilename, type, mimetype, size } = file;
      const given = { filename: name ?? originalFilename, type: type ?? mimetype, size };
      return { ...formatted(given, info, metas), getStream: opening(file) };
    },
    uploadFileAndPersist,
    findOne: (id: unknown, populate?: unknown) => entityService.findOne(FILE_UID, id, { populate }),
    findMany: (params?: EntityParams) => entityService.findMany(FILE_UID, params),
    findPage: (params?: EntityParams) => entityService.findPage(FILE_UID, params),
    updateFileInfo: (id: unknown, { name, alternativeText, caption }: Members) =>
      entityService.update(FILE_UID, id, { data: { name, alternativeText, caption } }),
    /** @returns the file as it was. */
    remove: async ({ id }: { readonly id: number }) => {
      const file = await entities.findOne(FILE_UID, id, {});
      if (!file) throw new NotFoundError('file not found');
      await entities.removeFile(id);
      return file;
    },
  };
};

interface GivenFile {
  readonly filename?: unknown;
  readonly type?: unknown;
  readonly size?: unknown;
}

/** The values of a row, for code that completes them before it hands them to `uploadFileAndPersist`. */
const formatted = ({ filename, type, size }: GivenFile, info: Members = {}, metas: Members = {}): Members => {
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

/** What v4's service has besides. */
const absentOfUpload = [...['add', 'replace', 'getSettings', 'setSettings', 'getConfiguration', 'setConfiguration']];
