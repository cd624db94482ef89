/** Users of the API: found, created, blocked, given a role. */
import {
  Badge,
  Checkbox,
  CloseButton,
  Group,
  NativeSelect,
  PasswordInput,
  Stack,
  Table,
  Text,
  TextInput,
} from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { encodeQuery } from 'dovetail-client';
import { useRef, useState } from 'react';
import { USER_UID } from '../../model/model.js';
import { Confirm, type Question } from '../../parts/Confirm.js';
import { EmptyState } from '../../parts/EmptyState.js';
import { Fault } from '../../parts/Fault.js';
import { FormDialog } from '../../parts/FormDialog.js';
import { Instant } from '../../parts/Instant.js';
import { MayButton } from '../../parts/MayButton.js';
import { Pages } from '../../parts/Pages.js';
import { SearchField } from '../../parts/SearchField.js';
import { Waiting } from '../../parts/Waiting.js';
import { rolesOptions, useClient, useMe } from '../../server/queries.js';
import { readAgain } from '../../server/query-client.js';
import { useMay } from '../../server/rights.js';
import { words } from '../../words/index.js';
import styles from './access.module.css';
import { Listing, type RowAction, RowActions } from './Listing.js';

const texts = words.access.users;

const PAGE_SIZE = 50;

interface User {
  readonly id: number;
  readonly username: string;
  readonly email: string | null;
  readonly confirmed: boolean | null;
  readonly blocked: boolean | null;
  readonly createdAt: string;
  readonly role?: { readonly id: number; readonly name: string } | null;
}

/** What v4's administration allows with users, who are entries there. */
const useUserRights = () => {
  const may = useMay();
  const mayDo = (action: string): boolean => may(`plugin::content-manager.explorer.${action}`, USER_UID);
  return { read: mayDo('read'), create: mayDo('create'), update: mayDo('update'), delete: mayDo('delete') };
};

export const Users = () => {
  const me = useMe();
  const { read } = useUserRights();
  if (me === undefined) return <Waiting />;
  return read ? <Listed /> : <EmptyState title={texts.notRead} />;
};

interface Page {
  readonly q: string;
  readonly role: number | null;
  readonly page: number;
}

const filtersOf = ({ q, role }: Page): object => ({
  ...(q.trim() === '' ? {} : { $or: ['username', 'email'].map((it) => ({ [it]: { $containsi: q.trim() } })) }),
  ...(role === null ? {} : { role: { id: { $eq: role } } }),
});

const useUsers = (listing: Page) => {
  const client = useClient();
  return useQuery({
    queryKey: ['access', 'users', listing],
    queryFn: async ({ signal }) => {
      const filters = filtersOf(listing);
      const query = {
        filters,
        populate: 'role',
        sort: ['username', 'id'],
        pagination: { page: listing.page, pageSize: PAGE_SIZE },
      };
      const [users, counted] = await Promise.all([
        client.send({ method: 'GET', path: '/users', query: encodeQuery(query), signal }),
        client.send({ method: 'GET', path: '/users/count', query: encodeQuery({ filters }), signal }),
      ]);
      return { users: users.body as readonly User[], total: counted.body as number };
    },
    placeholderData: keepPreviousData,
  });
};

const Listed = () => {
  const client = useClient();
  const queries = useQueryClient();
  const rights = useUserRights();
  const roles = useQuery(rolesOptions()).data ?? [];
  const [listing, setListing] = useState<Page>({ q: '', role: null, page: 1 });
  const [q] = useDebouncedValue(listing.q, 250);
  const { data, error, refetch } = useUsers({ ...listing, q });
  const [form, setForm] = useState<User | 'new' | null>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  const newButton = useRef<HTMLButtonElement>(null);
  const [fault, setFault] = useState<unknown>(null);
  const refresh = (): Promise<void> => readAgain(queries, { queryKey: ['access'] });

  const setBlocked = async (user: User, blocked: boolean): Promise<void> => {
    setFault(null);
    try {
      await client.send({ method: 'PUT', path: `/users/${user.id}`, body: { blocked } });
    } catch (it) {
      setFault(it);
    }
    await refresh();
  };
  const askToDelete = (user: User): void =>
    setQuestion({
      title: texts.deleteTitle(user.username),
      text: texts.deleteText,
      action: texts.delete,
      run: async () => {
        await client.send({ method: 'DELETE', path: `/users/${user.id}` });
        await refresh();
      },
      focusAfter: newButton,
    });
  const actionsOf = (user: User): readonly RowAction[] => [
    {
      text: texts.change,
      label: texts.edit(user.username),
      may: rights.update,
      why: texts.notUpdate,
      run: () => setForm(user),
    },
    {
      text: user.blocked ? texts.unblock : texts.block,
      label: user.blocked ? texts.unblockOf(user.username) : texts.blockOf(user.username),
      may: rights.update,
      why: texts.notUpdate,
      run: () => void setBlocked(user, !user.blocked),
    },
    {
      text: texts.delete,
      label: texts.deleteOf(user.username),
      may: rights.delete,
      why: texts.notDelete,
      run: () => askToDelete(user),
    },
  ];
  const isFiltered = listing.q !== '' || listing.role !== null;
  return (
    <Stack gap="sm">
      <Text c="dimmed" size="sm">
        {texts.lead}
      </Text>
      <Group gap="xs">
        <SearchField
          label={texts.search}
          value={listing.q}
          onSearch={(text) => setListing({ ...listing, q: text, page: 1 })}
          rightSection={
            listing.q !== '' && (
              <CloseButton
                size="sm"
                aria-label={texts.clear}
                onClick={() => setListing({ ...listing, q: '', page: 1 })}
              />
            )
          }
        />
        <NativeSelect
          size="xs"
          aria-label={texts.role}
          value={listing.role ?? ''}
          data={[
            { value: '', label: texts.allRoles },
            ...roles.map((it) => ({ value: String(it.id), label: it.name })),
          ]}
          onChange={({ currentTarget: { value } }) =>
            setListing({ ...listing, role: value === '' ? null : Number(value), page: 1 })
          }
        />
        <MayButton
          ref={newButton}
          size="xs"
          leftSection={<IconPlus size={16} />}
          may={rights.create}
          why={texts.notCreate}
          onClick={() => setForm('new')}
        >
          {texts.create}
        </MayButton>
      </Group>
      {fault !== null && <Fault fault={fault} />}
      {error ? (
        <Fault fault={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Waiting />
      ) : data.total === 0 ? (
        isFiltered ? (
          <EmptyState title={texts.noneFound} />
        ) : (
          <EmptyState title={texts.none} text={texts.noneHint} />
        )
      ) : (
        <>
          <Listing label={texts.list} minWidth={640} columns={texts.columns}>
            {data.users.map((user) => (
              <Table.Tr key={user.id}>
                <Table.Td className={styles['cut']}>{user.username}</Table.Td>
                <Table.Td className={styles['cut']}>{user.email}</Table.Td>
                <Table.Td>{user.role?.name ?? texts.noRole}</Table.Td>
                <Table.Td>
                  <State user={user} />
                </Table.Td>
                <Table.Td>
                  <Instant value={user.createdAt} />
                </Table.Td>
                <Table.Td>
                  <RowActions actions={actionsOf(user)} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Listing>
          <Pages
            page={listing.page}
            pageSize={PAGE_SIZE}
            total={data.total}
            onPage={(page) => setListing({ ...listing, page })}
          />
        </>
      )}
      <UserDialog
        key={form === 'new' ? 'new' : (form?.id ?? 'none')}
        user={form}
        roles={roles}
        onClose={() => setForm(null)}
        onSaved={refresh}
      />
      <Confirm question={question} onClose={() => setQuestion(null)} />
    </Stack>
  );
};

const State = ({ user: { blocked, confirmed } }: { readonly user: User }) => {
  const plain = { variant: 'light', tt: 'none', c: 'var(--mantine-color-text)' } as const;
  if (blocked)
    return (
      <Badge color="red" {...plain}>
        {texts.blocked}
      </Badge>
    );
  if (!confirmed)
    return (
      <Badge color="yellow" {...plain}>
        {texts.notConfirmed}
      </Badge>
    );
  return <>{texts.active}</>;
};

interface UserForm {
  readonly username: string;
  readonly email: string;
  readonly password: string;
  /** '' until one is chosen: the usual one. */
  readonly role: string;
  readonly confirmed: boolean;
  readonly blocked: boolean;
}

const UserDialog = ({
  user,
  roles,
  onClose,
  onSaved,
}: {
  readonly user: User | 'new' | null;
  readonly roles: readonly { readonly id: number; readonly name: string; readonly type: string }[];
  readonly onClose: () => void;
  readonly onSaved: () => Promise<void>;
}) => {
  const client = useClient();
  const stored = user === 'new' ? null : user;
  const usual = roles.find((it) => it.type === 'authenticated') ?? roles[0];
  const [form, setForm] = useState<UserForm>({
    username: stored?.username ?? '',
    email: stored?.email ?? '',
    password: '',
    role: String(stored?.role?.id ?? ''),
    confirmed: stored ? stored.confirmed === true : true,
    blocked: stored?.blocked === true,
  });
  // the roles may come later than the dialog
  const role = form.role === '' && !stored ? String(usual?.id ?? '') : form.role;
  const submit = () => {
    const { password, role: _chosen, ...rest } = form;
    const body = {
      ...rest,
      ...(password === '' ? {} : { password }),
      ...(role === '' ? {} : { role: Number(role) }),
    };
    return client.send(
      stored ? { method: 'PUT', path: `/users/${stored.id}`, body } : { method: 'POST', path: '/users', body },
    );
  };
  return (
    <FormDialog
      opened={user !== null}
      title={stored ? texts.editTitle(stored.username) : texts.create}
      action={stored ? texts.save : texts.createAction}
      onSubmit={submit}
      onSaved={onSaved}
      onClose={onClose}
    >
      <TextInput
        label={texts.username}
        required
        data-autofocus
        autoComplete="off"
        value={form.username}
        onChange={({ currentTarget: { value } }) => setForm({ ...form, username: value })}
      />
      <TextInput
        label={texts.email}
        required
        type="email"
        autoComplete="off"
        value={form.email}
        onChange={({ currentTarget: { value } }) => setForm({ ...form, email: value })}
      />
      <PasswordInput
        label={stored ? texts.passwordNew : texts.password}
        {...(stored ? { description: texts.passwordHint } : {})}
        required={!stored}
        autoComplete="new-password"
        value={form.password}
        onChange={({ currentTarget: { value } }) => setForm({ ...form, password: value })}
      />
      <NativeSelect
        label={texts.role}
        value={role}
        data={[
          ...(role === '' ? [{ value: '', label: texts.noRole }] : []),
          ...roles.map((it) => ({ value: String(it.id), label: it.name })),
        ]}
        onChange={({ currentTarget: { value } }) => setForm({ ...form, role: value })}
      />
      <Checkbox
        label={texts.confirmed}
        checked={form.confirmed}
        onChange={({ currentTarget: { checked } }) => setForm({ ...form, confirmed: checked })}
      />
      <Checkbox
        label={texts.isBlocked}
        checked={form.blocked}
        onChange={({ currentTarget: { checked } }) => setForm({ ...form, blocked: checked })}
      />
    </FormDialog>
  );
};
