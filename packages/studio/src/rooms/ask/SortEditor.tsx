/** The keys by which entries are ordered. */
import { ActionIcon, Button, Group, Select, Stack, Text } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconTrash } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import type { Model, Type } from '../../model/model.js';
import { words } from '../../words/index.js';
import type { SortKey } from './query/options.js';
import { sortable } from './query/paths.js';

const texts = words.ask.options;

export const SortEditor = ({
  model,
  types,
  keys,
  onChange,
}: {
  readonly model: Model;
  readonly types: readonly Type[];
  readonly keys: readonly SortKey[];
  readonly onChange: (keys: readonly SortKey[]) => void;
}) => {
  const data = useMemo(
    () => sortable(model, types).map((it) => ({ value: it.path.join('.'), label: it.path.join(' › ') })),
    [model, types],
  );
  const [text, setText] = useState('');
  const replace = (index: number, key: SortKey): void => onChange(keys.map((it, i) => (i === index ? key : it)));
  const swap = (a: number, b: number): void => {
    const next = [...keys];
    const [first, second] = [next[a], next[b]];
    if (!first || !second) return;
    next[a] = second;
    next[b] = first;
    onChange(next);
  };
  return (
    <Stack gap={4}>
      {keys.length === 0 && (
        <Text size="xs" c="dimmed">
          {texts.noOrder}
        </Text>
      )}
      {keys.map((key, i) => {
        const name = key.path.join('.');
        return (
          <Group key={name} gap={4}>
            <Text size="sm" fw={500}>
              {key.path.join(' › ')}
            </Text>
            <Button
              size="compact-xs"
              variant="default"
              aria-label={`${texts.direction(name)}: ${key.direction === 'asc' ? texts.ascending : texts.descending}`}
              onClick={() => replace(i, { ...key, direction: key.direction === 'asc' ? 'desc' : 'asc' })}
            >
              {key.direction === 'asc' ? texts.ascending : texts.descending}
            </Button>
            {keys.length > 1 && (
              <>
                <ActionIcon
                  size="sm"
                  variant="subtle"
                  color="gray"
                  aria-label={texts.earlier(name)}
                  disabled={i === 0}
                  onClick={() => swap(i, i - 1)}
                >
                  <IconArrowUp size={14} />
                </ActionIcon>
                <ActionIcon
                  size="sm"
                  variant="subtle"
                  color="gray"
                  aria-label={texts.later(name)}
                  disabled={i === keys.length - 1}
                  onClick={() => swap(i, i + 1)}
                >
                  <IconArrowDown size={14} />
                </ActionIcon>
              </>
            )}
            <ActionIcon
              size="sm"
              variant="subtle"
              color="gray"
              aria-label={texts.removeOrder(name)}
              onClick={() => onChange(keys.filter((_, index) => index !== i))}
            >
              <IconTrash size={14} />
            </ActionIcon>
          </Group>
        );
      })}
      <Select
        size="xs"
        maw={220}
        searchable
        limit={200}
        aria-label={texts.addOrder}
        placeholder={texts.addOrder}
        data={data.filter((it) => !keys.some((key) => key.path.join('.') === it.value))}
        value={null}
        searchValue={text}
        onSearchChange={setText}
        // what was chosen stands above
        onDropdownClose={() => setText('')}
        onChange={(name) => name !== null && onChange([...keys, { path: name.split('.'), direction: 'asc' }])}
      />
    </Stack>
  );
};
