/** Roles × types × actions. What a change opens and closes is shown before it is saved. */
import { ActionIcon, Group, Menu, Stack, Text } from '@mantine/core';
import { IconDots, IconPlus } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useBlocker } from '@tanstack/react-router';
import { useDeferredValue, useMemo, useRef, useState } from 'react';
import { Confirm, type Question } from '../../parts/Confirm.js';
import { EmptyState } from '../../parts/EmptyState.js';
import { Fault } from '../../parts/Fault.js';
import { FormDialog } from '../../parts/FormDialog.js';
import { MayButton } from '../../parts/MayButton.js';
import { Waiting } from '../../parts/Waiting.js';
import { useClient, useMe, useModel } from '../../server/queries.js';
import { readAgain } from '../../server/query-client.js';
import { useMay } from '../../server/rights.js';
import { words } from '../../words/index.js';
import styles from './access.module.css';
import { Described } from './Described.js';
import { differencesOf, requestOf } from './difference.js';
import { Grid } from './Grid.js';
import { GridBar } from './GridBar.js';
import { type Action, applied, type Edits, edited, isGranted, noEdits, type Role, remaining } from './grants.js';
import { filtered, type GridFilter, sectionsOf } from './grid.js';
import { Pending } from './Pending.js';
import { type Rights, type RoleForm, rightsOptions, roleActions, useRights } from './requests.js';

const { roles: texts, change: changeTexts } = words.access;

export const Roles = () => {
  const me = useMe();
  const may = useMay();
  if (me === undefined) return <Waiting />;
  return may('plugin::users-permissions.roles.read') ? <Loaded /> : <EmptyState title={texts.notRead} />;
};

const Loaded = () => {
  const { data, error, refetch } = useRights();
  if (error) return <Fault fault={error} onRetry={() => void refetch()} />;
  return data ? <Table rights={data} /> : <Waiting rows={12} />;
};

const Table = ({ rights: { roles, actions } }: { readonly rights: Rights }) => {
  const { types } = useModel();
  const client = useClient();
  const queries = useQueryClient();
  const may = useMay();
  const [{ base, edits }, setState] = useState({ base: roles, edits: noEdits });
  // the roles are others since the edits were made: saved here, or by somebody else
  if (base !== roles) setState({ base: roles, edits: remaining(base, roles, edits) });
  const setEdits = (next: Edits): void => setState({ base, edits: next });
  const [filter, setFilter] = useState<GridFilter>({ text: '', shown: 'all' });
  const [form, setForm] = useState<Role | 'new' | null>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  const newButton = useRef<HTMLButtonElement>(null);
  const [fault, setFault] = useState<unknown>(null);
  const [isSaving, setIsSaving] = useState(false);
  const mayUpdate = may('plugin::users-permissions.roles.update');

  const sections = useMemo(() => sectionsOf(actions, types), [actions, types]);
  const typesByUid = useMemo(() => new Map(types.map((it) => [it.uid, it])), [types]);
  const deferred = useDeferredValue(filter);
  const shown = filtered(sections, deferred, (action) =>
    deferred.shown === 'changed'
      ? roles.some((it) => edits.get(it.id)?.has(action))
      : roles.some((it) => isGranted(it, edits, action)),
  );
  const differences = differencesOf(roles, edits, types);

  const save = async (): Promise<void> => {
    setIsSaving(true);
    setFault(null);
    try {
      for (const { role, opened, closed } of differences) {
        const names = (list: typeof opened): readonly Action[] => list.map((it) => it.action);
        const granted = await roleActions(client).change(role.id, (it) => applied(it, names(opened), names(closed)));
        queries.setQueryData(
          rightsOptions(client).queryKey,
          (known) =>
            known && { ...known, roles: known.roles.map((it) => (it.id === role.id ? { ...it, granted } : it)) },
        );
      }
    } catch (it) {
      setFault(it);
    }
    // what the public sees of the model may have changed too
    await readAgain(queries);
    setIsSaving(false);
  };

  const askToDelete = (role: Role): void =>
    setQuestion({
      title: texts.deleteTitle(role.name),
      text: role.type === 'public' ? texts.publicStays : texts.deleteText(role.users),
      action: role.type === 'public' ? null : texts.deleteAction,
      run: async () => {
        await roleActions(client).remove(role.id);
        await readAgain(queries);
      },
      focusAfter: newButton,
    });

  const headOf = (role: Role) => (
    <Group gap={4} justify="center" wrap="nowrap">
      <span>
        {role.name}
        <span className={styles['small']}>{texts.users(role.users)}</span>
      </span>
      {(mayUpdate || may('plugin::users-permissions.roles.delete')) && (
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <ActionIcon variant="subtle" color="gray" size="sm" aria-label={texts.actions(role.name)}>
              <IconDots size={16} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item disabled={!mayUpdate} onClick={() => setForm(role)}>
              {texts.rename}
            </Menu.Item>
            <Menu.Item disabled={!may('plugin::users-permissions.roles.delete')} onClick={() => askToDelete(role)}>
              {texts.delete}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
    </Group>
  );

  return (
    <Stack gap="sm">
      <Text c="dimmed" size="sm">
        {texts.lead} {!mayUpdate && texts.notUpdate}
      </Text>
      <GridBar filter={filter} onFilter={setFilter}>
        <MayButton
          ref={newButton}
          size="xs"
          leftSection={<IconPlus size={16} />}
          may={may('plugin::users-permissions.roles.create')}
          why={texts.notCreate}
          onClick={() => setForm('new')}
        >
          {texts.create}
        </MayButton>
      </GridBar>
      {shown.length === 0 ? (
        <EmptyState title={texts.nothing} />
      ) : (
        <Grid
          label={texts.grid}
          sections={shown}
          disabled={!mayUpdate || isSaving}
          noteOf={(action) => {
            const request = requestOf(action, typesByUid);
            return request && `${request.method} ${request.path}`;
          }}
          columns={roles.map((role) => ({
            key: role.id,
            name: role.name,
            head: headOf(role),
            isGranted: (action) => isGranted(role, edits, action),
            isEdited: (action) => edits.get(role.id)?.has(action) ?? false,
            onSet: (list, granted) => setEdits(edited(edits, role, list, granted)),
          }))}
        />
      )}
      {fault !== null && <Fault fault={fault} />}
      <Pending
        differences={differences}
        isSaving={isSaving}
        onSave={() => void save()}
        onDiscard={() => setEdits(noEdits)}
      />
      <RoleDialog key={form === 'new' ? 'new' : (form?.id ?? 'none')} role={form} onClose={() => setForm(null)} />
      <Confirm question={question} onClose={() => setQuestion(null)} />
      <LeaveQuestion isChanged={differences.length > 0} />
    </Stack>
  );
};

const LeaveQuestion = ({ isChanged }: { readonly isChanged: boolean }) => {
  const blocker = useBlocker({
    shouldBlockFn: () => isChanged,
    enableBeforeUnload: () => isChanged,
    withResolver: true,
  });
  const isAsked = blocker.status === 'blocked';
  return (
    <Confirm
      question={
        isAsked
          ? {
              title: changeTexts.leaveTitle,
              text: changeTexts.leaveText,
              action: changeTexts.leaveAction,
              run: async () => blocker.proceed(),
            }
          : null
      }
      onClose={() => {
        if (isAsked) blocker.reset();
      }}
    />
  );
};

const RoleDialog = ({ role, onClose }: { readonly role: Role | 'new' | null; readonly onClose: () => void }) => {
  const client = useClient();
  const queries = useQueryClient();
  const stored = role === 'new' ? null : role;
  const [form, setForm] = useState<RoleForm>({ name: stored?.name ?? '', description: stored?.description ?? '' });
  const { create, describe } = roleActions(client);
  return (
    <FormDialog
      opened={role !== null}
      title={stored ? texts.edit(stored.name) : texts.create}
      action={stored ? changeTexts.save : texts.createAction}
      missing={form.name.trim() === '' ? texts.nameMissing : null}
      onSubmit={() => (stored ? describe(stored.id, form) : create(form))}
      onSaved={() => readAgain(queries)}
      onClose={onClose}
    >
      <Described form={form} onForm={(next) => setForm({ ...form, ...next })} />
    </FormDialog>
  );
};
