/** Skeletons for what is being loaded; nothing within the first 200 ms. */
import { Skeleton, Stack } from '@mantine/core';
import { words } from '../words/index.js';

export const Waiting = ({ rows = 6 }: { readonly rows?: number }) => (
  <Stack className="late" gap="sm" role="status" aria-label={words.shell.loading}>
    {Array.from({ length: rows }, (_, row) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: rows have nothing else, and never change places
      <Skeleton key={row} height={20} width={`${90 - ((row * 17) % 40)}%`} />
    ))}
  </Stack>
);
