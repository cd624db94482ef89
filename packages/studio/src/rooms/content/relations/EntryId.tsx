/** The id of a related entry, by which the server names it in what it refuses. */
import { Text } from '@mantine/core';
import { words } from '../../../words/index.js';

export const EntryId = ({ id }: { readonly id: number }) => (
  <Text size="xs" c="dimmed">
    {words.content.entryId(id)}
  </Text>
);
