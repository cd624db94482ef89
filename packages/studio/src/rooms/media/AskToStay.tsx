/** Asks before texts are left that were not saved. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useBlocker } from '@tanstack/react-router';
import { words } from '../../words/index.js';

const texts = words.media.leaving;

export const AskToStay = ({
  isChanged,
  maySave,
  onSave,
}: {
  readonly isChanged: boolean;
  readonly maySave: boolean;
  /** Whether it is saved. */
  readonly onSave: () => Promise<boolean>;
}) => {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => isChanged && current.pathname !== next.pathname,
    enableBeforeUnload: isChanged,
    withResolver: true,
  });
  const save = async (): Promise<void> => {
    if (await onSave()) proceed?.();
    else reset?.();
  };
  return (
    <Modal
      opened={status === 'blocked'}
      onClose={() => reset?.()}
      title={texts.title}
      closeButtonProps={{ 'aria-label': texts.stay }}
    >
      <Stack gap="md">
        <Text>{texts.text}</Text>
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={() => reset?.()}>
            {texts.stay}
          </Button>
          <Button variant="default" onClick={() => proceed?.()}>
            {texts.discard}
          </Button>
          {maySave && (
            <Button onClick={() => void save()} data-autofocus>
              {texts.save}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
};
