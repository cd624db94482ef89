/** Finds actions in the grid. */
import { Group, SegmentedControl } from '@mantine/core';
import type { ReactNode } from 'react';
import { SearchField } from '../../parts/SearchField.js';
import { words } from '../../words/index.js';
import type { GridFilter, Shown } from './grid.js';

const texts = words.access.roles;

export const GridBar = ({
  filter,
  onFilter,
  children,
}: {
  readonly filter: GridFilter;
  readonly onFilter: (next: GridFilter) => void;
  readonly children?: ReactNode;
}) => (
  <Group gap="xs">
    <SearchField label={texts.search} value={filter.text} onSearch={(text) => onFilter({ ...filter, text })} />
    <SegmentedControl
      size="xs"
      aria-label={texts.shown}
      value={filter.shown}
      data={[
        { value: 'all', label: texts.shownAll },
        { value: 'granted', label: texts.shownGranted },
        { value: 'changed', label: texts.shownChanged },
      ]}
      onChange={(shown) => onFilter({ ...filter, shown: shown as Shown })}
    />
    {children}
  </Group>
);
