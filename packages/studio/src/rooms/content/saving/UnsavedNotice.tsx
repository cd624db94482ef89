/** Says that unsaved work was taken up, that there is more of it, or that the browser cannot keep any. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { Instant } from '../../../parts/Instant.js';
import { words } from '../../../words/index.js';
import type { UnsavedState } from './use-unsaved.js';

const texts = words.relations.saving;

export const UnsavedNotice = ({
  unsaved,
  onDiscard,
}: {
  readonly unsaved: UnsavedState;
  readonly onDiscard: () => void;
}) => (
  <>
    {unsaved.restored && (
      <Alert
        role="status"
        variant="light"
        icon={<IconHistory />}
        title={unsaved.restored.origin === 'copy' ? texts.copied : texts.restored}
        withCloseButton
        closeButtonLabel={texts.close}
        onClose={unsaved.dismiss}
      >
        <Group gap="xs">
          {unsaved.restored.origin === 'copy' ? (
            <Text size="sm">{texts.copiedHint}</Text>
          ) : (
            <Text size="sm" component="div">
              {texts.restoredFrom} <Instant value={new Date(unsaved.restored.at).toISOString()} />
            </Text>
          )}
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => {
              onDiscard();
              unsaved.forget();
            }}
          >
            {texts.dropRestored}
          </Button>
        </Group>
      </Alert>
    )}
    {unsaved.left.length > 0 && (
      <Alert role="status" variant="default" icon={<IconHistory />} title={texts.left}>
        <Stack gap="xs">
          <Text size="sm">{texts.leftHint}</Text>
          {unsaved.left.map((work) => (
            <Group key={work.tab} gap="xs">
              <Text size="sm" component="div">
                {texts.restoredFrom} <Instant value={new Date(work.unsaved.at).toISOString()} />
              </Text>
              <Button size="compact-sm" variant="default" onClick={() => unsaved.takeUp(work)}>
                {texts.takeUp}
              </Button>
              <Button size="compact-sm" variant="default" onClick={() => unsaved.drop(work)}>
                {texts.discard}
              </Button>
            </Group>
          ))}
        </Stack>
      </Alert>
    )}
    {unsaved.cannotKeep && (
      <Alert role="status" variant="default">
        {texts.cannotKeep}
      </Alert>
    )}
  </>
);
