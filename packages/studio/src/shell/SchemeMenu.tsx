/** Light, dark, or as the system has it. */
import { ActionIcon, Menu, useMantineColorScheme } from '@mantine/core';
import { IconCheck, IconMoon, IconSun, IconSunMoon } from '@tabler/icons-react';
import { words } from '../words/index.js';

const texts = words.shell.scheme;
const schemes = [
  { scheme: 'auto', Icon: IconSunMoon },
  { scheme: 'light', Icon: IconSun },
  { scheme: 'dark', Icon: IconMoon },
] as const;

export const SchemeMenu = () => {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { Icon: Current } = schemes.find((it) => it.scheme === colorScheme) ?? schemes[0];
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={texts.label}>
          <Current size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {schemes.map(({ scheme, Icon }) => (
          <Menu.Item
            key={scheme}
            leftSection={<Icon size={16} />}
            rightSection={scheme === colorScheme && <IconCheck size={16} />}
            onClick={() => setColorScheme(scheme)}
          >
            {texts[scheme]}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
};
