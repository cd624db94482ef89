/** What the media library asks of the server and tells it. */
import { keepPreviousData, queryOptions, useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { encodeQuery, type Send } from 'dovetail-client';
import { useMemo, useSyncExternalStore } from 'react';
import { type Model, typeOf } from '../../model/model.js';
import { type ApiClient, getData, serverSend } from '../../server/clients.js';
import { useAdministrator, useClient, useMe, useModel } from '../../server/queries.js';
import { readAgain } from '../../server/query-client.js';
import { mayDo } from '../../server/rights.js';
import type { Kind, MediaFile } from './files.js';
import type { Folder } from './folders.js';
import { filesQuery, type Listing } from './listing.js';
import { isUnderWay, newUploads, type Upload, type Uploads } from './uploads.js';

interface MediaRights {
  readonly read: boolean;
  readonly create: boolean;
  /** Deleting is one of the changes, as in v4. */
  readonly update: boolean;
  /** Folders belong to nobody: they are not for those who may change only their own files. */
  readonly createFolders: boolean;
  readonly updateFolders: boolean;
}

/** What whoever is signed in may do with files and folders; the server decides again. */
export const useMediaRights = (): MediaRights => {
  const me = useMe();
  const may = (action: string, to?: 'all'): boolean => mayDo(me, `plugin::upload.${action}`, null, to);
  return {
    read: may('read'),
    create: may('assets.create'),
    update: may('assets.update'),
    createFolders: may('assets.create', 'all'),
    updateFolders: may('assets.update', 'all'),
  };
};

export interface FilePage {
  readonly files: readonly MediaFile[];
  readonly total: number;
}

const filesOptions = (client: ApiClient, listing: Listing, kinds?: readonly Kind[]) => {
  const query = filesQuery(listing, kinds);
  return queryOptions({
    queryKey: ['media', 'files', query],
    queryFn: async ({ signal }): Promise<FilePage> => {
      const [files, total] = await Promise.all([
        client.files.find(query, { signal }),
        client.files.count({ filters: (query as { filters: object }).filters }, { signal }),
      ]);
      return { files: files as unknown as readonly MediaFile[], total };
    },
    placeholderData: keepPreviousData,
  });
};

/** A page of the library. @param kinds those that are shown at all. */
export const useFiles = (listing: Listing, kinds?: readonly Kind[]) =>
  useQuery(filesOptions(useClient(), listing, kinds));

export const fileOptions = (client: ApiClient, id: number) =>
  queryOptions({
    queryKey: ['media', 'file', id],
    queryFn: async ({ signal }): Promise<{ readonly file: MediaFile; readonly etag: string | null }> => {
      const path = `/upload/files/${id}`;
      const { headers, body } = await client.send({ method: 'GET', path, query: 'populate=folder', signal });
      return { file: body as MediaFile, etag: headers.get('etag') };
    },
  });
export const useFile = (id: number) => useQuery(fileOptions(useClient(), id));

export const useFolders = () =>
  useQuery({
    queryKey: ['media', 'folders'],
    queryFn: ({ signal }) => getData<readonly Folder[]>(serverSend(), '/_dovetail/folders', signal),
  });

interface FoundUse {
  /** The uid of the type. */
  readonly type: string;
  readonly id: number;
  readonly attribute: string;
}

export interface Use extends FoundUse {
  /** What names the entry to people; null if it has no such name, or may not be read. */
  readonly title: string | null;
}

export interface Uses {
  readonly uses: readonly Use[];
  readonly total: number;
}

const usesOptions = (model: Model, id: number) =>
  queryOptions({
    queryKey: ['media', 'uses', id],
    queryFn: async ({ signal }): Promise<Uses> => {
      const send = serverSend();
      const { body } = await send({ method: 'GET', path: `/_dovetail/files/${id}/uses`, signal });
      const { data, meta } = body as { data: readonly FoundUse[]; meta: { total: number } };
      const titles = await titlesOf(data, model, send, signal);
      return {
        uses: data.map((it) => ({ ...it, title: titles.get(`${it.type} ${it.id}`) ?? null })),
        total: meta.total,
      };
    },
  });

export const useUses = (id: number) => useQuery(usesOptions(useModel(), id));

/** Of each file, in their order; undefined while it is not known. */
export const useUsesOfAll = (ids: readonly number[]) => {
  const model = useModel();
  return useQueries({ queries: ids.map((id) => usesOptions(model, id)) });
};

/** One request for each type. Types that may not be read have no titles. */
const titlesOf = async (
  uses: readonly FoundUse[],
  model: Model,
  send: Send,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> => {
  const titles = new Map<string, string>();
  await Promise.all(
    [...new Set(uses.map((it) => it.type))].map(async (uid) => {
      const type = typeOf(model, uid);
      if (!type?.path) return;
      if (type.kind === 'single') for (const { id } of uses) titles.set(`${uid} ${id}`, type.displayName);
      if (type.kind !== 'collection' || type.mainField === null || !type.may.find) return;
      const ids = [...new Set(uses.filter((it) => it.type === uid).map((it) => it.id))];
      const query = {
        filters: { id: { $in: ids } },
        fields: [type.mainField],
        publicationState: 'preview',
        pagination: { pageSize: ids.length },
        ...(type.localized ? { locale: 'all' } : {}),
      };
      const { body } = await send({ method: 'GET', path: type.path, query: encodeQuery(query), signal });
      for (const { id, attributes } of (body as { data: readonly FoundEntry[] }).data) {
        const title = attributes[type.mainField];
        if (title !== null && title !== undefined && title !== '') titles.set(`${uid} ${id}`, String(title));
      }
    }),
  );
  return titles;
};

interface FoundEntry {
  readonly id: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** What is kept of the library is asked for again: after every change, because files move between pages and folders. */
export const useRefresh = (): (() => Promise<void>) => {
  const queries = useQueryClient();
  return () => readAgain(queries, { queryKey: ['media'] });
};

export const folderActions = {
  create: (name: string, parent: number | null) =>
    serverSend()({ method: 'POST', path: '/_dovetail/folders', body: { name, parent } }),
  update: (id: number, change: { readonly name?: string; readonly parent?: number | null }) =>
    serverSend()({ method: 'PUT', path: `/_dovetail/folders/${id}`, body: change }),
  remove: (id: number) => serverSend()({ method: 'DELETE', path: `/_dovetail/folders/${id}` }),
};

// ---- uploads

/** Of whoever is signed in; they go on while other rooms are looked at, and end with the session. */
let current: { readonly who: number | 'public'; readonly uploads: Uploads } | null = null;

export const useUploads = (): { readonly uploads: Uploads; readonly list: readonly Upload[] } => {
  const client = useClient();
  const queries = useQueryClient();
  const who = useAdministrator()?.id ?? 'public';
  const uploads = useMemo(() => {
    if (current?.who === who) return current.uploads;
    // nothing of one person is sent in the name of another
    current?.uploads.cancelAll();
    const made = newUploads(
      async (file, folder, { signal, onProgress }) => {
        const [stored] = await client.files.upload([file], { info: [{ folder }] }, { signal, onProgress });
        return stored as unknown as MediaFile;
      },
      () => void readAgain(queries, { queryKey: ['media'] }),
    );
    current = { who, uploads: made };
    made.subscribe(() => warnBeforeUnload(made.all().some(({ state }) => isUnderWay(state))));
    return made;
  }, [who, client, queries]);
  return { uploads, list: useSyncExternalStore(uploads.subscribe, uploads.all) };
};

/** Closing the page ends uploads, in whichever room one is: the browser asks first. */
const warnBeforeUnload = (isBusy: boolean): void => {
  if (isBusy) addEventListener('beforeunload', preventUnload);
  else removeEventListener('beforeunload', preventUnload);
};
const preventUnload = (event: BeforeUnloadEvent): void => event.preventDefault();
