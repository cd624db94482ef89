/** The page of the link that `start` prints while there is no administrator; the one-time key stands after the #. */
import { Alert, Button, Container, Group, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { Fault } from '../parts/Fault.js';
import { initOptions } from '../server/queries.js';
import { queryClient, readAgain } from '../server/query-client.js';
import { words } from '../words/index.js';
import { register } from './session.js';

const texts = words.shell.welcome;
const nobody = { firstname: '', lastname: '', email: '', password: '' };

/** Terminals make a link of the comma behind it, too. */
const keyIn = (hash: string): string => /^#([\w-]+)/.exec(hash)?.[1] ?? '';

export const Welcome = () => {
  useDocumentTitle(words.shell.pageTitle(texts.title));
  const navigate = useNavigate();
  const [key] = useState(() => keyIn(location.hash));
  const init = useQuery(initOptions);
  const [person, setPerson] = useState(nobody);
  const registering = useMutation({
    mutationFn: () => register({ key, ...person }),
    onSuccess: async () => {
      await readAgain(queryClient, initOptions);
      await navigate({ to: '/', replace: true });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    registering.mutate();
  };
  const field = (name: keyof typeof nobody) => ({
    label: texts[name],
    required: true,
    value: person[name],
    onChange: (event: { readonly currentTarget: { readonly value: string } }) => {
      const { value } = event.currentTarget;
      setPerson((it) => ({ ...it, [name]: value }));
    },
  });
  return (
    <Container component="main" size={480} py={64}>
      <form onSubmit={submit}>
        <Stack>
          <Title order={1}>{texts.title}</Title>
          <Text>{texts.lead}</Text>
          {key === '' && <Alert color="yellow">{texts.noKey}</Alert>}
          {init.data?.hasAdmin && <Alert color="yellow">{texts.closed}</Alert>}
          {registering.error && <Fault fault={registering.error} />}
          <Group grow align="start">
            <TextInput autoComplete="given-name" {...field('firstname')} />
            <TextInput autoComplete="family-name" {...field('lastname')} />
          </Group>
          <TextInput type="email" autoComplete="username" {...field('email')} />
          <PasswordInput autoComplete="new-password" description={texts.passwordHint} {...field('password')} />
          <Button type="submit" loading={registering.isPending} disabled={key === ''}>
            {texts.action}
          </Button>
        </Stack>
      </form>
    </Container>
  );
};
