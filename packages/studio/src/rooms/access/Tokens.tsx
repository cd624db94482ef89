/** API tokens: made, shown once, renewed, revoked. */
import { Badge, Group, NativeSelect, Radio, Stack, Table, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useRef, useState } from 'react';
import { Confirm, type Question } from '../../parts/Confirm.js';
import { EmptyState } from '../../parts/EmptyState.js';
import { Fault } from '../../parts/Fault.js';
import { FormDialog } from '../../parts/FormDialog.js';
import { Instant } from '../../parts/Instant.js';
import { MayButton } from '../../parts/MayButton.js';
import { Waiting } from '../../parts/Waiting.js';
import { type ApiToken, tokensOptions, useMe, useModel } from '../../server/queries.js';
import { readAgain } from '../../server/query-client.js';
import { useMay } from '../../server/rights.js';
import { words } from '../../words/index.js';
import styles from './access.module.css';
import { Described } from './Described.js';
import { Grid } from './Grid.js';
import { GridBar } from './GridBar.js';
import type { Action } from './grants.js';
import { filtered, type GridFilter, sectionsOf } from './grid.js';
import { Listing, type RowAction, RowActions } from './Listing.js';
import { tokenActions, useRights } from './requests.js';
import { type Secret, ShownOnce } from './ShownOnce.js';
import {
  emptyTokenForm,
  formOf,
  type Lifespan,
  lifespans,
  missingIn,
  stateOf,
  type TokenForm,
  type TokenKind,
  tokenBody,
} from './token-form.js';

const texts = words.access.tokens;
const kinds: readonly TokenKind[] = ['read-only', 'full-access', 'custom'];

export const Tokens = () => {
  const me = useMe();
  const may = useMay();
  if (me === undefined) return <Waiting />;
  return may('admin::api-tokens.read') ? <Listed /> : <EmptyState title={texts.notRead} />;
};

const secretOf = (name: string, key: string): Secret => ({
  title: texts.made(name),
  hint: texts.once,
  label: texts.key,
  value: key,
});

const Listed = () => {
  const may = useMay();
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery(tokensOptions());
  const [form, setForm] = useState<ApiToken | 'new' | null>(null);
  const [secret, setSecret] = useState<Secret | null>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  const newButton = useRef<HTMLButtonElement>(null);
  const refresh = (): Promise<void> => readAgain(queries, tokensOptions());

  const askToRegenerate = ({ id, name }: ApiToken): void =>
    setQuestion({
      title: texts.regenerateTitle(name),
      text: texts.regenerateText,
      action: texts.regenerateAction,
      run: async () => {
        setSecret(secretOf(name, await tokenActions.regenerate(id)));
        await refresh();
      },
    });
  const askToRevoke = ({ id, name }: ApiToken): void =>
    setQuestion({
      title: texts.revokeTitle(name),
      text: texts.revokeText,
      action: texts.revokeAction,
      run: async () => {
        await tokenActions.revoke(id);
        await refresh();
      },
      focusAfter: newButton,
    });
  const actionsOf = (token: ApiToken): readonly RowAction[] => [
    {
      text: texts.change,
      label: texts.edit(token.name),
      may: may('admin::api-tokens.update'),
      why: texts.notUpdate,
      run: () => setForm(token),
    },
    {
      text: texts.regenerate,
      label: texts.regenerateOf(token.name),
      may: may('admin::api-tokens.regenerate'),
      why: texts.notRegenerate,
      run: () => askToRegenerate(token),
    },
    {
      text: texts.revoke,
      label: texts.revokeOf(token.name),
      may: may('admin::api-tokens.delete'),
      why: texts.notDelete,
      run: () => askToRevoke(token),
    },
  ];
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
          may={may('admin::api-tokens.create')}
          why={texts.notCreate}
          onClick={() => setForm('new')}
        >
          {texts.create}
        </MayButton>
      </Group>
      {error ? (
        <Fault fault={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Waiting />
      ) : data.length === 0 ? (
        <EmptyState title={texts.none} text={texts.noneHint} />
      ) : (
        <Listing label={texts.list} minWidth={640} columns={texts.columns}>
          {data.map((token) => (
            <Table.Tr key={token.id}>
              <Table.Td className={styles['cut']}>
                {token.name}
                {token.description && <span className={styles['small']}>{token.description}</span>}
              </Table.Td>
              <Table.Td>
                {texts.kinds[token.type]}
                {token.type === 'custom' && (
                  <span className={styles['small']}>{texts.permissions(token.permissions.length)}</span>
                )}
              </Table.Td>
              <Table.Td>{token.lastUsedAt ? <Instant value={token.lastUsedAt} /> : texts.neverUsed}</Table.Td>
              <Table.Td>
                <Expiry token={token} />
              </Table.Td>
              <Table.Td>
                <RowActions actions={actionsOf(token)} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Listing>
      )}
      <TokenDialog
        key={form === 'new' ? 'new' : (form?.id ?? 'none')}
        token={form}
        onClose={() => setForm(null)}
        onMade={(name, key) => setSecret(secretOf(name, key))}
        onSaved={refresh}
      />
      <ShownOnce secret={secret} onClose={() => setSecret(null)} focusAfter={newButton} />
      <Confirm question={question} onClose={() => setQuestion(null)} />
    </Stack>
  );
};

const Expiry = ({ token }: { readonly token: ApiToken }) => {
  const state = stateOf(token, Date.now());
  if (token.expiresAt === null) return <>{texts.never}</>;
  return (
    <Group gap={4} wrap="nowrap">
      <Instant value={token.expiresAt} />
      {(state === 'expired' || state === 'soon') && (
        <Badge color={state === 'expired' ? 'red' : 'yellow'} variant="light" c="var(--mantine-color-text)">
          {texts[state]}
        </Badge>
      )}
    </Group>
  );
};

const TokenDialog = ({
  token,
  onClose,
  onMade,
  onSaved,
}: {
  readonly token: ApiToken | 'new' | null;
  readonly onClose: () => void;
  readonly onMade: (name: string, key: string) => void;
  readonly onSaved: () => Promise<void>;
}) => {
  const stored = token === 'new' ? null : token;
  const [form, setForm] = useState<TokenForm>(stored ? formOf(stored) : emptyTokenForm);
  const missing = missingIn(form);
  const submit = async (): Promise<void> => {
    const body = tokenBody(form, stored === null);
    if (stored) await tokenActions.change(stored.id, body);
    else {
      const { name, accessKey } = await tokenActions.create(body);
      onMade(name, accessKey);
    }
  };
  return (
    <FormDialog
      opened={token !== null}
      size={form.type === 'custom' ? 'lg' : 'md'}
      title={stored ? texts.edit(stored.name) : texts.createTitle}
      action={stored ? texts.save : texts.createAction}
      missing={missing && texts.missing[missing]}
      onSubmit={submit}
      onSaved={onSaved}
      onClose={onClose}
    >
      <Described form={form} onForm={(next) => setForm({ ...form, ...next })} />
      {stored === null && (
        <NativeSelect
          label={texts.lifespan}
          value={form.lifespan}
          data={Object.keys(lifespans).map((it) => ({ value: it, label: texts.lifespans[it as Lifespan] }))}
          onChange={({ currentTarget: { value } }) => setForm({ ...form, lifespan: value as Lifespan })}
        />
      )}
      <Radio.Group
        label={texts.kind}
        value={form.type}
        onChange={(type) => setForm({ ...form, type: type as TokenKind })}
      >
        <Stack gap={4} mt={4}>
          {kinds.map((it) => (
            <Radio key={it} value={it} label={texts.kinds[it]} description={texts.kindHints[it]} />
          ))}
        </Stack>
      </Radio.Group>
      {form.type === 'custom' && (
        <Permissions chosen={form.permissions} onChosen={(permissions) => setForm({ ...form, permissions })} />
      )}
    </FormDialog>
  );
};

const Permissions = ({
  chosen,
  onChosen,
}: {
  readonly chosen: ReadonlySet<Action>;
  readonly onChosen: (next: ReadonlySet<Action>) => void;
}) => {
  const { types } = useModel();
  const { data, error } = useRights();
  const [filter, setFilter] = useState<GridFilter>({ text: '', shown: 'all' });
  const sections = useMemo(
    () => sectionsOf([...new Set([...(data?.actions ?? []), ...chosen])], types),
    [data, chosen, types],
  );
  if (error) return <Fault fault={error} />;
  if (!data) return <Waiting rows={4} />;
  return (
    <Stack gap="xs">
      <GridBar filter={filter} onFilter={setFilter} />
      <Grid
        label={texts.allowed}
        sections={filtered(sections, filter, (it) => chosen.has(it))}
        disabled={false}
        columns={[
          {
            key: 'token',
            name: texts.allowedColumn,
            head: texts.allowedColumn,
            isGranted: (action) => chosen.has(action),
            isEdited: () => false,
            onSet: (actions, granted) => {
              const next = new Set(chosen);
              for (const action of actions) {
                if (granted) next.add(action);
                else next.delete(action);
              }
              onChosen(next);
            },
          },
        ]}
      />
    </Stack>
  );
};
