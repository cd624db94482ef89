/** The frame of a control: its label, hints and faults. */
import { Group, Input } from '@mantine/core';
import type { ReactNode } from 'react';
import type { FieldPath } from '../form/fields.js';
import { elementId } from './form-context.js';

/** What a control shows around its value. */
export interface Frame {
  readonly label: ReactNode;
  readonly description: ReactNode;
  readonly error: ReactNode;
  readonly withAsterisk: boolean;
}

/** The frame of a control that is more than one input: a group with a name. */
export const Framed = ({
  path,
  frame: { label, description, error, withAsterisk },
  side,
  children,
}: {
  readonly path: FieldPath;
  readonly frame: Frame;
  /** At the end of the line of the label. */
  readonly side?: ReactNode;
  readonly children: ReactNode;
}) => (
  <div>
    <Group justify="space-between" wrap="wrap" gap="xs" mb={4}>
      <Input.Label labelElement="div" id={elementId(path, 'label')} required={withAsterisk}>
        {label}
      </Input.Label>
      {side}
    </Group>
    {description && (
      <Input.Description id={elementId(path, 'hint')} mb={4}>
        {description}
      </Input.Description>
    )}
    {children}
    {error && (
      <Input.Error id={elementId(path, 'error')} mt={4} role="alert">
        {error}
      </Input.Error>
    )}
  </div>
);

/** Ids of what describes a framed control. */
export const describedBy = (path: FieldPath, { description, error }: Frame): string | undefined =>
  [description && elementId(path, 'hint'), error && elementId(path, 'error')].filter(Boolean).join(' ') || undefined;
