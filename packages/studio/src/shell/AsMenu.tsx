/** As whom Ask and Map look: the administrator, a role of the API or one of its tokens. */
import { Button, Group, Menu, Text, Tooltip, VisuallyHidden } from '@mantine/core';
import { IconCheck, IconChevronDown, IconEye } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type As, asSelf, keyOf } from '../server/as.js';
import { rolesOptions, tokensOptions, useAdministrator } from '../server/queries.js';
import { words } from '../words/index.js';
import { chooseAs, nameOfAs, useAs } from './choices.js';

const texts = words.shell.as;

const labelOf = (as: As): string => nameOfAs(as) ?? texts.self;

export const AsMenu = () => {
  const who = useAdministrator();
  const as = useAs();
  const [opened, setOpened] = useState(false);
  const roles = useQuery({ ...rolesOptions(), enabled: opened && who !== null }).data ?? [];
  const tokens = useQuery({ ...tokensOptions(), enabled: opened && who !== null }).data ?? [];
  // nobody but an administrator may look as somebody else
  if (who === null)
    return (
      <Tooltip label={words.shell.account.publicHint}>
        <Group gap={4} px={8} wrap="nowrap">
          <IconEye size={16} />
          <Text size="sm" className="wide">
            {texts.public}
          </Text>
        </Group>
      </Tooltip>
    );
  const item = (it: As) => (
    <Menu.Item
      key={keyOf(it)}
      rightSection={keyOf(it) === keyOf(as) && <IconCheck size={16} />}
      onClick={() => chooseAs(it)}
    >
      {labelOf(it)}
    </Menu.Item>
  );
  return (
    <Menu position="bottom-end" width={260} opened={opened} onChange={setOpened}>
      <Menu.Target>
        <Button
          variant={as.kind === 'self' ? 'subtle' : 'light'}
          color={as.kind === 'self' ? 'gray' : 'harbour'}
          size="compact-sm"
          leftSection={<IconEye size={16} />}
          rightSection={<IconChevronDown size={14} />}
        >
          <VisuallyHidden>{texts.label}</VisuallyHidden>
          <span className="wide">{labelOf(as)}</span>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{texts.hint}</Menu.Label>
        {item(asSelf)}
        {roles.length > 0 && <Menu.Label>{texts.roles}</Menu.Label>}
        {roles.map(({ type }) => item({ kind: 'role', type }))}
        {tokens.length > 0 && <Menu.Label>{texts.tokens}</Menu.Label>}
        {tokens.map(({ id, name }) => item({ kind: 'token', id, name }))}
      </Menu.Dropdown>
    </Menu>
  );
};
