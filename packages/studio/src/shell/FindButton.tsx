/** Opens the palette, which is loaded when it is first wanted. */
import { Button, Text } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import { lazyDialog } from '../parts/lazy-part.js';
import { Shortcut } from '../parts/Shortcut.js';
import { words } from '../words/index.js';

const Finder = lazyDialog('Finder', async () => (await import('./Finder.js')).Finder);
const texts = words.shell.find;

export const FindButton = () => {
  const [opened, setOpened] = useState(false);
  // also while a field has the focus
  useHotkeys([['mod+K', () => setOpened(true)]], [], true);
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        leftSection={<IconSearch size={14} />}
        rightSection={
          <Text span visibleFrom="md">
            <Shortcut keys="mod+K" />
          </Text>
        }
        aria-keyshortcuts="Control+K Meta+K"
        aria-haspopup="dialog"
        onClick={() => setOpened(true)}
      >
        <span className="wide">{texts.label}</span>
      </Button>
      {opened && <Finder onClose={() => setOpened(false)} />}
    </>
  );
};
