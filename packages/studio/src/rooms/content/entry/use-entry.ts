/** The entry that a page is about. */
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { Type } from '../../../model/model.js';
import { useClient, useModel } from '../../../server/queries.js';
import { newEntry, readEntry, type StoredEntry } from '../form/entry.js';
import type { FieldPath } from '../form/fields.js';

/**
 * Read once for a page: a form goes on with what it was opened with, and asks for the server's newer state when it matters.
 * @param id null: a new entry, or the one of a single type
 * @param locale of a new entry, and of a single type
 * @param path of the relation that has a page of its own
 */
export const useEntry = (
  type: Type,
  id: number | null,
  locale: string | null,
  path: FieldPath = '',
): UseQueryResult<StoredEntry> => {
  const client = useClient();
  const model = useModel();
  const isNew = id === null && type.kind !== 'single';
  return useQuery({
    queryKey: ['entry', type.uid, id, id === null ? locale : null, path],
    queryFn: ({ signal }) => (isNew ? newEntry(type, locale) : readEntry(client, model, type, { id, locale }, signal)),
    staleTime: 'static',
    gcTime: 0,
  });
};
