/** Somebody else has changed the list on which moves are pending: their order, and the moves laid over it. */
import { Alert, Button, Group, List, Stack, Text, Title } from '@mantine/core';
import { IconArrowsShuffle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useId, useMemo, useRef } from 'react';
import type { Type } from '../../../model/model.js';
import { Fault } from '../../../parts/Fault.js';
import { Waiting } from '../../../parts/Waiting.js';
import { words } from '../../../words/index.js';
import { type Arrangement, sentOf, untouched } from './arrangement.js';
import type { Loss } from './changes.js';
import { layOver } from './lay-over.js';
import { editIds, type ListEdit, type ListVersion } from './relation-edit.js';
import { type ListSource, titleOf } from './source.js';
import { useShownList } from './use-relation-list.js';

const texts = words.relations.outdated;

interface OutdatedProps {
  readonly source: ListSource;
  readonly edit: ListEdit;
  /** Of the list as it is stored now. */
  readonly version: ListVersion;
  readonly isOrdered: boolean;
  readonly target: Type;
  readonly onChange: (edit: ListEdit | null) => void;
}

export const Outdated = ({ source, edit, version, isOrdered, onChange }: OutdatedProps) => {
  const { data, error, refetch } = useQuery({
    queryKey: [...source.key, 'laid-over', version, edit],
    queryFn: async ({ signal }) => layOver(source, edit, version, isOrdered, signal),
    gcTime: 0,
  });
  // what was moved, and what it was put beside, stands where it stood: there is nothing to ask
  const isQuiet = data?.isSamePlaces === true;
  useEffect(() => {
    if (isQuiet) onChange(data!.edit);
  }, [isQuiet, data, onChange]);
  if (error) return <Fault fault={error} onRetry={() => void refetch()} />;
  if (!data || isQuiet) return <Waiting rows={4} />;
  return (
    <Alert role="alert" variant="default" icon={<IconArrowsShuffle />} title={texts.title} className="related-outdated">
      <Stack gap="sm">
        <Text size="sm">{texts.lead}</Text>
        {data.losses.length > 0 && (
          <List size="sm">
            {data.losses.map((loss) => (
              <List.Item key={`${loss.kind} ${loss.id}`}>{lossText(loss, data.titles)}</List.Item>
            ))}
          </List>
        )}
        <div className="related-orders">
          <Order title={texts.theirs} source={source} arrangement={untouched(version.total)} edit={edit} />
          <Order title={texts.yours} source={source} arrangement={data.arrangement} edit={edit} />
        </div>
        <Group gap="xs">
          <Button onClick={() => onChange(data.edit)}>{texts.keep}</Button>
          <Button variant="default" onClick={() => onChange(null)}>
            {texts.drop}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
};

const lossText = (loss: Loss, titles: ReadonlyMap<number, string>): string => {
  const title = titles.get(loss.id) ?? `#${loss.id}`;
  switch (loss.kind) {
    case 'removed-there':
      return texts.removedThere(title);
    case 'added-there':
      return texts.addedThere(title);
    case 'removed-both':
      return texts.removedBoth(title);
    case 'anchor-gone':
      return texts.anchorGone(title, titles.get(loss.anchor) ?? `#${loss.anchor}`, loss.index + 1);
  }
};

const HEIGHT = 32;

/** A list to look at, at the first place where something was moved. */
const Order = ({
  title,
  source,
  arrangement,
  edit,
}: {
  readonly title: string;
  readonly source: ListSource;
  readonly arrangement: Arrangement;
  readonly edit: ListEdit;
}) => {
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const list = useShownList(
    source,
    () => arrangement,
    (it) => edit.rows[it],
  );
  const virtualizer = useVirtualizer({
    count: list.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => HEIGHT,
    overscan: 5,
  });
  const { startIndex = 0, endIndex = 0 } = virtualizer.range ?? {};
  const { show } = list;
  useEffect(() => show(startIndex, endIndex + 1), [show, startIndex, endIndex]);
  const moved = useMemo(() => new Set(editIds(edit)), [edit]);
  const first = useMemo(() => {
    const sent = sentOf(arrangement);
    let at = 0;
    for (const piece of arrangement.pieces) {
      if (piece.kind === 'placed' && sent.has(piece)) return at;
      at += piece.kind === 'run' ? piece.count : 1;
    }
    return 0;
  }, [arrangement]);
  useEffect(() => {
    virtualizer.scrollToIndex(Math.max(0, first - 2), { align: 'start' });
  }, [virtualizer, first]);
  return (
    <Stack gap={4}>
      <Title order={2} size="h5" id={id}>
        {title}
      </Title>
      <section
        ref={scroller}
        className="related-scroller related-order"
        style={{ height: Math.min(list.length, 8) * HEIGHT + 2 }}
        aria-labelledby={id}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
      >
        <ol style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const [shown] = list.rowsIn(index, index + 1);
            return (
              <li
                key={index}
                aria-posinset={index + 1}
                aria-setsize={list.length}
                data-moved={shown?.isMoved || undefined}
                data-named={(shown?.row && moved.has(shown.row.id)) || undefined}
                style={{ transform: `translateY(${start}px)` }}
              >
                <span className="related-number">{(index + 1).toLocaleString()}</span>
                <Text size="sm" truncate span>
                  {shown?.row ? titleOf(shown.row) : '…'}
                </Text>
              </li>
            );
          })}
        </ol>
      </section>
    </Stack>
  );
};
