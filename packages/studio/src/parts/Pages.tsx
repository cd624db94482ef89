/** Below a list that has pages: which of its entries are shown, and the way to the others. */
import { Group, Pagination, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { words } from '../words/index.js';

const texts = words.shell.pages;

export const Pages = ({
  page,
  pageSize,
  total,
  onPage,
}: {
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
  /** Of entries, on all pages. */
  readonly total: number;
  readonly onPage: (page: number) => void;
}) => {
  const isNarrow = useMediaQuery('(max-width: 640px)') ?? false;
  return (
    <Group justify="space-between" gap="xs">
      <Text size="sm" c="dimmed" role="status">
        {texts.range((page - 1) * pageSize + 1, Math.min(page * pageSize, total), total)}
      </Text>
      {total > pageSize && (
        <nav aria-label={texts.label}>
          <Pagination
            size="sm"
            total={Math.ceil(total / pageSize)}
            value={page}
            siblings={isNarrow ? 0 : 1}
            onChange={onPage}
            getItemProps={(it) => ({ 'aria-label': texts.page(it) })}
            getControlProps={(control) =>
              control === 'previous' || control === 'next' ? { 'aria-label': texts[control] } : {}
            }
          />
        </nav>
      )}
    </Group>
  );
};
