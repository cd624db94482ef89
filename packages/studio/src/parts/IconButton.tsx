/** A button of an element of a list, such as one that moves or removes it. */
import { ActionIcon } from '@mantine/core';
import type { ReactNode } from 'react';

interface IconButtonProps {
  readonly id: string;
  readonly label: string;
  readonly size?: 'sm' | 'md';
  readonly disabled?: boolean;
  readonly onClick: () => void;
  /** The icon. */
  readonly children: ReactNode;
}

export const IconButton = ({ label, size = 'md', ...props }: IconButtonProps) => (
  <ActionIcon variant="subtle" color="gray" size={size} aria-label={label} {...props} />
);
