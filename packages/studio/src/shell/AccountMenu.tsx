/** Who is signed in, with one's account and signing out; the way to sign in for everybody else. */
import { Button, Menu, Text, VisuallyHidden } from '@mantine/core';
import { IconLogout, IconUser, IconUserEdit } from '@tabler/icons-react';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { ButtonLink } from '../parts/links.js';
import { useAdministrator } from '../server/queries.js';
import { words } from '../words/index.js';

const texts = words.shell.account;

export const AccountMenu = () => {
  const who = useAdministrator();
  const { href } = useLocation();
  const navigate = useNavigate();
  if (who === null)
    return (
      <ButtonLink to="/sign-in" search={{ to: href }} size="compact-sm" variant="light">
        {texts.signIn}
      </ButtonLink>
    );
  const name = [who.firstname, who.lastname].filter(Boolean).join(' ') || who.email;
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <Button variant="subtle" color="gray" size="compact-sm" leftSection={<IconUser size={16} />}>
          <VisuallyHidden>{texts.label}</VisuallyHidden>
          <Text span size="sm" truncate maw={120} className="wide">
            {name}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {who.email}
          <br />
          {who.roles.map((it) => it.name).join(', ')}
        </Menu.Label>
        <Menu.Item leftSection={<IconUserEdit size={16} />} onClick={() => void navigate({ to: '/account' })}>
          {texts.own}
        </Menu.Item>
        <Menu.Item
          leftSection={<IconLogout size={16} />}
          onClick={() => void navigate({ to: '/sign-out', state: { isSigningOut: true } })}
        >
          {texts.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
};
