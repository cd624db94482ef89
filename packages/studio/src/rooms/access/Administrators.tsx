/** Who signs in to the Studio: invited, changed, blocked, deleted. */
import { Badge, Checkbox, Group, PasswordInput, Stack, Table, Text, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { Confirm, type Question } from '../../parts/Confirm.js';
import { EmptyState } from '../../parts/EmptyState.js';
import { Fault } from '../../parts/Fault.js';
import { FormDialog } from '../../parts/FormDialog.js';
import { MayButton } from '../../parts/MayButton.js';
import { Waiting } from '../../parts/Waiting.js';
import { useMe } from '../../server/queries.js';
import { readAgain } from '../../server/query-client.js';
import { useMay } from '../../server/rights.js';
import { words } from '../../words/index.js';
import styles from './access.module.css';
import { Listing, type RowAction, RowActions } from './Listing.js';
import {
  type AdministratorForm,
  administratorActions,
  type ListedAdministrator,
  useAdministratorRoles,
  useAdministrators,
} from './requests.js';
import { type Secret, ShownOnce } from './ShownOnce.js';

const texts = words.access.administrators;

export const Administrators = () => {
  const me = useMe();
  const may = useMay();
  if (me === undefined) return <Waiting />;
  return may('admin::users.read') ? <Listed /> : <EmptyState title={texts.notRead} />;
};

const nameOf = ({ firstname, lastname, email }: ListedAdministrator): string =>
  [firstname, lastname].filter(Boolean).join(' ') || email;

/** The page at which an administrator chooses a password. */
const linkOf = (name: string, token: string): Secret => ({
  title: texts.linkOf(name),
  hint: texts.linkHint,
  label: texts.link,
  value: new URL(`join#${token}`, document.baseURI).href,
});

const Listed = () => {
  const me = useMe();
  const may = useMay();
  const queries = useQueryClient();
  const { data, error, refetch } = useAdministrators();
  const [form, setForm] = useState<ListedAdministrator | 'new' | null>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  const [secret, setSecret] = useState<Secret | null>(null);
  const [fault, setFault] = useState<unknown>(null);
  const newButton = useRef<HTMLButtonElement>(null);
  const refresh = (): Promise<void> => readAgain(queries, { queryKey: ['access', 'administrators'] });

  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    setFault(null);
    try {
      await work();
    } catch (it) {
      setFault(it);
    }
    await refresh();
  };
  const askToDelete = (it: ListedAdministrator): void =>
    setQuestion({
      title: texts.deleteTitle(nameOf(it)),
      text: texts.deleteText,
      action: texts.deleteAction,
      run: async () => {
        await administratorActions.remove(it.id);
        await refresh();
      },
      focusAfter: newButton,
    });
  const actionsOf = (it: ListedAdministrator): readonly RowAction[] => {
    const name = nameOf(it);
    const isMe = it.id === me?.id;
    const mayChange = may('admin::users.update');
    return [
      { text: texts.edit, label: texts.editOf(name), may: mayChange, why: texts.notUpdate, run: () => setForm(it) },
      {
        text: texts.newLink,
        label: texts.newLinkOf(name),
        may: mayChange && !isMe && !it.blocked,
        why: isMe ? texts.ownLink : it.blocked ? texts.blockedLink : texts.notUpdate,
        run: () => void attempt(async () => setSecret(linkOf(name, await administratorActions.invite(it.id)))),
      },
      {
        text: it.blocked ? texts.unblock : texts.block,
        label: it.blocked ? texts.unblockOf(name) : texts.blockOf(name),
        may: mayChange && !isMe,
        why: isMe ? texts.notYourself : texts.notUpdate,
        run: () => void attempt(() => administratorActions.change(it.id, { blocked: !it.blocked })),
      },
      {
        text: texts.delete,
        label: texts.deleteOf(name),
        may: may('admin::users.delete') && !isMe,
        why: isMe ? texts.notDeleteYourself : texts.notDelete,
        run: () => askToDelete(it),
      },
    ];
  };
  if (error) return <Fault fault={error} onRetry={() => void refetch()} />;
  if (!data) return <Waiting />;
  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="xs">
        <Text c="dimmed" size="sm">
          {texts.lead}
        </Text>
        <MayButton
          ref={newButton}
          size="xs"
          leftSection={<IconPlus size={16} />}
          may={may('admin::users.create')}
          why={texts.notCreate}
          onClick={() => setForm('new')}
        >
          {texts.create}
        </MayButton>
      </Group>
      {fault !== null && <Fault fault={fault} />}
      <Listing label={texts.list} minWidth={640} columns={texts.columns}>
        {data.map((it) => (
          <Table.Tr key={it.id}>
            <Table.Td>
              {nameOf(it)}{' '}
              {it.id === me?.id && (
                <Badge variant="light" c="var(--mantine-color-text)">
                  {texts.you}
                </Badge>
              )}
            </Table.Td>
            <Table.Td className={styles['cut']}>{it.email}</Table.Td>
            <Table.Td>{it.roles.map((role) => role.name).join(', ')}</Table.Td>
            <Table.Td>{texts[it.blocked ? 'blocked' : it.isActive ? 'active' : 'inactive']}</Table.Td>
            <Table.Td>
              <RowActions actions={actionsOf(it)} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Listing>
      {form !== null && (
        <AdministratorDialog
          administrator={form === 'new' ? null : form}
          onLink={(name, token) => setSecret(linkOf(name, token))}
          onSaved={refresh}
          onClose={() => setForm(null)}
        />
      )}
      <ShownOnce secret={secret} onClose={() => setSecret(null)} focusAfter={newButton} />
      <Confirm question={question} onClose={() => setQuestion(null)} />
    </Stack>
  );
};

const textFields = ['firstname', 'lastname', 'email'] as const;

const AdministratorDialog = ({
  administrator,
  onLink,
  onSaved,
  onClose,
}: {
  /** Null for a new one. */
  readonly administrator: ListedAdministrator | null;
  readonly onLink: (name: string, token: string) => void;
  readonly onSaved: () => Promise<void>;
  readonly onClose: () => void;
}) => {
  const roles = useAdministratorRoles().data ?? [];
  const [form, setForm] = useState<AdministratorForm>({
    firstname: administrator?.firstname ?? '',
    lastname: administrator?.lastname ?? '',
    email: administrator?.email ?? '',
    password: '',
    roles: administrator?.roles.map((it) => it.id) ?? [],
  });
  const submit = async (): Promise<void> => {
    const { password, ...rest } = form;
    if (administrator) return administratorActions.change(administrator.id, rest);
    const token = await administratorActions.create({ ...rest, ...(password === '' ? {} : { password }) });
    if (token !== null) onLink(`${form.firstname} ${form.lastname}`, token);
  };
  return (
    <FormDialog
      title={administrator ? texts.editOf(nameOf(administrator)) : texts.create}
      action={administrator ? texts.save : texts.createAction}
      missing={form.roles.length === 0 ? texts.roleMissing : null}
      onSubmit={submit}
      onSaved={onSaved}
      onClose={onClose}
    >
      {textFields.map((name, i) => (
        <TextInput
          key={name}
          label={texts[name]}
          required
          type={name === 'email' ? 'email' : 'text'}
          autoComplete="off"
          {...(i === 0 ? { 'data-autofocus': true } : {})}
          value={form[name]}
          onChange={({ currentTarget: { value } }) => setForm({ ...form, [name]: value })}
        />
      ))}
      {administrator === null && (
        <PasswordInput
          label={texts.password}
          description={texts.passwordHint}
          autoComplete="new-password"
          value={form.password}
          onChange={({ currentTarget: { value } }) => setForm({ ...form, password: value })}
        />
      )}
      <Checkbox.Group
        label={texts.roles}
        value={form.roles.map(String)}
        onChange={(ids) => setForm({ ...form, roles: ids.map(Number) })}
      >
        <Stack gap={4} mt={4}>
          {roles.map((it) => (
            <Checkbox key={it.id} value={String(it.id)} label={it.name} />
          ))}
        </Stack>
      </Checkbox.Group>
    </FormDialog>
  );
};
