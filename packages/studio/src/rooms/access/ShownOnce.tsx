/** A secret that the server shows once. It is nowhere but in this dialog: not in the cache of requests, and gone when it is closed. */
import { Alert, Button, CopyButton, Group, Modal, Stack, Textarea } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import type { RefObject } from 'react';
import { words } from '../../words/index.js';

const texts = words.access.shownOnce;

export interface Secret {
  readonly title: string;
  readonly hint: string;
  /** What it is: a key, a link. */
  readonly label: string;
  readonly value: string;
}

interface ShownOnceProps {
  readonly secret: Secret | null;
  readonly onClose: () => void;
  /** Where the focus goes: it came from a dialog that is gone. */
  readonly focusAfter: RefObject<HTMLElement | null>;
}

export const ShownOnce = ({ secret, onClose, focusAfter }: ShownOnceProps) => {
  const close = (): void => {
    onClose();
    focusAfter.current?.focus();
  };
  return (
    <Modal
      opened={secret !== null}
      onClose={close}
      title={secret?.title}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack gap="md">
        <Alert variant="light" icon={<IconKey />}>
          {secret?.hint}
        </Alert>
        <Textarea
          label={secret?.label}
          readOnly
          autosize
          value={secret?.value ?? ''}
          onFocus={(event) => event.target.select()}
        />
        <Group justify="flex-end" gap="xs">
          <CopyButton value={secret?.value ?? ''}>
            {({ copied, copy }) => (
              <Button onClick={copy} data-autofocus>
                {copied ? texts.copied : texts.copy}
              </Button>
            )}
          </CopyButton>
          <Button variant="default" onClick={close}>
            {texts.done}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
};
