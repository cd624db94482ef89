/** The page of a one-time link, by which an administrator chooses a password; its token stands after the #. */
import { Alert, Button, Container, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { Fault } from '../parts/Fault.js';
import { words } from '../words/index.js';
import { join } from './session.js';

const { join: texts } = words.shell;

export const Join = () => {
  useDocumentTitle(words.shell.pageTitle(texts.title));
  const navigate = useNavigate();
  const [token] = useState(() => location.hash.slice(1));
  const [password, setPassword] = useState('');
  const joining = useMutation({
    mutationFn: () => join(token, password),
    onSuccess: () => navigate({ to: '/', replace: true }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    joining.mutate();
  };
  return (
    <Container component="main" size={400} py={64}>
      <form onSubmit={submit}>
        <Stack>
          <Title order={1}>{texts.title}</Title>
          <Text>{texts.lead}</Text>
          {token === '' && <Alert color="yellow">{texts.noToken}</Alert>}
          {joining.error && <Fault fault={joining.error} />}
          <PasswordInput
            label={texts.password}
            description={texts.passwordHint}
            autoComplete="new-password"
            required
            value={password}
            onChange={({ currentTarget: { value } }) => setPassword(value)}
          />
          <Button type="submit" loading={joining.isPending} disabled={token === ''}>
            {texts.action}
          </Button>
        </Stack>
      </form>
    </Container>
  );
};
