/**
 * The rows of a list that are visible, with drag and drop and keyboard. Rows have one height, so that a place follows from where
 * the pointer is and no other row has to be there: entries can be dragged as far as the list is long.
 */
import {
  DndContext,
  DragOverlay,
  type DragStartEvent,
  PointerSensor,
  useDraggable,
  useSensor,
  useSensors,
} from '@dnd-kit/core';
import { ActionIcon, Badge, Group, Skeleton, Text } from '@mantine/core';
import { IconArrowsMoveVertical, IconExternalLink, IconGripVertical, IconX } from '@tabler/icons-react';
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { Type } from '../../../model/model.js';
import { words } from '../../../words/index.js';
import { EntryId } from './EntryId.js';
import { EntryLink } from './EntryLink.js';
import { EntryState } from './EntryState.js';
import { entryAddress } from './entry-address.js';
import type { Partner } from './partners.js';
import { titleOf } from './source.js';
import type { RelationList, ShownRow } from './use-relation-list.js';

const texts = words.relations;

/** Pixels. */
const ROW_HEIGHT = 44;
const ROWS_VISIBLE = 12;
const PAGE_STEP = 10;

interface RowsProps {
  readonly list: RelationList;
  readonly target: Type;
  readonly canMove: boolean;
  readonly isReadOnly: boolean;
  /** What the server refuses names entries by their ids. */
  readonly showsIds: boolean;
  /** Whether the list has the height of the page. */
  readonly isPage: boolean;
  /** By the ids of entries that were added: whose they are until it is saved. */
  readonly partners: ReadonlyMap<number, Partner>;
  readonly hintId: string | undefined;
  readonly labelId: string;
  /** The row that the keyboard is on; `isWanted`: it shall be shown and take the focus. */
  readonly focus: { readonly index: number; readonly isWanted: boolean };
  readonly onFocus: (index: number) => void;
  readonly onGoTo: (index: number) => void;
  readonly onMove: (row: ShownRow, index: number) => void;
  readonly onMoveTo: (row: ShownRow) => void;
  readonly onTake: (row: ShownRow) => void;
}

export const Rows = (props: RowsProps) => {
  const {
    list,
    target,
    canMove,
    isReadOnly,
    showsIds,
    isPage,
    partners,
    hintId,
    labelId,
    focus,
    onFocus,
    onGoTo,
    onMove,
    onMoveTo,
    onTake,
  } = props;
  const { length, show } = list;
  const scroller = useRef<HTMLDivElement>(null);
  const [dragged, setDragged] = useState<ShownRow | null>(null);
  /** Before which row the dragged one would be dropped; `length`: behind the last. */
  const [gap, setGap] = useState<number | null>(null);
  const current = Math.min(focus.index, length - 1);
  const kept = [current, dragged?.index].filter((it): it is number => it !== undefined && it >= 0 && it < length);
  const virtualizer = useVirtualizer({
    count: length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 8,
    // the row with the focus and the one that is dragged stay in the page
    rangeExtractor: (range) => [...new Set([...defaultRangeExtractor(range), ...kept])].sort((a, b) => a - b),
  });
  const { startIndex = 0, endIndex = 0 } = virtualizer.range ?? {};
  useEffect(() => show(startIndex, endIndex + 1), [show, startIndex, endIndex]);

  const { index: wantedIndex, isWanted } = focus;
  useLayoutEffect(() => {
    if (!isWanted) return;
    const index = Math.min(wantedIndex, length - 1);
    virtualizer.scrollToIndex(index);
    // at once: the next key may already be for that row
    scroller.current
      ?.querySelector<HTMLElement>(`[data-index="${index}"] .related-handle`)
      ?.focus({ preventScroll: true });
    onFocus(index);
  }, [wantedIndex, isWanted, length, virtualizer, onFocus]);

  const gapAt = useCallback(
    (clientY: number): number => {
      const box = scroller.current;
      if (box === null) return 0;
      const within = clientY - box.getBoundingClientRect().top + box.scrollTop;
      return Math.max(0, Math.min(length, Math.round(within / ROW_HEIGHT)));
    },
    [length],
  );
  const pointerY = useRef(0);
  const isDragging = dragged !== null;
  useEffect(() => {
    if (!isDragging) return;
    const follow = (event: PointerEvent): void => {
      pointerY.current = event.clientY;
      setGap(gapAt(event.clientY));
    };
    const scrolled = (): void => setGap(gapAt(pointerY.current));
    const box = scroller.current;
    addEventListener('pointermove', follow);
    box?.addEventListener('scroll', scrolled);
    const stop = box ? scrollAtEdges(box, () => pointerY.current) : () => undefined;
    return () => {
      stop();
      removeEventListener('pointermove', follow);
      box?.removeEventListener('scroll', scrolled);
    };
  }, [isDragging, gapAt]);

  const sensors = useSensors(useSensor(PointerSensor, { activationConstraint: { distance: 4 } }));
  const rows = virtualizer.getVirtualItems();
  const shownAt = (index: number): ShownRow | undefined => list.rowsIn(index, index + 1)[0];

  const onDragStart = ({ active, activatorEvent }: DragStartEvent): void => {
    const shown = shownAt(Number(active.data.current?.['index']));
    if (!shown?.row) return;
    pointerY.current = (activatorEvent as PointerEvent).clientY;
    setDragged(shown);
    setGap(shown.index);
  };
  const drop = (): void => {
    if (dragged !== null && gap !== null) onMove(dragged, gap > dragged.index ? gap - 1 : gap);
    setDragged(null);
    setGap(null);
  };
  const onKey = (shown: ShownRow, event: KeyboardEvent): void => {
    const to = targetOf(event.key, shown.index, length);
    if (to !== null) {
      event.preventDefault();
      if (event.altKey && canMove) onMove(shown, to);
      else if (!event.altKey) onGoTo(to);
    } else if ((event.key === 'Delete' || event.key === 'Backspace') && !isReadOnly) {
      event.preventDefault();
      onTake(shown);
    } else if (event.key.toLowerCase() === 'm' && canMove && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      onMoveTo(shown);
    }
  };

  return (
    <DndContext
      sensors={sensors}
      autoScroll={false}
      accessibility={{
        announcements: {
          onDragStart: () => undefined,
          onDragOver: () => undefined,
          onDragEnd: () => undefined,
          onDragCancel: () => texts.said.cancelled,
        },
        screenReaderInstructions: { draggable: texts.keys },
      }}
      onDragStart={onDragStart}
      onDragEnd={drop}
      onDragCancel={() => {
        setDragged(null);
        setGap(null);
      }}
    >
      <div
        ref={scroller}
        className="related-scroller"
        data-dragging={isDragging || undefined}
        style={{ height: (isPage ? length : Math.min(length, ROWS_VISIBLE)) * ROW_HEIGHT + 2 }}
        data-page={isPage || undefined}
      >
        <ul aria-labelledby={labelId} style={{ height: virtualizer.getTotalSize() }}>
          {rows.map(({ index, start }) => {
            const shown = shownAt(index);
            if (!shown) return null;
            return (
              <Row
                // the same before and after it is read, so that it keeps the focus
                key={shown.home === null ? `id-${shown.id}` : `home-${shown.home}`}
                shown={shown}
                start={start}
                length={length}
                target={target}
                partner={shown.row ? partners.get(shown.row.id) : undefined}
                canMove={canMove}
                isReadOnly={isReadOnly}
                showsIds={showsIds}
                hintId={hintId}
                isCurrent={index === current}
                isDragged={dragged !== null && dragged.row?.id === shown.row?.id}
                onFocus={onFocus}
                onKey={onKey}
                onMoveTo={onMoveTo}
                onTake={onTake}
              />
            );
          })}
          {gap !== null && dragged !== null && gap !== dragged.index && gap !== dragged.index + 1 && (
            <li className="related-gap" aria-hidden style={{ top: gap * ROW_HEIGHT - 1 }} />
          )}
        </ul>
      </div>
      <DragOverlay dropAnimation={null}>
        {dragged?.row && (
          <div className="related-row related-overlay">
            <IconGripVertical size={16} />
            <span className="related-number">
              {gap === null ? dragged.index + 1 : (gap > dragged.index ? gap : gap + 1).toLocaleString()}
            </span>
            <Text size="sm" truncate>
              {titleOf(dragged.row)}
            </Text>
          </div>
        )}
      </DragOverlay>
    </DndContext>
  );
};

/** Pixels from the upper or lower edge. */
const EDGE = 40;
const ROWS_A_SECOND = { first: 12, most: 300 } as const;

/**
 * Scrolls while the pointer is at an edge, twice as fast after every second, so that the end of a list of ten thousand is some
 * seconds away. By time and not by steps (dnd-kit's own), which a busy page makes slow.
 */
const scrollAtEdges = (box: HTMLElement, pointerY: () => number): (() => void) => {
  let [last, since] = [performance.now(), 0];
  let frame = 0;
  const step = (now: number): void => {
    const { top, bottom } = box.getBoundingClientRect();
    const y = pointerY();
    const direction = y < top + EDGE ? -1 : y > bottom - EDGE ? 1 : 0;
    since = direction === 0 ? 0 : since + (now - last) / 1000;
    const rows = Math.min(ROWS_A_SECOND.first * 2 ** since, ROWS_A_SECOND.most);
    if (direction !== 0) box.scrollTop += (direction * rows * ROW_HEIGHT * (now - last)) / 1000;
    last = now;
    frame = requestAnimationFrame(step);
  };
  frame = requestAnimationFrame(step);
  return () => cancelAnimationFrame(frame);
};

/** Where a key leads; null: nowhere. */
const targetOf = (key: string, index: number, length: number): number | null => {
  const at = (to: number): number => Math.max(0, Math.min(length - 1, to));
  switch (key) {
    case 'ArrowUp':
      return at(index - 1);
    case 'ArrowDown':
      return at(index + 1);
    case 'PageUp':
      return at(index - PAGE_STEP);
    case 'PageDown':
      return at(index + PAGE_STEP);
    case 'Home':
      return 0;
    case 'End':
      return length - 1;
    default:
      return null;
  }
};

interface RowProps {
  readonly shown: ShownRow;
  /** Pixels from the top of the list. */
  readonly start: number;
  readonly length: number;
  readonly target: Type;
  readonly partner: Partner | undefined;
  readonly canMove: boolean;
  readonly isReadOnly: boolean;
  readonly showsIds: boolean;
  readonly hintId: string | undefined;
  readonly isCurrent: boolean;
  readonly isDragged: boolean;
  readonly onFocus: (index: number) => void;
  readonly onKey: (shown: ShownRow, event: KeyboardEvent) => void;
  readonly onMoveTo: (shown: ShownRow) => void;
  readonly onTake: (shown: ShownRow) => void;
}

const Row = ({
  shown,
  start,
  length,
  target,
  partner,
  canMove,
  isReadOnly,
  showsIds,
  hintId,
  isCurrent,
  isDragged,
  onFocus,
  onKey,
  onMoveTo,
  onTake,
}: RowProps) => {
  const { index, row } = shown;
  const { setNodeRef, listeners } = useDraggable({
    id: `row-${row?.id ?? `home-${shown.home}`}`,
    data: { index },
    disabled: !canMove || row === null,
  });
  const tabIndex = isCurrent ? 0 : -1;
  const to = row && entryAddress(target, row);
  return (
    <li
      ref={setNodeRef}
      className="related-row"
      data-index={index}
      data-id={row?.id}
      data-moved={shown.isMoved || undefined}
      data-dragged={isDragged || undefined}
      aria-posinset={index + 1}
      aria-setsize={length}
      style={{ transform: `translateY(${start}px)` }}
    >
      <button
        type="button"
        className="related-handle"
        tabIndex={tabIndex}
        aria-label={texts.handle(row ? titleOf(row) : texts.loading, index + 1, length)}
        aria-describedby={hintId}
        data-movable={canMove || undefined}
        onFocus={() => onFocus(index)}
        onKeyDown={(event) => onKey(shown, event)}
        onPointerDown={(event) => {
          if (canMove) listeners?.['onPointerDown']?.(event);
        }}
      >
        {canMove && <IconGripVertical size={16} aria-hidden />}
        <span className="related-number">{(index + 1).toLocaleString()}</span>
      </button>
      {row === null ? (
        <Skeleton height={12} width="40%" className="late" />
      ) : (
        <>
          <Text size="sm" flex={1} truncate>
            {titleOf(row)}
          </Text>
          {showsIds && <EntryId id={row.id} />}
          {(shown.isMoved || shown.isAdded) && (
            <Badge size="sm" variant="light">
              {shown.isAdded
                ? texts.isNew
                : shown.home === null
                  ? texts.isMoved
                  : texts.from((shown.home + 1).toLocaleString())}
            </Badge>
          )}
          {partner && (
            <Badge size="sm" variant="default">
              {texts.takenFrom(partner.title)}
            </Badge>
          )}
          <EntryState row={row} type={target} />
          <Group gap={4} wrap="nowrap">
            {canMove && (
              <ActionIcon
                variant="subtle"
                color="gray"
                tabIndex={tabIndex}
                aria-label={texts.moveTo.title(titleOf(row))}
                onClick={() => onMoveTo(shown)}
              >
                <IconArrowsMoveVertical size={16} />
              </ActionIcon>
            )}
            {to && (
              <EntryLink to={to} tabIndex={tabIndex} aria-label={texts.open(titleOf(row))} c="dimmed" lh={1}>
                <IconExternalLink size={16} />
              </EntryLink>
            )}
            {!isReadOnly && (
              <ActionIcon
                variant="subtle"
                color="gray"
                tabIndex={tabIndex}
                aria-label={texts.remove(titleOf(row))}
                onClick={() => onTake(shown)}
              >
                <IconX size={16} />
              </ActionIcon>
            )}
          </Group>
        </>
      )}
    </li>
  );
};
