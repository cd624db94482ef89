/** Whether an entry is published, and its locale. */
import { Badge } from '@mantine/core';
import type { Type } from '../../../model/model.js';
import { words } from '../../../words/index.js';
import type { RelatedRow } from './relation-edit.js';

export const EntryState = ({ row, type }: { readonly row: RelatedRow; readonly type: Type | null }) => (
  <>
    {row.locale !== null && (
      <Badge size="sm" variant="default">
        {row.locale}
      </Badge>
    )}
    {type?.draftAndPublish && row.publishedAt === null && (
      <Badge size="sm" variant="default">
        {words.relations.draft}
      </Badge>
    )}
  </>
);
