/** Whether an entry is published. Each change of a published entry is seen at once: there is nothing between the two. */
import { Badge } from '@mantine/core';
import { words } from '../../words/index.js';

const texts = words.content.states;

export const StateBadge = ({ publishedAt }: { readonly publishedAt: string | null }) =>
  publishedAt === null ? (
    <Badge color="gray" variant="default">
      {texts.draft}
    </Badge>
  ) : (
    <Badge variant="light">{texts.published}</Badge>
  );
