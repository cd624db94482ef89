/** The locale of content; nothing to choose in a project with one. */
import { Button, Menu, VisuallyHidden } from '@mantine/core';
import { IconCheck, IconChevronDown } from '@tabler/icons-react';
import { useModel } from '../server/queries.js';
import { words } from '../words/index.js';
import { chooseLocale, useLocale } from './choices.js';

export const LocaleMenu = () => {
  const { locales } = useModel();
  const chosen = useLocale();
  const current = locales.find((it) => it.code === chosen) ?? locales.find((it) => it.isDefault);
  if (locales.length < 2 || !current) return null;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="subtle" color="gray" size="compact-sm" rightSection={<IconChevronDown size={14} />}>
          <VisuallyHidden>{words.shell.locale}</VisuallyHidden>
          {current.code}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {locales.map(({ code, name }) => (
          <Menu.Item
            key={code}
            rightSection={code === current.code && <IconCheck size={16} />}
            onClick={() => chooseLocale(code)}
          >
            {name ?? code}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
};
