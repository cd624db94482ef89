/** A secret that the server shows once. It is nowhere but in this dialog: not in the cache of requests, and gone when it is closed. */
import { Alert, Button, CopyButton, Group, Modal, Stack, Textarea } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { words } from '../../words/index.js';

const texts = words.access.shownOnce;

export interface Secret {
  readonly title: string;
  readonly hint: string;
  /** What it is: a key, a link. */
  readonly label: string;
  readonly value: string;
}

export const ShownOnce = ({ secret, onClose }: { readonly secret: Secret | null; readonly onClose: () => void }) => (
  <Modal
    opened={secret !== null}
    onClose={onClose}
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
        <Button variant="default" onClick={onClose}>
          {texts.done}
        </Button>
      </Group>
    </Stack>
  </Modal>
);
