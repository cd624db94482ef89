/** What is changed and not saved: requests that open and close, and what appears in answers. */
import { Alert, Button, Code, Group, Paper, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { words } from '../../words/index.js';
import styles from './access.module.css';
import type { Answered, Difference, Populated } from './difference.js';

const texts = words.access.change;

/** More are counted. */
const SHOWN_MAX = 8;

export const Pending = ({
  differences,
  isSaving,
  onSave,
  onDiscard,
}: {
  readonly differences: readonly Difference[];
  readonly isSaving: boolean;
  readonly onSave: () => void;
  readonly onDiscard: () => void;
}) => {
  if (differences.length === 0) return null;
  const publicWrites = differences
    .filter((it) => it.role.type === 'public')
    .flatMap((it) => it.opened.filter(({ isWrite }) => isWrite));
  return (
    <Paper component="section" withBorder shadow="md" p="sm" className={styles['pending']} aria-label={texts.title}>
      <Group justify="space-between" mb="xs">
        <Text fw={600} role="status">
          {texts.title}
        </Text>
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={onDiscard} disabled={isSaving}>
            {texts.discard}
          </Button>
          <Button size="xs" onClick={onSave} loading={isSaving}>
            {texts.save}
          </Button>
        </Group>
      </Group>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long list is scrolled with the keyboard too */}
      <section className={styles['differences']} tabIndex={0} aria-label={texts.list}>
        {publicWrites.length > 0 && (
          <Alert color="yellow" variant="light" icon={<IconAlertTriangle />} title={texts.publicWrites} mb="xs">
            <Some list={publicWrites} show={(it) => <Request answered={it} />} keyOf={(it) => it.action} />
          </Alert>
        )}
        {differences.map(({ role, opened, closed, appears, disappears }) => (
          <div key={role.id}>
            <Text size="sm" fw={600}>
              {role.name}: {texts.summary(opened.length, closed.length)}
            </Text>
            <Requests title={texts.opens} list={opened} />
            <Requests title={texts.closes} list={closed} />
            <Relations title={texts.appears} list={appears} />
            <Relations title={texts.disappears} list={disappears} />
          </div>
        ))}
      </section>
    </Paper>
  );
};

const Requests = ({ title, list }: { readonly title: string; readonly list: readonly Answered[] }) =>
  list.length === 0 ? null : (
    <>
      <Text size="sm">{title}</Text>
      <Some list={list} show={(it) => <Request answered={it} />} keyOf={(it) => it.action} />
    </>
  );

const Request = ({ answered: { action, request } }: { readonly answered: Answered }) => (
  <>{request ? <Code>{`${request.method} ${request.path}`}</Code> : <Code>{action}</Code>}</>
);

const Relations = ({ title, list }: { readonly title: string; readonly list: readonly Populated[] }) =>
  list.length === 0 ? null : (
    <>
      <Text size="sm">{title}</Text>
      <Some
        list={list}
        show={({ type, path, target }) => <Text size="sm">{texts.populated(type, path, target)}</Text>}
        keyOf={(it) => `${it.type} ${it.path}`}
      />
    </>
  );

const Some = <T,>({
  list,
  show,
  keyOf,
}: {
  readonly list: readonly T[];
  readonly show: (member: T) => ReactNode;
  readonly keyOf: (member: T) => string;
}) => (
  <ul>
    {list.slice(0, SHOWN_MAX).map((it) => (
      <li key={keyOf(it)}>{show(it)}</li>
    ))}
    {list.length > SHOWN_MAX && <li>{texts.more(list.length - SHOWN_MAX)}</li>}
  </ul>
);
