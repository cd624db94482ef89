/** What the lists of users, API tokens and administrators have in common: a table, and what can be done with each row. */
import { Group, Table } from '@mantine/core';
import type { ReactNode } from 'react';
import { MayButton } from '../../parts/MayButton.js';

export const Listing = ({
  label,
  minWidth,
  columns,
  children,
}: {
  readonly label: string;
  /** Pixels below which the table scrolls. */
  readonly minWidth: number;
  /** Heads of the columns, by their keys. */
  readonly columns: Readonly<Record<string, string>>;
  /** Rows. */
  readonly children: ReactNode;
}) => (
  <Table.ScrollContainer type="native" minWidth={minWidth} tabIndex={0} role="group" aria-label={label}>
    <Table aria-label={label} verticalSpacing={4}>
      <Table.Thead>
        <Table.Tr>
          {Object.entries(columns).map(([key, head]) => (
            <Table.Th key={key}>{head}</Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>{children}</Table.Tbody>
    </Table>
  </Table.ScrollContainer>
);

export interface RowAction {
  /** What the button says. */
  readonly text: string;
  /** The same with the row's name, for those who do not see the row. */
  readonly label: string;
  readonly may: boolean;
  /** Shown if they may not. */
  readonly why: string;
  readonly run: () => void;
}

export const RowActions = ({ actions }: { readonly actions: readonly RowAction[] }) => (
  <Group gap={4} wrap="nowrap">
    {actions.map(({ text, label, may, why, run }) => (
      <MayButton key={text} size="compact-xs" variant="default" aria-label={label} may={may} why={why} onClick={run}>
        {text}
      </MayButton>
    ))}
  </Group>
);
