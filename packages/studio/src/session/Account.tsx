/** One's own name and password, which everybody may change. */
import { Button, Group, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Fault } from '../parts/Fault.js';
import { NeedsAccount } from '../parts/NeedsAccount.js';
import { serverSend } from '../server/clients.js';
import { useAdministrator } from '../server/queries.js';
import { usePageTitle } from '../shell/page-title.js';
import { words } from '../words/index.js';
import { type Administrator, changed } from './session.js';

const texts = words.shell.ownAccount;

const save = async (body: object): Promise<void> => {
  const answer = await serverSend()({ method: 'PUT', path: '/admin/users/me', body });
  changed((answer.body as { readonly data: Administrator }).data);
};

export const Account = () => {
  usePageTitle(texts.title);
  const who = useAdministrator();
  if (who === null) return <NeedsAccount title={texts.title} text={texts.signIn} />;
  return (
    <Stack gap="xl" maw={480}>
      <div>
        <Title order={1}>{texts.title}</Title>
        <Text c="dimmed">{texts.facts(who.email, who.roles.map((it) => it.name).join(', '))}</Text>
      </div>
      <Name who={who} />
      <Password email={who.email} />
    </Stack>
  );
};

const Part = ({
  title,
  action,
  done,
  onSubmit,
  onDone,
  children,
}: {
  readonly title: string;
  readonly action: string;
  /** Said when it is done. */
  readonly done: string;
  readonly onSubmit: () => Promise<void>;
  readonly onDone?: () => void;
  readonly children: ReactNode;
}) => {
  const saving = useMutation({ mutationFn: onSubmit, ...(onDone ? { onSuccess: onDone } : {}) });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    saving.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Title order={2}>{title}</Title>
        {children}
        {saving.error && <Fault fault={saving.error} />}
        <Group gap="sm">
          <Button type="submit" loading={saving.isPending}>
            {action}
          </Button>
          <Text role="status" size="sm">
            {saving.isSuccess && done}
          </Text>
        </Group>
      </Stack>
    </form>
  );
};

const Name = ({ who }: { readonly who: Administrator }) => {
  const [firstname, setFirstname] = useState(who.firstname ?? '');
  const [lastname, setLastname] = useState(who.lastname ?? '');
  return (
    <Part title={texts.name} action={texts.saveName} done={texts.saved} onSubmit={() => save({ firstname, lastname })}>
      <TextInput
        label={texts.firstname}
        autoComplete="given-name"
        required
        value={firstname}
        onChange={({ currentTarget: { value } }) => setFirstname(value)}
      />
      <TextInput
        label={texts.lastname}
        autoComplete="family-name"
        value={lastname}
        onChange={({ currentTarget: { value } }) => setLastname(value)}
      />
    </Part>
  );
};

const noPasswords = { currentPassword: '', password: '' };

const Password = ({ email }: { readonly email: string }) => {
  const [form, setForm] = useState(noPasswords);
  const field = (name: keyof typeof noPasswords) => ({
    label: texts[name],
    required: true,
    value: form[name],
    onChange: ({ currentTarget: { value } }: { readonly currentTarget: { readonly value: string } }) =>
      setForm((it) => ({ ...it, [name]: value })),
  });
  return (
    <Part
      title={texts.passwordTitle}
      action={texts.savePassword}
      done={texts.passwordSaved}
      onSubmit={() => save(form)}
      onDone={() => setForm(noPasswords)}
    >
      {/* tells the browser's password manager whose password it is */}
      <input type="email" autoComplete="username" value={email} readOnly hidden />
      <PasswordInput autoComplete="current-password" {...field('currentPassword')} />
      <PasswordInput autoComplete="new-password" description={texts.passwordHint} {...field('password')} />
    </Part>
  );
};
