/** Files on their way, each with its progress. */
import { ActionIcon, Button, Group, Paper, Progress, Text } from '@mantine/core';
import { IconCheck, IconRefresh, IconX } from '@tabler/icons-react';
import { DovetailError } from 'dovetail-client';
import { words } from '../../words/index.js';
import { byteSize } from '../ByteSize.js';
import { isUnreachable } from '../Fault.js';
import styles from './media.module.css';
import { countsOf, isUnderWay, progressOf, type Upload, type Uploads } from './uploads.js';

const texts = words.media.upload;

export const UploadPanel = ({ uploads, list }: { readonly uploads: Uploads; readonly list: readonly Upload[] }) => {
  if (list.length === 0) return null;
  const counts = countsOf(list);
  const { underWay, failed, cancelled } = counts;
  const progress = progressOf(list);
  return (
    <Paper component="section" withBorder p="sm" aria-label={texts.title}>
      <Group justify="space-between" gap="xs" mb={4}>
        <Text size="sm" fw={600} role="status">
          {texts.summary(counts)}
        </Text>
        <Group gap="xs">
          {progress && (
            <Text size="xs" c="dimmed">
              {texts.sent(byteSize(progress.sent), byteSize(progress.total))}
            </Text>
          )}
          {failed + cancelled > 1 && (
            <Button size="compact-xs" variant="default" onClick={uploads.retryAll}>
              {texts.retryAll}
            </Button>
          )}
          {underWay > 1 && (
            <Button size="compact-xs" variant="default" onClick={uploads.cancelAll}>
              {texts.cancelAll}
            </Button>
          )}
          {underWay === 0 && (
            <Button size="compact-xs" variant="default" onClick={uploads.clear}>
              {texts.clear}
            </Button>
          )}
        </Group>
      </Group>
      {progress && (
        <Progress
          value={progress.total === 0 ? 0 : (progress.sent / progress.total) * 100}
          size="sm"
          mb="xs"
          aria-label={texts.overall}
        />
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long list is scrolled with the keyboard too */}
      <ul className={styles['uploads']} tabIndex={0} aria-label={texts.title}>
        {list.map((it) => (
          <Row key={it.key} upload={it} uploads={uploads} />
        ))}
      </ul>
    </Paper>
  );
};

const Row = ({ upload, uploads }: { readonly upload: Upload; readonly uploads: Uploads }) => {
  const { key, name, state } = upload;
  return (
    <li className={styles['upload']}>
      <Text size="sm" className={styles['cut']} title={name}>
        {name}
      </Text>
      <Stage upload={upload} />
      {isUnderWay(state) ? (
        <ActionIcon variant="subtle" size="sm" aria-label={texts.cancel(name)} onClick={() => uploads.cancel(key)}>
          <IconX size={16} />
        </ActionIcon>
      ) : state.kind === 'done' ? (
        <IconCheck size={16} aria-hidden />
      ) : (
        <ActionIcon variant="subtle" size="sm" aria-label={texts.retry(name)} onClick={() => uploads.retry(key)}>
          <IconRefresh size={16} />
        </ActionIcon>
      )}
      {state.kind === 'failed' && (
        <Text size="xs" c="var(--mantine-color-error)" className={styles['reason']}>
          {reasonOf(state.fault)}
        </Text>
      )}
    </li>
  );
};

const Stage = ({ upload: { name, bytes, state } }: { readonly upload: Upload }) => {
  switch (state.kind) {
    case 'waiting':
      return <Text size="xs">{texts.waiting}</Text>;
    case 'sending': {
      const percent = state.total === 0 ? 0 : Math.floor((state.sent / state.total) * 100);
      return <Progress value={percent} aria-label={texts.progress(name)} title={texts.percent(percent)} />;
    }
    case 'processing':
      return <Text size="xs">{texts.processing}</Text>;
    case 'done':
      return <Text size="xs">{byteSize(bytes)}</Text>;
    case 'failed':
      return <Text size="xs">{texts.failed}</Text>;
    case 'cancelled':
      return <Text size="xs">{texts.cancelled}</Text>;
  }
};

/** Why a file was not stored, in the server's words. */
const reasonOf = (fault: unknown): string => {
  if (isUnreachable(fault)) return texts.unreachable;
  if (fault instanceof DovetailError && fault.faults.length > 1) return fault.faults.map((it) => it.message).join('. ');
  return fault instanceof Error ? fault.message : texts.unknown;
};
