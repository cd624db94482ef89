/** A button for what not everybody may do: disabled, it says why, also to those who come by keyboard. */
import { Button, type ButtonProps, Tooltip } from '@mantine/core';
import type { MouseEvent, ReactNode, Ref } from 'react';

interface MayButtonProps extends ButtonProps {
  readonly may: boolean;
  /** Shown if they may not. */
  readonly why: string;
  readonly onClick: (event: MouseEvent<HTMLButtonElement>) => void;
  readonly children: ReactNode;
  readonly 'aria-label'?: string;
  readonly id?: string;
  readonly ref?: Ref<HTMLButtonElement>;
}

export const MayButton = ({ may, why, onClick, children, ...button }: MayButtonProps) => (
  <Tooltip label={why} disabled={may} withinPortal={false} events={{ hover: true, focus: true, touch: true }}>
    <Button {...button} {...(may ? { onClick } : { 'data-disabled': true, 'aria-disabled': true })}>
      {children}
    </Button>
  </Tooltip>
);
