/** How the server is: version, database, checks, webhooks, and what it ignores of the project. */
import {
  ActionIcon,
  Badge,
  Code,
  Container,
  Group,
  Stack,
  Table,
  Text,
  Title,
  Tooltip,
  VisuallyHidden,
} from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconCircleX, IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { DovetailError } from 'dovetail-client';
import { ByteSize } from '../../parts/ByteSize.js';
import { EmptyState } from '../../parts/EmptyState.js';
import { Fault } from '../../parts/Fault.js';
import { Instant } from '../../parts/Instant.js';
import { NeedsAccount } from '../../parts/NeedsAccount.js';
import { Pairs } from '../../parts/Pairs.js';
import { Section } from '../../parts/Section.js';
import { Waiting } from '../../parts/Waiting.js';
import { getData, serverSend } from '../../server/clients.js';
import { useAdministrator } from '../../server/queries.js';
import { words } from '../../words/index.js';
import {
  byFile,
  type Check,
  durationParts,
  type Health as HealthData,
  type Ignored,
  type Kept,
  shareOf,
  sortedChecks,
  summaryOf,
  type Webhook,
} from './checks.js';
import styles from './health.module.css';

const texts = words.health;

/** While it is looked at; a tab in the background asks nothing. */
const REFRESH_MS = 5_000;

export const Health = () => {
  const isSignedIn = useAdministrator() !== null;
  const { data, error, refetch, isFetching } = useQuery({
    queryKey: ['health'],
    queryFn: ({ signal }) => getData<HealthData>(serverSend(), '/_dovetail/health', signal),
    refetchInterval: (query) => (isRefused(query.state.error) ? false : REFRESH_MS),
  });
  if (isRefused(error))
    return isSignedIn ? (
      <EmptyState title={texts.title} level={1} text={texts.forbidden} />
    ) : (
      <NeedsAccount title={texts.title} text={texts.signIn} />
    );
  return (
    <Container size="lg" px={0}>
      <Stack gap="lg">
        <Group justify="space-between">
          <Group gap="sm">
            <Title order={1}>{texts.title}</Title>
            {data && <Summary status={summaryOf(data)} />}
          </Group>
          <Group gap={4}>
            <Text size="xs" c="dimmed">
              {error ? texts.paused : texts.refreshed}
            </Text>
            <Tooltip label={texts.refresh} withinPortal={false}>
              <ActionIcon
                variant="subtle"
                aria-label={texts.refresh}
                aria-busy={isFetching}
                onClick={() => void refetch()}
              >
                <IconRefresh size={18} />
              </ActionIcon>
            </Tooltip>
          </Group>
        </Group>
        {error && <Fault fault={error} onRetry={() => void refetch()} />}
        {data ? <Report health={data} /> : !error && <Waiting rows={10} />}
      </Stack>
    </Container>
  );
};

const isRefused = (error: unknown): boolean =>
  error instanceof DovetailError && (error.status === 401 || error.status === 403);

const colours: Readonly<Record<Check['status'], string>> = { ok: 'green', warning: 'yellow', fault: 'red' };

const Summary = ({ status }: { readonly status: Check['status'] }) => (
  <Badge role="status" color={colours[status]} variant="light" c="var(--mantine-color-text)">
    {texts.summary[status]}
  </Badge>
);

const Report = ({ health }: { readonly health: HealthData }) => (
  <>
    <div className={styles['facts']}>
      <Server health={health} />
      <Database health={health} />
    </div>
    <Checks checks={sortedChecks(health.checks)} />
    <Webhooks webhooks={health.webhooks} />
    <IgnoredNotes ignored={health.ignored} />
  </>
);

const durationOf = (seconds: number): string =>
  durationParts(seconds)
    .map(({ value, unit }) => `${value} ${texts.units[unit]}`)
    .join(' ');

const Share = ({ kept }: { readonly kept: Kept }) => {
  const share = shareOf(kept);
  return share === null ? texts.keptNone : <span title={texts.keptCounts(kept)}>{texts.keptShare(share)}</span>;
};

const Server = ({ health: { version, node, mode, startedAt, process, kept } }: { readonly health: HealthData }) => (
  <Section title={texts.server}>
    <Pairs
      pairs={[
        [texts.version, version],
        [texts.node, node],
        [texts.mode, texts.modes[mode]],
        [texts.started, <Instant key="started" value={startedAt} />],
        [texts.running, durationOf(process.uptimeSeconds)],
        [texts.memory, <ByteSize key="memory" bytes={process.memoryBytes} />],
        ...(process.worker ? [[texts.worker, texts.workerOf(process.worker)] as const] : []),
        [texts.keptResponses, <Share key="responses" kept={kept.responses} />],
        [texts.keptEntries, <Share key="entries" kept={kept.entries} />],
      ]}
    />
  </Section>
);

const Database = ({
  health: {
    database: { client, version, name, bytes, walBytes },
    process: { threads, connections },
  },
}: {
  readonly health: HealthData;
}) => (
  <Section title={texts.database}>
    <Pairs
      pairs={[
        [texts.client, `${texts.clients[client] ?? client} ${version}`],
        [texts.databaseName, name],
        ...(bytes === null ? [] : [[texts.databaseSize, <ByteSize key="size" bytes={bytes} />] as const]),
        ...(walBytes === null ? [] : [[texts.wal, <ByteSize key="wal" bytes={walBytes} />] as const]),
        ...(threads === undefined ? [] : [[texts.threads, threads] as const]),
        ...(connections === undefined ? [] : [[texts.connections, connections] as const]),
      ]}
    />
  </Section>
);

const icons: Readonly<Record<Check['status'], typeof IconCircleCheck>> = {
  ok: IconCircleCheck,
  warning: IconAlertTriangle,
  fault: IconCircleX,
};

const Checks = ({ checks }: { readonly checks: readonly Check[] }) => (
  <Section title={texts.checks}>
    {checks.length === 0 ? (
      <Text c="dimmed">{texts.checksNone}</Text>
    ) : (
      <ul className={styles['list']}>
        {checks.map(({ name, status, message }) => {
          const Icon = icons[status];
          return (
            <li key={`${name} ${message}`} className={styles['check']}>
              <Icon size={20} color={`var(--mantine-color-${colours[status]}-6)`} aria-hidden />
              <div className={styles['message']}>
                <Text fw={600} size="sm">
                  {name} <VisuallyHidden>{texts.status[status]}</VisuallyHidden>
                </Text>
                <Text size="sm">{message}</Text>
              </div>
            </li>
          );
        })}
      </ul>
    )}
  </Section>
);

const Webhooks = ({ webhooks }: { readonly webhooks: readonly Webhook[] | null }) => (
  <Section title={texts.webhooks}>
    {webhooks === null ? (
      <Text c="dimmed" size="sm">
        {texts.webhooksForbidden}
      </Text>
    ) : webhooks.length === 0 ? (
      <Text c="dimmed" size="sm">
        {texts.webhooksNone} <Code>{texts.webhooksCommand}</Code>
      </Text>
    ) : (
      <Table.ScrollContainer type="native" minWidth={560} tabIndex={0} role="group" aria-label={texts.webhooks}>
        <Table aria-label={texts.webhooks}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{texts.columns.webhook}</Table.Th>
              <Table.Th>{texts.columns.state}</Table.Th>
              <Table.Th ta="right">{texts.columns.waiting}</Table.Th>
              <Table.Th ta="right">{texts.columns.failed}</Table.Th>
              <Table.Th>{texts.columns.last}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {webhooks.map((it) => (
              <Table.Tr key={it.id}>
                <Table.Td className={styles['message']}>
                  <Text size="sm" fw={600}>
                    {it.name}
                  </Text>
                  <Text size="xs" c="dimmed">
                    {it.url}
                  </Text>
                  <Text size="xs" c="dimmed">
                    {it.events.join(', ')}
                  </Text>
                </Table.Td>
                <Table.Td>{it.isEnabled ? texts.enabled : texts.disabled}</Table.Td>
                <Table.Td ta="right">{it.waiting.toLocaleString('en')}</Table.Td>
                <Table.Td
                  ta="right"
                  fw={it.failed > 0 ? 600 : 400}
                  c={it.failed > 0 ? 'var(--mantine-color-error)' : ''}
                >
                  {it.failed.toLocaleString('en')}
                </Table.Td>
                <Table.Td className={styles['message']}>
                  {it.last ? (
                    <>
                      <Text size="sm" {...(it.last.fault === null ? {} : { c: 'var(--mantine-color-error)' })}>
                        {it.last.fault ?? texts.delivered}
                      </Text>
                      <Text size="xs" c="dimmed">
                        {it.last.event}, <Instant value={it.last.at} />
                      </Text>
                    </>
                  ) : (
                    texts.noAnswer
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    )}
  </Section>
);

const IgnoredNotes = ({ ignored }: { readonly ignored: readonly Ignored[] }) => (
  <Section title={texts.ignored}>
    <Text c="dimmed" size="sm" mb="xs">
      {ignored.length === 0 ? texts.ignoredNone : texts.ignoredText}
    </Text>
    {byFile(ignored).map(({ file, notes }) => (
      <details key={file} open={ignored.length <= 10}>
        <summary>
          <Code>{file}</Code>{' '}
          <Text span size="sm" c="dimmed">
            {texts.ignoredCount(notes.length)}
          </Text>
        </summary>
        <ul>
          {notes.map(({ place, message }) => (
            <li key={`${place} ${message}`} className={styles['message']}>
              <Text size="sm">
                {place !== null && <Code>{place}</Code>} {message}
              </Text>
            </li>
          ))}
        </ul>
      </details>
    ))}
  </Section>
);
