/** What is done with the chosen entries of a list, with its progress and what was refused. */
import { Alert, Button, Group, List, Paper, Progress, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { DovetailError } from 'dovetail-client';
import { useEffect, useRef, useState } from 'react';
import { entryName } from '../../../model/entry-name.js';
import type { Type } from '../../../model/model.js';
import { Confirm, type Question } from '../../../parts/Confirm.js';
import { isUnreachable } from '../../../parts/Fault.js';
import { MayButton } from '../../../parts/MayButton.js';
import { type Me, useClient, useMe, useModel } from '../../../server/queries.js';
import { readAgain } from '../../../server/query-client.js';
import { type Bounded, type Change, mayChange } from '../../../server/rights.js';
import { words } from '../../../words/index.js';
import { attributesOf } from '../form/fields.js';
import { getEntry, pathOf } from '../requests.js';
import { type BulkProgress, runForAll } from './bulk.js';

const texts = words.content.bulk;

type Action = 'publish' | 'unpublish' | 'delete';

const mayPublish = ({ draftAndPublish, may }: Type): boolean => draftAndPublish && may.update && may.publish;

/** Whether there is anything to choose entries for. */
export const hasBulkActions = (type: Type): boolean => mayPublish(type) || type.may.delete;

/** An entry of a list. */
export interface ListedEntry extends Bounded {
  readonly id: number;
  /** When it was changed, as the list shows it; null if it does not. */
  readonly updatedAt: string | null;
}

/** What may be done with an entry: permissions may be for some entries only. */
export const bulkRightsOf = (me: Me | null | undefined, type: Type, entry: Bounded) => {
  const may = (change: Change): boolean => mayChange(me, type, change, entry);
  return { publish: mayPublish(type) && may('update') && may('publish'), delete: may('delete') };
};

export const BulkBar = ({
  type,
  entries,
  onDone,
}: {
  readonly type: Type;
  readonly entries: readonly ListedEntry[];
  /** All have succeeded. */
  readonly onDone: () => void;
}) => {
  const model = useModel();
  const client = useClient();
  const queries = useQueryClient();
  const me = useMe();
  // those that were chosen may be gone by now, and only what failed is left to be read
  const hasEntries = entries.length > 0;
  const rights = entries.map((it) => bulkRightsOf(me, type, it));
  const [question, setQuestion] = useState<Question | null>(null);
  const [progress, setProgress] = useState<BulkProgress | null>(null);
  const [isRunning, setRunning] = useState(false);
  const abort = useRef<AbortController | null>(null);
  // once the list is left, nobody sees what comes of the others, or can stop them
  useEffect(() => () => abort.current?.abort(), []);

  const run = async (action: Action): Promise<void> => {
    const running = new AbortController();
    abort.current = running;
    setRunning(true);
    setProgress({ done: 0, total: entries.length, faults: [] });
    const now = new Date().toISOString();
    const one = async ({ id, updatedAt: shown }: ListedEntry): Promise<unknown> => {
      const path = pathOf(model, type, id);
      // a list has no tags of its entries: what is stored must be what it shows
      const query = { fields: shown === null ? ['id'] : ['updatedAt'], publicationState: 'preview' };
      const { data: stored, etag } = await getEntry(client, model, type, id, query);
      if (shown !== null && attributesOf(stored)['updatedAt'] !== shown) throw new Error(texts.changed);
      const headers: Readonly<Record<string, string>> = etag === null ? {} : { 'if-match': etag };
      if (action === 'delete') return client.send({ method: 'DELETE', path, headers });
      const data = { publishedAt: action === 'publish' ? now : null };
      return client.send({ method: 'PUT', path, headers, body: { data } });
    };
    const { faults, done } = await runForAll(entries, one, setProgress, running.signal);
    setRunning(false);
    setProgress({ done, total: entries.length, faults });
    await readAgain(queries, { queryKey: ['content', type.uid] });
    // what is chosen once the list was left is another choice
    if (faults.length === 0 && done === entries.length && !running.signal.aborted) onDone();
  };

  const deletion: Question = {
    title: texts.deleteTitle(entries.length),
    text: texts.deleteText,
    action: texts.delete,
    // what comes of it is shown in the bar
    run: async () => void run('delete'),
  };

  return (
    <Paper withBorder p="xs" role="region" aria-label={texts.label}>
      <Group gap="xs" wrap="wrap">
        <Text size="sm" fw={600} role="status">
          {texts.selected(entries.length)}
        </Text>
        {hasEntries &&
          mayPublish(type) &&
          (['publish', 'unpublish'] as const).map((action) => (
            <MayButton
              key={action}
              size="xs"
              variant="default"
              disabled={isRunning}
              may={rights.every((it) => it.publish)}
              why={texts.notAll}
              onClick={() => void run(action)}
            >
              {texts[action]}
            </MayButton>
          ))}

        {hasEntries && type.may.delete && (
          <MayButton
            size="xs"
            color="red"
            variant="light"
            disabled={isRunning}
            may={rights.every((it) => it.delete)}
            why={texts.notAll}
            onClick={() => setQuestion(deletion)}
          >
            {texts.delete}
          </MayButton>
        )}
        <Button size="xs" variant="subtle" disabled={isRunning} onClick={onDone}>
          {texts.none}
        </Button>
      </Group>
      {progress && (
        <>
          <Progress
            mt="xs"
            value={(progress.done / Math.max(progress.total, 1)) * 100}
            aria-label={texts.progress(progress.done, progress.total)}
          />
          <Group justify="space-between">
            <Text size="xs">{texts.progress(progress.done, progress.total)}</Text>
            {isRunning && (
              <Button size="compact-xs" variant="subtle" onClick={() => abort.current?.abort()}>
                {texts.stop}
              </Button>
            )}
          </Group>
        </>
      )}
      {progress && progress.faults.length > 0 && (
        <Alert role="alert" color="red" variant="light" mt="xs" title={texts.refused(progress.faults.length)}>
          <List size="sm">
            {progress.faults.map(({ id, fault }) => (
              <List.Item key={id}>
                {entryName(type, id, null)}: {messageOf(fault)}
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
      <Confirm question={question} onClose={() => setQuestion(null)} />
    </Paper>
  );
};

const messageOf = (fault: unknown): string => {
  if (isUnreachable(fault)) return texts.unreachable;
  if (fault instanceof DovetailError && fault.faults.length > 0)
    return fault.faults
      .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
      .join('; ');
  return fault instanceof Error ? fault.message : String(fault);
};
