/** What the palette finds: pages and types at once, entries by a request for each of the types. */
import { useQueries, useQuery } from '@tanstack/react-query';
import { entryName } from '../model/entry-name.js';
import { contentTypes, type Model, nameOf, type Type } from '../model/model.js';
import type { AnyEntry } from '../server/clients.js';
import { useAdministrator, useClient, useModel } from '../server/queries.js';
import { useMay } from '../server/rights.js';
import { words } from '../words/index.js';
import { rooms } from './rooms.js';
import { byNearness, entrySearch, fileSearch, isSearchable } from './searches.js';

export interface Found {
  readonly name: string;
  readonly hint: string | null;
  /** Of the Studio. */
  readonly address: string;
}
interface Group {
  readonly name: string;
  readonly found: readonly Found[];
}

const texts = words.shell.find;
/** Shorter texts find too much to be worth the requests. */
const LETTERS_MIN = 2;
/** Types whose entries are searched; a project with more is searched type by type in Content. */
const TYPES_MAX = 60;

export const useFound = (
  text: string,
): { readonly groups: readonly Group[]; readonly isSearching: boolean; readonly fault: unknown } => {
  const model = useModel();
  const client = useClient();
  const whose = useAdministrator()?.id ?? 'public';
  const wanted = text.trim();
  const searched =
    wanted.length < LETTERS_MIN
      ? []
      : contentTypes(model)
          .filter((it) => it.kind === 'collection' && it.may.find && isSearchable(it))
          .slice(0, TYPES_MAX);
  const searches = useQueries({
    queries: searched.map((type) => ({
      queryKey: ['find', whose, type.uid, wanted],
      staleTime: 30_000,
      queryFn: async ({ signal }: { readonly signal: AbortSignal }): Promise<readonly Found[]> => {
        const { data } = await client.collection(type.plural).find(entrySearch(type, wanted), { signal });
        return data.map((it) => entryFound(type, it));
      },
    })),
  });
  const mayFindFiles = useMay()('plugin::upload.read');
  const files = useQuery({
    queryKey: ['find', whose, 'files', wanted],
    enabled: mayFindFiles && wanted.length >= LETTERS_MIN,
    staleTime: 30_000,
    queryFn: async ({ signal }): Promise<readonly Found[]> => {
      const found = await client.files.find(fileSearch(wanted), { signal });
      return found.map((it) => fileFound(it as unknown as { readonly id: number; readonly name: string }));
    },
  });
  return {
    groups: [
      { name: texts.pages, found: pages.filter((it) => contains(it.name, wanted)) },
      { name: texts.types, found: wanted === '' ? [] : typesFound(model, wanted) },
      {
        name: texts.entries,
        found: byNearness(
          searches.flatMap((it) => it.data ?? []),
          wanted,
        ),
      },
      { name: words.shell.rooms.media, found: files.data ?? [] },
    ],
    isSearching: searches.some((it) => it.isPending) || files.isLoading,
    fault: searches.find((it) => it.error)?.error ?? null,
  };
};

const pages: readonly Found[] = rooms.map((it) => ({ name: words.shell.rooms[it], hint: null, address: `/${it}` }));

const contains = (text: string, wanted: string): boolean => text.toLowerCase().includes(wanted.toLowerCase());

const typesFound = (model: Model, wanted: string): readonly Found[] =>
  contentTypes(model)
    .filter((it) => contains(it.displayName, wanted) || contains(it.singular, wanted) || contains(it.plural, wanted))
    .flatMap((type): readonly Found[] => [
      { name: type.displayName, hint: words.shell.rooms.content, address: `/content/${nameOf(type)}` },
      { name: type.displayName, hint: words.shell.rooms.ask, address: `/ask?type=${encodeURIComponent(nameOf(type))}` },
      { name: type.displayName, hint: words.shell.rooms.map, address: `/map?type=${encodeURIComponent(type.uid)}` },
    ]);

const entryFound = (type: Type, { id, attributes }: AnyEntry): Found => ({
  name: entryName(type, id, attributes[type.mainField ?? '']),
  hint: type.displayName,
  address: `/content/${type.plural}/${id}`,
});

const fileFound = ({ id, name }: { readonly id: number; readonly name: string }): Found => ({
  name,
  hint: null,
  address: `/media/${id}`,
});
