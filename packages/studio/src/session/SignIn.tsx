/** The page where administrators sign in, and what to do while there are none. */
import { Button, Code, Container, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { Fault } from '../parts/Fault.js';
import { AnchorLink } from '../parts/links.js';
import { studioPath } from '../server/address.js';
import { initOptions } from '../server/queries.js';
import { words } from '../words/index.js';
import { signIn } from './session.js';

const texts = words.shell.signIn;

export const SignIn = () => {
  useDocumentTitle(words.shell.pageTitle(texts.title));
  const router = useRouter();
  const { to } = useSearch({ from: '/sign-in' });
  const init = useQuery(initOptions);
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const entering = useMutation({
    mutationFn: () => signIn(email, password),
    onSuccess: () => router.history.push(studioPath + (to ?? '/')),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    entering.mutate();
  };
  return (
    <Container component="main" size={400} py={64}>
      <form onSubmit={submit}>
        <Stack>
          <Title order={1}>{texts.title}</Title>
          {init.data?.hasAdmin === false && (
            <Stack gap="xs">
              <Text>{texts.none}</Text>
              <Text>{texts.byCommand}</Text>
              <Code block>{texts.command}</Code>
              {init.data.mayRegister && <Text>{texts.byLink}</Text>}
            </Stack>
          )}
          {init.error && <Fault fault={init.error} onRetry={() => void init.refetch()} />}
          {entering.error && <Fault fault={entering.error} />}
          <TextInput
            label={texts.email}
            type="email"
            autoComplete="username"
            required
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <PasswordInput
            label={texts.password}
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          <Button type="submit" loading={entering.isPending}>
            {texts.action}
          </Button>
          {init.data?.mode === 'development' && (
            <AnchorLink to="/" size="sm">
              {texts.without}
            </AnchorLink>
          )}
        </Stack>
      </form>
    </Container>
  );
};
