/** Over whatever is shown when its session ends: whoever signs in again goes on there, with all that was written. */
import { Button, Group, Modal, PasswordInput, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Fault } from '../parts/Fault.js';
import { words } from '../words/index.js';
import { leave, signIn } from './session.js';

const texts = words.shell.signInAgain;

/** Escape belongs to the dialog below it, which would close with what was written there. */
const keepsOpen = { 'data-mantine-stop-propagation': 'true' };

/** @param email whose session it was: somebody else would go on with what is not theirs. */
export const SignInAgain = ({ email }: { readonly email: string }) => {
  const queries = useQueryClient();
  const [password, setPassword] = useState('');
  const [isSending, setIsSending] = useState(false);
  const [fault, setFault] = useState<unknown>(null);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setIsSending(true);
    setFault(null);
    try {
      await signIn(email, password);
      // what was asked for in between; this dialog is gone
      void queries.refetchQueries({ predicate: ({ state }) => state.status === 'error' });
    } catch (it) {
      setFault(it);
      setIsSending(false);
    }
  };
  return (
    <Modal
      opened
      onClose={() => undefined}
      title={texts.title}
      zIndex="calc(var(--mantine-z-index-modal) + 1)"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="sm">
          <Text size="sm">{texts.lead}</Text>
          {/* tells the browser's password manager whose password it is */}
          <input type="email" autoComplete="username" value={email} readOnly hidden />
          <PasswordInput
            label={texts.password(email)}
            autoComplete="current-password"
            required
            data-autofocus
            {...keepsOpen}
            value={password}
            onChange={({ currentTarget: { value } }) => setPassword(value)}
          />
          {fault !== null && <Fault fault={fault} />}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" disabled={isSending} onClick={leave} {...keepsOpen}>
              {texts.leave}
            </Button>
            <Button type="submit" loading={isSending} {...keepsOpen}>
              {texts.action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
};
