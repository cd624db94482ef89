/** How many entries there are of a type, as whoever looks may know. */
import { useQuery } from '@tanstack/react-query';
import type { Type } from '../../model/model.js';
import { keyOf } from '../../server/as.js';
import { useAdministrator, useClientAs } from '../../server/queries.js';
import { useAs } from '../../shell/choices.js';

/** Undefined while it is not known, and for types that are no lists or may not be read. */
export const useCount = ({ uid, kind, path, plural, draftAndPublish, may }: Type): number | undefined => {
  const client = useClientAs();
  const as = useAs();
  const whose = useAdministrator()?.id ?? 'public';
  return useQuery({
    queryKey: ['count', whose, keyOf(as), uid],
    // lists of users are v4's bare arrays, without a total
    enabled: kind === 'collection' && path !== null && may.find && uid.startsWith('api::'),
    queryFn: async ({ signal }) => {
      const query = {
        pagination: { pageSize: 1, withCount: true },
        fields: ['id'],
        ...(draftAndPublish ? { publicationState: 'preview' } : {}),
      };
      const { meta } = await client.collection(plural).find(query, { signal });
      return meta.pagination?.total;
    },
  }).data;
};
