/** As whom Ask and Map look: the administrator, a role of the API or one of its tokens. */
import { Button, Group, Menu, Text, Tooltip, VisuallyHidden } from '@mantine/core';
import { IconCheck, IconChevronDown, IconEye } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type As, asSelf, keyOf } from '../server/as.js';
import { rolesOptions, tokensOptions, useAdministrator } from '../server/queries.js';
import { useMay } from '../server/rights.js';
import { words } from '../words/index.js';
import { chooseAs, nameOfAs, useAs } from './choices.js';

const texts = words.shell.as;

const labelOf = (as: As): string => nameOfAs(as) ?? texts.self;

export const AsMenu = () => {
  const who = useAdministrator();
  const as = useAs();
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
  return (
    <Menu position="bottom-end" width={260}>
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
        <Item as={asSelf} />
        <Others />
      </Menu.Dropdown>
    </Menu>
  );
};

/** Asked for when the menu is opened, and only what the administrator may see. */
const Others = () => {
  const may = useMay();
  const roles = useQuery({ ...rolesOptions(), enabled: may('plugin::users-permissions.roles.read') }).data ?? [];
  const tokens = useQuery({ ...tokensOptions(), enabled: may('admin::api-tokens.read') }).data ?? [];
  return (
    <>
      {roles.length > 0 && <Menu.Label>{texts.roles}</Menu.Label>}
      {roles.map(({ type }) => (
        <Item key={type} as={{ kind: 'role', type }} />
      ))}
      {tokens.length > 0 && <Menu.Label>{texts.tokens}</Menu.Label>}
      {tokens.map(({ id, name }) => (
        <Item key={id} as={{ kind: 'token', id, name }} />
      ))}
    </>
  );
};

const Item = ({ as }: { readonly as: As }) => {
  const isChosen = keyOf(as) === keyOf(useAs());
  return (
    <Menu.Item rightSection={isChosen && <IconCheck size={16} />} onClick={() => chooseAs(as)}>
      {labelOf(as)}
    </Menu.Item>
  );
};
