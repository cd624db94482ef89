/** Keys as they are named on this machine. */
import { Group, Kbd } from '@mantine/core';

const isMac = /mac/i.test(navigator.platform);
const nameOf = (key: string): string => {
  switch (key) {
    case 'mod':
      return isMac ? '⌘' : 'Ctrl';
    case 'alt':
      return isMac ? '⌥' : 'Alt';
    case 'up':
      return '↑';
    case 'down':
      return '↓';
    default:
      return key;
  }
};

/** @param keys as `useHotkeys` takes them: `mod+K`. */
export const Shortcut = ({ keys }: { readonly keys: string }) => (
  <Group component="span" gap={2} wrap="nowrap" display="inline-flex">
    {keys.split('+').map((it) => (
      <Kbd key={it} size="xs">
        {nameOf(it)}
      </Kbd>
    ))}
  </Group>
);
