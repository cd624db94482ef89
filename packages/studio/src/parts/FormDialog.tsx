/** A form in a dialog. It stays open, with what the server says, until what it asks for is done. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { words } from '../words/index.js';
import { Fault } from './Fault.js';

interface FormDialogProps {
  readonly title: string;
  readonly opened?: boolean;
  readonly size?: 'md' | 'lg';
  /** What the button says: what happens. */
  readonly action: string;
  /** What is missing yet; the form cannot be sent meanwhile. */
  readonly missing?: string | null;
  /** Rejects with what the server refuses. */
  readonly onSubmit: () => Promise<unknown>;
  /** After the dialog has closed. */
  readonly onSaved: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export const FormDialog = ({
  title,
  opened = true,
  size = 'md',
  action,
  missing = null,
  onSubmit,
  onSaved,
  onClose,
  children,
}: FormDialogProps) => {
  const [fault, setFault] = useState<unknown>(null);
  const [isSaving, setIsSaving] = useState(false);
  // most are gone, and not only closed, when they are done: then nothing else gives the focus back
  useEffect(() => {
    if (!opened) return;
    const { activeElement } = document;
    return () => {
      setTimeout(() => {
        if (document.activeElement === document.body && activeElement instanceof HTMLElement) activeElement.focus();
      });
    };
  }, [opened]);
  // what is sent is not taken back: to close it would only let its answer close the next dialog
  const cancel = (): void => {
    if (!isSaving) onClose();
  };
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setIsSaving(true);
    setFault(null);
    try {
      await onSubmit();
    } catch (it) {
      setFault(it);
      return;
    } finally {
      setIsSaving(false);
    }
    onClose();
    await onSaved();
  };
  return (
    <Modal
      opened={opened}
      onClose={cancel}
      size={size}
      title={title}
      closeButtonProps={{ 'aria-label': words.shell.close, disabled: isSaving }}
    >
      <form onSubmit={(event) => void submit(event)} autoComplete="off">
        <Stack gap="sm">
          {children}
          {fault !== null && <Fault fault={fault} />}
          <Group justify="flex-end" gap="xs">
            {missing !== null && (
              <Text size="sm" c="dimmed" flex={1}>
                {missing}
              </Text>
            )}
            <Button variant="default" disabled={isSaving} onClick={cancel}>
              {words.shell.cancel}
            </Button>
            <Button type="submit" loading={isSaving} disabled={missing !== null}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
};
