/** The entries of a list whose names contain a text, with the places that they have in the list as it will be. */
import { ActionIcon, Button, Group, Stack, Text } from '@mantine/core';
import { IconArrowsMoveVertical, IconX } from '@tabler/icons-react';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import type { Type } from '../../../model/model.js';
import { Fault } from '../../../parts/Fault.js';
import { Waiting } from '../../../parts/Waiting.js';
import { words } from '../../../words/index.js';
import { EntryState } from './EntryState.js';
import { type ListSource, titleOf, WINDOW_MAX } from './source.js';
import type { RelationList, ShownRow } from './use-relation-list.js';

const texts = words.relations;

export const Filtered = ({
  source,
  text,
  list,
  target,
  canMove,
  isReadOnly,
  onMoveTo,
  onTake,
  onShow,
}: {
  readonly source: ListSource;
  readonly text: string;
  readonly list: RelationList;
  readonly target: Type;
  readonly canMove: boolean;
  readonly isReadOnly: boolean;
  readonly onMoveTo: (row: ShownRow) => void;
  readonly onTake: (row: ShownRow) => void;
  readonly onShow: (index: number) => void;
}) => {
  const { data, error, isPending, hasNextPage, fetchNextPage, refetch } = useInfiniteQuery({
    queryKey: [...source.key, 'filtered', text],
    queryFn: ({ pageParam, signal }) => source.search(text, pageParam, WINDOW_MAX, signal),
    initialPageParam: 0,
    getNextPageParam: (last, pages) => (pages.length * WINDOW_MAX < last.total ? pages.length * WINDOW_MAX : undefined),
    placeholderData: keepPreviousData,
  });
  if (error) return <Fault fault={error} onRetry={() => void refetch()} />;
  if (isPending) return <Waiting rows={3} />;
  const total = data.pages[0]?.total ?? 0;
  const shown = data.pages
    .flatMap(({ rows, homes }) => rows.map((row, i) => ({ row, home: homes[i]! })))
    .flatMap(({ row, home }): readonly (ShownRow & { readonly row: typeof row })[] => {
      const index = list.indexOf(row.id, home);
      return index === null ? [] : [{ id: row.id, home, isAdded: false, isMoved: false, index, row }];
    });
  return (
    <Stack gap="xs">
      <Text size="sm" c="dimmed" role="status">
        {texts.found(total)}
      </Text>
      <ul className="related-filtered">
        {shown.map((it) => (
          <li key={it.row.id} className="related-row">
            <Button
              className="related-handle"
              size="compact-sm"
              variant="subtle"
              color="gray"
              aria-label={texts.showInList(titleOf(it.row), it.index + 1)}
              onClick={() => onShow(it.index)}
            >
              {(it.index + 1).toLocaleString()}
            </Button>
            <Text size="sm" flex={1} truncate>
              {titleOf(it.row)}
            </Text>
            <EntryState row={it.row} type={target} />
            <Group gap={4} wrap="nowrap">
              {canMove && (
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={texts.moveTo.title(titleOf(it.row))}
                  onClick={() => onMoveTo(it)}
                >
                  <IconArrowsMoveVertical size={16} />
                </ActionIcon>
              )}
              {!isReadOnly && (
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={texts.remove(titleOf(it.row))}
                  onClick={() => onTake(it)}
                >
                  <IconX size={16} />
                </ActionIcon>
              )}
            </Group>
          </li>
        ))}
      </ul>
      {hasNextPage && (
        <Button size="xs" variant="default" onClick={() => void fetchNextPage()}>
          {texts.moreFound}
        </Button>
      )}
    </Stack>
  );
};
